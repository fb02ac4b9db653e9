// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A symbol table: the symbols of one image sorted for look-up, wherever they
 * came from.
 *
 * Reading one is all that the daemon may use of libsym (with build-id.h and perf-map.h): it
 * keeps what can't be had later, and resolves nothing.
 */
#ifndef VMOP_LIBSYM_SYMTAB_H
#define VMOP_LIBSYM_SYMTAB_H

#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "vmop/symbol.h"

struct vmop_symtab;

/* Sorted by offset; aliases at one offset are all kept, the best to show first. */
const struct vmop_symbol *vmop_symtab_symbols(const struct vmop_symtab *symtab, size_t *ret_n);
void vmop_symtab_destroy(struct vmop_symtab *symtab); /* NULL is allowed */

/* Takes an array as vmop_db_get_symbols gives it (one heap block) and owns it from then on. */
struct vmop_error *vmop_symtab_adopt(struct vmop_symbol *symbols, size_t n,
				     struct vmop_symtab **ret);

/*
 * The symbol that holds offset: it begins at or before it and reaches beyond it
 * (len 0 reaches to the next).  NULL: none.
 */
const struct vmop_symbol *vmop_symtab_find(const struct vmop_symtab *symtab, uint64_t offset);

/*
 * The same, and how far it goes: for all offsets in [start, end) it is symbol, and the run is
 * this one. An end of UINT64_MAX has that offset in it.
 */
struct vmop_symtab_run {
	uint64_t start, end;
	const struct vmop_symbol *symbol;
};
struct vmop_symtab_run vmop_symtab_find_run(const struct vmop_symtab *symtab, uint64_t offset);

/*
 * Functions of an ELF file: .symtab, else .dynsym with .gnu_debugdata (mini
 * debug info).  Offsets are *file offsets* for ET_EXEC and ET_DYN files, as
 * mappings give them (address - mapping start + file offset), or addresses
 * (st_value) with VMOP_SYMTAB_ADDRESSES, for kernels.
 */
enum vmop_symtab_flags {
	VMOP_SYMTAB_ADDRESSES = 1 << 0,
};

/*
 * Each function below stays within 2 s of CPU time and 512 MiB (libsym/budget.h), whatever is in
 * the file: what would cost more is VMOP_ERROR_LIMIT, "PATH: too costly: ...".
 */
struct vmop_error *vmop_symtab_read_elf(int fd, const char *path, unsigned flags,
					struct vmop_symtab **ret);

/*
 * kallsyms or System.map text: "ADDRESS TYPE NAME[\t[MODULE]]" lines.  Only text symbols
 * (t, T, w, W, and so on) are kept.  each is called once for every module in the
 * text ("" for the kernel itself) with its symbols, offsets being addresses,
 * sorted.  Addresses that are all 0 (kptr_restrict) are VMOP_ERROR_CANT.
 */
struct vmop_error *vmop_kallsyms_read(const char *path,
				      struct vmop_error *(*each)(void *arg, const char *module,
								 const struct vmop_symbol *symbols,
								 size_t n),
				      void *arg);

/*
 * Either of the two, told apart by its first bytes: a vmlinux (or its debug file)
 * or a kallsyms/System.map text (modules included).  Addresses.
 */
struct vmop_error *vmop_symtab_read_kernel_image(const char *path, struct vmop_symtab **ret);

#endif
