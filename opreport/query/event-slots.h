// SPDX-License-Identifier: GPL-2.0-or-later
/* Assign the selected events of all sessions to the columns of a report. */
#ifndef VMOP_OPREPORT_QUERY_EVENT_SLOTS_H
#define VMOP_OPREPORT_QUERY_EVENT_SLOTS_H

#include "opreport/query/query.h"

/*
 * Set the slot of each event of the catalog, and result->events and n_events.  Events of several
 * sessions that have one label and one unit share a slot; with VMOP_MERGE_UNITMASK in merge, so do
 * events that differ only behind ':'.  Slots are in the order of the stores' ids.  No selected
 * event is VMOP_ERROR_NOT_FOUND.
 */
struct vmop_error *vmop_result_assign_slots(struct vmop_result *result, unsigned merge);

#endif
