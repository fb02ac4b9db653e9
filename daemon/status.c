// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "daemon/guest/off-cpu/batch.h"
#include "daemon/inspect.h"
#include "hv-interface/bpf/waits.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/guest-gap.h"
#include "libutil/protocol.h"
#include "libutil/stack-end.h"

/* The length of a reply is bounded (protocol.h): more domains than this are only counted. */
#define MAX_DOMAINS 100

static uint64_t rss_bytes(void)
{
	unsigned long long size, resident = 0;
	_cleanup_fclose_ FILE *statm = fopen("/proc/self/statm", "re");
	if (!statm || fscanf(statm, "%llu %llu", &size, &resident) != 2)
		resident = 0;
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static json_t *daemon_json(void)
{
	struct rusage usage;
	json_t *object = json_object();
	getrusage(RUSAGE_SELF, &usage);
	double cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	vmop_json_put_number(object, "pid", (uint64_t)getpid());
	vmop_json_put_text(object, "version", PACKAGE_VERSION);
	json_object_set_new(object, "cpu_s", json_real(cpu_s));
	vmop_json_put_number(object, "rss_bytes", rss_bytes());
	return object;
}

static json_t *events_json(const struct vmop_session *session)
{
	json_t *list = json_array();
	const struct vmop_event_info *event;
	for (size_t i = 0; (event = vmop_session_event(session, i)); i++) {
		json_t *object = json_object();
		vmop_json_put_text(object, "name", event->name);
		vmop_json_put_text(object, "unit", event->unit);
		vmop_json_put_number(object, "period_events", event->period_events);
		vmop_json_put_number(object, "frequency_hz", event->frequency_hz);
		vmop_json_put_text(object, "asked", event->asked);
		vmop_json_put_number(object, "enabled_ns", event->enabled_ns);
		vmop_json_put_number(object, "running_ns", event->running_ns);
		json_object_set_new(object, "scale", json_real(vmop_event_scale(event)));
		vmop_json_put_text(object, "note", event->note);
		json_object_set_new(object, "of_guests",
				    json_boolean(vmop_session_event_is_of_guests(session, i)));
		json_array_append_new(list, object);
	}
	return list;
}

/* Put the counts of call stacks, and of the tables that they need. */
static void put_stacks(json_t *object, struct vmop_session *session)
{
	struct vmop_session_status status;
	vmop_session_status(session, &status);
	const struct vmop_stacks_facts *facts = &status.profiler_stats.stacks;
	vmop_json_put_number(object, "stacks", facts->n_stacks);
	for (unsigned i = 0; i < VMOP_N_STACK_ENDS; i++)
		vmop_json_put_number(object, vmop_stack_end_word(i), facts->n_by_end[i]);
	vmop_json_put_number(object, "waited", facts->n_waited);
	vmop_json_put_number(object, "queue_full", facts->n_queue_full);
	vmop_json_put_number(object, "nodes", facts->tree.n_nodes);
	vmop_json_put_number(object, "tables", facts->tables.n_ready);
	vmop_json_put_number(object, "tables_bytes", facts->tables.bytes);
	vmop_json_put_number(object, "tables_pending", facts->tables.n_pending);
	vmop_json_put_number(object, "tables_evicted", facts->tables.n_evicted);
	vmop_json_put_number(object, "images_without_cfi", facts->tables.n_without_cfi);
	vmop_json_put_number(object, "images_unreadable", facts->tables.n_unreadable);
}

/* Put the counts of --callgraph=bpf. */
static void put_kernel_stacks(json_t *object, struct vmop_session *session)
{
	struct vmop_session_status status;
	vmop_session_status(session, &status);
	const struct vmop_stacks_facts *facts = &status.profiler_stats.stacks;
	vmop_json_put_number(object, "by_kernel", facts->n_by_kernel);
	vmop_json_put_number(object, "copied", facts->n_copied);
	vmop_json_put_number(object, "kernel_tables", facts->maps.n_tables);
	vmop_json_put_number(object, "kernel_tables_bytes", facts->maps.table_bytes);
	vmop_json_put_number(object, "kernel_processes", facts->maps.n_processes);
	vmop_json_put_number(object, "kernel_mappings", facts->maps.n_mappings);
	vmop_json_put_number(object, "kernel_updates", facts->spaces.n_updates);
	vmop_json_put_number(object, "kernel_refused", facts->maps.n_refused);
}

/* Describe the captured call stacks; null: the set-up asks for none. */
static json_t *callgraph_json(struct vmop_session *session)
{
	const char *note;
	const struct vmop_stack_options *stacks = vmop_session_stacks(session, &note);
	_cleanup_free_ char *text = vmop_session_stacks_text(session);
	if (!text)
		return json_null();
	json_t *object = json_object();
	vmop_json_put_text(object, "mode", vmop_setup_callgraph_word(stacks->mode));
	if (stacks->mode == VMOP_STACKS_CFI || stacks->mode == VMOP_STACKS_BPF)
		vmop_json_put_number(object, "user_stack_bytes", stacks->user_stack_bytes);
	if (stacks->mode != VMOP_STACKS_OFF)
		vmop_json_put_number(object, "max_frames", stacks->max_frames);
	vmop_json_put_text(object, "text", text);
	vmop_json_put_text(object, "note", note);
	put_stacks(object, session);
	if (stacks->mode == VMOP_STACKS_BPF)
		put_kernel_stacks(object, session);
	return object;
}

/* Describe the capture of guests' contexts; null: the set-up does not ask for it. */
static json_t *guest_context_json(const struct vmop_session *session)
{
	struct vmop_session_context context;
	_cleanup_free_ char *text = vmop_session_guest_context_text(session);
	if (!text)
		return json_null();
	vmop_session_guest_context(session, &context);
	const struct vmop_guest_maps_facts *facts = &context.facts;
	json_t *object = json_object(), *gaps = json_object();
	json_object_set_new(object, "on", json_boolean(context.is_on));
	vmop_json_put_text(object, "text", text);
	vmop_json_put_text(object, "note", context.note);
	vmop_json_put_text(object, "virtualisation", facts->virtualisation);
	vmop_json_put_number(object, "guests", facts->n_guests);
	vmop_json_put_number(object, "samples", facts->n_samples);
	vmop_json_put_number(object, "contexts", facts->n_contexts);
	vmop_json_put_number(object, "exited", facts->n_exited);
	vmop_json_put_number(object, "ring_full", facts->n_ring_full);
	vmop_json_put_number(object, "switching", facts->n_switching);
	vmop_json_put_number(object, "cost_ns", facts->cost_ns);
	for (unsigned gap = VMOP_GUEST_GAP_NONE + 1; gap < VMOP_GUEST_N_GAPS; gap++)
		vmop_json_put_number(gaps, vmop_guest_gap_word(gap), facts->gaps[gap]);
	json_object_set_new(object, "gaps", gaps);
	return object;
}

/* Describe the time of vCPUs; null: the set-up does not ask for it. */
static json_t *waits_json(const struct vmop_session *session, double uptime_s)
{
	struct vmop_waits_facts facts;
	const char *note;
	bool is_on = vmop_session_waits(session, &facts, &note);
	if (!is_on && !note)
		return json_null();
	json_t *object = json_object();
	json_object_set_new(object, "on", json_boolean(is_on));
	vmop_json_put_text(object, "note", note);
	vmop_json_put_number(object, "vcpus", facts.n_watched);
	vmop_json_put_number(object, "refused", facts.n_refused);
	vmop_json_put_number(object, "switches", facts.n_switches);
	vmop_json_put_number(object, "wakeups", facts.n_wakeups);
	vmop_json_put_number(object, "exits", facts.n_exits);
	vmop_json_put_number(object, "cost_ns", facts.cost_ns);
	json_object_set_new(object, "switch_ns", json_real(facts.switch_ns));
	json_object_set_new(object, "wakeup_ns", json_real(facts.wakeup_ns));
	json_object_set_new(object, "exit_ns", json_real(facts.exit_ns));
	json_object_set_new(object, "cpu_percent",
			    json_real(uptime_s > 0 ? (double)facts.cost_ns / 1e7 / uptime_s : 0));
	return object;
}

static const char *kind_word(enum vmop_domain_kind kind)
{
	switch (kind) {
	case VMOP_DOMAIN_HOST:
		return "host";
	case VMOP_DOMAIN_HYPERVISOR:
		return "hypervisor";
	case VMOP_DOMAIN_PASSIVE:
		return "passive";
	case VMOP_DOMAIN_ACTIVE:
		return "active";
	case VMOP_DOMAIN_OPAQUE:
		return "opaque";
	case VMOP_DOMAIN_UNSELECTED:
		return "unselected";
	case VMOP_DOMAIN_UNSAMPLED:
		return "unsampled";
	}
	return "?";
}

static json_t *blocked_json(const struct vmop_blocked_facts *facts)
{
	json_t *object = json_object();
	vmop_json_put_number(object, "rounds", facts->n_rounds);
	vmop_json_put_number(object, "reused", facts->n_reused);
	vmop_json_put_number(object, "missed", facts->n_missed);
	vmop_json_put_number(object, "torn", facts->n_torn);
	vmop_json_put_number(object, "refused", facts->n_refused);
	vmop_json_put_number(object, "threads", facts->n_threads);
	vmop_json_put_number(object, "blocked", facts->n_counted);
	vmop_json_put_number(object, "running", facts->n_running);
	json_object_set_new(object, "cpu_s", json_real((double)facts->cpu_ns / 1e9));
	return object;
}

static json_t *domain_json(const struct vmop_domain_stats *domain)
{
	json_t *object = json_object();
	vmop_json_put_number(object, "id", domain->id.number);
	vmop_json_put_text(object, "name", domain->name);
	vmop_json_put_text(object, "kind", kind_word(domain->kind));
	vmop_json_put_text(object, "uuid", domain->uuid);
	vmop_json_put_number(object, "pid", domain->vmm_pid);
	json_object_set_new(object, "xen_domid",
			    domain->xen_domid < 0 ? json_null() : json_integer(domain->xen_domid));
	vmop_json_put_number(object, "vcpus", domain->n_vcpus);
	json_object_set_new(object, "running", json_boolean(domain->is_running));
	vmop_json_put_number(object, "user", domain->samples_guest_user);
	vmop_json_put_number(object, "kernel", domain->samples_guest_kernel);
	vmop_json_put_number(object, "hypervisor", domain->samples_hypervisor);
	vmop_json_put_number(object, "vmm", domain->samples_vmm);
	vmop_json_put_text(object, "image", domain->image);
	vmop_json_put_text(object, "note", domain->note);
	if (domain->kind == VMOP_DOMAIN_ACTIVE)
		vmop_json_put_number(object, "own", domain->samples_own);
	if (domain->kind == VMOP_DOMAIN_PASSIVE ||
	    (domain->kind == VMOP_DOMAIN_ACTIVE && domain->vmm_pid))
		json_object_set_new(object, "inside", vmop_inspect_summary(domain->view));
	if (domain->blocked)
		json_object_set_new(object, "blocked", blocked_json(domain->blocked));
	return object;
}

static void put_domains(json_t *reply, const struct vmop_session *session)
{
	json_t *list = json_array();
	struct vmop_domain_stats domain;
	size_t i;
	for (i = 0; vmop_session_domain(session, i, &domain); i++)
		if (i < MAX_DOMAINS)
			json_array_append_new(list, domain_json(&domain));
	json_object_set_new(reply, "domains", list);
	vmop_json_put_number(reply, "domains_left_off", i > MAX_DOMAINS ? i - MAX_DOMAINS : 0);
}

static void put_time(json_t *reply, const char *name, uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / VMOP_NS_PER_S);
	struct tm tm;
	char text[32];
	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	vmop_json_put_text(reply, name, text);
}

/* Put the length of the WAL and, while a reader holds it, since when and which. */
static void put_wal(json_t *reply, const struct vmop_session *session,
		    const struct vmop_session_status *status)
{
	_cleanup_free_ char *readers = vmop_session_wal_readers(session);
	vmop_json_put_number(reply, "wal_bytes", status->wal_bytes);
	if (!status->wal_since_ns)
		return;
	put_time(reply, "wal_held_since", status->wal_since_ns);
	vmop_json_put_text(reply, "wal_readers", readers);
}

static void put_session(json_t *reply, struct vmop_session *session)
{
	struct vmop_session_status status;
	vmop_session_status(session, &status);
	vmop_json_put_text(reply, "session", status.path);
	json_object_set_new(reply, "storing", json_boolean(status.path));
	vmop_json_put_text(reply, "source", status.source);
	vmop_json_put_text(reply, "way", status.transport);
	put_time(reply, "since", status.start_ns);
	json_object_set_new(reply, "uptime_s", json_real((double)status.uptime_ns / 1e9));
	json_object_set_new(reply, "remaining_s",
			    status.duration_left_ns == UINT64_MAX
				    ? json_null()
				    : json_real((double)status.duration_left_ns / 1e9));
	json_object_set_new(reply, "events", events_json(session));
	json_object_set_new(reply, "callgraph", callgraph_json(session));
	json_object_set_new(reply, "guest_context", guest_context_json(session));
	json_object_set_new(reply, "waits", waits_json(session, (double)status.uptime_ns / 1e9));
	vmop_json_put_number(reply, "cpus", status.source_stats.cpus_online);
	vmop_json_put_number(reply, "samples", status.profiler_stats.samples);
	vmop_json_put_number(reply, "unattributed", status.profiler_stats.unattributed);
	vmop_json_put_number(reply, "lost", status.source_stats.lost_records);
	vmop_json_put_number(reply, "throttled", status.source_stats.throttles);
	vmop_json_put_number(reply, "unhandled", status.source_stats.unhandled_records);
	vmop_json_put_number(reply, "malformed", status.source_stats.malformed_records);
	vmop_json_put_number(reply, "pauses", status.source_stats.pauses);
	json_object_set_new(reply, "paused_s",
			    json_real((double)status.source_stats.paused_ns / 1e9));
	vmop_json_put_number(reply, "store_full", status.profiler_stats.store_full);
	vmop_json_put_number(reply, "table_full", status.profiler_stats.table_full);
	vmop_json_put_number(reply, "store_gone", status.profiler_stats.store_gone);
	vmop_json_put_number(reply, "samples_rejected", status.profiler_stats.samples_rejected);
	vmop_json_put_number(reply, "facts_rejected", status.profiler_stats.facts_rejected);
	vmop_json_put_number(reply, "records", status.source_stats.records);
	vmop_json_put_number(reply, "source_bytes", status.source_stats.bytes);
	vmop_json_put_number(reply, "disk_bytes", status.disk_bytes);
	put_wal(reply, session, &status);
	json_object_set_new(reply, "longest_pause_s",
			    json_real((double)status.longest_pause_ns / 1e9));
	json_object_set_new(reply, "overhead_percent",
			    status.overhead_permyriad < 0
				    ? json_null()
				    : json_real(status.overhead_permyriad / 100));
	json_object_set_new(reply, "max_overhead_percent",
			    status.max_overhead_permyriad
				    ? json_real(status.max_overhead_permyriad / 100.0)
				    : json_null());
	vmop_json_put_number(reply, "rate_divisor", status.rate_divisor);
	if (status.memory_limit_bytes) {
		vmop_json_put_number(reply, "memory_limit_bytes", status.memory_limit_bytes);
		vmop_json_put_number(reply, "memory_left_bytes", status.memory_left_bytes);
	}
	vmop_json_put_number(reply, "memory_shortages", status.memory_shortages);
	vmop_json_put_number(reply, "memory_dropped", status.profiler_stats.memory_dropped);
	vmop_json_put_number(reply, "failures", status.failures);
	vmop_json_put_text(reply, "last_failure", status.last_failure);
	vmop_json_put_number(reply, "processes", status.profiler_stats.processes);
	vmop_json_put_number(reply, "images", status.profiler_stats.images);
	put_domains(reply, session);
}

json_t *vmop_status_reply(struct vmop_session *session, const char *last, const char *session_dir)
{
	json_t *reply = vmop_protocol_ok();
	if (!reply)
		return NULL;
	vmop_json_put_text(reply, "state", session ? "sampling" : "idle");
	json_object_set_new(reply, "daemon", daemon_json());
	vmop_json_put_text(reply, "session_dir", session_dir);
	vmop_json_put_text(reply, "last_session", last);
	if (session)
		put_session(reply, session);
	return reply;
}
