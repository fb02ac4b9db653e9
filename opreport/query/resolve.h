// SPDX-License-Identifier: GPL-2.0-or-later
/* Turn the cells of a result into rows by symbol. */
#ifndef VMOP_OPREPORT_QUERY_RESOLVE_H
#define VMOP_OPREPORT_QUERY_RESOLVE_H

#include "opreport/query/query.h"

/*
 * Set *ret to rows_tally's counts for (group, value), which is valid until the next call, and
 * *ret_row to their index.  Mark the row as one with samples of mode (enum vmop_mode).
 */
struct vmop_error *vmop_result_row_at(struct vmop_result *result, uint32_t group, uint64_t value,
				      uint8_t mode, struct vmop_count **ret, size_t *ret_row);

/*
 * Set *ret to the catalog index of the kernel of each domain's row, 0: none, by index of the
 * domain. Idle functions of modules are shown under it.  The caller frees *ret.
 */
struct vmop_error *vmop_result_find_kernels(const struct vmop_result *result, uint32_t **ret);

/* Look up the symbol of each cell; fill rows_tally, details, missing and idle. */
struct vmop_error *vmop_result_resolve(const struct vmop_query *query, struct vmop_result *result);

#endif
