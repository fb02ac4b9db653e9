// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a file that xz, zstd or gzip compressed. */
#include <stdint.h>
#include <stdlib.h>

#include "libsym/elf/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void check(bool is_right)
{
	if (!is_right)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct vmop_sym_budget budget;
	struct vmop_unpacked unpacked;
	vmop_sym_budget_init(&budget);
	/* A decoder's memory, and some content. */
	uint64_t memory_bytes = budget.memory_left_bytes = 96 << 20;
	struct vmop_error *err =
		vmop_unpack((const char *)data, len_bytes, "fuzz", &budget, &unpacked);
	check(!err || err->code == VMOP_ERROR_LIMIT);
	check(!unpacked.bytes || (!err && vmop_is_packed((const char *)data, len_bytes) &&
				  unpacked.len_bytes <= unpacked.capacity_bytes));
	vmop_error_destroy(err);
	vmop_unpacked_deinit(&unpacked);
	check(budget.memory_left_bytes == memory_bytes);
	return 0;
}
