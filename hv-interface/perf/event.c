// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/event.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/perf/name.h"
#include "hv-interface/perf/pfm.h"
#include "hv-interface/perf/pmu.h"
#include "hv-interface/perf/tracepoint.h"
#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/io.h"
#include "libutil/parse.h"

/* The generic events of a hybrid machine name their PMU with this; headers of 5.10 lack it. */
#ifndef PERF_PMU_TYPE_SHIFT
#define PERF_PMU_TYPE_SHIFT 32
#endif
#define MAX_SAMPLE_RATE_PATH "/proc/sys/kernel/perf_event_max_sample_rate"

static void event_cleanup(struct vmop_perf_event *event)
{
	vmop_perf_event_deinit(event);
}

static void drop_part(struct vmop_perf_event *event, size_t i)
{
	free(event->parts[i].pmu);
	vmop_cpus_deinit(&event->parts[i].cpus);
	event->n_parts--;
	memmove(&event->parts[i], &event->parts[i + 1],
		(event->n_parts - i) * sizeof(*event->parts));
}

static void drop_parts(struct vmop_perf_event *event)
{
	while (event->n_parts > 0)
		drop_part(event, event->n_parts - 1);
	free(event->parts);
	event->parts = NULL;
}

void vmop_perf_event_deinit(struct vmop_perf_event *event)
{
	drop_parts(event);
	free(event->name);
	free(event->asked);
	free(event->note);
	*event = (struct vmop_perf_event){0};
}

uint64_t vmop_perf_max_sample_rate_hz(void)
{
	_cleanup_free_ char *text = NULL;
	uint64_t rate;
	struct vmop_error *err = vmop_io_read_file(MAX_SAMPLE_RATE_PATH, 64, &text, NULL);
	if (err) {
		vmop_error_destroy(err);
		return UINT64_MAX;
	}
	text[strcspn(text, "\n")] = '\0';
	return vmop_parse_u64(text, 10, &rate) && rate > 0 ? rate : UINT64_MAX;
}

/* The names that are nearest to an unknown one. */
struct suggestions {
	const char *wanted;
	struct {
		char name[64];
		unsigned distance;
	} best[4]; /* nearest first */
	unsigned n;
};

static void suggest(void *arg, const char *name)
{
	struct suggestions *them = arg;
	enum { N_BEST = sizeof(them->best) / sizeof(them->best[0]) };
	unsigned distance = vmop_perf_name_distance(them->wanted, name);
	if (distance > (strlen(them->wanted) + 1) / 2)
		return;
	unsigned at = them->n;
	while (at > 0 && them->best[at - 1].distance > distance)
		at--;
	if (at == N_BEST)
		return;
	unsigned kept = them->n < N_BEST ? them->n : N_BEST - 1;
	memmove(&them->best[at + 1], &them->best[at], (kept - at) * sizeof(them->best[0]));
	snprintf(them->best[at].name, sizeof(them->best[at].name), "%s", name);
	them->best[at].distance = distance;
	them->n = kept + 1;
}

static struct vmop_error *unknown_event(const char *name)
{
	struct suggestions near = {.wanted = name};
	const char *generic;
	for (unsigned i = 0; (generic = vmop_perf_name_at(i)); i++)
		suggest(&near, generic);
	vmop_pfm_for_each(suggest, &near);
	char text[sizeof(near.best) + 16] = "";
	for (unsigned i = 0; i < near.n; i++) {
		strcat(text, i ? ", " : "; near it: ");
		strcat(text, near.best[i].name);
	}
	return vmop_error_new(VMOP_ERROR_USAGE,
			      "no event '%s'%s; others are default, cycles, instructions, "
			      "llc-misses, branch-misses, cpu-clock, page-faults, rNNN (raw) and "
			      "what vmopcontrol --list-events shows",
			      name, text);
}

/* Parse rNNN: the PMU's own number, in hexadecimal. */
static bool parse_raw(const char *name, uint64_t *ret)
{
	return name[0] == 'r' && isxdigit((unsigned char)name[1]) && name[2] != 'x' &&
	       name[2] != 'X' && vmop_parse_u64(name + 1, 16, ret);
}

static struct vmop_error *no_unit_mask(const struct vmop_event_request *request, uint64_t allowed)
{
	uint64_t number;
	if (!request->unit_mask ||
	    (vmop_parse_u64(request->unit_mask, 0, &number) && (number == 0 || number == allowed)))
		return NULL;
	return vmop_error_new(VMOP_ERROR_USAGE, "event '%s' has no unit masks, so not '%s'",
			      request->name, request->unit_mask);
}

uint64_t vmop_perf_lowest_by_name(const char *name)
{
	static const char *const often[] = {"cycle",	    "clk",  "inst_ret", "inst-ret",
					    "instructions", "uops", "slots"};
	for (size_t i = 0; i < sizeof(often) / sizeof(often[0]); i++) {
		if (strcasestr(name, often[i]) && !strcasestr(name, "miss"))
			return VMOP_PERF_LOWEST_EVERY_CYCLE;
	}
	return VMOP_PERF_LOWEST_NOW_AND_THEN;
}

static void set_generic(struct vmop_perf_event *event, const struct vmop_perf_name *name,
			uint64_t *ret_min)
{
	event->kind = name->is_clock			 ? VMOP_PERF_CLOCK
		      : name->type == PERF_TYPE_SOFTWARE ? VMOP_PERF_SOFTWARE
							 : VMOP_PERF_HARDWARE;
	event->counts_cycles = name->counts_cycles;
	event->attr.type = name->type;
	event->attr.config = name->config;
	*ret_min = name->min_period_events;
}

/* Resolve a name of opcontrol's that the machine's PMU does not have. */
static struct vmop_error *resolve_alias(const struct vmop_event_request *request,
					const struct vmop_perf_alias *alias,
					struct vmop_perf_event *event, uint64_t *ret_min)
{
	struct vmop_perf_name name;
	if (!vmop_perf_name_find(alias->generic, &name))
		return unknown_event(request->name);
	set_generic(event, &name, ret_min);
	event->name = strdup(alias->generic);
	if (!event->name || asprintf(&event->note, "stands for %s", request->name) < 0) {
		event->note = NULL;
		return &vmop_error_no_memory;
	}
	return no_unit_mask(request, alias->unit_mask);
}

/* Return whether opcontrol's meaning of the name should be tried after libpfm4 has refused it. */
static bool is_for_alias(const struct vmop_event_request *request, const struct vmop_error *err)
{
	uint64_t number;
	if (err->code == VMOP_ERROR_NOT_FOUND)
		return true;
	return err->code == VMOP_ERROR_USAGE &&
	       (!request->unit_mask || vmop_parse_u64(request->unit_mask, 0, &number));
}

static struct vmop_error *resolve_pfm(const struct vmop_event_request *request,
				      struct vmop_perf_event *event, uint64_t *ret_min)
{
	struct vmop_pfm_event pfm;
	const struct vmop_perf_alias *alias = vmop_perf_alias_find(request->name);
	struct vmop_error *err = vmop_pfm_encode(request->name, request->unit_mask, &pfm);
	if (err && alias && is_for_alias(request, err)) {
		vmop_error_destroy(err);
		return resolve_alias(request, alias, event, ret_min);
	}
	if (err && err->code == VMOP_ERROR_NOT_FOUND) {
		vmop_error_destroy(err);
		return unknown_event(request->name);
	}
	if (err)
		return err;
	event->kind = pfm.type == PERF_TYPE_SOFTWARE || pfm.type == PERF_TYPE_TRACEPOINT
			      ? VMOP_PERF_SOFTWARE
			      : VMOP_PERF_HARDWARE;
	event->attr.type = pfm.type;
	event->attr.config = pfm.config;
	event->attr.config1 = pfm.config1;
	event->attr.config2 = pfm.config2;
	*ret_min = event->kind == VMOP_PERF_SOFTWARE ? 1 : vmop_perf_lowest_by_name(request->name);
	return NULL;
}

static struct vmop_error *resolve_tracepoint(const struct vmop_event_request *request,
					     const char *root, struct vmop_perf_event *event)
{
	struct vmop_perf_name name;
	_cleanup_free_ char *system = strndup(request->name, strcspn(request->name, ":"));
	uint64_t id;
	if (!system)
		return &vmop_error_no_memory;
	if (vmop_perf_name_find(system, &name) || !strcmp(system, "default"))
		return vmop_error_new(
			VMOP_ERROR_USAGE,
			"event '%s': '%s' is not a count: give a number of events of 1 or more, as "
			"in cycles:100003, or a frequency, as in cycles:4000Hz",
			request->name, request->name + strlen(system) + 1);
	struct vmop_error *err = vmop_perf_tracepoint_id(root, request->name, &id);
	if (err && err->code == VMOP_ERROR_NOT_FOUND) {
		vmop_error_destroy(err);
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "event '%s': there is no such tracepoint, and '%s' is not a "
				      "count; see vmopcontrol --list-events --verbose",
				      request->name, request->name + strlen(system) + 1);
	}
	if (err)
		return vmop_error_prefix(err, "event '%s'", request->name);
	event->kind = VMOP_PERF_SOFTWARE;
	event->attr.type = PERF_TYPE_TRACEPOINT;
	event->attr.config = id;
	return NULL;
}

static struct vmop_error *no_pmu(const char *name, const struct vmop_perf_pmus *pmus)
{
	char list[256] = "";
	size_t len = 0;
	for (size_t i = 0; i < pmus->n && len < sizeof(list); i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", i ? ", " : "",
					pmus->pmus[i].name);
	return vmop_error_new(VMOP_ERROR_USAGE, "this kernel has no PMU '%s'; it has: %s", name,
			      *list ? list : "none");
}

static struct vmop_error *no_samples(const struct vmop_event_request *request, const char *name)
{
	return vmop_error_new(
		VMOP_ERROR_USAGE,
		"event '%s': PMU %s writes traces (AUX), not samples, and vmop does not decode "
		"traces; the nearest event is cycles, with :p where the CPU supports it",
		request->name, name);
}

/* Return the error for a PMU's name without terms. */
static struct vmop_error *no_terms(const struct vmop_event_request *request,
				   const struct vmop_perf_pmu *pmu)
{
	if (vmop_perf_pmu_is_tracer(pmu))
		return no_samples(request, pmu->name);
	return vmop_error_new(VMOP_ERROR_USAGE,
			      "event '%s' is a PMU: name an event of it, as in %s/event=0x11/, or "
			      "one that vmopcontrol --list-events shows",
			      request->name, pmu->name);
}

/* Resolve "pmu/TERM,.../". */
static struct vmop_error *resolve_pmu(const struct vmop_event_request *request, const char *root,
				      const struct vmop_perf_pmus *pmus,
				      struct vmop_perf_event *event, uint64_t *ret_min)
{
	const char *slash = strchr(request->name, '/');
	_cleanup_free_ char *name = strndup(request->name, (size_t)(slash - request->name));
	_cleanup_free_ char *terms = strdup(slash + 1);
	if (!name || !terms)
		return &vmop_error_no_memory;
	char *end = strchr(terms, '/');
	if (!end || end[1])
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "event '%s': it is PMU/TERM,.../, as in cpu/event=0x3c/",
				      request->name);
	*end = '\0';
	const struct vmop_perf_pmu *pmu = vmop_perf_pmus_find(pmus, name);
	if (!pmu)
		return no_pmu(name, pmus);
	if (vmop_perf_pmu_is_tracer(pmu))
		return no_samples(request, name);
	event->kind = pmu->type == PERF_TYPE_SOFTWARE ? VMOP_PERF_SOFTWARE : VMOP_PERF_HARDWARE;
	*ret_min = event->kind == VMOP_PERF_SOFTWARE ? 1 : vmop_perf_lowest_by_name(terms);
	struct vmop_error *err = vmop_perf_pmu_encode(root, pmu, terms, &event->attr);
	return err ? err : no_unit_mask(request, 0);
}

/* Set type, config and kind from the request's name. */
static struct vmop_error *resolve_name(const struct vmop_event_request *request, const char *root,
				       const struct vmop_perf_pmus *pmus,
				       struct vmop_perf_event *event, uint64_t *ret_min)
{
	struct vmop_perf_name name;
	uint64_t raw;
	const char *text = !strcmp(request->name, "default") ? "cycles" : request->name;
	const struct vmop_perf_pmu *pmu = vmop_perf_pmus_find(pmus, text);
	if (vmop_perf_name_find(text, &name)) {
		set_generic(event, &name, ret_min);
	} else if (parse_raw(request->name, &raw)) {
		event->attr.config = raw;
		event->kind = VMOP_PERF_HARDWARE;
		event->attr.type = PERF_TYPE_RAW;
		*ret_min = VMOP_PERF_LOWEST_NOW_AND_THEN;
	} else if (strchr(text, '/')) {
		return resolve_pmu(request, root, pmus, event, ret_min);
	} else if (vmop_perf_tracepoint_is_name(text)) {
		struct vmop_error *err = resolve_tracepoint(request, root, event);
		return err ? err : no_unit_mask(request, 0);
	} else if (pmu) {
		return no_terms(request, pmu);
	} else {
		return resolve_pfm(request, event, ret_min);
	}
	event->name = strdup(text);
	/* LLC_MISSES:6000:0x41 is valid for opcontrol. */
	const struct vmop_perf_alias *alias = vmop_perf_alias_find(text);
	return event->name ? no_unit_mask(request, alias ? alias->unit_mask : 0)
			   : &vmop_error_no_memory;
}

static struct vmop_error *add_part(struct vmop_perf_event *event, const struct vmop_perf_pmu *pmu,
				   uint32_t type, uint64_t config)
{
	if (!vmop_array_reserve(event->parts, event->parts_capacity, event->n_parts + 1))
		return &vmop_error_no_memory;
	struct vmop_perf_part *part = &event->parts[event->n_parts];
	*part = (struct vmop_perf_part){.type = type, .config = config};
	event->n_parts++;
	part->pmu = strdup(pmu->name);
	part->cpus.cpus = malloc((pmu->cpus.n ? pmu->cpus.n : 1) * sizeof(*part->cpus.cpus));
	if (!part->pmu || !part->cpus.cpus)
		return &vmop_error_no_memory;
	memcpy(part->cpus.cpus, pmu->cpus.cpus, pmu->cpus.n * sizeof(*part->cpus.cpus));
	part->cpus.n = pmu->cpus.n;
	return NULL;
}

static bool has_several_core_pmus(const struct vmop_perf_pmus *pmus)
{
	size_t n = 0;
	for (size_t i = 0; i < pmus->n; i++)
		n += pmus->pmus[i].is_core;
	return n > 1;
}

/*
 * Find the PMUs and CPUs that count the event: for a generic or raw event each core PMU of a hybrid
 * machine, for a PMU's own event the CPUs that sysfs lists for it. A type does not identify them: a
 * hybrid's cpu_core has the type of raw events. x86 needs the PMU in the config; arm64 goes by the
 * CPU.
 */
static struct vmop_error *resolve_parts(const struct vmop_perf_pmus *pmus, bool is_raw,
					struct vmop_perf_event *event)
{
	const struct perf_event_attr *attr = &event->attr;
	bool is_generic = attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE;
	struct vmop_error *err = NULL;
	if (event->kind != VMOP_PERF_HARDWARE)
		return NULL;
	if (!is_generic && !is_raw) {
		const struct vmop_perf_pmu *pmu = vmop_perf_pmus_find_type(pmus, attr->type);
		return pmu && pmu->has_cpus ? add_part(event, pmu, attr->type, attr->config) : NULL;
	}
	for (size_t i = 0; !err && i < pmus->n; i++) {
		const struct vmop_perf_pmu *pmu = &pmus->pmus[i];
		bool is_x86 = vmop_perf_pmu_is_x86_hybrid(pmu);
		if (is_x86 && is_generic)
			err = add_part(event, pmu, attr->type,
				       attr->config | (uint64_t)pmu->type << PERF_PMU_TYPE_SHIFT);
		else if (is_x86)
			err = add_part(event, pmu, pmu->type, attr->config);
		else if (pmu->is_core && has_several_core_pmus(pmus))
			err = add_part(event, pmu, attr->type, attr->config);
	}
	return err;
}

bool vmop_perf_event_attr_on(const struct vmop_perf_event *event, unsigned cpu,
			     struct perf_event_attr *ret)
{
	*ret = event->attr;
	for (size_t i = 0; i < event->n_parts; i++) {
		if (!vmop_cpus_has(&event->parts[i].cpus, cpu))
			continue;
		ret->type = event->parts[i].type;
		ret->config = event->parts[i].config;
		return true;
	}
	return event->n_parts == 0;
}

/*
 * Return "PMU/NAME/", or "PMU+PMU/NAME/", also if the name has that form already; NULL: out of
 * memory.
 */
static char *name_with_pmus(const struct vmop_perf_event *event)
{
	const char *slash = strchr(event->name, '/'), *base = slash ? slash + 1 : event->name;
	char *name = NULL;
	size_t len;
	FILE *out = open_memstream(&name, &len);
	if (!out)
		return NULL;
	for (size_t i = 0; i < event->n_parts; i++)
		fprintf(out, "%s%s", i ? "+" : "", event->parts[i].pmu);
	fprintf(out, "/%.*s/", (int)strcspn(base, "/"), base);
	if (fclose(out) == 0)
		return name;
	free(name);
	return NULL;
}

struct vmop_error *vmop_perf_event_leave_out_pmu(struct vmop_perf_event *event, unsigned cpu)
{
	size_t i = 0;
	while (i < event->n_parts && !vmop_cpus_has(&event->parts[i].cpus, cpu))
		i++;
	if (i == event->n_parts)
		return NULL;
	_cleanup_free_ char *note = NULL;
	if (asprintf(&note, "not counted on the CPUs of %s (%zu of them): that PMU lacks it",
		     event->parts[i].pmu, event->parts[i].cpus.n) < 0) {
		note = NULL;
		return &vmop_error_no_memory;
	}
	struct vmop_error *err = vmop_perf_event_add_note(event, note);
	if (err)
		return err;
	drop_part(event, i);
	char *name = name_with_pmus(event);
	if (!name)
		return &vmop_error_no_memory;
	if (event->asked)
		free(event->name);
	else
		event->asked = event->name;
	event->name = name;
	return NULL;
}

static struct vmop_error *resolve_period(const struct vmop_event_request *request, uint64_t min,
					 struct vmop_perf_event *event)
{
	if (!strcmp(request->name, "default"))
		return vmop_error_new(
			VMOP_ERROR_USAGE,
			"event 'default' takes a frequency, as in default:1000Hz, for "
			"what %" PRIu64 " would count depends on the machine",
			request->period_events);
	uint64_t rate = vmop_perf_max_sample_rate_hz();
	if (event->kind == VMOP_PERF_CLOCK && rate < VMOP_NS_PER_S && min < VMOP_NS_PER_S / rate)
		min = VMOP_NS_PER_S / rate;
	if (request->period_events < min)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "event '%s': a count of %" PRIu64 " is too low, the lowest "
				      "is %" PRIu64 "%s",
				      request->name, request->period_events, min,
				      event->kind == VMOP_PERF_CLOCK ? " ns" : "");
	event->attr.sample_period = request->period_events;
	return NULL;
}

static struct vmop_error *resolve_frequency(const struct vmop_event_request *request,
					    struct vmop_perf_event *event)
{
	uint64_t rate = vmop_perf_max_sample_rate_hz();
	uint64_t hz = request->frequency_hz;
	if (hz > rate)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "event '%s': %" PRIu64
				      " Hz is more than this kernel's limit of "
				      "%" PRIu64 " (sysctl kernel.perf_event_max_sample_rate)",
				      request->name, hz, rate);
	if (!hz)
		hz = rate < VMOP_PERF_DEFAULT_HZ ? rate : VMOP_PERF_DEFAULT_HZ;
	/* the kernel does this with freq; here it becomes visible */
	if (event->kind == VMOP_PERF_CLOCK) {
		event->attr.sample_period = VMOP_NS_PER_S / hz;
		return NULL;
	}
	event->attr.freq = 1;
	event->attr.sample_freq = hz;
	return NULL;
}

/*
 * Return whether the PMU ignores precise_ip. An arm64 core's PMU has no precise levels, and its
 * driver does not refuse them (armpmu_event_init in drivers/perf/arm_pmu.c).
 */
static bool takes_no_notice_of_precision(const struct vmop_perf_pmus *pmus, uint32_t type)
{
	bool is_of_cores =
		type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW;
	for (size_t i = 0; i < pmus->n; i++) {
		const struct vmop_perf_pmu *pmu = &pmus->pmus[i];
		if (pmu->is_core && !vmop_perf_pmu_is_x86_hybrid(pmu) &&
		    (is_of_cores || pmu->type == type))
			return true;
	}
	return false;
}

static struct vmop_error *resolve_precision(const struct vmop_event_request *request,
					    const struct vmop_perf_pmus *pmus,
					    struct vmop_perf_event *event)
{
	if (!request->precise)
		return NULL;
	if (event->kind != VMOP_PERF_HARDWARE)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "event '%s' is counted by the kernel: 'p' (precise) is for "
				      "events of a PMU",
				      request->name);
	if (takes_no_notice_of_precision(pmus, event->attr.type))
		return vmop_perf_event_add_note(
			event, "not as precise as requested, because this PMU has no precise "
			       "levels: samples may be a few instructions late");
	event->attr.precise_ip = request->precise & 3;
	return NULL;
}

struct vmop_error *vmop_perf_event_resolve(const struct vmop_event_request *request,
					   const char *root, struct vmop_perf_event *ret)
{
	_cleanup_(vmop_perf_pmus_deinit) struct vmop_perf_pmus pmus = {0};
	_cleanup_(event_cleanup) struct vmop_perf_event event = {
		.kernel = request->kernel,
		.user = request->user,
		.host = request->host,
		.guest = request->guest,
	};
	uint64_t min = 1, raw;
	struct vmop_error *err = vmop_perf_pmus_read(root, &pmus);
	if (!err)
		err = resolve_name(request, root, &pmus, &event, &min);
	if (!err)
		err = resolve_parts(&pmus, parse_raw(request->name, &raw), &event);
	if (!err && request->period_events)
		err = resolve_period(request, min, &event);
	else if (!err)
		err = resolve_frequency(request, &event);
	if (err)
		return err;
	event.lowest_period_events = min;
	if (!event.name) {
		bool has_mask = request->unit_mask != NULL;
		if (asprintf(&event.name, has_mask ? "%s:%s" : "%s", request->name,
			     request->unit_mask) < 0) {
			event.name = NULL;
			return &vmop_error_no_memory;
		}
	}
	if (strcmp(event.name, request->name) != 0 && strcmp(request->name, "default") != 0) {
		event.asked = strdup(request->name);
		if (!event.asked)
			return &vmop_error_no_memory;
	}
	err = resolve_precision(request, &pmus, &event);
	if (err)
		return err;
	vmop_perf_event_set_modes(&event);
	*ret = event;
	event = (struct vmop_perf_event){0};
	return NULL;
}

struct vmop_error *vmop_perf_event_become_clock(struct vmop_perf_event *event)
{
	char *name = strdup("cpu-clock");
	if (!name)
		return &vmop_error_no_memory;
	free(event->name);
	free(event->asked); /* the event does not stand for time */
	event->name = name;
	event->asked = NULL;
	uint64_t period_ns = event->attr.freq ? VMOP_NS_PER_S / event->attr.sample_freq
					      : event->attr.sample_period;
	uint64_t rate = vmop_perf_max_sample_rate_hz();
	uint64_t min_ns = rate < 100000 ? VMOP_NS_PER_S / rate : 10000;
	event->kind = VMOP_PERF_CLOCK;
	event->is_split = false;
	drop_parts(event);
	event->attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns < min_ns ? min_ns : period_ns,
	};
	vmop_perf_event_set_modes(event);
	return NULL;
}

struct vmop_error *vmop_perf_event_add_note(struct vmop_perf_event *event, const char *more)
{
	const char *before = event->note ? event->note : "";
	char *note;
	if (asprintf(&note, "%s%s%s", before, *before ? "; " : "", more) < 0)
		return &vmop_error_no_memory;
	free(event->note);
	event->note = note;
	return NULL;
}

void vmop_perf_event_set_modes(struct vmop_perf_event *event)
{
	struct perf_event_attr *attr = &event->attr;
	if (event->kind == VMOP_PERF_HARDWARE) {
		attr->exclude_user = !event->user;
		attr->exclude_kernel = !event->kernel;
		attr->exclude_hv = !event->kernel;
		attr->exclude_host = !event->host;
		attr->exclude_guest = !event->guest;
		return;
	}
	/*
	 * Despite its name exclude_user = 0 keeps a guest's user samples. The source filters the
	 * rest.
	 */
	attr->exclude_user = !event->user;
	attr->exclude_kernel = !event->kernel && !event->guest;
}

const char *vmop_perf_event_modifiers(const struct vmop_perf_event *event,
				      char ret[VMOP_PERF_MODIFIERS_BYTES])
{
	char *at = ret;
	*at++ = ':';
	if (!event->kernel || !event->user)
		*at++ = event->user ? 'u' : 'k';
	if (!event->host || !event->guest)
		*at++ = event->host ? 'H' : 'G';
	if (at == ret + 1) /* all modes */
		at = ret;
	*at = '\0';
	return ret;
}

uint64_t vmop_perf_event_fixed_weight(const struct vmop_perf_event *event)
{
	bool is_of_kernel = event->kind != VMOP_PERF_HARDWARE && !event->attr.freq;
	return is_of_kernel ? event->attr.sample_period : 0;
}

uint8_t vmop_perf_event_wanted_classes(const struct vmop_perf_event *event)
{
	uint8_t classes = 0;
	for (unsigned guest = 0; guest < 2; guest++) {
		for (unsigned kernel = 0; kernel < 2; kernel++) {
			if ((guest ? event->guest : event->host) &&
			    (kernel ? event->kernel : event->user))
				classes |= (uint8_t)(1 << VMOP_PERF_CLASS(guest, kernel));
		}
	}
	unsigned no_stacks = event->stacks == VMOP_PERF_STACKS_LEFT_OUT ? VMOP_PERF_NO_STACKS : 0;
	if (event->kind != VMOP_PERF_HARDWARE)
		return (uint8_t)(classes | no_stacks);
	return (uint8_t)(VMOP_PERF_ALL_CLASSES | no_stacks |
			 (event->guest ? 0 : VMOP_PERF_HOST_ONLY) |
			 (event->host ? 0 : VMOP_PERF_GUEST_ONLY) | VMOP_PERF_BY_PMU);
}
