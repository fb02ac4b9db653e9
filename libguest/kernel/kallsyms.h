// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's own symbol table, found in its image and unpacked.
 *
 * scripts/kallsyms.c writes it, kernel/kallsyms.c reads it.  Tables lie one
 * after another in .rodata; which ones, and in what order:
 *
 *	to 6.1		offsets base count names markers tokens index
 *	6.2, 6.3	offsets base count names markers seqs tokens index
 *	from 6.4	count names markers tokens index offsets base seqs
 *	from 7.0	count names markers tokens index offsets seqs
 *
 * An offset counts from base (unsigned); or, where most of them are negative,
 * ~offset from base, and those that are not are absolute (per-CPU, x86-64 till
 * 6.14); or, from 7.0, from its own place.  Kernels to 6.10 may be configured
 * to hold 64-bit addresses in the place of offsets and base.
 *
 * Found by its token index: 256 16-bit offsets into 256 strings that end just
 * before it, so that each difference is a string's length + 1.  Nothing else
 * in a machine's memory looks like that.
 */
#ifndef VMOP_LIBGUEST_KERNEL_KALLSYMS_H
#define VMOP_LIBGUEST_KERNEL_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vmop_error;
struct vmop_kallsyms;

/* How far before and after the token table the other tables are looked for. */
#define VMOP_KALLSYMS_BEFORE_BYTES (10u << 20)
#define VMOP_KALLSYMS_AFTER_BYTES (4u << 20)
#define VMOP_KALLSYMS_MAX_SYMBOLS (1u << 20)

enum vmop_kallsyms_form {
	VMOP_KALLSYMS_BASE_RELATIVE,
	VMOP_KALLSYMS_PLACE_RELATIVE,
	VMOP_KALLSYMS_ADDRESSES,
};

/* Where the tables lie in a buffer: offsets from its start, in bytes. */
struct vmop_kallsyms_tables {
	enum vmop_kallsyms_form form;
	uint32_t count;
	size_t names, names_end;
	size_t tokens, index;
	size_t offsets;
	uint64_t base; /* BASE_RELATIVE only */
};

/*
 * The first token table in buf at or after *from; *from goes behind it.
 * buf must begin at an address that is a multiple of 8.  A big-endian kernel's
 * (nothing else here reads such) is passed over, and noted in *ret_big_endian if
 * that is not NULL.
 */
bool vmop_kallsyms_find_tokens(const uint8_t *buf, size_t len_bytes, size_t *from,
			       size_t *ret_tokens, size_t *ret_index, bool *ret_big_endian);

/* The other tables around it; false: this is no kernel's symbol table. */
bool vmop_kallsyms_find_tables(const uint8_t *buf, size_t len_bytes, size_t tokens, size_t index,
			       struct vmop_kallsyms_tables *ret);

/*
 * Unpacks.  place is the address that offset 0 of the buffer has in the guest
 * (for PLACE_RELATIVE; 0 gives addresses relative to the buffer).
 * VMOP_ERROR_CORRUPT, VMOP_ERROR_LIMIT.
 */
struct vmop_error *vmop_kallsyms_unpack(const uint8_t *buf, size_t len_bytes,
					const struct vmop_kallsyms_tables *tables, uint64_t place,
					struct vmop_kallsyms **ret);
void vmop_kallsyms_free(struct vmop_kallsyms *kallsyms);

uint32_t vmop_kallsyms_count(const struct vmop_kallsyms *kallsyms);
/* index < count, in the table's order. */
uint64_t vmop_kallsyms_address(const struct vmop_kallsyms *kallsyms, uint32_t index);
const char *vmop_kallsyms_name(const struct vmop_kallsyms *kallsyms, uint32_t index);
char vmop_kallsyms_type(const struct vmop_kallsyms *kallsyms, uint32_t index);
/* To the next higher address; 0 for the last. */
uint64_t vmop_kallsyms_len_bytes(const struct vmop_kallsyms *kallsyms, uint32_t index);

/* The first symbol of that name. */
bool vmop_kallsyms_find(const struct vmop_kallsyms *kallsyms, const char *name, uint64_t *ret);
/* The symbol that covers address, text before data; false: none at or before it. */
bool vmop_kallsyms_at(const struct vmop_kallsyms *kallsyms, uint64_t address, uint32_t *ret_index);

#endif
