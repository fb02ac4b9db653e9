// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vmop_error vmop_error_no_memory = {
	.code = VMOP_ERROR_NO_MEMORY,
	.os_errno = ENOMEM,
	.message = (char *)"out of memory",
};

/* Take ownership of message. NULL means that memory ran out while it was formatted. */
static struct vmop_error *error_adopt(enum vmop_error_code code, int os_errno, char *message)
{
	if (!message)
		return &vmop_error_no_memory;
	struct vmop_error *err = malloc(sizeof(*err));
	if (!err) {
		free(message);
		return &vmop_error_no_memory;
	}
	*err = (struct vmop_error){.code = code, .os_errno = os_errno, .message = message};
	return err;
}

static char *format_message(const char *format, va_list args)
{
	char *message;
	return vasprintf(&message, format, args) < 0 ? NULL : message;
}

struct vmop_error *vmop_error_new(enum vmop_error_code code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *message = format_message(format, args);
	va_end(args);
	return error_adopt(code, 0, message);
}

struct vmop_error *vmop_error_os(int os_errno, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *what = format_message(format, args);
	va_end(args);
	if (!what || os_errno == ENOMEM) {
		free(what);
		return &vmop_error_no_memory;
	}
	char *message;
	if (asprintf(&message, "%s: %s", what, strerror(os_errno)) < 0)
		message = NULL;
	free(what);
	bool refused = os_errno == EACCES || os_errno == EPERM;
	return error_adopt(refused ? VMOP_ERROR_CANT : VMOP_ERROR_OS, os_errno, message);
}

struct vmop_error *vmop_error_prefix(struct vmop_error *inner, const char *format, ...)
{
	if (inner == &vmop_error_no_memory)
		return inner;
	va_list args;
	va_start(args, format);
	char *prefix = format_message(format, args);
	va_end(args);
	char *message = NULL;
	if (prefix && asprintf(&message, "%s: %s", prefix, inner->message) < 0)
		message = NULL;
	free(prefix);
	if (!message)
		return inner; /* an error without its prefix is better than none */
	free(inner->message);
	inner->message = message;
	return inner;
}

struct vmop_error *vmop_error_first(struct vmop_error *first, struct vmop_error *next)
{
	if (!first)
		return next;
	vmop_error_destroy(next);
	return first;
}

void vmop_error_destroy(struct vmop_error *err)
{
	if (!err || err == &vmop_error_no_memory)
		return;
	free(err->message);
	free(err);
}

int vmop_error_exit_status(const struct vmop_error *err)
{
	if (!err)
		return VMOP_EXIT_DONE;
	switch (err->code) {
	case VMOP_ERROR_USAGE:
		return VMOP_EXIT_USAGE;
	case VMOP_ERROR_NOT_FOUND:
		return VMOP_EXIT_NOTHING;
	default:
		return VMOP_EXIT_CANT;
	}
}
