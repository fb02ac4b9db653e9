// SPDX-License-Identifier: GPL-2.0-or-later
// usage: jit map|bare MILLISECONDS: burn so much CPU time (record.h) in two functions that are made
// at run time in anonymous memory, 75 % in jit_major and 25 % in jit_minor, record it and end. map:
// the names are in /tmp/perf-PID.map.
#include "record.h"
#include <stdlib.h>
#include <sys/mman.h>

#if defined(__x86_64__)
/* 1: imul $0x19660d,%rdi,%rax; dec %rdi; jnz 1b; ret */
static const unsigned char code[] = {0x48, 0x69, 0xc7, 0x0d, 0x66, 0x19, 0x00,
				     0x48, 0xff, 0xcf, 0x75, 0xf4, 0xc3};
#else
/* 1: mul x1,x0,x0; subs x0,x0,#1; b.ne 1b; ret */
static const unsigned char code[] = {0x01, 0x7c, 0x00, 0x9b, 0x00, 0x04, 0x00, 0xf1,
				     0xc1, 0xff, 0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6};
#endif

enum { MINOR_OFFSET = 2048, CODE_BYTES = 4096, MINOR_TURNS = 10000, MAJOR_TURNS = 3 * MINOR_TURNS };

static char *make_code(void)
{
	char *page =
		mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		exit(1);
	memcpy(page, code, sizeof(code));
	memcpy(page + MINOR_OFFSET, code, sizeof(code));
	if (mprotect(page, CODE_BYTES, PROT_READ | PROT_EXEC))
		exit(1);
	__builtin___clear_cache(page, page + CODE_BYTES);
	return page;
}

static void write_map(const char *page)
{
	char path[64];
	FILE *map;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (!map)
		exit(1);
	fprintf(map, "%lx %zx jit_major\n%lx %zx jit_minor\n", (unsigned long)page, sizeof(code),
		(unsigned long)page + MINOR_OFFSET, sizeof(code));
	fclose(map);
}

int main(int argc, char **argv)
{
	const uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
	unsigned long left =
		argc > 2 ? strtoul(argv[2], NULL, 10) * TURNS_PER_MS / (MAJOR_TURNS + MINOR_TURNS)
			 : 0;
	char *page = make_code();
	void (*major)(unsigned long), (*minor)(unsigned long);
	*(void **)&major = page;
	*(void **)&minor = page + MINOR_OFFSET;
	if (argc > 1 && !strcmp(argv[1], "map"))
		write_map(page);
	for (; left; left--) {
		major(MAJOR_TURNS);
		minor(MINOR_TURNS);
	}
	record_run(argc > 1 ? argv[1] : "bare", start_ns);
	return 0;
}
