// SPDX-License-Identifier: GPL-2.0-or-later
#include "opcontrol/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/dirs/run-dir.h"
#include "libutil/log.h"
#include "libutil/progress.h"
#include "libutil/protocol.h"

/* Finishing a large session on a slow disk can take this long. */
#define ANSWER_TIMEOUT_S 300
/* From the first byte of a reply to its end. */
#define REST_TIMEOUT_S 10
/* The interval at which a terminal shows that the reply is still awaited. */
#define WAIT_STEP_MS 250
/* The interval at which a starting or ending daemon is polled. */
static const struct timespec poll_time = {.tv_nsec = 20000000};

struct vmop_error *control_daemon_find(int *ret_fd)
{
	return vmop_run_connect(ret_fd);
}

/* ---- beginning it ---------------------------------------------------------- */

static char *beside_us(void)
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *path = NULL;
	if (len <= 0)
		return NULL;
	self[len] = '\0';
	char *slash = strrchr(self, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	return asprintf(&path, "%s/vmopd", self) < 0 ? NULL : path;
}

static struct vmop_error *find_program(char **ret)
{
	const char *configured = secure_getenv("VMOP_VMOPD");
	char *path = configured && *configured ? strdup(configured) : beside_us();
	if (path && ((configured && *configured) || access(path, X_OK) == 0)) {
		*ret = path;
		return NULL;
	}
	free(path);
	if (access(VMOP_SBINDIR "/vmopd", X_OK) < 0)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "vmopd is neither beside vmopcontrol nor in %s",
				      VMOP_SBINDIR);
	*ret = strdup(VMOP_SBINDIR "/vmopd");
	return *ret ? NULL : &vmop_error_no_memory;
}

/* Start vmopd with out_fd as its standard output. The caller keeps out_fd. */
static struct vmop_error *begin_program(const char *path, char *const *argv, int out_fd, pid_t *ret)
{
	fflush(NULL);
	pid_t child = fork();
	if (child < 0)
		return vmop_error_os(errno, "fork");
	if (child == 0) {
		dup2(out_fd, STDOUT_FILENO);
		execv(path, argv);
		vmop_log_error("%s: %s", path, strerror(errno));
		_exit(VMOP_EXIT_CANT);
	}
	*ret = child;
	return NULL;
}

/*
 * Wait for the process to end. If it failed, return an error without a message, because it has
 * printed its own.
 */
static struct vmop_error *end_program(const char *path, pid_t child)
{
	int status;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return vmop_error_os(errno, "vmopd");
	if (WIFSIGNALED(status))
		return vmop_error_new(VMOP_ERROR_CANT, "%s: ended by signal %d", path,
				      WTERMSIG(status));
	switch (WEXITSTATUS(status)) {
	case VMOP_EXIT_DONE:
		return NULL;
	case VMOP_EXIT_NOTHING:
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "%s", "");
	case VMOP_EXIT_USAGE:
		return vmop_error_new(VMOP_ERROR_USAGE, "%s", "");
	case VMOP_EXIT_RUNS_ALREADY:
		return vmop_error_new(VMOP_ERROR_BUSY, "another vmopd runs already");
	default:
		return vmop_error_new(VMOP_ERROR_CANT, "%s", "");
	}
}

/* Run vmopd to its end and discard its standard output. */
static struct vmop_error *run_program(const char *path, char *const *argv)
{
	_cleanup_close_ int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	pid_t child;
	if (null < 0)
		return vmop_error_os(errno, "/dev/null");
	struct vmop_error *err = begin_program(path, argv, null, &child);
	return err ? err : end_program(path, child);
}

/* Start vmopd and wait until it is ready. VMOP_ERROR_BUSY: another process started one first. */
static struct vmop_error *spawn(const char *config, int verbosity)
{
	_cleanup_free_ char *program = NULL, *option = NULL;
	struct vmop_error *err = find_program(&program);
	if (err)
		return err;
	char *argv[6] = {(char *)"vmopd", (char *)"--by-vmopcontrol"};
	size_t n = 2;
	if (access(config, F_OK) == 0) {
		if (asprintf(&option, "--config=%s", config) < 0)
			return &vmop_error_no_memory;
		argv[n++] = option;
	}
	for (int i = 0; i < verbosity && n < 5; i++)
		argv[n++] = (char *)"--verbose";
	return run_program(program, argv);
}

/* Connect to the daemon or, if none runs, start it. VMOP_ERROR_BUSY: one is starting or ending. */
static struct vmop_error *find_or_spawn(const char *config, int verbosity, int *ret_fd,
					bool *ret_spawned)
{
	pid_t holder;
	*ret_spawned = false;
	struct vmop_error *err = control_daemon_find(ret_fd);
	if (err || *ret_fd >= 0)
		return err;
	err = vmop_run_holder(VMOP_RUN_PID, &holder);
	if (!err && holder)
		err = vmop_error_new(VMOP_ERROR_BUSY,
				     "vmopd, pid %d, neither answers nor ends; see %s/%s",
				     (int)holder, vmop_run_dir(), VMOP_RUN_LOG);
	if (!err)
		err = spawn(config, verbosity);
	if (err)
		return err;
	*ret_spawned = true;
	err = control_daemon_find(ret_fd);
	if (!err && *ret_fd < 0)
		err = vmop_error_new(VMOP_ERROR_BUSY, "vmopd ended at once; see %s/%s",
				     vmop_run_dir(), VMOP_RUN_LOG);
	return err;
}

struct vmop_error *control_daemon_connect(const char *config, int verbosity, int *ret_fd,
					  bool *ret_spawned)
{
	uint64_t end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + CONTROL_WAIT_S * VMOP_NS_PER_S;
	for (;;) {
		struct vmop_error *err = find_or_spawn(config, verbosity, ret_fd, ret_spawned);
		if (!err || err->code != VMOP_ERROR_BUSY)
			return err;
		if (vmop_clock_ns(CLOCK_MONOTONIC) >= end_ns) {
			err->code = VMOP_ERROR_CANT;
			return err;
		}
		vmop_error_destroy(err);
		nanosleep(&poll_time, NULL);
	}
}

struct vmop_error *control_daemon_lock_start(int *ret_lock)
{
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir = VMOP_DIR_NONE;
	pid_t holder;
	*ret_lock = -1;
	struct vmop_error *err = vmop_run_dir_make(&dir);
	if (!err)
		err = vmop_run_lock(VMOP_RUN_START, CONTROL_WAIT_S * 1000, ret_lock, &holder);
	if (!err && *ret_lock < 0)
		err = vmop_error_new(VMOP_ERROR_CANT,
				     "vmopcontrol, pid %d, is starting vmopd: try again",
				     (int)holder);
	if (err && err->code == VMOP_ERROR_CANT && err->os_errno && geteuid() != 0) {
		struct vmop_error *better =
			vmop_error_new(VMOP_ERROR_CANT, "%s; run it as root", err->message);
		vmop_error_destroy(err);
		err = better;
	}
	return err;
}

struct vmop_error *control_daemon_check_setup(const char *path)
{
	_cleanup_free_ char *program = NULL, *option = NULL;
	struct vmop_error *err = find_program(&program);
	if (err)
		return err;
	if (asprintf(&option, "--config=%s", path) < 0)
		return &vmop_error_no_memory;
	char *argv[] = {(char *)"vmopd", (char *)"--check-setup", option, NULL};
	return run_program(program, argv);
}

struct vmop_error *control_daemon_list_events(bool json, int verbosity)
{
	_cleanup_free_ char *program = NULL;
	char *argv[5] = {(char *)"vmopd", (char *)"--list-events"};
	size_t n = 2;
	struct vmop_error *err = find_program(&program);
	if (err)
		return err;
	if (json)
		argv[n++] = (char *)"--json";
	if (verbosity > 0)
		argv[n++] = (char *)"--verbose";
	fflush(NULL);
	execv(program, argv);
	return vmop_error_os(errno, "%s", program);
}

struct vmop_error *control_daemon_inspect(const char *how, const char *name, bool with_stacks,
					  json_t **ret)
{
	_cleanup_free_ char *program = NULL, *option = NULL;
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	json_error_t what;
	int ends[2];
	pid_t child;
	struct vmop_error *err = find_program(&program);
	if (err)
		return err;
	if (asprintf(&option, "--%s=%s", how, name) < 0)
		return &vmop_error_no_memory;
	char *argv[] = {(char *)"vmopd", option, with_stacks ? (char *)"--stacks" : NULL, NULL};
	if (pipe2(ends, O_CLOEXEC) < 0)
		return vmop_error_os(errno, "pipe");
	err = begin_program(program, argv, ends[1], &child);
	close(ends[1]);
	if (!err) {
		reply = json_loadfd(ends[0], JSON_DISABLE_EOF_CHECK, &what);
		err = end_program(program, child);
	}
	close(ends[0]);
	if (!err && !reply)
		err = vmop_error_new(VMOP_ERROR_CORRUPT, "%s --%s: %s", program, how, what.text);
	if (!err)
		*ret = vmop_steal(&reply);
	return err;
}

/* ---- asking it ---------------------------------------------------------------- */

/*
 * Wait until the daemon replies or closes the connection, at most ANSWER_TIMEOUT_S. A start can
 * take seconds on a busy machine: the kernel checks BPF programs.
 */
static void show_wait(int fd)
{
	struct pollfd reply = {.fd = fd, .events = POLLIN};
	struct vmop_progress progress;
	uint64_t passed_s = 0;
	vmop_progress_begin(&progress, "waiting for vmopd, seconds:", 0);
	while (passed_s < ANSWER_TIMEOUT_S && poll(&reply, 1, WAIT_STEP_MS) <= 0) {
		passed_s =
			(vmop_clock_ns(CLOCK_MONOTONIC_COARSE) - progress.begun_ns) / VMOP_NS_PER_S;
		vmop_progress_step(&progress, passed_s);
	}
	vmop_progress_end(&progress);
}

struct vmop_error *control_daemon_call(int fd, json_t *request, json_t **ret)
{
	if (!request)
		return &vmop_error_no_memory;
	struct vmop_error *err = vmop_protocol_ask(fd, request, ANSWER_TIMEOUT_S);
	json_decref(request);
	if (err)
		return err;
	show_wait(fd);
	return vmop_protocol_answer(fd, REST_TIMEOUT_S, ret);
}

/* Return the reason why no process replies: vmopd was never started, or it was killed. */
static struct vmop_error *not_running(void)
{
	if (control_daemon_was_killed())
		return vmop_error_new(
			VMOP_ERROR_CANT,
			"vmopd is not running: it was killed; the samples that it stored "
			"are kept; start it again with vmopcontrol --start");
	return vmop_error_new(VMOP_ERROR_CANT,
			      "vmopd is not running (vmopcontrol --start starts it)");
}

bool control_daemon_was_killed(void)
{
	_cleanup_free_ char *path = vmop_run_path(VMOP_RUN_SOCKET);
	return path && access(path, F_OK) == 0;
}

struct vmop_error *control_daemon_ask(json_t *request, json_t **ret)
{
	_cleanup_close_ int fd = -1;
	pid_t pid = 0;
	struct vmop_error *err = control_daemon_find(&fd);
	if (!err && fd < 0)
		err = not_running();
	if (err) {
		json_decref(request);
		return err;
	}
	vmop_error_destroy(vmop_run_holder(VMOP_RUN_PID, &pid));
	err = control_daemon_call(fd, request, ret);
	if (!err || err->code != VMOP_ERROR_BUSY)
		return err;
	/* The daemon was about to end when the connection was made. */
	vmop_error_destroy(err);
	err = control_daemon_wait_gone(pid);
	if (!err && control_daemon_was_killed())
		err = not_running();
	return err ? err
		   : vmop_error_new(VMOP_ERROR_BUSY,
				    "vmopd has just ended; the session is finished");
}

struct vmop_error *control_daemon_wait_gone(pid_t pid)
{
	uint64_t end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + CONTROL_WAIT_S * VMOP_NS_PER_S;
	while (pid) {
		pid_t holder;
		struct vmop_error *err = vmop_run_holder(VMOP_RUN_PID, &holder);
		/* If another process holds the lock, it is the next daemon. */
		if (err || holder != pid)
			return err;
		if (vmop_clock_ns(CLOCK_MONOTONIC) >= end_ns)
			return vmop_error_new(VMOP_ERROR_CANT, "vmopd, pid %d, does not end",
					      (int)pid);
		nanosleep(&poll_time, NULL);
	}
	return NULL;
}

struct vmop_error *control_daemon_clean_up(void)
{
	static const char *const left[] = {VMOP_RUN_SOCKET, VMOP_RUN_LOG, VMOP_RUN_LOG ".1",
					   VMOP_RUN_KERNEL_SYMBOLS};
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir = VMOP_DIR_NONE;
	int lock = -1;
	pid_t holder;
	struct vmop_error *err = vmop_run_dir_open(&dir);
	if (err || dir.fd < 0)
		return err;
	err = vmop_run_lock(VMOP_RUN_PID, CONTROL_WAIT_S * 1000, &lock, &holder);
	if (!err && lock < 0)
		err = vmop_error_new(VMOP_ERROR_CANT, "vmopd, pid %d, still runs", (int)holder);
	for (size_t i = 0; !err && i < sizeof(left) / sizeof(left[0]); i++)
		if (unlinkat(dir.fd, left[i], 0) < 0 && errno != ENOENT)
			err = vmop_error_os(errno, "%s/%s", vmop_run_dir(), left[i]);
	vmop_run_unlock(VMOP_RUN_PID, lock);
	return err;
}
