// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A made-up process for tests of the unwinder: a stack of words, registers, and code at fixed
 * addresses whose rules the test chooses.
 */
#ifndef VMOP_TESTS_UNIT_LIBSTACK_WORLD_H
#define VMOP_TESTS_UNIT_LIBSTACK_WORLD_H

#include <cmocka.h>
#include <elf.h>
#include <string.h>

#include "libstack/unwind.h"
#include "rules.h"

enum {
	CODE = 0x400000, /* with a table: offset 0x1000 of its file */
	CODE_BYTES = 0x10000,
	CODE_OFFSET = 0x1000,
	JIT = 0x800000, /* code without a table */
	PENDING = 0x900000,
	UNREADABLE = 0xa00000,
	OTHER_BYTES = 0x1000,
	N_WORDS = 512,
	MAX_FRAMES = 16,
};
#define STACK UINT64_C(0x7ffd00001000)
#define WORD(n) (STACK + (n)*8) /* the address of stack[n] */

struct world {
	uint16_t machine;
	struct vmop_cfi_table table;
	uint64_t regs[VMOP_USER_REGS];
	uint64_t stack[N_WORDS];
	struct vmop_stack_capture capture;
	struct vmop_stack_frame frames[MAX_FRAMES];
	struct vmop_unwound unwound;
};

static inline bool world_find(void *arg, uint64_t address, struct vmop_code_piece *ret)
{
	struct world *world = arg;
	static const struct vmop_code_piece others[] = {
		{JIT, JIT + OTHER_BYTES, 0, NULL, VMOP_CODE_NO_TABLE, NULL},
		{PENDING, PENDING + OTHER_BYTES, 0, NULL, VMOP_CODE_PENDING, NULL},
		{UNREADABLE, UNREADABLE + OTHER_BYTES, 0, NULL, VMOP_CODE_UNREADABLE, NULL},
	};
	if (address >= CODE && address < CODE + CODE_BYTES) {
		*ret = (struct vmop_code_piece){CODE,	       CODE + CODE_BYTES,   CODE_OFFSET,
						&world->table, VMOP_CODE_HAS_TABLE, NULL};
		return true;
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		*ret = others[i];
		if (address >= ret->start && address < ret->end)
			return true;
	}
	return false;
}

/* Make an empty process with the stack pointer at the first word of the stack. */
static inline struct world world_new(uint16_t machine)
{
	struct world world = {.machine = machine};
	world.regs[machine == EM_X86_64 ? 7 : 31] = STACK;
	world.capture.user_stack_bytes = sizeof(world.stack);
	world.capture.user_stack_asked_bytes = sizeof(world.stack);
	return world;
}

/* Unwind and return the end. */
static inline enum vmop_stack_end world_unwind(struct world *world, size_t max_frames)
{
	struct vmop_unwinder *unwinder;
	const struct vmop_code_space space = {world_find, world};
	world->capture.user_regs = world->regs;
	world->capture.user_stack = (const uint8_t *)world->stack;
	memset(world->frames, 0xee, sizeof(world->frames));
	assert_null(vmop_unwinder_create(world->machine, &unwinder));
	vmop_unwind(unwinder, &space, &world->capture, world->frames, max_frames, &world->unwound);
	vmop_unwinder_destroy(unwinder);
	assert_in_range(world->unwound.n_frames, 1, max_frames);
	return world->unwound.end;
}

/* Unwind, and expect that end and exactly these addresses, up to a 0. */
#define expect(world, expected_end, ...)                                                           \
	do {                                                                                       \
		static const uint64_t expected_[] = {__VA_ARGS__};                                 \
		size_t n_ = sizeof(expected_) / sizeof(expected_[0]);                              \
		assert_int_equal(world_unwind(world, MAX_FRAMES), expected_end);                   \
		assert_int_equal((world)->unwound.n_frames, n_);                                   \
		for (size_t i_ = 0; i_ < n_; i_++)                                                 \
			assert_int_equal((world)->frames[i_].address, expected_[i_]);              \
	} while (0)

/* The rows of a world's table, at offsets in its code. */
#define set_rows(world, ...)                                                                       \
	do {                                                                                       \
		static const struct rule_row rows_[] = {__VA_ARGS__};                              \
		(world)->table.rows = rows_;                                                       \
		(world)->table.n_rows = sizeof(rows_) / sizeof(rows_[0]);                          \
	} while (0)

/* The offset in the file of code at `CODE + at`. */
#define AT(at) (CODE_OFFSET + (at))

#endif
