// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Output formats, behind one operations table.
 *
 * Caller: vmopreport.c, with the sheet of a report or of a list of sessions.  Data meets the files
 * of this folder in this order:
 *   sheet        the columns, rows, lines and facts to print
 *   output       finds the format by its name
 *   table, csv, json   the formats; another one, xml, is in opreport/export
 *   value-text   formats the numbers of tables, also vmoptop's
 *   text-table   aligns the columns of tables; line-width fits them to the terminal
 *   time-text    formats times and spans for lines and lists
 *   printing     opens the file, or takes stdout
 *
 * A new format is a file NAME.c with its operations table, a declaration here, and a line in
 * output.c.
 */
#ifndef VMOP_OPREPORT_OUTPUT_OUTPUT_H
#define VMOP_OPREPORT_OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "libutil/error.h"
#include <stdint.h>

#include "opreport/output/sheet.h"

struct vmop_output_options {
	bool no_header;	      /* omit the lines above the table */
	size_t width_columns; /* shorten elastic columns to this width; 0: never */
};

struct vmop_output {
	const char *name;
	bool by_symbol;	     /* reports have rows by symbol */
	bool has_facts;	     /* prints the sheet's facts, such as losses */
	uint64_t max_values; /* that it prints within some seconds and 1 GB */
	/* Write the sheet to out.  Returns an error without memory; the caller checks ferror(out).
	 */
	struct vmop_error *(*print)(const struct vmop_sheet *sheet,
				    const struct vmop_output_options *options, FILE *out);
};

extern const struct vmop_output vmop_output_table, vmop_output_csv, vmop_output_json;
extern const struct vmop_output vmop_output_xml; /* opreport/export */

/*
 * Set *ret to the format of that name.  with_symbol_formats: also those that only print reports by
 * symbol.  An unknown name is VMOP_ERROR_USAGE, with the known ones; others is the end of that
 * list, such as "" or ", folded".
 */
struct vmop_error *vmop_output_find(const char *name, bool with_symbol_formats, const char *others,
				    const struct vmop_output **ret);

#endif
