// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/session-open.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "daemon/xen/agent-messages.h"
#include "hv-interface/handed/events.h"
#include "libdb/session-files.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/io.h"
#include "libutil/log.h"

/*
 * Records younger than this stay in the rings until the next drain. Records are delivered in time
 * order, and another CPU may still be writing an older one.
 */
static const uint64_t settle_ns = 2000000;

/*
 * The longest time between two drains while contexts of guests are captured; and while files are
 * gone before they are looked for, because programs that end soon delete them.
 */
static const uint64_t drain_contexts_every_us = 50000, drain_soon_us = 10000;

/* The time between two reads of the agents' messages. Agents read theirs twice a second. */
static const unsigned mail_round_ms = 250;

/* The time between two looks at the thread that syncs the file. */
static const uint64_t disk_busy_us = 20000;

/* The time between two updates of the rows of events. */
static const uint64_t store_events_every_ns = 10 * VMOP_NS_PER_S;

void vmop_session_note_failure(struct vmop_session *session, struct vmop_error *err)
{
	if (!err)
		return;
	bool is_known = session->logged_failure && !strcmp(session->logged_failure, err->message);
	if (!session->is_failing && !is_known) {
		vmop_log_warning("%s (sampling goes on; what is lost is counted)", err->message);
		free(session->logged_failure);
		session->logged_failure = strdup(err->message);
	}
	session->is_failing = true;
	session->failures++;
	free(session->last_failure);
	session->last_failure = strdup(err->message);
	vmop_error_destroy(err);
}

static void note_stored(struct vmop_session *session)
{
	if (session->is_store_failing) {
		vmop_log_notice("%s: can be written again", session->path);
		free(session->logged_failure);
		session->logged_failure = NULL;
	}
	session->is_failing = session->is_store_failing = false;
}

/* Log throttling once a session. --status and the session's losses have the number. */
static void log_throttled(struct vmop_session *session)
{
	struct vmop_source_stats stats;
	vmop_source_stats(session->source, &stats);
	if (session->throttling_was_logged || stats.throttles <= session->at_file_start.throttles)
		return;
	session->throttling_was_logged = true;
	vmop_log_warning("the kernel holds back an event that comes too often: it is missing from "
			 "a part of the samples; give a higher count or a lower frequency (sysctl "
			 "kernel.perf_event_max_sample_rate is the limit)");
}

void vmop_session_store_events(struct vmop_session *session, uint64_t now_monotonic)
{
	if (session->is_failing || !session->file.db ||
	    now_monotonic - session->events_stored_ns < store_events_every_ns)
		return;
	session->events_stored_ns = now_monotonic;
	for (size_t i = 0; i < vmop_source_n_events(session->source); i++) {
		if (!vmop_event_is_multiplexed(vmop_source_event(session->source, i)))
			continue;
		vmop_session_note_failure(session, vmop_profiler_store_events(session->profiler));
		return;
	}
}

void vmop_session_copy_samples(struct vmop_session *session)
{
	if (!session->active)
		return;
	const struct vmop_sample_copy copy = vmop_active_guests_copy(session->active);
	vmop_profiler_copy_samples(session->profiler, &copy);
}

/* ---- intervals ------------------------------------------------------------- */

uint64_t vmop_session_time_ns(const struct vmop_session *session, uint64_t monotonic_ns)
{
	return session->start_realtime_ns + (monotonic_ns - session->start_monotonic_ns);
}

struct vmop_error *vmop_session_flush(struct vmop_session *session)
{
	uint64_t now = vmop_clock_ns(CLOCK_MONOTONIC);
	uint64_t begun = session->interval_monotonic_ns;
	uint64_t start = vmop_session_time_ns(session, begun);
	session->interval_monotonic_ns = now;
	struct vmop_error *err = vmop_profiler_flush(session->profiler, start, now - begun);
	session->is_store_failing |= err != NULL;
	return err;
}

/* now_ns is the end of the last interval. */
static void roll_up(struct vmop_session *session, uint64_t now_ns)
{
	if (!session->is_failing && session->file.db)
		vmop_session_note_failure(session,
					  vmop_roll_up(&session->roll_up, session->file.db,
						       session->profiler, &session->setup, now_ns));
}

/* End a pause of this thread, at the latest when it goes to sleep. */
static void end_pause(struct vmop_session *session)
{
	uint64_t woken_us = 0;
	if (!session->is_replay && sd_event_now(session->loop, CLOCK_MONOTONIC, &woken_us) == 0)
		vmop_pause_end(&session->pause, woken_us * 1000, vmop_clock_ns(CLOCK_MONOTONIC));
}

static int on_sleep(sd_event_source *source, void *arg)
{
	(void)source;
	end_pause(arg);
	return 0;
}

struct vmop_error *vmop_session_drain(struct vmop_session *session, uint64_t up_to_ns)
{
	end_pause(session);
	struct vmop_error *err = vmop_source_drain(session->source, up_to_ns, &session->sink, NULL);
	vmop_profiler_drained(session->profiler);
	session->pause.drained_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	if (!err && vmop_profiler_wants_flush(session->profiler))
		err = vmop_session_flush(session);
	return err;
}

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct vmop_session *session = arg;
	(void)source;
	(void)fd;
	(void)events;
	vmop_session_note_failure(
		session, vmop_session_drain(session, vmop_clock_ns(CLOCK_MONOTONIC) - settle_ns));
	return 0;
}

/*
 * Drain the rings for the contexts of guests, whose files and processes must be looked up before
 * the guest forgets them.
 */
static int on_contexts_due(sd_event_source *timer, uint64_t due_us, void *arg)
{
	struct vmop_session *session = arg;
	(void)due_us;
	vmop_session_note_failure(
		session, vmop_session_drain(session, vmop_clock_ns(CLOCK_MONOTONIC) - settle_ns));
	sd_event_source_set_time_relative(timer, vmop_profiler_loses_files(session->profiler)
							 ? drain_soon_us
							 : drain_contexts_every_us);
	return 0;
}

/* Drain more often while contexts of guests can come: a host without guests is not woken for it. */
static void watch_contexts(struct vmop_session *session)
{
	if (!session->contexts_timer)
		return;
	bool is_on = vmop_profiler_has_guests(session->profiler);
	int was_on;
	sd_event_source_get_enabled(session->contexts_timer, &was_on);
	if (is_on == (was_on == SD_EVENT_ON))
		return;
	sd_event_source_set_time_relative(session->contexts_timer, drain_contexts_every_us);
	sd_event_source_set_enabled(session->contexts_timer, is_on ? SD_EVENT_ON : SD_EVENT_OFF);
}

bool vmop_session_is_disk_busy(const struct vmop_session *session)
{
	return session->file.db && vmop_db_is_checkpointing(session->file.db);
}

static int on_flush(sd_event_source *timer, uint64_t due_us, void *arg)
{
	struct vmop_session *session = arg;
	(void)due_us;
	uint64_t now = vmop_clock_ns(CLOCK_MONOTONIC);
	vmop_session_note_failure(session, vmop_session_drain(session, now - settle_ns));
	vmop_session_note_failure(session, vmop_source_check_cpus(session->source));
	vmop_session_note_failure(session, vmop_profiler_tick(session->profiler));
	watch_contexts(session);
	vmop_session_release_checkpoints(session, now);
	if (session->rotation.is_late && !vmop_session_is_disk_busy(session))
		vmop_session_rotate_if_due(session);
	if (vmop_session_is_disk_busy(session)) {
		sd_event_source_set_time_relative(timer, disk_busy_us);
		sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
		return 0;
	}
	struct vmop_error *err = vmop_session_flush(session);
	if (!err && session->file.db)
		err = vmop_db_checkpoint_failure(session->file.db);
	bool had_file = session->file.db != NULL;
	if (had_file)
		vmop_session_check_place(session);
	if (had_file && !session->file.db)
		vmop_error_destroy(err); /* that check has reported the missing file already */
	else if (err)
		vmop_session_note_failure(session, err);
	else if (had_file)
		note_stored(session);
	if (!had_file)
		vmop_session_begin_again(session);
	log_throttled(session);
	vmop_session_store_events(session, now);
	roll_up(session, vmop_session_time_ns(session, session->interval_monotonic_ns));
	vmop_session_limit_cost(session);
	vmop_session_limit_memory(session);
	vmop_session_follow_clock(session);
	vmop_session_rotate_if_due(session);
	sd_event_source_set_time_relative(timer, session->setup.flush_ns / 1000);
	sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
	return 0;
}

/* Take the samples of active guests out of the rings, because their agents wait for them. */
static void drain_for_active(struct vmop_session *session)
{
	uint64_t up_to_ns = vmop_clock_ns(CLOCK_MONOTONIC) - settle_ns;
	vmop_session_note_failure(session, vmop_session_drain(session, up_to_ns));
	vmop_active_guests_complete(session->active, up_to_ns);
}

/* Go on with active guests. */
static int on_active_due(sd_event_source *timer, uint64_t due_us, void *arg)
{
	struct vmop_session *session = arg;
	(void)due_us;
	if (session->setup.active_samples_by_host)
		drain_for_active(session);
	vmop_active_guests_step(session->active, vmop_profiler_domains(session->profiler),
				vmop_profiler_guests(session->profiler),
				vmop_session_time_ns(session, 0));
	sd_event_source_set_time_relative(timer, VMOP_ACTIVE_STEP_NS / 1000);
	return 0;
}

static int on_end(sd_event_source *timer, uint64_t due_us, void *arg)
{
	struct vmop_session *session = arg;
	(void)timer;
	(void)due_us;
	session->ended(session->arg);
	return 0;
}

/* ---- replay, in the time of the records --------------------------------------- */

void vmop_session_replay_flush(struct vmop_session *session, uint64_t record_ns)
{
	uint64_t start = session->start_realtime_ns +
			 (session->replay_flushed_ns - session->replay_begun_ns);
	struct vmop_error *err = vmop_profiler_tick(session->profiler);
	if (!err)
		err = vmop_profiler_flush(session->profiler, start,
					  record_ns - session->replay_flushed_ns);
	session->replay_flushed_ns = record_ns;
	log_throttled(session);
	vmop_session_note_failure(session, err);
	roll_up(session, start);
}

/* Pass a replayed record to the profiler, after a flush if the record begins a new interval. */
static void replay_record(void *arg, const struct vmop_record *record,
			  const struct vmop_stack_capture *stack)
{
	struct vmop_session *session = arg;
	uint64_t now = record->time_ns;
	if (now && !session->replay_begun_ns)
		session->replay_begun_ns = session->replay_flushed_ns = now;
	if (now > session->replay_flushed_ns &&
	    (now - session->replay_flushed_ns >= session->setup.flush_ns ||
	     vmop_profiler_wants_flush(session->profiler)))
		vmop_session_replay_flush(session, now);
	session->sink.record(session->sink.arg, record, stack);
}

static int on_replay(sd_event_source *source, void *arg)
{
	struct vmop_session *session = arg;
	const struct vmop_sink sink = {.record = replay_record, .arg = session};
	bool has_ended = false;
	struct vmop_error *err = vmop_source_drain(session->source, UINT64_MAX, &sink, &has_ended);
	session->replay_error = err;
	if (err || has_ended) {
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
		session->ended(session->arg);
	}
	return 0;
}

/* ---- life ------------------------------------------------------------------------ */

static void session_free(struct vmop_session *session)
{
	sd_event_source_disable_unref(session->readable);
	sd_event_source_disable_unref(session->flush_timer);
	sd_event_source_disable_unref(session->contexts_timer);
	sd_event_source_disable_unref(session->active_timer);
	sd_event_source_disable_unref(session->end_timer);
	sd_event_source_disable_unref(session->step);
	vmop_session_close_fetching(session);
	vmop_profiler_destroy(session->profiler);
	vmop_session_file_close(&session->file);
	vmop_error_destroy(vmop_file_keeper_destroy(session->keeper));
	vmop_source_close(session->source);
	vmop_agent_messages_close(session->mail);
	vmop_pairing_deinit(&session->pairing);
	vmop_setup_deinit(&session->setup);
	vmop_error_destroy(session->replay_error);
	free(session->last_failure);
	free(session->logged_failure);
	free(session->path);
	free(session);
}

static struct vmop_error *open_source(struct vmop_session *session, const char *replay_path,
				      struct vmop_handed_feed *feed)
{
	const struct vmop_setup *setup = &session->setup;
	struct vmop_event_request requests[VMOP_SETUP_MAX_LIST];
	size_t n = 0;
	struct vmop_error *err = NULL;
	while (n < setup->events.n && !err) {
		err = vmop_event_request_parse(setup->events.items[n], &requests[n]);
		n += !err;
	}
	if (!err && setup->active_samples_by_host && session->source_ops->uses_agents)
		err = vmop_error_new(VMOP_ERROR_CANT, "active-samples: Xen hands samples to active "
						      "domains itself; 'host' is for KVM");
	if (!err && setup->active_domains.n && session->source_ops->uses_agents)
		err = vmop_agent_messages_open(mail_round_ms, &session->mail);
	const struct vmop_source_setup source_setup = {
		.events = requests,
		.n_events = n,
		.buffer_bytes = setup->buffer_bytes,
		.stacks = setup->stacks,
		.wants_guest_context = vmop_setup_wants_guest_context(setup),
		.replay_path = replay_path,
		.active = session->mail ? vmop_agent_messages_opener(session->mail) : NULL,
		.feed = feed,
	};
	if (!err)
		err = vmop_source_open(session->source_ops, &source_setup, &session->source);
	while (n)
		vmop_event_request_deinit(&requests[--n]);
	return err;
}

/*
 * Describe the events of samples that are handed over. The caller frees the texts, after errors
 * too.
 */
static struct vmop_error *format_events(struct vmop_source *source,
					struct vmop_active_host_events *ret)
{
	bool has_stacks = vmop_source_stacks(source, NULL)->mode != VMOP_STACKS_OFF &&
			  vmop_source_guest_maps(source, NULL);
	ret->text = vmop_handed_events_format(source, false);
	if (has_stacks)
		ret->text_with_stacks = vmop_handed_events_format(source, true);
	return ret->text && (ret->text_with_stacks || !has_stacks) ? NULL : &vmop_error_no_memory;
}

/* Listen for the agents of active guests, if the set-up names any that the source does not drive.
 */
static struct vmop_error *open_active(struct vmop_session *session)
{
	if (!session->setup.active_domains.n || session->source_ops->uses_agents ||
	    session->is_replay || vmop_source_reach(session->source) != VMOP_REACH_ALL)
		return NULL;
	struct vmop_active_host_events events = {0};
	bool is_handed = session->setup.active_samples_by_host;
	struct vmop_error *err = is_handed ? format_events(session->source, &events) : NULL;
	if (!err)
		err = vmop_active_guests_create(&session->setup, is_handed ? &events : NULL,
						&session->active);
	free(events.text);
	free(events.text_with_stacks);
	if (!err)
		vmop_session_copy_samples(session);
	return err;
}

static struct vmop_error *make_session_dir(const char *dir)
{
	/* A directory named by the user must exist but for its last part: it may be a typing error.
	 */
	struct vmop_error *err =
		strcmp(dir, VMOP_STATEDIR) ? NULL : vmop_io_make_dir(VMOP_STATEDIR, 0755);
	if (err)
		return vmop_error_prefix(err, "session-dir");
	return vmop_session_make_dir(dir);
}

/* Add the session's sources of events to the loop. */
static struct vmop_error *arm(struct vmop_session *session, uint64_t duration_ns)
{
	sd_event *loop = session->loop;
	if (session->is_replay) {
		int status = sd_event_add_defer(loop, &session->step, on_replay, session);
		if (status >= 0)
			status = sd_event_source_set_enabled(session->step, SD_EVENT_ON);
		/* A lower priority than signals and the watchdog, which a replay must not starve.
		 */
		if (status >= 0)
			status =
				sd_event_source_set_priority(session->step, SD_EVENT_PRIORITY_IDLE);
		return status < 0 ? vmop_error_os(-status, "event loop") : NULL;
	}
	int fd = vmop_source_poll_fd(session->source);
	int status = 0;
	if (fd >= 0)
		status = sd_event_add_io(loop, &session->readable, fd, EPOLLIN, on_readable,
					 session);
	if (status >= 0)
		status = sd_event_add_time_relative(loop, &session->flush_timer, CLOCK_MONOTONIC,
						    session->setup.flush_ns / 1000, 1000, on_flush,
						    session);
	if (status >= 0)
		status = sd_event_source_set_prepare(session->flush_timer, on_sleep);
	if (status >= 0 && vmop_source_guest_maps(session->source, NULL)) {
		status = sd_event_add_time_relative(loop, &session->contexts_timer, CLOCK_MONOTONIC,
						    drain_contexts_every_us, 1000, on_contexts_due,
						    session);
		if (status >= 0)
			status = sd_event_source_set_enabled(session->contexts_timer, SD_EVENT_ON);
	}
	if (status >= 0 && session->active) {
		status = sd_event_add_time_relative(loop, &session->active_timer, CLOCK_MONOTONIC,
						    0, 1000, on_active_due, session);
		if (status >= 0)
			status = sd_event_source_set_enabled(session->active_timer, SD_EVENT_ON);
	}
	if (status >= 0 && duration_ns) {
		session->end_monotonic_ns = vmop_clock_ns(CLOCK_MONOTONIC) + duration_ns;
		/* Not relative: the loop's own time is older than the start of sampling. */
		status = sd_event_add_time(loop, &session->end_timer, CLOCK_MONOTONIC,
					   session->end_monotonic_ns / 1000, 1000, on_end, session);
	}
	return status < 0 ? vmop_error_os(-status, "event loop") : NULL;
}

static struct vmop_error *copy_setup(const struct vmop_setup *setup, struct vmop_setup *ret)
{
	_cleanup_free_ char *text = NULL;
	struct vmop_error *err = vmop_setup_format(setup, &text);
	if (!err)
		err = vmop_setup_init(ret);
	if (!err)
		err = vmop_setup_parse(ret, "set-up", text);
	return err;
}

/* Begin to sample, then put the file in its place. */
static struct vmop_error *begin(struct vmop_session *session, uint64_t duration_ns)
{
	const char *dir = session->setup.session_dir;
	struct vmop_session_succession succession = {0};
	struct vmop_session_file file;
	struct vmop_profiler *profiler = NULL;
	uint64_t start_ns = vmop_clock_ns(CLOCK_REALTIME);
	struct vmop_error *err = vmop_session_begin_file(session, start_ns, &file);
	if (err)
		return err;
	err = vmop_session_create_profiler(session, file.db, false, &profiler);
	if (!err) {
		vmop_session_take_up(session, &VMOP_SESSION_FILE_NONE, profiler, start_ns);
		session->pause.drained_ns =
			vmop_clock_ns(CLOCK_MONOTONIC); /* the rings are empty */
		err = open_active(session);
		if (!err)
			err = vmop_session_open_fetching(session);
		if (!err)
			err = vmop_source_start(session->source);
	}
	if (!err && !session->is_replay)
		err = vmop_profiler_scan(profiler);
	if (!err)
		vmop_session_limit_memory(session);
	if (!err)
		err = arm(session, duration_ns);
	if (err) {
		vmop_session_file_discard(&file, dir);
		return err;
	}
	err = vmop_session_file_publish(&file, dir, &succession);
	if (err) {
		vmop_session_file_discard(&file, dir);
		return err;
	}
	session->file = file;
	vmop_session_log_kept(session, succession.kept);
	free(succession.kept);
	return err;
}

static struct vmop_error *session_open(struct vmop_session *session,
				       const struct vmop_session_options *options)
{
	struct vmop_error *err = copy_setup(options->setup, &session->setup);
	if (!err)
		err = vmop_setup_check(&session->setup);
	if (!err)
		err = vmop_pairing_init(&session->pairing, &session->setup);
	/* Open the source first: it fails most often, and touches no file. */
	if (!err)
		err = open_source(session, options->replay_path, options->feed);
	if (!err)
		err = make_session_dir(session->setup.session_dir);
	if (err)
		return err;
	vmop_session_cost_init(session);
	const struct vmop_clock_reading now = vmop_clock_watch_read();
	vmop_clock_watch_init(&session->clock, &now);
	session->path = vmop_session_path(session->setup.session_dir, VMOP_SESSION_CURRENT);
	return session->path ? begin(session, options->duration_ns) : &vmop_error_no_memory;
}

struct vmop_error *vmop_session_start(const struct vmop_session_options *options,
				      struct vmop_session **ret)
{
	struct vmop_session *session = calloc(1, sizeof(*session));
	if (!session)
		return &vmop_error_no_memory;
	session->source_ops = options->source;
	session->is_replay = options->source->is_recorded;
	session->is_active = options->is_active;
	snprintf(session->given_uuid, sizeof(session->given_uuid), "%s",
		 options->given_uuid ? options->given_uuid : "");
	session->loop = options->loop;
	session->ended = options->ended;
	session->arg = options->arg;
	session->file = VMOP_SESSION_FILE_NONE;
	struct vmop_error *err = session_open(session, options);
	if (err)
		session_free(session);
	else
		*ret = session;
	return err;
}

struct vmop_error *vmop_session_stop(struct vmop_session *session, char **ret_stacks)
{
	*ret_stacks = NULL;
	if (!session)
		return NULL;
	vmop_session_note_failure(session, vmop_source_stop(session->source));
	if (!session->is_replay)
		vmop_session_note_failure(session, vmop_session_drain(session, UINT64_MAX));
	struct vmop_error *err = vmop_steal(&session->replay_error);
	err = vmop_error_first(err, vmop_session_finish_file(session));
	err = vmop_error_first(err, vmop_file_keeper_destroy(vmop_steal(&session->keeper)));
	/* The wait for agents is no part of the session's time. */
	vmop_session_end_fetching(session);
	*ret_stacks = vmop_session_stacks_count_text(session);
	session_free(session);
	return err;
}

struct vmop_error *vmop_session_pause(struct vmop_session *session)
{
	return vmop_source_pause(session->source);
}

struct vmop_error *vmop_session_resume(struct vmop_session *session)
{
	return vmop_source_resume(session->source);
}

struct vmop_error *vmop_session_dump(struct vmop_session *session)
{
	struct vmop_error *err = vmop_session_drain(session, vmop_clock_ns(CLOCK_MONOTONIC));
	if (!err)
		err = vmop_profiler_tick(session->profiler);
	if (!err)
		err = vmop_session_flush(session);
	if (!err && session->file.db) {
		note_stored(session);
		vmop_session_check_place(session);
	}
	return !err && !session->file.db ? vmop_session_no_file(session) : err;
}

/* ---- status ------------------------------------------------------------------------ */

static void subtract(struct vmop_source_stats *stats, const struct vmop_source_stats *before)
{
	stats->records -= before->records;
	stats->samples -= before->samples;
	stats->lost_records -= before->lost_records;
	stats->throttles -= before->throttles;
	stats->unhandled_records -= before->unhandled_records;
	stats->malformed_records -= before->malformed_records;
	stats->bytes -= before->bytes;
	stats->pauses -= before->pauses;
	stats->paused_ns -= before->paused_ns;
}

void vmop_session_status(struct vmop_session *session, struct vmop_session_status *ret)
{
	uint64_t now = vmop_clock_ns(CLOCK_MONOTONIC);
	*ret = (struct vmop_session_status){
		.path = session->file.db ? session->path : NULL,
		.source = session->source_ops->name,
		.is_recorded = session->source_ops->is_recorded,
		.transport = vmop_source_transport(session->source),
		.start_ns = session->start_realtime_ns,
		.uptime_ns = now - session->start_monotonic_ns,
		.duration_left_ns = UINT64_MAX,
		.wal_bytes = session->file.db ? vmop_db_wal_bytes(session->file.db) : 0,
		.wal_since_ns = session->wal.since_ns,
		.longest_pause_ns = session->pause.longest_ns,
		.overhead_permyriad = session->overhead.used_permyriad,
		.max_overhead_permyriad = session->overhead.limit_permyriad,
		.rate_divisor = session->overhead.divisor,
		.memory_limit_bytes = session->memory.limit.limit_bytes,
		.memory_left_bytes = session->memory.limit.left_bytes,
		.memory_shortages = session->memory.n_shortages,
		.failures = session->failures,
		.last_failure = session->last_failure,
	};
	if (session->end_monotonic_ns)
		ret->duration_left_ns =
			session->end_monotonic_ns > now ? session->end_monotonic_ns - now : 0;
	if (session->file.db)
		vmop_error_destroy(vmop_db_size_bytes(session->file.db, &ret->disk_bytes));
	vmop_source_stats(session->source, &ret->source_stats);
	subtract(&ret->source_stats, &session->at_file_start);
	vmop_profiler_stats(session->profiler, &ret->profiler_stats);
}

const struct vmop_event_info *vmop_session_event(const struct vmop_session *session, size_t i)
{
	return vmop_profiler_event(session->profiler, i);
}

bool vmop_session_event_is_of_guests(const struct vmop_session *session, size_t i)
{
	return i >= vmop_source_n_events(session->source);
}

const struct vmop_stack_options *vmop_session_stacks(const struct vmop_session *session,
						     const char **ret_note)
{
	const struct vmop_stack_options *stacks = vmop_source_stacks(session->source, ret_note);
	bool is_asked = session->setup.stacks.mode != VMOP_STACKS_OFF;
	if (is_asked && stacks->mode == VMOP_STACKS_OFF && !*ret_note)
		*ret_note = "this source captures none";
	return stacks;
}

void vmop_session_guest_context(const struct vmop_session *session,
				struct vmop_session_context *ret)
{
	const char *note;
	const struct vmop_guest_maps *maps = vmop_source_guest_maps(session->source, &note);
	bool is_required = session->setup.guest_context == VMOP_SETUP_CONTEXT_ON;
	bool is_asked = is_required || (vmop_setup_wants_guest_context(&session->setup) &&
					session->source_ops->guest_maps);
	*ret = (struct vmop_session_context){
		.is_on = maps != NULL, .is_required = is_required, .note = is_asked ? note : NULL};
	if (maps)
		vmop_guest_maps_facts(maps, &ret->facts);
}

bool vmop_session_waits(const struct vmop_session *session, struct vmop_waits_facts *ret,
			const char **ret_note)
{
	return vmop_profiler_waits(session->profiler, ret, ret_note);
}

bool vmop_session_domain(const struct vmop_session *session, size_t i,
			 struct vmop_domain_stats *ret)
{
	return vmop_profiler_domain(session->profiler, i, ret);
}
