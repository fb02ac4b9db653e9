// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The host's events, as the text of OPEN (active-message.h) has them for a guest whose samples the
 * host hands over: "host", " stacks" if they can have call stacks, then for each event a blank and
 * "PERIOD:HZ:UNIT:NAME".
 */
#ifndef VMOP_HV_INTERFACE_HANDED_EVENTS_H
#define VMOP_HV_INTERFACE_HANDED_EVENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "hv-interface/active-samples.h"
#include "hv-interface/source.h"
#include "libutil/error.h"

struct vmop_handed_events {
	struct vmop_event_info at[VMOP_ACTIVE_EVENTS_MAX]; /* their strings lie in text */
	size_t n;
	bool has_stacks;
	char *text;
};

/* Return the text for the events of a source, which the caller frees; NULL: no memory. */
char *vmop_handed_events_format(const struct vmop_source *source, bool has_stacks);

/* Return whether the text of OPEN is of this kind. */
bool vmop_handed_events_are(const char *text);

/* Parse the text. VMOP_ERROR_CANT: it is malformed. *ret is deinitialised by the caller. */
struct vmop_error *vmop_handed_events_parse(const char *text, struct vmop_handed_events *ret);
void vmop_handed_events_deinit(struct vmop_handed_events *events);

#endif
