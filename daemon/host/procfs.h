// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading /proc and /sys below a given root, with bounded buffers.  Names in
 * there are whatever some program chose: nothing is assumed of them.  Only for files that no
 * process can hold up; proc-text.h reads the others.
 */
#ifndef VMOP_DAEMON_HOST_PROCFS_H
#define VMOP_DAEMON_HOST_PROCFS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define VMOP_COMM_BYTES 16 /* TASK_COMM_LEN */

/*
 * The start of the file at root + the formatted path, NUL-terminated, into buf.
 * Returns its length (a longer file is cut to fit), or -1 with errno.
 */
ssize_t vmop_procfs_read(const char *root, char *buf, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* readlink of such a path, NUL-terminated; -1 with errno. */
ssize_t vmop_procfs_readlink(const char *root, char *buf, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* opendir of such a path; NULL with errno. */
DIR *vmop_procfs_opendir(const char *root, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A directory entry's name as a pid; false: it is none. */
bool vmop_procfs_pid(const char *name, uint32_t *ret);

/* What /proc/PID/stat (proc(5)) says that is of use here. */
struct vmop_procfs_stat {
	char comm[VMOP_COMM_BYTES];
	char state;
	uint32_t ppid;
	bool is_kthread;
	uint32_t n_threads;
	uint64_t start_ticks; /* since boot, in units of sysconf(_SC_CLK_TCK) */
};

/* False: there is no such process, or the text is off. */
bool vmop_procfs_stat(const char *root, uint32_t pid, struct vmop_procfs_stat *ret);

/*
 * The inode of /proc/PID/ns/mnt, which tells mount namespaces apart; 0: not known.
 */
uint64_t vmop_procfs_mount_ns(const char *root, uint32_t pid);

/*
 * The path below the cgroup root of process pid, into buf: of the unified
 * hierarchy where it says something, else of a v1 one (cgroups(7)).
 */
bool vmop_procfs_cgroup(const char *root, uint32_t pid, char *buf, size_t size);

#endif
