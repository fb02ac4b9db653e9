// SPDX-License-Identifier: GPL-2.0-or-later
/* From the cells of a result to its rows by symbol. */
#ifndef VMOP_OPREPORT_QUERY_RESOLVE_H
#define VMOP_OPREPORT_QUERY_RESOLVE_H

#include "opreport/query/query.h"

/*
 * rows_tally's counts for (group, value), with a note that they hold samples of this mode
 * (enum vmop_mode).  *ret holds until the next call.
 */
struct vmop_error *vmop_result_row_at(struct vmop_result *result, uint32_t group, uint64_t value,
				      uint8_t mode, struct vmop_count **ret, size_t *ret_row);

/* Looks up the symbol of each cell; fills rows_tally, details and missing. */
struct vmop_error *vmop_result_resolve(const struct vmop_query *query, struct vmop_result *result);

#endif
