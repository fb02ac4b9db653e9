// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A section of a page's data: one event, with the rows of its table, the boxes of its flame graph
 * and the bills of the domains, each also by time.  A section stays within a number of bytes: small
 * rows and boxes are summed up, and times become coarser.
 */
#ifndef VMOP_OPREPORT_EXPORT_HTML_SECTION_H
#define VMOP_OPREPORT_EXPORT_HTML_SECTION_H

#include <stddef.h>

#include "libutil/error.h"
#include "opreport/export/html/texts.h"
#include "opreport/export/json-writer.h"
#include "opreport/stacks/call-tree.h"

struct vmop_page_section_options {
	size_t event;	  /* slot */
	double min_width; /* of boxes, as a share of all */
	size_t max_bytes; /* about */
};

/*
 * Write the section as an object.  Its texts are added to `texts`.  The tree's times and bills are
 * sorted (vmop_time_counts_sort).
 */
struct vmop_error *vmop_page_section_write(struct vmop_call_tree *tree,
					   const struct vmop_page_section_options *options,
					   struct vmop_page_texts *texts,
					   struct vmop_json_writer *writer);

#endif
