// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "libutil/io.h"

static long faults(const struct rusage *usage)
{
	return usage->ru_minflt + usage->ru_majflt;
}

/* Return the pages that execve(2) copies: the strings of argv and of the environment. */
static long count_pages(char *const *argv)
{
	size_t len_bytes = 0;
	for (char *const *at = argv; *at; at++)
		len_bytes += strlen(*at) + 1;
	for (char *const *at = environ; at && *at; at++)
		len_bytes += strlen(*at) + 1;
	return (long)(len_bytes / (size_t)sysconf(_SC_PAGESIZE)) + 1;
}

/*
 * Wait, then execute the command; never return. The parent reads the number of page faults until
 * execve(2) is done, and the errno if execve(2) fails.
 */
static void be_child(char **argv, const sigset_t *signals, int out_fd, int go_fd, int report_fd)
{
	char byte;
	sigprocmask(SIG_SETMASK, signals, NULL);
	/* The end of the file: vmopstat is ready, or has died. A byte: go. */
	if (read(go_fd, &byte, 1) != 1 || (out_fd >= 0 && dup2(out_fd, STDOUT_FILENO) < 0))
		_exit(127);
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	long n_faults = faults(&usage) + count_pages(argv);
	if (write(report_fd, &n_faults, sizeof(n_faults)) < 0)
		_exit(126);
	execvp(argv[0], argv);
	int os_errno = errno;
	if (write(report_fd, &os_errno, sizeof(os_errno)) < 0)
		_exit(126);
	_exit(127);
}

struct vmop_error *vmop_stat_command_prepare(char **argv, const sigset_t *signals, int out_fd,
					     struct vmop_stat_command *ret)
{
	int go[2], report[2];
	if (pipe2(go, O_CLOEXEC) != 0)
		return vmop_error_os(errno, "pipe");
	if (pipe2(report, O_CLOEXEC) != 0) {
		close(go[0]);
		close(go[1]);
		return vmop_error_os(errno, "pipe");
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(go[1]);
		close(report[0]);
		be_child(argv, signals, out_fd, go[0], report[1]);
	}
	int os_errno = errno;
	close(go[0]);
	close(report[1]);
	if (pid < 0) {
		close(go[1]);
		close(report[0]);
		return vmop_error_os(os_errno, "fork");
	}
	*ret = (struct vmop_stat_command){.pid = pid, .go_fd = go[1], .report_fd = report[0]};
	return NULL;
}

struct vmop_error *vmop_stat_command_go(struct vmop_stat_command *command, const char *name)
{
	int os_errno;
	long *n_faults = &command->n_faults_before;
	if (vmop_io_write_full(command->go_fd, "", 1) != 1)
		return vmop_error_os(errno, "the command");
	close(command->go_fd);
	command->go_fd = -1;
	/* Its end is closed by execve(2). */
	if (vmop_io_read_full(command->report_fd, n_faults, sizeof(*n_faults)) !=
		    sizeof(*n_faults) ||
	    vmop_io_read_full(command->report_fd, &os_errno, sizeof(os_errno)) != sizeof(os_errno))
		return NULL;
	return vmop_error_os(os_errno, "cannot execute %s", name);
}

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

struct vmop_error *vmop_stat_command_check(struct vmop_stat_command *command)
{
	struct rusage usage;
	if (!command->pid || command->has_ended)
		return NULL;
	pid_t pid = wait4(command->pid, &command->status, WNOHANG, &usage);
	if (pid < 0 && errno != EINTR)
		return vmop_error_os(errno, "waiting for the command");
	if (pid <= 0)
		return NULL;
	command->has_ended = true;
	command->user_s = seconds(usage.ru_utime);
	command->system_s = seconds(usage.ru_stime);
	command->n_switches = usage.ru_nvcsw;
	command->n_faults = faults(&usage) - command->n_faults_before;
	return NULL;
}

int vmop_stat_command_exit_status(const struct vmop_stat_command *command)
{
	return WIFSIGNALED(command->status) ? 128 + WTERMSIG(command->status)
					    : WEXITSTATUS(command->status);
}

void vmop_stat_command_deinit(struct vmop_stat_command *command)
{
	if (!command->pid)
		return;
	if (command->go_fd >= 0)
		close(command->go_fd);
	close(command->report_fd);
	if (!command->has_ended) {
		kill(command->pid, SIGTERM);
		waitpid(command->pid, NULL, 0);
	}
	*command = (struct vmop_stat_command){0};
}

/* Find the file that execvp(3) would execute. */
static bool find_file(const char *name, char ret[PATH_MAX])
{
	if (strchr(name, '/'))
		return snprintf(ret, PATH_MAX, "%s", name) < PATH_MAX;
	const char *path = getenv("PATH");
	for (path = path ? path : "/bin:/usr/bin"; *path; path += *path == ':') {
		size_t len = strcspn(path, ":");
		if (snprintf(ret, PATH_MAX, "%.*s/%s", (int)len, path, name) < PATH_MAX &&
		    access(ret, X_OK) == 0)
			return true;
		path += len;
	}
	return false;
}

bool vmop_stat_command_changes_rights(const char *name)
{
	char path[PATH_MAX];
	struct stat st;
	if (!find_file(name, path) || stat(path, &st) != 0)
		return false;
	if (st.st_mode & S_ISUID && st.st_uid != geteuid())
		return true;
	if (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getegid())
		return true;
	return geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}
