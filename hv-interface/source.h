// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sample sources behind one operations table.  Everything above this folder is
 * ignorant of which one is at work: perf (the host and KVM), xen, replay (a recorded
 * stream).
 *
 * A source is opened, started, drained whenever one of its descriptors is
 * readable or a flush is due, stopped, closed; all from one thread.  A drain
 * hands over records in time order, also between CPUs, and allocates nothing.
 */
#ifndef VMOP_HV_INTERFACE_SOURCE_H
#define VMOP_HV_INTERFACE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/event-entry.h"
#include "libutil/error.h"
#include "vmop/record.h"

/*
 * One event as the set-up asks for it (the grammar stands in event-request.c):
 * --event=NAME[:p][:COUNT[:UMASK[:KERNEL[:USER[:HOST[:GUEST]]]]]], the first and the last of a
 * group within braces.
 */
struct vmop_event_request {
	/* libpfm4's or perf's; "cpu-clock"; "rNNN" raw; "sched:sched_switch"; "pmu/.../"; "default"
	 */
	char *name;
	uint64_t period_events; /* 0: by frequency */
	uint64_t frequency_hz;	/* 0: by period; both 0: at the source's default frequency */
	char *unit_mask;	/* libpfm4 name or 0x number; NULL: the default */
	bool kernel, user;	/* which modes count */
	bool host, guest;
	unsigned precise;	       /* 0..3: perf_event_attr's precise_ip */
	bool begins_group, ends_group; /* of events that are to be counted at the same times */
};

/* What became of it. */
struct vmop_event_info {
	const char *name;  /* what is really sampled, with perf's ":u" and so on for its modes */
	const char *asked; /* NULL, or the name in the request, where that is another's for it */
	const char *unit;  /* "ns" or "events" */
	uint64_t period_events, frequency_hz;
	const char *note; /* NULL, or one line: what was asked for, what is done, why */
	/*
	 * How long it was to count and how long it did, over all CPUs, as of one of the last
	 * vmop_source_check_cpus or a stop.  Fewer counters than events are shared out in turn:
	 * then running is less, the note says so, and weights times enabled/running are the
	 * estimate of what there was.  0, 0: not known.
	 */
	uint64_t enabled_ns, running_ns;
};

/* Switching an event on and off takes a moment that is nobody else's: less than this is noise. */
static inline bool vmop_event_is_multiplexed(const struct vmop_event_info *info)
{
	return info->running_ns < info->enabled_ns - info->enabled_ns / 200;
}

/* What weights are to be multiplied by: 1 and up. */
static inline double vmop_event_scale(const struct vmop_event_info *info)
{
	return info->running_ns && vmop_event_is_multiplexed(info)
		       ? (double)info->enabled_ns / (double)info->running_ns
		       : 1;
}

struct vmop_active_opener; /* active-group.h */

struct vmop_source_setup {
	const struct vmop_event_request *events; /* none: "default" */
	size_t n_events;
	size_t buffer_bytes; /* a CPU, rounded up to a power of two; 0: a default */
	/* How long after a wake-up the drain may come with nothing lost; 0: as long as can be. */
	unsigned wakeup_ms;
	/* perf: no samples at all, only what tasks do (MMAP, COMM, FORK, EXIT, KSYMBOL, CPU). */
	bool side_band_only;
	const char *replay_path; /* for the replay source: a file of stream.h */
	const char *root;	 /* before /sys, for tests; NULL: the machine's own */
	/* For the xen source: how active domains' agents are reached; NULL: there are none. */
	const struct vmop_active_opener *active;
};

/* Counters since the start; monotonic. */
struct vmop_source_stats {
	uint64_t records, samples;
	uint64_t lost_records;	    /* the kernel's own count */
	uint64_t throttles;	    /* times that an event was held back on a CPU */
	uint64_t unhandled_records; /* of types unknown to us */
	uint64_t malformed_records;
	uint64_t bytes;
	/*
	 * Between start and stop: times that nobody was sampled because the hypervisor changes what
	 * it samples only then, and how long in all, one under way included.
	 */
	uint64_t pauses, paused_ns;
	uint64_t first_ns; /* time of the first record, for a replay known at once; 0: not known */
	uint32_t cpus_online; /* 0: not known (replay, xen) */
};

/*
 * A guest as the source's hypervisor numbers it (Xen's domain id), for sources that sample
 * only guests that they are told of.
 */
struct vmop_source_domain {
	uint32_t id;
	bool is_active; /* it runs an agent that takes its samples itself; else passive */
	/*
	 * Out: 0, or why it is not sampled: the errno with which the hypervisor refused it, EAGAIN:
	 * its agent has been asked and has not answered so far, ENOLINK: there is no agent, or not
	 * any more.
	 */
	int error;
	uint64_t samples; /* out, of an active one: those that its agent has taken itself so far */
};

/* Where drained records go.  Must not keep pointers into the record. */
struct vmop_sink {
	void (*record)(void *arg, const struct vmop_record *record);
	void *arg;
};

struct vmop_source;

struct vmop_source_ops {
	const char *name;
	/*
	 * Samples carry the hypervisor's number of their domain (vmop_sample.source_domain), and
	 * can be the hypervisor's own.
	 */
	bool numbers_domains;
	/* The records are of another time, perhaps of another machine. */
	bool is_recorded;
	/* Active domains' agents take part (vmop_source_setup.active). */
	bool uses_agents;
	/* Call each for every event of the source; NULL: vmop_event_list() lists Linux's. */
	void (*list_events)(vmop_event_list_fn each, void *arg);
	/* The lines below that list, which explain how events are chosen; NULL where list_events
	 * is. */
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
	/* See vmop_source_set_domains; NULL: nothing to be told. */
	struct vmop_error *(*set_domains)(struct vmop_source *source,
					  struct vmop_source_domain *domains, size_t n);
	/* See vmop_source_transport; NULL: there is but one. */
	const char *(*transport)(const struct vmop_source *source);
	/* See vmop_source_pause; NULL: another domain never commands it. */
	struct vmop_error *(*pause)(struct vmop_source *source);
	struct vmop_error *(*resume)(struct vmop_source *source);
};

/*
 * Which domains' samples a source delivers.  Only perf in the dom0 of a Xen without xenoprof
 * reaches less than all of them.
 */
enum vmop_source_reach {
	VMOP_REACH_ALL,		       /* every domain's, each with its number or its VMM's pid */
	VMOP_REACH_OWN,		       /* those of the domain that the daemon runs in */
	VMOP_REACH_OWN_AND_HYPERVISOR, /* also the hypervisor's, billed to that domain */
	VMOP_REACH_UNDIVIDED,	       /* every domain's, without saying whose a sample is */
};

/* Every source begins with this, so that the calls below find its operations. */
struct vmop_source {
	const struct vmop_source_ops *ops;
	enum vmop_source_reach reach;
	bool is_commanded; /* by another domain, which says what is sampled and when */
};

/*
 * Parses one --event value.  *ret's strings are the caller's; freed with
 * vmop_event_request_deinit.  VMOP_ERROR_USAGE names the part that is off and
 * what would be accepted.  Whether such an event exists is the source's to say.
 */
struct vmop_error *vmop_event_request_parse(const char *text, struct vmop_event_request *ret);
void vmop_event_request_deinit(struct vmop_event_request *request);

/*
 * Opens what setup asks for.  VMOP_ERROR_USAGE: an unknown event;
 * VMOP_ERROR_CANT: no permission, with what to do about it.
 */
struct vmop_error *vmop_source_open(const struct vmop_source_ops *ops,
				    const struct vmop_source_setup *setup,
				    struct vmop_source **ret);
void vmop_source_close(struct vmop_source *source); /* NULL is allowed */

struct vmop_error *vmop_source_start(struct vmop_source *source);
struct vmop_error *vmop_source_stop(struct vmop_source *source);

/*
 * Hands to sink every record with a time before up_to_ns (CLOCK_MONOTONIC;
 * UINT64_MAX: everything, for after a stop).  *ret_ended: the source will never
 * have another one (a replay's end); may be NULL.
 */
struct vmop_error *vmop_source_drain(struct vmop_source *source, uint64_t up_to_ns,
				     const struct vmop_sink *sink, bool *ret_ended);

/*
 * One descriptor for epoll that becomes readable when a drain is worth it (an
 * epoll instance over the CPUs' rings); -1: always worth it (replay).
 */
int vmop_source_poll_fd(const struct vmop_source *source);

/*
 * To be called every second or so: follows CPUs that come and go.  An error is one line for
 * the operator (a new CPU can't be sampled, VMs can't start because of an event); the source
 * goes on as well as it can, tries again later, and doesn't say the same again.  Every few
 * calls, as at a stop, the events' times are brought up to date.
 */
struct vmop_error *vmop_source_check_cpus(struct vmop_source *source);

/*
 * Which guests are sampled from now on, beside the host: between open and start, and whenever they
 * change while it runs (sampling may pause for a moment, which is counted; nothing that was sampled
 * is lost).  A guest that is left out must be let go of at once: a destroyed one stays half alive
 * until then.  Sets each error.  VMOP_ERROR_LIMIT: more than the hypervisor takes, and nothing
 * is changed.  Before the start, an active one without an agent is VMOP_ERROR_CANT; later, agents
 * are asked while sampling goes on: to be called every second or so while there are active
 * domains.  A source that sees all guests by itself takes no notice.
 */
struct vmop_error *vmop_source_set_domains(struct vmop_source *source,
					   struct vmop_source_domain *domains, size_t n);

/* Whether it does. */
bool vmop_source_takes_domains(const struct vmop_source *source);

/* Return what the source reaches, as of its opening. */
enum vmop_source_reach vmop_source_reach(const struct vmop_source *source);

/*
 * Of a source that another domain commands (xen in an active domU), which starts paused: all that
 * it has of others than the hypervisor is there, and what tasks do is followed.  Resume takes what
 * it needs of the hypervisor, pause gives that back, so that the other can change what is sampled;
 * what was sampled until then comes with the next drain.  VMOP_ERROR_BUSY of resume: it was still
 * held by one that died and is free now; the other domain has to begin once more.
 */
struct vmop_error *vmop_source_pause(struct vmop_source *source);
struct vmop_error *vmop_source_resume(struct vmop_source *source);

/* How the samples come, where there are several ways: a few words for --status; NULL: one way. */
const char *vmop_source_transport(const struct vmop_source *source);

size_t vmop_source_n_events(const struct vmop_source *source);
const struct vmop_event_info *vmop_source_event(const struct vmop_source *source, size_t i);
void vmop_source_stats(const struct vmop_source *source, struct vmop_source_stats *ret);

#endif
