// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/loop.h"

#include <errno.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "libutil/clock.h"

struct vmop_error *vmop_stat_loop_init(struct vmop_stat_loop *loop,
				       struct vmop_stat_command *command)
{
	*loop = (struct vmop_stat_loop){.signal_fd = -1, .pid_fd = -1, .command = command};
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &signals, &loop->old_signals) != 0)
		return vmop_error_os(errno, "signals");
	loop->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return loop->signal_fd < 0 ? vmop_error_os(errno, "signals") : NULL;
}

void vmop_stat_loop_deinit(struct vmop_stat_loop *loop)
{
	if (loop->signal_fd >= 0)
		close(loop->signal_fd);
	if (loop->pid_fd >= 0)
		close(loop->pid_fd);
	loop->signal_fd = loop->pid_fd = -1;
}

/* Handle pending signals. A command gets SIGTERM and SIGHUP; the terminal gives it SIGINT. */
static void handle_signals(struct vmop_stat_loop *loop)
{
	struct signalfd_siginfo info;
	while (read(loop->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		int signo = (int)info.ssi_signo;
		if (signo == SIGCHLD)
			continue;
		if (!loop->command->pid)
			loop->is_over = true;
		else if (signo != SIGINT)
			kill(loop->command->pid, signo);
	}
}

/* Wait for signals and the process until a time; 0: without end. */
static struct vmop_error *wait_until(struct vmop_stat_loop *loop, uint64_t until_ns)
{
	struct pollfd fds[] = {{.fd = loop->signal_fd, .events = POLLIN},
			       {.fd = loop->pid_fd, .events = POLLIN}};
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec left = {(time_t)(left_ns / VMOP_NS_PER_S), (long)(left_ns % VMOP_NS_PER_S)};
	int n = ppoll(fds, 2, until_ns ? &left : NULL, NULL);
	if (n < 0 && errno != EINTR)
		return vmop_error_os(errno, "waiting");
	if (n <= 0)
		return NULL;
	if (fds[0].revents)
		handle_signals(loop);
	if (fds[1].revents)
		loop->is_over = true;
	struct vmop_error *err = vmop_stat_command_check(loop->command);
	loop->is_over |= loop->command->has_ended;
	return err;
}

struct vmop_error *vmop_stat_loop_run(struct vmop_stat_loop *loop, uint64_t begin_ns,
				      uint64_t interval_ms, vmop_stat_interval_fn *each, void *arg)
{
	uint64_t step_ns = interval_ms * VMOP_NS_PER_MS;
	uint64_t since_ns = begin_ns, next_ns = step_ns ? begin_ns + step_ns : 0;
	struct vmop_error *err = NULL;
	loop->is_over = false;
	while (!err && !loop->is_over) {
		err = wait_until(loop,
				 loop->time ? vmop_stat_time_next(loop->time, next_ns) : next_ns);
		if (!err && loop->time)
			err = vmop_stat_time_tick(loop->time);
		uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
		if (err || !step_ns || (now_ns < next_ns && !loop->is_over))
			continue;
		err = each(arg, since_ns);
		since_ns = now_ns;
		while (next_ns <= now_ns)
			next_ns += step_ns;
	}
	return err;
}
