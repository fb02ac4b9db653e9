// SPDX-License-Identifier: GPL-2.0-or-later
/* A VMM that does nothing: a child process with this process's memory. */
#ifndef VMOP_TESTS_DAEMON_VMM_H
#define VMOP_TESTS_DAEMON_VMM_H

#include <cmocka.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * AddressSanitizer keeps freed memory, which a VMM that is a copy of this process has, too. Much of
 * it would hide the guest's RAM, which is found by its size.
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=1";
}

/* Start it and return its pid. It ends with this process. */
static inline pid_t vmm_begin(void)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static inline void vmm_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#endif
