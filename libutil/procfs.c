// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "libutil/parse.h"

/* Descriptors of a process that are looked at. */
#define DESCRIPTORS_MAX 4096

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

struct path {
	char text[PATH_MAX];
};

/* Return false with errno if the path does not fit. */
static bool path_make(struct path *path, const char *root, const char *format, va_list args)
{
	size_t len = strnlen(root, sizeof(path->text));
	if (len < sizeof(path->text)) {
		memcpy(path->text, root, len);
		int n = vsnprintf(path->text + len, sizeof(path->text) - len, format, args);
		if (n >= 0 && (size_t)n < sizeof(path->text) - len)
			return true;
	}
	errno = ENAMETOOLONG;
	return false;
}

#define PATH_OR_FAIL(path, root, format, failure)                                                  \
	do {                                                                                       \
		va_list args_;                                                                     \
		va_start(args_, format);                                                           \
		bool fits_ = path_make(&(path), root, format, args_);                              \
		va_end(args_);                                                                     \
		if (!fits_)                                                                        \
			return failure;                                                            \
	} while (0)

ssize_t vmop_procfs_read(const char *root, char *buf, size_t size, const char *format, ...)
{
	struct path path;
	PATH_OR_FAIL(path, root, format, -1);
	_cleanup_close_ int fd = open(path.text, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = vmop_io_read_full(fd, buf, size - 1);
	if (n >= 0)
		buf[n] = '\0';
	return n;
}

ssize_t vmop_procfs_readlink(const char *root, char *buf, size_t size, const char *format, ...)
{
	struct path path;
	PATH_OR_FAIL(path, root, format, -1);
	ssize_t n = readlink(path.text, buf, size - 1);
	if (n >= 0)
		buf[n] = '\0';
	return n;
}

DIR *vmop_procfs_opendir(const char *root, const char *format, ...)
{
	struct path path;
	PATH_OR_FAIL(path, root, format, NULL);
	return opendir(path.text);
}

bool vmop_procfs_pid(const char *name, uint32_t *ret)
{
	uint64_t value;
	if (!vmop_parse_u64(name, 10, &value) || value == 0 || value > INT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

bool vmop_procfs_has_open(const char *root, uint32_t pid,
			  bool (*matches)(const void *arg, const char *target), const void *arg)
{
	_cleanup_closedir_ DIR *dir = vmop_procfs_opendir(root, "/proc/%u/fd", pid);
	const struct dirent *entry;
	for (unsigned n = 0; dir && n < DESCRIPTORS_MAX && (entry = readdir(dir)); n++) {
		char target[256];
		uint32_t fd;
		if (vmop_procfs_pid(entry->d_name, &fd) &&
		    vmop_procfs_readlink(root, target, sizeof(target), "/proc/%u/fd/%u", pid, fd) >
			    0 &&
		    matches(arg, target))
			return true;
	}
	return false;
}

bool vmop_procfs_stat(const char *root, uint32_t pid, struct vmop_procfs_stat *ret)
{
	char text[1024];
	if (vmop_procfs_read(root, text, sizeof(text), "/proc/%u/stat", pid) <= 0)
		return false;
	/* The name is in parentheses, and can contain parentheses. */
	char *open = strchr(text, '('), *close = strrchr(text, ')');
	if (!open || !close || close < open)
		return false;
	*close = '\0';
	unsigned long flags;
	*ret = (struct vmop_procfs_stat){0};
	snprintf(ret->comm, sizeof(ret->comm), "%s", open + 1);
	if (sscanf(close + 1,
		   " %c %" SCNu32 " %*d %*d %*d %*d %lu %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
		   "%" SCNu32 " %*d %" SCNu64,
		   &ret->state, &ret->ppid, &flags, &ret->n_threads, &ret->start_ticks) != 5)
		return false;
	ret->is_kthread = flags & PF_KTHREAD;
	return true;
}

uint64_t vmop_procfs_mount_ns(const char *root, uint32_t pid)
{
	char text[64];
	unsigned long long inode;
	if (vmop_procfs_readlink(root, text, sizeof(text), "/proc/%u/ns/mnt", pid) < 0 ||
	    sscanf(text, "mnt:[%llu]", &inode) != 1)
		return 0;
	return inode;
}

/* Return how well a hierarchy's path identifies a container; 0: not at all. */
static int cgroup_rank(const char *controllers, const char *path)
{
	if (!strcmp(path, "/"))
		return 0;
	if (!*controllers)
		return 4; /* the unified one */
	if (!strcmp(controllers, "name=systemd"))
		return 3;
	return strcmp(controllers, "memory") ? 1 : 2;
}

bool vmop_procfs_cgroup(const char *root, uint32_t pid, char *buf, size_t size)
{
	char text[16384];
	if (vmop_procfs_read(root, text, sizeof(text), "/proc/%u/cgroup", pid) <= 0)
		return false;
	const char *best = "/";
	int best_rank = 0;
	char *rest = text, *line;
	while ((line = strsep(&rest, "\n"))) {
		strsep(&line, ":"); /* the hierarchy's number */
		const char *controllers = strsep(&line, ":");
		if (!controllers || !line)
			continue;
		int rank = cgroup_rank(controllers, line);
		if (rank > best_rank) {
			best_rank = rank;
			best = line;
		}
	}
	snprintf(buf, size, "%s", best);
	return true;
}

/* Set *ret to number `which` in a line of /proc/PID/status; -1: the last number. */
static bool status_number(const char *status, const char *name, int which, uint32_t *ret)
{
	const char *line = strstr(status, name);
	if (!line)
		return false;
	const char *at = line + strlen(name);
	char *behind;
	bool is_found = false;
	for (int i = 0; which < 0 || i <= which; i++, at = behind) {
		at += strspn(at, "\t ");
		unsigned long value = strtoul(at, &behind, 10);
		if (behind == at)
			break;
		*ret = (uint32_t)value;
		is_found = which < 0 || i == which;
	}
	return is_found;
}

bool vmop_procfs_owner(const char *root, uint32_t pid, uid_t *ret_uid, uint32_t *ret_inner_pid)
{
	char status[16384];
	uint32_t uid;
	if (vmop_procfs_read(root, status, sizeof(status), "/proc/%u/status", pid) <= 0)
		return false;
	/* The name comes first and is escaped, so it can't forge these lines. */
	if (!status_number(status, "\nUid:", 1, &uid))
		return false;
	if (!status_number(status, "\nNSpid:", -1, ret_inner_pid))
		*ret_inner_pid = pid;
	*ret_uid = uid;
	return true;
}
