// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The VFS of session files: SQLite's unix VFS, restricted.
 *
 * Names are never resolved.  A connection names its file by descriptor,
 * "/proc/self/fd/N/current.vmop", so that no link or rename leads elsewhere.  "/proc/self/fd/N" is
 * the file behind N: SQLite only reads it, and looks for no files beside it; "wal=M" in the URI is
 * the descriptor of its WAL.
 *
 * Only names of these forms are opened or deleted.  Super-journals are refused, because a journal
 * that names one makes SQLite delete the file of that name.
 */
#ifndef VMOP_LIBDB_VFS_H
#define VMOP_LIBDB_VFS_H

#define VMOP_VFS "vmop"
/* The VFS without locks, for files that no process writes. */
#define VMOP_VFS_WITHOUT_LOCKS "vmop-none"

/* Register both VFSs, once for the process, from any thread.  Returns an SQLite result code. */
int vmop_vfs_register(void);

/*
 * From now on this process keeps the locks of a session's writer until it closes the file. SQLite
 * takes them for each transaction, and each user who may read the -shm file could take a read lock
 * on the same byte in between, which stops the writer. Readers do without these locks. Returns an
 * SQLite result code; from any thread.
 */
int vmop_vfs_keep_writer_locks(void);

#endif
