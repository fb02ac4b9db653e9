// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/file-keeper.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libdb/session-files.h"
#include "libutil/cleanup.h"
#include "libutil/procfs.h"
#include "libutil/thread.h"

/* Files that wait for their end. More are ended at once, on the caller's thread. */
#define MAX_LEFT 8

/* Readers that are named. */
#define MAX_READERS 4

struct left_file {
	struct vmop_session_file file;
	enum vmop_file_end end;
};

struct vmop_file_keeper {
	char *dir;
	mode_t mode;
	pthread_t thread;
	bool has_incomplete; /* of the thread: a saved session may still have its WAL */

	pthread_mutex_t lock;
	pthread_cond_t wake;
	/* Protected by the lock. */
	bool is_ending, is_working;
	struct left_file left[MAX_LEFT]; /* the first one is ended first */
	size_t n_left;
	bool wants_expire;
	uint64_t before_ns, max_bytes;
	unsigned n_removed;
	bool wants_readers;
	char *readers;
	bool wants_next, is_making;
	struct vmop_session_file next; /* made, and not taken yet */
	struct vmop_error *next_error;
	struct vmop_error *failure;
};

/* ---- the work, without the lock ------------------------------------------------- */

/* Close and remove a session that the user discarded. */
static struct vmop_error *remove_discarded(const char *dir, struct vmop_session_file *file)
{
	_cleanup_free_ char *path = vmop_session_discarded_path(dir);
	vmop_session_file_close(file);
	return path ? vmop_session_remove(path) : &vmop_error_no_memory;
}

/* wait_ms: for the readers of a file that is kept. */
static struct vmop_error *end_file(struct vmop_file_keeper *keeper, struct left_file *left,
				   unsigned wait_ms)
{
	struct vmop_error *err;
	switch (left->end) {
	case VMOP_FILE_FINISH:
		err = vmop_session_sync_dir(keeper->dir);
		err = vmop_error_first(err, vmop_session_file_finish(&left->file, wait_ms));
		keeper->has_incomplete = true; /* if a reader has it open */
		return err;
	case VMOP_FILE_ABANDON:
		return vmop_session_file_abandon(&left->file);
	case VMOP_FILE_REMOVE:
		return remove_discarded(keeper->dir, &left->file);
	default:
		vmop_session_file_discard(&left->file, keeper->dir);
		return NULL;
	}
}

static struct vmop_error *expire(struct vmop_file_keeper *keeper, uint64_t before_ns,
				 uint64_t max_bytes, unsigned *ret_n)
{
	*ret_n = 0;
	if (keeper->has_incomplete)
		vmop_error_destroy(vmop_session_complete_all(keeper->dir, &keeper->has_incomplete));
	return before_ns || max_bytes != UINT64_MAX
		       ? vmop_session_expire(keeper->dir, before_ns, max_bytes, ret_n)
		       : NULL;
}

/* Name the readers of the current session; NULL: there are none. */
static char *find_readers(const struct vmop_file_keeper *keeper)
{
	_cleanup_free_ char *path = vmop_session_path(keeper->dir, VMOP_SESSION_CURRENT);
	pid_t pids[MAX_READERS];
	size_t n = path ? vmop_session_readers(path, pids, MAX_READERS) : 0;
	char *text = NULL;
	for (size_t i = 0; i < n; i++) {
		struct vmop_procfs_stat stat;
		char *longer;
		if (!vmop_procfs_stat("", (uint32_t)pids[i], &stat))
			continue; /* it has ended */
		if (asprintf(&longer, "%s%s%s (pid %d)", text ? text : "", text ? ", " : "",
			     stat.comm, (int)pids[i]) < 0)
			break;
		free(text);
		text = longer;
	}
	return text;
}

/* ---- the thread ----------------------------------------------------------------- */

static void note(struct vmop_file_keeper *keeper, struct vmop_error *err)
{
	keeper->failure = vmop_error_first(keeper->failure, err);
}

/* Do one piece of work. Return false if no work is left. Needs the lock, and releases it meanwhile.
 */
static bool work(struct vmop_file_keeper *keeper)
{
	struct vmop_error *err;
	if (keeper->n_left) {
		struct left_file left = keeper->left[0];
		/* The end of the session does not wait for each file: the next session completes
		 * them. */
		unsigned wait_ms = keeper->is_ending ? 0 : VMOP_DB_END_WAIT_MS;
		keeper->n_left--;
		memmove(keeper->left, keeper->left + 1, keeper->n_left * sizeof(left));
		pthread_mutex_unlock(&keeper->lock);
		err = end_file(keeper, &left, wait_ms);
		pthread_mutex_lock(&keeper->lock);
		note(keeper, err);
	} else if (keeper->wants_readers) {
		keeper->wants_readers = false;
		pthread_mutex_unlock(&keeper->lock);
		char *readers = find_readers(keeper);
		pthread_mutex_lock(&keeper->lock);
		free(keeper->readers);
		keeper->readers = readers;
	} else if (keeper->wants_next) {
		struct vmop_session_file next;
		keeper->wants_next = false;
		keeper->is_making = true;
		pthread_mutex_unlock(&keeper->lock);
		err = vmop_session_file_create(keeper->dir, keeper->mode, true, &next);
		pthread_mutex_lock(&keeper->lock);
		keeper->next = next;
		keeper->next_error = err;
		keeper->is_making = false;
	} else if (keeper->wants_expire) {
		unsigned n;
		uint64_t before_ns = keeper->before_ns, max_bytes = keeper->max_bytes;
		pthread_mutex_unlock(&keeper->lock);
		err = expire(keeper, before_ns, max_bytes, &n);
		pthread_mutex_lock(&keeper->lock);
		keeper->wants_expire = false;
		keeper->n_removed += n;
		note(keeper, err);
	} else {
		return false;
	}
	return true;
}

static void *run(void *arg)
{
	struct vmop_file_keeper *keeper = arg;
	pthread_mutex_lock(&keeper->lock);
	for (;;) {
		keeper->is_working = true;
		while (work(keeper))
			;
		keeper->is_working = false;
		if (keeper->is_ending)
			break;
		pthread_cond_wait(&keeper->wake, &keeper->lock);
	}
	pthread_mutex_unlock(&keeper->lock);
	return NULL;
}

/* ---- the session's thread --------------------------------------------------------- */

struct vmop_error *vmop_file_keeper_next(struct vmop_file_keeper *keeper,
					 struct vmop_session_file *ret)
{
	*ret = VMOP_SESSION_FILE_NONE;
	pthread_mutex_lock(&keeper->lock);
	struct vmop_error *err = vmop_steal(&keeper->next_error);
	if (!err && keeper->next.db) {
		*ret = keeper->next;
		keeper->next = VMOP_SESSION_FILE_NONE;
	} else if (!err) {
		err = vmop_error_new(VMOP_ERROR_BUSY,
				     "%s: the next session's file is being made: try again",
				     keeper->dir);
		keeper->wants_next = !keeper->is_making;
		pthread_cond_signal(&keeper->wake);
	}
	pthread_mutex_unlock(&keeper->lock);
	return err;
}

void vmop_file_keeper_end(struct vmop_file_keeper *keeper, struct vmop_session_file *file,
			  enum vmop_file_end end)
{
	struct left_file left = {.file = *file, .end = end};
	*file = VMOP_SESSION_FILE_NONE;
	pthread_mutex_lock(&keeper->lock);
	bool has_room = keeper->n_left < MAX_LEFT;
	if (has_room)
		keeper->left[keeper->n_left++] = left;
	pthread_cond_signal(&keeper->wake);
	pthread_mutex_unlock(&keeper->lock);
	struct vmop_error *err = has_room ? NULL : end_file(keeper, &left, 0);
	if (!err)
		return;
	pthread_mutex_lock(&keeper->lock);
	note(keeper, err);
	pthread_mutex_unlock(&keeper->lock);
}

void vmop_file_keeper_expire(struct vmop_file_keeper *keeper, uint64_t before_ns,
			     uint64_t max_bytes)
{
	pthread_mutex_lock(&keeper->lock);
	if (!keeper->wants_expire) {
		keeper->wants_expire = true;
		keeper->before_ns = before_ns;
		keeper->max_bytes = max_bytes;
		pthread_cond_signal(&keeper->wake);
	}
	pthread_mutex_unlock(&keeper->lock);
}

unsigned vmop_file_keeper_take_removed(struct vmop_file_keeper *keeper)
{
	pthread_mutex_lock(&keeper->lock);
	unsigned n = keeper->n_removed;
	keeper->n_removed = 0;
	pthread_mutex_unlock(&keeper->lock);
	return n;
}

void vmop_file_keeper_look_for_readers(struct vmop_file_keeper *keeper)
{
	pthread_mutex_lock(&keeper->lock);
	keeper->wants_readers = true;
	pthread_cond_signal(&keeper->wake);
	pthread_mutex_unlock(&keeper->lock);
}

char *vmop_file_keeper_readers(struct vmop_file_keeper *keeper)
{
	pthread_mutex_lock(&keeper->lock);
	char *readers = keeper->readers ? strdup(keeper->readers) : NULL;
	pthread_mutex_unlock(&keeper->lock);
	return readers;
}

bool vmop_file_keeper_is_busy(struct vmop_file_keeper *keeper)
{
	pthread_mutex_lock(&keeper->lock);
	bool is_busy =
		keeper->is_working || keeper->n_left || keeper->wants_next || keeper->wants_expire;
	pthread_mutex_unlock(&keeper->lock);
	return is_busy;
}

struct vmop_error *vmop_file_keeper_failure(struct vmop_file_keeper *keeper)
{
	pthread_mutex_lock(&keeper->lock);
	struct vmop_error *err = vmop_steal(&keeper->failure);
	pthread_mutex_unlock(&keeper->lock);
	return err;
}

/* ---- life ----------------------------------------------------------------------- */

static void free_all(struct vmop_file_keeper *keeper)
{
	vmop_error_destroy(keeper->next_error);
	vmop_error_destroy(keeper->failure);
	pthread_mutex_destroy(&keeper->lock);
	pthread_cond_destroy(&keeper->wake);
	free(keeper->readers);
	free(keeper->dir);
	free(keeper);
}

struct vmop_error *vmop_file_keeper_create(const char *dir, mode_t mode,
					   struct vmop_file_keeper **ret)
{
	struct vmop_file_keeper *keeper = calloc(1, sizeof(*keeper));
	if (!keeper)
		return &vmop_error_no_memory;
	keeper->mode = mode;
	keeper->has_incomplete = true; /* a session before can have left one */
	keeper->next = VMOP_SESSION_FILE_NONE;
	pthread_mutex_init(&keeper->lock, NULL);
	vmop_thread_cond_init(&keeper->wake);
	keeper->dir = strdup(dir);
	struct vmop_error *err =
		keeper->dir ? vmop_thread_begin(&keeper->thread, "file-keeper", run, keeper)
			    : &vmop_error_no_memory;
	if (err)
		free_all(keeper);
	else
		*ret = keeper;
	return err;
}

struct vmop_error *vmop_file_keeper_destroy(struct vmop_file_keeper *keeper)
{
	if (!keeper)
		return NULL;
	pthread_mutex_lock(&keeper->lock);
	keeper->is_ending = true;
	keeper->wants_next = false;
	pthread_cond_signal(&keeper->wake);
	pthread_mutex_unlock(&keeper->lock);
	pthread_join(keeper->thread, NULL);
	if (keeper->next.db)
		vmop_session_file_discard(&keeper->next, keeper->dir);
	struct vmop_error *err = vmop_steal(&keeper->failure);
	free_all(keeper);
	return err;
}
