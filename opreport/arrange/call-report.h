// SPDX-License-Identifier: GPL-2.0-or-later
/* Make a sheet of the lines of a callgraph or a call tree. */
#ifndef VMOP_OPREPORT_ARRANGE_CALL_REPORT_H
#define VMOP_OPREPORT_ARRANGE_CALL_REPORT_H

#include "opreport/arrange/call-lines.h"
#include "opreport/output/sheet.h"

struct vmop_call_report_options {
	bool for_people;     /* indent symbols, as a table shows them */
	bool long_filenames; /* whole paths of images */
	bool shows_domain;   /* always; else only if there are guests */
	bool is_graph;	     /* of a callgraph: with roles; else of a tree */
	bool with_self;	     /* the lines have own samples */
};

struct vmop_call_report;

/*
 * Make a sheet of lines, with the lines above the table and the facts of base, which is a report's
 * sheet of the same query.  tree has the frames.  base, lines and tree must outlive *ret, which the
 * caller owns.
 */
struct vmop_error *vmop_call_report_create(const struct vmop_call_report_options *options,
					   const struct vmop_sheet *base,
					   const struct vmop_call_lines *lines,
					   const struct vmop_call_tree *tree,
					   struct vmop_call_report **ret);
void vmop_call_report_destroy(struct vmop_call_report *report); /* NULL is allowed */

const struct vmop_sheet *vmop_call_report_sheet(const struct vmop_call_report *report);

#endif
