// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The part of vmop-appio.so that counts: in the memory that vmopstat shares with it. It runs inside
 * any program, between its calls and the C library: it keeps errno, allocates nothing, takes no
 * lock, and is safe in handlers of signals and after fork(2).
 */
#ifndef VMOP_LIBVMOP_STAT_IO_PRELOAD_COUNTS_H
#define VMOP_LIBVMOP_STAT_IO_PRELOAD_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return the time if times are wanted, else 0. */
uint64_t vmop_preload_begin(void);

/* One side of a call that has returned. */
struct vmop_preload_call {
	uint8_t id; /* of appio-calls.h */
	uint8_t direction;
	int fd; /* -1: none */
	long result, bytes;
	size_t wanted;	   /* unused if the call has no size, or failed */
	uint64_t begin_ns; /* 0: no time */
	int os_errno;	   /* if result is -1 */
};
void vmop_preload_count(const struct vmop_preload_call *call);

/* Forget the file of a descriptor that was opened or closed. */
void vmop_preload_forget(int fd);

/* Note that this process begins to execute a program, or that it could not. */
void vmop_preload_begin_exec(void);
void vmop_preload_fail_exec(void);

/* Attach to a memory: for tests. The library does it by itself when it is loaded. */
bool vmop_preload_attach(const char *path);

#endif
