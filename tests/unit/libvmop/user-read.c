// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/user-read.h"

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libvmop/vmop.h"

#ifdef __x86_64__
#define REFUSAL SIGSEGV
#else
#define REFUSAL SIGILL
#endif

static sigjmp_buf back;
static volatile sig_atomic_t n_before;

static void before(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
	n_before++;
	siglongjmp(back, 1);
}

__attribute__((no_sanitize("undefined", "address"))) static void fault(void)
{
#ifdef __x86_64__
	volatile int *volatile nowhere = NULL;
	*nowhere = 1;
#else
	__asm__ volatile("udf #0");
#endif
}

static void *read_often(void *arg)
{
	uint64_t *n_read = arg;
	for (unsigned i = 0; i < 20000; i++) {
		struct vmop_user_read bits = vmop_user_read(1 + i % 6);
		*n_read += bits.is_read;
		if (!bits.is_read && bits.value)
			*n_read = UINT64_MAX / 2;
	}
	return NULL;
}

/* cmocka sets handlers of its own before each test: the library's is set within this one. */
static void set_handlers(void)
{
	struct sigaction action = {.sa_sigaction = before, .sa_flags = SA_SIGINFO};
	sigaction(REFUSAL, &action, NULL);
	vmop_user_read_prepare();
}

/*
 * Refused reads return, on several threads at once. Other faults reach the handler that was there
 * before.
 */
static void refused_reads_return(void **state)
{
	(void)state;
	set_handlers();
	pthread_t threads[4];
	uint64_t n_read[4] = {0};
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_often, &n_read[i]), 0);
	for (size_t i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_true(n_read[i] == 0 || n_read[i] == 20000);
	}
	assert_int_equal(n_before, 0);
	if (sigsetjmp(back, 1) == 0)
		fault();
	assert_int_equal(n_before, 1);
}

/* Without a handler from before, a fault ends the process as it would have. */
static void faults_without_a_handler_end_the_process(void **state)
{
	(void)state;
	for (unsigned is_sent = 0; is_sent < 2; is_sent++) {
		pid_t pid = fork();
		if (pid == 0) {
			/* A program without a handler: this one, with an argument. */
			execl("/proc/self/exe", "user-read", is_sent ? "sent" : "fault",
			      (char *)NULL);
			_exit(1);
		}
		int status;
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), REFUSAL);
	}
}

static int die(bool is_sent)
{
	signal(REFUSAL, SIG_DFL); /* a sanitizer may have a handler */
	vmop_user_read_prepare();
	(void)vmop_user_read(1);
	if (is_sent)
		kill(getpid(), REFUSAL);
	else
		fault();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return die(argv[1][0] == 's');
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_reads_return),
		cmocka_unit_test(faults_without_a_handler_end_the_process),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
