// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples of a real program for tests of libstack, which itself knows no perf: runs a command under
 * perf events of its own and returns every record, sorted by time.
 */
#ifndef VMOP_TESTS_UNIT_LIBSTACK_SAMPLER_H
#define VMOP_TESTS_UNIT_LIBSTACK_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "vmop/stack.h"

enum sampled_kind { SAMPLED_MMAP, SAMPLED_EXEC, SAMPLED_FORK, SAMPLED_STACK };

/* A record. Pointers are into the recording. */
struct sampled {
	enum sampled_kind kind;
	uint64_t time_ns;
	uint32_t pid, parent;		   /* FORK: of process pid by parent */
	uint64_t start, len_bytes, offset; /* MMAP, of executable code */
	const char *path;		   /* MMAP */
	uint64_t regs[VMOP_USER_REGS];	   /* STACK: user registers by DWARF number */
	const uint8_t *stack;		   /* STACK: the bytes from the stack pointer upwards */
	size_t stack_bytes, asked_bytes;   /* STACK */
	bool is_compat;			   /* STACK: a 32-bit program */
};

struct recording {
	struct sampled *records;
	size_t n_records, n_lost;
	void *memory; /* internal */
};

/*
 * Run argv with its descriptor 3 open on description (-1: none) until it ends or seconds have
 * passed, then kill its process group. Return NULL, or the reason why this machine can't: a line
 * for the output of a skipped test.
 */
const char *sampler_run(char *const argv[], int description, unsigned hz, size_t stack_bytes,
			double seconds, struct recording *ret);
void recording_free(struct recording *recording);

#endif
