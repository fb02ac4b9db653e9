// SPDX-License-Identifier: GPL-2.0-or-later
/* Command lines.  Their words can be names of files that others chose ("vmopreport *"). */
#ifndef VMOP_LIBUTIL_OPTIONS_H
#define VMOP_LIBUTIL_OPTIONS_H

#include <argp.h>

/*
 * Parse as argp_parse(3) does.  getopt(3) prints the words that it refuses as they are: these are
 * escaped before it sees them (escape.h).
 */
error_t vmop_options_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
			   void *input);

#endif
