// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/counts.h"

#include <stdlib.h>
#include <string.h>

#include "hv-interface/cpus.h"
#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libvmop/vmop.h"

struct set {
	struct vmop_counters *counters;
	unsigned cpu;
	bool is_offline; /* counters is closed: its counts are in `gone` */
};

struct vmop_stat_counts {
	char *events;
	struct set *sets;
	size_t n_sets, capacity;
	struct vmop_counters
		*names; /* a set that describes the events; owned by sets[0] or names_own */
	struct vmop_counters *names_own;
	struct vmop_stat_count *gone;  /* counts of CPUs that went offline */
	struct vmop_count *read;       /* room for one set */
	struct vmop_cpus_watch *watch; /* NULL: a process */
	unsigned cpu_changes;
};

void vmop_stat_counts_close(struct vmop_stat_counts *counts)
{
	if (!counts)
		return;
	for (size_t i = 0; i < counts->n_sets; i++)
		vmop_counters_close(counts->sets[i].counters);
	vmop_counters_close(counts->names_own);
	vmop_cpus_watch_destroy(counts->watch);
	free(counts->sets);
	free(counts->gone);
	free(counts->read);
	free(counts->events);
	free(counts);
}

static void counts_cleanup(struct vmop_stat_counts **counts)
{
	vmop_stat_counts_close(*counts);
}

static struct vmop_error *create(const char *events, struct vmop_stat_counts **ret)
{
	_cleanup_(counts_cleanup) struct vmop_stat_counts *counts = calloc(1, sizeof(*counts));
	if (!counts)
		return &vmop_error_no_memory;
	counts->events = strdup(events);
	if (!counts->events)
		return &vmop_error_no_memory;
	*ret = vmop_steal(&counts);
	return NULL;
}

/* Open one more set. */
static struct vmop_error *add_set(struct vmop_stat_counts *counts,
				  const struct vmop_counters_options *options)
{
	if (!vmop_array_reserve(counts->sets, counts->capacity, counts->n_sets + 1))
		return &vmop_error_no_memory;
	struct set *set = &counts->sets[counts->n_sets];
	*set = (struct set){.cpu = (unsigned)options->id};
	struct vmop_error *err = vmop_counters_open(counts->events, options, &set->counters);
	if (err)
		return err;
	counts->n_sets++;
	return NULL;
}

/* Make room for the counts; the first set describes the events. */
static struct vmop_error *prepare(struct vmop_stat_counts *counts)
{
	counts->names = counts->sets[0].counters;
	size_t n = vmop_counters_n(counts->names);
	counts->gone = calloc(n, sizeof(*counts->gone));
	counts->read = calloc(n, sizeof(*counts->read));
	return counts->gone && counts->read ? NULL : &vmop_error_no_memory;
}

struct vmop_error *vmop_stat_counts_open_process(const char *events, pid_t pid, bool on_exec,
						 struct vmop_stat_counts **ret)
{
	_cleanup_(counts_cleanup) struct vmop_stat_counts *counts = NULL;
	const struct vmop_counters_options options = {
		.size = sizeof(options),
		.scope = VMOP_SCOPE_PROCESS,
		.flags = VMOP_COUNTERS_SOME | VMOP_COUNTERS_USER_IF_NEEDED |
			 (on_exec ? VMOP_COUNTERS_ON_EXEC : 0),
		.id = pid,
	};
	struct vmop_error *err = create(events, &counts);
	if (!err)
		err = add_set(counts, &options);
	if (!err)
		err = prepare(counts);
	if (err)
		return err;
	*ret = vmop_steal(&counts);
	return NULL;
}

struct vmop_error *vmop_stat_counts_open_vcpus(const char *events, const pid_t *tids, size_t n,
					       struct vmop_stat_counts **ret)
{
	_cleanup_(counts_cleanup) struct vmop_stat_counts *counts = NULL;
	struct vmop_error *err = create(events, &counts);
	for (size_t i = 0; !err && i < n; i++) {
		const struct vmop_counters_options options = {
			.size = sizeof(options),
			.scope = VMOP_SCOPE_THREAD,
			.flags = VMOP_COUNTERS_SOME | VMOP_COUNTERS_GUEST_ONLY,
			.id = tids[i],
		};
		err = add_set(counts, &options);
	}
	if (!err)
		err = prepare(counts);
	if (err)
		return err;
	*ret = vmop_steal(&counts);
	return NULL;
}

static struct vmop_error *add_cpu(struct vmop_stat_counts *counts, unsigned cpu)
{
	const struct vmop_counters_options options = {
		.size = sizeof(options),
		.scope = VMOP_SCOPE_CPU,
		.flags = VMOP_COUNTERS_SOME,
		.id = (int32_t)cpu,
	};
	return add_set(counts, &options);
}

struct vmop_error *vmop_stat_counts_open_cpus(const char *events, struct vmop_stat_counts **ret)
{
	_cleanup_(counts_cleanup) struct vmop_stat_counts *counts = NULL;
	struct vmop_cpus cpus = {0};
	bool is_changed;
	struct vmop_error *err = create(events, &counts);
	if (!err)
		err = vmop_cpus_watch_create(VMOP_CPUS_ONLINE_PATH, &counts->watch);
	if (!err)
		err = vmop_cpus_watch_check(counts->watch, &is_changed, &cpus);
	for (size_t i = 0; !err && i < cpus.n; i++)
		err = add_cpu(counts, cpus.cpus[i]);
	vmop_cpus_deinit(&cpus);
	if (!err && counts->n_sets == 0)
		err = vmop_error_new(VMOP_ERROR_CANT, "no CPU is online");
	if (!err)
		err = prepare(counts);
	if (err)
		return err;
	*ret = vmop_steal(&counts);
	return NULL;
}

struct vmop_error *vmop_stat_counts_start(struct vmop_stat_counts *counts)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; !err && i < counts->n_sets; i++)
		err = vmop_counters_start(counts->sets[i].counters);
	return err;
}

static void add_counts(const struct vmop_count *read, size_t n, struct vmop_stat_count *ret)
{
	for (size_t i = 0; i < n; i++) {
		if (read[i].flags & VMOP_COUNT_UNAVAILABLE)
			continue;
		/* Also without a counter: the share of the time has all CPUs and tasks. */
		ret[i].enabled_ns += read[i].enabled_ns;
		if (read[i].flags & VMOP_COUNT_NOT_RUN)
			continue;
		ret[i].value += (double)read[i].estimate;
		ret[i].running_ns += read[i].running_ns;
		ret[i].is_estimate |= (read[i].flags & VMOP_COUNT_ESTIMATE) != 0;
		ret[i].is_counted = true;
	}
}

/* Keep the counts of a CPU that is gone, and close its counters. */
static struct vmop_error *leave_cpu(struct vmop_stat_counts *counts, struct set *set)
{
	size_t n = vmop_stat_counts_n(counts);
	struct vmop_error *err = vmop_counters_read(set->counters, counts->read, n);
	if (err)
		return err;
	add_counts(counts->read, n, counts->gone);
	if (set->counters == counts->names)
		counts->names_own = set->counters;
	else
		vmop_counters_close(set->counters);
	set->counters = NULL;
	set->is_offline = true;
	counts->cpu_changes++;
	return NULL;
}

/* Count a CPU that came online. Its old set, where it had one, counts nothing any more. */
static struct vmop_error *join_cpu(struct vmop_stat_counts *counts, unsigned cpu)
{
	size_t i = 0;
	while (i < counts->n_sets && counts->sets[i].cpu != cpu)
		i++;
	if (i < counts->n_sets && !counts->sets[i].is_offline)
		return NULL;
	struct vmop_error *err = add_cpu(counts, cpu);
	if (err && err->code == VMOP_ERROR_CANT) { /* it has gone again: the next check shows it */
		vmop_error_destroy(err);
		return NULL;
	}
	if (err)
		return err;
	struct set joined = counts->sets[counts->n_sets - 1];
	if (i < counts->n_sets - 1) {
		counts->sets[i] = joined;
		counts->n_sets--;
	}
	counts->cpu_changes++;
	return vmop_counters_start(joined.counters);
}

static struct vmop_error *follow_cpus(struct vmop_stat_counts *counts)
{
	struct vmop_cpus cpus = {0};
	bool is_changed = false;
	struct vmop_error *err =
		counts->watch ? vmop_cpus_watch_check(counts->watch, &is_changed, &cpus) : NULL;
	for (size_t i = 0; !err && is_changed && i < counts->n_sets; i++) {
		struct set *set = &counts->sets[i];
		if (set->counters && !vmop_cpus_has(&cpus, set->cpu))
			err = leave_cpu(counts, set);
	}
	for (size_t i = 0; !err && is_changed && i < cpus.n; i++)
		err = join_cpu(counts, cpus.cpus[i]);
	vmop_cpus_deinit(&cpus);
	return err;
}

struct vmop_error *vmop_stat_counts_read(struct vmop_stat_counts *counts,
					 struct vmop_stat_count *ret)
{
	size_t n = vmop_stat_counts_n(counts);
	struct vmop_error *err = follow_cpus(counts);
	memcpy(ret, counts->gone, n * sizeof(*ret));
	for (size_t i = 0; !err && i < counts->n_sets; i++) {
		if (!counts->sets[i].counters)
			continue;
		err = vmop_counters_read(counts->sets[i].counters, counts->read, n);
		if (!err)
			add_counts(counts->read, n, ret);
	}
	return err;
}

size_t vmop_stat_counts_n(const struct vmop_stat_counts *counts)
{
	return vmop_counters_n(counts->names);
}

const char *vmop_stat_counts_name(const struct vmop_stat_counts *counts, size_t i)
{
	return vmop_counters_name(counts->names, i);
}

bool vmop_stat_counts_is_time(const struct vmop_stat_counts *counts, size_t i)
{
	const char *unit = vmop_counters_unit(counts->names, i);
	return unit && strcmp(unit, "ns") == 0;
}

const char *vmop_stat_counts_reason(const struct vmop_stat_counts *counts, size_t i)
{
	const char *reason = vmop_counters_reason(counts->names, i);
	for (size_t j = 0; reason && j < counts->n_sets; j++) {
		if (counts->sets[j].counters && !vmop_counters_reason(counts->sets[j].counters, i))
			return NULL;
	}
	return reason;
}

unsigned vmop_stat_counts_cpu_changes(const struct vmop_stat_counts *counts)
{
	return counts->cpu_changes;
}
