// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Read the stacks of a query's samples into a call tree.  The reader is the query's sink: create
 * it, run the query with vmop_stack_reader_sink(), then take the tree.
 */
#ifndef VMOP_OPREPORT_STACKS_STACK_READER_H
#define VMOP_OPREPORT_STACKS_STACK_READER_H

#include "opreport/query/query.h"
#include "opreport/stacks/call-tree.h"
#include "opreport/stacks/stack-filter.h"

struct vmop_stack_reader;

/* The bound of a session's own tree of stacks.  A larger one is VMOP_ERROR_LIMIT. */
#define VMOP_STACKS_MAX_BYTES ((size_t)512 << 20)

/*
 * Frames in a stack that the reader follows.  A longer stack cannot come from vmopd: it counts as
 * damaged.
 */
#define VMOP_STACK_FOLLOWED_MAX 512

/*
 * Create a reader for one run of query, which must outlive it, as must the lists of filter.  The
 * caller owns *ret.
 */
struct vmop_error *vmop_stack_reader_create(const struct vmop_query *query,
					    const struct vmop_call_tree_options *options,
					    const struct vmop_stack_filter *filter,
					    struct vmop_stack_reader **ret);
void vmop_stack_reader_destroy(struct vmop_stack_reader *reader); /* NULL is allowed */

/* Return the sink for query->sink.  The reader owns it. */
const struct vmop_sample_sink *vmop_stack_reader_sink(struct vmop_stack_reader *reader);

/*
 * Set *ret to the finished tree, which the reader owns, after the query's run gave err.  Returns
 * err, except that a query of sessions without any stack gives VMOP_ERROR_NOT_FOUND.
 */
struct vmop_error *vmop_stack_reader_finish(struct vmop_stack_reader *reader,
					    struct vmop_error *err, struct vmop_call_tree **ret);

#endif
