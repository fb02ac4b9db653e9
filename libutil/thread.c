// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/thread.h"

#include <signal.h>
#include <time.h>

struct vmop_error *vmop_thread_begin(pthread_t *thread, const char *name, void *(*run)(void *arg),
				     void *arg)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int failed = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed)
		return vmop_error_os(failed, "thread %s", name);
	pthread_setname_np(*thread, name);
	return NULL;
}

void vmop_thread_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}
