// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The order of places in walks: by image, so that a reader can keep one image's symbols in memory.
 * merge is a set of enum vmop_db_merge.
 */
#ifndef VMOP_LIBDB_PLACE_ORDER_H
#define VMOP_LIBDB_PLACE_ORDER_H

#include "libdb/filter.h"

/* Set *ret to the indices of all places of the selection, in order. The caller frees it. */
struct vmop_error *vmop_places_order(const struct vmop_selection *selection, unsigned merge,
				     uint32_t **ret);

/*
 * Set groups[i] to the first place in the order that equals place i when merged, and ranks[i] to
 * the position of place i in the order.
 */
void vmop_places_group(const struct vmop_selection *selection, const uint32_t *order,
		       unsigned merge, uint32_t *groups, uint32_t *ranks);

#endif
