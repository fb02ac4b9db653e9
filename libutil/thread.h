// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads other than the sampling thread, which receives all signals. */
#ifndef VMOP_LIBUTIL_THREAD_H
#define VMOP_LIBUTIL_THREAD_H

#include <pthread.h>

#include "libutil/error.h"

/*
 * The stack of a thread. The C library's 8 MiB are address space only, but count as memory where
 * allocations are limited (daemon/memory-limit.h).
 */
#define VMOP_THREAD_STACK_BYTES ((size_t)1 << 20)

/* Start a thread with all signals blocked. name is shown by ps(1) and has at most 15 bytes. */
struct vmop_error *vmop_thread_begin(pthread_t *thread, const char *name, void *(*run)(void *arg),
				     void *arg);

/* Initialize a condition whose timed waits use CLOCK_MONOTONIC. */
void vmop_thread_cond_init(pthread_cond_t *cond);

#endif
