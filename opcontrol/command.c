// SPDX-License-Identifier: GPL-2.0-or-later
#include "opcontrol/command.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libutil/log.h"

static void exec_command(char *const *argv, const sigset_t *mask)
{
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	int problem = errno;
	vmop_log_error("%s: %s", argv[0], strerror(problem));
	_exit(problem == ENOENT ? 127 : 126);
}

struct vmop_error *control_command_run(char *const *argv, int *ret_status)
{
	static const int watched[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t set, before;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
		sigaddset(&set, watched[i]);
	sigprocmask(SIG_BLOCK, &set, &before);
	fflush(NULL);
	pid_t child = fork();
	if (child < 0)
		return vmop_error_os(errno, "fork");
	if (child == 0)
		exec_command(argv, &before);
	int status;
	while (waitpid(child, &status, WNOHANG) != child) {
		siginfo_t info;
		/*
		 * A signal from the terminal reaches the command as well; a signal from kill(1)
		 * reached only this process.
		 */
		if (sigwaitinfo(&set, &info) > 0 && info.si_signo != SIGCHLD && info.si_code <= 0)
			kill(child, info.si_signo);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	*ret_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return NULL;
}
