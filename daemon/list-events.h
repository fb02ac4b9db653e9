// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmopd --list-events, which vmopcontrol --list-events shows: what can be sampled here.
 */
#ifndef VMOP_DAEMON_LIST_EVENTS_H
#define VMOP_DAEMON_LIST_EVENTS_H

#include <stdbool.h>

#include "libutil/error.h"

/*
 * Prints the list to stdout, as wide as the terminal, or as one JSON object.  all: also the
 * tracepoints and unit masks one by one, and what this machine lacks; JSON always has them.
 */
struct vmop_error *vmop_list_events(bool json, bool all);

#endif
