// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Errors that carry a message a user can act on.
 *
 * A function that can fail returns `struct vmop_error *`: NULL is success,
 * anything else is owned by the caller, who logs it once or passes it on, and
 * frees it with vmop_error_destroy().  Being out of memory is a static object,
 * so that reporting it never allocates; destroying it does nothing.
 *
 * Never used on the per-sample path: that counts what it could not handle.
 */
#ifndef VMOP_LIBUTIL_ERROR_H
#define VMOP_LIBUTIL_ERROR_H

#include <stdarg.h>

/* What kind of failure it is; decides the exit status of a program. */
enum vmop_error_code {
	VMOP_ERROR_NO_MEMORY, /* exit 3 */
	VMOP_ERROR_USAGE,     /* the user's words are off: exit 2 */
	VMOP_ERROR_CANT,      /* no permission, no daemon, no support: exit 3 */
	VMOP_ERROR_OS,	      /* a system call failed: exit 3 */
	VMOP_ERROR_CORRUPT,   /* a file or a guest's memory holds what it can't: exit 3 */
	VMOP_ERROR_NEWER,     /* a file from a newer version of vmop: exit 3 */
	VMOP_ERROR_NOT_FOUND, /* nothing matched: exit 1 */
	VMOP_ERROR_LIMIT,     /* a bound on work or size was reached: exit 3 */
	VMOP_ERROR_BUSY,      /* somebody else has it, for a while: exit 3 */
};

/* Exit statuses of all programs. */
enum vmop_exit {
	VMOP_EXIT_DONE = 0,
	VMOP_EXIT_NOTHING = 1, /* nothing matched */
	VMOP_EXIT_USAGE = 2,
	VMOP_EXIT_CANT = 3,	    /* permission, daemon absent, ... */
	VMOP_EXIT_RUNS_ALREADY = 4, /* of vmopd --by-vmopcontrol, without a message */
};

struct vmop_error {
	enum vmop_error_code code;
	int os_errno;  /* 0 where no system call is behind it */
	char *message; /* one line, no newline, no program name */
};

/* The one out-of-memory object. */
extern struct vmop_error vmop_error_no_memory;

/* A new error with a printf-formatted one-line message. Never returns NULL. */
struct vmop_error *vmop_error_new(enum vmop_error_code code, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull));

/*
 * VMOP_ERROR_OS for os_errno: "<formatted message>: <strerror>".
 * EACCES and EPERM become VMOP_ERROR_CANT.  Never returns NULL.
 */
struct vmop_error *vmop_error_os(int os_errno, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull));

/*
 * Puts "<formatted message>: " before what inner says; inner is consumed,
 * its code and errno are kept.  Never returns NULL.
 */
struct vmop_error *vmop_error_prefix(struct vmop_error *inner, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull, nonnull(1)));

/*
 * Of what two steps came to, the second of which was taken all the same: the first error there is;
 * the other is consumed.  NULL: neither is one.
 */
struct vmop_error *vmop_error_first(struct vmop_error *first, struct vmop_error *next);

/* Frees err; NULL and vmop_error_no_memory are allowed. */
void vmop_error_destroy(struct vmop_error *err);

/* The exit status that a program ends with because of err (NULL gives 0). */
int vmop_error_exit_status(const struct vmop_error *err);

/* For _cleanup-style declarations: see cleanup.h. */
static inline void vmop_error_cleanup(struct vmop_error **err)
{
	vmop_error_destroy(*err);
}

#endif
