// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Running the programs of CIEs and FDEs (DWARF 5, section 6.4.2): they describe a table with a row
 * of rules for each range of instructions. Only the rules of the CFA, the frame pointer and the
 * return address are kept. Programs are untrusted: a run takes time proportional to the program's
 * bytes, and allocates nothing.
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

struct vmop_cfi_value {
	uint8_t how; /* enum vmop_cfi_how */
	uint32_t expression_bytes;
	union {
		int64_t offset;
		const uint8_t *expression; /* in the section */
	};
};

struct vmop_cfi_row {
	struct vmop_cfi_value cfa, fp, ra; /* the CFA is an OFFSET or an EXPRESSION */
	uint64_t cfa_register;
	bool ra_is_signed;
};

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
	uint64_t fp_column;
	unsigned n_remembered;
	struct vmop_cfi_row remembered[VMOP_CFI_MAX_REMEMBERED];
};

/*
 * Run the program of a CIE and set *ret to the row in force at the start of its functions. False:
 * it is damaged.
 */
bool vmop_cfi_run_cie(const struct vmop_cfi_section *section, const struct vmop_cfi_cie *cie,
		      struct vmop_cfi_row *ret);

/*
 * Begin to run the program of an FDE. section, cie, which is the FDE's, and initial, the row that
 * vmop_cfi_run_cie() gave for it, are used until the end of the run.
 */
void vmop_cfi_program_begin(struct vmop_cfi_program *program,
			    const struct vmop_cfi_section *section, const struct vmop_cfi_cie *cie,
			    const struct vmop_cfi_row *initial, const struct vmop_cfi_fde *fde);

/*
 * Run up to the end of the next row. program->row is in force from program->from up to the next
 * row, or the end of the function; from never decreases, and rows of no bytes occur. False: there
 * are no more rows. If program->is_bad then, nothing is known about instructions at program->from
 * and after it.
 */
bool vmop_cfi_program_next(struct vmop_cfi_program *program);

#endif
