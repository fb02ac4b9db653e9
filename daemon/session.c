// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "config.h"
#include "daemon/active-mail.h"
#include "daemon/pairing.h"
#include "libdb/session-files.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/io.h"
#include "libutil/log.h"

static const uint64_t second_ns = 1000000000;

/*
 * Records younger than this stay in the rings for the next drain: another CPU
 * may still be writing an older one, and they are handed over in time order.
 */
static const uint64_t settle_ns = 2000000;

/* How often old intervals are merged, and how many minutes or hours at a time. */
static const uint64_t roll_up_every_ns = 10 * (uint64_t)1000000000;
static const unsigned roll_up_budget = 4;

/*
 * Intervals of many short-lived programs take several bytes a sample, in minutes they take one or
 * two. They are merged at this age already where there are so many such programs a second, and
 * their intervals take more than so many bytes in ten samples and a second.
 */
static const uint64_t costly_minute_after_ns = 60 * (uint64_t)1000000000;
static const uint64_t costly_bytes_in_10_samples = 15, costly_bytes_a_second = 1024;
static const uint64_t costly_short_lived_a_second = 16;

/* Between two looks at what active domains' agents say, who look twice a second themselves. */
static const unsigned mail_round_ms = 250;

/* How often what is learnt of the events themselves is stored. */
static const uint64_t store_events_every_ns = 10 * (uint64_t)1000000000;

struct vmop_session {
	struct vmop_setup setup;
	const struct vmop_source_ops *source_ops;
	struct vmop_pairing pairing;
	sd_event *loop;
	sd_event_source *readable, *flush_timer, *end_timer, *step;
	void (*ended)(void *arg);
	void *arg;

	struct vmop_active_mail *mail; /* of the source; NULL: there are no active domains */
	struct vmop_source *source;
	struct vmop_source_stats at_file_start; /* the source's counters when this file began */
	struct vmop_db *db;
	struct vmop_profiler *profiler;
	struct vmop_sink sink; /* the profiler's */
	char *path;

	uint64_t start_realtime_ns, start_monotonic_ns; /* of this file */
	uint64_t interval_monotonic_ns;			/* when the open interval began */
	uint64_t end_monotonic_ns;			/* 0: no end is set */
	uint64_t rolled_up_ns, events_stored_ns;
	struct vmop_db_written written; /* at rolled_up_ns */
	uint64_t short_lived;		/* likewise */
	bool is_replay;
	struct vmop_error *replay_error; /* what ended it before its end */
	uint64_t replay_begun_ns, replay_flushed_ns; /* in the records' time; 0: none came yet */

	uint64_t failures;
	char *last_failure;
	bool is_failing;       /* since the last interval that was stored */
	bool is_store_failing; /* that is why */
	bool told_throttled;
};

/* Says the first of a row of failures, and remembers the last for --status. */
static void note_failure(struct vmop_session *session, struct vmop_error *err)
{
	if (!err)
		return;
	if (!session->is_failing)
		vmop_log_warning("%s (sampling goes on; what is lost is counted)", err->message);
	session->is_failing = true;
	session->failures++;
	free(session->last_failure);
	session->last_failure = strdup(err->message);
	vmop_error_destroy(err);
}

static void note_stored(struct vmop_session *session)
{
	if (session->is_store_failing)
		vmop_log_notice("%s: can be written again", session->path);
	session->is_failing = session->is_store_failing = false;
}

/* Once a session: how often it happens is in --status and in the session's losses. */
static void tell_throttled(struct vmop_session *session)
{
	struct vmop_source_stats stats;
	vmop_source_stats(session->source, &stats);
	if (session->told_throttled || stats.throttles <= session->at_file_start.throttles)
		return;
	session->told_throttled = true;
	vmop_log_warning("the kernel holds back an event that comes too often: it is missing from "
			 "a part of the samples; give a higher count or a lower frequency (sysctl "
			 "kernel.perf_event_max_sample_rate is the limit)");
}

/* Events that share counters: how far their counts are from the whole is known by and by. */
static void store_events(struct vmop_session *session, uint64_t now_monotonic)
{
	if (session->is_failing ||
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

/* Return the age at which intervals become minutes. Looks at the rows stored since the last call.
 */
static uint64_t minute_after_ns(struct vmop_session *session, uint64_t now)
{
	struct vmop_db_written written = vmop_db_written(session->db);
	uint64_t samples = written.samples - session->written.samples;
	uint64_t bytes = written.bytes - session->written.bytes;
	uint64_t seconds = (now - session->rolled_up_ns) / second_ns;
	uint64_t age_ns = session->setup.minute_after_ns;
	struct vmop_profiler_stats stats;
	vmop_profiler_stats(session->profiler, &stats);
	uint64_t short_lived = stats.short_lived - session->short_lived;
	session->written = written;
	session->short_lived = stats.short_lived;
	bool is_costly = short_lived > seconds * costly_short_lived_a_second &&
			 bytes * 10 > samples * costly_bytes_in_10_samples &&
			 bytes > seconds * costly_bytes_a_second;
	return is_costly && age_ns > costly_minute_after_ns ? costly_minute_after_ns : age_ns;
}

/* now: CLOCK_REALTIME; of the records, in a replay. */
static void roll_up(struct vmop_session *session, uint64_t now)
{
	const struct vmop_setup *setup = &session->setup;
	if (session->is_failing || now - session->rolled_up_ns < roll_up_every_ns)
		return;
	uint64_t age_ns = minute_after_ns(session, now);
	session->rolled_up_ns = now;
	struct vmop_error *err = NULL;
	bool more = false;
	if (setup->minute_after_ns)
		err = vmop_db_roll_up(session->db, 0, now - age_ns, 60 * second_ns, roll_up_budget,
				      &more);
	if (!err && setup->hour_after_ns && !more)
		err = vmop_db_roll_up(session->db, 1, now - setup->hour_after_ns, 3600 * second_ns,
				      1, &more);
	note_failure(session, err);
}

static struct vmop_error *drain(struct vmop_session *session, uint64_t up_to_ns)
{
	struct vmop_error *err =
		vmop_source_drain(session->source, up_to_ns, &session->sink, NULL);
	if (!err && vmop_profiler_wants_flush(session->profiler))
		err = flush(session);
	return err;
}

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
	else
		note_stored(session);
	tell_throttled(session);
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

/* ---- replay: the records' own time, as fast as it goes ----------------------- */

static void replay_flush(struct vmop_session *session, uint64_t record_ns)
{
	uint64_t start = session->start_realtime_ns +
			 (session->replay_flushed_ns - session->replay_begun_ns);
	struct vmop_error *err = vmop_profiler_tick(session->profiler);
	if (!err)
		err = vmop_profiler_flush(session->profiler, start,
					  record_ns - session->replay_flushed_ns);
	session->replay_flushed_ns = record_ns;
	tell_throttled(session);
	note_failure(session, err);
	roll_up(session, start);
}

/* The sink of a replay: the profiler's, with a flush at each interval's end between. */
static void replay_record(void *arg, const struct vmop_record *record)
{
	struct vmop_session *session = arg;
	uint64_t now = record->time_ns;
	if (now && !session->replay_begun_ns)
		session->replay_begun_ns = session->replay_flushed_ns = now;
	if (now > session->replay_flushed_ns &&
	    (now - session->replay_flushed_ns >= session->setup.flush_ns ||
	     vmop_profiler_wants_flush(session->profiler)))
		replay_flush(session, now);
	session->sink.record(session->sink.arg, record);
}

static int on_replay(sd_event_source *source, void *arg)
{
	struct vmop_session *session = arg;
	const struct vmop_sink sink = {.record = replay_record, .arg = session};
	bool has_ended = false;
	struct vmop_error *err =
		vmop_source_drain(session->source, UINT64_MAX, &sink, &has_ended);
	session->replay_error = err;
	if (err || has_ended) {
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
		session->ended(session->arg);
	}
	return 0;
}

/* ---- the file ------------------------------------------------------------------ */

static struct vmop_error *put_number(struct vmop_db *db, const char *name, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, value);
	return vmop_db_put_info(db, name, text);
}

/* What is true of the whole session. */
static struct vmop_error *put_facts(struct vmop_session *session)
{
	struct vmop_db *db = session->db;
	_cleanup_free_ char *setup = NULL;
	struct utsname host;
	uname(&host);
	struct vmop_error *err = vmop_setup_format(&session->setup, &setup);
	if (!err)
		err = vmop_db_put_info(db, "vmop", PACKAGE_VERSION);
	if (!err)
		err = vmop_db_put_info(db, "source", session->source_ops->name);
	if (!err)
		err = vmop_db_put_info(db, "hostname", host.nodename);
	if (!err)
		err = vmop_db_put_info(db, "kernel", host.release);
	if (!err)
		err = vmop_db_put_info(db, "machine", host.machine);
	if (!err)
		err = put_number(db, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	if (!err)
		err = put_number(db, "start_ns", session->start_realtime_ns);
	if (!err)
		err = vmop_db_put_info(db, "setup", setup);
	if (!err && session->setup.vmlinux)
		err = vmop_db_put_info(db, "vmlinux", session->setup.vmlinux);
	return err;
}

static struct vmop_error *create_profiler(struct vmop_session *session)
{
	const struct vmop_setup *setup = &session->setup;
	struct vmop_profiler_options options = {
		.passive_domains = session->pairing.domains,
		.n_passive_domains = session->pairing.n,
		.passive_images = session->pairing.images,
		.active_domains = (const char *const *)setup->active_domains.items,
		.n_active_domains = setup->active_domains.n,
		.xen = setup->xen,
		.vmlinux = setup->vmlinux,
		.guest_cpu_permille = setup->guest_cpu_permille,
		.proc_root = "",
		.is_replay = session->is_replay,
		.keeps_tasks = setup->minute_after_ns == 0, /* nothing is to be merged */
	};
	if (setup->separate & VMOP_SETUP_SEPARATE_THREAD)
		options.separate |= VMOP_SEPARATE_THREAD;
	if (setup->separate & VMOP_SETUP_SEPARATE_CPU)
		options.separate |= VMOP_SEPARATE_CPU;
	struct vmop_error *err = vmop_profiler_create(&options, session->source, session->db,
						      &session->profiler);
	if (!err)
		session->sink = vmop_profiler_sink(session->profiler);
	return err;
}

/* Begins current.vmop and a profiler that writes it; the source is open. */
static struct vmop_error *begin_file(struct vmop_session *session)
{
	struct vmop_error *err = vmop_db_create(session->path, &session->db);
	if (err)
		return err;
	session->start_realtime_ns = vmop_clock_ns(CLOCK_REALTIME);
	session->start_monotonic_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	session->interval_monotonic_ns = session->start_monotonic_ns;
	session->written = (struct vmop_db_written){0};
	session->short_lived = 0;
	vmop_source_stats(session->source, &session->at_file_start);
	if (chmod(session->path, session->setup.session_mode) < 0)
		err = vmop_error_os(errno, "%s", session->path);
	if (!err)
		err = put_facts(session);
	if (!err)
		err = create_profiler(session);
	return err;
}

/* Stores what is left and finishes the file. The first error of all is returned. */
static struct vmop_error *finish_file(struct vmop_session *session)
{
	struct vmop_error *err = NULL;
	if (session->profiler)
		vmop_profiler_end(session->profiler);
	if (session->profiler)
		store_events(session, UINT64_MAX);
	if (session->profiler && session->is_replay && session->replay_begun_ns)
		replay_flush(session, session->replay_flushed_ns + 1);
	else if (session->profiler)
		err = flush(session);
	vmop_profiler_destroy(session->profiler);
	session->profiler = NULL;
	if (!session->db)
		return err;
	err = vmop_error_first(err,
			       put_number(session->db, "end_ns", vmop_clock_ns(CLOCK_REALTIME)));
	struct vmop_error *next = vmop_db_finish(session->db);
	session->db = NULL;
	/* A report that reads it right now keeps it from being one file; the next start sees to that. */
	if (next && next->code == VMOP_ERROR_CANT) {
		vmop_log_and_destroy(VMOP_LOG_INFO, next);
		next = NULL;
	}
	return vmop_error_first(err, next);
}

/* ---- life ------------------------------------------------------------------------ */

static void session_free(struct vmop_session *session)
{
	sd_event_source_disable_unref(session->readable);
	sd_event_source_disable_unref(session->flush_timer);
	sd_event_source_disable_unref(session->end_timer);
	sd_event_source_disable_unref(session->step);
	vmop_profiler_destroy(session->profiler);
	vmop_db_close(session->db);
	vmop_source_close(session->source);
	vmop_active_mail_close(session->mail);
	vmop_pairing_deinit(&session->pairing);
	vmop_setup_deinit(&session->setup);
	vmop_error_destroy(session->replay_error);
	free(session->last_failure);
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
	if (!err && setup->active_domains.n && session->source_ops == &vmop_source_xen_ops)
		err = vmop_active_mail_open(mail_round_ms, &session->mail);
	const struct vmop_source_setup source_setup = {
		.events = requests,
		.n_events = n,
		.buffer_bytes = setup->buffer_bytes,
		.replay_path = replay_path,
		.active = session->mail ? vmop_active_mail_opener(session->mail) : NULL,
	};
	if (!err)
		err = vmop_source_open(session->source_ops, &source_setup, &session->source);
	while (n)
		vmop_event_request_deinit(&requests[--n]);
	return err;
}

static struct vmop_error *make_session_dir(const char *dir)
{
	struct stat st;
	/* Of one that was named, all but the last part is to be there: it may be a slip. */
	struct vmop_error *err =
		strcmp(dir, VMOP_STATEDIR) ? NULL : vmop_io_make_dir(VMOP_STATEDIR, 0755);
	if (err)
		return vmop_error_prefix(err, "session-dir");
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return vmop_error_os(errno, "session-dir %s", dir);
	if (stat(dir, &st) < 0)
		return vmop_error_os(errno, "session-dir %s", dir);
	if (!S_ISDIR(st.st_mode))
		return vmop_error_new(VMOP_ERROR_USAGE, "session-dir %s: not a directory", dir);
	return NULL;
}

static struct vmop_error *keep_last(struct vmop_session *session)
{
	_cleanup_free_ char *kept = NULL;
	struct vmop_error *err = vmop_session_keep(session->setup.session_dir, &kept);
	if (kept)
		vmop_log_info("%s: the last session is kept as %s%s", session->setup.session_dir,
			      kept, VMOP_SESSION_SUFFIX);
	return err;
}

/* A system without one of the clocks or epoll is not one that this runs on: errors all the same. */
static struct vmop_error *arm(struct vmop_session *session, uint64_t duration_ns)
{
	sd_event *loop = session->loop;
	if (session->is_replay) {
		int status = sd_event_add_defer(loop, &session->step, on_replay, session);
		if (status >= 0)
			status = sd_event_source_set_enabled(session->step, SD_EVENT_ON);
		/* After signals and the watchdog, which a replay must not starve. */
		if (status >= 0)
			status = sd_event_source_set_priority(session->step,
							      SD_EVENT_PRIORITY_IDLE);
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
		status = sd_event_add_time_relative(loop, &session->end_timer, CLOCK_MONOTONIC,
						    duration_ns / 1000, 1000, on_end, session);
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

static struct vmop_error *session_open(struct vmop_session *session,
				       const struct vmop_session_options *options)
{
	struct vmop_error *err = copy_setup(options->setup, &session->setup);
	if (!err)
		err = vmop_setup_check(&session->setup);
	if (!err)
		err = vmop_pairing_init(&session->pairing, &session->setup);
	/* The source first: it is the likeliest to refuse, and touches no file. */
	if (!err)
		err = open_source(session, options->replay_path);
	if (!err)
		err = make_session_dir(session->setup.session_dir);
	if (!err)
		err = keep_last(session);
	if (err)
		return err;
	session->path = vmop_session_path(session->setup.session_dir, VMOP_SESSION_CURRENT);
	if (!session->path)
		return &vmop_error_no_memory;
	err = begin_file(session);
	if (!err)
		err = vmop_source_start(session->source);
	if (!err && !session->is_replay)
		err = vmop_profiler_scan(session->profiler);
	if (!err)
		err = arm(session, options->duration_ns);
	if (err && session->db) { /* a session that never began leaves no file */
		vmop_profiler_destroy(session->profiler);
		vmop_db_close(session->db);
		session->profiler = NULL;
		session->db = NULL;
		vmop_error_destroy(vmop_session_discard(session->setup.session_dir));
	}
	return err;
}

struct vmop_error *vmop_session_start(const struct vmop_session_options *options,
				      struct vmop_session **ret)
{
	struct vmop_session *session = calloc(1, sizeof(*session));
	if (!session)
		return &vmop_error_no_memory;
	session->source_ops = options->source;
	session->is_replay = options->source == &vmop_source_replay_ops;
	session->loop = options->loop;
	session->ended = options->ended;
	session->arg = options->arg;
	struct vmop_error *err = session_open(session, options);
	if (err)
		session_free(session);
	else
		*ret = session;
	return err;
}

struct vmop_error *vmop_session_stop(struct vmop_session *session)
{
	if (!session)
		return NULL;
	note_failure(session, vmop_source_stop(session->source));
	if (!session->is_replay)
		note_failure(session, drain(session, UINT64_MAX));
	struct vmop_error *err = vmop_steal(&session->replay_error);
	err = vmop_error_first(err, finish_file(session));
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
	if (!err)
		note_stored(session);
	return err;
}

struct vmop_error *vmop_session_rotate(struct vmop_session *session, const char *name,
				       bool *ret_alive)
{
	const char *dir = session->setup.session_dir;
	*ret_alive = true;
	if (name) {
		struct vmop_error *err = vmop_session_check_name(name);
		if (err)
			return err;
		_cleanup_free_ char *saved = vmop_session_path(dir, name);
		if (!saved)
			return &vmop_error_no_memory;
		if (access(saved, F_OK) == 0)
			return vmop_error_new(VMOP_ERROR_CANT,
					      "%s: there is already a session of that name", saved);
	}
	/* The rings hold what comes meanwhile. */
	note_failure(session, drain(session, vmop_clock_ns(CLOCK_MONOTONIC)));
	struct vmop_error *err = finish_file(session);
	note_failure(session, err);
	*ret_alive = false;
	err = name ? vmop_session_save(dir, name) : vmop_session_discard(dir);
	if (err) /* it stays under its start time instead */
		note_failure(session, keep_last(session));
	struct vmop_error *next = begin_file(session);
	if (!next)
		next = vmop_profiler_scan(session->profiler);
	*ret_alive = !next;
	if (!next)
		return err;
	vmop_error_destroy(err);
	return next;
}

/* ---- what there is to tell ---------------------------------------------------------- */

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
		.path = session->path,
		.source = session->source_ops->name,
		.way = vmop_source_way(session->source),
		.start_ns = session->start_realtime_ns,
		.uptime_ns = now - session->start_monotonic_ns,
		.duration_left_ns = UINT64_MAX,
		.failures = session->failures,
		.last_failure = session->last_failure,
	};
	if (session->end_monotonic_ns)
		ret->duration_left_ns =
			session->end_monotonic_ns > now ? session->end_monotonic_ns - now : 0;
	vmop_error_destroy(vmop_db_size_bytes(session->db, &ret->disk_bytes));
	vmop_source_stats(session->source, &ret->source_stats);
	subtract(&ret->source_stats, &session->at_file_start);
	vmop_profiler_stats(session->profiler, &ret->profiler_stats);
}

const struct vmop_event_info *vmop_session_event(const struct vmop_session *session, size_t i)
{
	return i < vmop_source_n_events(session->source) ? vmop_source_event(session->source, i) :
							   NULL;
}

bool vmop_session_domain(const struct vmop_session *session, size_t i,
			 struct vmop_domain_stats *ret)
{
	return vmop_profiler_domain(session->profiler, i, ret);
}

/* *ret_unsampled: of Xen, where they can't be; no stand-in for them counts. */
static unsigned count_guests(const struct vmop_session *session, unsigned *ret_unsampled)
{
	struct vmop_domain_stats domain;
	unsigned n = 0;
	*ret_unsampled = 0;
	for (size_t i = 0; vmop_session_domain(session, i, &domain); i++) {
		if (domain.id == VMOP_DOMAIN_ID_HOST || domain.kind == VMOP_DOMAIN_HYPERVISOR ||
		    !domain.is_running)
			continue;
		if (domain.kind != VMOP_DOMAIN_UNSAMPLED)
			n++;
		else
			*ret_unsampled += domain.xen_domid >= 0;
	}
	return n;
}

/* A clock's period is a rate to people. */
static void put_rate(FILE *out, const struct vmop_event_info *event)
{
	if (event->frequency_hz)
		fprintf(out, "at %" PRIu64 " Hz", event->frequency_hz);
	else if (!strcmp(event->unit, "ns") && event->period_events)
		fprintf(out, "at %.4g Hz", 1e9 / (double)event->period_events);
	else
		fprintf(out, "every %" PRIu64 " %s", event->period_events, event->unit);
}

/* On how many CPUs, why so, and with how many guests. */
static void put_where(FILE *out, const struct vmop_session *session)
{
	const struct vmop_event_info *event;
	struct vmop_source_stats stats;
	vmop_source_stats(session->source, &stats);
	unsigned unsampled, guests = count_guests(session, &unsampled);
	if (stats.cpus_online)
		fprintf(out, " on %" PRIu32 " CPU%s", stats.cpus_online,
			stats.cpus_online == 1 ? "" : "s");
	for (size_t i = 0; (event = vmop_session_event(session, i)); i++)
		if (event->note)
			fprintf(out, " (%s)", event->note);
	if (guests || !unsampled)
		fprintf(out, ", %u guest%s", guests, guests == 1 ? "" : "s");
	if (unsampled)
		fprintf(out, ", %u guest%s not sampled", unsampled, unsampled == 1 ? "" : "s");
}

char *vmop_session_summary(const struct vmop_session *session)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return NULL;
	const struct vmop_event_info *event;
	fputs(session->is_replay ? "replaying " : "sampling ", out);
	for (size_t i = 0; (event = vmop_session_event(session, i)); i++) {
		fprintf(out, "%s%s ", i ? ", " : "", event->name);
		put_rate(out, event);
	}
	if (!session->is_replay)
		put_where(out, session);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
