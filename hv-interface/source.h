// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The contract of sample sources: one operations table. The code above this folder does not depend
 * on the source at work: perf (the host and KVM guests), xen, handed (an active guest's samples
 * from its KVM host), or replay (a recorded stream).
 *
 * Callers: the daemon's profiler, sessions and lists of events. source-list.h chooses a source;
 * event-request.c parses the events of the set-up; cpus.h follows the CPUs. Data then passes
 * through the files of the source's own folder (perf/perf.h, xen/xen.h, handed/handed.h,
 * replay/replay.h name them in order) and leaves as struct vmop_record through a sink. active-*.h
 * is the protocol with the agents of active guests.
 *
 * Life of a source: open, start, drain whenever its descriptor is readable or a flush is due, stop,
 * drain to the end, close. All calls come from one thread. A drain delivers records in time order,
 * across CPUs too, and allocates no memory.
 */
#ifndef VMOP_HV_INTERFACE_SOURCE_H
#define VMOP_HV_INTERFACE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/event-entry.h"
#include "hv-interface/event-request.h"
#include "libutil/error.h"
#include "vmop/record.h"
#include "vmop/stack.h"

/*
 * One event as the source samples it. The strings are valid until the source is closed or the note
 * changes in vmop_source_check_cpus or vmop_source_stop.
 */
struct vmop_event_info {
	const char *name;  /* the event that is sampled, with perf's modifiers such as ":u" */
	const char *asked; /* NULL, or the name in the request, where it differs from name */
	const char *unit;  /* "ns" or "events" */
	uint64_t period_events, frequency_hz;
	const char *note; /* NULL, or one line: the request, the substitute and the reason */
	/*
	 * The time for which the event was meant to count and did count, over all CPUs, as of a
	 * recent vmop_source_check_cpus or of the stop. With fewer counters than events the kernel
	 * shares them in turn: running_ns is less then, the note reports it, and weights times
	 * enabled/running estimate the true number. 0, 0: not known.
	 */
	uint64_t enabled_ns, running_ns;
};

/*
 * Return whether the event shared a counter. Switching an event on and off takes a moment too: less
 * than 0.5 % counts as noise.
 */
static inline bool vmop_event_is_multiplexed(const struct vmop_event_info *info)
{
	return info->running_ns < info->enabled_ns - info->enabled_ns / 200;
}

/* Return the factor for weights that makes up for shared counters: 1 or more. */
static inline double vmop_event_scale(const struct vmop_event_info *info)
{
	return info->running_ns && vmop_event_is_multiplexed(info)
		       ? (double)info->enabled_ns / (double)info->running_ns
		       : 1;
}

struct vmop_active_opener; /* active-group.h */
struct vmop_handed_feed;   /* handed/feed.h */
struct vmop_unwind_maps;   /* bpf/unwind-maps.h */
struct vmop_guest_maps;	   /* bpf/guest-maps.h */

struct vmop_source_setup {
	const struct vmop_event_request *events; /* n_events of them; none: "default" */
	size_t n_events;
	/* bytes a CPU, rounded up to a power of two; 0: the source's default */
	size_t buffer_bytes;
	/*
	 * The longest delay, in ms, between a wake-up and the drain without loss; 0: as long as the
	 * buffer allows.
	 */
	unsigned wakeup_ms;
	/*
	 * The call stacks to capture with the host's samples. The machine may give less: see
	 * vmop_source_stacks.
	 */
	struct vmop_stack_options stacks;
	/*
	 * perf: capture what the vCPUs of KVM guests run at their samples (vmop/guest-context.h),
	 * and with stacks also their stacks. The machine may refuse it: see
	 * vmop_source_guest_maps.
	 */
	bool wants_guest_context;
	/*
	 * perf: deliver no samples, only records of tasks and CPUs (MMAP, COMM, FORK, EXIT,
	 * KSYMBOL, CPU).
	 */
	bool side_band_only;
	/* perf: deliver SWITCH records of all CPUs as well. */
	bool wants_switches;
	const char *replay_path; /* replay: a file in the format of replay/stream.h */
	const char *root;	 /* prefix for /sys, for tests; NULL: "" */
	/*
	 * xen: access to the stores of active guests; NULL: no active guests. Must outlive the
	 * source.
	 */
	const struct vmop_active_opener *active;
	/* handed: what the host hands over (handed/feed.h). Must outlive the source. */
	struct vmop_handed_feed *feed;
};

/* Counters since the start; monotonic. */
struct vmop_source_stats {
	uint64_t records, samples;
	uint64_t lost_records;	    /* as the kernel counts them */
	uint64_t throttles;	    /* times that the kernel throttled an event on a CPU */
	uint64_t unhandled_records; /* of types that the source does not know */
	uint64_t malformed_records;
	uint64_t bytes;
	/*
	 * Pauses between start and stop in which no domain was sampled, because the hypervisor
	 * changes its lists only while stopped: their number, and their length in ns including a
	 * current one.
	 */
	uint64_t pauses, paused_ns;
	/* time of the first record, which a replay knows at once; 0: not known */
	uint64_t first_ns;
	uint32_t cpus_online; /* 0: not known (replay, xen) */
};

/*
 * A guest under its hypervisor's number (Xen's domain id), for sources that sample only listed
 * guests.
 */
struct vmop_source_domain {
	uint32_t id;
	bool is_active; /* its agent takes its samples; else it is passive */
	/*
	 * Set by the source. 0: it is sampled. EAGAIN: its agent has not answered yet. ENOLINK: it
	 * has no agent, or no longer one. Else: the errno with which the hypervisor refused it.
	 */
	int error;
	uint64_t samples; /* set by the source: number of samples that its agent has taken */
};

/*
 * The receiver of drained records. record is called on the draining thread and must not keep
 * pointers into its arguments. struct vmop_record has a fixed size. The captured stack of a
 * sample, which has any size, is a second argument beside it: NULL for records without one.
 */
struct vmop_sink {
	void (*record)(void *arg, const struct vmop_record *record,
		       const struct vmop_stack_capture *stack);
	void *arg;
};

struct vmop_source;

struct vmop_source_ops {
	const char *name;
	/*
	 * Samples name their domain by the hypervisor's number (vmop_sample.source_domain), and may
	 * hit the hypervisor.
	 */
	bool numbers_domains;
	/* The records are from another time, perhaps from another machine. */
	bool is_recorded;
	/* Agents of active guests take part (vmop_source_setup.active). */
	bool uses_agents;
	/* Call each for every event of the source. NULL: vmop_event_list() has the list. */
	void (*list_events)(vmop_event_list_fn each, void *arg);
	/*
	 * Text after that list, which explains the choice of events; NULL if list_events is NULL.
	 */
	const char *events_hint;
	struct vmop_error *(*open)(const struct vmop_source_setup *setup, struct vmop_source **ret);
	void (*close)(struct vmop_source *source);
	struct vmop_error *(*start)(struct vmop_source *source);
	struct vmop_error *(*stop)(struct vmop_source *source);
	/* See vmop_source_drain. */
	struct vmop_error *(*drain)(struct vmop_source *source, uint64_t up_to_ns,
				    const struct vmop_sink *sink, bool *ret_ended);
	/* See vmop_source_poll_fd. */
	int (*poll_fd)(const struct vmop_source *source);
	struct vmop_error *(*check_cpus)(struct vmop_source *source);
	size_t (*n_events)(const struct vmop_source *source);
	const struct vmop_event_info *(*event)(const struct vmop_source *source, size_t i);
	void (*stats)(const struct vmop_source *source, struct vmop_source_stats *ret);
	/* See vmop_source_set_domains; NULL: the source sees all guests anyway. */
	struct vmop_error *(*set_domains)(struct vmop_source *source,
					  struct vmop_source_domain *domains, size_t n);
	/* See vmop_source_agent_session; NULL: the source drives no agents. */
	uint64_t (*agent_session)(const struct vmop_source *source, uint32_t domain);
	/* See vmop_source_transport; NULL: the source has only one transport. */
	const char *(*transport)(const struct vmop_source *source);
	/* See vmop_source_stacks; NULL: the source captures no stacks. */
	const struct vmop_stack_options *(*stacks)(const struct vmop_source *source,
						   const char **ret_note);
	/* See vmop_source_unwind_maps; NULL: the source does not unwind in the kernel. */
	struct vmop_unwind_maps *(*unwind_maps)(struct vmop_source *source);
	/* See vmop_source_guest_maps; NULL: the source captures no contexts of guests. */
	struct vmop_guest_maps *(*guest_maps)(struct vmop_source *source, const char **ret_note);
	/* See vmop_source_set_rate; NULL: the rate is fixed. */
	struct vmop_error *(*set_rate)(struct vmop_source *source, unsigned divisor,
				       const char *const *notes);
	/* See vmop_source_pause; NULL: another domain never commands the source. */
	struct vmop_error *(*pause)(struct vmop_source *source);
	struct vmop_error *(*resume)(struct vmop_source *source);
};

/*
 * The domains whose samples a source delivers. Only perf in the dom0 of a Xen without xenoprof
 * reaches fewer than all.
 */
enum vmop_source_reach {
	VMOP_REACH_ALL, /* all domains; each sample has a domain number or its VMM's pid */
	VMOP_REACH_OWN, /* only the domain that the daemon runs in */
	VMOP_REACH_OWN_AND_HYPERVISOR, /* also the hypervisor, billed to that domain */
	VMOP_REACH_UNDIVIDED,	       /* all domains, but samples do not name theirs */
};

/* The first member of every source's own struct. */
struct vmop_source {
	const struct vmop_source_ops *ops;
	enum vmop_source_reach reach;
	bool is_commanded; /* another domain chooses events, guests and times */
};

/*
 * Open a source for setup, without sampling. *ret is the caller's, freed with vmop_source_close.
 * VMOP_ERROR_USAGE: an unknown event. VMOP_ERROR_CANT: no permission; the message has the remedy.
 */
struct vmop_error *vmop_source_open(const struct vmop_source_ops *ops,
				    const struct vmop_source_setup *setup,
				    struct vmop_source **ret);
void vmop_source_close(struct vmop_source *source); /* NULL is allowed */

/*
 * Start sampling, and stop it. After an error of start the source is as before. A stop leaves the
 * records of the time before it to a drain up to UINT64_MAX.
 */
struct vmop_error *vmop_source_start(struct vmop_source *source);
struct vmop_error *vmop_source_stop(struct vmop_source *source);

/*
 * Deliver to sink every record with a time before up_to_ns (CLOCK_MONOTONIC; UINT64_MAX after a
 * stop: all records). Set *ret_ended, which may be NULL, when the source will never have another
 * record (the end of a replay).
 */
struct vmop_error *vmop_source_drain(struct vmop_source *source, uint64_t up_to_ns,
				     const struct vmop_sink *sink, bool *ret_ended);

/*
 * Return one descriptor for epoll that becomes readable when a drain is worthwhile; -1: a drain is
 * always worthwhile (replay). The source owns it.
 */
int vmop_source_poll_fd(const struct vmop_source *source);

/*
 * Follow CPUs that come and go; call it every second. Every few calls, and at a stop, the events'
 * times are updated. An error is one line for the operator, such as a new CPU that cannot be
 * sampled or an event that keeps VMs from starting. The source continues as well as possible,
 * retries later, and does not repeat the error.
 */
struct vmop_error *vmop_source_check_cpus(struct vmop_source *source);

/*
 * Set the guests that are sampled beside the host. Call it between open and start, and whenever the
 * guests change; with active guests every second, because their agents answer later. Sampling may
 * pause for a moment, which the stats count; no sample is lost. Leave out a guest as soon as it is
 * destroyed: Xen keeps its remains until then. Sets each guest's error and samples.
 * VMOP_ERROR_LIMIT: more guests than the hypervisor accepts; nothing changes. VMOP_ERROR_CANT, only
 * before the start: an active guest without an agent. A source that sees all guests anyway ignores
 * the call.
 */
struct vmop_error *vmop_source_set_domains(struct vmop_source *source,
					   struct vmop_source_domain *domains, size_t n);

/* Return whether vmop_source_set_domains has an effect. */
bool vmop_source_takes_domains(const struct vmop_source *source);

/*
 * Return the random number of the session that the agent of an active domain has for this source
 * (vmop_active_group_token), also after a stop; 0: it has none.
 */
uint64_t vmop_source_agent_session(const struct vmop_source *source, uint32_t domain);

/* Return the reach of the source, fixed when it is opened. */
enum vmop_source_reach vmop_source_reach(const struct vmop_source *source);

/*
 * Pause and resume a source that another domain commands (xen in an active domU); it starts paused.
 * While paused it follows tasks but holds nothing of the hypervisor's, so that the commanding
 * domain can change its lists. Samples from before a pause come with the next drain.
 * VMOP_ERROR_BUSY from resume: a dead process still held the hypervisor's buffer, which is free
 * now; the commanding domain must begin again. On other sources both do nothing.
 */
struct vmop_error *vmop_source_pause(struct vmop_source *source);
struct vmop_error *vmop_source_resume(struct vmop_source *source);

/*
 * Divide the requested rate of all events by divisor; 1 restores it. A sample then stands for
 * divisor times as many events, and has that weight. notes[i], which may be NULL, is appended to
 * the note of event i, and copied. Sampling goes on without a pause. Only if
 * vmop_source_has_rate(), and after a drain since the change before. On an error some events may
 * have the old rate.
 */
struct vmop_error *vmop_source_set_rate(struct vmop_source *source, unsigned divisor,
					const char *const *notes);

/* Return whether vmop_source_set_rate can change the rate. */
bool vmop_source_has_rate(const struct vmop_source *source);

/*
 * Return the transport of the samples in a few words for --status; NULL: the source has only one.
 */
const char *vmop_source_transport(const struct vmop_source *source);

/*
 * Return the call stacks that the source captures, fixed when it is opened: mode OFF, KERNEL, FP,
 * CFI, BPF or DEFER. Set *ret_note, which may be NULL, to NULL or to the differences from the
 * request and their reasons. The source owns both.
 */
const struct vmop_stack_options *vmop_source_stacks(const struct vmop_source *source,
						    const char **ret_note);

/*
 * Return the maps by which the kernel unwinds user stacks, to be filled by the caller
 * (bpf/unwind-maps.h), or NULL: the mode of vmop_source_stacks is not BPF. The source owns them.
 */
struct vmop_unwind_maps *vmop_source_unwind_maps(struct vmop_source *source);

/*
 * Return the maps by which the contexts of guests' samples are captured, to be filled by the caller
 * (bpf/guest-maps.h), or NULL: the source captures none. Set *ret_note, which may be NULL, to NULL
 * or to the reason, one line which completes "guest contexts: not captured, because ...". The
 * source owns both.
 */
struct vmop_guest_maps *vmop_source_guest_maps(struct vmop_source *source, const char **ret_note);

/*
 * Return the number of events, fixed when the source is opened, and event i of them, which the
 * source owns. vmop_sample.event is such an i.
 */
size_t vmop_source_n_events(const struct vmop_source *source);
const struct vmop_event_info *vmop_source_event(const struct vmop_source *source, size_t i);

/* Copy the counters as of now into *ret. */
void vmop_source_stats(const struct vmop_source *source, struct vmop_source_stats *ret);

#endif
