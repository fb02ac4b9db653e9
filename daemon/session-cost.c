// SPDX-License-Identifier: GPL-2.0-or-later
/* The cost of a session: the CPU time and memory of the daemon, and the rate that max-overhead
 * allows. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "daemon/session-open.h"
#include "libutil/clock.h"
#include "libutil/log.h"

/* The time between two updates of the facts in the file. */
static const uint64_t store_every_ns = 60 * VMOP_NS_PER_S;

/* Return the CPU time of the daemon's threads and of its BPF programs at samples of guests. */
static uint64_t own_cpu_ns(const struct vmop_session *session)
{
	uint64_t cpu_ns = vmop_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct vmop_guest_maps_facts facts = {0};
	const struct vmop_guest_maps *maps = vmop_source_guest_maps(session->source, NULL);
	if (maps)
		vmop_guest_maps_facts(maps, &facts);
	return cpu_ns + facts.cost_ns;
}

void vmop_session_cost_init(struct vmop_session *session)
{
	const struct vmop_setup *setup = &session->setup;
	vmop_overhead_init(&session->overhead, setup->max_overhead_permyriad, setup->flush_ns);
	if (setup->max_overhead_permyriad && !vmop_source_has_rate(session->source)) {
		session->overhead.limit_permyriad = 0;
		vmop_log_warning("max-overhead: the rate of this source can't be changed while it "
				 "samples: it has no effect");
	}
}

/* Put the notes on the rate at the source's events, and the events into the file. */
static struct vmop_error *set_rate(struct vmop_session *session)
{
	char *notes[VMOP_SETUP_MAX_LIST] = {NULL};
	size_t n = vmop_source_n_events(session->source);
	for (size_t i = 0; i < n && i < VMOP_SETUP_MAX_LIST; i++)
		notes[i] = vmop_rate_history_note(&session->rates,
						  vmop_source_event(session->source, i));
	struct vmop_error *err = vmop_source_set_rate(session->source, session->overhead.divisor,
						      (const char *const *)notes);
	for (size_t i = 0; i < VMOP_SETUP_MAX_LIST; i++)
		free(notes[i]);
	if (session->file.db)
		err = vmop_error_first(err, vmop_profiler_store_events(session->profiler));
	return err;
}

void vmop_session_cost_begin_file(struct vmop_session *session)
{
	session->cost_begun_ns = own_cpu_ns(session);
	session->cost_stored_ns = session->start_monotonic_ns;
	bool was_lowered = session->rates.n > 0;
	vmop_rate_history_begin_file(&session->rates, session->start_realtime_ns);
	if (was_lowered)
		vmop_session_note_failure(session, set_rate(session));
}

/* Log the first time that the limit cannot be kept. */
static void log_beyond(struct vmop_session *session)
{
	const struct vmop_overhead *overhead = &session->overhead;
	if (!overhead->is_beyond || session->beyond_was_logged)
		return;
	session->beyond_was_logged = true;
	vmop_log_warning(
		"max-overhead: vmopd uses %.2f %% of all CPUs' time at the lowest rate, too: "
		"it follows the processes, whatever the rate",
		overhead->used_permyriad / 100);
}

void vmop_session_limit_cost(struct vmop_session *session)
{
	struct vmop_overhead *overhead = &session->overhead;
	struct vmop_source_stats stats;
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	unsigned before = overhead->divisor;
	vmop_source_stats(session->source, &stats);
	if (vmop_overhead_check(overhead, now_ns, own_cpu_ns(session), stats.cpus_online)) {
		vmop_log_notice(
			"max-overhead: vmopd uses %.2f %% of all CPUs' time: the rate of samples "
			"is %s to 1/%u of the set-up's",
			overhead->used_permyriad / 100,
			overhead->divisor > before ? "lowered" : "raised", overhead->divisor);
		vmop_rate_history_change(&session->rates, vmop_session_time_ns(session, now_ns),
					 overhead->divisor);
		vmop_session_note_failure(session, set_rate(session));
	}
	log_beyond(session);
	if (now_ns - session->cost_stored_ns >= store_every_ns)
		vmop_session_note_failure(session, vmop_session_store_cost(session));
}

static struct vmop_error *put_number(struct vmop_session *session, const char *name, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, value);
	return vmop_db_put_info(session->file.db, name, text);
}

struct vmop_error *vmop_session_store_cost(struct vmop_session *session)
{
	struct rusage usage;
	if (!session->file.db || session->is_replay)
		return NULL;
	session->cost_stored_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	getrusage(RUSAGE_SELF, &usage);
	struct vmop_error *err =
		put_number(session, "cpu_ns", own_cpu_ns(session) - session->cost_begun_ns);
	if (!err)
		err = put_number(session, "peak_rss_bytes", (uint64_t)usage.ru_maxrss * 1024);
	if (!err)
		err = put_number(session, "longest_pause_ns", session->pause.longest_ns);
	return err;
}
