// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Unwind tables: for each instruction of an image, how to find its caller's frame. They are built
 * from the call frame information (CFI) in .eh_frame and .debug_frame (DWARF 5, section 6.4; Linux
 * Standard Base 5, chapter 10), and contain only what unwinding needs: the canonical frame address
 * (CFA), the return address and the frame pointer.
 *
 * A table is immutable and free of references to the file that it was built from. Any thread may
 * build one; afterwards several may read it.
 */
#ifndef VMOP_LIBSTACK_TABLE_H
#define VMOP_LIBSTACK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

enum vmop_cfi_kind {
	VMOP_CFI_NONE = 0,     /* no information covers the instruction */
	VMOP_CFI_REGISTER = 1, /* CFA = register + cfa_offset */
	VMOP_CFI_DEREF = 2,    /* CFA = *(register + cfa_offset) + cfa_addend */
	VMOP_CFI_PLT = 3,    /* CFA = rsp + 8 + ((rip & 15) >= cfa_offset ? 8 : 0): a PLT's stub */
	VMOP_CFI_SIGNAL = 4, /* a signal trampoline: all registers are in the signal frame */
	VMOP_CFI_END = 5,    /* the outermost frame: the return address is undefined */
	VMOP_CFI_EXPRESSION = 6, /* rows can't express it: see vmop_cfi_table_entry */
};

/* Where the caller's value of a register is. */
enum vmop_cfi_saved {
	VMOP_CFI_SAME = 0,   /* still in the register */
	VMOP_CFI_AT_CFA = 1, /* in memory, at CFA + offset */
	VMOP_CFI_AT_FP = 2,  /* in memory, at the frame pointer + offset */
	VMOP_CFI_LOST = 3,   /* nowhere */
};

struct vmop_cfi_rule {
	uint8_t kind;	      /* enum vmop_cfi_kind */
	uint8_t cfa_register; /* DWARF number */
	uint8_t fp_saved;     /* enum vmop_cfi_saved of rbp, or of x29 */
	uint8_t ra_saved;     /* enum vmop_cfi_saved of the return address (arm64: SAME is x30) */
	bool ra_is_signed; /* arm64: the saved return address has a pointer authentication code */
	/*
	 * enum vmop_cfi_saved of rbx (x86-64), AT_CFA at CFA + extra_offset. It is LOST in most
	 * tables: only images with a CFA by rbx have it.
	 */
	uint8_t extra_saved;
	int16_t extra_offset;
	int32_t cfa_offset, cfa_addend;
	int32_t fp_offset, ra_offset;
};

/* Bounds of a build: the file is untrusted. */
struct vmop_cfi_limits {
	size_t max_bytes;    /* of the finished table and of the memory of its build */
	uint64_t max_cpu_ns; /* of the building thread */
};

struct vmop_cfi_facts {
	uint16_t machine;   /* EM_X86_64 or EM_AARCH64 */
	size_t table_bytes; /* memory of the table */
	size_t text_bytes;  /* of the image's executable segments */
	size_t n_rows, n_rules;
	size_t n_expression_rows;
};

struct vmop_cfi_table;

/*
 * Build the table of the ELF file that fd reads, by pread(2) only: the file may shrink or change
 * meanwhile. *ret is the caller's. VMOP_ERROR_NOT_FOUND: the file has no CFI. VMOP_ERROR_CORRUPT:
 * no ELF file of a supported machine, or damaged. VMOP_ERROR_LIMIT: a bound was reached. A
 * damaged entry keeps its rows before the damage, and has no rule from there on.
 */
struct vmop_error *vmop_cfi_table_build(int fd, const struct vmop_cfi_limits *limits,
					struct vmop_cfi_table **ret);

/* The same for an image in memory, such as the vDSO, whose offsets count from its start. */
struct vmop_error *vmop_cfi_table_build_from_memory(const void *image, size_t len_bytes,
						    const struct vmop_cfi_limits *limits,
						    struct vmop_cfi_table **ret);

/* A file that is read by a function, which returns false if a byte can't be read. */
struct vmop_cfi_reader {
	bool (*read)(void *arg, uint64_t offset, void *buf, size_t len_bytes);
	void *arg;
};

/*
 * The same for such a file. Where pages of its .eh_frame can't be read, the table is partial: the
 * functions whose entries are there have no rules. VMOP_ERROR_CORRUPT: also if its headers or its
 * whole CFI could not be read.
 */
struct vmop_error *vmop_cfi_table_build_by(const struct vmop_cfi_reader *reader,
					   const struct vmop_cfi_limits *limits,
					   struct vmop_cfi_table **ret);

void vmop_cfi_table_destroy(struct vmop_cfi_table *table); /* NULL is allowed */

/*
 * Return a number above 0 that no other table of this program has or had. 0: the numbers are used
 * up.
 */
uint32_t vmop_cfi_table_serial(const struct vmop_cfi_table *table);

/*
 * Set *ret to the rule of the instruction at that offset in the file (of the image in memory: from
 * its start). Without one, ret->kind is VMOP_CFI_NONE.
 */
void vmop_cfi_table_find(const struct vmop_cfi_table *table, uint64_t offset,
			 struct vmop_cfi_rule *ret);

/*
 * Return whether the instruction at offset belongs to the image's entry point, `_start`, which has
 * no caller even where no CFI marks it as the outermost (ld.so's has none).
 */
bool vmop_cfi_table_is_entry(const struct vmop_cfi_table *table, uint64_t offset);

/*
 * Return whether a return address of 0 marks the outermost frame in the image's ordinary functions:
 * so it does in Go's programs, above `runtime.goexit`.
 */
bool vmop_cfi_table_ends_with_zero(const struct vmop_cfi_table *table);

/* Return whether a function without a rule may have CFI that could not be read. */
bool vmop_cfi_table_is_partial(const struct vmop_cfi_table *table);

/*
 * The raw CFI of a function that has rows of kind VMOP_CFI_EXPRESSION: its FDE and the CIE that the
 * FDE refers to, with the ELF virtual addresses that they had in the image.
 */
struct vmop_cfi_entry {
	const uint8_t *cie, *fde; /* whole records, length fields included; the table's */
	size_t cie_bytes, fde_bytes;
	uint64_t cie_address, fde_address;
	uint64_t function_address, function_bytes;
	uint64_t address_minus_offset; /* of the function's segment */
	bool is_debug_frame;	       /* the records are .debug_frame's, which differ in format */
};

/* Return whether there is an entry for the function at offset, and set *ret to it. */
bool vmop_cfi_table_entry(const struct vmop_cfi_table *table, uint64_t offset,
			  struct vmop_cfi_entry *ret);

/*
 * The content of a table, for an unwinder elsewhere. A row is the low VMOP_CFI_ROW_OFFSET_BITS of
 * an offset, above the index of its rule in the other bits; its rule holds from there up to the
 * next row. The rows of the offsets whose upper bits are first_block + i are those from blocks[i]
 * up to blocks[i + 1]. blocks (n_blocks + 1) and rules are the table's; rules[0] is VMOP_CFI_NONE.
 */
enum { VMOP_CFI_ROW_OFFSET_BITS = 10 };
struct vmop_cfi_content {
	uint64_t first_block;
	size_t n_blocks, n_rows, n_rules;
	const uint32_t *blocks;
	const struct vmop_cfi_rule *rules;
	uint64_t entry_start, entry_end; /* the code of vmop_cfi_table_is_entry; equal: none */
};
void vmop_cfi_table_content(const struct vmop_cfi_table *table, struct vmop_cfi_content *ret);

/* Return row `index` of that content. */
uint32_t vmop_cfi_table_content_row(const struct vmop_cfi_table *table, size_t index);

void vmop_cfi_table_facts(const struct vmop_cfi_table *table, struct vmop_cfi_facts *ret);

#endif
