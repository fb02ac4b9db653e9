// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Output formats, behind one operations table.  A new format is a file
 * output-NAME.c with its table, and a line in output.c.
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
	bool no_header;	      /* leave out the lines above the table */
	size_t width_columns; /* shorten elastic columns to fit; 0: never */
};

struct vmop_output {
	const char *name;
	bool has_facts;	     /* tells the sheet's facts (losses among them) by itself */
	uint64_t max_values; /* that it prints in some seconds and in less than 1 GB */
	struct vmop_error *(*print)(const struct vmop_sheet *sheet,
				    const struct vmop_output_options *options, FILE *out);
};

extern const struct vmop_output vmop_output_table, vmop_output_csv, vmop_output_json;

/* VMOP_ERROR_USAGE lists the names. */
struct vmop_error *vmop_output_find(const char *name, const struct vmop_output **ret);

#endif
