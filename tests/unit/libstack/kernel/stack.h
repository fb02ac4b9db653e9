// SPDX-License-Identifier: GPL-2.0-or-later
/* A kernel stack in the test's memory. */
#ifndef VMOP_TESTS_UNIT_LIBSTACK_KERNEL_STACK_H
#define VMOP_TESTS_UNIT_LIBSTACK_KERNEL_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct kernel_stack {
	uint64_t start; /* address of words[0] */
	uint64_t words[128];
};

/* For struct vmop_kernel_memory; arg is a struct kernel_stack. */
static inline bool kernel_stack_read(void *arg, uint64_t address, void *buf, size_t len_bytes)
{
	const struct kernel_stack *stack = arg;
	uint64_t offset = address - stack->start;
	if (offset > sizeof(stack->words) || len_bytes > sizeof(stack->words) - offset)
		return false;
	memcpy(buf, (const uint8_t *)stack->words + offset, len_bytes);
	return true;
}

#endif
