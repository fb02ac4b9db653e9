// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Formats that print a call tree, such as folded stacks and flame graphs, behind one operations
 * table.  Other reports of stacks are sheets (output/sheet.h).
 *
 * A new format is a file NAME.c with its operations table, a declaration here, and a line in
 * tree-output.c.
 */
#ifndef VMOP_OPREPORT_STACKS_TREE_OUTPUT_H
#define VMOP_OPREPORT_STACKS_TREE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "libutil/error.h"
#include "opreport/stacks/call-tree.h"

struct vmop_flame_tints;
struct vmop_inline_map;

struct vmop_tree_output_options {
	/* The lines above a report: session, time, events, losses, complete stacks.  Raw bytes.
	 */
	const char *const *lines;
	size_t n_lines;
	double threshold_percent; /* frames below this share of all samples can be merged, 0: none
				   */
	const struct vmop_inline_map *inlines; /* of the tree's frames; NULL: see has_inlines */
	/* The meaning of a flame graph's colours (flame-tint.h); NULL: kinds of code. */
	const struct vmop_flame_tints *tints;
};

struct vmop_tree_output {
	const char *name;
	/* The libraries that this build does not have; NULL: it prints.  If not, only name is set.
	 */
	const char *lacks;
	struct vmop_call_tree_options tree; /* which tree it prints */
	bool has_own_groups;		    /* --by does not change the groups of the tree */
	/* Inlined functions come in options->inlines, and else as frames of the tree. */
	bool has_inlines;
	unsigned merge; /* bits of enum vmop_merge: tasks that are one group */
	/*
	 * Write the finished tree to out.  Names are made on the way, so the tree is not const.
	 * Returns an error without memory; the caller checks ferror(out).
	 */
	struct vmop_error *(*print)(struct vmop_call_tree *tree,
				    const struct vmop_tree_output_options *options, FILE *out);
};

extern const struct vmop_tree_output vmop_tree_output_folded, vmop_tree_output_flamegraph,
	vmop_tree_output_pprof;

/* Formats in opreport/export. */
extern const struct vmop_tree_output vmop_tree_output_perf_script, vmop_tree_output_speedscope,
	vmop_tree_output_firefox, vmop_tree_output_html;

/* Return the format of that name, or NULL. */
const struct vmop_tree_output *vmop_tree_output_find(const char *name);

/* Return ", NAME" for each format, as the end of a message's list. */
const char *vmop_tree_output_names(void);

#endif
