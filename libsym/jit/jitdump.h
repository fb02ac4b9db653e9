// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads a jitdump: the file in which a just-in-time compiler records the functions that it
 * generates, with the time at which each one was at its address (the kernel's
 * tools/perf/Documentation/jitdump-specification.txt).
 *
 * The reader follows a file that grows. It applies the records in the order of their times, so it
 * knows which function was at an address when a sample was taken, although another one has taken
 * its place since. A function is identified by the position of its code in the file, which a move
 * does not change.
 *
 * JIT_CODE_LOAD and JIT_CODE_MOVE are used; the other records are skipped. Only files in this
 * machine's byte order are read, whose times are of CLOCK_MONOTONIC.
 */
#ifndef VMOP_LIBSYM_JIT_JITDUMP_H
#define VMOP_LIBSYM_JIT_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libsym/symtab.h"

/* Limits of one reader. */
#define VMOP_JITDUMP_MAX_FUNCTIONS ((size_t)256 << 10)
#define VMOP_JITDUMP_MAX_BYTES ((size_t)32 << 20) /* memory, names included */
#define VMOP_JITDUMP_MAX_NAME_BYTES 4096	  /* longer names are cut */
/* Limits of one vmop_jitdump_advance. The next call goes on where it ended. */
#define VMOP_JITDUMP_STEP_READ_BYTES ((uint64_t)64 << 20)
#define VMOP_JITDUMP_STEP_RECORDS ((size_t)512 << 10)

/* One thread at a time. */
struct vmop_jitdump;

struct vmop_error *vmop_jitdump_create(struct vmop_jitdump **ret);
void vmop_jitdump_destroy(struct vmop_jitdump *dump); /* NULL is allowed */

/* The question which function was at an address, and the answer. */
struct vmop_jitdump_query {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t address;
	uint64_t code_offset; /* the same place in the file, where the code is */
	bool is_found;
};

struct vmop_jitdump_input {
	int fd; /* a regular file, always the same one */
	const char *path;
	/*
	 * The process whose code it is: its pid in its own namespace, and its start
	 * (CLOCK_MONOTONIC; 0: not known). A forked child has the code that its parent generated
	 * before, and no more: if the file is of another pid and begins before the process, later
	 * records do not count.
	 */
	uint32_t pid;
	uint64_t process_start_ns;
};

/*
 * Read the records that were appended since the last call, and answer the queries, which are sorted
 * by their times. A record that is not complete yet is left for the next call. A record that
 * appears in the file after a later query was answered counts from then on.
 *
 * Errors: VMOP_ERROR_CANT for a file that is no jitdump, or of a kind that is not supported;
 * VMOP_ERROR_CORRUPT for a malformed record or a file that shrank. After an error no more is read;
 * the functions from before stay.
 */
struct vmop_error *vmop_jitdump_advance(struct vmop_jitdump *dump,
					const struct vmop_jitdump_input *input,
					struct vmop_jitdump_query *queries, size_t n);

struct vmop_jitdump_facts {
	size_t n_functions, memory_bytes;
	size_t n_answered; /* functions that have answered queries */
	bool is_full;	   /* functions were left out */
	bool is_behind;	   /* the last step has reached its bounds, and answered no query */
};
void vmop_jitdump_facts(const struct vmop_jitdump *dump, struct vmop_jitdump_facts *ret);

/* Make a table of the functions that have answered queries, by code_offset. */
struct vmop_error *vmop_jitdump_answered(const struct vmop_jitdump *dump, struct vmop_symtab **ret);

/*
 * Make a table by address, for samples that no query could answer. An address has the function that
 * was there at the first query, or else the first one that came there later.
 */
struct vmop_error *vmop_jitdump_by_address(struct vmop_jitdump *dump, struct vmop_symtab **ret);

#endif
