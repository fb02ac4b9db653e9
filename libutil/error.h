// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Errors that carry a message that a user can act on. All folders use them.
 *
 * A function that can fail returns `struct vmop_error *`. NULL means success. The caller owns any
 * other value: it adds context with vmop_error_prefix() and passes the error on, or logs it once
 * and frees it with vmop_error_destroy(). In the end main() converts the code to an exit status, or
 * the daemon sends code and message to its client (protocol.h).
 *
 * Out of memory is a static object, so that reporting it never allocates; to destroy it does
 * nothing.
 *
 * The per-sample path never creates an error: it counts losses instead. Any thread.
 */
#ifndef VMOP_LIBUTIL_ERROR_H
#define VMOP_LIBUTIL_ERROR_H

#include <stdarg.h>

/* The kind of failure. Decides the exit status of a program. */
enum vmop_error_code {
	VMOP_ERROR_NO_MEMORY, /* exit 3 */
	VMOP_ERROR_USAGE,     /* the command line or set-up is wrong: exit 2 */
	VMOP_ERROR_CANT,      /* no permission, no daemon, no support: exit 3 */
	VMOP_ERROR_OS,	      /* a system call failed: exit 3 */
	VMOP_ERROR_CORRUPT,   /* a file or a guest's memory has impossible content: exit 3 */
	VMOP_ERROR_NEWER,     /* a file from a newer version of vmop: exit 3 */
	VMOP_ERROR_NOT_FOUND, /* nothing matched: exit 1 */
	VMOP_ERROR_LIMIT,     /* a bound on work or size was reached: exit 3 */
	VMOP_ERROR_BUSY,      /* another process uses it at the moment: exit 3 */
};

/* Exit statuses of all programs. */
enum vmop_exit {
	VMOP_EXIT_DONE = 0,
	VMOP_EXIT_NOTHING = 1, /* nothing matched */
	VMOP_EXIT_USAGE = 2,
	VMOP_EXIT_CANT = 3,    /* permission, daemon absent, ... */
	VMOP_EXIT_CROSSED = 4, /* readers: a gate's bound was crossed */
	VMOP_EXIT_RUNS_ALREADY =
		4, /* vmopd --by-vmopcontrol found a running vmopd; it prints no message */
};

struct vmop_error {
	enum vmop_error_code code;
	int os_errno;  /* errno of the failed system call; 0: none failed */
	char *message; /* one line, no newline, no program name */
};

/* The only out-of-memory object. */
extern struct vmop_error vmop_error_no_memory;

/*
 * Create an error with a printf-formatted one-line message. Never returns NULL: returns
 * &vmop_error_no_memory if memory runs out.
 */
struct vmop_error *vmop_error_new(enum vmop_error_code code, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull));

/*
 * Create a VMOP_ERROR_OS for os_errno with the message "<formatted message>: <strerror>". The code
 * is VMOP_ERROR_CANT for EACCES and EPERM. Never returns NULL.
 */
struct vmop_error *vmop_error_os(int os_errno, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull));

/*
 * Put "<formatted message>: " before the message of inner. Consumes inner and keeps its code and
 * errno. Never returns NULL.
 */
struct vmop_error *vmop_error_prefix(struct vmop_error *inner, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull, nonnull(1)));

/*
 * Return the first error of two steps, the second of which ran although the first may have failed.
 * Consumes the other error. NULL: both steps succeeded.
 */
struct vmop_error *vmop_error_first(struct vmop_error *first, struct vmop_error *next);

/* Free err. NULL and &vmop_error_no_memory are allowed. */
void vmop_error_destroy(struct vmop_error *err);

/* Return the exit status of a program that fails with err. NULL gives 0. */
int vmop_error_exit_status(const struct vmop_error *err);

/* For _cleanup-style declarations: see cleanup.h. */
static inline void vmop_error_cleanup(struct vmop_error **err)
{
	vmop_error_destroy(*err);
}

#endif
