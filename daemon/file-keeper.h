// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread that does a session's slow work with files, so that the sampling thread does not wait
 * for the disk. It makes the file of the next session, ends files that the session has left,
 * removes old sessions, and finds the processes that read the session.
 *
 * One thread, the session's, calls all functions. None of them waits for the disk, except
 * vmop_file_keeper_destroy.
 */
#ifndef VMOP_DAEMON_FILE_KEEPER_H
#define VMOP_DAEMON_FILE_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/session-file.h"
#include "libutil/error.h"

struct vmop_file_keeper;

/* Start the thread for the session directory `dir`. Files get the permissions `mode`. */
struct vmop_error *vmop_file_keeper_create(const char *dir, mode_t mode,
					   struct vmop_file_keeper **ret);

/*
 * Do the work that is left, remove a file that was made in vain, end the thread and free keeper. Return the
 * first failure since vmop_file_keeper_failure. NULL is allowed.
 */
struct vmop_error *vmop_file_keeper_destroy(struct vmop_file_keeper *keeper);

/*
 * Take the next session's file (vmop_session_file_create), which the caller owns. VMOP_ERROR_BUSY:
 * it is being made; call again. After another error the next call begins anew.
 */
struct vmop_error *vmop_file_keeper_next(struct vmop_file_keeper *keeper,
					 struct vmop_session_file *ret);

/* How to end a file that the session has left. */
enum vmop_file_end {
	VMOP_FILE_FINISH,  /* it has another name: vmop_session_file_finish */
	VMOP_FILE_ABANDON, /* another user moved or deleted it: vmop_session_file_abandon */
	VMOP_FILE_REMOVE,  /* it is at vmop_session_discarded_path: close and remove it */
	VMOP_FILE_DISCARD, /* it never was in its place: vmop_session_file_discard */
};

/* End *file, and set it to no file. */
void vmop_file_keeper_end(struct vmop_file_keeper *keeper, struct vmop_session_file *file,
			  enum vmop_file_end end);

/* Remove old sessions: vmop_session_expire. A call that follows before it is done is ignored. */
void vmop_file_keeper_expire(struct vmop_file_keeper *keeper, uint64_t before_ns,
			     uint64_t max_bytes);

/* Return the number of sessions that were removed since the last call. */
unsigned vmop_file_keeper_take_removed(struct vmop_file_keeper *keeper);

/* Look for the processes that read the current session. */
void vmop_file_keeper_look_for_readers(struct vmop_file_keeper *keeper);

/*
 * Return the readers that were last found, "vmopreport (pid 123), sqlite3 (pid 124)", which the
 * caller frees; NULL: none.
 */
char *vmop_file_keeper_readers(struct vmop_file_keeper *keeper);

/* Return whether work is left, other than a file that waits to be taken. */
bool vmop_file_keeper_is_busy(struct vmop_file_keeper *keeper);

/* Return the first failure to end a file or to remove old sessions since the last call, or NULL. */
struct vmop_error *vmop_file_keeper_failure(struct vmop_file_keeper *keeper);

#endif
