// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's tracepoints, "SYSTEM:NAME", as tracefs numbers them:
 * events/SYSTEM/NAME/id (Documentation/trace/events.rst).
 */
#ifndef VMOP_HV_INTERFACE_PERF_TRACEPOINT_H
#define VMOP_HV_INTERFACE_PERF_TRACEPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "libutil/error.h"

/* Return whether name has the form of a tracepoint's name; it may not exist. */
bool vmop_perf_tracepoint_is_name(const char *name);

/*
 * Read the number for perf_event_attr's config. root: see perf/pmu.h. VMOP_ERROR_CANT: tracefs is
 * not mounted or not readable. VMOP_ERROR_NOT_FOUND: no such tracepoint.
 */
struct vmop_error *vmop_perf_tracepoint_id(const char *root, const char *name, uint64_t *ret);

/* Call each for every tracepoint, sorted by name. VMOP_ERROR_CANT as above. */
struct vmop_error *vmop_perf_tracepoint_for_each(const char *root,
						 void (*each)(void *arg, const char *name),
						 void *arg);

#endif
