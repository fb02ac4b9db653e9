// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/pairing.h"
#include "daemon/roll-up.h"
#include "daemon/session-file.h"
#include "daemon/xen/agent-messages.h"
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

/* The time between two reads of the agents' messages. Agents read theirs twice a second. */
static const unsigned mail_round_ms = 250;

/* The time between two updates of the rows of events. */
static const uint64_t store_events_every_ns = 10 * VMOP_NS_PER_S;

struct vmop_session {
	struct vmop_setup setup;
	const struct vmop_source_ops *source_ops;
	struct vmop_pairing pairing;
	sd_event *loop;
	sd_event_source *readable, *flush_timer, *end_timer, *step;
	void (*ended)(void *arg);
	void *arg;

	struct vmop_agent_messages *mail; /* of the source; NULL: no active domains */
	struct vmop_source *source;
	struct vmop_source_stats
		at_file_start;	       /* the source's counters at the start of this file */
	struct vmop_session_file file; /* without one the profiler only counts */
	struct vmop_profiler *profiler;
	struct vmop_sink sink; /* the profiler's */
	char *path;	       /* of current.vmop */

	uint64_t start_realtime_ns, start_monotonic_ns; /* of this file */
	uint64_t interval_monotonic_ns;			/* start of the open interval */
	uint64_t end_monotonic_ns;			/* 0: no end is set */
	uint64_t events_stored_ns;
	struct vmop_roll_up roll_up; /* of this file */
	bool is_replay;
	struct vmop_error *replay_error;	     /* it ended the replay early */
	uint64_t replay_begun_ns, replay_flushed_ns; /* time of the records; 0: no record yet */

	uint64_t failures;
	char *last_failure;
	char *logged_failure;  /* the last one logged: a repetition is not logged */
	bool is_failing;       /* since the last stored interval */
	bool is_store_failing; /* the store is the cause */
	bool throttling_was_logged;
};

/* Log the first of consecutive failures, and keep the last one for --status. */
static void note_failure(struct vmop_session *session, struct vmop_error *err)
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

/* Store how long each event had a counter, if events share counters. */
static void store_events(struct vmop_session *session, uint64_t now_monotonic)
{
	if (session->is_failing || !session->file.db ||
	    now_monotonic - session->events_stored_ns < store_events_every_ns)
		return;
	session->events_stored_ns = now_monotonic;
	for (size_t i = 0; i < vmop_source_n_events(session->source); i++) {
		if (!vmop_event_is_multiplexed(vmop_source_event(session->source, i)))
			continue;
		note_failure(session, vmop_profiler_store_events(session->profiler));
		return;
	}
}

/* ---- intervals ------------------------------------------------------------- */

static struct vmop_error *flush(struct vmop_session *session)
{
	uint64_t now = vmop_clock_ns(CLOCK_MONOTONIC);
	uint64_t begun = session->interval_monotonic_ns;
	uint64_t start = session->start_realtime_ns + (begun - session->start_monotonic_ns);
	session->interval_monotonic_ns = now;
	struct vmop_error *err = vmop_profiler_flush(session->profiler, start, now - begun);
	session->is_store_failing |= err != NULL;
	return err;
}

/* now_ns is CLOCK_REALTIME, in a replay the time of the records. */
static void roll_up(struct vmop_session *session, uint64_t now_ns)
{
	if (!session->is_failing && session->file.db)
		note_failure(session, vmop_roll_up(&session->roll_up, session->file.db,
						   session->profiler, &session->setup, now_ns));
}

static struct vmop_error *drain(struct vmop_session *session, uint64_t up_to_ns)
{
	struct vmop_error *err = vmop_source_drain(session->source, up_to_ns, &session->sink, NULL);
	vmop_profiler_drained(session->profiler);
	if (!err && vmop_profiler_wants_flush(session->profiler))
		err = flush(session);
	return err;
}

static void check_place(struct vmop_session *session);
static void begin_again(struct vmop_session *session);

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct vmop_session *session = arg;
	(void)source;
	(void)fd;
	(void)events;
	note_failure(session, drain(session, vmop_clock_ns(CLOCK_MONOTONIC) - settle_ns));
	return 0;
}

static int on_flush(sd_event_source *timer, uint64_t due_us, void *arg)
{
	struct vmop_session *session = arg;
	(void)due_us;
	uint64_t now = vmop_clock_ns(CLOCK_MONOTONIC);
	note_failure(session, drain(session, now - settle_ns));
	note_failure(session, vmop_source_check_cpus(session->source));
	note_failure(session, vmop_profiler_tick(session->profiler));
	struct vmop_error *err = flush(session);
	if (err)
		note_failure(session, err);
	else if (session->file.db)
		note_stored(session);
	if (session->file.db)
		check_place(session);
	else
		begin_again(session);
	log_throttled(session);
	store_events(session, now);
	roll_up(session, vmop_clock_ns(CLOCK_REALTIME));
	sd_event_source_set_time_relative(timer, session->setup.flush_ns / 1000);
	sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
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

static void replay_flush(struct vmop_session *session, uint64_t record_ns)
{
	uint64_t start = session->start_realtime_ns +
			 (session->replay_flushed_ns - session->replay_begun_ns);
	struct vmop_error *err = vmop_profiler_tick(session->profiler);
	if (!err)
		err = vmop_profiler_flush(session->profiler, start,
					  record_ns - session->replay_flushed_ns);
	session->replay_flushed_ns = record_ns;
	log_throttled(session);
	note_failure(session, err);
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
		replay_flush(session, now);
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

/* ---- the file ------------------------------------------------------------------ */

/* Create a profiler that writes db. goes_on: it continues the work of another profiler. */
static struct vmop_error *create_profiler(struct vmop_session *session, struct vmop_db *db,
					  bool goes_on, struct vmop_profiler **ret)
{
	const struct vmop_profiler_options options = {
		.setup = &session->setup,
		.passive_domains = session->pairing.domains,
		.n_passive_domains = session->pairing.n,
		.passive_images = session->pairing.images,
		.stacks = *vmop_source_stacks(session->source, NULL),
		.proc_root = "",
		.is_replay = session->is_replay,
		.goes_on = goes_on,
		.keeps_tasks = session->setup.minute_after_ns == 0, /* intervals are never merged */
	};
	return vmop_profiler_create(&options, session->source, db, ret);
}

/* Begin a file under a temporary name. vmop_session_file_publish puts it in its place. */
static struct vmop_error *begin_file(const struct vmop_session *session, uint64_t start_realtime_ns,
				     struct vmop_session_file *ret)
{
	*ret = VMOP_SESSION_FILE_NONE;
	struct vmop_error *err = vmop_session_create(session->setup.session_dir,
						     session->setup.session_mode, &ret->db);
	if (err)
		return err;
	vmop_db_drop_rejected(ret->db);
	err = vmop_session_file_put_facts(ret->db, &session->setup, session->source_ops->name,
					  start_realtime_ns);
	if (err)
		vmop_session_file_discard(ret, session->setup.session_dir);
	return err;
}

/* Replace the session's file and profiler. `profiler` writes `file`. */
static void take_up(struct vmop_session *session, const struct vmop_session_file *file,
		    struct vmop_profiler *profiler, uint64_t start_realtime_ns)
{
	if (session->profiler)
		vmop_profiler_inherit(profiler, session->profiler);
	vmop_profiler_destroy(session->profiler);
	session->profiler = profiler;
	session->sink = vmop_profiler_sink(profiler);
	session->file = *file;
	session->start_realtime_ns = start_realtime_ns;
	session->interval_monotonic_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	/* Creating the profiler took time: take the moment of the start for both clocks. */
	uint64_t realtime_ns = vmop_clock_ns(CLOCK_REALTIME);
	session->start_monotonic_ns = session->interval_monotonic_ns;
	if (realtime_ns > start_realtime_ns)
		session->start_monotonic_ns -= realtime_ns - start_realtime_ns;
	session->roll_up = (struct vmop_roll_up){0};
	vmop_source_stats(session->source, &session->at_file_start);
}

static void log_kept(const struct vmop_session *session, const char *kept)
{
	if (kept)
		vmop_log_info("%s: the last session is kept as %s%s", session->setup.session_dir,
			      kept, VMOP_SESSION_SUFFIX);
}

/* ---- a file that was moved or deleted -------------------------------------------------------- */

/* Return the number of samples that are in no file, for messages. */
static uint64_t count_gone(struct vmop_session *session)
{
	struct vmop_profiler_stats stats;
	vmop_profiler_stats(session->profiler, &stats);
	return stats.store_gone + vmop_profiler_waiting(session->profiler);
}

static struct vmop_error *no_file(struct vmop_session *session)
{
	return vmop_error_new(VMOP_ERROR_CANT,
			      "%s: it was deleted or moved while sampling; %" PRIu64
			      " samples since then are in no file",
			      session->path, count_gone(session));
}

/* Close the file. The profiler only counts samples from now on. */
static void lose_file(struct vmop_session *session)
{
	vmop_session_file_close(&session->file);
	vmop_profiler_detach(session->profiler);
	session->is_store_failing = true;
}

/* If the file was moved or deleted, complete it as far as possible, lose it and return true. */
static bool leave_if_gone(struct vmop_session *session)
{
	enum vmop_session_file_place place = vmop_session_file_place(&session->file, session->path);
	if (place == VMOP_SESSION_FILE_THERE)
		return false;
	if (place == VMOP_SESSION_FILE_DELETED) {
		vmop_profiler_count_last_as_gone(session->profiler);
	} else {
		vmop_profiler_set_ending(session->profiler, true);
		note_failure(session, flush(session));
		note_failure(session, vmop_session_file_put_end(session->file.db));
	}
	note_failure(session, vmop_session_file_abandon(&session->file));
	lose_file(session);
	note_failure(session,
		     vmop_error_new(VMOP_ERROR_CANT,
				    "%s: %s while sampling; a new session begins where its "
				    "directory is",
				    session->path,
				    place == VMOP_SESSION_FILE_DELETED ? "deleted" : "moved"));
	return true;
}

static void check_place(struct vmop_session *session)
{
	if (!session->is_replay)
		leave_if_gone(session);
}

/* Begin a new file if the session directory exists. */
static void begin_again(struct vmop_session *session)
{
	const char *dir = session->setup.session_dir;
	struct vmop_session_succession succession = {0};
	struct vmop_session_file file;
	struct vmop_profiler *profiler = NULL;
	struct stat st;
	if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	uint64_t start_ns = vmop_clock_ns(CLOCK_REALTIME);
	struct vmop_error *err = begin_file(session, start_ns, &file);
	if (!err)
		err = create_profiler(session, file.db, true, &profiler);
	if (!err)
		err = vmop_session_file_publish(&file, dir, &succession);
	else if (file.db)
		vmop_session_file_discard(&file, dir);
	if (err) {
		vmop_profiler_destroy(profiler);
		note_failure(session, err);
		return;
	}
	log_kept(session, succession.kept);
	free(succession.kept);
	vmop_log_notice("%s: a new session begins; %" PRIu64
			" samples were lost in between, which it counts",
			session->path, count_gone(session));
	note_failure(session, flush(session)); /* counts the waiting samples with the others */
	take_up(session, &file, profiler, start_ns);
	session->is_failing = session->is_store_failing = false;
	note_failure(session, vmop_profiler_scan(session->profiler));
}

/* ---- its end --------------------------------------------------------------------- */

/* Store everything that belongs to this file. */
static struct vmop_error *store_rest(struct vmop_session *session)
{
	vmop_profiler_set_ending(session->profiler, true);
	store_events(session, UINT64_MAX);
	if (session->is_replay && session->replay_begun_ns) {
		replay_flush(session, session->replay_flushed_ns + 1);
		return NULL;
	}
	return flush(session);
}

static struct vmop_error *unstored(struct vmop_session *session, struct vmop_error *err)
{
	uint64_t waiting = vmop_profiler_waiting(session->profiler);
	if (!err || !waiting)
		return err;
	struct vmop_error *full = vmop_error_new(
		err->code, "%s; %" PRIu64 " samples could not be stored and are lost", err->message,
		waiting);
	vmop_error_destroy(err);
	return full;
}

/* Store the rest and finish the file. Return the first error. */
static struct vmop_error *finish_file(struct vmop_session *session)
{
	if (!session->file.db || (!session->is_replay && leave_if_gone(session)))
		return no_file(session);
	struct vmop_error *err = unstored(session, store_rest(session));
	err = vmop_error_first(err, vmop_session_file_put_end(session->file.db));
	/* Check after the last write: the file may have been deleted meanwhile. */
	bool is_there =
		vmop_session_file_place(&session->file, session->path) == VMOP_SESSION_FILE_THERE;
	err = vmop_error_first(err, vmop_session_file_finish(&session->file));
	if (is_there || err)
		return err;
	vmop_profiler_count_last_as_gone(session->profiler);
	return no_file(session);
}

/* ---- life ------------------------------------------------------------------------ */

static void session_free(struct vmop_session *session)
{
	sd_event_source_disable_unref(session->readable);
	sd_event_source_disable_unref(session->flush_timer);
	sd_event_source_disable_unref(session->end_timer);
	sd_event_source_disable_unref(session->step);
	vmop_profiler_destroy(session->profiler);
	vmop_session_file_close(&session->file);
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

static struct vmop_error *open_source(struct vmop_session *session, const char *replay_path)
{
	const struct vmop_setup *setup = &session->setup;
	struct vmop_event_request requests[VMOP_SETUP_MAX_LIST];
	size_t n = 0;
	struct vmop_error *err = NULL;
	while (n < setup->events.n && !err) {
		err = vmop_event_request_parse(setup->events.items[n], &requests[n]);
		n += !err;
	}
	if (!err && setup->active_domains.n && session->source_ops->uses_agents)
		err = vmop_agent_messages_open(mail_round_ms, &session->mail);
	const struct vmop_source_setup source_setup = {
		.events = requests,
		.n_events = n,
		.buffer_bytes = setup->buffer_bytes,
		.stacks = setup->stacks,
		.replay_path = replay_path,
		.active = session->mail ? vmop_agent_messages_opener(session->mail) : NULL,
	};
	if (!err)
		err = vmop_source_open(session->source_ops, &source_setup, &session->source);
	while (n)
		vmop_event_request_deinit(&requests[--n]);
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
	struct vmop_error *err = begin_file(session, start_ns, &file);
	if (err)
		return err;
	err = create_profiler(session, file.db, false, &profiler);
	if (!err) {
		take_up(session, &VMOP_SESSION_FILE_NONE, profiler, start_ns);
		err = vmop_source_start(session->source);
	}
	if (!err && !session->is_replay)
		err = vmop_profiler_scan(profiler);
	if (!err)
		err = arm(session, duration_ns);
	if (err) {
		vmop_session_file_discard(&file, dir);
		return err;
	}
	err = vmop_session_file_publish(&file, dir, &succession);
	session->file = file;
	log_kept(session, succession.kept);
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
		err = open_source(session, options->replay_path);
	if (!err)
		err = make_session_dir(session->setup.session_dir);
	if (err)
		return err;
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
	note_failure(session, vmop_source_stop(session->source));
	if (!session->is_replay)
		note_failure(session, drain(session, UINT64_MAX));
	struct vmop_error *err = vmop_steal(&session->replay_error);
	err = vmop_error_first(err, finish_file(session));
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
	struct vmop_error *err = drain(session, vmop_clock_ns(CLOCK_MONOTONIC));
	if (!err)
		err = vmop_profiler_tick(session->profiler);
	if (!err)
		err = flush(session);
	if (!err && session->file.db) {
		note_stored(session);
		check_place(session);
	}
	return !err && !session->file.db ? no_file(session) : err;
}

static struct vmop_error *find_free_path(const char *dir, const char *name, char **ret)
{
	struct vmop_error *err = vmop_session_check_name(name);
	if (err)
		return err;
	*ret = vmop_session_path(dir, name);
	if (!*ret)
		return &vmop_error_no_memory;
	if (access(*ret, F_OK) < 0)
		return NULL;
	return vmop_error_new(VMOP_ERROR_CANT, "%s: there is already a session of that name", *ret);
}

/* Complete the file before it is renamed. go_on_with_file undoes that. */
static struct vmop_error *end_file(struct vmop_session *session)
{
	struct vmop_error *err = store_rest(session);
	if (!err)
		err = vmop_session_file_put_end(session->file.db);
	return err;
}

static void go_on_with_file(struct vmop_session *session)
{
	vmop_profiler_set_ending(session->profiler, false);
	if (session->file.db)
		vmop_error_destroy(vmop_db_drop_info(session->file.db, "end_ns"));
	else
		lose_file(session); /* the next flush begins a new file */
}

/* Write `file`, which is in its place, from now on. */
static struct vmop_error *go_on_in(struct vmop_session *session, struct vmop_session_file *file,
				   uint64_t start_ns)
{
	struct vmop_profiler *profiler = NULL;
	vmop_profiler_detach(session->profiler);
	struct vmop_error *err = create_profiler(session, file->db, true, &profiler);
	if (err) {
		vmop_session_file_close(file);
		vmop_error_destroy(vmop_session_remove(session->path));
		lose_file(session);
		return vmop_error_prefix(err,
					 "no new session could be begun, which is tried again");
	}
	take_up(session, file, profiler, start_ns);
	note_failure(session, vmop_profiler_scan(session->profiler));
	return NULL;
}

struct vmop_error *vmop_session_rotate(struct vmop_session *session, const char *name)
{
	const char *dir = session->setup.session_dir;
	_cleanup_free_ char *saved = NULL;
	struct vmop_session_file file = VMOP_SESSION_FILE_NONE;
	uint64_t start_ns = vmop_clock_ns(CLOCK_REALTIME);
	struct vmop_error *err = name ? find_free_path(dir, name, &saved) : NULL;
	if (!err && (!session->file.db || leave_if_gone(session)))
		err = no_file(session);
	/* The rings keep the records of the meantime. */
	if (!err) {
		note_failure(session, drain(session, vmop_clock_ns(CLOCK_MONOTONIC)));
		err = begin_file(session, start_ns, &file);
	}
	if (!err && name)
		err = end_file(session);
	if (err) {
		if (file.db)
			vmop_session_file_discard(&file, dir);
		if (session->file.db)
			go_on_with_file(session);
		return err;
	}
	struct vmop_session_succession succession = {.before = &session->file, .saved_as = saved};
	err = vmop_session_file_publish(&file, dir, &succession);
	if (!err)
		return go_on_in(session, &file, start_ns);
	go_on_with_file(session);
	return err;
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
	return i < vmop_source_n_events(session->source) ? vmop_source_event(session->source, i)
							 : NULL;
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

bool vmop_session_domain(const struct vmop_session *session, size_t i,
			 struct vmop_domain_stats *ret)
{
	return vmop_profiler_domain(session->profiler, i, ret);
}
