// SPDX-License-Identifier: GPL-2.0-or-later
/* vmopd --list-events, behind vmopcontrol --list-events: the events of this machine. */
#ifndef VMOP_DAEMON_LIST_EVENTS_H
#define VMOP_DAEMON_LIST_EVENTS_H

#include <stdbool.h>

#include "libutil/error.h"

/*
 * Print the list to stdout, as wide as the terminal, or as one JSON object. `all` adds each
 * tracepoint and unit mask, and the events that this machine lacks. JSON always has these.
 */
struct vmop_error *vmop_list_events(bool json, bool all);

#endif
