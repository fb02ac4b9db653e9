// SPDX-License-Identifier: GPL-2.0-or-later
/* What an event's name says that it counts, as far as ratios need to know. */
#ifndef VMOP_OPREPORT_QUERY_EVENT_NAME_H
#define VMOP_OPREPORT_QUERY_EVENT_NAME_H

#include <stdbool.h>

enum vmop_event_role {
	VMOP_EVENT_OTHER,
	VMOP_EVENT_CYCLES, /* of the core, while it is not halted */
	VMOP_EVENT_INSTRUCTIONS,
	VMOP_EVENT_MISSES, /* of whatever cache or predictor */
};

/*
 * Knows perf's names, libpfm4's ("skl::INST_RETIRED:ANY_P"), opcontrol's and "PMU/NAME/".  Case
 * does not matter, and '_' is '-'.
 */
enum vmop_event_role vmop_event_role(const char *name);

/* Equal but for case, and '_' for '-'. */
bool vmop_event_names_equal(const char *a, const char *b);

/*
 * Both are counted by the same PMU and in the same modes: what stands before "::" or '/', and the
 * modifiers at the end (":u", ":kH") are equal.
 */
bool vmop_event_names_compare(const char *a, const char *b);

/* The modifiers, with their colon; "" for none. Within name. */
const char *vmop_event_modifiers(const char *name);

#endif
