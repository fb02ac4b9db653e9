// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For tests: a shared library to preload, which shows a program another CLOCK_REALTIME: later by
 * the seconds in the first bytes of the file VMOP_TEST_CLOCK, which may change. The machine's
 * clock, and all other clocks, stay.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
	int status = real(clock, ret);
	if (clock != CLOCK_REALTIME)
		return status;
	char text[32] = "0";
	int fd = open(getenv("VMOP_TEST_CLOCK"), O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		ssize_t len = read(fd, text, sizeof(text) - 1);
		text[len > 0 ? len : 0] = '\0';
		close(fd);
	}
	ret->tv_sec += atol(text);
	return status;
}
