// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/event-set.h"

#include <stdlib.h>
#include <string.h>

#include "hv-interface/event-request.h"
#include "hv-interface/perf/event.h"
#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/event-text.h"

#define NO_GROUP SIZE_MAX

void vmop_event_set_deinit(struct vmop_event_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		free(set->events[i].name);
		free(set->events[i].reason);
	}
	free(set->events);
	*set = (struct vmop_event_set){0};
}

size_t vmop_event_set_group_size(const struct vmop_event_set *set, size_t i)
{
	size_t n = 1;
	while (i + n < set->n && set->events[i + n].leader == i)
		n++;
	return n;
}

struct vmop_error *vmop_event_set_exclude(struct vmop_event_set *set, size_t i, const char *reason)
{
	size_t leader = set->events[i].leader;
	for (size_t j = leader; j < set->n && set->events[j].leader == leader; j++) {
		struct vmop_set_event *event = &set->events[j];
		if (event->reason)
			continue;
		if (j == i)
			event->reason = strdup(reason);
		else if (asprintf(&event->reason, "%s of its group cannot be counted",
				  set->events[i].name) < 0)
			event->reason = NULL;
		if (!event->reason)
			return &vmop_error_no_memory;
	}
	return NULL;
}

/* Append a mode to an event's name. */
static struct vmop_error *append_mode(struct vmop_set_event *event, char mode)
{
	char *name;
	if (asprintf(&name, "%s%s%c", event->name, strrchr(event->name, ':') ? "" : ":", mode) < 0)
		return &vmop_error_no_memory;
	free(event->name);
	event->name = name;
	return NULL;
}

struct vmop_error *vmop_set_event_leave_out_kernel(struct vmop_set_event *event)
{
	event->attr.exclude_kernel = 1;
	event->attr.exclude_hv = event->is_pmus;
	return event->is_clock ? NULL : append_mode(event, 'u');
}

struct vmop_error *vmop_set_event_leave_out_host(struct vmop_set_event *event)
{
	event->attr.exclude_host = 1;
	event->attr.exclude_guest = 0;
	return append_mode(event, 'G');
}

/* Return whether only the kernel itself causes the event. */
static bool is_kernels_own(const struct perf_event_attr *attr)
{
	if (attr->type == PERF_TYPE_TRACEPOINT)
		return true;
	return attr->type == PERF_TYPE_SOFTWARE && attr->config != PERF_COUNT_SW_PAGE_FAULTS &&
	       attr->config != PERF_COUNT_SW_PAGE_FAULTS_MIN &&
	       attr->config != PERF_COUNT_SW_PAGE_FAULTS_MAJ &&
	       attr->config != PERF_COUNT_SW_ALIGNMENT_FAULTS &&
	       attr->config != PERF_COUNT_SW_EMULATION_FAULTS &&
	       attr->config != PERF_COUNT_SW_CPU_CLOCK && attr->config != PERF_COUNT_SW_TASK_CLOCK;
}

/* Append an event with that encoding. pmu: NULL, or the PMU of a hybrid machine to count on. */
static struct vmop_error *append(struct vmop_event_set *set, const struct vmop_perf_event *event,
				 const struct perf_event_attr *attr, const char *pmu, size_t leader)
{
	char modifiers[VMOP_PERF_MODIFIERS_BYTES];
	if (set->n == VMOP_COUNTERS_MAX)
		return vmop_error_new(VMOP_ERROR_LIMIT, "more than %d events", VMOP_COUNTERS_MAX);
	if (!vmop_array_reserve(set->events, set->capacity, set->n + 1))
		return &vmop_error_no_memory;
	struct vmop_set_event *new = &set->events[set->n];
	*new = (struct vmop_set_event){.attr = *attr,
				       .is_clock = event->kind == VMOP_PERF_CLOCK,
				       .is_pmus = event->kind == VMOP_PERF_HARDWARE,
				       .needs_kernel = is_kernels_own(attr),
				       .leader = leader == NO_GROUP ? set->n : leader};
	new->unit = new->is_clock ? "ns" : "events";
	new->attr.freq = 0;
	new->attr.sample_period = 0;
	/* A sample source filters what the kernel does not; a counter has only these. */
	new->attr.exclude_kernel = !event->kernel;
	new->attr.exclude_user = !event->user;
	vmop_perf_event_modifiers(event, modifiers);
	if (asprintf(&new->name, "%s%s%s%s%s", pmu ? pmu : "", pmu ? "/" : "", event->name,
		     pmu ? "/" : "", modifiers) < 0) {
		new->name = NULL;
		return &vmop_error_no_memory;
	}
	set->n++;
	return NULL;
}

/* Append a name that this machine does not have, with the reason. */
static struct vmop_error *append_unknown(struct vmop_event_set *set, const char *text,
					 struct vmop_error *why, size_t leader)
{
	struct vmop_perf_event event = {.name = (char *)text,
					.kind = VMOP_PERF_HARDWARE,
					.kernel = true,
					.user = true,
					.host = true,
					.guest = true};
	struct vmop_error *err = append(set, &event, &event.attr, NULL, leader);
	if (!err)
		err = vmop_event_set_exclude(set, set->n - 1, why->message);
	vmop_error_destroy(why);
	return err;
}

/* A thread runs on all CPUs of a hybrid machine: count on each of its PMUs. */
static struct vmop_error *append_event(struct vmop_event_set *set,
				       const struct vmop_perf_event *event, int cpu, size_t leader)
{
	struct perf_event_attr attr = event->attr;
	if (cpu >= 0 && vmop_perf_event_attr_on(event, (unsigned)cpu, &attr))
		return append(set, event, &attr, NULL, leader);
	if (cpu >= 0) {
		struct vmop_error *err = append(set, event, &attr, NULL, leader);
		return err ? err
			   : vmop_event_set_exclude(set, set->n - 1,
						    "no PMU of this CPU counts it");
	}
	struct vmop_error *err = NULL;
	for (size_t i = 0; !err && event->n_parts > 1 && i < event->n_parts; i++) {
		attr.type = event->parts[i].type;
		attr.config = event->parts[i].config;
		err = append(set, event, &attr, event->parts[i].pmu, leader);
	}
	return event->n_parts > 1 ? err : append(set, event, &attr, NULL, leader);
}

static struct vmop_error *add(struct vmop_event_set *set, const char *text, int cpu, bool is_strict,
			      size_t *leader)
{
	_cleanup_(vmop_event_request_deinit) struct vmop_event_request request = {0};
	struct vmop_perf_event event = {0};
	struct vmop_error *err = vmop_event_request_parse(text, &request);
	if (err)
		return err;
	if (request.period_events || request.frequency_hz || request.precise)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "event '%s': counting takes neither a COUNT nor 'p', which "
				      "are for samples; modes follow an empty COUNT, as in "
				      "cycles:::0:1",
				      text);
	if (request.begins_group ? *leader != NO_GROUP : request.ends_group && *leader == NO_GROUP)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "event '%s': braces do not match: a group is {EVENT,EVENT}",
				      text);
	if (request.begins_group)
		*leader = set->n;
	err = vmop_perf_event_resolve(&request, "", &event);
	if (err && !is_strict && err->code != VMOP_ERROR_NO_MEMORY)
		err = append_unknown(set, request.name, err, *leader);
	else if (!err)
		err = append_event(set, &event, cpu, *leader);
	/* The kernel ignores these modes of other events: the count would be wrong. */
	if (!err && event.kind != VMOP_PERF_HARDWARE && !(request.host && request.guest))
		err = vmop_event_set_exclude(set, set->n - 1, VMOP_ONLY_A_PMU_DIVIDES);
	vmop_perf_event_deinit(&event);
	if (request.ends_group)
		*leader = NO_GROUP;
	return err;
}

/* Exclude events whose count would be wrong in the wanted modes, and complete the groups. */
static struct vmop_error *exclude_uncountable(struct vmop_event_set *set)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; !err && i < set->n; i++) {
		struct vmop_set_event *event = &set->events[i];
		const struct perf_event_attr *attr = &event->attr;
		if (event->reason)
			err = vmop_event_set_exclude(set, i, event->reason);
		else if (event->is_clock && (attr->exclude_kernel || attr->exclude_user))
			err = vmop_event_set_exclude(set, i, VMOP_CLOCK_COUNTS_BOTH);
		else if (event->needs_kernel && attr->exclude_kernel)
			err = vmop_event_set_exclude(set, i, VMOP_ONLY_IN_KERNEL);
	}
	return err;
}

struct vmop_error *vmop_event_set_resolve(const char *list, int cpu, bool is_strict,
					  struct vmop_event_set *ret)
{
	_cleanup_(vmop_event_set_deinit) struct vmop_event_set set = {0};
	size_t leader = NO_GROUP;
	for (const char *at = list;; at++) {
		size_t len = vmop_event_text_len(at);
		_cleanup_free_ char *text = strndup(at, len);
		if (!text)
			return &vmop_error_no_memory;
		struct vmop_error *err = add(&set, text, cpu, is_strict, &leader);
		if (err)
			return err;
		at += len;
		if (!*at)
			break;
	}
	if (leader != NO_GROUP)
		return vmop_error_new(VMOP_ERROR_USAGE, "events '%s': a group has no '}'", list);
	struct vmop_error *err = exclude_uncountable(&set);
	if (err)
		return err;
	*ret = set;
	set = (struct vmop_event_set){0};
	return NULL;
}
