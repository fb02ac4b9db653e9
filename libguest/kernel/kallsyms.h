// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's own symbol table, found in its image and unpacked.
 *
 * scripts/kallsyms.c writes it, and kernel/kallsyms.c reads it. Its tables lie one after another in
 * .rodata, in this order:
 *
 *	to 6.1		offsets base count names markers tokens index
 *	6.2, 6.3	offsets base count names markers seqs tokens index
 *	from 6.4	count names markers tokens index offsets base seqs
 *	from 7.0	count names markers tokens index offsets seqs
 *
 * An offset counts from base (unsigned). Where most offsets are negative, a negative one is ~offset
 * from base, and the others are absolute (per-CPU, x86-64 to 6.14). From 7.0 on an offset counts
 * from its own address. Kernels to 6.10 can be configured to hold 64-bit addresses instead of
 * offsets and base.
 *
 * The token index identifies the tables: 256 16-bit offsets into 256 strings that end just before
 * it, so each difference is the length of a string + 1. Nothing else in RAM has that form.
 *
 * All input is hostile. Thread: kallsyms-find.c has no state; an unpacked table is immutable, and
 * any number of threads may read it.
 */
#ifndef VMOP_LIBGUEST_KERNEL_KALLSYMS_H
#define VMOP_LIBGUEST_KERNEL_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vmop_error;
struct vmop_guest_kallsyms;

/* The distance before and after the token table within which the other tables are searched. */
#define VMOP_GUEST_KALLSYMS_BEFORE_BYTES (10u << 20)
#define VMOP_GUEST_KALLSYMS_AFTER_BYTES (4u << 20)
#define VMOP_GUEST_KALLSYMS_MAX_SYMBOLS (1u << 20)

enum vmop_guest_kallsyms_form {
	VMOP_GUEST_KALLSYMS_BASE_RELATIVE,
	VMOP_GUEST_KALLSYMS_PLACE_RELATIVE,
	VMOP_GUEST_KALLSYMS_ADDRESSES,
};

/* The position of the tables in a buffer: offsets from its start, in bytes. */
struct vmop_guest_kallsyms_tables {
	enum vmop_guest_kallsyms_form form;
	uint32_t count;
	size_t names, names_end;
	size_t tokens, index;
	size_t offsets;
	uint64_t base; /* BASE_RELATIVE only */
};

/*
 * Find the first token table in buf at or after *from, and set *from to the byte after it. Return
 * false when buf has no more. buf must begin at an address that is a multiple of 8. The table of a
 * big-endian kernel, which vmop cannot read, is skipped; it sets *ret_big_endian if that is not
 * NULL.
 */
bool vmop_guest_kallsyms_find_tokens(const uint8_t *buf, size_t len_bytes, size_t *from,
				     size_t *ret_tokens, size_t *ret_index, bool *ret_big_endian);

/*
 * Find the other tables around a token table. Return false when this is not a kernel's symbol
 * table.
 */
bool vmop_guest_kallsyms_find_tables(const uint8_t *buf, size_t len_bytes, size_t tokens,
				     size_t index, struct vmop_guest_kallsyms_tables *ret);

/*
 * Unpack the tables into *ret, which the caller frees. address is the guest's address of offset 0
 * of the buffer, for PLACE_RELATIVE; 0 gives addresses relative to the buffer. VMOP_ERROR_CORRUPT:
 * the tables are damaged. VMOP_ERROR_LIMIT: they have too many symbols.
 */
struct vmop_error *vmop_guest_kallsyms_unpack(const uint8_t *buf, size_t len_bytes,
					      const struct vmop_guest_kallsyms_tables *tables,
					      uint64_t place, struct vmop_guest_kallsyms **ret);
void vmop_guest_kallsyms_free(struct vmop_guest_kallsyms *kallsyms); /* NULL is allowed */

uint32_t vmop_guest_kallsyms_count(const struct vmop_guest_kallsyms *kallsyms);
/* A symbol by its index (below count) in the table's order. */
uint64_t vmop_guest_kallsyms_address(const struct vmop_guest_kallsyms *kallsyms, uint32_t index);
const char *vmop_guest_kallsyms_name(const struct vmop_guest_kallsyms *kallsyms, uint32_t index);
char vmop_guest_kallsyms_type(const struct vmop_guest_kallsyms *kallsyms, uint32_t index);
/* Return the distance to the next higher address of a symbol; 0 for the last. */
uint64_t vmop_guest_kallsyms_len_bytes(const struct vmop_guest_kallsyms *kallsyms, uint32_t index);

/* Set *ret to the address of the first symbol of that name. Return false without such a symbol. */
bool vmop_guest_kallsyms_find(const struct vmop_guest_kallsyms *kallsyms, const char *name,
			      uint64_t *ret);
/*
 * Set *ret_index to the symbol that covers address, text before data. Return false when no symbol
 * lies at or below it.
 */
bool vmop_guest_kallsyms_at(const struct vmop_guest_kallsyms *kallsyms, uint64_t address,
			    uint32_t *ret_index);

#endif
