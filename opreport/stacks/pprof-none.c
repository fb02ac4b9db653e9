// SPDX-License-Identifier: GPL-2.0-or-later
/* The format pprof of a build without protobuf-c or zlib. */
#include "opreport/stacks/tree-output.h"

static struct vmop_error *pprof_print(struct vmop_call_tree *tree,
				      const struct vmop_tree_output_options *options, FILE *out)
{
	(void)tree;
	(void)options;
	(void)out;
	return vmop_error_new(VMOP_ERROR_CANT,
			      "vmopreport was built without --format=pprof, which needs "
			      "libprotobuf-c-dev, protobuf-c-compiler and zlib1g-dev");
}

const struct vmop_tree_output vmop_tree_output_pprof = {.name = "pprof", .print = pprof_print};
