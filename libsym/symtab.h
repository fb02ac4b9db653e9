// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A symbol table: the symbols of one image, sorted for look-up.
 *
 * The daemon reads tables to store the symbols that are unavailable later (kernel, modules,
 * just-in-time code), and opreport looks symbols up. This header, build-id.h, perf-map.h and
 * jitdump.h are the only ones of libsym that the daemon may include. A table comes from an ELF file
 * (elf-file, elf-symbols, mini-debug-info, plt), from kallsyms text (kallsyms, kernel-image), from
 * a perf map (perf-map), a jitdump (jitdump, jitdump-records), or from a session file
 * (vmop_symtab_adopt). symtab-builder and symbol-sort put its symbols in order. A table never
 * changes: any thread may look up symbols in it. Only a table of the cache (mapped-symtab) is for
 * one thread.
 */
#ifndef VMOP_LIBSYM_SYMTAB_H
#define VMOP_LIBSYM_SYMTAB_H

#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "vmop/symbol.h"

struct vmop_symtab;

/*
 * Return the symbols, sorted by offset, and their number. Aliases at one offset are all kept; the
 * best one to show is first. The table owns them.
 */
const struct vmop_symbol *vmop_symtab_symbols(const struct vmop_symtab *symtab, size_t *ret_n);
void vmop_symtab_destroy(struct vmop_symtab *symtab); /* NULL is allowed */

/*
 * Make a table of an array that vmop_db_get_symbols() returned (one heap block). Takes ownership of
 * the array.
 */
struct vmop_error *vmop_symtab_adopt(struct vmop_symbol *symbols, size_t n,
				     struct vmop_symtab **ret);

/*
 * Return the symbol that contains offset, or NULL. It begins at or before offset and ends after it;
 * a symbol with length 0 ends at the next one.
 */
const struct vmop_symbol *vmop_symtab_find(const struct vmop_symtab *symtab, uint64_t offset);

/*
 * The same with its range: all offsets in [start, end) give this symbol and this range. An end of
 * UINT64_MAX is inclusive.
 */
struct vmop_symtab_run {
	uint64_t start, end;
	const struct vmop_symbol *symbol;
};
struct vmop_symtab_run vmop_symtab_find_run(const struct vmop_symtab *symtab, uint64_t offset);

/*
 * Return a number that another table has only if it finds the same symbols, or 0: not known. Tables
 * that are in the cache have one, and those that got one from vmop_symtab_set_identity, which takes
 * any hash.
 */
uint64_t vmop_symtab_identity(const struct vmop_symtab *symtab);
void vmop_symtab_set_identity(struct vmop_symtab *symtab, uint64_t identity);

/* Return the index, among vmop_symtab_symbols(), of a symbol that the table found. */
uint32_t vmop_symtab_index_of(const struct vmop_symtab *symtab, const struct vmop_symbol *symbol);

/* A run that a table of the same identity found. */
#define VMOP_SYMTAB_NO_INDEX UINT32_MAX
struct vmop_symtab_known {
	uint64_t start, end;
	uint32_t index; /* of the symbol; VMOP_SYMTAB_NO_INDEX: no symbol */
	uint32_t first; /* the first of the runs that has this symbol */
	struct vmop_symbol symbol;
};

/*
 * Give a table of the cache the n runs, which ascend and do not overlap. Look-ups in them then read
 * nothing of its file. known and the names must outlive the table. Tables of other kinds, and those
 * that have found a symbol or have runs already, ignore them.
 */
void vmop_symtab_set_known(const struct vmop_symtab *symtab, const struct vmop_symtab_known *known,
			   size_t n);

/*
 * Read the functions of an ELF file: .symtab, else .dynsym with .gnu_debugdata (mini debug info).
 * For ET_EXEC and ET_DYN files, offsets are *file offsets*, as mappings give them (address -
 * mapping start + file offset). With VMOP_SYMTAB_ADDRESSES, for kernels, they are addresses
 * (st_value).
 */
enum vmop_symtab_flags {
	VMOP_SYMTAB_ADDRESSES = 1 << 0,
};

/*
 * Each function below takes at most 2 s of CPU time and 512 MiB (libsym/budget.h), whatever the
 * file contains. A file that would cost more is VMOP_ERROR_LIMIT, "PATH: too costly: ...".
 */
struct vmop_error *vmop_symtab_read_elf(int fd, const char *path, unsigned flags,
					struct vmop_symtab **ret);

/*
 * Read kallsyms or System.map text: lines of "ADDRESS TYPE NAME[\t[MODULE]]". Only text symbols (t,
 * T, w, W and so on) are kept. `each` is called once per module in the text ("" for the kernel)
 * with its sorted symbols, whose offsets are addresses. If all addresses are 0 (kptr_restrict), the
 * error is VMOP_ERROR_CANT.
 */
struct vmop_error *vmop_kallsyms_read(const char *path,
				      struct vmop_error *(*each)(void *arg, const char *module,
								 const struct vmop_symbol *symbols,
								 size_t n),
				      void *arg);

/*
 * Read a vmlinux (or its debug file), or kallsyms or System.map text with its modules. The first
 * bytes decide which. Offsets are addresses.
 */
struct vmop_error *vmop_symtab_read_kernel_image(const char *path, struct vmop_symtab **ret);

#endif
