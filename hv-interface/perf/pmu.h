// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's PMUs, from sysfs:
 * /sys/bus/event_source/devices/PMU/{type,cpus,cpumask,format/,events/}
 * (Documentation/ABI/testing/sysfs-bus-event_source-devices-*). root is a prefix for /sys: "" on
 * the machine itself, a made-up tree in tests.
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
	bool has_cpus; /* it counts only on the CPUs in cpus */
	bool is_core;  /* cpus are its cores: it counts generic hardware events too */
	struct vmop_cpus cpus;
};

struct vmop_perf_pmus {
	struct vmop_perf_pmu *pmus; /* sorted by name */
	size_t n, capacity;
};

/*
 * Read the list of PMUs; free it with vmop_perf_pmus_deinit. The list is empty, without an error,
 * on a kernel without PMUs or sysfs.
 */
struct vmop_error *vmop_perf_pmus_read(const char *root, struct vmop_perf_pmus *ret);
void vmop_perf_pmus_deinit(struct vmop_perf_pmus *pmus);

/* Return the PMU of that name, or of that type, which pmus owns, or NULL. */
const struct vmop_perf_pmu *vmop_perf_pmus_find(const struct vmop_perf_pmus *pmus,
						const char *name);
const struct vmop_perf_pmu *vmop_perf_pmus_find_type(const struct vmop_perf_pmus *pmus,
						     uint32_t type);

/*
 * Return whether the PMU is a core PMU of a hybrid x86 (cpu_core, cpu_atom, ...). Generic hardware
 * events have to be opened on each of these, for its CPUs (PERF_PMU_TYPE_SHIFT of
 * linux/perf_event.h). On arm64 the kernel finds the CPU's PMU itself.
 */
bool vmop_perf_pmu_is_x86_hybrid(const struct vmop_perf_pmu *pmu);

/*
 * Return whether the PMU writes traces into an AUX area instead of samples: Intel PT and BTS, Arm's
 * SPE and CoreSight.
 */
bool vmop_perf_pmu_is_tracer(const struct vmop_perf_pmu *pmu);

/*
 * Encode the terms between the slashes of "pmu/TERM,.../" into attr's config, config1 and config2.
 * A term is config=0x3c, a field of format/ with or without =VALUE, or a name in events/.
 * VMOP_ERROR_USAGE names the wrong term and the valid ones.
 */
struct vmop_error *vmop_perf_pmu_encode(const char *root, const struct vmop_perf_pmu *pmu,
					const char *terms, struct perf_event_attr *attr);

/* Call each for every event in the PMU's events/ directory, sorted by name. */
struct vmop_error *
vmop_perf_pmu_for_each(const char *root, const struct vmop_perf_pmu *pmu,
		       void (*each)(void *arg, const char *event, const char *terms), void *arg);

#endif
