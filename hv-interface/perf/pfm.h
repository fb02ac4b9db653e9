// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libpfm4's names of this machine's events. A separate unit, because libpfm's header and
 * linux/perf_event.h define the same structs.
 */
#ifndef VMOP_HV_INTERFACE_PERF_PFM_H
#define VMOP_HV_INTERFACE_PERF_PFM_H

#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

/* The fields of perf_event_attr that encode an event. */
struct vmop_pfm_event {
	uint32_t type;
	uint64_t config, config1, config2;
};

/*
 * Encode name with unit_mask (its name, or a number; NULL: the event's default).
 * VMOP_ERROR_NOT_FOUND: no such event. VMOP_ERROR_USAGE: the unit mask is wrong or missing; the
 * message lists the valid ones.
 */
struct vmop_error *vmop_pfm_encode(const char *name, const char *unit_mask,
				   struct vmop_pfm_event *ret);

/*
 * Encode the same for the PMU's own register: an event select register of x86 (Intel SDM vol. 3,
 * IA32_PERFEVTSELx; AMD APM vol. 2, PerfEvtSel), with the event in bits 0-7 (AMD: 32-35 too) and
 * the unit mask in bits 8-15.
 */
struct vmop_error *vmop_pfm_encode_raw(const char *name, const char *unit_mask, uint64_t *ret);

/* Call each for every event of this machine's PMUs; never without libpfm4. */
void vmop_pfm_for_each(void (*each)(void *arg, const char *name), void *arg);

/* An event of a PMU of this machine, or one of the event's unit masks. */
struct vmop_pfm_entry {
	const char *pmu; /* "skl" */
	const char *pmu_description;
	const char *event;
	const char *unit_mask; /* NULL: the entry is the event */
	uint64_t code;
	const char *description;
	int is_core; /* the PMU belongs to the CPUs' cores */
};

/* Call each for every entry, an event before its unit masks; never without libpfm4. */
void vmop_pfm_list(void (*each)(void *arg, const struct vmop_pfm_entry *entry), void *arg);

#endif
