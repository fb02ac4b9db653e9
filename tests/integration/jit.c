// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For tests: jit SECONDS HOW.  A just-in-time compiler: put two functions into memory, run them in
 * a ratio of 3 to 1, and write a perf map.  HOW selects when and how the map is written: map    at
 * the start late   right before the end, as the JVM does moved  at the start, with another function
 * that was in the first one's place before none   never Prints its pid in its own pid namespace
 * when the functions run.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
/* mov %edi,%ecx; 1: dec %ecx; jnz 1b; ret */
static const unsigned char loop[] = {0x89, 0xf9, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
#elif defined(__aarch64__)
/* 1: subs w0, w0, #1; b.ne 1b; ret */
static const uint32_t loop[] = {0x71000400, 0x54ffffe1, 0xd65f03c0};
#endif

#define MINOR_OFFSET 1024

static int write_map(const char *code, const char *how)
{
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	FILE *file = fopen(path, "w");
	if (!file)
		return -1;
	if (!strcmp(how, "moved"))
		fprintf(file, "%llx 200 jit_before\n", (unsigned long long)(uintptr_t)code);
	fprintf(file, "%llx %zx jit_major(int)\n", (unsigned long long)(uintptr_t)code,
		sizeof(loop));
	fprintf(file, "0x%llx 0x%zx jit_minor\n",
		(unsigned long long)(uintptr_t)code + MINOR_OFFSET, sizeof(loop));
	return fclose(file);
}

int main(int argc, char **argv)
{
#if defined(__x86_64__) || defined(__aarch64__)
	if (argc != 3)
		return 2;
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		return 1;
	memcpy(code, loop, sizeof(loop));
	memcpy(code + MINOR_OFFSET, loop, sizeof(loop));
	if (mprotect(code, 4096, PROT_READ | PROT_EXEC) < 0)
		return 1;
	__builtin___clear_cache(code, code + 4096);
	const char *how = argv[2];
	if ((!strcmp(how, "map") || !strcmp(how, "moved")) && write_map(code, how) < 0)
		return 1;
	printf("%d\n", (int)getpid());
	fflush(stdout);
	/* Data pointers, because a function pointer would need a cast that warns. */
	void (*major)(int), (*minor)(int);
	char *at = code;
	memcpy(&major, &at, sizeof(major));
	at += MINOR_OFFSET;
	memcpy(&minor, &at, sizeof(minor));
	for (time_t end = time(NULL) + atoi(argv[1]); time(NULL) < end;) {
		major(3000000);
		minor(1000000);
	}
	return !strcmp(how, "late") ? write_map(code, how) : 0;
#else
	(void)argc;
	(void)argv;
	(void)write_map;
	return 77;
#endif
}
