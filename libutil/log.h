// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Logging: one line a message on stderr, "PROGRAM: message".
 *
 * | level   | who reads it, and when                                          |
 * |---------|-----------------------------------------------------------------|
 * | ERROR   | the operator, now: something asked for can't be done             |
 * | WARNING | the operator: it goes on, but something is less than asked for   |
 * | NOTICE  | the operator: a choice that was made for them, and why (default) |
 * | INFO    | who asks with --verbose: what was found, opened, closed          |
 * | DEBUG   | developers: --verbose twice                                      |
 *
 * Under systemd (JOURNAL_STREAM is set) each line begins with "<N>", the
 * syslog priority that sd-daemon(3) defines.  Messages are escaped here (escape.h), so that a
 * name in one is no line of its own, and cut at 8 KiB.  Thread-safe; errno is kept.
 */
#ifndef VMOP_LIBUTIL_LOG_H
#define VMOP_LIBUTIL_LOG_H

#include <stdbool.h>

struct vmop_error;

enum vmop_log_level {
	VMOP_LOG_ERROR,
	VMOP_LOG_WARNING,
	VMOP_LOG_NOTICE,
	VMOP_LOG_INFO,
	VMOP_LOG_DEBUG,
};

/* name must outlive the program; the default is program_invocation_short_name. */
void vmop_log_init(const char *name, enum vmop_log_level max_level);
void vmop_log_set_level(enum vmop_log_level max_level);
/* Puts the time (UTC) before each line: for a log file, which nobody else stamps. */
void vmop_log_set_stamps(bool on);

void vmop_log(enum vmop_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define vmop_log_error(...) vmop_log(VMOP_LOG_ERROR, __VA_ARGS__)
#define vmop_log_warning(...) vmop_log(VMOP_LOG_WARNING, __VA_ARGS__)
#define vmop_log_notice(...) vmop_log(VMOP_LOG_NOTICE, __VA_ARGS__)
#define vmop_log_info(...) vmop_log(VMOP_LOG_INFO, __VA_ARGS__)
#define vmop_log_debug(...) vmop_log(VMOP_LOG_DEBUG, __VA_ARGS__)

/* Logs err's message at level and frees err. */
void vmop_log_and_destroy(enum vmop_log_level level, struct vmop_error *err);

#endif
