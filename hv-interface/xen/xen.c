// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/xen/xen.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "hv-interface/active-group.h"
#include "hv-interface/perf/perf.h"
#include "hv-interface/xen/backtraces.h"
#include "hv-interface/xen/event.h"
#include "hv-interface/xen/link.h"
#include "hv-interface/xen/lists.h"
#include "hv-interface/xen/pending.h"
#include "hv-interface/xen/trace.h"
#include "hv-interface/xen/xenoprof-control.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/log.h"

enum {
	/*
	 * Interval between drains of the buffers. The smallest ones, 32 pages for the vCPUs of one
	 * domain, hold 8,000 samples together.
	 */
	DRAIN_INTERVAL_MS = 100,
	/* With backtraces a sample takes some ten entries. */
	DRAIN_INTERVAL_WITH_STACKS_MS = 20,
	MAX_SAMPLES = 8192,	   /* wanted capacity of a vCPU's buffer; Xen uses what fits */
	LONGEST_PAUSE_CHECKS = 64, /* between attempts to resume after a failure: about a minute */
	MAX_TURNS = 3, /* attempts to get active domains ready; each takes a second or more */
};

/* The transports for dom0 and for an active domU, in the order of preference. */
static const struct vmop_xen_transport_ops *const transports[] = {
	&vmop_xen_transport_module_ops,
	&vmop_xen_transport_user_ops,
};
static const struct vmop_xen_transport_ops *const domu_transports[] = {
	&vmop_xen_transport_module_ops,
	&vmop_xen_transport_active_ops,
};

struct xen_source {
	struct vmop_source base;
	struct vmop_xen_transport *transport;
	struct vmop_xen_machine machine;
	struct vmop_xen_choice choices[VMOP_XENOPROF_EVENTS_MAX];
	struct vmop_xen_event
		events[VMOP_XENOPROF_EVENTS_MAX]; /* the same, in the transport's form */
	struct vmop_event_info infos[VMOP_XENOPROF_EVENTS_MAX];
	char *notes[VMOP_XENOPROF_EVENTS_MAX];
	size_t n_events;
	struct vmop_xen_lists lists;
	struct vmop_active_group *group; /* agents of active domains; NULL: not reachable */
	struct vmop_xen_link *link;	 /* answers questions about domains; NULL without stacks */
	struct vmop_xen_backtraces backtraces;
	/*
	 * This domain's tasks, from perf: only if samples have tasks. Its records and the samples
	 * share one clock.
	 */
	struct vmop_source *side_band;
	int timer_fd;
	bool is_prepared, is_sampling;
	bool wants_sampling;		    /* between start and stop */
	unsigned checks_left, pause_checks; /* until the next attempt after a failure */
	uint64_t stopped_ns; /* since when Xen does not sample although it should; 0: it samples */
	struct vmop_xen_pending pending; /* taken outside of a drain */
	struct vmop_source_stats stats;
	/* State of the current drain. */
	const struct vmop_sink *sink;
	uint64_t up_to_ns;
	uint64_t last_ns; /* time of the last delivered record */
	struct vmop_xen_trace trace;
};

static struct xen_source *to_xen(struct vmop_source *source)
{
	return (struct xen_source *)source;
}

static const struct xen_source *to_const(const struct vmop_source *source)
{
	return (const struct xen_source *)source;
}

/* ---- Xen's state ------------------------------------------------------------------ */

/* Set the interval between drains. */
static struct vmop_error *set_timer(struct xen_source *xen)
{
	bool has_stacks = vmop_xen_backtraces_depth(&xen->backtraces) > 0;
	long interval_ns =
		1000000L * (has_stacks ? DRAIN_INTERVAL_WITH_STACKS_MS : DRAIN_INTERVAL_MS);
	const struct itimerspec every = {
		.it_interval.tv_nsec = interval_ns,
		.it_value.tv_nsec = interval_ns,
	};
	if (timerfd_settime(xen->timer_fd, 0, &every, NULL) < 0)
		return vmop_error_os(errno, "timer");
	return NULL;
}

static struct vmop_error *prepare_with_depth(struct xen_source *xen, uint32_t depth)
{
	const struct vmop_xen_plan plan = {
		.events = xen->events,
		.n_events = xen->n_events,
		.active = xen->lists.active,
		.n_active = xen->lists.n_active,
		.passive = xen->lists.passive,
		.n_passive = xen->lists.n_passive,
		.backtrace_depth = depth,
		.has_room_for_backtraces = xen->backtraces.stacks.mode != VMOP_STACKS_OFF,
		.max_samples = MAX_SAMPLES,
	};
	struct vmop_error *err = xen->transport->ops->prepare(xen->transport, &plan);
	xen->is_prepared = !err;
	return err;
}

static struct vmop_error *release(struct xen_source *xen)
{
	xen->is_prepared = false;
	return xen->transport->ops->release(xen->transport);
}

/*
 * Prepare the transport for the current lists. A listed domain keeps its id, so whether backtraces
 * are safe is found when Xen has the lists, before it samples.
 */
static struct vmop_error *prepare_lists(struct xen_source *xen)
{
	struct vmop_xen_backtraces *backtraces = &xen->backtraces;
	vmop_xen_backtraces_check(backtraces, xen->link, &xen->lists);
	uint32_t depth = vmop_xen_backtraces_depth(backtraces);
	struct vmop_error *err = prepare_with_depth(xen, depth);
	if (err || !depth)
		return err;
	vmop_xen_backtraces_check(backtraces, xen->link, &xen->lists);
	if (!backtraces->is_unsafe)
		return NULL;
	err = release(xen);
	return err ? err : prepare_with_depth(xen, 0);
}

static struct vmop_error *prepare(struct xen_source *xen)
{
	struct vmop_error *err = prepare_lists(xen);
	return err ? err : set_timer(xen);
}

/* Ask the active domains on Xen's list to join. Set *ret_again if they must be listed again. */
static struct vmop_error *join(struct xen_source *xen, bool *ret_again)
{
	*ret_again = false;
	if (!xen->group || !xen->lists.n_active)
		return NULL;
	enum vmop_active_joined outcome = vmop_active_group_join(xen->group);
	*ret_again = outcome != VMOP_ACTIVE_ALL_READY;
	if (outcome == VMOP_ACTIVE_ONE_IS_GONE && !xen->wants_sampling)
		return vmop_active_group_take_error(xen->group); /* at the start all must join */
	if (outcome == VMOP_ACTIVE_ONE_IS_GONE)
		vmop_xen_lists_drop_absent(&xen->lists, xen->group);
	return NULL;
}

/*
 * Prepare until every active domain is ready. Repeat if one of them has to clean up first or is
 * left out.
 */
static struct vmop_error *make_ready(struct xen_source *xen)
{
	bool again = true;
	struct vmop_error *err = NULL;
	for (unsigned turn = 0; turn < MAX_TURNS && again && !err; turn++) {
		if (turn > 0)
			err = release(xen);
		if (!err && !xen->is_prepared)
			err = prepare(xen);
		if (!err)
			err = join(xen, &again);
	}
	return err || !again
		       ? err
		       : vmop_error_new(VMOP_ERROR_CANT,
					"the buffer of an active domain does not become free");
}

static void end_pause(struct xen_source *xen)
{
	if (!xen->stopped_ns)
		return;
	uint64_t len_ns = vmop_clock_ns(CLOCK_MONOTONIC) - xen->stopped_ns;
	xen->stopped_ns = 0;
	xen->stats.pauses++;
	xen->stats.paused_ns += len_ns;
	vmop_log_notice("Xen sampled no domain for %" PRIu64
			" ms, while its lists of domains changed",
			len_ns / VMOP_NS_PER_MS);
}

static struct vmop_error *begin_sampling(struct xen_source *xen)
{
	struct vmop_error *err = make_ready(xen);
	if (!err)
		err = xen->transport->ops->start(xen->transport);
	xen->is_sampling = !err;
	if (!err)
		end_pause(xen);
	if (!err && xen->group)
		vmop_active_group_run(xen->group);
	if (err && xen->group)
		vmop_active_group_leave(xen->group, !xen->wants_sampling);
	if (err)
		vmop_error_destroy(release(xen));
	return err;
}

static struct vmop_error *end_sampling(struct xen_source *xen, bool is_end)
{
	if (!xen->is_sampling)
		return NULL;
	xen->is_sampling = false;
	struct vmop_error *err = xen->transport->ops->stop(xen->transport);
	if (xen->wants_sampling)
		xen->stopped_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	if (xen->group) /* while Xen still lists them: later it would not take their buffers back */
		vmop_active_group_leave(xen->group, is_end);
	return err;
}

/* ---- opening ------------------------------------------------------------------------ */

static void xen_close(struct vmop_source *source)
{
	struct xen_source *xen = to_xen(source);
	if (xen->transport)
		vmop_error_destroy(end_sampling(xen, true));
	vmop_active_group_destroy(xen->group);
	if (xen->transport)
		xen->transport->ops->close(xen->transport);
	if (xen->side_band)
		vmop_source_close(xen->side_band);
	if (xen->timer_fd >= 0)
		close(xen->timer_fd);
	for (size_t i = 0; i < xen->n_events; i++) {
		vmop_xen_choice_deinit(&xen->choices[i]);
		free(xen->notes[i]);
	}
	vmop_xen_pending_deinit(&xen->pending);
	if (xen->link)
		xen->link->ops->close(xen->link);
	vmop_xen_backtraces_deinit(&xen->backtraces);
	free(xen);
}

/* Set the note of event i: its own and, for the first event, a remark about missing tasks. */
static struct vmop_error *put_note(struct xen_source *xen, size_t i)
{
	const char *own = xen->choices[i].note;
	bool is_domu = !xen->machine.is_primary;
	const char *tasks = i > 0 || xen->transport->ops->has_tasks ? NULL
			    : is_domu ? "programs are not distinguished without vmop.ko (their "
					"samples are [domU user])"
				      : "dom0's programs are not distinguished without vmop.ko "
					"(their samples are [dom0 user])";
	if (!own && !tasks)
		return NULL;
	if (asprintf(&xen->notes[i], "%s%s%s", own ? own : "", own && tasks ? "; " : "",
		     tasks ? tasks : "") < 0) {
		xen->notes[i] = NULL;
		return &vmop_error_no_memory;
	}
	xen->infos[i].note = xen->notes[i];
	return NULL;
}

static struct vmop_error *add_event(struct xen_source *xen,
				    const struct vmop_event_request *request, const char *root)
{
	struct vmop_xen_choice *choice = &xen->choices[xen->n_events];
	struct vmop_error *err = xen->machine.is_primary
					 ? vmop_xen_choose(request, &xen->machine, root, choice)
					 : vmop_xen_take_over(request, choice);
	if (err)
		return err;
	size_t i = xen->n_events++;
	xen->events[i] = choice->event;
	xen->infos[i] = (struct vmop_event_info){
		.name = choice->name,
		.unit = "events",
		.period_events = choice->event.period_events,
	};
	return put_note(xen, i);
}

static struct vmop_error *choose_events(struct xen_source *xen,
					const struct vmop_source_setup *setup)
{
	size_t n = setup->n_events ? setup->n_events : 1;
	if (n > xen->machine.n_counters || n > VMOP_XENOPROF_EVENTS_MAX)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%zu events, but this processor has %u counters, which Xen "
				      "does not multiplex",
				      n, xen->machine.n_counters);
	struct vmop_error *err = NULL;
	for (size_t i = 0; !err && i < n; i++)
		err = add_event(xen, setup->n_events ? &setup->events[i] : NULL, setup->root);
	return err;
}

/* Create the group of agents. The OPEN message names the events as Xen samples them. */
static struct vmop_error *create_group(struct xen_source *xen,
				       const struct vmop_active_opener *opener)
{
	_cleanup_free_ char *events = NULL;
	size_t len;
	FILE *out = open_memstream(&events, &len);
	if (!out)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < xen->n_events; i++) {
		const struct vmop_xen_choice *choice = &xen->choices[i];
		fprintf(out, "%s%s:%" PRIu64, i ? " " : "", choice->name,
			choice->event.period_events);
		if (!choice->kernel || !choice->user)
			fprintf(out, ":0:%d:%d", choice->kernel, choice->user);
	}
	if (fclose(out) != 0)
		return &vmop_error_no_memory;
	return vmop_active_group_create(opener, events, &xen->group);
}

static struct vmop_error *open_side_band(struct xen_source *xen)
{
	const struct vmop_source_setup setup = {.side_band_only = true};
	if (!xen->transport->ops->has_tasks)
		return NULL;
	struct vmop_error *err = vmop_source_open(&vmop_source_perf_ops, &setup, &xen->side_band);
	return err ? vmop_error_prefix(err, "following tasks by perf") : NULL;
}

static struct vmop_error *open_timer(struct xen_source *xen)
{
	xen->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return xen->timer_fd < 0 ? vmop_error_os(errno, "timer") : set_timer(xen);
}

struct vmop_error *vmop_xen_open_over(struct vmop_xen_transport *transport,
				      const struct vmop_xen_machine *machine,
				      struct vmop_xen_link *link,
				      const struct vmop_source_setup *setup,
				      struct vmop_source **ret)
{
	struct xen_source *xen = calloc(1, sizeof(*xen));
	if (!xen) {
		transport->ops->close(transport);
		if (link)
			link->ops->close(link);
		return &vmop_error_no_memory;
	}
	xen->base.ops = &vmop_source_xen_ops;
	xen->base.is_commanded = !machine->is_primary;
	xen->transport = transport;
	xen->machine = *machine;
	xen->link = link;
	xen->timer_fd = -1;
	struct vmop_error *err = choose_events(xen, setup);
	if (!err)
		err = vmop_xen_backtraces_choose(setup, machine, transport->ops->has_tasks, link,
						 &xen->backtraces);
	if (!err)
		err = open_timer(xen);
	if (!err)
		err = open_side_band(xen);
	if (!err && setup->active)
		err = create_group(xen, setup->active);
	/* Prepare now, so that Xen's refusals come before a session begins. */
	if (!err && !xen->base.is_commanded)
		err = prepare(xen);
	if (err)
		xen_close(&xen->base);
	else
		*ret = &xen->base;
	return err;
}

/* Open a link for questions about domains; NULL: no link is wanted or usable. */
static struct vmop_xen_link *open_link(const struct vmop_source_setup *setup, bool is_domu)
{
	struct vmop_xen_link *link;
	if (setup->stacks.mode == VMOP_STACKS_OFF || is_domu)
		return NULL;
	struct vmop_error *err = vmop_xen_link_open(&link);
	if (!err)
		return link;
	vmop_error_destroy(err);
	return NULL;
}

static struct vmop_error *xen_open(const struct vmop_source_setup *setup, struct vmop_source **ret)
{
	bool is_domu = vmop_xen_is_domu();
	const struct vmop_xen_transport_ops *const *list = is_domu ? domu_transports : transports;
	size_t n = is_domu ? sizeof(domu_transports) / sizeof(domu_transports[0])
			   : sizeof(transports) / sizeof(transports[0]);
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < n; i++) {
		struct vmop_xen_machine machine = {0};
		struct vmop_xen_transport *transport;
		vmop_error_destroy(err);
		err = list[i]->open(&machine, &transport);
		if (!err && machine.had_remains)
			vmop_log_notice("Xen was still sampling for a vmopd that was killed; ended "
					"that session");
		if (!err)
			return vmop_xen_open_over(transport, &machine, open_link(setup, is_domu),
						  setup, ret);
		if (err->code != VMOP_ERROR_NOT_FOUND)
			break;
	}
	if (err && err->code == VMOP_ERROR_NOT_FOUND)
		err->code = VMOP_ERROR_CANT;
	return err;
}

bool vmop_xen_has_xenoprof(void)
{
	struct vmop_xen_link *link;
	struct vmop_error *err = vmop_xen_link_open(&link);
	if (err) {
		vmop_error_destroy(err);
		return true;
	}
	bool has = vmop_xenoprof_probe(link) != VMOP_XENOPROF_ABSENT;
	link->ops->close(link);
	return has;
}

static struct vmop_error *xen_start(struct vmop_source *source)
{
	struct xen_source *xen = to_xen(source);
	/* Start the side-band first, so that each sample's task is known. */
	struct vmop_error *err = xen->side_band ? vmop_source_start(xen->side_band) : NULL;
	/* the transport takes Xen's buffer on the first resume */
	if (err || xen->base.is_commanded)
		return err;
	err = begin_sampling(xen);
	xen->wants_sampling = !err;
	return err;
}

static struct vmop_error *xen_stop(struct vmop_source *source)
{
	struct xen_source *xen = to_xen(source);
	end_pause(xen);
	xen->wants_sampling = false;
	struct vmop_error *err = end_sampling(xen, true);
	return vmop_error_first(err, xen->side_band ? vmop_source_stop(xen->side_band) : NULL);
}

/* Pause an active domain's source. dom0 continues when it has the buffer back. */
static struct vmop_error *xen_pause(struct vmop_source *source)
{
	struct xen_source *xen = to_xen(source);
	xen->wants_sampling = false;
	struct vmop_error *err = end_sampling(xen, false);
	vmop_xen_pending_take(&xen->pending, xen->transport);
	return vmop_error_first(err, release(xen));
}

static struct vmop_error *xen_resume(struct vmop_source *source)
{
	struct xen_source *xen = to_xen(source);
	struct vmop_error *err = begin_sampling(xen);
	xen->wants_sampling = !err;
	return err;
}

/* ---- draining --------------------------------------------------------------------- */

/* Return whether the event was requested for samples of that kind. */
static bool is_wanted(const struct vmop_xen_choice *choice, const struct vmop_xen_entry *entry,
		      bool is_own)
{
	bool is_user = entry->mode == VMOP_XENOPROF_MODE_USER;
	bool is_guest = !is_own && entry->mode != VMOP_XENOPROF_MODE_XEN;
	return (is_user ? choice->user : choice->kernel) &&
	       (is_guest ? choice->guest : choice->host);
}

static unsigned flags_of(const struct vmop_xen_entry *entry, bool is_own)
{
	unsigned whose = is_own ? 0 : VMOP_SAMPLE_GUEST;
	switch ((enum vmop_xenoprof_mode)entry->mode) {
	case VMOP_XENOPROF_MODE_USER:
		return whose | VMOP_SAMPLE_USER;
	case VMOP_XENOPROF_MODE_KERNEL:
		return whose | VMOP_SAMPLE_KERNEL;
	case VMOP_XENOPROF_MODE_XEN:
		break;
	}
	return VMOP_SAMPLE_HYPERVISOR;
}

static bool is_own_domain(uint16_t domain)
{
	return domain == 0 || domain == VMOP_XEN_DOMID_SELF;
}

/* Deliver the sample whose callers were awaited, with its stack. */
static void end_trace(struct xen_source *xen)
{
	struct vmop_stack_capture stack;
	if (!xen->trace.is_open)
		return;
	/* Whether the kernels of other domains keep frame pointers is not known. */
	bool has_frames = xen->backtraces.has_kernel_frames && is_own_domain(xen->trace.domain);
	bool has_stack = vmop_xen_trace_end(&xen->trace, xen->backtraces.stacks.max_frames,
					    has_frames, &stack);
	xen->sink->record(xen->sink->arg, &xen->trace.record, has_stack ? &stack : NULL);
}

static void take_entry(void *arg, const struct vmop_xen_entry *entry)
{
	struct xen_source *xen = arg;
	bool is_own = is_own_domain(entry->domain);
	xen->stats.records++;
	xen->stats.bytes += sizeof(struct vmop_xenoprof_entry);
	if (entry->is_caller) {
		vmop_xen_trace_add(&xen->trace, entry);
		return;
	}
	end_trace(xen);
	/* Another domain can write to the buffer, so check the entry. */
	if (entry->event >= xen->n_events || entry->mode > VMOP_XENOPROF_MODE_XEN) {
		xen->stats.malformed_records++;
		return;
	}
	if (!is_wanted(&xen->choices[entry->event], entry, is_own))
		return;
	/* A polled entry can have a later time than the drain's limit. */
	uint64_t time_ns = entry->time_ns < xen->up_to_ns ? entry->time_ns : xen->up_to_ns - 1;
	if (time_ns < xen->last_ns)
		time_ns = xen->last_ns;
	xen->last_ns = time_ns;
	const struct vmop_record record = {
		.type = VMOP_RECORD_SAMPLE,
		.time_ns = time_ns,
		.sample =
			{
				.ip = entry->ip,
				.weight_events = xen->choices[entry->event].event.period_events,
				.pid = entry->pid,
				.tid = entry->tid,
				.cpu = entry->cpu,
				.event = entry->event,
				.flags = (uint16_t)flags_of(entry, is_own),
				.source_domain = is_own ? 0 : entry->domain,
				.source_vcpu = entry->vcpu,
			},
	};
	xen->stats.samples++;
	if (vmop_xen_backtraces_depth(&xen->backtraces))
		vmop_xen_trace_begin(&xen->trace, &record, entry);
	else
		xen->sink->record(xen->sink->arg, &record, NULL);
}

static void take_lost(void *arg, uint16_t domain, uint16_t vcpu, uint64_t n)
{
	struct xen_source *xen = arg;
	(void)domain;
	end_trace(xen);
	const struct vmop_record record = {
		.type = VMOP_RECORD_LOST,
		.lost = {.cpu = vcpu, .lost_records = n},
	};
	xen->stats.lost_records += n;
	xen->sink->record(xen->sink->arg, &record, NULL);
}

static struct vmop_xen_entry_sink entry_sink(struct xen_source *xen)
{
	return (struct vmop_xen_entry_sink){.entry = take_entry, .lost = take_lost, .arg = xen};
}

/* Deliver the samples from before a task's record, then the record. */
static void take_side_band(void *arg, const struct vmop_record *record,
			   const struct vmop_stack_capture *stack)
{
	(void)stack;
	struct xen_source *xen = arg;
	const struct vmop_xen_entry_sink sink = entry_sink(xen);
	if (vmop_xen_pending_deliver(&xen->pending, record->time_ns, &sink))
		xen->transport->ops->drain(xen->transport, record->time_ns, &sink);
	end_trace(xen);
	struct vmop_record later = *record;
	if (later.time_ns < xen->last_ns)
		later.time_ns = xen->last_ns;
	xen->last_ns = later.time_ns;
	xen->sink->record(xen->sink->arg, &later, NULL);
}

static struct vmop_error *drain_side_band(struct xen_source *xen, uint64_t up_to_ns)
{
	const struct vmop_sink sink = {.record = take_side_band, .arg = xen};
	return xen->side_band ? vmop_source_drain(xen->side_band, up_to_ns, &sink, NULL) : NULL;
}

static struct vmop_error *xen_drain(struct vmop_source *source, uint64_t up_to_ns,
				    const struct vmop_sink *sink, bool *ret_ended)
{
	struct xen_source *xen = to_xen(source);
	const struct vmop_xen_entry_sink entries = entry_sink(xen);
	uint64_t expirations;
	*ret_ended = false;
	/* Make the descriptor unreadable again; it may not have expired. */
	if (read(xen->timer_fd, &expirations, sizeof(expirations)) < 0)
		expirations = 0;
	xen->sink = sink;
	xen->up_to_ns = up_to_ns ? up_to_ns : 1;
	struct vmop_error *err = drain_side_band(xen, up_to_ns);
	vmop_xen_pending_deliver(&xen->pending, UINT64_MAX, &entries);
	xen->transport->ops->drain(xen->transport, up_to_ns, &entries);
	end_trace(xen);
	return err;
}

/* ---- domains ------------------------------------------------------------------------ */

/* Resume sampling. After a failure it is retried from time to time. */
static struct vmop_error *resume_sampling(struct xen_source *xen)
{
	struct vmop_error *err = begin_sampling(xen);
	xen->pause_checks = xen->checks_left = err != NULL;
	return err ? vmop_error_prefix(err,
				       "Xen does not resume sampling (retried from time to time)")
		   : NULL;
}

/*
 * Probe the agents before Xen lists their domains: a domain without an agent would stay on Xen's
 * list until the machine reboots. While Xen samples, wait for no agent.
 */
static struct vmop_error *probe_agents(struct xen_source *xen, struct vmop_source_domain *domains,
				       size_t n)
{
	uint32_t ids[VMOP_XENOPROF_DOMAINS_MAX] = {0};
	size_t n_ids = 0;
	for (size_t i = 0; i < n; i++) {
		if (domains[i].is_active)
			ids[n_ids++] = domains[i].id;
	}
	if (!xen->group)
		return n_ids ? vmop_error_new(VMOP_ERROR_CANT, "active domains can't be reached: "
							       "no access to xenstore was set up")
			     : NULL;
	struct vmop_error *err = vmop_active_group_want(xen->group, ids, n_ids);
	if (!err && !xen->wants_sampling)
		err = vmop_active_group_wait(xen->group);
	vmop_xen_lists_set_presence(domains, n, xen->group);
	return err;
}

static bool is_change(const struct xen_source *xen, const struct vmop_source_domain *domains,
		      size_t n)
{
	return vmop_xen_lists_differ(&xen->lists, domains, n) || !xen->is_prepared ||
	       (xen->is_sampling && xen->group && vmop_active_group_wants_join(xen->group));
}

static void keep_samples(void *arg)
{
	struct xen_source *xen = arg;
	vmop_xen_pending_take(&xen->pending, xen->transport);
}

/*
 * Find the agents that would keep Xen stopped while it still samples. Return whether the lists
 * still have to change.
 */
static bool still_needs_change(struct xen_source *xen, struct vmop_source_domain *domains, size_t n)
{
	if (!xen->is_sampling || !xen->group)
		return true;
	vmop_active_group_alert(xen->group, keep_samples, xen);
	vmop_xen_lists_set_presence(domains, n, xen->group);
	return is_change(xen, domains, n);
}

/*
 * Change Xen's lists, which is possible only between two of Xen's sessions. Keep the samples until
 * then.
 */
static struct vmop_error *change_lists(struct xen_source *xen,
				       const struct vmop_source_domain *domains, size_t n)
{
	vmop_xen_lists_set(&xen->lists, domains, n);
	struct vmop_error *err = end_sampling(xen, false);
	vmop_xen_pending_take(&xen->pending, xen->transport);
	vmop_error_destroy(release(xen));
	if (!err)
		err = xen->wants_sampling ? resume_sampling(xen) : prepare(xen);
	return err;
}

static struct vmop_error *xen_set_domains(struct vmop_source *source,
					  struct vmop_source_domain *domains, size_t n)
{
	struct xen_source *xen = to_xen(source);
	struct vmop_error *err = vmop_xen_lists_check(domains, n);
	for (size_t i = 0; i < n; i++)
		domains[i].error = 0;
	if (!err)
		err = probe_agents(xen, domains, n);
	if (err)
		return err;
	if (is_change(xen, domains, n) && still_needs_change(xen, domains, n))
		err = change_lists(xen, domains, n);
	vmop_xen_lists_copy_errors(&xen->lists, domains, n);
	return err;
}

static uint64_t xen_agent_session(const struct vmop_source *source, uint32_t domain)
{
	const struct vmop_active_group *group = to_const(source)->group;
	bool has_session = group && vmop_active_group_presence(group, domain) == VMOP_ACTIVE_THERE;
	return has_session ? vmop_active_group_token(group) : 0;
}

static const char *xen_transport(const struct vmop_source *source)
{
	return to_const(source)->transport->ops->name;
}

static const struct vmop_stack_options *xen_stacks(const struct vmop_source *source,
						   const char **ret_note)
{
	const struct xen_source *xen = to_const(source);
	if (ret_note)
		*ret_note = vmop_xen_backtraces_note(&xen->backtraces);
	return &xen->backtraces.stacks;
}

static int xen_poll_fd(const struct vmop_source *source)
{
	return to_const(source)->timer_fd;
}

/* Retry after a failure. Xen itself follows the physical CPUs. */
static struct vmop_error *xen_check_cpus(struct vmop_source *source)
{
	struct xen_source *xen = to_xen(source);
	if (xen->side_band) {
		struct vmop_error *err = vmop_source_check_cpus(xen->side_band);
		if (err)
			return err;
	}
	if (xen->wants_sampling && xen->group) {
		vmop_active_group_check(xen->group);
		struct vmop_error *err = vmop_active_group_take_error(xen->group);
		if (err)
			return err;
	}
	if (!xen->wants_sampling || xen->is_sampling || (xen->checks_left && --xen->checks_left))
		return NULL;
	vmop_error_destroy(begin_sampling(xen)); /* the error was reported before */
	if (xen->pause_checks < LONGEST_PAUSE_CHECKS)
		xen->pause_checks *= 2;
	xen->checks_left = xen->pause_checks;
	return NULL;
}

static size_t xen_n_events(const struct vmop_source *source)
{
	return to_const(source)->n_events;
}

static const struct vmop_event_info *xen_event(const struct vmop_source *source, size_t i)
{
	return &to_const(source)->infos[i];
}

static void xen_stats(const struct vmop_source *source, struct vmop_source_stats *ret)
{
	const struct xen_source *xen = to_const(source);
	*ret = xen->stats;
	if (xen->stopped_ns)
		ret->paused_ns += vmop_clock_ns(CLOCK_MONOTONIC) - xen->stopped_ns;
	ret->malformed_records += xen->transport->ops->n_corrupt(xen->transport);
	if (xen->side_band) {
		struct vmop_source_stats side_band;
		vmop_source_stats(xen->side_band, &side_band);
		ret->records += side_band.records;
		ret->lost_records += side_band.lost_records;
		ret->malformed_records += side_band.malformed_records;
		ret->unhandled_records += side_band.unhandled_records;
		ret->bytes += side_band.bytes;
		ret->cpus_online = side_band.cpus_online;
	}
}

const struct vmop_source_ops vmop_source_xen_ops = {
	.name = "xen",
	.numbers_domains = true,
	.uses_agents = true,
	.list_events = vmop_xen_event_list,
	.events_hint =
		"default: cycles. Xen counts events: --event=NAME:COUNT takes a sample every "
		"COUNT of them. 'vmopd --source=perf' samples dom0 only, by other events.",
	.open = xen_open,
	.close = xen_close,
	.start = xen_start,
	.stop = xen_stop,
	.drain = xen_drain,
	.poll_fd = xen_poll_fd,
	.check_cpus = xen_check_cpus,
	.n_events = xen_n_events,
	.event = xen_event,
	.stats = xen_stats,
	.set_domains = xen_set_domains,
	.agent_session = xen_agent_session,
	.transport = xen_transport,
	.stacks = xen_stacks,
	.pause = xen_pause,
	.resume = xen_resume,
};
