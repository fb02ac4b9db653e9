// SPDX-License-Identifier: GPL-2.0-or-later
/* The files of a session, one after another: begun, moved or deleted by others, replaced, finished.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/session-open.h"
#include "libdb/session-files.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/log.h"
#include "libutil/plural.h"

/* The time after which a rotation that failed is tried again, and between two removals. */
static const uint64_t rotate_again_ns = 60 * VMOP_NS_PER_S, expire_every_ns = 600 * VMOP_NS_PER_S;

/*
 * The time for which no checkpoint begins while a rotation waits for the end of the last one. It is
 * tried again earlier: by a client within 20 ms, otherwise after the next interval.
 */
static const uint64_t hold_checkpoints_ns = 5 * VMOP_NS_PER_S;

/* ---- beginning ----------------------------------------------------------------- */

struct vmop_error *vmop_session_create_profiler(struct vmop_session *session, struct vmop_db *db,
						bool goes_on, struct vmop_profiler **ret)
{
	/* A session that goes on gives back the tables that it has. */
	struct vmop_error *err = vmop_session_measure_memory(session);
	if (err && !goes_on)
		return err;
	vmop_error_destroy(err);
	const struct vmop_profiler_options options = {
		.setup = &session->setup,
		.passive_domains = session->pairing.domains,
		.n_passive_domains = session->pairing.n,
		.passive_images = session->pairing.images,
		.stacks = *vmop_source_stacks(session->source, NULL),
		.proc_root = "",
		.is_replay = session->is_replay,
		.given_uuid = session->given_uuid,
		.is_read_elsewhere = session->is_active,
		.goes_on = goes_on,
		.guest_watch =
			session->profiler ? vmop_profiler_guest_watch(session->profiler) : NULL,
		.memory_bytes =
			session->memory.limit.limit_bytes ? session->memory.limit.left_bytes : 0,
		.keeps_tasks = session->setup.ladder.n_steps == 0, /* intervals are never merged */
	};
	return vmop_profiler_create(&options, session->source, db, ret);
}

static struct vmop_error *put_facts(const struct vmop_session *session, uint64_t start_realtime_ns,
				    struct vmop_db *db)
{
	struct vmop_error *err = vmop_session_file_put_facts(
		db, &session->setup, session->source_ops->name, start_realtime_ns);
	_cleanup_free_ char *context = vmop_session_guest_context_text(session);
	return err || !context ? err : vmop_db_put_info(db, "guest_context", context);
}

struct vmop_error *vmop_session_begin_file(const struct vmop_session *session,
					   uint64_t start_realtime_ns,
					   struct vmop_session_file *ret)
{
	vmop_session_remove_second_names(session->setup.session_dir);
	struct vmop_error *err = vmop_session_file_create(
		session->setup.session_dir, session->setup.session_mode, !session->is_replay, ret);
	if (err)
		return err;
	err = put_facts(session, start_realtime_ns, ret->db);
	if (err)
		vmop_session_file_discard(ret, session->setup.session_dir);
	return err;
}

struct vmop_error *vmop_session_use_keeper(struct vmop_session *session,
					   struct vmop_file_keeper **ret)
{
	struct vmop_error *err =
		session->keeper
			? NULL
			: vmop_file_keeper_create(session->setup.session_dir,
						  session->setup.session_mode, &session->keeper);
	*ret = session->keeper;
	return err;
}

/*
 * Take the file that the keeper has made, with the facts of the session. VMOP_ERROR_BUSY: it is not
 * made yet.
 */
static struct vmop_error *take_next_file(struct vmop_session *session, uint64_t start_realtime_ns,
					 struct vmop_session_file *ret)
{
	struct vmop_file_keeper *keeper;
	*ret = VMOP_SESSION_FILE_NONE;
	struct vmop_error *err = vmop_session_use_keeper(session, &keeper);
	if (!err)
		err = vmop_file_keeper_next(keeper, ret);
	if (!err)
		err = put_facts(session, start_realtime_ns, ret->db);
	if (err && ret->db)
		vmop_file_keeper_end(keeper, ret, VMOP_FILE_DISCARD);
	return err;
}

/* End a file that the session has left. */
static void end_left_file(struct vmop_session *session, struct vmop_session_file *file,
			  enum vmop_file_end end)
{
	struct vmop_file_keeper *keeper;
	struct vmop_error *err = vmop_session_use_keeper(session, &keeper);
	if (!err)
		vmop_file_keeper_end(keeper, file, end);
	else
		vmop_session_file_close(file); /* complete, with its WAL */
	vmop_session_note_failure(session, err);
}

void vmop_session_take_up(struct vmop_session *session, const struct vmop_session_file *file,
			  struct vmop_profiler *profiler, uint64_t start_realtime_ns)
{
	if (session->profiler)
		vmop_profiler_inherit(profiler, session->profiler);
	vmop_profiler_destroy(session->profiler);
	session->profiler = profiler;
	session->sink = vmop_profiler_sink(profiler);
	vmop_session_copy_samples(session);
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
	vmop_session_cost_begin_file(session);
}

void vmop_session_log_kept(const struct vmop_session *session, const char *kept)
{
	if (kept)
		vmop_log_info("%s: the last session is kept as %s%s", session->setup.session_dir,
			      kept, VMOP_SESSION_SUFFIX);
}

/* Return the time at which the last stored interval ended: the next file begins there. */
static uint64_t joint_ns(const struct vmop_session *session)
{
	return vmop_session_time_ns(session, session->interval_monotonic_ns);
}

/* ---- a file that was moved or deleted -------------------------------------------------------- */

/* Return the number of samples that are in no file, for messages. */
static uint64_t count_gone(struct vmop_session *session)
{
	struct vmop_profiler_stats stats;
	vmop_profiler_stats(session->profiler, &stats);
	return stats.store_gone + vmop_profiler_waiting(session->profiler);
}

struct vmop_error *vmop_session_no_file(struct vmop_session *session)
{
	return vmop_error_new(VMOP_ERROR_CANT,
			      "%s: it was deleted or moved while sampling; %" PRIu64
			      " samples since then are in no file",
			      session->path, count_gone(session));
}

/* Go on without a file. The profiler only counts samples from now on. */
static void lose_file(struct vmop_session *session)
{
	struct vmop_session_file file = session->file;
	vmop_session_leave_file(session, NULL);
	vmop_profiler_detach(session->profiler);
	session->file = VMOP_SESSION_FILE_NONE;
	session->is_store_failing = true;
	if (file.db)
		end_left_file(session, &file, VMOP_FILE_ABANDON);
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
		vmop_session_note_failure(session, vmop_session_flush(session));
		vmop_session_note_failure(
			session, vmop_session_file_put_end(session->file.db, joint_ns(session)));
	}
	lose_file(session);
	vmop_session_note_failure(
		session, vmop_error_new(VMOP_ERROR_CANT,
					"%s: %s while sampling; a new session begins where its "
					"directory is",
					session->path,
					place == VMOP_SESSION_FILE_DELETED ? "deleted" : "moved"));
	return true;
}

void vmop_session_check_place(struct vmop_session *session)
{
	if (!session->is_replay)
		leave_if_gone(session);
}

void vmop_session_begin_again(struct vmop_session *session)
{
	const char *dir = session->setup.session_dir;
	struct vmop_session_succession succession = {0};
	struct vmop_session_file file;
	struct vmop_profiler *profiler = NULL;
	struct stat st;
	if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	uint64_t start_ns = vmop_clock_ns(CLOCK_REALTIME);
	struct vmop_error *err = take_next_file(session, start_ns, &file);
	if (err && err->code == VMOP_ERROR_BUSY) {
		vmop_error_destroy(err); /* the next flush tries again */
		return;
	}
	if (!err)
		err = vmop_session_create_profiler(session, file.db, true, &profiler);
	if (!err)
		err = vmop_session_file_publish(&file, dir, &succession);
	if (err) {
		vmop_profiler_destroy(profiler);
		if (file.db)
			end_left_file(session, &file, VMOP_FILE_DISCARD);
		vmop_session_note_failure(session, err);
		return;
	}
	vmop_session_log_kept(session, succession.kept);
	free(succession.kept);
	vmop_log_notice("%s: a new session begins; %" PRIu64
			" samples were lost in between, which it counts",
			session->path, count_gone(session));
	vmop_session_note_failure(
		session,
		vmop_session_flush(session)); /* counts the waiting samples with the others */
	vmop_session_take_up(session, &file, profiler, start_ns);
	session->is_failing = session->is_store_failing = false;
	vmop_session_note_failure(session, vmop_profiler_scan(session->profiler));
}

/* ---- its end --------------------------------------------------------------------- */

/* Store everything that belongs to this file. */
static struct vmop_error *store_rest(struct vmop_session *session)
{
	vmop_profiler_set_ending(session->profiler, true);
	vmop_session_store_events(session, UINT64_MAX);
	if (session->is_replay && session->replay_begun_ns) {
		vmop_session_replay_flush(session, session->replay_flushed_ns + 1);
		return NULL;
	}
	return vmop_session_flush(session);
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

struct vmop_error *vmop_session_finish_file(struct vmop_session *session)
{
	if (!session->file.db || (!session->is_replay && leave_if_gone(session)))
		return vmop_session_no_file(session);
	struct vmop_error *err = unstored(session, store_rest(session));
	err = vmop_error_first(err, vmop_session_store_cost(session));
	uint64_t end_ns = session->is_replay ? vmop_clock_ns(CLOCK_REALTIME) : joint_ns(session);
	err = vmop_error_first(err, vmop_session_file_put_end(session->file.db, end_ns));
	/* Check after the last write: the file may have been deleted meanwhile. */
	bool is_there =
		vmop_session_file_place(&session->file, session->path) == VMOP_SESSION_FILE_THERE;
	err = vmop_error_first(err, vmop_session_file_finish(&session->file, VMOP_DB_END_WAIT_MS));
	if (is_there || err)
		return err;
	vmop_profiler_count_last_as_gone(session->profiler);
	return vmop_session_no_file(session);
}

/* ---- replacing ----------------------------------------------------------------- */

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
		err = vmop_session_store_cost(session);
	if (!err)
		err = vmop_session_file_put_end(session->file.db, joint_ns(session));
	return err;
}

static void go_on_with_file(struct vmop_session *session)
{
	vmop_profiler_set_ending(session->profiler, false);
	vmop_error_destroy(vmop_db_drop_info(session->file.db, "end_ns"));
}

/*
 * Begin the session's time anew at the joint of two files. Real time can differ from the session's:
 * after a small step back the new file begins at the joint, so that files do not overlap.
 */
static struct vmop_error *begin_at_joint(struct vmop_session *session, uint64_t monotonic_ns,
					 uint64_t joint)
{
	uint64_t since_ns = vmop_clock_ns(CLOCK_MONOTONIC) - monotonic_ns;
	uint64_t real_ns = vmop_clock_ns(CLOCK_REALTIME) - since_ns;
	session->start_realtime_ns = vmop_clock_is_other_time(real_ns, joint) ? real_ns : joint;
	session->start_monotonic_ns = session->interval_monotonic_ns = monotonic_ns;
	return vmop_session_file_put_start(session->file.db, session->start_realtime_ns);
}

/* Write `file`, which is in its place, from now on. */
static struct vmop_error *go_on_in(struct vmop_session *session, struct vmop_session_file *file)
{
	struct vmop_profiler *profiler = NULL;
	uint64_t joint_monotonic_ns = session->interval_monotonic_ns, joint = joint_ns(session);
	struct vmop_error *err = vmop_session_create_profiler(session, file->db, true, &profiler);
	if (err) {
		end_left_file(session, file, VMOP_FILE_ABANDON);
		vmop_error_destroy(vmop_session_remove(session->path));
		lose_file(session);
		return vmop_error_prefix(err,
					 "no new session could be begun, which is tried again");
	}
	vmop_session_take_up(session, file, profiler, joint);
	vmop_session_note_failure(session, begin_at_joint(session, joint_monotonic_ns, joint));
	vmop_session_note_failure(session, vmop_profiler_scan(session->profiler));
	return NULL;
}

/* Rename the session's file to `saved`, or discard it if saved is NULL, and go on in *file. */
static struct vmop_error *replace_file(struct vmop_session *session, struct vmop_session_file *file,
				       const char *saved)
{
	const char *dir = session->setup.session_dir;
	struct vmop_session_file before = session->file;
	_cleanup_free_ char *discarded = saved ? NULL : vmop_session_discarded_path(dir);
	struct vmop_session_succession succession = {.before = &before,
						     .saved_as = saved ? saved : discarded};
	struct vmop_error *err = succession.saved_as
					 ? vmop_session_file_publish(file, dir, &succession)
					 : &vmop_error_no_memory;
	if (err)
		return err;
	vmop_session_leave_file(session, saved);
	vmop_profiler_detach(session->profiler);
	session->file = VMOP_SESSION_FILE_NONE;
	end_left_file(session, &before, saved ? VMOP_FILE_FINISH : VMOP_FILE_REMOVE);
	return NULL;
}

/*
 * Let no further checkpoint begin before the rotation. Return false while one is in progress, for
 * which the last interval could wait.
 */
static bool hold_checkpoints(struct vmop_session *session)
{
	session->rotation.held_until_ns = vmop_clock_ns(CLOCK_MONOTONIC) + hold_checkpoints_ns;
	return vmop_db_hold_checkpoints(session->file.db);
}

void vmop_session_release_checkpoints(struct vmop_session *session, uint64_t now_ns)
{
	uint64_t until_ns = session->rotation.held_until_ns;
	if (!until_ns || now_ns < until_ns)
		return;
	session->rotation.held_until_ns = 0;
	if (session->file.db)
		vmop_db_release_checkpoints(session->file.db);
}

/*
 * Nothing here waits for the disk: the keeper has made the file, and ends the one before; the
 * threads of both files sync them.
 */
struct vmop_error *vmop_session_rotate(struct vmop_session *session, const char *name)
{
	_cleanup_free_ char *saved = NULL;
	struct vmop_session_file file = VMOP_SESSION_FILE_NONE;
	uint64_t start_ns = vmop_clock_ns(CLOCK_REALTIME);
	struct vmop_error *err =
		name ? find_free_path(session->setup.session_dir, name, &saved) : NULL;
	if (!err && (!session->file.db || leave_if_gone(session)))
		err = vmop_session_no_file(session);
	if (!err && !hold_checkpoints(session))
		err = vmop_error_new(VMOP_ERROR_BUSY, "%s: the disk is busy: try again",
				     session->path);
	if (!err)
		err = take_next_file(session, start_ns, &file);
	if (err)
		return err;
	/* The rings keep the records of the meantime. */
	vmop_session_note_failure(session,
				  vmop_session_drain(session, vmop_clock_ns(CLOCK_MONOTONIC)));
	if (name)
		err = end_file(session);
	if (!err)
		err = replace_file(session, &file, saved);
	if (!err) {
		session->rotation.held_until_ns = 0;
		return go_on_in(session, &file);
	}
	end_left_file(session, &file, VMOP_FILE_DISCARD);
	go_on_with_file(session);
	return err;
}

bool vmop_session_is_settled(struct vmop_session *session)
{
	return !session->keeper || !vmop_file_keeper_is_busy(session->keeper);
}

struct vmop_error *vmop_session_rotate_by_time(struct vmop_session *session, char **ret_name)
{
	_cleanup_free_ char *name = NULL;
	*ret_name = NULL;
	struct vmop_error *err = vmop_session_free_name(session->setup.session_dir,
							session->start_realtime_ns, &name);
	if (!err)
		err = vmop_session_rotate(session, name);
	if (!err)
		*ret_name = vmop_steal(&name);
	return err;
}

/* Return whether every_ns have passed since *last_ns (CLOCK_MONOTONIC), and then set it to now. */
static bool is_due_again(uint64_t *last_ns, uint64_t every_ns)
{
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	if (*last_ns && now_ns - *last_ns < every_ns)
		return false;
	*last_ns = now_ns;
	return true;
}

/* Begin the next file, unless an attempt failed a moment ago. reason: logged, or NULL. */
static void rotate_now(struct vmop_session *session, const char *reason)
{
	_cleanup_free_ char *name = NULL;
	if (!is_due_again(&session->rotation.tried_ns, rotate_again_ns))
		return;
	struct vmop_error *err = vmop_session_rotate_by_time(session, &name);
	if (err && err->code == VMOP_ERROR_BUSY) {
		vmop_error_destroy(err); /* the next flush tries again */
		session->rotation.tried_ns = 0;
		session->rotation.is_late = true;
		return;
	}
	session->rotation.is_late = false;
	if (reason)
		vmop_log_notice("%s", reason);
	if (err) {
		vmop_session_note_failure(session, vmop_error_prefix(err, "rotate"));
		return;
	}
	vmop_log_info("%s: saved as %s%s", session->setup.session_dir, name, VMOP_SESSION_SUFFIX);
	session->rotation = (struct vmop_rotation){0};
}

/* Let the keeper remove old sessions, if it is time, and log those that it has removed. */
static void expire(struct vmop_session *session)
{
	const struct vmop_setup *setup = &session->setup;
	struct vmop_file_keeper *keeper;
	if (session->keeper) {
		unsigned n = vmop_file_keeper_take_removed(session->keeper);
		if (n)
			vmop_log_notice("%s: removed %u old session%s (%s)", setup->session_dir, n,
					vmop_plural(n),
					setup->keep_ns ? "keep, max-size" : "max-size");
		vmop_session_note_failure(session, vmop_file_keeper_failure(session->keeper));
	}
	if (!is_due_again(&session->rotation.expired_ns, expire_every_ns))
		return;
	const struct vmop_clock_reading clocks = vmop_clock_watch_read();
	uint64_t now_ns = vmop_clock_watch_cautious_ns(&session->clock, &clocks);
	struct vmop_error *err = vmop_session_use_keeper(session, &keeper);
	if (!err)
		vmop_file_keeper_expire(keeper, vmop_rotation_expires_before_ns(setup, now_ns),
					setup->max_bytes ? setup->max_bytes : UINT64_MAX);
	vmop_session_note_failure(session, err);
}

void vmop_session_rotate_if_due(struct vmop_session *session)
{
	const struct vmop_setup *setup = &session->setup;
	uint64_t disk_bytes = 0, now_ns = joint_ns(session);
	if (session->is_replay)
		return;
	expire(session);
	if (session->is_failing || !session->file.db)
		return;
	if (setup->rotate.bytes)
		vmop_error_destroy(vmop_db_size_bytes(session->file.db, &disk_bytes));
	_cleanup_free_ char *reason = vmop_session_watch_wal(session);
	if (reason ||
	    vmop_rotation_is_due(&setup->rotate, session->start_realtime_ns, now_ns, disk_bytes))
		rotate_now(session, reason);
}

void vmop_session_follow_clock(struct vmop_session *session)
{
	uint64_t forward_ns;
	const struct vmop_clock_reading now = vmop_clock_watch_read();
	if (session->is_replay)
		return;
	bool is_stepped = vmop_clock_watch_check(&session->clock, &now,
						 vmop_session_time_ns(session, now.monotonic_ns),
						 &forward_ns);
	if (forward_ns)
		vmop_log_notice(
			"the machine was suspended, or its clock set: the session's time goes "
			"forward by %.0f s",
			(double)forward_ns / 1e9);
	/* Modulo 2^64, like vmop_session_time_ns. */
	session->start_monotonic_ns -= forward_ns;
	if (is_stepped && !session->is_failing && session->file.db)
		rotate_now(session,
			   "the machine's clock was set: a new session begins with its time");
}
