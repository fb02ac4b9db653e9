// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libutil/error.h"
#include "libutil/escape.h"

/* journald splits a longer line (LineMax=) and reads the rest as a line of its own. */
#define LINE_MAX_BYTES 16384
#define MESSAGE_MAX_BYTES 8192

static const char *log_name;
static enum vmop_log_level log_max_level = VMOP_LOG_NOTICE;
static bool log_to_journal, log_stamps;

/* Priorities of syslog(3), in the form that sd-daemon(3) expects at the start of a line. */
static const char *const journal_prefix[] = {"<3>", "<4>", "<5>", "<6>", "<7>"};

/*
 * Return whether standard error is the stream to the journal that JOURNAL_STREAM names by device
 * and inode (systemd.exec(5)). A service's script can have the variable and read our messages
 * itself.
 */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;
	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void vmop_log_init(const char *name, enum vmop_log_level max_level)
{
	log_name = name;
	log_max_level = max_level;
	log_to_journal = stderr_is_journal();
}

void vmop_log_set_level(enum vmop_log_level max_level)
{
	log_max_level = max_level;
}

void vmop_log_set_stamps(bool on)
{
	log_stamps = on;
}

static void put_stamp(void)
{
	time_t now = time(NULL);
	struct tm tm;
	char text[32];
	gmtime_r(&now, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ ", &tm);
	fputs(text, stderr);
}

/* Write the message escaped, as one line, whatever its names contain. */
static void escape_message(char *line, const char *format, va_list args)
{
	char message[MESSAGE_MAX_BYTES];
	int len = vsnprintf(message, sizeof(message), format, args);
	/* A file has no locale. Journals and logs are UTF-8. */
	enum vmop_charset charset =
		isatty(STDERR_FILENO) ? vmop_escape_locale() : VMOP_CHARSET_UTF8;
	bool is_whole = vmop_escape_into(line, LINE_MAX_BYTES, len < 0 ? format : message, charset);
	if (!is_whole || len >= (int)sizeof(message))
		strcpy(line + strnlen(line, LINE_MAX_BYTES - sizeof("...")), "...");
}

void vmop_log(enum vmop_log_level level, const char *format, ...)
{
	if (level > log_max_level)
		return;
	int saved_errno = errno;
	char line[LINE_MAX_BYTES];
	va_list args;
	va_start(args, format);
	escape_message(line, format, args);
	va_end(args);
	flockfile(stderr);
	if (log_stamps)
		put_stamp();
	fprintf(stderr, "%s%s: %s\n", log_to_journal && !log_stamps ? journal_prefix[level] : "",
		log_name ? log_name : program_invocation_short_name, line);
	fflush(stderr);
	funlockfile(stderr);
	errno = saved_errno;
}

void vmop_log_and_destroy(enum vmop_log_level level, struct vmop_error *err)
{
	if (!err)
		return;
	vmop_log(level, "%s", err->message);
	vmop_error_destroy(err);
}
