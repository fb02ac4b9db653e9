// SPDX-License-Identifier: GPL-2.0-or-later
#include "libdb/checkpoint.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "libdb/vfs.h"
#include "libutil/thread.h"

/* A reader can keep a checkpoint from its end. The next attempt comes after so many pages more. */
#define AGAIN_FRAMES 250

/* Checkpoints in a row, each of what the writer added during the one before. */
#define ATTEMPTS 3

/* The WAL keeps its pages when it begins anew, up to this size: they need no new blocks. */
#define PRAGMAS                                                                                    \
	"PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=16;"            \
	"PRAGMA journal_size_limit=8388608; SELECT 1 FROM sqlite_schema"

struct vmop_checkpoints {
	sqlite3 *writer; /* only for its hook */
	sqlite3 *sqlite; /* the thread's */
	char *restart;	 /* the statements that begin the next WAL */
	pthread_t thread;

	pthread_mutex_t lock;
	pthread_cond_t wake;
	/* Protected by the lock. */
	bool is_ending;
	bool is_wanted, is_working;
	bool is_held;	  /* no checkpoint begins */
	int frames;	  /* of the WAL, after the last commit */
	int asked_frames; /* of the WAL when a checkpoint was last wanted */
	uint64_t
		unsynced_ns; /* CLOCK_MONOTONIC, of the first commit since the last sync; 0: none */
	int failure, os_errno; /* the first one that was not returned */
};

/* ---- the writer's thread -------------------------------------------------------- */

/* Called by SQLite after each commit, with the length of the WAL. */
static int on_commit(void *arg, sqlite3 *writer, const char *name, int frames)
{
	struct vmop_checkpoints *self = arg;
	(void)writer;
	(void)name;
	pthread_mutex_lock(&self->lock);
	self->frames = frames;
	if (frames < self->asked_frames)
		self->asked_frames = 0;
	bool is_due = frames >= VMOP_CHECKPOINT_FRAMES &&
		      (!self->asked_frames || frames - self->asked_frames >= AGAIN_FRAMES);
	if (is_due) {
		self->asked_frames = frames;
		self->is_wanted = true;
	}
	bool is_first = !self->unsynced_ns;
	if (is_first)
		self->unsynced_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	if (is_due || is_first)
		pthread_cond_signal(&self->wake);
	pthread_mutex_unlock(&self->lock);
	return SQLITE_OK;
}

bool vmop_checkpoints_is_busy(struct vmop_checkpoints *checkpoints)
{
	pthread_mutex_lock(&checkpoints->lock);
	bool is_busy = (checkpoints->is_wanted && !checkpoints->is_held) || checkpoints->is_working;
	pthread_mutex_unlock(&checkpoints->lock);
	return is_busy;
}

bool vmop_checkpoints_hold(struct vmop_checkpoints *checkpoints)
{
	pthread_mutex_lock(&checkpoints->lock);
	checkpoints->is_held = true;
	bool is_idle = !checkpoints->is_working;
	pthread_mutex_unlock(&checkpoints->lock);
	return is_idle;
}

void vmop_checkpoints_release(struct vmop_checkpoints *checkpoints)
{
	pthread_mutex_lock(&checkpoints->lock);
	checkpoints->is_held = false;
	pthread_cond_signal(&checkpoints->wake);
	pthread_mutex_unlock(&checkpoints->lock);
}

unsigned vmop_checkpoints_frames(struct vmop_checkpoints *checkpoints)
{
	pthread_mutex_lock(&checkpoints->lock);
	unsigned frames = (unsigned)checkpoints->frames;
	pthread_mutex_unlock(&checkpoints->lock);
	return frames;
}

int vmop_checkpoints_failure(struct vmop_checkpoints *checkpoints, int *ret_os_errno)
{
	pthread_mutex_lock(&checkpoints->lock);
	int failure = checkpoints->failure;
	*ret_os_errno = checkpoints->os_errno;
	checkpoints->failure = SQLITE_OK;
	pthread_mutex_unlock(&checkpoints->lock);
	return failure;
}

/* ---- the thread ----------------------------------------------------------------- */

static void note(struct vmop_checkpoints *self, int rc)
{
	if (rc == SQLITE_OK || (rc & 0xff) == SQLITE_BUSY)
		return;
	pthread_mutex_lock(&self->lock);
	if (self->failure == SQLITE_OK) {
		self->failure = rc;
		self->os_errno = sqlite3_system_errno(self->sqlite);
	}
	pthread_mutex_unlock(&self->lock);
}

static bool is_held(struct vmop_checkpoints *self)
{
	pthread_mutex_lock(&self->lock);
	bool held = self->is_held;
	pthread_mutex_unlock(&self->lock);
	return held;
}

static void checkpoint(struct vmop_checkpoints *self)
{
	int rc = SQLITE_OK, frames = 0, moved = -1;
	for (int i = 0; i < ATTEMPTS && rc == SQLITE_OK && moved != frames; i++) {
		if (i && is_held(self))
			break;
		rc = sqlite3_wal_checkpoint_v2(self->sqlite, "main", SQLITE_CHECKPOINT_PASSIVE,
					       &frames, &moved);
	}
	/* If the writer or a reader is in between, a later commit begins the WAL anew. */
	if (rc == SQLITE_OK && moved == frames)
		rc = sqlite3_exec(self->sqlite, self->restart, NULL, NULL, NULL);
	if (!sqlite3_get_autocommit(self->sqlite))
		sqlite3_exec(self->sqlite, "ROLLBACK", NULL, NULL, NULL);
	note(self, rc);
}

static void sync_wal(struct vmop_checkpoints *self)
{
	sqlite3_file *wal = NULL;
	int rc = sqlite3_file_control(self->sqlite, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
	if (rc == SQLITE_OK && wal && wal->pMethods)
		rc = wal->pMethods->xSync(wal, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
	note(self, rc);
}

/* Wait for a request, the time of a sync, or the end. Needs the lock. */
static void wait_for_work(struct vmop_checkpoints *self)
{
	if (!self->unsynced_ns) {
		pthread_cond_wait(&self->wake, &self->lock);
		return;
	}
	uint64_t until_ns = self->unsynced_ns + VMOP_CHECKPOINT_SYNC_NS;
	const struct timespec until = {.tv_sec = (time_t)(until_ns / VMOP_NS_PER_S),
				       .tv_nsec = (long)(until_ns % VMOP_NS_PER_S)};
	pthread_cond_timedwait(&self->wake, &self->lock, &until);
}

static void *run(void *arg)
{
	struct vmop_checkpoints *self = arg;
	pthread_mutex_lock(&self->lock);
	while (!self->is_ending) {
		bool is_wanted = self->is_wanted && !self->is_held;
		if (!is_wanted &&
		    (!self->unsynced_ns || vmop_clock_ns(CLOCK_MONOTONIC) - self->unsynced_ns <
						   VMOP_CHECKPOINT_SYNC_NS)) {
			wait_for_work(self);
			continue;
		}
		self->is_wanted &= !is_wanted;
		self->is_working = is_wanted;
		self->unsynced_ns = 0;
		pthread_mutex_unlock(&self->lock);
		if (is_wanted)
			checkpoint(self);
		else
			sync_wal(self);
		pthread_mutex_lock(&self->lock);
		self->is_working = false;
	}
	pthread_mutex_unlock(&self->lock);
	return NULL;
}

/* ---- life ----------------------------------------------------------------------- */

static void free_all(struct vmop_checkpoints *self)
{
	sqlite3_close(self->sqlite);
	sqlite3_free(self->restart);
	pthread_mutex_destroy(&self->lock);
	pthread_cond_destroy(&self->wake);
	free(self);
}

static int read_version(void *arg, int n, char **values, char **names)
{
	(void)n;
	(void)names;
	*(char **)arg = sqlite3_mprintf("BEGIN IMMEDIATE; PRAGMA user_version=%d; COMMIT",
					values[0] ? atoi(values[0]) : 0);
	return *(char **)arg ? 0 : 1;
}

/* Open the file of the writer once more, and its WAL. */
static int connect(struct vmop_checkpoints *self)
{
	const char *name = sqlite3_db_filename(self->writer, "main");
	int rc = sqlite3_open_v2(
		name, &self->sqlite,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, VMOP_VFS);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(self->sqlite, PRAGMAS, NULL, NULL, NULL);
	/* Setting the version to its own value writes the first page and changes nothing. */
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(self->sqlite, "PRAGMA user_version", read_version, &self->restart,
				  NULL);
	return rc;
}

struct vmop_checkpoints *vmop_checkpoints_begin(sqlite3 *writer)
{
	struct vmop_checkpoints *self = calloc(1, sizeof(*self));
	if (!self)
		return NULL;
	self->writer = writer;
	pthread_mutex_init(&self->lock, NULL);
	vmop_thread_cond_init(&self->wake);
	struct vmop_error *err = NULL;
	if (connect(self) != SQLITE_OK ||
	    (err = vmop_thread_begin(&self->thread, "checkpoint", run, self))) {
		vmop_error_destroy(err);
		free_all(self);
		return NULL;
	}
	sqlite3_wal_hook(writer, on_commit, self);
	return self;
}

void vmop_checkpoints_end(struct vmop_checkpoints *checkpoints)
{
	if (!checkpoints)
		return;
	/* In place of the hook: SQLite's own checkpoints. */
	sqlite3_wal_autocheckpoint(checkpoints->writer, VMOP_CHECKPOINT_FRAMES);
	pthread_mutex_lock(&checkpoints->lock);
	checkpoints->is_ending = true;
	pthread_cond_signal(&checkpoints->wake);
	pthread_mutex_unlock(&checkpoints->lock);
	pthread_join(checkpoints->thread, NULL);
	free_all(checkpoints);
}
