// SPDX-License-Identifier: GPL-2.0-or-later
/* Command lines. A word can be a file name that another user chose ("vmopreport *"). */
#ifndef VMOP_LIBUTIL_OPTIONS_H
#define VMOP_LIBUTIL_OPTIONS_H

#include <argp.h>

/*
 * Parse as argp_parse(3) does. getopt(3) prints each word that it refuses unchanged, so escape such
 * words before getopt reads them (escape.h).
 */
error_t vmop_options_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
			   void *input);

#endif
