// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/heap.h"

#define BLOCK_BYTES ((size_t)8 << 20)

/* Return whether the mapping of address has the flag (proc_pid_smaps(5), VmFlags). */
static bool has_flag(const void *address, const char *flag)
{
	char line[512];
	uintptr_t start, end;
	bool is_here = false;
	_cleanup_fclose_ FILE *smaps = fopen("/proc/self/smaps", "re");
	assert_non_null(smaps);
	while (fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &start, &end) == 2)
			is_here = (uintptr_t)address >= start && (uintptr_t)address < end;
		if (is_here && !strncmp(line, "VmFlags:", strlen("VmFlags:")))
			return strstr(line, flag) != NULL;
	}
	return false;
}

static void large_blocks_come_from_huge_pages(void **state)
{
	(void)state;
	char *block = malloc(BLOCK_BYTES);
	assert_non_null(block);
	assert_int_equal(mallinfo2().hblks, 0); /* no mapping of its own */
	assert_true(has_flag(block + BLOCK_BYTES / 2, " hg "));
	memset(block, 1, BLOCK_BYTES);
	free(block);
}

static void freed_memory_stays(void **state)
{
	(void)state;
	size_t heap_bytes = mallinfo2().arena;
	char *block = malloc(BLOCK_BYTES);
	assert_non_null(block);
	memset(block, 1, BLOCK_BYTES);
	free(block);
	assert_int_equal(mallinfo2().arena, heap_bytes);
}

/* The free of the first block would make the second one a part of the heap, which keeps it. */
static void large_blocks_are_returned(void **state)
{
	(void)state;
	size_t mappings = mallinfo2().hblks;
	char *block;
	for (int i = 0; i < 2; i++) {
		block = malloc(BLOCK_BYTES);
		assert_non_null(block);
		memset(block, 1, BLOCK_BYTES);
		assert_int_equal(mallinfo2().hblks, mappings + 1);
		free(block);
		assert_int_equal(mallinfo2().hblks, mappings);
	}
}

int main(void)
{
	const struct CMUnitTest of_daemons[] = {
		cmocka_unit_test(large_blocks_are_returned),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_blocks_come_from_huge_pages),
		cmocka_unit_test(freed_memory_stays),
	};
	if (access("/sys/kernel/mm/transparent_hugepage", F_OK) < 0) {
		printf("the kernel has no transparent huge pages\n");
		return 77;
	}
	void *volatile first = malloc(1); /* volatile: the pair must not be optimised */
	free(first);
	if (!mallinfo2().arena) {
		printf("malloc is not the C library's\n"); /* a sanitizer's */
		return 77;
	}
	/* In this order, because the second settings replace the first ones. */
	vmop_heap_return_large();
	int n_failed = cmocka_run_group_tests(of_daemons, NULL, NULL);
	vmop_heap_prefer_huge_pages();
	return n_failed + cmocka_run_group_tests(tests, NULL, NULL);
}
