// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads /proc and /sys below a given root, with bounded buffers. Programs choose the names there,
 * so names are not trusted. Only for files that no process can block; proc-text.h reads the others.
 */
#ifndef VMOP_LIBUTIL_PROCFS_H
#define VMOP_LIBUTIL_PROCFS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define VMOP_COMM_BYTES 16 /* TASK_COMM_LEN */

/*
 * Read the start of the file at root + the formatted path into buf, NUL-terminated.
 * Return its length (a longer file is cut to fit), or -1 with errno.
 */
ssize_t vmop_procfs_read(const char *root, char *buf, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Read the link at such a path, NUL-terminated. Return its length, or -1 with errno. */
ssize_t vmop_procfs_readlink(const char *root, char *buf, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Open the directory at such a path. Return NULL with errno on an error. */
DIR *vmop_procfs_opendir(const char *root, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Parse a directory entry's name as a pid. Return false if it is not one. */
bool vmop_procfs_pid(const char *name, uint32_t *ret);

/*
 * Return whether a process has a file open whose name in /proc/PID/fd (proc(5)) matches. It looks
 * at a bounded number of descriptors, and a name is cut after 255 bytes.
 */
bool vmop_procfs_has_open(const char *root, uint32_t pid,
			  bool (*matches)(const void *arg, const char *target), const void *arg);

/* The fields of /proc/PID/stat (proc(5)) that vmopd uses. */
struct vmop_procfs_stat {
	char comm[VMOP_COMM_BYTES];
	char state;
	uint32_t ppid;
	bool is_kthread;
	uint32_t n_threads;
	uint64_t start_ticks; /* since boot, in units of sysconf(_SC_CLK_TCK) */
};

/* Return false if there is no such process or the text is malformed. */
bool vmop_procfs_stat(const char *root, uint32_t pid, struct vmop_procfs_stat *ret);

/* Return the inode of /proc/PID/ns/mnt, which identifies a mount namespace; 0: not known. */
uint64_t vmop_procfs_mount_ns(const char *root, uint32_t pid);

/*
 * Write the cgroup of process pid, a path below the cgroup root, to buf: of the unified hierarchy
 * if it names a container, else of a v1 hierarchy (cgroups(7)).
 */
bool vmop_procfs_cgroup(const char *root, uint32_t pid, char *buf, size_t size);

/*
 * Set *ret_uid to the effective user of process pid, and *ret_inner_pid to its pid in its own
 * namespace.
 */
bool vmop_procfs_owner(const char *root, uint32_t pid, uid_t *ret_uid, uint32_t *ret_inner_pid);

#endif
