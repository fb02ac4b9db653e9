// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: walk [ROUNDS]
 * A random walk that needs a translation of an address at each step: ROUNDS times (default: 1)
 * fill 32 MiB, follow a random cycle over its pages, and give the memory back.  The pages come from
 * the kernel anew in each round.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096u
#define N_PAGES 8192u
#define STEPS (10 * N_PAGES)

static uint32_t order[N_PAGES];

static uint32_t random_below(uint32_t limit)
{
	static uint64_t state = 271828182;
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % limit);
}

/* Put the pages into a random order: one cycle over all of them (Sattolo). */
__attribute__((noinline)) static void shuffle_pages(void)
{
	for (uint32_t i = 0; i < N_PAGES; i++)
		order[i] = i;
	for (uint32_t i = N_PAGES - 1; i > 0; i--) {
		uint32_t k = random_below(i), other = order[i];
		order[i] = order[k];
		order[k] = other;
	}
}

/* Each page holds the number of the next one, at a place of its own in the page. */
static uint32_t *place_in(char *memory, uint32_t page)
{
	return (uint32_t *)(memory + (size_t)page * PAGE + page * 64 % PAGE);
}

__attribute__((noinline)) static void fill_pages(char *memory)
{
	for (uint32_t i = 0; i < N_PAGES; i++)
		*place_in(memory, i) = order[i];
}

__attribute__((noinline)) static uint32_t random_walk(char *memory)
{
	uint32_t page = 0;
	for (uint32_t i = 0; i < STEPS; i++)
		page = *place_in(memory, page);
	return page;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1;
	uint32_t last = 0;
	char *memory = mmap(NULL, (size_t)N_PAGES * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	madvise(memory, (size_t)N_PAGES * PAGE, MADV_NOHUGEPAGE);
	shuffle_pages();
	for (long i = 0; i < rounds; i++) {
		fill_pages(memory);
		last = random_walk(memory);
		madvise(memory, (size_t)N_PAGES * PAGE, MADV_DONTNEED);
	}
	printf("page %u\n", last);
	return 0;
}
