// SPDX-License-Identifier: GPL-2.0-or-later
/* RAM for page tables that a test writes, and the expected results of a walk. */
#ifndef VMOP_TESTS_UNIT_LIBGUEST_WALK_H
#define VMOP_TESTS_UNIT_LIBGUEST_WALK_H

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "libguest/memory/memory.h"
#include "libutil/error.h"

static uint8_t *ram;
static struct vmop_guest_memory *memory;
static struct vmop_guest_budget budget;
static struct vmop_guest_space space;

/* Make RAM of zeros, aligned to 64 KiB, the largest granule. */
static inline void make_ram(size_t len_bytes)
{
	ram = aligned_alloc(1 << 16, len_bytes);
	assert_non_null(ram);
	memset(ram, 0, len_bytes);
	assert_null(vmop_guest_memory_open_buffer(ram, len_bytes, &memory));
}

static inline int free_ram(void **state)
{
	(void)state;
	vmop_guest_memory_close(memory);
	free(ram);
	return 0;
}

static inline void expect_at(uint64_t address, uint64_t gpa, uint64_t left)
{
	uint64_t found = 0, found_left = 0;
	assert_true(vmop_guest_space_translate(&space, address, &found, &found_left));
	assert_int_equal(found, gpa);
	assert_int_equal(found_left, left);
}

#endif
