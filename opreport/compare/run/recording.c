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
#include "opreport/compare/run/guest-state.h"

/* The time between two looks at the processes of the command: at first, and after a second. */
#define FIRST_LOOKS_NS 10000000
#define LOOK_NS 50000000

/* After a signal or the time limit: how long each way to end the command may take. */
#define GRACE_NS (UINT64_C(5) * VMOP_NS_PER_S)

/* How long vmopcontrol may take after the command, and for --save. */
#define STORE_NS (UINT64_C(60) * VMOP_NS_PER_S)

#define WORDS_MAX 64

/* Between two questions to the daemon: about the guest; then whether the session still runs. */
#define ASK_NS 100000000
#define CHECK_NS VMOP_NS_PER_S

/*
 * The longest wait for the guest's kernel; and for one that was not found at first, because the
 * guest may just be booting.
 */
#define SEARCH_NS (UINT64_C(120) * VMOP_NS_PER_S)
#define BOOT_NS (UINT64_C(5) * VMOP_NS_PER_S)

/*
 * The shell writes its pid to a descriptor, waits for a line from another one, then becomes the
 * command's shell.  sh(1) knows descriptors of one digit only.
 */
#define PID_FD 8
#define GO_FD 9
#define SCRIPT "echo $$ >&8; exec 8>&-; read -r _ <&9 || exit 125; exec /bin/sh -c \"$0\" 9<&-"

/* A program in a process group of its own. */
struct child {
	pid_t pid; /* and group */
	/* vmopcontrol --run: NULL for others. */
	const struct vmop_recording *recording;
	struct vmop_recorded *recorded;
	int pid_fd, go_fd;	    /* this program's ends of the shell's descriptors */
	int shell_fds[2];	    /* the shell's ends */
	uint64_t ask_ns, sought_ns; /* CLOCK_MONOTONIC: the next question; the first one */

	uint64_t end_ns;  /* CLOCK_MONOTONIC: its time limit */
	unsigned n_asked; /* steps to end it that were taken */
	int signal;	  /* the one that this program got; 0: none */
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

/* Give the shell its descriptors, whatever numbers they have here. */
static void move_fds(const int *from)
{
	int pid_fd = fcntl(from[0], F_DUPFD_CLOEXEC, GO_FD + 1);
	int go_fd = fcntl(from[1], F_DUPFD_CLOEXEC, GO_FD + 1);
	dup2(pid_fd, PID_FD);
	dup2(go_fd, GO_FD);
}

static void exec_child(char *const *argv, const struct child *child, const sigset_t *mask)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	setpgid(0, 0);
	if (null >= 0)
		dup2(null, STDIN_FILENO);   /* a background group must not read the terminal */
	dup2(STDERR_FILENO, STDOUT_FILENO); /* stdout is the comparison's */
	if (child->recording)
		move_fds(child->shell_fds);
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
	ssize_t len = read(child->pid_fd, text, sizeof(text) - 1);
	if (len <= 0)
		return NULL;
	text[len] = '\0';
	pid_t root = atoi(text);
	return root > 0 ? vmop_process_tree_init(&child->recorded->tree, root) : NULL;
}

/* Log that the guest's functions will have no names.  Return whether the command begins
 * nevertheless. */
static bool may_begin(const struct child *child, enum vmop_guest_state state, uint64_t waited_ns)
{
	const char *guest = child->recording->guest;
	switch (state) {
	case VMOP_GUEST_IS_SOUGHT:
		if (waited_ns < SEARCH_NS)
			return false;
		break;
	case VMOP_GUEST_IS_CLOSED:
		if (waited_ns < BOOT_NS)
			return false;
		break;
	case VMOP_GUEST_IS_UNSELECTED:
		vmop_log_warning("guest %s: no functions, because --passive-domains of vmopcontrol "
				 "leaves it out",
				 guest);
		return true;
	case VMOP_GUEST_IS_KNOWN:
		return true;
	}
	vmop_log_warning("guest %s: its kernel is not known; vmopcontrol --inspect has the reason",
			 guest);
	return true;
}

/* Let the command begin once the guest is there, and known if that is waited for. */
static struct vmop_error *try_to_begin(struct child *child, uint64_t now_ns)
{
	const struct vmop_recording *recording = child->recording;
	enum vmop_guest_state state;
	if (now_ns < child->ask_ns)
		return NULL;
	child->ask_ns = now_ns + ASK_NS;
	if (!child->sought_ns)
		child->sought_ns = now_ns;
	struct vmop_error *err = vmop_guest_state_ask(recording->guest, &state);
	if (err)
		return err;
	if (recording->waits_for_guest && !may_begin(child, state, now_ns - child->sought_ns))
		return NULL;
	err = vmop_guest_end_interval();
	if (err)
		return err;
	child->recorded->from_ns = vmop_clock_ns(CLOCK_REALTIME);
	child->end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + recording->timeout_ns;
	if (write(child->go_fd, "\n", 1) != 1)
		return vmop_error_os(errno, "starting the command");
	return NULL;
}

/*
 * Check now and then that the session still runs: without it, only a part of the command would be
 * compared.  vmopcontrol ends the session only after it has waited for the command.
 */
static struct vmop_error *check_session(struct child *child, uint64_t now_ns)
{
	if (now_ns < child->ask_ns)
		return NULL;
	child->ask_ns = now_ns + CHECK_NS;
	struct vmop_error *err = vmop_guest_check_session();
	if (!err || kill(child->recorded->tree.pids[0], 0) == 0)
		return err;
	vmop_error_destroy(err);
	return NULL;
}

/* Follow the command: its start, then its processes. */
static struct vmop_error *follow(struct child *child, uint64_t now_ns)
{
	struct vmop_process_tree *tree = &child->recorded->tree;
	if (!tree->n)
		return read_root(child);
	if (!child->recorded->from_ns)
		return try_to_begin(child, now_ns);
	struct vmop_error *err = vmop_process_tree_look(tree);
	return err ? err : check_session(child, now_ns);
}

/* Take the next step to end the group: ask, ask harder, kill the command, kill all. */
static void end_group(struct child *child, uint64_t now_ns)
{
	static const int asks[] = {SIGINT, SIGTERM};
	unsigned step = child->n_asked++;
	if (step < 2)
		kill(-child->pid, asks[step]);
	else if (step == 2 && child->recorded) /* vmopcontrol then ends the session */
		vmop_process_tree_kill(&child->recorded->tree, child->pid, SIGKILL);
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
		if (!err && child->recording && !child->n_asked)
			err = follow(child, now_ns);
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
		exec_child(argv, child, &before);
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
	if (child->recorded && !child->recorded->from_ns)
		what = "vmopcontrol --run"; /* which has printed the reason */
	return vmop_error_new(VMOP_ERROR_CANT, "session %s: %s %s %d", recording->name, what,
			      WIFSIGNALED(status) ? "was ended by signal" : "failed with status",
			      WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* Run vmopcontrol --run with the shell's descriptors. */
static struct vmop_error *record_command(const struct vmop_recording *recording, char *const *argv,
					 struct vmop_recorded *recorded)
{
	int fds[2], status = 0;
	char what[128];
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return vmop_error_os(errno, "pipe");
	_cleanup_close_ int pid_fd = fds[0];
	_cleanup_close_ int pid_write_fd = fds[1];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return vmop_error_os(errno, "pipe");
	_cleanup_close_ int go_read_fd = fds[0];
	_cleanup_close_ int go_fd = fds[1];
	struct child child = {.recording = recording,
			      .recorded = recorded,
			      .pid_fd = pid_fd,
			      .go_fd = go_fd,
			      .shell_fds = {pid_write_fd, go_read_fd},
			      .end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + recording->timeout_ns +
					SEARCH_NS + STORE_NS};
	snprintf(what, sizeof(what), "'%.100s'", recording->command);
	struct vmop_error *err = run(argv, &child, &status);
	return err ? vmop_error_prefix(err, "session %s", recording->name)
		   : judge(recording, &child, status, what);
}

static struct vmop_error *record(const struct vmop_recording *recording, char *vmopcontrol,
				 char *session_dir, struct vmop_recorded *recorded)
{
	char *argv[WORDS_MAX + 12], duration[40];
	size_t n = 0;
	if (recording->options->n > WORDS_MAX)
		return vmop_error_new(VMOP_ERROR_USAGE, "--record takes at most %d words",
				      WORDS_MAX);
	/* If all else fails, the session ends by itself. */
	snprintf(duration, sizeof(duration), "--duration=%llus",
		 (unsigned long long)((recording->timeout_ns + SEARCH_NS + STORE_NS) /
				      VMOP_NS_PER_S));
	argv[n++] = vmopcontrol;
	argv[n++] = (char *)"--run";
	argv[n++] = duration;
	if (session_dir)
		argv[n++] = session_dir;
	for (size_t i = 0; i < recording->options->n; i++)
		argv[n++] = recording->options->items[i];
	argv[n++] = (char *)"--";
	argv[n++] = (char *)"/bin/sh";
	argv[n++] = (char *)"-c";
	argv[n++] = (char *)SCRIPT;
	argv[n++] = (char *)recording->command;
	argv[n] = NULL;
	return record_command(recording, argv, recorded);
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
	struct child child = {.end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + STORE_NS};
	struct vmop_error *err = run(argv, &child, &status);
	return err ? err : judge(recording, &child, status, "vmopcontrol --save");
}

struct vmop_error *vmop_recording_run(const struct vmop_recording *recording,
				      struct vmop_recorded *ret)
{
	_cleanup_free_ char *vmopcontrol = find_vmopcontrol();
	_cleanup_free_ char *session_dir = NULL;
	*ret = (struct vmop_recorded){0};
	if (!vmopcontrol)
		return &vmop_error_no_memory;
	if (recording->session_dir &&
	    asprintf(&session_dir, "--session-dir=%s", recording->session_dir) < 0) {
		session_dir = NULL;
		return &vmop_error_no_memory;
	}
	struct vmop_error *err = record(recording, vmopcontrol, session_dir, ret);
	if (!err)
		err = save(recording, vmopcontrol, session_dir);
	return err;
}
