// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Deferred callchains (Linux 6.19 and later; perf_event_attr.defer_callchain in
 * linux/perf_event.h): the kernel unwinds a user stack only when the task returns to user mode, and
 * reports it in a record of its own. The chain of a sample in the kernel then ends with a cookie,
 * which the record repeats. Several samples of one stay in the kernel have the same cookie.
 *
 * The numbers below are missing in the headers of earlier kernels.
 */
#ifndef VMOP_HV_INTERFACE_PERF_STACKS_DEFERRED_H
#define VMOP_HV_INTERFACE_PERF_STACKS_DEFERRED_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/perf/stacks/capture.h"
#include "vmop/record.h"

/* The mark in a callchain before a cookie, and the type of the record. */
#define VMOP_PERF_CONTEXT_USER_DEFERRED ((uint64_t)-640)
#define VMOP_PERF_RECORD_CALLCHAIN_DEFERRED 22u

/* Ask for deferred user stacks in an event's samples. */
void vmop_perf_deferred_ask(struct perf_event_attr *attr);

/* Deliver the records of deferred stacks to an event's ring. One event a ring has this. */
void vmop_perf_deferred_deliver(struct perf_event_attr *attr);

/*
 * Decode the len_bytes of a record's body without its trailer. Set *ret, and the user frames in
 * *capture, which may be NULL. Return false if it is malformed.
 */
bool vmop_perf_deferred_decode(const uint8_t *body, size_t len_bytes, struct vmop_record *ret,
			       struct vmop_perf_capture *capture);

#endif
