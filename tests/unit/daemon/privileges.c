// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The privileges that the daemon keeps and drops, each time in a child, because dropping is for
 * good. The test sets the capability that perf requires, because kernels differ in it.
 */
#include "config.h"

#include <cap-ng.h>
#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/privileges.h"
#include "hv-interface/perf/permission.h"

/* The capability that the kernel's perf requires; -1: no capability is enough. */
static int perf_asks_for;

bool vmop_perf_is_permitted(void)
{
	if (perf_asks_for < 0 || capng_get_caps_process() < 0)
		return false;
	return capng_have_capability(CAPNG_EFFECTIVE, (unsigned)perf_asks_for);
}

static bool has(unsigned capability)
{
	bool is_effective = capng_have_capability(CAPNG_EFFECTIVE, capability);
	return is_effective && capng_have_capability(CAPNG_PERMITTED, capability);
}

/* Return whether BPF programs can be loaded later, if this build has one. */
static bool keeps_bpf(void)
{
#if defined(HAVE_BPF) && defined(CAP_BPF)
	return has(CAP_BPF);
#else
	return true;
#endif
}

static bool is_gone(unsigned capability)
{
	return !capng_have_capability(CAPNG_EFFECTIVE, capability) &&
	       !capng_have_capability(CAPNG_PERMITTED, capability);
}

struct outcome {
	bool is_ok; /* the drop worked, and all checks that hold in every case */
	bool has_perfmon, has_admin;
};

/* Drop and check, in the child. Unneeded capabilities are gone whatever perf requires. */
static struct outcome drop(void)
{
	struct vmop_error *err = vmop_privileges_drop();
	if (err || capng_get_caps_process() < 0)
		return (struct outcome){0};
	return (struct outcome){
		.is_ok = has(CAP_SYSLOG) && has(CAP_SYS_PTRACE) && has(CAP_DAC_READ_SEARCH) &&
			 keeps_bpf() && is_gone(CAP_SYS_MODULE) && is_gone(CAP_NET_ADMIN) &&
			 is_gone(CAP_SETUID) && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 &&
			 prctl(PR_CAPBSET_READ, CAP_SYS_MODULE, 0, 0, 0) == 0,
		.has_perfmon = has(CAP_PERFMON),
		.has_admin = !is_gone(CAP_SYS_ADMIN),
	};
}

/* `without` is a capability that the daemon starts without; -1: no such capability. */
static struct outcome dropped(int asks_for, int without)
{
	struct outcome outcome = {0};
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		perf_asks_for = asks_for;
		if (without >= 0) {
			capng_get_caps_process(); /* the library must read them again in a child */
			capng_update(CAPNG_DROP, CAPNG_EFFECTIVE | CAPNG_PERMITTED,
				     (unsigned)without);
			capng_apply(CAPNG_SELECT_CAPS);
		}
		outcome = drop();
		_exit(write(ends[1], &outcome, sizeof(outcome)) != sizeof(outcome));
	}
	close(ends[1]);
	ssize_t n = read(ends[0], &outcome, sizeof(outcome));
	close(ends[0]);
	waitpid(child, NULL, 0);
	assert_int_equal(n, sizeof(outcome));
	assert_true(outcome.is_ok);
	return outcome;
}

static void admin_goes_where_perf_asks_for_perfmon(void **state)
{
	(void)state;
	struct outcome outcome = dropped(CAP_PERFMON, -1);
	assert_true(outcome.has_perfmon);
	assert_false(outcome.has_admin);
}

static void admin_stays_where_perf_knows_nothing_else(void **state)
{
	(void)state;
	struct outcome outcome = dropped(CAP_SYS_ADMIN, -1);
	assert_true(outcome.has_perfmon);
	assert_true(outcome.has_admin);
}

static void admin_stays_where_perfmon_was_withheld(void **state)
{
	(void)state;
	struct outcome outcome = dropped(CAP_SYS_ADMIN, CAP_PERFMON);
	assert_false(outcome.has_perfmon);
	assert_true(outcome.has_admin);
}

static void admin_goes_where_it_does_not_help(void **state)
{
	(void)state;
	assert_false(dropped(-1, -1).has_admin);
}

static void admin_that_was_not_given_is_not_missed(void **state)
{
	(void)state;
	struct outcome outcome = dropped(CAP_PERFMON, CAP_SYS_ADMIN);
	assert_true(outcome.has_perfmon);
	assert_false(outcome.has_admin);
}

#ifdef HAVE_SECCOMP
static void programs_and_namespaces_are_out_of_reach(void **state)
{
	(void)state;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		char *const argv[] = {(char *)"false", NULL}, *const envp[] = {NULL};
		perf_asks_for = CAP_SYS_ADMIN; /* it would be enough for unshare */
		if (vmop_privileges_drop())
			_exit(1);
		if (unshare(CLONE_NEWUTS) == 0 || errno != EPERM)
			_exit(2);
		execve("/bin/false", argv, envp);
		_exit(errno == EPERM ? 0 : 3);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}
#endif

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(admin_goes_where_perf_asks_for_perfmon),
		cmocka_unit_test(admin_stays_where_perf_knows_nothing_else),
		cmocka_unit_test(admin_stays_where_perfmon_was_withheld),
		cmocka_unit_test(admin_goes_where_it_does_not_help),
		cmocka_unit_test(admin_that_was_not_given_is_not_missed),
#ifdef HAVE_SECCOMP
		cmocka_unit_test(programs_and_namespaces_are_out_of_reach),
#endif
	};
	static const unsigned wanted[] = {CAP_PERFMON,	  CAP_SYS_ADMIN, CAP_SYSLOG,
					  CAP_SYS_PTRACE, CAP_SETPCAP,	 CAP_DAC_READ_SEARCH};
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (capng_get_caps_process() < 0 || !has(wanted[i])) {
			print_message("skipped: not all of the daemon's capabilities are here "
				      "(run as root)\n");
			return 77;
		}
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
