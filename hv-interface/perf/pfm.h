// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The names that libpfm4 knows of this machine's PMUs.  Apart from the rest
 * because its header and linux/perf_event.h define the same structs.
 */
#ifndef VMOP_HV_INTERFACE_PERF_PFM_H
#define VMOP_HV_INTERFACE_PERF_PFM_H

#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

/* As in perf_event_attr. */
struct vmop_pfm_event {
	uint32_t type;
	uint64_t config, config1, config2;
};

/*
 * Encodes name with unit_mask (its name, or a number; NULL: the event's default).
 * VMOP_ERROR_NOT_FOUND: no such event; VMOP_ERROR_USAGE: the unit mask is off,
 * or one is needed, with those that there are.
 */
struct vmop_error *vmop_pfm_encode(const char *name, const char *unit_mask,
				   struct vmop_pfm_event *ret);

/*
 * The same as the PMU's own register wants it: an event select register of x86 (Intel SDM vol. 3,
 * IA32_PERFEVTSELx; AMD APM vol. 2, PerfEvtSel), with the event in bits 0-7 (AMD: 32-35 too) and
 * the unit mask in bits 8-15.
 */
struct vmop_error *vmop_pfm_encode_raw(const char *name, const char *unit_mask, uint64_t *ret);

/* Calls each for every event of a PMU that this machine has; none without libpfm4. */
void vmop_pfm_for_each(void (*each)(void *arg, const char *name), void *arg);

/* An event of a PMU that this machine has, or one of its unit masks. */
struct vmop_pfm_entry {
	const char *pmu; /* "skl" */
	const char *pmu_description;
	const char *event;
	const char *unit_mask; /* NULL: it is the event itself */
	uint64_t code;
	const char *description;
	int is_core; /* it is a PMU of the CPUs' cores */
};

/* Calls each for every one of them, an event before its unit masks; none without libpfm4. */
void vmop_pfm_list(void (*each)(void *arg, const struct vmop_pfm_entry *entry), void *arg);

#endif
