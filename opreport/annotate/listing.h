// SPDX-License-Identifier: GPL-2.0-or-later
/* Print an annotation for people: counts in the margin, hot lines marked. */
#ifndef VMOP_OPREPORT_ANNOTATE_LISTING_H
#define VMOP_OPREPORT_ANNOTATE_LISTING_H

#include <stdio.h>

#include "opreport/annotate/annotation.h"

/* Lines with at least this share of an event's samples are hot or warm. */
#define VMOP_HOT_PERCENT 5.0
#define VMOP_WARM_PERCENT 0.5

struct vmop_listing_options {
	uint64_t context;     /* shown lines around one with samples; UINT64_MAX: all */
	size_t width_columns; /* cut lines to it; 0: never */
	bool has_colours;     /* for a terminal */
	bool is_mixed;	      /* source lines and instructions */
};

/* Print a block: its heading, then its notes. Errors of out are for the caller. */
struct vmop_error *vmop_listing_print(const struct vmop_annotation *annotation,
				      const struct vmop_block *block,
				      const struct vmop_listing_options *options, FILE *out);

/*
 * Return source text as a terminal can show it: tabs are blanks, and what would steer the terminal
 * is escaped (libutil/escape.h) except that a backslash stays. The caller frees it. Text beyond 4
 * KiB is cut. NULL: no memory.
 */
char *vmop_listing_plain(const char *text);

#endif
