// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread that moves a writer's WAL into the file and syncs both, so that the writer does not wait
 * for the disk. connection.h owns it; vmop_db_checkpoint_beside starts it.
 *
 * The thread has its own connection to the file. It works when the WAL has
 * VMOP_CHECKPOINT_FRAMES pages, and syncs the WAL at the latest VMOP_CHECKPOINT_SYNC_NS after a
 * commit, so that a power cut loses no more. After a checkpoint it writes the first page of the
 * next WAL itself: SQLite syncs the WAL's new header in that transaction
 * (sqlite.org/src/info/ff5be73dee).
 *
 * A transaction that the writer begins meanwhile can wait for the thread's. So the writer asks
 * vmop_checkpoints_is_busy before it begins one that can wait.
 */
#ifndef VMOP_LIBDB_CHECKPOINT_H
#define VMOP_LIBDB_CHECKPOINT_H

#include <sqlite3.h>
#include <stdbool.h>

#include "libutil/clock.h"

/* 4 MB, as SQLite's own checkpoints. */
#define VMOP_CHECKPOINT_FRAMES 1000
#define VMOP_CHECKPOINT_SYNC_NS (10 * VMOP_NS_PER_S)

struct vmop_checkpoints;

/*
 * Start the thread for the file of `writer`, which is in WAL mode, and end the writer's own
 * checkpoints. Return NULL if there is no memory, thread or descriptor: the writer's own
 * checkpoints stay.
 */
struct vmop_checkpoints *vmop_checkpoints_begin(sqlite3 *writer);

/*
 * Let no further checkpoint begin until vmop_checkpoints_release. Return whether no checkpoint is in
 * progress: then the writer's transactions do not wait for the thread.
 */
bool vmop_checkpoints_hold(struct vmop_checkpoints *checkpoints);
void vmop_checkpoints_release(struct vmop_checkpoints *checkpoints);

/* Return whether a checkpoint is due or in progress. */
bool vmop_checkpoints_is_busy(struct vmop_checkpoints *checkpoints);

/* Return the pages that the WAL had after the writer's last commit. */
unsigned vmop_checkpoints_frames(struct vmop_checkpoints *checkpoints);

/* Return SQLite's code of the first failure since the last call, or SQLITE_OK; *ret_os_errno. */
int vmop_checkpoints_failure(struct vmop_checkpoints *checkpoints, int *ret_os_errno);

/*
 * Wait for the thread's work, end the thread and free checkpoints. NULL is allowed. Call it before
 * the writer's connection closes or leaves WAL mode.
 */
void vmop_checkpoints_end(struct vmop_checkpoints *checkpoints);

#endif
