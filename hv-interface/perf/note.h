// SPDX-License-Identifier: GPL-2.0-or-later
/* The note on an event: what differs from the request, and why. */
#ifndef VMOP_HV_INTERFACE_PERF_NOTE_H
#define VMOP_HV_INTERFACE_PERF_NOTE_H

#include "hv-interface/perf/event.h"
#include "hv-interface/source.h"

/*
 * Set *ret, which the caller frees, to the event's own note, the share of time for which it counted
 * and the note on its rate, which may be NULL. *ret is NULL if there is nothing to note. Return
 * false if out of memory.
 */
bool vmop_perf_note(const struct vmop_perf_event *event, const struct vmop_event_info *info,
		    const char *rate, char **ret);

#endif
