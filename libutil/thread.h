// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads beside the sampling one, which alone takes signals. */
#ifndef VMOP_LIBUTIL_THREAD_H
#define VMOP_LIBUTIL_THREAD_H

#include <pthread.h>

#include "libutil/error.h"

/* Begins a thread that takes no signals. name: what ps(1) shows, 15 bytes at most. */
struct vmop_error *vmop_thread_begin(pthread_t *thread, const char *name, void *(*run)(void *arg),
				     void *arg);

/* A condition whose timed waits go by CLOCK_MONOTONIC. */
void vmop_thread_cond_init(pthread_cond_t *cond);

#endif
