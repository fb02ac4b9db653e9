// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions of libsystemd's event loop (sd-event(3)) that vmopd calls, for the static vmopd: no
 * distribution has an archive of libsystemd. They behave as in sd-event(3), and
 * tests/unit/daemon/static/event-loop.c runs over both.
 *
 * There are some twenty sources, so each turn looks at all of them and uses poll(2). A turn
 * dispatches one source: of those that are ready with the lowest priority value, the one that has
 * waited longest.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "daemon/static/notify.h"
#include "libutil/array.h"
#include "libutil/clock.h"

_Static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT, "events of sd-event are poll's");

#define NS_PER_US 1000
#define US_PER_S (VMOP_NS_PER_S / NS_PER_US)
#define NEVER UINT64_MAX

enum kind { IO, TIMER, SIGNAL, DEFER };

struct sd_event_source {
	sd_event *loop;
	sd_event_source *next;
	unsigned n_refs; /* of the owner, and of a dispatch */
	enum kind kind;
	int enabled; /* SD_EVENT_OFF... */
	int64_t priority;
	uint64_t dispatched; /* the turn of the last dispatch */
	sd_event_handler_t prepare;
	void *arg;
	int fd; /* IO: the owner's; SIGNAL: own signalfd */
	uint32_t events, ready;
	bool is_polled;	 /* in this turn */
	uint64_t due_us; /* TIMER */
	/* At most burst dispatches in interval_us; 0: no limit. */
	uint64_t interval_us, limit_begun_us;
	unsigned burst, n_in_interval;
	union {
		sd_event_io_handler_t io;
		sd_event_time_handler_t time;
		sd_event_signal_handler_t signal;
		sd_event_handler_t defer;
	} callback;
};

struct sd_event {
	sd_event_source *sources;
	uint64_t turn, now_us; /* of the last wait; 0: there was none */
	uint64_t watchdog_us, watchdog_due_us;
	bool is_exiting;
	int exit_code;
	struct pollfd *pollfds; /* n_pollfds */
	size_t n_pollfds, pollfds_capacity;
};

static uint64_t clock_us(void)
{
	return vmop_clock_ns(CLOCK_MONOTONIC) / NS_PER_US;
}

/* ---- the loop's life ------------------------------------------------------------------------ */

int sd_event_new(sd_event **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void free_source(sd_event_source *source)
{
	if (source->kind == SIGNAL)
		close(source->fd);
	free(source);
}

sd_event *sd_event_unref(sd_event *loop)
{
	sd_event_source *source, *next;
	if (!loop)
		return NULL;
	for (source = loop->sources; source; source = next) {
		next = source->next;
		free_source(source);
	}
	free(loop->pollfds);
	free(loop);
	return NULL;
}

int sd_event_exit(sd_event *loop, int code)
{
	loop->is_exiting = true;
	loop->exit_code = code;
	return 0;
}

int sd_event_now(sd_event *loop, clockid_t clock, uint64_t *ret_us)
{
	if (clock != CLOCK_MONOTONIC)
		return -EOPNOTSUPP;
	*ret_us = loop->now_us ? loop->now_us : clock_us();
	return loop->now_us == 0;
}

int sd_event_set_watchdog(sd_event *loop, int is_on)
{
	loop->watchdog_us = is_on ? vmop_static_watchdog_us() / 2 : 0;
	loop->watchdog_due_us = 0;
	return loop->watchdog_us != 0;
}

/* ---- sources ------------------------------------------------------------------------------ */

/* Add a source. Without ret it belongs to the loop. */
static int add(sd_event *loop, sd_event_source **ret, const sd_event_source *values)
{
	sd_event_source *source = malloc(sizeof(*source));
	if (!source)
		return -ENOMEM;
	*source = *values;
	source->loop = loop;
	source->n_refs = 1;
	source->next = loop->sources;
	loop->sources = source;
	if (ret)
		*ret = source;
	return 0;
}

int sd_event_add_io(sd_event *loop, sd_event_source **ret, int fd, uint32_t events,
		    sd_event_io_handler_t callback, void *arg)
{
	const sd_event_source values = {.kind = IO,
					.enabled = SD_EVENT_ON,
					.fd = fd,
					.events = events,
					.callback.io = callback,
					.arg = arg};
	return add(loop, ret, &values);
}

int sd_event_add_time(sd_event *loop, sd_event_source **ret, clockid_t clock, uint64_t due_us,
		      uint64_t accuracy_us, sd_event_time_handler_t callback, void *arg)
{
	const sd_event_source values = {.kind = TIMER,
					.enabled = SD_EVENT_ONESHOT,
					.due_us = due_us,
					.callback.time = callback,
					.arg = arg};
	(void)accuracy_us;
	return clock == CLOCK_MONOTONIC ? add(loop, ret, &values) : -EOPNOTSUPP;
}

/* Return a time after now, without an overflow. */
static uint64_t time_after(const sd_event *loop, uint64_t us)
{
	uint64_t now_us = loop->now_us ? loop->now_us : clock_us();
	return us > NEVER - now_us ? NEVER : now_us + us;
}

int sd_event_add_time_relative(sd_event *loop, sd_event_source **ret, clockid_t clock, uint64_t us,
			       uint64_t accuracy_us, sd_event_time_handler_t callback, void *arg)
{
	return sd_event_add_time(loop, ret, clock, time_after(loop, us), accuracy_us, callback,
				 arg);
}

int sd_event_add_signal(sd_event *loop, sd_event_source **ret, int number,
			sd_event_signal_handler_t callback, void *arg)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, number);
	const sd_event_source values = {.kind = SIGNAL,
					.enabled = SD_EVENT_ON,
					.fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC),
					.events = EPOLLIN,
					.callback.signal = callback,
					.arg = arg};
	if (values.fd < 0)
		return -errno;
	int status = add(loop, ret, &values);
	if (status < 0)
		close(values.fd);
	return status;
}

int sd_event_add_defer(sd_event *loop, sd_event_source **ret, sd_event_handler_t callback,
		       void *arg)
{
	const sd_event_source values = {
		.kind = DEFER, .enabled = SD_EVENT_ONESHOT, .callback.defer = callback, .arg = arg};
	return add(loop, ret, &values);
}

static void drop_ref(sd_event_source *source)
{
	if (--source->n_refs > 0)
		return;
	sd_event_source **at = &source->loop->sources;
	while (*at != source)
		at = &(*at)->next;
	*at = source->next;
	free_source(source);
}

sd_event_source *sd_event_source_disable_unref(sd_event_source *source)
{
	if (!source)
		return NULL;
	source->enabled = SD_EVENT_OFF;
	drop_ref(source);
	return NULL;
}

int sd_event_source_set_enabled(sd_event_source *source, int enabled)
{
	source->enabled = enabled;
	return 0;
}

int sd_event_source_get_enabled(sd_event_source *source, int *ret)
{
	*ret = source->enabled;
	return source->enabled != SD_EVENT_OFF;
}

int sd_event_source_set_io_events(sd_event_source *source, uint32_t events)
{
	source->events = events;
	return 0;
}

int sd_event_source_set_time_relative(sd_event_source *source, uint64_t us)
{
	source->due_us = time_after(source->loop, us);
	return 0;
}

int sd_event_source_set_prepare(sd_event_source *source, sd_event_handler_t callback)
{
	source->prepare = callback;
	return 0;
}

int sd_event_source_set_priority(sd_event_source *source, int64_t priority)
{
	source->priority = priority;
	return 0;
}

int sd_event_source_set_ratelimit(sd_event_source *source, uint64_t interval_us, unsigned burst)
{
	source->interval_us = interval_us;
	source->burst = burst;
	source->n_in_interval = 0;
	return 0;
}

/* ---- a turn ------------------------------------------------------------------------------- */

/* Return the time until which a source must not be dispatched; 0: none. */
static uint64_t pause_end_us(const sd_event_source *source)
{
	return source->interval_us && source->n_in_interval >= source->burst
		       ? source->limit_begun_us + source->interval_us
		       : 0;
}

static bool has_fd(const sd_event_source *source)
{
	return source->kind == IO || source->kind == SIGNAL;
}

/* Call the functions that run before each wait. */
static void prepare(sd_event *loop)
{
	for (sd_event_source *source = loop->sources; source; source = source->next)
		if (source->prepare && source->enabled != SD_EVENT_OFF)
			source->prepare(source, source->arg);
}

/* Return the time before which a source is not dispatched, even if its descriptor is ready. */
static uint64_t begin_us(const sd_event_source *source)
{
	switch (source->kind) {
	case TIMER:
		return source->due_us;
	case DEFER:
		return 0;
	default:
		return pause_end_us(source);
	}
}

/* List the descriptors to wait for, and set *ret_due_us to the end of the wait for the others. */
static int collect(sd_event *loop, uint64_t *ret_due_us)
{
	*ret_due_us = loop->watchdog_us ? loop->watchdog_due_us : NEVER;
	loop->n_pollfds = 0;
	for (sd_event_source *source = loop->sources; source; source = source->next) {
		uint64_t due_us = begin_us(source);
		source->ready = 0;
		source->is_polled = has_fd(source) && due_us <= loop->now_us;
		if (source->enabled == SD_EVENT_OFF)
			source->is_polled = false;
		else if (!source->is_polled && due_us < *ret_due_us)
			*ret_due_us = due_us;
		if (!source->is_polled)
			continue;
		if (!vmop_array_reserve(loop->pollfds, loop->pollfds_capacity, loop->n_pollfds + 1))
			return -ENOMEM;
		loop->pollfds[loop->n_pollfds++] =
			(struct pollfd){.fd = source->fd, .events = (short)source->events};
	}
	return 0;
}

/* Wait, at most until due_us, and note the ready descriptors. Return a negative errno after an
 * error. */
static int wait_until(sd_event *loop, uint64_t due_us)
{
	uint64_t now_us = clock_us(), left_us = due_us > now_us ? due_us - now_us : 0;
	const struct timespec left = {.tv_sec = (time_t)(left_us / US_PER_S),
				      .tv_nsec = (long)(left_us % US_PER_S * NS_PER_US)};
	int n = ppoll(loop->pollfds, loop->n_pollfds, due_us == NEVER ? NULL : &left, NULL);
	if (n < 0 && errno != EINTR)
		return -errno;
	loop->now_us = clock_us();
	const struct pollfd *pollfd = loop->pollfds;
	for (sd_event_source *source = loop->sources; n > 0 && source; source = source->next)
		if (source->is_polled)
			source->ready = (uint32_t)(pollfd++)->revents;
	return 0;
}

static bool is_ready(const sd_event_source *source, uint64_t now_us)
{
	if (source->enabled == SD_EVENT_OFF)
		return false;
	switch (source->kind) {
	case TIMER:
		return source->due_us <= now_us;
	case DEFER:
		return true;
	default:
		return source->ready != 0;
	}
}

static sd_event_source *choose(const sd_event *loop)
{
	sd_event_source *best = NULL;
	for (sd_event_source *source = loop->sources; source; source = source->next)
		if (is_ready(source, loop->now_us) &&
		    (!best || source->priority < best->priority ||
		     (source->priority == best->priority && source->dispatched < best->dispatched)))
			best = source;
	return best;
}

static void count_dispatch(sd_event_source *source)
{
	uint64_t now_us = source->loop->now_us;
	source->dispatched = source->loop->turn;
	if (now_us - source->limit_begun_us >= source->interval_us) {
		source->limit_begun_us = now_us;
		source->n_in_interval = 0;
	}
	source->n_in_interval++;
}

static int call_signal(sd_event_source *source)
{
	struct signalfd_siginfo info;
	if (read(source->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	return source->callback.signal(source, &info, source->arg);
}

static int call(sd_event_source *source)
{
	switch (source->kind) {
	case IO:
		return source->callback.io(source, source->fd, source->ready, source->arg);
	case TIMER:
		return source->callback.time(source, source->due_us, source->arg);
	case SIGNAL:
		return call_signal(source);
	case DEFER:
		return source->callback.defer(source, source->arg);
	}
	return 0;
}

/* The callback may release its source. */
static void dispatch(sd_event_source *source)
{
	count_dispatch(source);
	if (source->enabled == SD_EVENT_ONESHOT)
		source->enabled = SD_EVENT_OFF;
	source->n_refs++;
	if (call(source) < 0)
		source->enabled = SD_EVENT_OFF;
	drop_ref(source);
}

static void answer_watchdog(sd_event *loop)
{
	if (!loop->watchdog_us || loop->now_us < loop->watchdog_due_us)
		return;
	sd_notify(0, "WATCHDOG=1");
	loop->watchdog_due_us = loop->now_us + loop->watchdog_us;
}

int sd_event_run(sd_event *loop, uint64_t timeout_us)
{
	uint64_t due_us;
	loop->turn++;
	prepare(loop);
	int status = collect(loop, &due_us);
	uint64_t end_us = timeout_us > NEVER - clock_us() ? NEVER : clock_us() + timeout_us;
	if (!status)
		status = wait_until(loop, end_us < due_us ? end_us : due_us);
	if (status < 0)
		return status;
	answer_watchdog(loop);
	sd_event_source *source = choose(loop);
	if (source)
		dispatch(source);
	return source != NULL;
}

int sd_event_loop(sd_event *loop)
{
	int status = 0;
	while (status >= 0 && !loop->is_exiting)
		status = sd_event_run(loop, NEVER);
	return status < 0 ? status : loop->exit_code;
}
