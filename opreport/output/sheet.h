// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A sheet: the input of an output format.  It has columns, rows with details, lines above and
 * below, and facts for programs.  A format does not depend on the sheet's subject.
 */
#ifndef VMOP_OPREPORT_OUTPUT_SHEET_H
#define VMOP_OPREPORT_OUTPUT_SHEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum vmop_value_type {
	VMOP_VALUE_TEXT,
	VMOP_VALUE_COUNT,
	VMOP_VALUE_PERCENT,
	VMOP_VALUE_ADDRESS,
	VMOP_VALUE_RATIO, /* of events: an estimate with a mark */
};

/* The precision of a ratio: the character before its number in a table. */
enum vmop_value_mark {
	VMOP_MARK_NONE = 0,
	VMOP_MARK_ROUGH = '~',
	VMOP_MARK_BELOW = '<',	 /* the number is an upper bound, shown to people only */
	VMOP_MARK_UNKNOWN = '-', /* there is no number */
};

struct vmop_value {
	bool is_empty;
	char mark; /* enum vmop_value_mark, of a RATIO */
	union {
		const char *text; /* valid as long as the sheet */
		uint64_t number;  /* COUNT, ADDRESS */
		double percent;
		double ratio;
	};
};

struct vmop_column {
	const char *name;    /* for programs: lower case, no blanks */
	const char *heading; /* for people; NULL: the column is for programs only */
	enum vmop_value_type type;
	bool is_elastic; /* may be shortened to fit a terminal */
	int id;		 /* private to the sheet's maker */
	size_t event;	 /* likewise: an event or a ratio */
};

/* A fact: what the lines above the table state, for programs. */
struct vmop_fact {
	const char *list; /* list, such as "events", of which item `item` has the fact; NULL: the
			     session */
	size_t item;
	const char *name;
	enum vmop_value_type type;
	struct vmop_value value; /* text is valid as long as the sheet */
};

/* Details are rows below their row, with the same columns. */
#define VMOP_NO_DETAIL SIZE_MAX

struct vmop_sheet {
	const struct vmop_column *columns;
	size_t n_columns;
	size_t n_rows;
	const char *const *lines; /* above the table */
	size_t n_lines;
	const char *const *footer; /* below the table */
	size_t n_footer;
	const struct vmop_fact *facts;
	size_t n_facts;
	size_t (*n_details)(const struct vmop_sheet *sheet, size_t row); /* NULL: no details */
	/* See vmop_sheet_values, which calls it with ret zeroed. */
	void (*values)(const struct vmop_sheet *sheet, size_t row, size_t detail,
		       struct vmop_value *ret);
	void *data; /* private to the sheet's maker */
};

/*
 * Return whether a program can be given the value's number: a ratio's bound is no estimate, and an
 * unknown ratio has no number.
 */
static inline bool vmop_value_is_number(const struct vmop_value *value)
{
	return value->mark == VMOP_MARK_NONE || value->mark == VMOP_MARK_ROUGH;
}

/*
 * Set ret[0..n_columns) to the values of a row, or of one of its details if detail is not
 * VMOP_NO_DETAIL.  A detail's value is empty where it equals its row's.
 */
static inline void vmop_sheet_values(const struct vmop_sheet *sheet, size_t row, size_t detail,
				     struct vmop_value *ret)
{
	memset(ret, 0, sheet->n_columns * sizeof(*ret));
	sheet->values(sheet, row, detail, ret);
}

static inline size_t vmop_sheet_n_details(const struct vmop_sheet *sheet, size_t row)
{
	return sheet->n_details ? sheet->n_details(sheet, row) : 0;
}

#endif
