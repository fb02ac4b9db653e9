// SPDX-License-Identifier: GPL-2.0-or-later
/* Events as users write them: the value of --event, parsed and not yet resolved on a machine. */
#ifndef VMOP_HV_INTERFACE_EVENT_REQUEST_H
#define VMOP_HV_INTERFACE_EVENT_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "libutil/error.h"

/*
 * One event of the set-up (grammar in event-request.c):
 * --event=NAME[:p][:COUNT[:UMASK[:KERNEL[:USER[:HOST[:GUEST]]]]]]. The first and the last event of
 * a group have braces.
 */
struct vmop_event_request {
	/*
	 * a name of libpfm4's or perf's; "cpu-clock"; "rNNN" raw; "sched:sched_switch"; "pmu/.../";
	 * "default"
	 */
	char *name;
	uint64_t period_events; /* 0: by frequency */
	uint64_t frequency_hz;	/* 0: by period; both 0: at the source's default frequency */
	char *unit_mask;	/* libpfm4 name or 0x number; NULL: the default */
	bool kernel, user;	/* modes that count */
	bool host, guest;
	unsigned precise;	       /* 0..3: perf_event_attr's precise_ip */
	bool begins_group, ends_group; /* the events of a group are counted at the same times */
};

/*
 * Parse one --event value into *ret; free it with vmop_event_request_deinit. VMOP_ERROR_USAGE names
 * the bad part and the accepted ones. Opening a source finds out whether the event exists.
 */
struct vmop_error *vmop_event_request_parse(const char *text, struct vmop_event_request *ret);
void vmop_event_request_deinit(struct vmop_event_request *request);

#endif
