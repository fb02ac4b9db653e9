// SPDX-License-Identifier: GPL-2.0-or-later
// usage: MODE (a link to this program): burn CPU for ever in call paths that are known, 75 % in
// leaf_major below calls_major and 25 % in leaf_minor below calls_minor, which are called by:
//   calls      main, outer, middle
//   recursion  main, eight times recurse
//   library    main, paths_call_back in libpaths.so, called_back
//   signals    main, wait_for_signal, the signal's frame, handler
//   thread     thread_main in a second thread
// Modes whose time is in the kernel, below main, kernel_outer and a function of the program:
//   zero       read_zero: read(2) of /dev/zero
//   pipe       write_pipe and read_pipe: 4 KiB through a pipe
//   getpid     get_pid: getppid(2)
//   faults     touch_pages: first use of anonymous pages
// A name with "static-" before the mode is the static program, which has no mode library.
#define _GNU_SOURCE
#include "work.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* No clone of it and no copy in a caller, so that the path is as in the source. */
#define FRAME __attribute__((noipa))

enum { BUFFER_BYTES = 64 << 10, PIPE_BYTES = 4096, N_PAGES = 64, PAGE_BYTES = 4096, DEPTH = 8 };

static char buffer[BUFFER_BYTES];
/* A change after a call keeps it from becoming a jump. */
static volatile unsigned long sink;

FRAME void calls_major(void)
{
	WORK(major)(30000);
	sink++;
}

FRAME void calls_minor(void)
{
	WORK(minor)(10000);
	sink++;
}

FRAME void middle(void)
{
	calls_major();
	calls_minor();
	sink++;
}

FRAME void outer(void)
{
	middle();
	sink++;
}

FRAME void recurse(int depth)
{
	if (depth > 1)
		recurse(depth - 1);
	else
		middle();
	sink++;
}

static volatile sig_atomic_t is_handled;

FRAME void handler(int number)
{
	(void)number;
	for (int i = 0; i < 100; i++)
		middle();
	is_handled = 1;
}

FRAME void wait_for_signal(void)
{
	const struct itimerval soon = {.it_value = {.tv_usec = 1000}};
	is_handled = 0;
	if (setitimer(ITIMER_VIRTUAL, &soon, NULL))
		exit(1);
	while (!is_handled)
		sink++;
}

FRAME void *thread_main(void *arg)
{
	for (;;)
		middle();
	return arg;
}

#ifndef PATHS_STATIC
void paths_call_back(void (*function)(void));

FRAME void called_back(void)
{
	middle();
	sink++;
}
#endif

static int zero_fd, pipe_fds[2];

FRAME void read_zero(void)
{
	if (read(zero_fd, buffer, sizeof(buffer)) < 0)
		exit(1);
	sink++;
}

FRAME void write_pipe(void)
{
	if (write(pipe_fds[1], buffer, PIPE_BYTES) < 0)
		exit(1);
	sink++;
}

FRAME void read_pipe(void)
{
	if (read(pipe_fds[0], buffer, PIPE_BYTES) < 0)
		exit(1);
	sink++;
}

FRAME void get_pid(void)
{
	for (int i = 0; i < 1000; i++)
		sink += (unsigned long)getppid();
}

FRAME void touch_pages(void)
{
	char *pages = mmap(NULL, N_PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		exit(1);
	for (int i = 0; i < N_PAGES; i++)
		pages[i * PAGE_BYTES] = 1;
	munmap(pages, N_PAGES * PAGE_BYTES);
}

FRAME void kernel_outer(void (*first)(void), void (*second)(void))
{
	first();
	if (second)
		second();
	sink++;
}

static void run(const char *mode)
{
	pthread_t thread;
	if (!strcmp(mode, "calls"))
		outer();
	else if (!strcmp(mode, "recursion"))
		recurse(DEPTH);
	else if (!strcmp(mode, "signals"))
		wait_for_signal();
	else if (!strcmp(mode, "thread") && !pthread_create(&thread, NULL, thread_main, NULL))
		pthread_join(thread, NULL);
#ifndef PATHS_STATIC
	else if (!strcmp(mode, "library"))
		paths_call_back(called_back);
#endif
	else if (!strcmp(mode, "zero"))
		kernel_outer(read_zero, NULL);
	else if (!strcmp(mode, "pipe"))
		kernel_outer(write_pipe, read_pipe);
	else if (!strcmp(mode, "getpid"))
		kernel_outer(get_pid, NULL);
	else if (!strcmp(mode, "faults"))
		kernel_outer(touch_pages, NULL);
	else
		exit(2);
}

int main(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *mode = slash ? slash + 1 : argc > 0 ? argv[0] : "";
	const struct sigaction action = {.sa_handler = handler};
	if (!strncmp(mode, "static-", 7))
		mode += 7;
	zero_fd = open("/dev/zero", O_RDONLY);
	/* The guest's script runs first while it has work. */
	if (zero_fd < 0 || pipe(pipe_fds) || nice(19) == -1 || sigaction(SIGVTALRM, &action, NULL))
		return 1;
	for (;;)
		run(mode);
}
