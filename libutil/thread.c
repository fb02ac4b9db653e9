// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/thread.h"

#include <signal.h>
#include <time.h>

struct vmop_error *vmop_thread_begin(pthread_t *thread, const char *name, void *(*run)(void *arg),
				     void *arg)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_attr_init(&attr);
#ifndef __SANITIZE_ADDRESS__ /* its frames are much larger */
	pthread_attr_setstacksize(&attr, VMOP_THREAD_STACK_BYTES);
#endif
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int failed = pthread_create(thread, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
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
