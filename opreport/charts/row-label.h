// SPDX-License-Identifier: GPL-2.0-or-later
/* The names of a query's rows in charts. */
#ifndef VMOP_OPREPORT_CHARTS_ROW_LABEL_H
#define VMOP_OPREPORT_CHARTS_ROW_LABEL_H

#include "opreport/query/arena.h"
#include "opreport/query/query.h"

struct vmop_row_label {
	const char *name;   /* of the symbol, else of the image, the task, ... */
	const char *detail; /* of the other dimensions, or NULL */
};

/*
 * Set *ret to the names of a row by the dimensions, without VMOP_BY_TIME; without any other one the
 * name is "all".  with_pids: tasks are processes, not commands.  The result and the arena own the
 * texts.  Fails only without memory.
 */
struct vmop_error *vmop_row_label(struct vmop_result *result, struct vmop_row *row,
				  unsigned dimensions, bool with_pids, struct vmop_arena *arena,
				  struct vmop_row_label *ret);

/* Compare labels by their texts, as strcmp(3). */
int vmop_row_label_compare(const struct vmop_row_label *a, const struct vmop_row_label *b);

/* Return the plural of the most specific dimension, as in "Functions". */
const char *vmop_row_label_plural(unsigned dimensions);

#endif
