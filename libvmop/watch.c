// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Overflows of a thread's own counter. The kernel sends a signal for each to the thread itself
 * (F_SETOWN_EX with F_OWNER_TID, F_SETSIG); si_fd leads to the watch. Handlers run while watches
 * come and go on other threads, so the table of watches is fixed and its slots are atomic.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/error.h"
#include "libvmop/counters.h"
#include "libvmop/open-event.h"

#define SLOTS 256 /* watches of a process */

struct vmop_watch {
	int fd;
	struct vmop_event_set events;
	vmop_overflow_fn fn;
	void *arg;
	_Atomic uint64_t calls;
	size_t slot;
};

static struct {
	_Atomic(struct vmop_watch *) watch;
	_Atomic int n_inside; /* handlers that use it */
} slots[SLOTS];

static struct sigaction before[NSIG];
static bool is_installed[NSIG];
static pthread_mutex_t installing = PTHREAD_MUTEX_INITIALIZER;

static uint64_t interrupted_at(const void *context)
{
	const ucontext_t *user = context;
#if defined(__x86_64__)
	return (uint64_t)user->uc_mcontext.gregs[REG_RIP];
#else
	return user->uc_mcontext.pc;
#endif
}

/* Pass a signal that is no overflow on to the handler that was there before. */
static void pass_on(int signo, siginfo_t *info, void *context)
{
	const struct sigaction *old = &before[signo];
	if (old->sa_flags & SA_SIGINFO)
		old->sa_sigaction(signo, info, context);
	else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN)
		old->sa_handler(signo);
	/* Otherwise it is the last one of a closed watch: it must not end the process. */
}

static void on_overflow(int signo, siginfo_t *info, void *context)
{
	int saved_errno = errno;
	bool is_ours = false;
	for (size_t i = 0; i < SLOTS && !is_ours; i++) {
		atomic_fetch_add(&slots[i].n_inside, 1);
		struct vmop_watch *watch = atomic_load(&slots[i].watch);
		is_ours = watch && watch->fd == info->si_fd && info->si_code > 0;
		if (is_ours) {
			const struct vmop_overflow overflow = {
				.address = interrupted_at(context),
				.overflow = atomic_fetch_add(&watch->calls, 1) + 1};
			watch->fn(watch->arg, &overflow);
		}
		atomic_fetch_sub(&slots[i].n_inside, 1);
	}
	if (!is_ours)
		pass_on(signo, info, context);
	errno = saved_errno;
}

/* The kernel sends SIGIO where its queue of signals is full; by default that ends the process. */
static void on_full_queue(int signo)
{
	(void)signo;
}

static struct vmop_error *install(int signo)
{
	struct sigaction ours = {.sa_sigaction = on_overflow, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigaction io, full = {.sa_handler = on_full_queue, .sa_flags = SA_RESTART};
	struct vmop_error *err = NULL;
	pthread_mutex_lock(&installing);
	if (!is_installed[signo]) {
		if (sigaction(signo, NULL, &before[signo]) != 0 ||
		    sigaction(signo, &ours, NULL) != 0)
			err = vmop_error_os(errno, "signal %d", signo);
		is_installed[signo] = !err;
	}
	if (!err && signo != SIGIO && sigaction(SIGIO, NULL, &io) == 0 &&
	    !(io.sa_flags & SA_SIGINFO) && io.sa_handler == SIG_DFL)
		sigaction(SIGIO, &full, NULL);
	pthread_mutex_unlock(&installing);
	return err;
}

static bool take_slot(struct vmop_watch *watch)
{
	for (size_t i = 0; i < SLOTS; i++) {
		struct vmop_watch *none = NULL;
		if (atomic_compare_exchange_strong(&slots[i].watch, &none, watch)) {
			watch->slot = i;
			return true;
		}
	}
	return false;
}

void vmop_watch_close(struct vmop_watch *watch)
{
	if (!watch)
		return;
	if (watch->fd >= 0)
		ioctl(watch->fd, PERF_EVENT_IOC_DISABLE, 0);
	if (watch->slot < SLOTS) {
		atomic_store(&slots[watch->slot].watch, NULL);
		/* A handler on another thread may still use it. */
		while (atomic_load(&slots[watch->slot].n_inside) > 0)
			sched_yield();
	}
	if (watch->fd >= 0)
		close(watch->fd);
	vmop_event_set_deinit(&watch->events);
	free(watch);
}

static void watch_cleanup(struct vmop_watch **watch)
{
	vmop_watch_close(*watch);
}

static struct vmop_error *send_signals(int fd, int signo)
{
	const struct f_owner_ex owner = {F_OWNER_TID, (pid_t)syscall(SYS_gettid)};
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETOWN_EX, &owner) != 0 || fcntl(fd, F_SETSIG, signo) != 0 ||
	    fcntl(fd, F_SETFL, flags | O_ASYNC) != 0)
		return vmop_error_os(errno, "signals of overflows");
	return NULL;
}

static struct vmop_error *open_event(struct vmop_watch *watch, uint64_t period_events,
				     uint32_t flags)
{
	struct vmop_set_event *event = &watch->events.events[0];
	if (watch->events.n != 1)
		return vmop_error_new(VMOP_ERROR_USAGE, "a watch has one event, not %zu",
				      watch->events.n);
	if (event->reason)
		return vmop_error_new(VMOP_ERROR_CANT, "%s: %s", event->name, event->reason);
	struct perf_event_attr attr = event->attr;
	attr.sample_period = period_events;
	attr.wakeup_events = 1;
	attr.disabled = 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.exclude_kernel |= flags & VMOP_COUNTERS_USER_ONLY;
	watch->fd = vmop_open_call(&attr, 0, -1, -1);
	if (watch->fd < 0 && (errno == EACCES || errno == EPERM) && event->is_clock) {
		attr.exclude_kernel = 1; /* a clock counts all the same */
		watch->fd = vmop_open_call(&attr, 0, -1, -1);
	}
	return watch->fd < 0 ? vmop_open_refusal(event->name, errno, false) : NULL;
}

static struct vmop_error *check_options(const struct vmop_watch_options *given,
					struct vmop_watch_options *ret)
{
	*ret = (struct vmop_watch_options){.size = sizeof(*ret)};
	if (given && (given->size < sizeof(*ret) || given->size > 4096))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "the options' size is not that of the struct");
	if (given)
		memcpy(ret, given, sizeof(*ret));
	if (!ret->signo)
		ret->signo = SIGRTMIN + 5;
	if (ret->signo < 1 || ret->signo >= NSIG || ret->flags & ~(uint32_t)VMOP_COUNTERS_USER_ONLY)
		return vmop_error_new(VMOP_ERROR_USAGE, "no signal %d, or an unknown flag",
				      ret->signo);
	return NULL;
}

struct vmop_error *vmop_watch_open(const char *event, uint64_t period_events, vmop_overflow_fn fn,
				   void *arg, const struct vmop_watch_options *options,
				   struct vmop_watch **ret)
{
	struct vmop_watch_options checked;
	struct vmop_error *err = check_options(options, &checked);
	if (err)
		return err;
	if (!fn || period_events == 0)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "a watch needs a function and a period of 1 or more");
	_cleanup_(watch_cleanup) struct vmop_watch *watch = calloc(1, sizeof(*watch));
	if (!watch)
		return &vmop_error_no_memory;
	watch->fd = -1;
	watch->slot = SLOTS;
	watch->fn = fn;
	watch->arg = arg;
	err = vmop_event_set_resolve(event, -1, true, &watch->events);
	if (!err)
		err = open_event(watch, period_events, checked.flags);
	if (!err)
		err = install(checked.signo);
	if (!err)
		err = send_signals(watch->fd, checked.signo);
	if (!err && !take_slot(watch))
		err = vmop_error_new(VMOP_ERROR_LIMIT, "more than %d watches in a process", SLOTS);
	if (!err && ioctl(watch->fd, PERF_EVENT_IOC_ENABLE, 0) != 0)
		err = vmop_error_os(errno, "counter of %s", event);
	if (err)
		return err;
	*ret = vmop_steal(&watch);
	return NULL;
}

struct vmop_error *vmop_watch_read(struct vmop_watch *watch, uint64_t *ret_events,
				   uint64_t *ret_calls)
{
	uint64_t values[3];
	ssize_t n = read(watch->fd, values, sizeof(values));
	if (n < 0)
		return vmop_error_os(errno, "counter of a watch");
	if (n != sizeof(values))
		return vmop_error_new(VMOP_ERROR_CANT, "the kernel has taken the counter away");
	if (ret_events)
		*ret_events = values[0];
	if (ret_calls)
		*ret_calls = atomic_load(&watch->calls);
	return NULL;
}
