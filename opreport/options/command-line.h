// SPDX-License-Identifier: GPL-2.0-or-later
/* The command lines of the readers of session files. */
#ifndef VMOP_OPREPORT_OPTIONS_COMMAND_LINE_H
#define VMOP_OPREPORT_OPTIONS_COMMAND_LINE_H

#include <argp.h>

#include "libutil/error.h"

/*
 * Parse a command line as vmop_options_parse() does. `errors` are the places, up to a NULL, where
 * the parser of `argp` and its child parsers leave the error for which they stop. If one stops,
 * return the first error among them, and empty its place.
 */
struct vmop_error *vmop_command_line_parse(const struct argp *argp, int argc, char **argv,
					   void *input, struct vmop_error **const *errors);

#endif
