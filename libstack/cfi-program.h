// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Running the programs of CIEs and FDEs (DWARF 5, section 6.4.2): they describe a table with a row
 * of rules for each range of instructions. Only the rules of the CFA, the frame pointer, the
 * return address and, on request, another register are kept. Programs are untrusted: a run takes
 * time proportional to the program's bytes, and allocates nothing.
 */
#ifndef VMOP_LIBSTACK_CFI_PROGRAM_H
#define VMOP_LIBSTACK_CFI_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "libstack/cfi.h"
#include "libstack/cursor.h"

/* Where the value of a register is. */
enum vmop_cfi_how {
	VMOP_CFI_HOW_SAME = 0,	 /* unchanged; also where a program does not name a register */
	VMOP_CFI_HOW_OFFSET,	 /* in memory at CFA + offset; the CFA itself: register + offset */
	VMOP_CFI_HOW_EXPRESSION, /* in memory at the expression's value; the CFA itself: that value
				  */
	VMOP_CFI_HOW_UNDEFINED,
	VMOP_CFI_HOW_REGISTER,	       /* in the register whose number is offset */
	VMOP_CFI_HOW_VALUE_OFFSET,     /* CFA + offset is the value */
	VMOP_CFI_HOW_VALUE_EXPRESSION, /* the expression's value */
};

union vmop_cfi_operand {
	int64_t offset;
	const uint8_t *expression; /* in the section: its length, checked, and its bytes */
};

struct vmop_cfi_value {
	uint8_t how; /* enum vmop_cfi_how */
	union vmop_cfi_operand operand;
};

/* The values that a row has rules for. */
enum vmop_cfi_place {
	VMOP_CFI_CFA, /* an OFFSET or an EXPRESSION */
	VMOP_CFI_FP,
	VMOP_CFI_RA,
	VMOP_CFI_EXTRA, /* the register that the caller asked for */
	VMOP_CFI_N_PLACES,
};

/*
 * A row. Equal rows have equal words. All parts are written and read as whole words: a CPU waits
 * when it reads a word of which it has just written a byte.
 */
struct vmop_cfi_row {
	union vmop_cfi_operand operands[VMOP_CFI_N_PLACES];
	/*
	 * From the lowest bits on: enum vmop_cfi_how of each place, the register of the CFA, and
	 * whether the return address is signed.
	 */
	uint64_t packed;
};

enum {
	VMOP_CFI_HOW_BITS = 3,
	VMOP_CFI_HOW_MASK = (1 << VMOP_CFI_HOW_BITS) - 1,
	VMOP_CFI_CFA_REGISTER_SHIFT = VMOP_CFI_HOW_BITS * VMOP_CFI_N_PLACES,
	VMOP_CFI_RA_IS_SIGNED_SHIFT = VMOP_CFI_CFA_REGISTER_SHIFT + 8,
	VMOP_CFI_PACKED_BITS = VMOP_CFI_RA_IS_SIGNED_SHIFT + 1,
	VMOP_CFI_LARGE_REGISTER = 0xff, /* in the place of all larger numbers */
};
_Static_assert((int)VMOP_CFI_HOW_VALUE_EXPRESSION <= (int)VMOP_CFI_HOW_MASK,
	       "a how has three bits");

static inline uint8_t vmop_cfi_row_how(const struct vmop_cfi_row *row, enum vmop_cfi_place place)
{
	return row->packed >> VMOP_CFI_HOW_BITS * place & VMOP_CFI_HOW_MASK;
}

/* Return the DWARF number of the register of the CFA, or VMOP_CFI_LARGE_REGISTER. */
static inline uint8_t vmop_cfi_row_cfa_register(const struct vmop_cfi_row *row)
{
	return (uint8_t)(row->packed >> VMOP_CFI_CFA_REGISTER_SHIFT);
}

static inline bool vmop_cfi_row_ra_is_signed(const struct vmop_cfi_row *row)
{
	return row->packed >> VMOP_CFI_RA_IS_SIGNED_SHIFT & 1;
}

/* A register that no program names. */
#define VMOP_CFI_NO_COLUMN UINT64_MAX

static inline struct vmop_cfi_value vmop_cfi_row_value(const struct vmop_cfi_row *row,
						       enum vmop_cfi_place place)
{
	return (struct vmop_cfi_value){.how = vmop_cfi_row_how(row, place),
				       .operand = row->operands[place]};
}

/* Return the expression of an operand that a row has, and set *ret_len_bytes to its length. */
const uint8_t *vmop_cfi_expression(union vmop_cfi_operand operand, uint64_t *ret_len_bytes);

enum { VMOP_CFI_MAX_REMEMBERED = 16 };

/* A program that is being run. Private, except for row, from and is_bad. */
struct vmop_cfi_program {
	struct vmop_cfi_row row;
	uint64_t from; /* first byte of the row, counted from the function's start */
	bool is_bad;   /* the program is damaged, see vmop_cfi_program_next() */

	uint64_t at; /* end of the row */
	bool is_done;
	struct vmop_cfi_cursor cursor;
	const struct vmop_cfi_section *section;
	const struct vmop_cfi_cie *cie;
	const struct vmop_cfi_row *initial;
	uint64_t function_address;
	uint64_t fp_column, extra_column;
	unsigned n_remembered;
	struct vmop_cfi_row remembered[VMOP_CFI_MAX_REMEMBERED];
};

/*
 * Run the program of a CIE and set *ret to the row in force at the start of its functions.
 * extra_column is the DWARF number of the register of VMOP_CFI_EXTRA, or VMOP_CFI_NO_COLUMN. False:
 * the program is damaged.
 */
bool vmop_cfi_run_cie(const struct vmop_cfi_section *section, const struct vmop_cfi_cie *cie,
		      uint64_t extra_column, struct vmop_cfi_row *ret);

/*
 * Begin to run the program of an FDE. section, cie, which is the FDE's, and initial, the row that
 * vmop_cfi_run_cie() gave for it and for extra_column, are used until the end of the run.
 */
void vmop_cfi_program_begin(struct vmop_cfi_program *program,
			    const struct vmop_cfi_section *section, const struct vmop_cfi_cie *cie,
			    const struct vmop_cfi_row *initial, const struct vmop_cfi_fde *fde,
			    uint64_t extra_column);

/*
 * Run up to the end of the next row. program->row is in force from program->from up to the next
 * row, or the end of the function; from never decreases, and rows of no bytes occur. False: there
 * are no more rows. If program->is_bad then, nothing is known about instructions at program->from
 * and after it.
 */
bool vmop_cfi_program_next(struct vmop_cfi_program *program);

#endif
