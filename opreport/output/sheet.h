// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an output format is given: columns, rows, and what stands above them,
 * without knowing what it is a report of.
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
	VMOP_VALUE_RATIO, /* of events: an estimate, see mark */
};

/* What is known of a ratio, before its number as people see it. */
enum vmop_value_mark {
	VMOP_MARK_NONE = 0,
	VMOP_MARK_ROUGH = '~',
	VMOP_MARK_BELOW = '<',	 /* the number is a bound: for people alone */
	VMOP_MARK_UNKNOWN = '-', /* and there is no number */
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
	const char *name;    /* for machines: lower case, no blanks */
	const char *heading; /* for people; NULL: machines alone see the column */
	enum vmop_value_type type;
	bool is_elastic; /* may be shortened to fit a terminal */
	int id;		 /* the sheet's own */
	size_t event;	 /* likewise; or the ratio */
};

/* For machines: what people read in the lines above the table. */
struct vmop_fact {
	const char *list; /* "events": the fact is of item `item` of a list; NULL: of the session */
	size_t item;
	const char *name;
	enum vmop_value_type type;
	struct vmop_value value; /* text holds as long as the sheet */
};

/* A row's details are rows below it, with the same columns. */
#define VMOP_NO_DETAIL SIZE_MAX

struct vmop_sheet {
	const struct vmop_column *columns;
	size_t n_columns;
	size_t n_rows;
	const char *const *lines; /* above the table, one line each */
	size_t n_lines;
	const char *const *footer; /* below it */
	size_t n_footer;
	const struct vmop_fact *facts;
	size_t n_facts;
	size_t (*n_details)(const struct vmop_sheet *sheet, size_t row); /* NULL: none have any */
	/* See vmop_sheet_values, which calls it with ret zeroed. */
	void (*values)(const struct vmop_sheet *sheet, size_t row, size_t detail,
		       struct vmop_value *ret);
	void *data; /* the sheet maker's */
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
 * Set ret[0..n_columns) to the values of a row, or of its detail `detail` (VMOP_NO_DETAIL: of the
 * row).  Values that the row's detail shares with the row are empty in the detail.
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
