// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/log.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libutil/error.h"

/* Capture the log between begin and end. */
static int saved, fd;

static void begin(void)
{
	char path[] = "/tmp/vmop-log.XXXXXX";
	fd = mkstemp(path);
	assert_true(fd >= 0);
	unlink(path);
	saved = dup(STDERR_FILENO);
	dup2(fd, STDERR_FILENO);
}

static char *end(char *buf, size_t size)
{
	dup2(saved, STDERR_FILENO);
	close(saved);
	ssize_t len = pread(fd, buf, size - 1, 0);
	close(fd);
	assert_true(len >= 0);
	buf[len] = '\0';
	return buf;
}

static void a_message_is_one_line(void **state)
{
	char buf[256];
	(void)state;
	vmop_log_init("test", VMOP_LOG_NOTICE);
	begin();
	vmop_log_notice("guest %s", "x\nvmopd: forged\r\x1b[2J\xc2\x9b\xe2\x80\xae j\xc3\xb6rg");
	assert_string_equal(
		end(buf, sizeof(buf)),
		"test: guest x\\x0avmopd: forged\\x0d\\x1b[2J\\u009b\\u202e j\xc3\xb6rg\n");
	begin();
	vmop_log_and_destroy(VMOP_LOG_ERROR, vmop_error_new(VMOP_ERROR_CANT, "a\n<0>b"));
	assert_string_equal(end(buf, sizeof(buf)), "test: a\\x0a<0>b\n");
}

/* journald splits a line of 48 KiB and reads a priority at the start of the rest. */
static void a_line_is_not_too_long(void **state)
{
	static char name[100000], buf[200000];
	(void)state;
	static const char fillers[] = {'x', '\n'};
	for (size_t i = 0; i < sizeof(fillers); i++) {
		memset(name, fillers[i], sizeof(name) - 1);
		begin();
		vmop_log_error("%s", name);
		end(buf, sizeof(buf));
		size_t len = strlen(buf);
		assert_in_range(len, 8000, 17000);
		assert_ptr_equal(strchr(buf, '\n'), buf + len - 1);
		assert_string_equal(buf + len - 4, "...\n");
	}
}

static void levels_are_kept_to(void **state)
{
	char buf[64];
	(void)state;
	begin();
	vmop_log_info("not shown");
	vmop_log_set_level(VMOP_LOG_INFO);
	vmop_log_info("shown");
	vmop_log_set_level(VMOP_LOG_NOTICE);
	assert_string_equal(end(buf, sizeof(buf)), "test: shown\n");
}

/* A script's pipe is not the journal, although the script inherited the variable. */
static void priorities_are_for_the_journal_only(void **state)
{
	char buf[64], stream[64];
	struct stat st;
	(void)state;
	begin();
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	vmop_log_init("test", VMOP_LOG_NOTICE);
	vmop_log_error("a");
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino + 1);
	setenv("JOURNAL_STREAM", stream, 1);
	vmop_log_init("test", VMOP_LOG_NOTICE);
	vmop_log_error("b");
	setenv("JOURNAL_STREAM", "no numbers", 1);
	vmop_log_init("test", VMOP_LOG_NOTICE);
	vmop_log_error("c");
	unsetenv("JOURNAL_STREAM");
	vmop_log_init("test", VMOP_LOG_NOTICE);
	vmop_log_error("d");
	assert_string_equal(end(buf, sizeof(buf)), "<3>test: a\ntest: b\ntest: c\ntest: d\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_is_one_line),
		cmocka_unit_test(a_line_is_not_too_long),
		cmocka_unit_test(levels_are_kept_to),
		cmocka_unit_test(priorities_are_for_the_journal_only),
	};
	unsetenv("JOURNAL_STREAM");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
