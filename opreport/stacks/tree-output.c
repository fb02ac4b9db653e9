// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/tree-output.h"

#include <string.h>

/* In the order of the man page; the last one is NULL. */
static const struct vmop_tree_output *const outputs[] = {
	&vmop_tree_output_folded,     &vmop_tree_output_flamegraph,
	&vmop_tree_output_pprof,      &vmop_tree_output_perf_script,
	&vmop_tree_output_speedscope, &vmop_tree_output_firefox,
	&vmop_tree_output_html,	      NULL,
};

const struct vmop_tree_output *vmop_tree_output_find(const char *name)
{
	for (const struct vmop_tree_output *const *output = outputs; *output; output++)
		if (!strcmp((*output)->name, name))
			return *output;
	return NULL;
}

const char *vmop_tree_output_names(void)
{
	return ", folded, flamegraph, pprof, perf-script, speedscope, firefox, html";
}
