// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/event-list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hv-interface/perf/event.h"
#include "hv-interface/perf/name.h"
#include "hv-interface/perf/pfm.h"
#include "hv-interface/perf/pmu.h"
#include "hv-interface/perf/tracepoint.h"
#include "libutil/cleanup.h"

struct list {
	const char *root;
	vmop_event_list_fn each;
	void *arg;
	bool has_core_pmu;		 /* the machine can sample a generic hardware event */
	const struct vmop_perf_pmu *pmu; /* the PMU whose events are being listed */
	bool has_pfm_event;	/* the machine has the libpfm4 event whose unit masks follow */
	struct vmop_error *err; /* the first error */
};

/* ---- what the machine can sample ------------------------------------------------ */

static bool try_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		close((int)fd);
	return fd >= 0;
}

/* Return whether errno leaves open that the event exists. */
static bool may_be_there(void)
{
	return errno == EACCES || errno == EPERM || errno == EBUSY || errno == EMFILE ||
	       errno == ENFILE || errno == ENOMEM;
}

/* Return whether attr can be sampled on this task or else on the CPU (-1: no CPU). */
static bool can_sample_on(struct perf_event_attr attr, int cpu)
{
	attr.size = sizeof(attr);
	attr.disabled = 1;
	attr.freq = 0;
	attr.sample_period = UINT64_C(1) << 40;
	attr.exclude_kernel = 1; /* permitted to all users at perf_event_paranoid 2 */
	attr.exclude_hv = 1;
	if (try_open(&attr, 0, -1) || may_be_there())
		return true;
	attr.exclude_kernel = 0; /* some PMUs cannot exclude modes */
	attr.exclude_hv = 0;
	if (try_open(&attr, 0, -1) || may_be_there())
		return true;
	return cpu >= 0 && (try_open(&attr, -1, cpu) || may_be_there());
}

/* Return whether at least one of the event's PMUs can sample it. */
static bool can_sample(const struct vmop_perf_event *event)
{
	bool can = event->n_parts == 0 && can_sample_on(event->attr, -1);
	for (size_t i = 0; !can && i < event->n_parts; i++) {
		const struct vmop_perf_part *part = &event->parts[i];
		struct perf_event_attr attr = event->attr;
		attr.type = part->type;
		attr.config = part->config;
		can = can_sample_on(attr, part->cpus.n ? (int)part->cpus.cpus[0] : -1);
	}
	return can;
}

/* Resolve the entry's name on this machine. Return false if it has no meaning or on an error. */
static bool examine(struct list *list, struct vmop_event_entry *entry)
{
	struct vmop_event_request request;
	struct vmop_perf_event event;
	struct vmop_error *err = vmop_event_request_parse(entry->name, &request);
	if (!err) {
		err = vmop_perf_event_resolve(&request, list->root, &event);
		vmop_event_request_deinit(&request);
	}
	if (err && err->code == VMOP_ERROR_NO_MEMORY && !list->err)
		list->err = err;
	else
		vmop_error_destroy(err);
	if (err)
		return false;
	entry->unit = event.kind == VMOP_PERF_CLOCK ? "ns" : "events";
	entry->lowest_count = event.lowest_period_events;
	entry->is_available = can_sample(&event);
	vmop_perf_event_deinit(&event);
	return true;
}

static void tell(struct list *list, enum vmop_event_group group, const char *name,
		 const char *description)
{
	struct vmop_event_entry entry = {.group = group, .name = name, .description = description};
	if (!examine(list, &entry))
		return;
	list->has_core_pmu |= group == VMOP_EVENTS_HARDWARE && entry.is_available;
	list->each(list->arg, &entry);
}

/* ---- the groups -------------------------------------------------------------------- */

static void list_generic(struct list *list, enum vmop_event_group group, uint32_t type)
{
	const char *name;
	for (unsigned i = 0; (name = vmop_perf_name_at(i)); i++) {
		struct vmop_perf_name found;
		if (vmop_perf_name_find(name, &found) && found.type == type)
			tell(list, group, name, vmop_perf_name_description(i));
	}
}

static void list_pmu_event(void *arg, const char *event, const char *terms)
{
	struct list *list = arg;
	_cleanup_free_ char *name = NULL, *description = NULL;
	if (asprintf(&name, "%s/%s/", list->pmu->name, event) < 0 ||
	    asprintf(&description, "the kernel's name for %s", terms) < 0) {
		list->err = list->err ? list->err : &vmop_error_no_memory;
		return;
	}
	tell(list, VMOP_EVENTS_PMU, name, description);
}

/* Return whether a PMU's events have their own group, or need terms that a name lacks. */
static bool is_listed_elsewhere(const struct vmop_perf_pmu *pmu)
{
	static const char *const names[] = {"software", "tracepoint", "breakpoint", "kprobe",
					    "uprobe"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(pmu->name, names[i]))
			return true;
	}
	return vmop_perf_pmu_is_tracer(pmu);
}

static void list_pmus(struct list *list)
{
	struct vmop_perf_pmus pmus;
	struct vmop_error *err = vmop_perf_pmus_read(list->root, &pmus);
	for (size_t i = 0; !err && i < pmus.n; i++) {
		list->pmu = &pmus.pmus[i];
		if (is_listed_elsewhere(list->pmu))
			continue;
		_cleanup_free_ char *bare = NULL;
		if (asprintf(&bare, "%s//", list->pmu->name) < 0) {
			bare = NULL;
			err = &vmop_error_no_memory;
			break;
		}
		tell(list, VMOP_EVENTS_PMU, bare,
		     "the PMU itself; its fields (config=0x..., ...) go between the slashes");
		err = vmop_perf_pmu_for_each(list->root, list->pmu, list_pmu_event, list);
	}
	vmop_perf_pmus_deinit(&pmus);
	if (!list->err)
		list->err = err;
	else
		vmop_error_destroy(err);
}

/* libpfm4 goes by the CPU's model. The kernel may still lack the PMU (RAPL, uncore). */
static bool can_encode(const char *name)
{
	struct vmop_pfm_event event;
	struct vmop_error *err = vmop_pfm_encode(name, NULL, &event);
	bool can = !err || err->code == VMOP_ERROR_USAGE; /* it needs a unit mask */
	vmop_error_destroy(err);
	return can;
}

static void list_pfm(void *arg, const struct vmop_pfm_entry *pfm)
{
	struct list *list = arg;
	_cleanup_free_ char *name = NULL;
	if (asprintf(&name, "%s::%s", pfm->pmu, pfm->event) < 0) {
		name = NULL;
		list->err = list->err ? list->err : &vmop_error_no_memory;
		return;
	}
	/* A VM shows the CPU's model without its PMU. */
	if (!pfm->unit_mask)
		list->has_pfm_event = (!pfm->is_core || list->has_core_pmu) && can_encode(name);
	struct vmop_event_entry entry = {
		.group = VMOP_EVENTS_LIBPFM4,
		.name = name,
		.unit_mask = pfm->unit_mask,
		.unit_mask_code = pfm->code,
		.description = pfm->description,
		.unit = "events",
		.lowest_count = vmop_perf_lowest_by_name(pfm->event),
		.is_available = list->has_pfm_event,
	};
	if (!pfm->unit_mask && entry.is_available)
		examine(list, &entry); /* fails where the event needs a unit mask */
	list->each(list->arg, &entry);
}

static void list_aliases(struct list *list)
{
	const struct vmop_perf_alias *alias;
	for (unsigned i = 0; (alias = vmop_perf_alias_at(i)); i++) {
		char description[96];
		snprintf(description, sizeof(description),
			 "opcontrol's name; %s where the PMU has none of its own", alias->generic);
		tell(list, VMOP_EVENTS_OPCONTROL, alias->name, description);
	}
}

/* Tracepoints are not tried: there are thousands, and one opens like the other. */
static void list_tracepoint(void *arg, const char *name)
{
	const struct list *list = arg;
	const struct vmop_event_entry entry = {
		.group = VMOP_EVENTS_TRACEPOINT,
		.name = name,
		.unit = "events",
		.lowest_count = 1,
		.is_available = true,
	};
	list->each(list->arg, &entry);
}

struct vmop_error *vmop_event_list(const char *root, vmop_event_list_fn each, void *arg,
				   struct vmop_error **ret_no_tracepoints)
{
	struct list list = {.root = root, .each = each, .arg = arg};
	const char *cache;
	list_generic(&list, VMOP_EVENTS_SOFTWARE, PERF_TYPE_SOFTWARE);
	list_generic(&list, VMOP_EVENTS_HARDWARE, PERF_TYPE_HARDWARE);
	for (unsigned i = 0; (cache = vmop_perf_name_cache_at(i)); i++)
		tell(&list, VMOP_EVENTS_CACHE, cache, NULL);
	list_pmus(&list);
	vmop_pfm_list(list_pfm, &list);
	list_aliases(&list);
	*ret_no_tracepoints = vmop_perf_tracepoint_for_each(root, list_tracepoint, &list);
	if (list.err) {
		vmop_error_destroy(*ret_no_tracepoints);
		*ret_no_tracepoints = NULL;
	}
	return list.err;
}
