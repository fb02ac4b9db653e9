// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process whose registers and stack come from a fuzz target's input. Most words of the stack are
 * addresses that mean something: in code, or in the stack.
 */
#ifndef VMOP_TESTS_FUZZ_UNWIND_WORLD_H
#define VMOP_TESTS_FUZZ_UNWIND_WORLD_H

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "libstack/unwind.h"

enum {
	FUZZ_CODE = 0x400000, /* with a table */
	FUZZ_JIT = 0x800000,  /* without one */
	FUZZ_PENDING = 0x900000,
	FUZZ_UNREADABLE = 0xa00000,
	FUZZ_CODE_BYTES = 0x4000,
	FUZZ_FRAMES = 32,
};

struct fuzz_input {
	const uint8_t *data;
	size_t len_bytes;
};

/* Take len_bytes of the input; zeros follow its end. */
static inline void fuzz_take(struct fuzz_input *input, void *to, size_t len_bytes)
{
	size_t n = len_bytes < input->len_bytes ? len_bytes : input->len_bytes;
	memset(to, 0, len_bytes);
	memcpy(to, input->data, n);
	input->data += n;
	input->len_bytes -= n;
}

static inline uint8_t fuzz_byte(struct fuzz_input *input)
{
	uint8_t byte;
	fuzz_take(input, &byte, 1);
	return byte;
}

/* Make a word of 2 bytes: an address in code or in the stack, or a number at one of the edges. */
static inline uint64_t fuzz_word(struct fuzz_input *input, uint64_t stack)
{
	uint16_t code;
	fuzz_take(input, &code, sizeof(code));
	uint64_t low = code & 0xfff;
	switch (code >> 12) {
	case 0:
		return low;
	case 1:
		return UINT64_MAX - low;
	case 2:
		return FUZZ_JIT + low;
	case 3:
		return FUZZ_PENDING + low;
	case 4:
		return FUZZ_UNREADABLE + low;
	case 5:
	case 6:
	case 7:
	case 8:
		return stack + low;
	case 9:
		return stack - low;
	case 10:
		return (FUZZ_CODE + low) | UINT64_C(0x2b) << 55; /* signed */
	default:
		return FUZZ_CODE + (code & 0x3fff);
	}
}

static inline bool fuzz_find(void *arg, uint64_t address, struct vmop_code_piece *ret)
{
	const struct vmop_code_piece pieces[] = {
		{FUZZ_CODE, FUZZ_CODE + FUZZ_CODE_BYTES, 0, arg, VMOP_CODE_HAS_TABLE, NULL},
		{FUZZ_JIT, FUZZ_JIT + 0x1000, 0, NULL, VMOP_CODE_NO_TABLE, NULL},
		{FUZZ_PENDING, FUZZ_PENDING + 0x1000, 0, NULL, VMOP_CODE_PENDING, NULL},
		{FUZZ_UNREADABLE, FUZZ_UNREADABLE + 0x1000, 0, NULL, VMOP_CODE_UNREADABLE, NULL},
	};
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		if (address - pieces[i].start < pieces[i].end - pieces[i].start) {
			*ret = pieces[i];
			return true;
		}
	}
	return false;
}

/* Check what the contract promises of any result. */
static inline void fuzz_check(const struct vmop_unwound *unwound,
			      const struct vmop_stack_frame *frames, size_t max_frames)
{
	if (unwound->n_frames < 1 || unwound->n_frames > max_frames ||
	    unwound->end == VMOP_STACK_END_UNKNOWN || unwound->end >= VMOP_N_STACK_ENDS ||
	    !frames[0].is_interrupted)
		abort();
	if (unwound->end == VMOP_STACK_DEPTH_LIMIT && unwound->n_frames != max_frames)
		abort();
	struct vmop_code_piece piece;
	for (size_t i = 1; i < unwound->n_frames; i++) {
		if (!fuzz_find(NULL, frames[i].address - !frames[i].is_interrupted, &piece))
			abort();
	}
	if (unwound->pending_address && !fuzz_find(NULL, unwound->pending_address, &piece))
		abort();
}

/* Check that two unwindings of a stack have the same result. */
static inline void fuzz_compare(const struct vmop_unwound *a, const struct vmop_stack_frame *frames,
				const struct vmop_unwound *b, const struct vmop_stack_frame *others)
{
	if (a->n_frames != b->n_frames || a->end != b->end)
		abort();
	for (size_t i = 0; i < a->n_frames; i++)
		if (frames[i].address != others[i].address ||
		    frames[i].is_interrupted != others[i].is_interrupted)
			abort();
}

/* Unwind a stack that the rest of the input makes, with a table. */
static inline void fuzz_unwind(struct fuzz_input *input, uint16_t machine,
			       const struct vmop_cfi_table *table)
{
	static const uint64_t starts[] = {UINT64_C(0x7ffd00001000), 0, UINT64_MAX - 255,
					  UINT64_C(0x1000)};
	struct vmop_stack_frame frames[FUZZ_FRAMES], others[FUZZ_FRAMES];
	uint64_t regs[VMOP_USER_REGS];
	struct vmop_unwound unwound, other;
	uint8_t flags = fuzz_byte(input);
	uint64_t stack = starts[flags & 3];
	const struct vmop_code_space space = {fuzz_find, (void *)table};
	for (size_t i = 0; i < VMOP_USER_REGS; i++)
		regs[i] = fuzz_word(input, stack);
	regs[machine == EM_X86_64 ? 7 : 31] = stack;
	size_t n_words = input->len_bytes / 2, len_bytes = n_words * 8;
	uint64_t *words = malloc(len_bytes ? len_bytes : 1);
	if (!words)
		abort();
	for (size_t i = 0; i < n_words; i++)
		words[i] = fuzz_word(input, stack);
	if (len_bytes && flags & 4)
		len_bytes -= 3;
	const struct vmop_stack_capture capture = {
		.user_regs = regs,
		.user_stack = len_bytes ? (const uint8_t *)words : NULL,
		.user_stack_bytes = len_bytes,
		.user_stack_asked_bytes = flags & 8 ? len_bytes : 2 * len_bytes + 8,
		.is_compat = flags >= 0xf8,
	};
	static struct vmop_unwinder *unwinders[2];
	struct vmop_unwinder **unwinder = &unwinders[machine == EM_X86_64];
	size_t max_frames = flags & 16 ? FUZZ_FRAMES : 3;
	if (!*unwinder && vmop_unwinder_create(machine, unwinder))
		abort();
	vmop_unwind(*unwinder, &space, &capture, frames, max_frames, &unwound);
	fuzz_check(&unwound, frames, max_frames);
	/* The rules that the unwinder keeps are those of the table, not of an earlier input's. */
	bool is_fresh = (flags >> 5) == 1;
	if (is_fresh) {
		vmop_unwinder_destroy(*unwinder);
		*unwinder = NULL;
		if (vmop_unwinder_create(machine, unwinder))
			abort();
	}
	vmop_unwind(*unwinder, &space, &capture, others, max_frames, &other);
	fuzz_compare(&unwound, frames, &other, others);
	free(words);
}

#endif
