// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rows of a page's table: for one event, the functions of each domain, with the samples in them
 * and in what they called.  Only the first rows are kept; the rest is summed.
 */
#ifndef VMOP_OPREPORT_EXPORT_HTML_ROWS_H
#define VMOP_OPREPORT_EXPORT_HTML_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "opreport/stacks/call-tree.h"

struct vmop_page_row {
	uint32_t domain; /* frame of the domain's group, or VMOP_NO_FRAME */
	uint32_t frame;
	struct vmop_count self, total;
};

struct vmop_page_rows {
	struct vmop_page_row *items; /* n_kept, by weight in themselves, then by total */
	size_t n, n_kept;
	struct vmop_count rest; /* in the rows that are not kept themselves */
	uint32_t *row_of;	/* by node: the kept row of its own samples, or VMOP_NO_FRAME */
};

/* Make the rows of an event slot.  The caller deinitialises ret also after an error. */
struct vmop_error *vmop_page_rows_init(struct vmop_page_rows *ret,
				       const struct vmop_call_tree *tree, size_t event,
				       size_t max_rows);
/* Keep only the first max_rows. */
void vmop_page_rows_cut(struct vmop_page_rows *rows, size_t n_nodes, size_t max_rows);
void vmop_page_rows_deinit(struct vmop_page_rows *rows);

#endif
