// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The event loop as vmopd uses it. Two programs are made of this file: with libsystemd's loop, and
 * with that of the static vmopd. Both must behave alike.
 */
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "libutil/clock.h"

#define US_PER_MS 1000
#define LONG_US (60 * UINT64_C(1000000))

/* The callbacks that ran, in order: a letter each. */
static char trace[256];

static void note(char letter)
{
	size_t len = strlen(trace);
	if (len + 1 < sizeof(trace))
		trace[len] = letter;
}

static unsigned count(char letter)
{
	unsigned n = 0;
	for (const char *c = trace; *c; c++)
		n += *c == letter;
	return n;
}

static int begin(void **state)
{
	sd_event *loop = NULL;
	memset(trace, 0, sizeof(trace));
	if (sd_event_new(&loop) < 0)
		return -1;
	*state = loop;
	return 0;
}

static int end(void **state)
{
	assert_null(sd_event_unref(*state));
	return 0;
}

static uint64_t clock_us(void)
{
	return vmop_clock_ns(CLOCK_MONOTONIC) / 1000;
}

/* ---- timers ---------------------------------------------------------------------------------- */

struct timer {
	sd_event_source *source;
	sd_event *loop;
	char letter;
	uint64_t due_us, again_us;
	unsigned n_left; /* until the loop's exit */
};

static int on_timer(sd_event_source *source, uint64_t due_us, void *arg)
{
	struct timer *timer = arg;
	uint64_t now_us = 0;
	assert_ptr_equal(source, timer->source);
	assert_true(clock_us() >= due_us);
	assert_int_equal(sd_event_now(timer->loop, CLOCK_MONOTONIC, &now_us), 0);
	assert_true(now_us >= due_us && now_us <= clock_us());
	timer->due_us = due_us;
	note(timer->letter);
	if (--timer->n_left == 0)
		return sd_event_exit(timer->loop, 7);
	assert_int_equal(sd_event_source_set_time_relative(source, timer->again_us), 0);
	if (timer->again_us)
		assert_int_equal(sd_event_source_set_enabled(source, SD_EVENT_ONESHOT), 0);
	return 0;
}

/* A timer elapses once, or as often as it is set again, and never early. */
static void test_timers(void **state)
{
	sd_event *loop = *state;
	struct timer fast = {.loop = loop, .letter = 'f', .again_us = 3 * US_PER_MS, .n_left = 5};
	struct timer once = {.loop = loop, .letter = 'o', .n_left = 9};
	struct timer never = {.loop = loop, .letter = 'n', .n_left = 9};
	struct timer absolute = {.loop = loop, .letter = 'a', .n_left = 9};
	uint64_t begun_us = clock_us(), now_us;
	int enabled;
	assert_true(sd_event_now(loop, CLOCK_MONOTONIC, &now_us) > 0); /* no wait yet */
	assert_true(now_us >= begun_us);
	assert_true(sd_event_add_time_relative(loop, &fast.source, CLOCK_MONOTONIC, 3 * US_PER_MS,
					       1, on_timer, &fast) >= 0);
	assert_true(sd_event_add_time_relative(loop, &once.source, CLOCK_MONOTONIC, 0, 1, on_timer,
					       &once) >= 0);
	assert_true(sd_event_add_time_relative(loop, &never.source, CLOCK_MONOTONIC, LONG_US, 1,
					       on_timer, &never) >= 0);
	assert_true(sd_event_add_time(loop, &absolute.source, CLOCK_MONOTONIC,
				      begun_us + 2 * US_PER_MS, 1, on_timer, &absolute) >= 0);
	assert_int_equal(sd_event_loop(loop), 7);
	assert_true(clock_us() - begun_us >= 15 * US_PER_MS);
	assert_int_equal(count('f'), 5);
	assert_int_equal(count('o'), 1);
	assert_int_equal(count('a'), 1);
	assert_int_equal(count('n'), 0);
	assert_int_equal(absolute.due_us, begun_us + 2 * US_PER_MS);
	assert_int_equal(sd_event_source_get_enabled(once.source, &enabled), 0);
	assert_int_equal(enabled, SD_EVENT_OFF);
	assert_true(sd_event_source_get_enabled(never.source, &enabled) > 0);
	assert_int_equal(enabled, SD_EVENT_ONESHOT);
	assert_null(sd_event_source_disable_unref(fast.source));
	assert_null(sd_event_source_disable_unref(once.source));
	assert_null(sd_event_source_disable_unref(never.source));
	assert_null(sd_event_source_disable_unref(absolute.source));
	assert_null(sd_event_source_disable_unref(NULL));
}

/* A callback that fails switches its source off. */
static int on_failure(sd_event_source *source, uint64_t due_us, void *arg)
{
	(void)source;
	(void)due_us;
	(void)arg;
	note('x');
	return -EIO;
}

static void test_failure(void **state)
{
	sd_event *loop = *state;
	sd_event_source *source = NULL;
	int enabled;
	assert_true(sd_event_add_time_relative(loop, &source, CLOCK_MONOTONIC, 0, 1, on_failure,
					       NULL) >= 0);
	assert_true(sd_event_source_set_enabled(source, SD_EVENT_ON) >= 0);
	for (unsigned i = 0; i < 3; i++)
		assert_true(sd_event_run(loop, 20 * US_PER_MS) >= 0);
	assert_int_equal(count('x'), 1);
	assert_int_equal(sd_event_source_get_enabled(source, &enabled), 0);
	sd_event_source_disable_unref(source);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

struct reader {
	sd_event_source *source;
	int fd;
	char letter;
	bool releases; /* it releases its source and closes the descriptor */
};

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct reader *reader = arg;
	char byte;
	assert_ptr_equal(source, reader->source);
	assert_int_equal(fd, reader->fd);
	assert_true(events & EPOLLIN);
	assert_int_equal(read(fd, &byte, 1), 1);
	note(reader->letter);
	if (reader->releases) {
		reader->source = sd_event_source_disable_unref(source);
		close(fd);
	}
	return 0;
}

static int on_idle(sd_event_source *source, void *arg)
{
	(void)source;
	(void)arg;
	note('.');
	return 0;
}

/* Sources that are ready take turns; one of idle priority waits; one may release itself. */
static void test_descriptors(void **state)
{
	sd_event *loop = *state;
	sd_event_source *idle = NULL;
	struct reader a = {.letter = 'a'}, b = {.letter = 'b'}, c = {.letter = 'c', .releases = 1};
	struct reader *readers[] = {&a, &b, &c};
	int pipes[3][2];
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(pipe(pipes[i]), 0);
		readers[i]->fd = pipes[i][0];
		assert_true(sd_event_add_io(loop, &readers[i]->source, pipes[i][0], EPOLLIN,
					    on_readable, readers[i]) >= 0);
	}
	assert_int_equal(sd_event_run(loop, 0), 0); /* nothing is ready */
	assert_true(sd_event_add_defer(loop, &idle, on_idle, NULL) >= 0);
	assert_true(sd_event_source_set_enabled(idle, SD_EVENT_ON) >= 0);
	assert_true(sd_event_source_set_priority(idle, SD_EVENT_PRIORITY_IDLE) >= 0);
	assert_int_equal(write(pipes[0][1], "123", 3), 3);
	assert_int_equal(write(pipes[1][1], "123", 3), 3);
	assert_int_equal(write(pipes[2][1], "123", 3), 3);
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(sd_event_run(loop, LONG_US), 1);
	assert_int_equal(count('a'), 3);
	assert_int_equal(count('b'), 3);
	assert_int_equal(count('c'), 1);
	assert_int_equal(count('.'), 0);
	assert_null(strstr(trace, "aa"));
	assert_null(strstr(trace, "bb"));
	assert_int_equal(sd_event_run(loop, LONG_US), 1);
	assert_int_equal(sd_event_run(loop, LONG_US), 1);
	assert_int_equal(count('.'), 2);
	/* Other events, and none. */
	assert_true(sd_event_source_set_enabled(idle, SD_EVENT_OFF) >= 0);
	assert_int_equal(write(pipes[0][1], "1", 1), 1);
	assert_true(sd_event_source_set_io_events(a.source, EPOLLOUT) >= 0);
	assert_int_equal(sd_event_run(loop, 0), 0);
	assert_true(sd_event_source_set_io_events(a.source, EPOLLIN) >= 0);
	assert_int_equal(sd_event_run(loop, 0), 1);
	assert_int_equal(count('a'), 4);
	sd_event_source_disable_unref(idle);
	sd_event_source_disable_unref(a.source);
	sd_event_source_disable_unref(b.source);
	for (unsigned i = 0; i < 3; i++)
		close(pipes[i][1]);
	close(a.fd);
	close(b.fd);
}

/* A source with a limit pauses until the end of its interval, and others go on. */
static void test_limit(void **state)
{
	sd_event *loop = *state;
	struct reader limited = {.letter = 'l'};
	int pipes[2];
	char bytes[50] = {0};
	assert_int_equal(pipe(pipes), 0);
	limited.fd = pipes[0];
	assert_true(sd_event_add_io(loop, &limited.source, pipes[0], EPOLLIN, on_readable,
				    &limited) >= 0);
	assert_true(sd_event_source_set_ratelimit(limited.source, LONG_US, 5) >= 0);
	assert_int_equal(write(pipes[1], bytes, sizeof(bytes)), sizeof(bytes));
	for (unsigned i = 0; i < 20; i++)
		assert_true(sd_event_run(loop, US_PER_MS) >= 0);
	assert_int_equal(count('l'), 5);
	assert_true(sd_event_source_set_ratelimit(limited.source, 2 * US_PER_MS, 5) >= 0);
	for (unsigned i = 0; i < 200 && count('l') < 50; i++)
		assert_true(sd_event_run(loop, 10 * US_PER_MS) >= 0);
	assert_int_equal(count('l'), 50);
	sd_event_source_disable_unref(limited.source);
	close(pipes[0]);
	close(pipes[1]);
}

/* ---- before a wait, signals ------------------------------------------------------------------ */

static int on_prepare(sd_event_source *source, void *arg)
{
	(void)source;
	(void)arg;
	note('p');
	return 0;
}

static void test_prepare(void **state)
{
	sd_event *loop = *state;
	struct timer timer = {.loop = loop, .letter = 't', .n_left = 9};
	assert_true(sd_event_add_time_relative(loop, &timer.source, CLOCK_MONOTONIC, US_PER_MS, 1,
					       on_timer, &timer) >= 0);
	assert_true(sd_event_source_set_prepare(timer.source, on_prepare) >= 0);
	while (!count('t'))
		assert_true(sd_event_run(loop, LONG_US) >= 0);
	assert_int_equal(*trace, 'p');
	unsigned n = count('p');
	assert_true(sd_event_run(loop, 0) >= 0); /* now it is switched off */
	assert_int_equal(count('p'), n);
	sd_event_source_disable_unref(timer.source);
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *arg)
{
	(void)source;
	note(info->ssi_signo == SIGUSR1 ? '1' : '2');
	if (info->ssi_signo == SIGUSR2)
		sd_event_exit(arg, 3);
	return 0;
}

/* The sources of signals belong to the loop. */
static void test_signals(void **state)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	assert_true(sd_event_add_signal(*state, NULL, SIGUSR1, on_signal, *state) >= 0);
	assert_true(sd_event_add_signal(*state, NULL, SIGUSR2, on_signal, *state) >= 0);
	kill(getpid(), SIGUSR1);
	assert_int_equal(sd_event_run(*state, LONG_US), 1);
	assert_string_equal(trace, "1");
	kill(getpid(), SIGUSR2);
	assert_int_equal(sd_event_loop(*state), 3);
	assert_string_equal(trace, "12");
}

/* ---- systemd --------------------------------------------------------------------------------- */

static int receiver(const struct sockaddr_un *address, socklen_t len)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)address, len), 0);
	return fd;
}

static void check_message(int fd, const char *expected)
{
	char text[64] = {0};
	assert_int_equal(recv(fd, text, sizeof(text) - 1, 0), strlen(expected));
	assert_string_equal(text, expected);
}

static void test_notify(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char name[64], text[24];
	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(sd_notify(0, "READY=1"), 0);
	/* A socket with an abstract name. */
	snprintf(name, sizeof(name), "@vmop-test-%d", (int)getpid());
	strcpy(address.sun_path, name);
	address.sun_path[0] = '\0';
	int fd = receiver(&address,
			  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name)));
	setenv("NOTIFY_SOCKET", name, 1);
	assert_true(sd_notify(0, "READY=1") > 0);
	check_message(fd, "READY=1");
	/* The loop answers the watchdog as long as it runs. */
	setenv("WATCHDOG_USEC", "20000", 1);
	snprintf(text, sizeof(text), "%d", (int)getpid() + 1);
	setenv("WATCHDOG_PID", text, 1); /* another process's */
	assert_int_equal(sd_event_set_watchdog(*state, true), 0);
	snprintf(text, sizeof(text), "%d", (int)getpid());
	setenv("WATCHDOG_PID", text, 1);
	assert_true(sd_event_set_watchdog(*state, true) > 0);
	struct pollfd pollfd = {.fd = fd, .events = POLLIN};
	for (unsigned n = 0; n < 3;) {
		assert_true(sd_event_run(*state, 100 * US_PER_MS) >= 0);
		if (poll(&pollfd, 1, 0) == 0)
			continue;
		check_message(fd, "WATCHDOG=1");
		n++;
	}
	close(fd);
	assert_true(sd_notify(0, "STOPPING=1") < 0); /* no socket has the name any more */
	unsetenv("NOTIFY_SOCKET");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_timers, begin, end),
		cmocka_unit_test_setup_teardown(test_failure, begin, end),
		cmocka_unit_test_setup_teardown(test_descriptors, begin, end),
		cmocka_unit_test_setup_teardown(test_limit, begin, end),
		cmocka_unit_test_setup_teardown(test_prepare, begin, end),
		cmocka_unit_test_setup_teardown(test_signals, begin, end),
		cmocka_unit_test_setup_teardown(test_notify, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
