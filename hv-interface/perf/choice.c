// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/choice.h"
#include "libutil/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"

void vmop_perf_plan_deinit(struct vmop_perf_plan *plan)
{
	for (size_t i = 0; i < plan->n_events; i++)
		vmop_perf_event_deinit(&plan->events[i]);
	free(plan->events);
	free(plan->wanted);
	vmop_perf_stacks_deinit(&plan->stacks);
	vmop_perf_program_deinit(&plan->program);
	*plan = (struct vmop_perf_plan){0};
}

static struct vmop_error *set_note(struct vmop_perf_event *event, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static struct vmop_error *set_note(struct vmop_perf_event *event, const char *format, ...)
{
	va_list args;
	char *note;
	va_start(args, format);
	int len = vasprintf(&note, format, args);
	va_end(args);
	if (len < 0)
		return &vmop_error_no_memory;
	free(event->note);
	event->note = note;
	return NULL;
}

static void read_word(const char *path, char *ret, size_t size)
{
	_cleanup_free_ char *text = NULL;
	struct vmop_error *err = vmop_io_read_file(path, 4096, &text, NULL);
	snprintf(ret, size, "%.*s", err ? 1 : (int)strcspn(text, "\n"), err ? "?" : text);
	vmop_error_destroy(err);
}

/*
 * Return whether KVM's mediated vPMU is on (Linux 7.0, off by default). A VM that has one cannot
 * start while a PMU event is open that counts guests, and no such event can be opened while the VM
 * runs (perf_create_mediated_pmu, mediated_pmu_account_event in kernel/events/core.c).
 */
static bool has_mediated_vpmu(void)
{
	static const char *const paths[] = {
		"/sys/module/kvm_intel/parameters/enable_mediated_pmu",
		"/sys/module/kvm_amd/parameters/enable_mediated_pmu",
	};
	for (unsigned i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		char word[8];
		read_word(paths[i], word, sizeof(word));
		if (word[0] == 'Y' || word[0] == '1')
			return true;
	}
	return false;
}

static struct vmop_error *append(struct vmop_perf_plan *plan, struct vmop_perf_event *event)
{
	size_t n = plan->n_events + 1;
	if (!vmop_array_reserve(plan->events, plan->events_capacity, n) ||
	    !vmop_array_reserve(plan->wanted, plan->wanted_capacity, n))
		return &vmop_error_no_memory;
	plan->events[plan->n_events] = *event;
	plan->wanted[plan->n_events] = vmop_perf_event_wanted_classes(event);
	plan->n_events++;
	*event = (struct vmop_perf_event){0};
	return NULL;
}

/* Format the period of a clock: "every 1001001 ns". */
static const char *how_often(const struct vmop_perf_event *event, char *buf, size_t size)
{
	snprintf(buf, size, "every %" PRIu64 " ns", (uint64_t)event->attr.sample_period);
	return buf;
}

/* Add a clock that samples guests, beside an event that leaves guests out. */
static struct vmop_error *add_guest_clock(struct vmop_perf_plan *plan, size_t i)
{
	struct vmop_perf_event clock = plan->events[i];
	clock.name = NULL;
	clock.asked = NULL;
	clock.group = 0;
	clock.note = NULL;
	clock.parts = NULL;
	clock.n_parts = clock.parts_capacity = 0;
	clock.host = false;
	clock.guest = true;
	char often[64];
	struct vmop_error *err = vmop_perf_event_become_clock(&clock);
	if (!err)
		err = set_note(&clock,
			       "%s can't count guests here: KVM's mediated vPMU reserves the PMU "
			       "for them; cpu-clock samples guest time %s",
			       plan->events[i].name, how_often(&clock, often, sizeof(often)));
	if (!err)
		err = append(plan, &clock);
	vmop_perf_event_deinit(&clock);
	return err;
}

/* Exclude guests from a PMU event. */
static struct vmop_error *leave_guests_out(struct vmop_perf_plan *plan, size_t i)
{
	struct vmop_perf_event *event = &plan->events[i];
	event->guest = false;
	event->is_split = false;
	event->guests_left_out = true;
	vmop_perf_event_set_modes(event);
	struct vmop_error *err =
		set_note(event,
			 "%s counts only the host: KVM's mediated vPMU reserves the PMU for "
			 "running guests%s; active guests count it themselves (--active-domains)",
			 event->name, event->counts_cycles ? "; see cpu-clock for guests" : "");
	return err || !event->counts_cycles ? err : add_guest_clock(plan, i);
}

/* Let the clock that replaces event i cover guests too, and drop the one only for guests. */
static void take_guests_in(struct vmop_perf_plan *plan, size_t i)
{
	if (!plan->events[i].guests_left_out)
		return;
	plan->events[i].guests_left_out = false;
	plan->events[i].guest = true;
	for (size_t j = plan->n_events; j-- > i + 1;) {
		if (plan->events[j].request != plan->events[i].request)
			continue;
		vmop_perf_event_deinit(&plan->events[j]);
		plan->n_events--;
		memmove(&plan->events[j], &plan->events[j + 1],
			(plan->n_events - j) * sizeof(*plan->events));
		memmove(&plan->wanted[j], &plan->wanted[j + 1], plan->n_events - j);
	}
}

static struct vmop_error *by_clock(struct vmop_perf_plan *plan, size_t i, const char *reason)
{
	struct vmop_perf_event *event = &plan->events[i];
	_cleanup_free_ char *asked = strdup(event->name);
	bool was_period = !event->attr.freq;
	char often[64];
	if (!asked)
		return &vmop_error_no_memory;
	take_guests_in(plan, i);
	event->stacks = VMOP_PERF_STACKS_PLANNED; /* a clock takes what the plan has */
	struct vmop_error *err = vmop_perf_event_become_clock(event);
	if (err)
		return err;
	plan->wanted[i] = vmop_perf_event_wanted_classes(event);
	return set_note(event, "no %s: %s; cpu-clock stands in, %s%s", asked, reason,
			how_often(event, often, sizeof(often)),
			was_period ? " (a cycle counts as a nanosecond)" : "");
}

/* Return why perf_event_open refused an event, in the user's words, or NULL. */
static const char *unsupported_reason(const struct vmop_perf_event *event, int os_errno)
{
	switch (os_errno) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
		return event->kind == VMOP_PERF_HARDWARE
			       ? "this machine has no PMU that counts it (ENOENT)"
			       : "this kernel does not count it (ENOENT)";
	case EOPNOTSUPP:
		return "the PMU can't sample it (EOPNOTSUPP)";
	case EBUSY:
		return "the PMU is in use (EBUSY)";
	case ENOSPC:
		return "no counter is free (ENOSPC)";
	case EINVAL:
	case E2BIG:
		return "the kernel refuses it (EINVAL)";
	default:
		return NULL;
	}
}

/*
 * Return the restrictions of a perf_event_paranoid level without CAP_PERFMON (perf_allow_kernel,
 * _cpu and _tracepoint in linux/perf_event.h; 3 and more are distributions' own).
 */
static const char *allowed_at(const char *level)
{
	switch (level[0]) {
	case '-':
		return "everything";
	case '0':
		return "all but raw tracepoints";
	case '1':
		return "their own processes, the kernel's part too, but not whole CPUs";
	case '2':
		return "only their own processes' user code";
	default:
		return "nothing";
	}
}

static struct vmop_error *no_permission(const struct vmop_perf_event *event, int os_errno)
{
	bool is_tracepoint = event && event->attr.type == PERF_TYPE_TRACEPOINT;
	char level[16];
	read_word("/proc/sys/kernel/perf_event_paranoid", level, sizeof(level));
	return vmop_error_new(
		VMOP_ERROR_CANT,
		"no permission to sample the whole machine (perf_event_open: %s): run as root "
		"outside of containers, or with CAP_PERFMON, or set sysctl "
		"kernel.perf_event_paranoid to %s (it is %s, which leaves others %s)",
		strerror(os_errno), is_tracepoint ? "-1" : "0 or -1", level, allowed_at(level));
}

/* Try the next lower level of precise_ip; every PMU has 0. */
static struct vmop_error *less_precise(struct vmop_perf_plan *plan, size_t i)
{
	struct vmop_perf_event *event = &plan->events[i];
	event->attr.precise_ip--;
	event->stacks = VMOP_PERF_STACKS_PLANNED; /* now they may be at fault */
	plan->wanted[i] = vmop_perf_event_wanted_classes(event);
	unsigned now = (unsigned)event->attr.precise_ip;
	return set_note(
		event,
		"%s can't be sampled as precisely as requested here; its precise level is %u%s",
		event->name, now, now ? "" : ": samples may be a few instructions late");
}

/* Return whether the event is in a group, but not first: a refusal may be due to the group then. */
static bool is_in_group(const struct vmop_perf_plan *plan, size_t event)
{
	for (size_t i = 0; plan->events[event].group && i < event; i++) {
		if (plan->events[i].group == plan->events[event].group)
			return true;
	}
	return false;
}

/* Dissolve the group of an event: its events are counted in turn. */
static struct vmop_error *dissolve_group(struct vmop_perf_plan *plan, unsigned group)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; !err && i < plan->n_events; i++) {
		struct vmop_perf_event *event = &plan->events[i];
		if (event->group != group)
			continue;
		event->group = 0;
		event->stacks = VMOP_PERF_STACKS_PLANNED;
		plan->wanted[i] = vmop_perf_event_wanted_classes(event);
		err = vmop_perf_event_add_note(
			event,
			"its group can't be counted at the same time here (too many events for the "
			"counters, or several PMUs): each event is counted separately");
	}
	return err;
}

/*
 * Return whether only one of several core PMUs lacks the event: small cores can have fewer events
 * than large ones. All have cycles; if those are refused, the clock replaces them on all CPUs.
 */
static bool is_lacked_by_one_pmu(const struct vmop_perf_event *event, int os_errno)
{
	return event->n_parts > 1 && !event->counts_cycles && !event->attr.precise_ip &&
	       (os_errno == ENOENT || os_errno == ENODEV || os_errno == ENXIO);
}

/* ---- call stacks ------------------------------------------------------------ */

/*
 * Some PMUs accept no samples with call stacks, and the errno does not name the reason. Leave the
 * stacks of a refused event out and see whether it is accepted, before any other substitute.
 * Return whether that is worth a try.
 */
static bool leave_stacks_out(struct vmop_perf_plan *plan, const struct vmop_perf_refusal *refusal)
{
	struct vmop_perf_event *event = &plan->events[refusal->event];
	int os_errno = refusal->os_errno;
	if (plan->stacks.is.mode == VMOP_STACKS_OFF || event->kind == VMOP_PERF_CLOCK ||
	    event->stacks != VMOP_PERF_STACKS_PLANNED ||
	    !vmop_perf_event_has_stacks(plan->wanted[refusal->event]) ||
	    (os_errno != EINVAL && os_errno != EOPNOTSUPP && os_errno != E2BIG))
		return false;
	event->stacks = VMOP_PERF_STACKS_LEFT_OUT;
	event->stacks_cpu = refusal->cpu;
	event->stacks_errno = os_errno;
	plan->wanted[refusal->event] = vmop_perf_event_wanted_classes(event);
	return true;
}

/* Give an event its stacks back if it was refused on the same CPU without them. */
static void give_stacks_back(struct vmop_perf_plan *plan, const struct vmop_perf_refusal *refusal)
{
	struct vmop_perf_event *event = &plan->events[refusal->event];
	if (event->stacks != VMOP_PERF_STACKS_LEFT_OUT || event->stacks_cpu != refusal->cpu)
		return;
	event->stacks = VMOP_PERF_STACKS_NOT_AT_FAULT;
	plan->wanted[refusal->event] = vmop_perf_event_wanted_classes(event);
}

struct vmop_error *vmop_perf_choice_note_stacks(struct vmop_perf_plan *plan)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; !err && i < plan->n_events; i++) {
		struct vmop_perf_event *event = &plan->events[i];
		_cleanup_free_ char *note = NULL;
		if (event->stacks != VMOP_PERF_STACKS_LEFT_OUT)
			continue;
		if (asprintf(&note,
			     "%s has no call stacks: it can't be sampled with them here (%s); "
			     "cpu-clock can",
			     event->name, strerror(event->stacks_errno)) < 0) {
			note = NULL;
			return &vmop_error_no_memory;
		}
		err = vmop_perf_event_add_note(event, note);
	}
	return err;
}

/* ---------------------------------------------------------------------------- */

static struct vmop_error *too_many_files(const struct vmop_perf_plan *plan)
{
	size_t n = plan->n_events + 1;
	for (size_t i = 0; i < plan->n_events; i++)
		n += plan->events[i].is_split;
	return vmop_error_new(VMOP_ERROR_CANT,
			      "too many open files: sampling needs %zu of them for each CPU; raise "
			      "the limit (ulimit -n, or LimitNOFILE= in the unit), or sample fewer "
			      "events",
			      n);
}

struct vmop_error *vmop_perf_choice_next(struct vmop_perf_plan *plan,
					 const struct vmop_perf_refusal *refusal)
{
	int os_errno = refusal->os_errno;
	if (os_errno == EACCES || os_errno == EPERM)
		return no_permission(refusal->event < plan->n_events ? &plan->events[refusal->event]
								     : NULL,
				     os_errno);
	if (os_errno == EMFILE || os_errno == ENFILE)
		return too_many_files(plan);
	if (os_errno == ENOSYS)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "this kernel has no perf events (perf_event_open: ENOSYS)");
	if (refusal->event == plan->n_events)
		return vmop_error_os(os_errno, "perf_event_open (Linux 4.3 or later is needed)");
	struct vmop_perf_event *event = &plan->events[refusal->event];
	const char *reason = unsupported_reason(event, os_errno);
	if (!reason)
		return vmop_error_os(os_errno, "event '%s': perf_event_open", event->name);
	if (leave_stacks_out(plan, refusal))
		return NULL;
	give_stacks_back(plan, refusal);
	if (is_lacked_by_one_pmu(event, os_errno))
		return vmop_perf_event_leave_out_pmu(event, refusal->cpu);
	if (event->is_split) { /* this CPU lacks counters that the first CPU has */
		event->is_split = false;
		return NULL;
	}
	bool is_hardware = event->kind == VMOP_PERF_HARDWARE;
	if (is_in_group(plan, refusal->event) && (os_errno == EINVAL || os_errno == ENOSPC))
		return dissolve_group(plan, event->group);
	if (event->attr.precise_ip && (os_errno == EOPNOTSUPP || os_errno == EINVAL ||
				       os_errno == ENOENT || os_errno == ENODEV))
		return less_precise(plan, refusal->event);
	if (is_hardware && os_errno == EOPNOTSUPP && event->guest && event->host)
		return leave_guests_out(plan, refusal->event);
	if (is_hardware && event->counts_cycles)
		return by_clock(plan, refusal->event, reason);
	return vmop_error_new(VMOP_ERROR_CANT,
			      "event '%s': %s; --event=cpu-clock or page-faults needs no PMU",
			      event->name, reason);
}

/* Exclude guests where the event would keep a VM from starting. */
static struct vmop_error *spare_mediated_vpmu(struct vmop_perf_plan *plan)
{
	struct vmop_error *err = NULL;
	size_t n = plan->n_events;
	for (size_t i = 0; !err && i < n; i++) {
		struct vmop_perf_event *event = &plan->events[i];
		if (event->kind != VMOP_PERF_HARDWARE || !event->guest)
			continue;
		if (event->host)
			err = leave_guests_out(plan, i);
		else if (event->counts_cycles)
			err = by_clock(plan, i, "KVM's mediated vPMU reserves the PMU for guests");
		else
			err = vmop_error_new(VMOP_ERROR_CANT,
					     "event '%s' can't count guests: KVM's mediated vPMU "
					     "reserves the PMU for them; active guests count it "
					     "themselves (--active-domains)",
					     event->name);
	}
	return err;
}

bool vmop_perf_choice_blocks_vms(const struct vmop_perf_plan *plan)
{
	for (size_t i = 0; i < plan->n_events; i++) {
		if (plan->events[i].kind == VMOP_PERF_HARDWARE && plan->events[i].guest)
			return has_mediated_vpmu();
	}
	return false;
}

/*
 * Set *group to the group of request i, derived from the requests before it; 0 outside of braces.
 */
static struct vmop_error *follow_braces(const struct vmop_event_request *request, bool is_last,
					unsigned *n_groups, unsigned *group)
{
	if (request->begins_group && *group)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "event '%s': a group can't begin within a group",
				      request->name);
	if (request->begins_group)
		*group = ++*n_groups;
	if (request->ends_group && !*group)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "event '%s': '}' ends a group, and none began",
				      request->name);
	if (is_last && *group && !request->ends_group)
		return vmop_error_new(VMOP_ERROR_USAGE, "event '%s': its group has no '}'",
				      request->name);
	return NULL;
}

struct vmop_error *vmop_perf_choice_first(const struct vmop_event_request *requests,
					  size_t n_requests, const char *root,
					  struct vmop_perf_plan *ret)
{
	char name[] = "default";
	const struct vmop_event_request standard = {
		.name = name, .kernel = true, .user = true, .host = true, .guest = true};
	if (n_requests == 0) {
		requests = &standard;
		n_requests = 1;
	}
	struct vmop_error *err = NULL;
	unsigned n_groups = 0, group = 0;
	for (size_t i = 0; !err && i < n_requests; i++) {
		struct vmop_perf_event event = {0};
		err = follow_braces(&requests[i], i + 1 == n_requests, &n_groups, &group);
		if (!err)
			err = vmop_perf_event_resolve(&requests[i], root, &event);
		if (!err) {
			event.request = i;
			event.group = group;
			err = append(ret, &event);
		}
		if (requests[i].ends_group)
			group = 0;
		vmop_perf_event_deinit(&event);
	}
	if (!err && has_mediated_vpmu())
		err = spare_mediated_vpmu(ret);
	if (err)
		vmop_perf_plan_deinit(ret);
	return err;
}
