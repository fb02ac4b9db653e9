// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/active/serial.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "libutil/procfs.h"

/* Sockets of a VMM's network namespace that are looked at. */
#define SOCKETS_MAX 65536

/* A listening socket has this bit in /proc/net/unix (kernel: __SO_ACCEPTCON, net/unix/af_unix.c) */
#define FLAG_LISTENS 0x10000

/* ---- the host ------------------------------------------------------------------------------ */

/* A socket on which some process listens. */
struct listener {
	uint64_t inode;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1];
};

/* Return whether a path ends with the port's name. An abstract name begins with '@'. */
static bool is_named(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && *path == '/' && strcmp(slash + 1, VMOP_ACTIVE_SERIAL_NAME) == 0;
}

/* Parse a line of /proc/net/unix (proc(5)). Return false if it is no such listener. */
static bool parse_listener(const char *line, struct listener *ret)
{
	unsigned flags, type;
	int path_at = 0;
	if (sscanf(line, "%*s %*x %*x %x %x %*x %" SCNu64 " %n", &flags, &type, &ret->inode,
		   &path_at) != 3 ||
	    !path_at || type != SOCK_STREAM || !(flags & FLAG_LISTENS))
		return false;
	snprintf(ret->path, sizeof(ret->path), "%s", line + path_at);
	ret->path[strcspn(ret->path, "\n")] = '\0';
	return strlen(line + path_at) < sizeof(ret->path) && is_named(ret->path);
}

static bool is_socket(const void *arg, const char *target)
{
	char wanted[40];
	snprintf(wanted, sizeof(wanted), "socket:[%" PRIu64 "]", *(const uint64_t *)arg);
	return strcmp(target, wanted) == 0;
}

/* Return whether a process has the socket with that inode open. */
static bool has_open(const char *root, uint32_t pid, uint64_t inode)
{
	return vmop_procfs_has_open(root, pid, is_socket, &inode);
}

/* Find the socket of that name on which the process listens. */
static bool find_listener(const char *root, uint32_t pid, struct listener *ret)
{
	char path[64], line[512];
	snprintf(path, sizeof(path), "%s/proc/%" PRIu32 "/net/unix", root, pid);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	for (unsigned n = 0; file && n < SOCKETS_MAX && fgets(line, sizeof(line), file); n++)
		if (parse_listener(line, ret) && has_open(root, pid, ret->inode))
			return true;
	return false;
}

/*
 * Open the file of a socket as the process sees it, without a connection. Links cannot leave the
 * process's file system; with no_links there must be none.
 */
static int open_file(const char *root, uint32_t pid, const char *path, bool no_links)
{
	char root_path[64];
	const struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS |
			   (no_links ? RESOLVE_NO_SYMLINKS : 0),
	};
	snprintf(root_path, sizeof(root_path), "%s/proc/%" PRIu32 "/root", root, pid);
	_cleanup_close_ int root_fd = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root_fd < 0 ? -1 : (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
}

/*
 * Return whether the process itself listens at the other end, or a manager that has passed the
 * socket to it: then root's, and at a path without links, which a user of the process's file system
 * could have laid.
 */
static bool is_of(const char *root, uint32_t pid, const char *path, int socket_fd, int file_fd)
{
	struct ucred peer;
	struct stat there, linkless;
	socklen_t len = sizeof(peer);
	if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return false;
	if (peer.pid == (pid_t)pid)
		return true;
	_cleanup_close_ int fd = peer.uid == 0 ? open_file(root, pid, path, true) : -1;
	return fd >= 0 && fstat(fd, &linkless) == 0 && fstat(file_fd, &there) == 0 &&
	       linkless.st_ino == there.st_ino && linkless.st_dev == there.st_dev;
}

static struct vmop_error *no_connection(const char *path, int error)
{
	if (error == EACCES || error == EPERM)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "%s: vmopd may not write to it; it must be in a group that "
				      "may (SupplementaryGroups= of vmopd.service)",
				      path);
	return vmop_error_new(VMOP_ERROR_CANT, "%s: %s", path, strerror(error));
}

struct vmop_error *vmop_active_serial_dial(const char *root, uint32_t vmm_pid, int *ret_fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct listener listener;
	*ret_fd = -1;
	if (!find_listener(root, vmm_pid, &listener))
		return NULL;
	_cleanup_close_ int file = open_file(root, vmm_pid, listener.path, false);
	if (file < 0)
		return no_connection(listener.path, errno);
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	/* This path is short enough for an address. */
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", file);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return no_connection(listener.path, errno);
	/* The VMM listened there before the connection, and still does. */
	if (!has_open(root, vmm_pid, listener.inode) ||
	    !is_of(root, vmm_pid, listener.path, fd, file))
		return vmop_error_new(VMOP_ERROR_CANT, "%s: another process listens there",
				      listener.path);
	*ret_fd = vmop_steal_fd(&fd);
	return NULL;
}

/* ---- the guest ----------------------------------------------------------------------------- */

/* Find the port's device by sysfs, because not every guest has udev's links. */
static bool find_device(char *ret, size_t size)
{
	_cleanup_closedir_ DIR *dir = vmop_procfs_opendir("", "/sys/class/virtio-ports");
	const struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		char name[64];
		if (*entry->d_name == '.' ||
		    vmop_procfs_read("", name, sizeof(name), "/sys/class/virtio-ports/%s/name",
				     entry->d_name) <= 0)
			continue;
		name[strcspn(name, "\n")] = '\0';
		if (strcmp(name, VMOP_ACTIVE_SERIAL_NAME) == 0)
			return (size_t)snprintf(ret, size, "/dev/%s", entry->d_name) < size;
	}
	return false;
}

bool vmop_active_serial_is_there(void)
{
	char path[280];
	return find_device(path, sizeof(path));
}

int vmop_active_serial_open(void)
{
	char path[280];
	struct stat st;
	if (!find_device(path, sizeof(path)))
		return -1;
	_cleanup_close_ int fd =
		open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
	return fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) ? vmop_steal_fd(&fd) : -1;
}
