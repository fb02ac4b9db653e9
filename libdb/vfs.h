// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * SQLite's way to the files of a session: its own unix VFS, but narrowed.
 *
 * A name is used as it is given and never resolved: a connection names its file by descriptor,
 * "/proc/self/fd/N/current.vmop", so that no link or rename leads elsewhere. "/proc/self/fd/N" is
 * the file behind N itself: it is only read, and nothing beside it is looked for; "wal=M" in the
 * URI gives it a WAL, by its descriptor M. Only names of that form are opened or deleted, and
 * super-journals are refused: a journal that names one makes SQLite delete the file of that name.
 */
#ifndef VMOP_LIBDB_VFS_H
#define VMOP_LIBDB_VFS_H

#define VMOP_VFS "vmop"
/* The same without locks, for files that no process writes. */
#define VMOP_VFS_WITHOUT_LOCKS "vmop-none"

/* Make both known to SQLite. Repeated calls are harmless, from any thread. Returns SQLite's code.
 */
int vmop_vfs_register(void);

#endif
