// SPDX-License-Identifier: GPL-2.0-or-later
/* The losses of sessions as one text. */
#ifndef VMOP_OPREPORT_ARRANGE_LOSSES_H
#define VMOP_OPREPORT_ARRANGE_LOSSES_H

#include <stdbool.h>

#include "opreport/query/arena.h"
#include "opreport/query/catalog.h"

/*
 * Set *ret to "lost 12, throttled 3", sums over domains and events, or to NULL without losses. With
 * is_of_part, the report is of a part of the sessions' time. The losses of the whole sessions
 * are then described and marked as such. The arena owns *ret.
 */
struct vmop_error *vmop_losses_describe(const struct vmop_catalog *catalog, bool is_of_part,
					struct vmop_arena *arena, const char **ret);

#endif
