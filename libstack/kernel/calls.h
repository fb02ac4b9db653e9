// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the code of an x86-64 kernel calls: whether a word on a stack can be a return address into
 * one function from another. It is told from the bytes before the address, without decoding whole
 * functions, and can be wrong for data in code; the caller weighs it.
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
	bool is_cold;	/* a compiler's part of another function, which jumps into its middle */
	bool is_called; /* a direct call of it is somewhere in the text */
};

struct vmop_kernel_text {
	/* Return the code at address, or NULL if not all of the bytes are there. */
	const uint8_t *(*code)(void *arg, uint64_t address, size_t len_bytes);
	/* Set *ret to the function that contains address. Return false if none is known. */
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

/* Return what is called just before return_address. */
enum vmop_kernel_call vmop_kernel_call_before(const struct vmop_kernel_text *text,
					      uint64_t return_address, uint64_t *ret_target);

/* Answers that were given before. Begin with zeros. They hold for one text. */
enum { VMOP_KERNEL_CALLS_MEMO = 1024 };
struct vmop_kernel_calls {
	size_t bytes_left; /* of code that may still be searched for tail calls */
	struct {
		uint64_t from, to; /* starts of functions */
		bool is_reached;
	} memo[VMOP_KERNEL_CALLS_MEMO];
};

/*
 * Return whether a call of `target` can leave the CPU in the function that contains address: it is
 * that function, or jumps to it (tail calls), by way of a few others at most.
 */
bool vmop_kernel_call_reaches(struct vmop_kernel_calls *calls, const struct vmop_kernel_text *text,
			      uint64_t target, uint64_t address);

#endif
