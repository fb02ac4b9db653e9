// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The PMUs that the kernel offers, as sysfs tells of them:
 * /sys/bus/event_source/devices/PMU/{type,cpus,cpumask,format/,events/}
 * (Documentation/ABI/testing/sysfs-bus-event_source-devices-*).  root stands
 * before /sys: "" on the machine itself, a made-up tree in tests.
 */
#ifndef VMOP_HV_INTERFACE_PERF_PMU_H
#define VMOP_HV_INTERFACE_PERF_PMU_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/cpus.h"
#include "libutil/error.h"

struct vmop_perf_pmu {
	char *name;    /* "cpu", "cpu_core", "ibs_op", ... */
	uint32_t type; /* for perf_event_attr */
	bool has_cpus; /* it counts on those of cpus alone */
	bool is_core;  /* they are its cores: generic hardware events are its, too */
	struct vmop_cpus cpus;
};

struct vmop_perf_pmus {
	struct vmop_perf_pmu *pmus; /* by name */
	size_t n, capacity;
};

/* A kernel without any, or without sysfs, gives none and no error. */
struct vmop_error *vmop_perf_pmus_read(const char *root, struct vmop_perf_pmus *ret);
void vmop_perf_pmus_deinit(struct vmop_perf_pmus *pmus);

const struct vmop_perf_pmu *vmop_perf_pmus_find(const struct vmop_perf_pmus *pmus,
						const char *name);
const struct vmop_perf_pmu *vmop_perf_pmus_find_type(const struct vmop_perf_pmus *pmus,
						     uint32_t type);

/*
 * A core PMU of a hybrid x86 (cpu_core, cpu_atom, ...): the generic hardware events have to
 * be opened on each of them, for its CPUs (PERF_PMU_TYPE_SHIFT of linux/perf_event.h).  On
 * arm64 the kernel finds the CPU's PMU itself.
 */
bool vmop_perf_pmu_is_x86_hybrid(const struct vmop_perf_pmu *pmu);

/* Hands out traces through an AUX area, not samples: Intel PT and BTS, Arm's SPE and CoreSight. */
bool vmop_perf_pmu_is_tracer(const struct vmop_perf_pmu *pmu);

/*
 * The terms between the slashes of "pmu/TERM,.../" into attr's config, config1 and config2:
 * config=0x3c, a field of format/ with or without =VALUE, the name of one of events/.
 * VMOP_ERROR_USAGE names the term and what there is.
 */
struct vmop_error *vmop_perf_pmu_encode(const char *root, const struct vmop_perf_pmu *pmu,
					const char *terms, struct perf_event_attr *attr);

/* Calls each for every event that the PMU's events/ directory names, by name. */
struct vmop_error *
vmop_perf_pmu_for_each(const char *root, const struct vmop_perf_pmu *pmu,
		       void (*each)(void *arg, const char *event, const char *terms), void *arg);

#endif
