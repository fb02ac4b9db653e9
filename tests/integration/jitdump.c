// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For tests: jitdump SECONDS FILE HOW.  A just-in-time compiler that writes a jitdump to FILE. It
 * runs functions with frame pointers for half of the time, and then others at the same addresses
 * as often:
 *
 *	jit_outer_before calls jit_first(int) and jit_shared in a ratio of 3 to 1
 *	jit_outer_after calls jit_second and jit_shared in a ratio of 1 to 3
 *
 * HOW selects when the records are written: at once, or at the end as by a runtime that buffers
 * them ("late"). "move": jit_shared is moved in the middle. "clock": the header has the flag of the
 * processor's clock. "stop": it stops before the functions run, until SIGCONT. "unmap": the same,
 * and FILE is not mapped any more. "flood": before they run, 25,000 functions with long names are
 * written, and 4 million empty records. "none": only the code runs, and FILE is not written. Prints
 * its pid when the functions run.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE 62
/* push %rbp; mov %rsp,%rbp; mov %edi,%ecx; 1: dec %ecx; jnz 1b; pop %rbp; ret */
static const unsigned char loop[] = {0x55, 0x48, 0x89, 0xe5, 0x89, 0xf9,
				     0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};
/* push %rbp; mov %rsp,%rbp; mov %rdi,%rax; mov %esi,%edi; call *%rax; pop %rbp; ret */
static const unsigned char outer[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
				      0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
#elif defined(__aarch64__)
#define MACHINE 183
/* stp x29, x30, [sp, -16]!; mov x29, sp; 1: subs w0, w0, 1; b.ne 1b; ldp x29, x30, [sp], 16; ret */
static const uint32_t loop[] = {0xa9bf7bfd, 0x910003fd, 0x71000400,
				0x54ffffe1, 0xa8c17bfd, 0xd65f03c0};
/* stp; mov x29, sp; mov x9, x0; mov w0, w1; blr x9; ldp; ret */
static const uint32_t outer[] = {0xa9bf7bfd, 0x910003fd, 0xaa0003e9, 0x2a0103e0,
				 0xd63f0120, 0xa8c17bfd, 0xd65f03c0};
#endif

#if defined(__x86_64__) || defined(__aarch64__)
enum { SHARED = 1024, OUTER = 2048, MOVED = 3072, PAGE = 4096 };

static char *code;
static FILE *file;
static uint64_t next_index;
static uint64_t shared_index;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int open_dump(const char *path, const char *how)
{
	const uint32_t words[] = {0x4a695444, 1, 40, MACHINE, 0, (uint32_t)getpid()};
	const uint64_t rest[] = {now_ns(), !strcmp(how, "clock")};
	void *marker = MAP_FAILED;
	file = fopen(path, "w+x");
	/* The mapping shows the file to profilers. */
	if (file)
		marker = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file), 0);
	if (marker == MAP_FAILED || (!strcmp(how, "unmap") && munmap(marker, PAGE) < 0))
		return -1;
	fwrite(words, sizeof(words), 1, file);
	fwrite(rest, sizeof(rest), 1, file);
	return fflush(file);
}

/* Write a load of the code at an offset in the page. Return its index. */
static uint64_t load(int at, const char *name, const void *bytes, size_t size)
{
	uint64_t address = (uint64_t)(uintptr_t)code + (uint64_t)at;
	const uint32_t words[] = {0, (uint32_t)(56 + strlen(name) + 1 + size)};
	const uint64_t time_ns = now_ns();
	const uint32_t pids[] = {(uint32_t)getpid(), (uint32_t)getpid()};
	const uint64_t fields[] = {address, address, size, ++next_index};
	mprotect(code, PAGE, PROT_READ | PROT_WRITE);
	memcpy(code + at, bytes, size);
	mprotect(code, PAGE, PROT_READ | PROT_EXEC);
	__builtin___clear_cache(code + at, code + at + size);
	if (!file)
		return next_index;
	fwrite(words, 8, 1, file);
	fwrite(&time_ns, 8, 1, file);
	fwrite(pids, 8, 1, file);
	fwrite(fields, 32, 1, file);
	fwrite(name, strlen(name) + 1, 1, file);
	fwrite(bytes, size, 1, file);
	return next_index;
}

/* Write more than a reader should keep. */
static void flood(void)
{
	static char name[4001];
	const uint32_t words[] = {0, 56 + sizeof(name) + 1};
	const uint32_t pids[] = {0, 0};
	static uint32_t empty[4 * 4096];
	memset(name, 'x', sizeof(name) - 1);
	for (uint64_t i = 1; i <= 25000; i++) {
		const uint64_t time_ns = now_ns(), fields[] = {i << 12, i << 12, 1, i};
		fwrite(words, 8, 1, file);
		fwrite(&time_ns, 8, 1, file);
		fwrite(pids, 8, 1, file);
		fwrite(fields, 32, 1, file);
		fwrite(name, sizeof(name), 1, file);
		fwrite("", 1, 1, file);
	}
	for (size_t i = 0; i < 4096; i++) {
		empty[4 * i] = 3;
		empty[4 * i + 1] = 16;
	}
	for (int i = 0; i < 1024; i++)
		fwrite(empty, sizeof(empty), 1, file);
}

static void move(int from, int to, uint64_t index)
{
	const uint32_t words[] = {1, 64}, pids[] = {(uint32_t)getpid(), (uint32_t)getpid()};
	const uint64_t time_ns = now_ns(), start = (uint64_t)(uintptr_t)code;
	const uint64_t fields[] = {start + (uint64_t)to, start + (uint64_t)from,
				   start + (uint64_t)to, sizeof(loop), index};
	mprotect(code, PAGE, PROT_READ | PROT_WRITE);
	memmove(code + to, code + from, sizeof(loop));
	mprotect(code, PAGE, PROT_READ | PROT_EXEC);
	__builtin___clear_cache(code + to, code + to + sizeof(loop));
	if (!file)
		return;
	fwrite(words, 8, 1, file);
	fwrite(&time_ns, 8, 1, file);
	fwrite(pids, 8, 1, file);
	fwrite(fields, 40, 1, file);
}

/* Run n rounds, or until a time. Return the number of rounds. */
static uint64_t run(uint64_t n, uint64_t until_ns, int own_work, int shared_at, int shared_work)
{
	/* Data pointers, because a function pointer would need a cast that warns. */
	void (*call)(void *function, int n);
	const char *at = code + OUTER;
	uint64_t i = 0;
	memcpy(&call, &at, sizeof(call));
	for (; i < n && now_ns() < until_ns; i++) {
		call(code, own_work);
		call(code + shared_at, shared_work);
	}
	return i;
}

static int run_all(double seconds, int is_late, int is_moved, int stops)
{
	uint64_t half_ns = (uint64_t)(seconds * 5e8), start_ns = now_ns(), n;
	int shared_at = SHARED;
	load(0, "jit_first(int)", loop, sizeof(loop));
	shared_index = load(SHARED, "jit_shared", loop, sizeof(loop));
	load(OUTER, "jit_outer_before", outer, sizeof(outer));
	if (file && !is_late)
		fflush(file);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	if (stops)
		raise(SIGSTOP);
	start_ns = now_ns();
	n = run(UINT64_MAX, start_ns + half_ns, 300000, shared_at, 100000);
	load(0, "jit_second", loop, sizeof(loop));
	load(OUTER, "jit_outer_after", outer, sizeof(outer));
	if (is_moved) {
		move(SHARED, MOVED, shared_index);
		load(SHARED, "jit_never_run", loop, sizeof(loop));
		shared_at = MOVED;
	}
	if (file && !is_late)
		fflush(file);
	run(n, UINT64_MAX, 100000, shared_at, 300000);
	return file ? fclose(file) : 0;
}
#endif

int main(int argc, char **argv)
{
#if defined(__x86_64__) || defined(__aarch64__)
	if (argc != 4)
		return 2;
	const char *how = argv[3];
	static char buffer[65536]; /* of records that are written late */
	code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		return 1;
	if (strcmp(how, "none") != 0 && open_dump(argv[2], how) < 0)
		return 1;
	if (file)
		setvbuf(file, buffer, _IOFBF, sizeof(buffer));
	if (!strcmp(how, "flood"))
		flood();
	return run_all(atof(argv[1]), !strcmp(how, "late"), !strcmp(how, "move"),
		       !strcmp(how, "stop") || !strcmp(how, "unmap"));
#else
	(void)argc;
	(void)argv;
	return 77;
#endif
}
