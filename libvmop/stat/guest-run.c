// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/guest-run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libvmop/stat/command.h"

/* A process that the transport left behind may hold the pipe open. */
#define AFTER_THE_END_NS (2 * VMOP_NS_PER_S)

/* How often the transport's end is looked for; SIGCHLD shows it at once. */
#define STEP_MS 200

/* Print a word as sh(1) reads it back. */
static void quote(const char *word, FILE *out)
{
	fputs(" '", out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	}
	fputc('\'', out);
}

struct vmop_error *vmop_guest_run_line(const struct vmop_guest_run *run, char **ret)
{
	size_t len;
	char *line = NULL;
	FILE *out = open_memstream(&line, &len);
	if (!out)
		return &vmop_error_no_memory;
	/* Counts: from descriptor 3 to the pipe. The command's own output: to standard error. */
	fprintf(out, "vmopstat --json --log-fd=3 -r %llu -e", (unsigned long long)run->n_runs);
	quote(run->events, out);
	fputs(" --", out);
	for (size_t i = 0; run->command[i]; i++)
		quote(run->command[i], out);
	fputs(" 3>&1 >&2", out);
	if (fclose(out) != 0) {
		free(line);
		return &vmop_error_no_memory;
	}
	*ret = line;
	return NULL;
}

struct output {
	char *text;
	size_t len_bytes;
	int fd;
	bool is_whole;
};

/* Take the bytes that are there. */
static struct vmop_error *take_bytes(struct output *output, const char *guest)
{
	/* One byte more than is allowed shows that there are more. */
	size_t room = VMOP_GUEST_ROWS_BYTES + 1 - output->len_bytes;
	ssize_t n = read(output->fd, output->text + output->len_bytes, room);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR
			       ? NULL
			       : vmop_error_os(errno, "the counts of guest %s", guest);
	output->len_bytes += (size_t)n;
	output->is_whole = n == 0;
	if (output->len_bytes > VMOP_GUEST_ROWS_BYTES)
		return vmop_error_new(VMOP_ERROR_CANT, "guest %s sent more than %d bytes", guest,
				      VMOP_GUEST_ROWS_BYTES);
	return NULL;
}

/* Pass signals on to the transport; the terminal has given it SIGINT. */
static void pass_signals(int signal_fd, pid_t pid)
{
	struct signalfd_siginfo info;
	while (read(signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGCHLD && info.ssi_signo != SIGINT)
			kill(pid, (int)info.ssi_signo);
	}
}

/* Read the output until its end, or until a while after the transport's. */
static struct vmop_error *collect(const struct vmop_guest_run *run,
				  struct vmop_stat_command *transport, struct output *output)
{
	struct vmop_error *err = NULL;
	uint64_t until_ns = UINT64_MAX;
	struct pollfd fds[] = {{.fd = run->signal_fd, .events = POLLIN},
			       {.fd = output->fd, .events = POLLIN}};
	while (!err && !(output->is_whole && transport->has_ended) &&
	       vmop_clock_ns(CLOCK_MONOTONIC) < until_ns) {
		fds[1].fd = output->is_whole ? -1 : output->fd;
		if (poll(fds, 2, STEP_MS) < 0 && errno != EINTR)
			return vmop_error_os(errno, "waiting for guest %s", run->guest);
		pass_signals(run->signal_fd, transport->pid);
		if (!output->is_whole)
			err = take_bytes(output, run->guest);
		if (!err)
			err = vmop_stat_command_check(transport);
		if (transport->has_ended && until_ns == UINT64_MAX)
			until_ns = vmop_clock_ns(CLOCK_MONOTONIC) + AFTER_THE_END_NS;
	}
	return err;
}

/* Explain why there are no counts: the reason is often in the transport's exit status. */
static struct vmop_error *explain(const struct vmop_guest_run *run, int status,
				  struct vmop_error *err)
{
	if (err->code == VMOP_ERROR_NO_MEMORY)
		return err;
	struct vmop_error *whole =
		vmop_error_new(VMOP_ERROR_CANT, "guest %s: %s; '%s' ended with status %d%s",
			       run->guest, err->message, run->transport, status,
			       status == 127 ? ": is vmopstat installed there?" : "");
	vmop_error_destroy(err);
	return whole;
}

static struct vmop_error *run_transport(const struct vmop_guest_run *run, char *script, char *line,
					struct output *output, int *ret_status)
{
	_cleanup_(vmop_stat_command_deinit) struct vmop_stat_command transport = {0};
	_cleanup_close_ int write_fd = -1;
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) != 0)
		return vmop_error_os(errno, "pipe");
	output->fd = fds[0];
	write_fd = fds[1];
	if (fcntl(output->fd, F_SETFL, O_NONBLOCK) != 0)
		return vmop_error_os(errno, "pipe");
	char *argv[] = {(char *)"/bin/sh", (char *)"-c", script, (char *)"sh", line, NULL};
	struct vmop_error *err =
		vmop_stat_command_prepare(argv, run->signals, write_fd, &transport);
	if (!err)
		err = vmop_stat_command_go(&transport, argv[0]);
	close(vmop_steal_fd(&write_fd));
	if (!err)
		err = collect(run, &transport, output);
	if (transport.has_ended)
		*ret_status = vmop_stat_command_exit_status(&transport);
	return err;
}

struct vmop_error *vmop_guest_run(const struct vmop_guest_run *run, struct vmop_guest_rows *ret,
				  int *ret_status)
{
	_cleanup_free_ char *line = NULL, *script = NULL, *text = malloc(VMOP_GUEST_ROWS_BYTES + 1);
	struct output output = {.text = text, .fd = -1};
	if (!text || asprintf(&script, "%s \"$1\"", run->transport) < 0)
		return &vmop_error_no_memory;
	struct vmop_error *err = vmop_guest_run_line(run, &line);
	if (!err)
		err = run_transport(run, script, line, &output, ret_status);
	if (output.fd >= 0)
		close(output.fd);
	if (err)
		return err;
	err = vmop_guest_rows_parse(text, output.len_bytes, ret);
	return err ? explain(run, *ret_status, err) : NULL;
}
