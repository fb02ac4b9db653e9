// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls in the code of an x86-64 kernel: whether a word on a stack can be a return address into one
 * function from another. The bytes before the address decide, without decoding whole functions.
 * This can be wrong for data in code; the caller weighs it.
 *
 * Code comes from a guest and is hostile: each question reads a bounded number of bytes.
 */
#ifndef VMOP_LIBSTACK_KERNEL_CALLS_H
#define VMOP_LIBSTACK_KERNEL_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vmop_kernel_function {
	uint64_t start, end;
	bool is_cold; /* a compiler's part of another function, which jumps into its middle */
	/*
	 * A direct call of it is somewhere in the text, and no jump is from a function without such
	 * calls: it is never called by a pointer, as far as the code shows.
	 */
	bool is_only_named;
};

struct vmop_kernel_text {
	/* Return the code at address, or NULL if not all of the bytes are there. */
	const uint8_t *(*code)(void *arg, uint64_t address, size_t len_bytes);
	/* Set *ret to the function that contains address. Return false if the function is not
	 * known. */
	bool (*find_function)(void *arg, uint64_t address, struct vmop_kernel_function *ret);
	void *arg;
};

enum vmop_kernel_call {
	VMOP_KERNEL_CALL_NONE,	   /* no call is before the address */
	VMOP_KERNEL_CALL_UNKNOWN,  /* the code is not there: the kernel has freed it after its start
				    */
	VMOP_KERNEL_CALL_DIRECT,   /* of *ret_target */
	VMOP_KERNEL_CALL_INDIRECT, /* of an unknown function, by a register or memory */
};

/* Decode the call just before return_address. */
enum vmop_kernel_call vmop_kernel_call_before(const struct vmop_kernel_text *text,
					      uint64_t return_address, uint64_t *ret_target);

/*
 * Facts of one text, so that no code is read twice, and the state of a walk. Begin with zeros. A
 * new text needs new ones.
 */
enum {
	VMOP_KERNEL_CALLS_MEMO = 1024,
	VMOP_KERNEL_CALLS_SCANNED = 2048,
	VMOP_KERNEL_CALLS_JUMPS = 1 << 14,
	VMOP_KERNEL_CALLS_WALK = 1024, /* functions: a kernel's table of system calls has 460 */
};
struct vmop_kernel_calls {
	size_t bytes_left; /* of code that may still be searched for tail calls */
	struct vmop_kernel_answer {
		uint64_t from, to; /* starts of functions */
		uint8_t question;
		bool is_yes;
	} memo[VMOP_KERNEL_CALLS_MEMO];
	/* Functions whose jumps are known: jumps[first..first + n). */
	struct vmop_kernel_jumps {
		uint64_t from;
		uint32_t first, n;
	} scanned[VMOP_KERNEL_CALLS_SCANNED];
	size_t n_jumps;
	uint64_t jumps[VMOP_KERNEL_CALLS_JUMPS]; /* the starts of the functions jumped to */
	/* The functions of the walk, by its order and by their hashes: 1 + their index, or 0. */
	size_t n_walk;
	uint64_t walk[VMOP_KERNEL_CALLS_WALK];
	uint16_t walk_slots[2 * VMOP_KERNEL_CALLS_WALK];
};

/*
 * Return whether a call of `target` can leave the CPU in the function that contains address: it is
 * that function, or jumps to it (tail calls) or runs on into it, by way of a few others at most.
 */
bool vmop_kernel_call_reaches(struct vmop_kernel_calls *calls, const struct vmop_kernel_text *text,
			      uint64_t target, uint64_t address);

/* Return whether a function calls another one directly, somewhere in its code. */
bool vmop_kernel_calls_by_name(struct vmop_kernel_calls *calls, const struct vmop_kernel_text *text,
			       const struct vmop_kernel_function *from, uint64_t to);

#endif
