// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A page of HTML for one event of a comparison: its lines, its chart and its rows.  It needs
 * nothing else: no script, no file, no network.  All names are text.
 */
#ifndef VMOP_OPREPORT_COMPARE_RUN_COMPARE_PAGE_H
#define VMOP_OPREPORT_COMPARE_RUN_COMPARE_PAGE_H

#include <stdio.h>

#include "libutil/error.h"
#include "opreport/compare/comparison.h"

/* Rows of a page at most; the rest is one row. */
#define VMOP_COMPARE_PAGE_ROWS 200

struct vmop_compare_page {
	const struct vmop_comparison *comparison;
	size_t event;
	const char *title;	  /* raw bytes */
	const char *svg;	  /* the chart as one SVG document, or NULL */
	const char *const *links; /* n_links: names of files beside the page */
	size_t n_links;
};

/* Write the page to out. The caller checks ferror(out). */
struct vmop_error *vmop_compare_page_print(const struct vmop_compare_page *page, FILE *out);

#endif
