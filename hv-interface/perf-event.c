// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf-event.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/perf-name.h"
#include "hv-interface/perf-pfm.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "libutil/parse.h"

#define NS_PER_S UINT64_C(1000000000)
#define MAX_SAMPLE_RATE_PATH "/proc/sys/kernel/perf_event_max_sample_rate"

static void event_cleanup(struct vmop_perf_event *event)
{
	vmop_perf_event_deinit(event);
}

void vmop_perf_event_deinit(struct vmop_perf_event *event)
{
	free(event->name);
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

/* The names nearest to the one that wasn't found. */
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
			      "the names of libpfm4's showevtinfo",
			      name, text);
}

/* rNNN: the PMU's own number, in hexadecimal. */
static bool parse_raw(const char *name, uint64_t *ret)
{
	return name[0] == 'r' && isxdigit((unsigned char)name[1]) && name[2] != 'x' &&
	       name[2] != 'X' && vmop_parse_u64(name + 1, 16, ret);
}

static struct vmop_error *no_unit_mask(const struct vmop_event_request *request)
{
	uint64_t number;
	if (!request->unit_mask || (vmop_parse_u64(request->unit_mask, 0, &number) && number == 0))
		return NULL;
	return vmop_error_new(VMOP_ERROR_USAGE, "event '%s' has no unit masks, so not '%s'",
			      request->name, request->unit_mask);
}

static struct vmop_error *resolve_pfm(const struct vmop_event_request *request,
				      struct vmop_perf_event *event, uint64_t *ret_min)
{
	struct vmop_pfm_event pfm;
	struct vmop_error *err = vmop_pfm_encode(request->name, request->unit_mask, &pfm);
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
	*ret_min = event->kind == VMOP_PERF_SOFTWARE ? 1 : 500;
	return NULL;
}

/* Type, config and kind by the request's name. */
static struct vmop_error *resolve_name(const struct vmop_event_request *request,
				       struct vmop_perf_event *event, uint64_t *ret_min)
{
	struct vmop_perf_name name;
	uint64_t raw;
	const char *text = !strcmp(request->name, "default") ? "cycles" : request->name;
	if (vmop_perf_name_find(text, &name)) {
		event->kind = name.is_clock			? VMOP_PERF_CLOCK
			      : name.type == PERF_TYPE_SOFTWARE ? VMOP_PERF_SOFTWARE
								: VMOP_PERF_HARDWARE;
		event->counts_cycles = name.counts_cycles;
		event->attr.type = name.type;
		event->attr.config = name.config;
		*ret_min = name.min_period_events;
	} else if (parse_raw(request->name, &raw)) {
		event->attr.config = raw;
		event->kind = VMOP_PERF_HARDWARE;
		event->attr.type = PERF_TYPE_RAW;
		*ret_min = 500;
	} else {
		return resolve_pfm(request, event, ret_min);
	}
	event->name = strdup(text);
	return event->name ? no_unit_mask(request) : &vmop_error_no_memory;
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
	if (event->kind == VMOP_PERF_CLOCK && rate < NS_PER_S && min < NS_PER_S / rate)
		min = NS_PER_S / rate;
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
	if (event->kind == VMOP_PERF_CLOCK) { /* what the kernel does with freq, made visible */
		event->attr.sample_period = NS_PER_S / hz;
		return NULL;
	}
	event->attr.freq = 1;
	event->attr.sample_freq = hz;
	return NULL;
}

struct vmop_error *vmop_perf_event_resolve(const struct vmop_event_request *request,
					   struct vmop_perf_event *ret)
{
	_cleanup_(event_cleanup) struct vmop_perf_event event = {
		.kernel = request->kernel,
		.user = request->user,
		.host = request->host,
		.guest = request->guest,
	};
	uint64_t min = 1;
	struct vmop_error *err = resolve_name(request, &event, &min);
	if (!err && request->period_events)
		err = resolve_period(request, min, &event);
	else if (!err)
		err = resolve_frequency(request, &event);
	if (err)
		return err;
	if (!event.name) {
		bool has_mask = request->unit_mask != NULL;
		if (asprintf(&event.name, has_mask ? "%s:%s" : "%s", request->name,
			     request->unit_mask) < 0) {
			event.name = NULL;
			return &vmop_error_no_memory;
		}
	}
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
	event->name = name;
	uint64_t period_ns =
		event->attr.freq ? NS_PER_S / event->attr.sample_freq : event->attr.sample_period;
	uint64_t rate = vmop_perf_max_sample_rate_hz();
	uint64_t min_ns = rate < 100000 ? NS_PER_S / rate : 10000;
	event->kind = VMOP_PERF_CLOCK;
	event->attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns < min_ns ? min_ns : period_ns,
	};
	vmop_perf_event_set_modes(event);
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
	/* Keeps a guest's user samples, in spite of its name; the rest is left to the source. */
	attr->exclude_user = !event->user;
	attr->exclude_kernel = !event->kernel && !event->guest;
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
	return event->kind == VMOP_PERF_HARDWARE ? 0xf : classes;
}
