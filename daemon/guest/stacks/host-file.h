// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files of this machine that are the same as a guest's, by their build-id: for what the guest does
 * not have in memory. The build-id is the guest's and hostile. Only its digits become part of a
 * path, and a file counts only if it has this build-id itself.
 *
 * Such a file can lie only in directories that belong to the system. So no other user of this
 * machine can make the open wait.
 */
#ifndef VMOP_DAEMON_GUEST_STACKS_HOST_FILE_H
#define VMOP_DAEMON_GUEST_STACKS_HOST_FILE_H

#include <stdbool.h>

#include "libsym/build-id.h"

/* The longest path of a file that programs of this machine have mapped, with its 0. */
#define VMOP_HOST_FILE_PATH_BYTES 128

/* Return whether a path of this machine may be opened: it is in one of the system's directories. */
bool vmop_host_file_is_path_allowed(const char *path);

/*
 * Open the program or library with a build-id. It is searched where distributions link programs by
 * build-id (/usr/lib/debug/.build-id, /usr/lib/.build-id), and at known_path, where a program of
 * this machine had it mapped; NULL or "": none. root_fd: the root directory. Return the descriptor,
 * which is the caller's, or -1. Not for the sampling thread.
 */
int vmop_host_file_open(int root_fd, const struct vmop_build_id *id, const char *known_path);

/* Do the same with its debug file, in /usr/lib/debug/.build-id. */
int vmop_host_file_open_debug(int root_fd, const struct vmop_build_id *id);

#endif
