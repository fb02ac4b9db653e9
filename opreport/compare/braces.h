// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Take the sides of a comparison out of a command line, as opreport(1) writes them:
 * "vmopreport -l event:cycles { session:before } { session:after }".  "{" and "}" are arguments, or
 * a whole side is one argument, "{ session:before }".
 */
#ifndef VMOP_OPREPORT_COMPARE_BRACES_H
#define VMOP_OPREPORT_COMPARE_BRACES_H

#include "libutil/error.h"
#include "opreport/compare/per.h"
#include "opreport/query/spec.h"

struct vmop_braces {
	struct vmop_words
		sides[VMOP_SIDES_MAX]; /* n; a side without words is the current session */
	size_t n;		       /* 0: no braces */
	char **argv; /* argc arguments and NULL: the rest; the strings are the caller's */
	int argc;
};

/*
 * Initialise ret from a command line.  VMOP_ERROR_USAGE: braces do not match, one pair only, or an
 * option between them.  The caller deinitialises ret also after an error.
 */
struct vmop_error *vmop_braces_init(struct vmop_braces *ret, int argc, char **argv);
void vmop_braces_deinit(struct vmop_braces *braces);

#endif
