// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a jitdump that grows between two reads. The first byte is the part, in 256ths, that
 * is there at the first read.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libsym/jit/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void check_table(struct vmop_error *err, struct vmop_symtab *symtab)
{
	if (err) {
		vmop_error_destroy(err);
		return;
	}
	size_t n;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	for (size_t i = 0; i < n; i++)
		if (symbols[i].len_bytes &&
		    vmop_symtab_find(symtab, symbols[i].offset) != &symbols[i])
			abort();
	vmop_symtab_destroy(symtab);
}

static void step(struct vmop_jitdump *dump, int fd, uint64_t len_bytes)
{
	const struct vmop_jitdump_input input = {
		.fd = fd, .path = "fuzz", .pid = 1, .process_start_ns = 1000};
	struct vmop_jitdump_query queries[64];
	for (uint64_t i = 0; i < 64; i++)
		queries[i] = (struct vmop_jitdump_query){.time_ns = i * 8, .address = i * 0x40};
	vmop_error_destroy(vmop_jitdump_advance(dump, &input, queries, 64));
	for (size_t i = 0; i < 64; i++)
		if (queries[i].is_found && queries[i].code_offset >= len_bytes)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct vmop_jitdump *dump;
	struct vmop_symtab *symtab = NULL;
	static int fd = -1;
	if (!len_bytes)
		return 0;
	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	size_t first = (len_bytes - 1) * data[0] / 256;
	data++;
	len_bytes--;
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, first, 0) != (ssize_t)first)
		abort();
	if (vmop_jitdump_create(&dump))
		abort();
	step(dump, fd, len_bytes);
	if (pwrite(fd, data + first, len_bytes - first, (off_t)first) !=
	    (ssize_t)(len_bytes - first))
		abort();
	step(dump, fd, len_bytes);
	struct vmop_error *err = vmop_jitdump_answered(dump, &symtab);
	check_table(err, symtab);
	err = vmop_jitdump_by_address(dump, &symtab);
	check_table(err, symtab);
	vmop_jitdump_destroy(dump);
	return 0;
}
