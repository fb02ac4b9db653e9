// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/run/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/log.h"

/* The time between two looks at the processes of the command: at first, and after a second. */
#define FIRST_LOOKS_NS 10000000
#define LOOK_NS 50000000

/* After a signal or the time limit: how long each way to end the command may take. */
#define GRACE_NS (UINT64_C(5) * VMOP_NS_PER_S)

/* How long vmopcontrol may take after the command, and for --save. */
#define STORE_NS (UINT64_C(60) * VMOP_NS_PER_S)

#define WORDS_MAX 64

/* The shell writes its pid to a descriptor, then becomes the command's shell. */
#define SCRIPT "echo $$ >&%d; exec /bin/sh -c \"$0\" %d>&-"

/* A program in a process group of its own. */
struct child {
	pid_t pid;			/* and group */
	struct vmop_process_tree *tree; /* NULL: of no interest */
	int pid_fd;			/* where the root's pid comes from; -1: none */
	uint64_t end_ns;		/* CLOCK_MONOTONIC: its time limit */
	unsigned n_asked;		/* steps to end it that were taken */
	int signal;			/* the one that this program got; 0: none */
};

/* ---- start ------------------------------------------------------------------------ */

/* Return the path of vmopcontrol beside this program, else its name for PATH.  The caller frees it.
 */
static char *find_vmopcontrol(void)
{
	char self[PATH_MAX];
	char *path = NULL;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (len > 0) {
		self[len] = '\0';
		char *slash = strrchr(self, '/');
		if (slash)
			*slash = '\0';
		if (asprintf(&path, "%s/vmopcontrol", self) < 0)
			return NULL;
		if (access(path, X_OK) == 0)
			return path;
		free(path);
	}
	return strdup("vmopcontrol");
}

static void exec_child(char *const *argv, const sigset_t *mask)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	setpgid(0, 0);
	if (null >= 0)
		dup2(null, STDIN_FILENO);   /* a background group must not read the terminal */
	dup2(STDERR_FILENO, STDOUT_FILENO); /* stdout is the comparison's */
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	int problem = errno;
	vmop_log_error("%s: %s", argv[0], strerror(problem));
	_exit(problem == ENOENT ? 127 : 126);
}

/* ---- wait ------------------------------------------------------------------------- */

/* Read the root's pid once it is there. */
static struct vmop_error *read_root(struct child *child)
{
	char text[24];
	if (child->pid_fd < 0 || !child->tree || child->tree->n)
		return NULL;
	ssize_t len = read(child->pid_fd, text, sizeof(text) - 1);
	if (len <= 0)
		return NULL;
	text[len] = '\0';
	pid_t root = atoi(text);
	return root > 0 ? vmop_process_tree_init(child->tree, root) : NULL;
}

/* Take the next step to end the group: ask, ask harder, kill the command, kill all. */
static void end_group(struct child *child, uint64_t now_ns)
{
	static const int asks[] = {SIGINT, SIGTERM};
	unsigned step = child->n_asked++;
	if (step < 2)
		kill(-child->pid, asks[step]);
	else if (step == 2 && child->tree) /* vmopcontrol then ends the session */
		vmop_process_tree_kill(child->tree, child->pid, SIGKILL);
	else
		kill(-child->pid, SIGKILL);
	child->end_ns = now_ns + GRACE_NS;
}

/* Wait until the child ends.  *ret_status is that of waitpid(2). */
static struct vmop_error *wait_for(struct child *child, const sigset_t *signals, int *ret_status)
{
	struct timespec look = {.tv_nsec = FIRST_LOOKS_NS};
	uint64_t begin_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	struct vmop_error *err = NULL;
	while (waitpid(child->pid, ret_status, WNOHANG) != child->pid) {
		siginfo_t info;
		uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
		if (now_ns > begin_ns + VMOP_NS_PER_S)
			look.tv_nsec = LOOK_NS;
		int got = sigtimedwait(signals, &info, &look);
		if (got > 0 && got != SIGCHLD)
			child->signal = got;
		if (!err)
			err = read_root(child);
		if (!err && child->tree && child->tree->n)
			err = vmop_process_tree_look(child->tree);
		bool is_first = (child->signal || err) && !child->n_asked;
		if (is_first || now_ns >= child->end_ns || (got > 0 && got != SIGCHLD))
			end_group(child, now_ns);
	}
	return err;
}

/* Run argv in a group of its own.  *ret_status is that of waitpid(2). */
static struct vmop_error *run(char *const *argv, struct child *child, int *ret_status)
{
	static const int watched[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
	sigset_t signals, before;
	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof(watched) / sizeof(*watched); i++)
		sigaddset(&signals, watched[i]);
	sigprocmask(SIG_BLOCK, &signals, &before);
	fflush(NULL);
	child->pid = fork();
	if (child->pid < 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		return vmop_error_os(errno, "fork");
	}
	if (child->pid == 0)
		exec_child(argv, &before);
	setpgid(child->pid, child->pid); /* whoever comes first */
	struct vmop_error *err = wait_for(child, &signals, ret_status);
	kill(-child->pid, SIGKILL); /* processes that the command left behind */
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

/* ---- vmopcontrol ------------------------------------------------------------------ */

static struct vmop_error *judge(const struct vmop_recording *recording, const struct child *child,
				int status, const char *what)
{
	if (child->signal)
		return vmop_error_new(VMOP_ERROR_CANT, "session %s: interrupted by signal %d",
				      recording->name, child->signal);
	if (child->n_asked)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "session %s: %s took longer than --timeout and was ended",
				      recording->name, what);
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return NULL;
	return vmop_error_new(VMOP_ERROR_CANT, "session %s: %s %s %d", recording->name, what,
			      WIFSIGNALED(status) ? "was ended by signal" : "failed with status",
			      WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static struct vmop_error *record(const struct vmop_recording *recording, char *vmopcontrol,
				 char *session_dir, struct vmop_process_tree *tree)
{
	char *argv[WORDS_MAX + 12], script[96], duration[40], what[128];
	int fds[2], status = 0;
	size_t n = 0;
	if (recording->options->n > WORDS_MAX)
		return vmop_error_new(VMOP_ERROR_USAGE, "--record takes at most %d words",
				      WORDS_MAX);
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return vmop_error_os(errno, "pipe");
	_cleanup_close_ int pid_fd = fds[0];
	_cleanup_close_ int write_fd = fds[1];
	fcntl(write_fd, F_SETFD, 0); /* the shell writes there */
	snprintf(script, sizeof(script), SCRIPT, write_fd, write_fd);
	snprintf(duration, sizeof(duration), "--duration=%llus",
		 (unsigned long long)((recording->timeout_ns + STORE_NS) / VMOP_NS_PER_S));
	snprintf(what, sizeof(what), "'%.100s'", recording->command);
	argv[n++] = vmopcontrol;
	argv[n++] = (char *)"--run";
	argv[n++] = duration; /* if all else fails, the session ends by itself */
	if (session_dir)
		argv[n++] = session_dir;
	for (size_t i = 0; i < recording->options->n; i++)
		argv[n++] = recording->options->items[i];
	argv[n++] = (char *)"--";
	argv[n++] = (char *)"/bin/sh";
	argv[n++] = (char *)"-c";
	argv[n++] = script;
	argv[n++] = (char *)recording->command;
	argv[n] = NULL;
	struct child child = {.tree = tree, .pid_fd = pid_fd};
	child.end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + recording->timeout_ns;
	struct vmop_error *err = run(argv, &child, &status);
	return err ? err : judge(recording, &child, status, what);
}

static struct vmop_error *save(const struct vmop_recording *recording, char *vmopcontrol,
			       char *session_dir)
{
	_cleanup_free_ char *option = NULL;
	int status = 0;
	if (asprintf(&option, "--save=%s", recording->name) < 0) {
		option = NULL;
		return &vmop_error_no_memory;
	}
	char *const argv[] = {vmopcontrol, option, session_dir, NULL};
	struct child child = {.pid_fd = -1, .end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + STORE_NS};
	struct vmop_error *err = run(argv, &child, &status);
	return err ? err : judge(recording, &child, status, "vmopcontrol --save");
}

struct vmop_error *vmop_recording_run(const struct vmop_recording *recording,
				      struct vmop_process_tree *tree)
{
	_cleanup_free_ char *vmopcontrol = find_vmopcontrol();
	_cleanup_free_ char *session_dir = NULL;
	*tree = (struct vmop_process_tree){0};
	if (!vmopcontrol)
		return &vmop_error_no_memory;
	if (recording->session_dir &&
	    asprintf(&session_dir, "--session-dir=%s", recording->session_dir) < 0) {
		session_dir = NULL;
		return &vmop_error_no_memory;
	}
	struct vmop_error *err = record(recording, vmopcontrol, session_dir, tree);
	if (!err)
		err = save(recording, vmopcontrol, session_dir);
	return err;
}
