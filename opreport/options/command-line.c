// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/options/command-line.h"

#include "libutil/cleanup.h"
#include "libutil/options.h"

struct vmop_error *vmop_command_line_parse(const struct argp *argp, int argc, char **argv,
					   void *input, struct vmop_error **const *errors)
{
	error_t failed = vmop_options_parse(argp, argc, argv, 0, input);
	if (!failed)
		return NULL;
	for (; *errors; errors++)
		if (**errors)
			return vmop_steal(*errors);
	return vmop_error_os(failed, "reading the command line");
}
