// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Logging: one line per message on stderr, "PROGRAM: message".
 * | level   | reader and content                                              |
 * |---------|-----------------------------------------------------------------|
 * | ERROR   | the operator, now: a request cannot be carried out               |
 * | WARNING | the operator: work continues, with less than was requested       |
 * | NOTICE  | the operator: a choice that vmop made, and its reason (default)  |
 * | INFO    | a user of --verbose: files and devices found, opened, closed     |
 * | DEBUG   | developers: --verbose twice                                      |
 * Where standard error is the journal's stream (JOURNAL_STREAM), each line begins with "<N>", the
 * syslog priority that sd-daemon(3) defines.  This file escapes the message (escape.h), so that a
 * name cannot start a new line, and cuts it at 8 KiB.  Thread-safe; errno is kept.
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

/* name must outlive the program. The default is program_invocation_short_name. */
void vmop_log_init(const char *name, enum vmop_log_level max_level);
void vmop_log_set_level(enum vmop_log_level max_level);
/* Put the time (UTC) before each line: for a log file, whose lines have no other time stamp. */
void vmop_log_set_stamps(bool on);

void vmop_log(enum vmop_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define vmop_log_error(...) vmop_log(VMOP_LOG_ERROR, __VA_ARGS__)
#define vmop_log_warning(...) vmop_log(VMOP_LOG_WARNING, __VA_ARGS__)
#define vmop_log_notice(...) vmop_log(VMOP_LOG_NOTICE, __VA_ARGS__)
#define vmop_log_info(...) vmop_log(VMOP_LOG_INFO, __VA_ARGS__)
#define vmop_log_debug(...) vmop_log(VMOP_LOG_DEBUG, __VA_ARGS__)

/* Log the message of err at level and free err. */
void vmop_log_and_destroy(enum vmop_log_level level, struct vmop_error *err);

#endif
