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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_blocks_come_from_huge_pages),
		cmocka_unit_test(freed_memory_stays),
	};
	if (access("/sys/kernel/mm/transparent_hugepage", F_OK) < 0) {
		printf("the kernel has no transparent huge pages\n");
		return 77;
	}
	vmop_heap_prefer_huge_pages();
	if (!mallinfo2().arena) {
		printf("malloc is not the C library's\n"); /* a sanitizer's */
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
