// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/handed/handed.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "hv-interface/handed/feed.h"
#include "hv-interface/handed/turns.h"
#include "hv-interface/perf/perf.h"
#include "libutil/clock.h"
#include "vmop/guest-frame.h"

#define DRAIN_INTERVAL_NS (100 * VMOP_NS_PER_MS)

/* How long records wait for the host's samples. */
#define LONGEST_WAIT_NS (2 * VMOP_NS_PER_S)

struct handed_source {
	struct vmop_source base;
	struct vmop_handed_feed *feed;
	struct vmop_source *side_band;
	struct vmop_handed_turns *turns; /* by CPU */
	size_t n_cpus;
	int timer_fd;
	uint64_t n_samples, n_records; /* delivered, beside the side-band's */
	uint64_t n_lost_reported;
	uint64_t last_ns;	      /* time of the last delivered record */
	const struct vmop_sink *sink; /* of the current drain */
	/* The oldest sample in this guest's time; in a drain the clock does not change. */
	struct {
		bool is_converted;
		uint64_t time_ns, error_ns; /* 0, UINT64_MAX: not known */
		uint64_t end_ns; /* it was taken by then; UINT64_MAX: not known, or no sample */
	} oldest;
	/* The present sample and its callers. */
	uint64_t kernel_frames[1 + VMOP_STACK_FRAMES_MAX], user_frames[1 + VMOP_STACK_FRAMES_MAX];
};

static struct handed_source *to_handed(struct vmop_source *source)
{
	return (struct handed_source *)source;
}

static const struct handed_source *to_const(const struct vmop_source *source)
{
	return (const struct handed_source *)source;
}

/* ---- opening -------------------------------------------------------------------------- */

static void handed_close(struct vmop_source *source)
{
	struct handed_source *handed = to_handed(source);
	vmop_source_close(handed->side_band);
	if (handed->timer_fd >= 0)
		close(handed->timer_fd);
	free(handed->turns);
	free(handed);
}

static struct vmop_error *open_timer(struct handed_source *handed)
{
	const struct itimerspec every = {.it_interval.tv_nsec = DRAIN_INTERVAL_NS,
					 .it_value.tv_nsec = DRAIN_INTERVAL_NS};
	handed->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (handed->timer_fd < 0 || timerfd_settime(handed->timer_fd, 0, &every, NULL) < 0)
		return vmop_error_os(errno, "timer");
	return NULL;
}

struct vmop_error *vmop_handed_open_over(struct vmop_source *side_band,
					 struct vmop_handed_feed *feed, size_t n_cpus,
					 struct vmop_source **ret)
{
	struct handed_source *handed = calloc(1, sizeof(*handed));
	if (!handed) {
		vmop_source_close(side_band);
		return &vmop_error_no_memory;
	}
	handed->base.ops = &vmop_source_handed_ops;
	handed->feed = feed;
	handed->side_band = side_band;
	handed->timer_fd = -1;
	handed->n_cpus = n_cpus < VMOP_ACTIVE_NO_VCPU ? n_cpus : VMOP_ACTIVE_NO_VCPU;
	handed->turns = calloc(handed->n_cpus, sizeof(*handed->turns));
	struct vmop_error *err = handed->turns ? open_timer(handed) : &vmop_error_no_memory;
	if (err)
		handed_close(&handed->base);
	else
		*ret = &handed->base;
	return err;
}

static struct vmop_error *handed_open(const struct vmop_source_setup *setup,
				      struct vmop_source **ret)
{
	const struct vmop_source_setup side_band_setup = {
		.side_band_only = true, .wants_switches = true, .root = setup->root};
	struct vmop_source *side_band;
	if (!setup->feed)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "the source 'handed' is for 'vmopd --active': the host "
				      "begins its sessions");
	struct vmop_error *err =
		vmop_source_open(&vmop_source_perf_ops, &side_band_setup, &side_band);
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);
	return err ? vmop_error_prefix(err, "following tasks by perf")
		   : vmop_handed_open_over(side_band, setup->feed, n_cpus > 0 ? (size_t)n_cpus : 1,
					   ret);
}

/*
 * Run on each CPU for a moment, so that its records begin with a switch: it shows which task runs.
 * Where the kernel does not permit it, samples before the first switch have no task.
 */
static void visit_cpus(const struct handed_source *handed)
{
	cpu_set_t *before = CPU_ALLOC(handed->n_cpus), *one = CPU_ALLOC(handed->n_cpus);
	size_t size = CPU_ALLOC_SIZE(handed->n_cpus);
	if (before && one && sched_getaffinity(0, size, before) == 0) {
		for (size_t cpu = 0; cpu < handed->n_cpus; cpu++) {
			CPU_ZERO_S(size, one);
			CPU_SET_S(cpu, size, one);
			sched_setaffinity(0, size, one);
		}
		sched_setaffinity(0, size, before);
	}
	CPU_FREE(before);
	CPU_FREE(one);
}

static struct vmop_error *handed_start(struct vmop_source *source)
{
	struct vmop_error *err = vmop_source_start(to_handed(source)->side_band);
	if (!err)
		visit_cpus(to_handed(source));
	return err;
}

static struct vmop_error *handed_stop(struct vmop_source *source)
{
	return vmop_source_stop(to_handed(source)->side_band);
}

/* ---- draining -------------------------------------------------------------------------- */

/*
 * Deliver a record, at its own time or at that of the last record. stack: of a sample; NULL: none.
 */
static void deliver(struct handed_source *handed, struct vmop_record *record,
		    const struct vmop_stack_capture *stack)
{
	if (record->time_ns < handed->last_ns)
		record->time_ns = handed->last_ns;
	handed->last_ns = record->time_ns;
	handed->sink->record(handed->sink->arg, record, stack);
}

static void count_class(struct vmop_active_ask *counts, uint32_t pid)
{
	counts->n_switching += pid == VMOP_PID_SWITCHING;
	counts->n_ambiguous += pid == VMOP_PID_NEAR_SWITCH;
	counts->n_unplaced += pid == VMOP_PID_NO_TASK;
}

/* Add a caller to a stack. */
static void add_frame(struct handed_source *handed, uint64_t frame,
		      struct vmop_stack_capture *stack)
{
	/* Readers of stacks look one byte before a return address for the call. */
	uint64_t address = vmop_guest_frame_address(frame) + vmop_guest_frame_is_interrupted(frame);
	if (vmop_guest_frame_is_kernel(frame))
		handed->kernel_frames[stack->n_kernel_frames++] = address;
	else if (stack->n_user_frames)
		handed->user_frames[stack->n_user_frames++] = address;
	else /* the instruction that entered the kernel */
		handed->user_frames[stack->n_user_frames++] = vmop_guest_frame_address(frame);
}

/* Set *ret to the stack of a sample. has_process: it is certain whose user frames they are. */
static void take_stack(struct handed_source *handed, const struct vmop_active_sample *sample,
		       bool has_process, struct vmop_stack_capture *ret)
{
	*ret = (struct vmop_stack_capture){
		.kernel_frames = handed->kernel_frames,
		.user_frames = handed->user_frames,
		.user_end = (enum vmop_stack_end)sample->stack_end,
	};
	if (sample->is_kernel)
		handed->kernel_frames[ret->n_kernel_frames++] = sample->address;
	else if (has_process)
		handed->user_frames[ret->n_user_frames++] = sample->address;
	for (size_t i = 0; i < sample->n_frames; i++) {
		uint64_t frame = vmop_handed_feed_frame(handed->feed, sample, i);
		if (!has_process && !vmop_guest_frame_is_kernel(frame)) {
			ret->user_end = VMOP_STACK_NOT_RECORDED;
			return;
		}
		add_frame(handed, frame, ret);
	}
}

/*
 * Return the flags of a sample. Code of a nested guest ran in the task, a thread of its VMM; where
 * that is not certain, the address is of no known code.
 */
static uint16_t flags_of(const struct vmop_active_sample *sample, bool has_process)
{
	uint16_t flags = sample->is_kernel ? VMOP_SAMPLE_KERNEL : VMOP_SAMPLE_USER;
	if (sample->is_stack_likely)
		flags |= VMOP_SAMPLE_STACK_LIKELY;
	if (sample->is_nested)
		flags |= has_process ? VMOP_SAMPLE_GUEST | VMOP_SAMPLE_MODE_KNOWN
				     : VMOP_SAMPLE_NO_IP;
	return flags;
}

/* Deliver a sample of that time of this guest, with the task that ran. */
static void place(struct handed_source *handed, const struct vmop_active_sample *sample,
		  uint64_t time_ns, uint64_t error_ns)
{
	uint32_t tid = 0, pid = VMOP_PID_NO_TASK;
	struct vmop_stack_capture stack;
	if (sample->vcpu < handed->n_cpus)
		pid = vmop_handed_turns_find(&handed->turns[sample->vcpu], time_ns, error_ns,
					     sample->is_kernel, &tid);
	bool has_process = vmop_pid_is_process(pid);
	count_class(&handed->feed->counts, pid);
	struct vmop_record record; /* the parts of other types stay unset: it is large */
	record.type = VMOP_RECORD_SAMPLE;
	record.time_ns = time_ns;
	record.sample = (struct vmop_sample){
		.ip = sample->address,
		.weight_events = sample->weight_events,
		.pid = pid,
		.tid = has_process ? tid : pid,
		.cpu = sample->vcpu,
		.event = sample->event,
		.flags = flags_of(sample, has_process),
	};
	if (sample->has_stack)
		take_stack(handed, sample, has_process, &stack);
	handed->n_samples++;
	handed->n_records++;
	deliver(handed, &record, sample->has_stack ? &stack : NULL);
}

/* Convert the oldest sample's time, unless that was done. Return the sample, or NULL. */
static const struct vmop_active_sample *look(struct handed_source *handed)
{
	const struct vmop_active_sample *sample = vmop_handed_feed_peek(handed->feed);
	if (handed->oldest.is_converted)
		return sample;
	handed->oldest.is_converted = true;
	handed->oldest.time_ns = 0;
	handed->oldest.error_ns = handed->oldest.end_ns = UINT64_MAX;
	if (sample &&
	    vmop_handed_clock_convert(&handed->feed->clock, sample->time_ns,
				      &handed->oldest.time_ns, &handed->oldest.error_ns) &&
	    __builtin_add_overflow(handed->oldest.time_ns, handed->oldest.error_ns,
				   &handed->oldest.end_ns))
		handed->oldest.end_ns = UINT64_MAX;
	return sample;
}

/*
 * Place the samples that were certainly taken before a time. UINT64_MAX: all of them, also those
 * whose time is not known.
 */
static void place_before(struct handed_source *handed, uint64_t before_ns)
{
	const struct vmop_active_sample *sample;
	while ((sample = look(handed)) &&
	       (before_ns == UINT64_MAX || handed->oldest.end_ns < before_ns)) {
		place(handed, sample, handed->oldest.time_ns, handed->oldest.error_ns);
		vmop_handed_feed_take(handed->feed);
		handed->oldest.is_converted = false;
	}
}

static void take_switch(struct handed_source *handed, const struct vmop_record *record)
{
	uint32_t cpu = record->task_switch.cpu;
	if (cpu < handed->n_cpus)
		vmop_handed_turns_add(&handed->turns[cpu], record->time_ns, &record->task_switch);
}

/* Take a record of this guest's tasks. Lost ones may be switches. */
static void take_side_band(void *arg, const struct vmop_record *record,
			   const struct vmop_stack_capture *stack)
{
	struct handed_source *handed = arg;
	(void)stack;
	/* First: the first switch of a CPU also shows what ran before it. */
	if (record->type == VMOP_RECORD_SWITCH)
		take_switch(handed, record);
	if (!handed->oldest.is_converted || handed->oldest.end_ns < record->time_ns)
		place_before(handed, record->time_ns);
	if (record->type == VMOP_RECORD_SWITCH)
		return;
	struct vmop_record copy = *record;
	if (record->type == VMOP_RECORD_LOST && record->lost.cpu < handed->n_cpus)
		vmop_handed_turns_break(&handed->turns[record->lost.cpu], record->time_ns);
	deliver(handed, &copy, NULL);
}

/* Deliver the number of samples that were lost on the host, or here, since the last time. */
static void report_lost(struct handed_source *handed)
{
	uint64_t n_lost = handed->feed->n_lost + handed->feed->counts.n_dropped;
	struct vmop_record record = {
		.type = VMOP_RECORD_LOST,
		.time_ns = handed->last_ns,
		.lost = {.lost_records = n_lost - handed->n_lost_reported},
	};
	if (n_lost <= handed->n_lost_reported)
		return;
	handed->n_lost_reported = n_lost;
	handed->n_records++;
	deliver(handed, &record, NULL);
}

/* Return the time of this guest up to which all samples are here, or no longer awaited. */
static uint64_t ready_ns(const struct handed_source *handed)
{
	const struct vmop_handed_feed *feed = handed->feed;
	uint64_t late_ns = vmop_clock_ns(CLOCK_MONOTONIC) - LONGEST_WAIT_NS;
	uint64_t known_ns = vmop_handed_clock_known_ns(&feed->clock);
	uint64_t host_ns = known_ns < feed->complete_ns ? known_ns : feed->complete_ns;
	uint64_t time_ns, error_ns;
	if (!vmop_handed_clock_convert(&feed->clock, host_ns, &time_ns, &error_ns) ||
	    time_ns < late_ns)
		return late_ns;
	return time_ns;
}

static struct vmop_error *handed_drain(struct vmop_source *source, uint64_t up_to_ns,
				       const struct vmop_sink *sink, bool *ret_ended)
{
	struct handed_source *handed = to_handed(source);
	const struct vmop_sink side_band_sink = {.record = take_side_band, .arg = handed};
	uint64_t expirations;
	*ret_ended = false;
	/* Make the descriptor unreadable again; it may not have expired. */
	if (read(handed->timer_fd, &expirations, sizeof(expirations)) < 0)
		expirations = 0;
	uint64_t ready = ready_ns(handed);
	if (up_to_ns != UINT64_MAX && ready < up_to_ns)
		up_to_ns = ready;
	handed->sink = sink;
	handed->oldest.is_converted = false;
	struct vmop_error *err =
		vmop_source_drain(handed->side_band, up_to_ns, &side_band_sink, NULL);
	place_before(handed, up_to_ns);
	report_lost(handed);
	return err;
}

/* ---- the rest of the operations ------------------------------------------------------- */

static int handed_poll_fd(const struct vmop_source *source)
{
	return to_const(source)->timer_fd;
}

static struct vmop_error *handed_check_cpus(struct vmop_source *source)
{
	return vmop_source_check_cpus(to_handed(source)->side_band);
}

static size_t handed_n_events(const struct vmop_source *source)
{
	return to_const(source)->feed->events.n;
}

static const struct vmop_event_info *handed_event(const struct vmop_source *source, size_t i)
{
	return &to_const(source)->feed->events.at[i];
}

static void handed_stats(const struct vmop_source *source, struct vmop_source_stats *ret)
{
	const struct handed_source *handed = to_const(source);
	vmop_source_stats(handed->side_band, ret);
	ret->samples += handed->n_samples;
	ret->records += handed->n_records;
	ret->lost_records += handed->n_lost_reported;
}

static const struct vmop_stack_options *handed_stacks(const struct vmop_source *source,
						      const char **ret_note)
{
	static const struct vmop_stack_options handed = {.mode = VMOP_STACKS_HANDED,
							 .max_frames = VMOP_STACK_FRAMES_MAX};
	static const struct vmop_stack_options none = {.mode = VMOP_STACKS_OFF};
	(void)ret_note;
	return to_const(source)->feed->events.has_stacks ? &handed : &none;
}

const struct vmop_source_ops vmop_source_handed_ops = {
	.name = "handed",
	.open = handed_open,
	.close = handed_close,
	.start = handed_start,
	.stop = handed_stop,
	.drain = handed_drain,
	.poll_fd = handed_poll_fd,
	.check_cpus = handed_check_cpus,
	.n_events = handed_n_events,
	.event = handed_event,
	.stats = handed_stats,
	.stacks = handed_stacks,
};
