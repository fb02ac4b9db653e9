// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The perf source's operations: it opens the CPUs, follows those that come and go, and drains them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "hv-interface/cpus.h"
#include "hv-interface/perf/choice.h"
#include "hv-interface/perf/cpu.h"
#include "hv-interface/perf/dom0.h"
#include "hv-interface/perf/guest-split.h"
#include "hv-interface/perf/merge.h"
#include "hv-interface/perf/note.h"
#include "hv-interface/perf/perf.h"
#include "hv-interface/perf/rate.h"
#include "hv-interface/perf/ring-size.h"
#include "hv-interface/source.h"
#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"

enum {
	LONGEST_PAUSE_CHECKS = 64, /* between attempts to open a CPU: about a minute */
	CHECKS_PER_UPDATE = 8,	   /* reading the events' times interrupts their CPU */
};

/* A CPU that came or went, until a drain reports it. */
struct cpu_change {
	uint64_t time_ns;
	unsigned cpu;
	bool is_online;
};

/* An online CPU that could not be opened. It is retried at growing intervals. */
struct waiting_cpu {
	unsigned cpu;
	unsigned checks_left, pause_checks; /* until the next attempt; between the last two */
};

/* The times for which an event was meant to count and did count on CPUs that have gone. */
struct event_times {
	uint64_t enabled_ns, running_ns;
};

struct perf_source {
	struct vmop_source base;
	struct vmop_perf_plan plan;
	struct vmop_event_info *infos;
	char **names;	   /* the strings of infos */
	char **notes;	   /* the strings of infos, where they differ from the plan's */
	char **rate_notes; /* of vmop_source_set_rate; NULL: none */
	struct event_times *gone_times;
	unsigned checks; /* number of vmop_source_check_cpus */
	struct vmop_cpus_watch *watch;
	struct vmop_perf_cpu **cpus;
	struct vmop_perf_cursor **cursors; /* one for each of cpus, in the same order */
	size_t n_cpus, cpus_capacity, cursors_capacity;
	struct vmop_perf_merge merge;
	struct cpu_change *changes; /* oldest first */
	size_t n_changes, changes_capacity;
	struct waiting_cpu *waiting;
	size_t n_waiting, waiting_capacity;
	int epoll_fd;
	bool is_started;
	bool blocking_is_reported; /* VMs that cannot start because of this session */
	struct vmop_source_stats stats;
};

static struct perf_source *to_perf(struct vmop_source *source)
{
	return (struct perf_source *)source;
}

/* Keep the times that a CPU's events counted before the CPU is closed. */
static void keep_times(struct perf_source *perf, const struct vmop_perf_cpu *cpu)
{
	for (size_t i = 0; perf->gone_times && i < perf->plan.n_events; i++) {
		uint64_t enabled_ns, running_ns;
		if (!vmop_perf_cpu_times(cpu, i, perf->plan.missing, &enabled_ns, &running_ns))
			continue;
		perf->gone_times[i].enabled_ns += enabled_ns;
		perf->gone_times[i].running_ns += running_ns;
	}
}

static void forget_cpu(struct perf_source *perf, size_t i)
{
	keep_times(perf, perf->cpus[i]);
	vmop_perf_cpu_close(perf->cpus[i]);
	perf->n_cpus--;
	perf->cpus[i] = perf->cpus[perf->n_cpus];
	perf->cursors[i] = perf->cursors[perf->n_cpus];
}

static void perf_close(struct vmop_source *source)
{
	struct perf_source *perf = to_perf(source);
	while (perf->n_cpus > 0)
		forget_cpu(perf, perf->n_cpus - 1);
	for (size_t i = 0; perf->notes && i < perf->plan.n_events; i++)
		free(perf->notes[i]);
	for (size_t i = 0; perf->names && i < perf->plan.n_events; i++)
		free(perf->names[i]);
	for (size_t i = 0; perf->rate_notes && i < perf->plan.n_events; i++)
		free(perf->rate_notes[i]);
	free(perf->rate_notes);
	free(perf->names);
	free(perf->notes);
	free(perf->gone_times);
	free(perf->waiting);
	vmop_perf_merge_deinit(&perf->merge);
	vmop_cpus_watch_destroy(perf->watch);
	vmop_perf_plan_deinit(&perf->plan);
	if (perf->epoll_fd >= 0)
		close(perf->epoll_fd);
	free(perf->infos);
	free(perf->cpus);
	free(perf->cursors);
	free(perf->changes);
	free(perf);
}

/* Reserve room for one more CPU, so that no later step can fail for lack of memory. */
static struct vmop_error *reserve_cpu(struct perf_source *perf)
{
	size_t n = perf->n_cpus + 1;
	if (!vmop_array_reserve(perf->cpus, perf->cpus_capacity, n) ||
	    !vmop_array_reserve(perf->cursors, perf->cursors_capacity, n))
		return &vmop_error_no_memory;
	return vmop_perf_merge_reserve(&perf->merge, n);
}

/* Open one CPU. A CPU that has gone is not an error. */
static struct vmop_error *add_cpu(struct perf_source *perf, unsigned number,
				  struct vmop_perf_refusal *refusal)
{
	*refusal = (struct vmop_perf_refusal){0};
	struct vmop_perf_cpu *cpu;
	struct vmop_error *err = reserve_cpu(perf);
	if (!err)
		err = vmop_perf_cpu_open(&perf->plan, number, refusal, &cpu);
	if (err || !cpu)
		return err;
	struct epoll_event event = {.events = EPOLLIN};
	if (epoll_ctl(perf->epoll_fd, EPOLL_CTL_ADD, cpu->dummy_fd, &event) < 0)
		err = vmop_error_os(errno, "epoll_ctl");
	if (!err && perf->is_started)
		err = vmop_perf_cpu_enable(cpu);
	if (err) {
		vmop_perf_cpu_close(cpu);
		return err;
	}
	perf->cpus[perf->n_cpus] = cpu;
	perf->cursors[perf->n_cpus] = &cpu->cursor;
	perf->n_cpus++;
	return NULL;
}

/* Refuse an event whose PMU has no online CPU: its column would stay empty. */
static struct vmop_error *check_all_count(const struct perf_source *perf)
{
	for (size_t i = 0; i < perf->plan.n_events; i++) {
		bool is_open = false;
		for (size_t j = 0; j < perf->n_cpus; j++)
			is_open |= perf->cpus[j]->fds[i] >= 0;
		if (!is_open)
			return vmop_error_new(VMOP_ERROR_CANT,
					      "event '%s': its PMU has no CPU that is online",
					      perf->plan.events[i].name);
	}
	return NULL;
}

/* Do without BPF, because the kernel refuses to attach the program. */
static struct vmop_error *leave_bpf(struct vmop_perf_plan *plan, const char *reason)
{
	struct vmop_error *err = NULL;
	if (plan->stacks.is.mode == VMOP_STACKS_BPF)
		err = vmop_perf_stacks_leave_bpf(&plan->stacks, reason);
	if (!err && plan->program.unwinds)
		err = vmop_perf_program_leave_unwinding(&plan->program, reason);
	if (!err && plan->program.captures_guests)
		err = vmop_perf_program_leave_guests(&plan->program, reason);
	return err;
}

/* Open all CPUs; replace refused events by others and start again. */
static struct vmop_error *open_cpus(struct perf_source *perf, const struct vmop_cpus *cpus,
				    const struct vmop_source_setup *setup)
{
	vmop_perf_ring_size_set(&perf->plan, setup, cpus->n);
	size_t i = 0;
	while (i < cpus->n) {
		struct vmop_perf_refusal refusal;
		struct vmop_error *err = add_cpu(perf, cpus->cpus[i++], &refusal);
		if (!err)
			continue;
		if (!refusal.os_errno)
			return err;
		while (perf->n_cpus > 0)
			forget_cpu(perf, perf->n_cpus - 1);
		struct vmop_error *refused = err;
		err = refusal.is_by_bpf ? leave_bpf(&perf->plan, refused->message)
					: vmop_perf_choice_next(&perf->plan, &refusal);
		vmop_error_destroy(refused);
		if (err)
			return err;
		vmop_perf_ring_size_set(&perf->plan, setup, cpus->n);
		i = 0;
	}
	if (perf->n_cpus == 0)
		return vmop_error_new(VMOP_ERROR_CANT, "no CPU is online that can be sampled");
	struct vmop_error *err = check_all_count(perf);
	return err ? err : vmop_perf_choice_note_stacks(&perf->plan);
}

static struct vmop_error *describe_events(struct perf_source *perf)
{
	perf->infos = calloc(perf->plan.n_events, sizeof(*perf->infos));
	perf->names = calloc(perf->plan.n_events, sizeof(*perf->names));
	perf->notes = calloc(perf->plan.n_events, sizeof(*perf->notes));
	perf->rate_notes = calloc(perf->plan.n_events, sizeof(*perf->rate_notes));
	perf->gone_times = calloc(perf->plan.n_events, sizeof(*perf->gone_times));
	if (!perf->infos || !perf->names || !perf->notes || !perf->rate_notes || !perf->gone_times)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < perf->plan.n_events; i++) {
		const struct vmop_perf_event *event = &perf->plan.events[i];
		bool is_clock = event->kind == VMOP_PERF_CLOCK;
		char modifiers[VMOP_PERF_MODIFIERS_BYTES];
		if (asprintf(&perf->names[i], "%s%s", event->name,
			     vmop_perf_event_modifiers(event, modifiers)) < 0) {
			perf->names[i] = NULL;
			return &vmop_error_no_memory;
		}
		perf->infos[i] = (struct vmop_event_info){
			.name = perf->names[i],
			.asked = event->asked,
			.unit = is_clock ? "ns" : "events",
			.period_events = event->attr.freq ? 0 : event->attr.sample_period,
			.frequency_hz = event->attr.freq ? event->attr.sample_freq : 0,
			.note = event->note,
		};
	}
	return NULL;
}

/*
 * Return the reach of the plan. The clock and other software events sample only dom0, whatever the
 * vPMU samples.
 */
static enum vmop_source_reach reach(const struct vmop_perf_plan *plan)
{
	bool has_pmu = false;
	for (size_t i = 0; i < plan->n_events; i++)
		has_pmu |= plan->events[i].kind == VMOP_PERF_HARDWARE;
	return plan->dom0.view != VMOP_REACH_ALL && !has_pmu ? VMOP_REACH_OWN : plan->dom0.view;
}

/*
 * Return whether events should be split because a guest's sample would copy the stack of its VMM's
 * thread for nothing.
 */
static bool spares_vmm_stacks(const struct vmop_perf_plan *plan, const char *root)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/dev/kvm", root ? root : "");
	return plan->stacks.is.mode >= VMOP_STACKS_CFI && access(path, F_OK) == 0;
}

/* Return how many events can have the BPF program among those that `is_of` selects. */
static size_t count_runnable(const struct vmop_perf_plan *plan,
			     bool (*is_of)(const struct vmop_perf_plan *plan, size_t i))
{
	size_t n = 0;
	for (size_t i = 0; i < plan->n_events; i++)
		n += vmop_perf_plan_can_run(plan, i) && is_of(plan, i);
	return n;
}

static bool has_stacks(const struct vmop_perf_plan *plan, size_t i)
{
	return vmop_perf_event_has_stacks(plan->wanted[i]);
}

/* Load the BPF program with the parts that the set-up and the events need. */
static struct vmop_error *load_program(struct vmop_perf_plan *plan, bool unwinds,
				       bool captures_guests)
{
	struct vmop_perf_program *program = &plan->program;
	struct vmop_error *err = NULL;
	if (unwinds && !count_runnable(plan, has_stacks)) {
		unwinds = false;
		err = vmop_perf_program_leave_unwinding(
			program, "no event can run the program (tracepoints can't)");
	}
	if (!err && captures_guests && !count_runnable(plan, vmop_perf_plan_samples_guests)) {
		captures_guests = false;
		err = vmop_perf_program_leave_guests(
			program, "no event samples guests and can run a BPF program");
	}
	return err ? err : vmop_perf_program_load(program, unwinds, captures_guests);
}

/*
 * Choose the captures beside the samples: stacks, by the rate of the samples where the request
 * leaves them open, and the contexts of guests.
 */
static struct vmop_error *choose_captures(struct vmop_perf_plan *plan,
					  const struct vmop_source_setup *setup, size_t n_cpus)
{
	struct vmop_stack_options request = setup->stacks;
	uint64_t hz = vmop_perf_ring_size_stack_hz(plan) * n_cpus;
	bool is_automatic = vmop_perf_stacks_prefers_bpf(&request, hz);
	char note[128];
	if (is_automatic)
		request.mode = VMOP_STACKS_BPF;
	struct vmop_error *err = load_program(plan, request.mode == VMOP_STACKS_BPF,
					      setup->wants_guest_context && plan->n_events);
	if (!err)
		err = vmop_perf_stacks_choose(&request, plan->program.no_unwinding, setup->root,
					      &plan->stacks);
	if (!err && plan->program.unwinds && plan->stacks.is.mode != VMOP_STACKS_BPF)
		err = vmop_perf_program_leave_unwinding(&plan->program, plan->stacks.note);
	if (err || !is_automatic || plan->stacks.is.mode != VMOP_STACKS_BPF)
		return err;
	snprintf(note, sizeof(note), "by BPF, because copies would fill %" PRIu64 " MB/s",
		 hz * request.user_stack_bytes / 1000000);
	return vmop_perf_stacks_add_note(&plan->stacks, note);
}

static struct vmop_error *open_everything(struct perf_source *perf,
					  const struct vmop_source_setup *setup)
{
	_cleanup_(vmop_cpus_deinit) struct vmop_cpus cpus = {0};
	bool changed;
	struct vmop_error *err = NULL;
	if (!setup->side_band_only)
		err = vmop_perf_choice_first(setup->events, setup->n_events,
					     setup->root ? setup->root : "", &perf->plan);
	if (err)
		return err;
	perf->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (perf->epoll_fd < 0)
		return vmop_error_os(errno, "epoll_create1");
	err = vmop_cpus_watch_create(VMOP_CPUS_ONLINE_PATH, &perf->watch);
	if (!err)
		err = vmop_cpus_watch_check(perf->watch, &changed, &cpus);
	perf->plan.wants_switches = setup->wants_switches;
	vmop_perf_guest_exit_init(&perf->plan.guest_exit);
	vmop_perf_dom0_init(setup->root, &perf->plan.dom0);
	bool is_arm64_kvm = perf->plan.guest_exit.is_here;
	if (!err)
		err = choose_captures(&perf->plan, setup, cpus.n);
	if (!err && cpus.n > 0 && (is_arm64_kvm || spares_vmm_stacks(&perf->plan, setup->root)))
		vmop_perf_guest_split_apply(&perf->plan, cpus.cpus[0]);
	if (!err)
		err = open_cpus(perf, &cpus, setup);
	perf->plan.is_open = true;
	if (!err)
		err = vmop_perf_ring_size_note(&perf->plan);
	if (!err && is_arm64_kvm)
		err = vmop_perf_guest_split_note(&perf->plan);
	perf->base.reach = reach(&perf->plan);
	return err ? err : describe_events(perf);
}

static struct vmop_error *perf_open(const struct vmop_source_setup *setup, struct vmop_source **ret)
{
	struct perf_source *perf = calloc(1, sizeof(*perf));
	if (!perf)
		return &vmop_error_no_memory;
	perf->base.ops = &vmop_source_perf_ops;
	perf->epoll_fd = -1;
	struct vmop_error *err = open_everything(perf, setup);
	if (err) {
		perf_close(&perf->base);
		return err;
	}
	*ret = &perf->base;
	return NULL;
}

/* Make the note of event i anew. Without memory the old one stays; the times are in the info. */
static void make_note(struct perf_source *perf, size_t i)
{
	char *note;
	if (!vmop_perf_note(&perf->plan.events[i], &perf->infos[i], perf->rate_notes[i], &note))
		return;
	free(perf->notes[i]);
	perf->infos[i].note = perf->notes[i] = note;
}

/* Update each event's times and note whether it had to share a counter. */
static void update_times(struct perf_source *perf)
{
	for (size_t i = 0; i < perf->plan.n_events; i++) {
		struct vmop_event_info *info = &perf->infos[i];
		struct event_times sum = perf->gone_times[i];
		if (perf->plan.events[i].kind != VMOP_PERF_HARDWARE)
			continue; /* needs no counter */
		for (size_t j = 0; j < perf->n_cpus; j++) {
			uint64_t enabled_ns, running_ns;
			if (!vmop_perf_cpu_times(perf->cpus[j], i, perf->plan.missing, &enabled_ns,
						 &running_ns))
				continue;
			sum.enabled_ns += enabled_ns;
			sum.running_ns += running_ns;
		}
		info->enabled_ns = sum.enabled_ns;
		info->running_ns = sum.running_ns;
		if (vmop_event_is_multiplexed(info))
			make_note(perf, i);
	}
}

static struct vmop_error *perf_stop(struct vmop_source *source)
{
	struct perf_source *perf = to_perf(source);
	perf->is_started = false;
	for (size_t i = 0; i < perf->n_cpus; i++)
		vmop_perf_cpu_disable(perf->cpus[i]);
	update_times(perf);
	return NULL;
}

static struct vmop_error *perf_start(struct vmop_source *source)
{
	struct perf_source *perf = to_perf(source);
	perf->is_started = true;
	for (size_t i = 0; i < perf->n_cpus; i++) {
		if (perf->cpus[i]->is_gone)
			continue; /* it may be back, with other events */
		struct vmop_error *err = vmop_perf_cpu_enable(perf->cpus[i]);
		if (err) {
			perf_stop(source);
			return err;
		}
	}
	return NULL;
}

/*
 * Report lost records that no later record in the ring reports: the events' own counts include
 * them.
 */
static void report_lost(struct perf_source *perf, const struct vmop_sink *sink)
{
	for (size_t i = 0; i < perf->n_cpus; i++) {
		struct vmop_perf_cpu *cpu = perf->cpus[i];
		uint64_t lost = vmop_perf_cpu_lost(cpu, perf->plan.missing);
		if (lost <= cpu->cursor.lost_reported)
			continue;
		struct vmop_record record = {
			.type = VMOP_RECORD_LOST,
			.lost = {.cpu = cpu->cpu, .lost_records = lost - cpu->cursor.lost_reported},
		};
		cpu->cursor.lost_reported = lost;
		vmop_perf_merge_insert(&perf->merge, &record, sink, &perf->stats);
	}
}

static void drain_to(struct perf_source *perf, uint64_t up_to_ns, const struct vmop_sink *sink)
{
	vmop_perf_merge_drain(&perf->merge, perf->cursors, perf->n_cpus, up_to_ns, sink,
			      &perf->stats);
}

/* Deliver the CPUs that came and went, each between the records before and after it. */
static void drain_changes(struct perf_source *perf, uint64_t up_to_ns, const struct vmop_sink *sink)
{
	size_t n_done = 0;
	for (; n_done < perf->n_changes && perf->changes[n_done].time_ns < up_to_ns; n_done++) {
		const struct cpu_change *change = &perf->changes[n_done];
		struct vmop_record record = {
			.type = VMOP_RECORD_CPU,
			.time_ns = change->time_ns,
			.cpu = {.cpu = change->cpu, .is_online = change->is_online},
		};
		drain_to(perf, change->time_ns, sink);
		vmop_perf_merge_insert(&perf->merge, &record, sink, &perf->stats);
	}
	perf->n_changes -= n_done;
	if (perf->n_changes > 0)
		memmove(perf->changes, perf->changes + n_done,
			perf->n_changes * sizeof(*perf->changes));
}

static struct vmop_error *perf_drain(struct vmop_source *source, uint64_t up_to_ns,
				     const struct vmop_sink *sink, bool *ret_ended)
{
	struct perf_source *perf = to_perf(source);
	*ret_ended = false;
	drain_changes(perf, up_to_ns, sink);
	drain_to(perf, up_to_ns, sink);
	if (!perf->is_started && up_to_ns == UINT64_MAX)
		report_lost(perf, sink);
	for (size_t i = perf->n_cpus; i-- > 0;) {
		struct vmop_perf_cpu *cpu = perf->cpus[i];
		if (cpu->is_gone && vmop_perf_ring_used_bytes(&cpu->cursor.ring) == 0)
			forget_cpu(perf, i);
	}
	return NULL;
}

static int perf_poll_fd(const struct vmop_source *source)
{
	return ((const struct perf_source *)source)->epoll_fd;
}

static struct vmop_error *note_change(struct perf_source *perf, unsigned cpu, bool is_online)
{
	if (!vmop_array_reserve(perf->changes, perf->changes_capacity, perf->n_changes + 1))
		return &vmop_error_no_memory;
	perf->changes[perf->n_changes++] = (struct cpu_change){
		.time_ns = vmop_clock_ns(CLOCK_MONOTONIC),
		.cpu = cpu,
		.is_online = is_online,
	};
	return NULL;
}

/* Close a CPU's dead events. Its ring stays until it has been read. */
static struct vmop_error *cpu_went(struct perf_source *perf, struct vmop_perf_cpu *cpu)
{
	vmop_perf_cpu_set_gone(cpu);
	epoll_ctl(perf->epoll_fd, EPOLL_CTL_DEL, cpu->dummy_fd, NULL);
	return note_change(perf, cpu->cpu, false);
}

static bool has_open(const struct perf_source *perf, unsigned number)
{
	for (size_t i = 0; i < perf->n_cpus; i++) {
		if (perf->cpus[i]->cpu == number && !perf->cpus[i]->is_gone)
			return true;
	}
	return false;
}

static struct waiting_cpu *find_waiting(struct perf_source *perf, unsigned number)
{
	for (size_t i = 0; i < perf->n_waiting; i++) {
		if (perf->waiting[i].cpu == number)
			return &perf->waiting[i];
	}
	return NULL;
}

static void stop_waiting(struct perf_source *perf, struct waiting_cpu *waiting)
{
	*waiting = perf->waiting[--perf->n_waiting];
}

/* Report a CPU that cannot be opened, and retry it later. */
static struct vmop_error *wait_for(struct perf_source *perf, unsigned number,
				   struct vmop_error *error)
{
	if (vmop_array_reserve(perf->waiting, perf->waiting_capacity, perf->n_waiting + 1))
		perf->waiting[perf->n_waiting++] =
			(struct waiting_cpu){.cpu = number, .checks_left = 1, .pause_checks = 1};
	return vmop_error_prefix(
		error, "CPU %u came online and is not sampled (retried from time to time)", number);
}

static struct vmop_error *cpu_came(struct perf_source *perf, unsigned number)
{
	struct vmop_perf_refusal refusal;
	struct vmop_error *err = add_cpu(perf, number, &refusal);
	return err ? wait_for(perf, number, err) : note_change(perf, number, true);
}

/* Retry each waiting CPU whose turn has come. Its error was reported before. */
static struct vmop_error *retry(struct perf_source *perf)
{
	struct vmop_error *err = NULL;
	for (size_t i = perf->n_waiting; !err && i-- > 0;) {
		struct waiting_cpu *waiting = &perf->waiting[i];
		struct vmop_perf_refusal refusal;
		unsigned number = waiting->cpu;
		if (--waiting->checks_left > 0)
			continue;
		struct vmop_error *again = add_cpu(perf, number, &refusal);
		if (!again) {
			stop_waiting(perf, waiting);
			if (has_open(perf, number))
				err = note_change(perf, number, true);
			continue;
		}
		vmop_error_destroy(again);
		if (waiting->pause_checks < LONGEST_PAUSE_CHECKS)
			waiting->pause_checks *= 2;
		waiting->checks_left = waiting->pause_checks;
	}
	return err;
}

static struct vmop_error *follow(struct perf_source *perf, const struct vmop_cpus *online)
{
	struct vmop_error *err = NULL, *first = NULL;
	for (size_t i = 0; !err && i < perf->n_cpus; i++) {
		struct vmop_perf_cpu *cpu = perf->cpus[i];
		if (!cpu->is_gone && !vmop_cpus_has(online, cpu->cpu))
			err = cpu_went(perf, cpu);
	}
	for (size_t i = perf->n_waiting; i-- > 0;) {
		if (!vmop_cpus_has(online, perf->waiting[i].cpu))
			stop_waiting(perf, &perf->waiting[i]);
	}
	for (size_t i = 0; !err && i < online->n; i++) {
		if (has_open(perf, online->cpus[i]) || find_waiting(perf, online->cpus[i]))
			continue;
		/* A refused CPU must not keep the others out. */
		struct vmop_error *one = cpu_came(perf, online->cpus[i]);
		if (!first)
			first = one;
		else
			vmop_error_destroy(one);
	}
	if (!err)
		return first;
	vmop_error_destroy(first);
	return err;
}

/*
 * Reopen CPUs that went and came back between two checks: the list is the same, the events are
 * dead.
 */
static struct vmop_error *revive(struct perf_source *perf)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0, n = perf->n_cpus; !err && i < n; i++) {
		struct vmop_perf_cpu *cpu = perf->cpus[i];
		if (cpu->is_gone || !vmop_perf_cpu_is_dead(cpu, perf->plan.missing))
			continue;
		err = cpu_went(perf, cpu);
		if (!err)
			err = cpu_came(perf, cpu->cpu);
	}
	return err;
}

/* Report once that VMs cannot start. The operator decides. */
static struct vmop_error *report_blocking(struct perf_source *perf)
{
	if (perf->blocking_is_reported || !vmop_perf_choice_blocks_vms(&perf->plan))
		return NULL;
	perf->blocking_is_reported = true;
	return vmop_error_new(
		VMOP_ERROR_CANT,
		"KVM's mediated vPMU was switched on: VMs that use it can't start while "
		"this session counts guests with the PMU; stop it and start another");
}

static struct vmop_error *perf_check_cpus(struct vmop_source *source)
{
	struct perf_source *perf = to_perf(source);
	_cleanup_(vmop_cpus_deinit) struct vmop_cpus online = {0};
	bool changed;
	if (perf->checks++ % CHECKS_PER_UPDATE == 0)
		update_times(perf);
	struct vmop_error *err = vmop_cpus_watch_check(perf->watch, &changed, &online);
	if (!err)
		err = retry(perf);
	if (!err && changed)
		err = follow(perf, &online);
	if (!err && perf->is_started)
		err = revive(perf);
	return err ? err : report_blocking(perf);
}

static struct vmop_error *perf_set_rate(struct vmop_source *source, unsigned divisor,
					const char *const *notes)
{
	struct perf_source *perf = to_perf(source);
	perf->plan.rate_divisor = divisor;
	for (size_t i = 0; i < perf->plan.n_events; i++) {
		free(perf->rate_notes[i]);
		perf->rate_notes[i] = notes[i] ? strdup(notes[i]) : NULL;
		make_note(perf, i);
	}
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < perf->n_cpus && !err; i++)
		if (!perf->cpus[i]->is_gone)
			err = vmop_perf_rate_set_cpu(perf->cpus[i], &perf->plan, divisor);
	return err;
}

static size_t perf_n_events(const struct vmop_source *source)
{
	return ((const struct perf_source *)source)->plan.n_events;
}

static const struct vmop_event_info *perf_event(const struct vmop_source *source, size_t i)
{
	return &((const struct perf_source *)source)->infos[i];
}

static void perf_stats(const struct vmop_source *source, struct vmop_source_stats *ret)
{
	const struct perf_source *perf = (const struct perf_source *)source;
	*ret = perf->stats;
	ret->cpus_online = 0;
	for (size_t i = 0; i < perf->n_cpus; i++)
		ret->cpus_online += !perf->cpus[i]->is_gone;
}

static const char *perf_transport(const struct vmop_source *source)
{
	return vmop_perf_dom0_transport(source->reach);
}

static const struct vmop_stack_options *perf_stacks(const struct vmop_source *source,
						    const char **ret_note)
{
	const struct vmop_perf_stacks *stacks = &((const struct perf_source *)source)->plan.stacks;
	*ret_note = stacks->note;
	return &stacks->is;
}

static struct vmop_unwind_maps *perf_unwind_maps(struct vmop_source *source)
{
	const struct vmop_perf_program *program = &to_perf(source)->plan.program;
	return program->unwinds ? vmop_bpf_program_maps(program->bpf) : NULL;
}

static struct vmop_guest_maps *perf_guest_maps(struct vmop_source *source, const char **ret_note)
{
	const struct vmop_perf_program *program = &to_perf(source)->plan.program;
	*ret_note = program->no_guests ? program->no_guests : "the set-up does not ask for them";
	return program->captures_guests ? vmop_bpf_program_guest_maps(program->bpf) : NULL;
}

const struct vmop_source_ops vmop_source_perf_ops = {
	.name = "perf",
	.open = perf_open,
	.close = perf_close,
	.start = perf_start,
	.stop = perf_stop,
	.drain = perf_drain,
	.poll_fd = perf_poll_fd,
	.check_cpus = perf_check_cpus,
	.set_rate = perf_set_rate,
	.n_events = perf_n_events,
	.event = perf_event,
	.stats = perf_stats,
	.transport = perf_transport,
	.stacks = perf_stacks,
	.unwind_maps = perf_unwind_maps,
	.guest_maps = perf_guest_maps,
};
