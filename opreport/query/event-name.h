// SPDX-License-Identifier: GPL-2.0-or-later
/* Recognise from an event's name whether it counts cycles, instructions or misses, for ratios. */
#ifndef VMOP_OPREPORT_QUERY_EVENT_NAME_H
#define VMOP_OPREPORT_QUERY_EVENT_NAME_H

#include <stdbool.h>

enum vmop_event_role {
	VMOP_EVENT_OTHER,
	VMOP_EVENT_CYCLES, /* of the core, while it is not halted */
	VMOP_EVENT_INSTRUCTIONS,
	VMOP_EVENT_MISSES, /* of any cache or predictor */
};

/*
 * Return the role of an event.  Accepts the names of perf, libpfm4 ("skl::INST_RETIRED:ANY_P"),
 * opcontrol and "PMU/NAME/".  Case does not matter, and '_' equals '-'.
 */
enum vmop_event_role vmop_event_role(const char *name);

/* Return whether the names are equal, ignoring case and the difference of '_' and '-'. */
bool vmop_event_names_equal(const char *a, const char *b);

/*
 * Return whether the same PMU counts both events in the same modes: the parts before "::" or '/'
 * and the modifiers at the end (":u", ":kH") are equal.
 */
bool vmop_event_names_compare(const char *a, const char *b);

/* Return the modifiers with their colon, or "".  The result points into name. */
const char *vmop_event_modifiers(const char *name);

#endif
