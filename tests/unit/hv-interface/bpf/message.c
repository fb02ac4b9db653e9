// SPDX-License-Identifier: GPL-2.0-or-later
/* libbpf's messages in the log: line by line, and only for those who want debugging. */
#include "hv-interface/bpf/message.h"

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libutil/log.h"

static char text[4096];

static void pass(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vmop_bpf_log_message(LIBBPF_DEBUG, format, args);
	va_end(args);
}

/* Set text to what a message with two lines and a number prints. */
static void print_with(enum vmop_log_level level)
{
	int saved = dup(STDERR_FILENO);
	FILE *file = tmpfile();
	assert_non_null(file);
	assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
	vmop_log_init("test", level);
	pass("first %d\n\nsecond\n", 7);
	fflush(stderr);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
	rewind(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
}

static void each_line_is_a_message(void **state)
{
	(void)state;
	print_with(VMOP_LOG_DEBUG);
	const char *first = strstr(text, "BPF: first 7\n");
	assert_non_null(first);
	assert_non_null(strstr(first, "BPF: second\n"));
	assert_null(strstr(text, "BPF: \n"));
}

static void only_for_debugging(void **state)
{
	(void)state;
	print_with(VMOP_LOG_NOTICE);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_line_is_a_message),
		cmocka_unit_test(only_for_debugging),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
