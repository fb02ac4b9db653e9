// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The processes that hold a snapshot of a session. In WAL mode a reader holds a lock on one of five
 * bytes of the file -shm (sqlite.org/walformat.html, "Locking Matrix"). Linux lists the holders of
 * all locks in /proc/locks (proc(5)). A descriptor of the file would not do: to close it drops the
 * locks of SQLite.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libdb/session-files.h"
#include "libutil/cleanup.h"

#define FIRST_READER_BYTE 123
#define LAST_READER_BYTE 127

/* Other users can make as many locks as they like. */
#define MAX_LINES 100000

/* Return the process that holds a reader's lock of the file, or 0. */
static pid_t holder_of(const char *line, uint64_t inode)
{
	int pid;
	uint64_t locked, first;
	/* "1: POSIX  ADVISORY  READ 123 08:02:4711 124 124"; the device's numbers are hexadecimal.
	 */
	if (sscanf(line, "%*u: POSIX %*s READ %d %*x:%*x:%" SCNu64 " %" SCNu64, &pid, &locked,
		   &first) != 3 ||
	    locked != inode || first < FIRST_READER_BYTE || first > LAST_READER_BYTE)
		return 0;
	return pid > 0 && pid != getpid() ? pid : 0;
}

static bool is_among(const pid_t *pids, size_t n, pid_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

size_t vmop_session_readers(const char *path, pid_t *ret_pids, size_t max)
{
	_cleanup_free_ char *shm = NULL;
	struct stat st;
	char line[256];
	size_t n = 0;
	if (asprintf(&shm, "%s-shm", path) < 0) {
		shm = NULL;
		return 0;
	}
	_cleanup_fclose_ FILE *locks = stat(shm, &st) == 0 ? fopen("/proc/locks", "re") : NULL;
	for (unsigned i = 0; locks && i < MAX_LINES && n < max && fgets(line, sizeof(line), locks);
	     i++) {
		pid_t pid = holder_of(line, st.st_ino);
		if (pid && !is_among(ret_pids, n, pid))
			ret_pids[n++] = pid;
	}
	return n;
}
