// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any ORC tables, registers and stack of a guest's kernel, and the same stack by frame pointers and
 * by frame records.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libstack/orc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

#define TEXT UINT64_C(0xffffffff81000000)
#define STACK UINT64_C(0xffffc90000010000)

enum { MAX_FRAMES = 64, HEADER_BYTES = 8, MAX_ENTRIES = 64 };

struct stack {
	const uint8_t *bytes;
	size_t len_bytes;
};

static bool read_stack(void *arg, uint64_t address, void *buf, size_t len_bytes)
{
	const struct stack *stack = arg;
	uint64_t offset = address - STACK;
	if (offset > stack->len_bytes || len_bytes > stack->len_bytes - offset)
		return false;
	memcpy(buf, stack->bytes + offset, len_bytes);
	return true;
}

static void check(const struct vmop_kernel_unwound *unwound)
{
	if (!unwound->n_frames || unwound->n_frames > MAX_FRAMES)
		abort();
}

static void unwind_all(const struct vmop_orc *orc, const struct vmop_kernel_regs *regs,
		       struct stack *stack)
{
	const struct vmop_kernel_memory memory = {.read = read_stack, .arg = stack};
	struct vmop_stack_frame frames[MAX_FRAMES];
	struct vmop_kernel_unwound unwound;
	vmop_orc_unwind(orc, regs, &memory, frames, MAX_FRAMES, &unwound);
	check(&unwound);
	vmop_kernel_frame_pointers_unwind(regs, &memory, frames, MAX_FRAMES, &unwound);
	check(&unwound);
	vmop_frame_records_unwind(regs, 48, &memory, frames, MAX_FRAMES, &unwound);
	check(&unwound);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	if (len_bytes < HEADER_BYTES)
		return 0;
	const struct vmop_orc_format format = {.type_bit = data[0] & 1 ? 40 : data[0] >> 1,
					       .type_bits = data[1] & 1 ? 2 : 3,
					       .end_bit = data[2] & 1 ? 42 : data[2] >> 1};
	size_t n = data[3] % MAX_ENTRIES;
	if (len_bytes < HEADER_BYTES + n * VMOP_ORC_BYTES)
		return 0;
	const uint8_t *tables = data + HEADER_BYTES;
	const struct vmop_orc_section sections[] = {
		{.text_start = TEXT,
		 .text_end = TEXT + 4096,
		 .ip_address = TEXT,
		 .n = n / 2,
		 .ips = tables,
		 .entries = tables + 4 * n},
		{.text_start = TEXT - 4096,
		 .text_end = TEXT,
		 .ip_address = TEXT,
		 .n = n - n / 2,
		 .ips = tables + 4 * (n / 2),
		 .entries = tables + 4 * n + 6 * (n / 2)},
	};
	struct vmop_orc *orc;
	struct vmop_error *err = vmop_orc_create(&format, sections, 2, &orc);
	if (err) {
		vmop_error_destroy(err);
		return 0;
	}
	struct stack stack = {.bytes = tables + n * VMOP_ORC_BYTES,
			      .len_bytes = len_bytes - HEADER_BYTES - n * VMOP_ORC_BYTES};
	const struct vmop_kernel_regs regs = {.pc = TEXT + data[4],
					      .sp = STACK + 8 * (uint64_t)data[5],
					      .fp = STACK + data[6],
					      .is_interrupted = data[7] & 1,
					      .has_others = data[7] & 2,
					      .r10 = STACK + data[7]};
	unwind_all(orc, &regs, &stack);
	vmop_orc_destroy(orc);
	return 0;
}
