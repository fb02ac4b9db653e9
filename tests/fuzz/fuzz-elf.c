// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as an ELF file: build-id, debug link, symbols, look-ups. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libsym/elf/image-file.h"
#include "libsym/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void look_up(int fd, unsigned flags)
{
	struct vmop_symtab *symtab;
	struct vmop_error *err = vmop_symtab_read_elf(fd, "fuzz", flags, &symtab);
	if (err) {
		vmop_error_destroy(err);
		return;
	}
	size_t n;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	for (size_t i = 0; i < n; i++) {
		/* Symbols are sorted, and a look-up at their offset finds one that contains it. */
		const struct vmop_symbol *found = vmop_symtab_find(symtab, symbols[i].offset);
		if (i && symbols[i - 1].offset > symbols[i].offset)
			abort();
		if (symbols[i].len_bytes && (!found || found->offset > symbols[i].offset))
			abort();
	}
	vmop_symtab_destroy(symtab);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, len_bytes) != (ssize_t)len_bytes)
		abort();
	look_up(fd, 0);
	look_up(fd, VMOP_SYMTAB_ADDRESSES);
	struct vmop_image_file *file;
	struct vmop_sym_budget budget;
	vmop_sym_budget_init(&budget);
	struct vmop_error *err = vmop_image_file_open_fd(fd, "fuzz", &budget, &file);
	if (err) {
		vmop_error_destroy(err);
		return 0;
	}
	char *name = NULL;
	uint32_t crc;
	vmop_error_destroy(vmop_image_file_debug_link(file, &name, &crc));
	free(name);
	vmop_image_file_close(file);
	/* All charged memory is returned. */
	if (budget.memory_left_bytes != VMOP_SYM_BUDGET_MEMORY_BYTES)
		abort();
	return 0;
}
