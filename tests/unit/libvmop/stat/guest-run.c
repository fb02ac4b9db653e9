// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/guest-run.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static char *no_words[] = {NULL};
static sigset_t old_signals;

static struct vmop_guest_run run_of(const char *transport, char *const *command)
{
	return (struct vmop_guest_run){.guest = "g",
				       .transport = transport,
				       .events = "task-clock",
				       .n_runs = 2,
				       .command = command,
				       .signals = &old_signals};
}

/* Let sh(1) parse the line with this vmopstat, and return what it gets. */
static char *words_of(const char *line)
{
	char *script, buffer[4096] = "";
	assert_true(asprintf(&script, "vmopstat() { printf '<%%s>' \"$@\" >&3; }\n%s\n", line) > 0);
	FILE *pipe = popen(script, "r");
	assert_non_null(pipe);
	size_t n = fread(buffer, 1, sizeof(buffer) - 1, pipe);
	buffer[n] = '\0';
	assert_int_equal(pclose(pipe), 0);
	free(script);
	return strdup(buffer);
}

static void the_guests_shell_gets_each_word_as_it_is(void **state)
{
	(void)state;
	char *command[] = {(char *)"a b", (char *)"$(reboot)", (char *)"it's;\n\"\\",
			   (char *)"",	  (char *)"*",	       NULL};
	struct vmop_guest_run run = run_of("true", command);
	char *line;
	run.events = "{cycles,instructions}";
	assert_null(vmop_guest_run_line(&run, &line));
	char *words = words_of(line);
	assert_string_equal(words, "<--json><--log-fd=3><-r><2><-e><{cycles,instructions}><-->"
				   "<a b><$(reboot)><it's;\n\"\\><><*>");
	free(words);
	free(line);
}

/* Run a transport that is no vmopstat; return the error's text. */
static char *failure_of(const char *transport, int *ret_status)
{
	struct vmop_guest_run run = run_of(transport, no_words);
	struct vmop_guest_rows rows;
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, &old_signals);
	run.signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	assert_true(run.signal_fd >= 0);
	struct vmop_error *err = vmop_guest_run(&run, &rows, ret_status);
	close(run.signal_fd);
	sigprocmask(SIG_SETMASK, &old_signals, NULL);
	if (!err) {
		vmop_guest_rows_deinit(&rows);
		return NULL;
	}
	assert_int_equal(err->code, VMOP_ERROR_CANT);
	char *text = strdup(err->message);
	vmop_error_destroy(err);
	return text;
}

static void check_failure(const char *transport, const char *part, int status)
{
	int got = 0;
	char *text = failure_of(transport, &got);
	assert_non_null(text);
	if (!strstr(text, part))
		fail_msg("%s: %s", transport, text);
	assert_int_equal(got, status);
	free(text);
}

static void failures_have_reasons(void **state)
{
	(void)state;
	check_failure("exit 127 #", "is vmopstat installed there?", 127);
	check_failure("exit 255 #", "'exit 255 #' ended with status 255", 255);
	check_failure("echo nonsense #", "line 1 of the guest's output is no count", 0);
}

/* A guest that sends without end, and a process that keeps the pipe open. */
static void nothing_goes_on_for_ever(void **state)
{
	(void)state;
	int status = 0;
	char *text = failure_of("exec yes #", &status);
	assert_non_null(strstr(text, "more than 1048576 bytes"));
	free(text);
	text = failure_of("sleep 5 & kill -9 $$ #", &status);
	assert_non_null(text);
	assert_int_equal(status, 137);
	free(text);
}

static void counts_arrive_with_the_status(void **state)
{
	(void)state;
	int status = 0;
	assert_null(failure_of(
		"echo '{\"event\":\"x\",\"unit\":\"\",\"counter-value\":1}'; exit 5 #", &status));
	assert_int_equal(status, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_guests_shell_gets_each_word_as_it_is),
		cmocka_unit_test(failures_have_reasons),
		cmocka_unit_test(nothing_goes_on_for_ever),
		cmocka_unit_test(counts_arrive_with_the_status),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
