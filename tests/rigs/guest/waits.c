// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes that wait in the kernel on known call paths, WAY_outer > WAY_middle > WAY_inner, until
 * they are killed. Each is a child called "wait-WAY":
 *	nap	nanosleep(2)		pipe	read(2)
 *	futex	FUTEX_WAIT		poll	poll(2)
 *	half	sleeps for half of the time, and computes for the other half
 *	spin	never waits
 * Built without frame pointers: only call frame information leads to the callers.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HALF_NS 50000000L

static volatile unsigned long sink;

static void sleep_ns(long ns)
{
	const struct timespec time = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
	nanosleep(&time, NULL);
}

static void compute_ns(long ns)
{
	struct timespec begun, now;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	do {
		for (int i = 0; i < 1000; i++)
			sink += (unsigned long)i * sink;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begun.tv_sec) * 1000000000 + now.tv_nsec - begun.tv_nsec < ns);
}

static void nap(void)
{
	sleep_ns(3600 * 1000000000L);
}

static void pipe_way(void)
{
	int ends[2];
	char byte;
	if (pipe(ends) == 0 && read(ends[0], &byte, 1) == 1)
		sink++;
}

static void futex(void)
{
	static uint32_t word;
	syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static void poll_way(void)
{
	poll(NULL, 0, -1);
}

static void half(void)
{
	compute_ns(HALF_NS);
	sleep_ns(HALF_NS);
}

/* Gives way to the others, whose waits would be longer than they ask for. */
static void spin(void)
{
	if (nice(19) < 0)
		sink++;
	compute_ns(HALF_NS);
}

/* Calls are not the last ones of their functions: they would become jumps. */
#define PATH(name, wait)                                                                           \
	__attribute__((noinline, noclone)) void name##_inner(volatile char *room)                  \
	{                                                                                          \
		wait();                                                                            \
		room[1]++;                                                                         \
	}                                                                                          \
	__attribute__((noinline, noclone)) void name##_middle(volatile char *room)                 \
	{                                                                                          \
		volatile char more[3000];                                                          \
		more[0] = room[0];                                                                 \
		name##_inner(more);                                                                \
		room[1] = more[1];                                                                 \
	}                                                                                          \
	__attribute__((noinline, noclone)) void name##_outer(void)                                 \
	{                                                                                          \
		volatile char room[200] = {0};                                                     \
		for (;;)                                                                           \
			name##_middle(room);                                                       \
	}

PATH(nap, nap)
PATH(pipe, pipe_way)
PATH(futex, futex)
PATH(poll, poll_way)
PATH(half, half)
PATH(spin, spin)

int main(void)
{
	static const struct {
		const char *name;
		void (*outer)(void);
	} ways[] = {
		{"wait-nap", nap_outer},   {"wait-pipe", pipe_outer}, {"wait-futex", futex_outer},
		{"wait-poll", poll_outer}, {"wait-half", half_outer}, {"wait-spin", spin_outer},
	};
	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (fork() != 0)
			continue;
		prctl(PR_SET_NAME, ways[i].name);
		ways[i].outer();
	}
	pause();
	return 0;
}
