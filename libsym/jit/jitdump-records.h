// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the records of a jitdump in the order of the file, while its runtime may still be writing
 * it. Inside libsym only; jitdump.h names the specification.
 */
#ifndef VMOP_LIBSYM_JIT_JITDUMP_RECORDS_H
#define VMOP_LIBSYM_JIT_JITDUMP_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

/* A load or move of a function. */
struct vmop_jitdump_record {
	uint64_t time_ns;
	bool is_move;
	uint64_t start,
		len_bytes;    /* addresses of the code; len_bytes is not 0, and does not wrap */
	uint64_t index;	      /* of the function, as its runtime numbers it */
	uint64_t old_start;   /* of a move */
	uint64_t code_offset; /* of a load: in the file */
	const char *name; /* of a load: name_len_bytes, without NUL; valid until the next call */
	size_t name_len_bytes;
};

struct vmop_jitdump_records {
	uint64_t position; /* of the next record; 0: the header is not read yet */
	uint32_t pid;	   /* that the header names */
	/* The bounds of this step, and what the file has. */
	uint64_t size_bytes, read_left_bytes;
	size_t records_left;
	bool is_cut;
	/* The part of the file in buffer. */
	uint8_t *buffer;
	uint64_t buffer_offset;
	size_t buffer_len_bytes;
};

/* Prepare for a step: note the size of the file. buffer is allocated until step_end. */
struct vmop_error *vmop_jitdump_records_step(struct vmop_jitdump_records *records, int fd,
					     const char *path);
/* Return whether the step has reached its bounds before the end of the file. */
static inline bool vmop_jitdump_records_is_cut(const struct vmop_jitdump_records *records)
{
	return records->is_cut;
}
void vmop_jitdump_records_step_end(struct vmop_jitdump_records *records);

/*
 * Set *ret to the next load or move. Set *ret_is_end if no complete one is left, or the
 * bounds of this step are reached. Errors are those of vmop_jitdump_advance.
 */
struct vmop_error *vmop_jitdump_records_next(struct vmop_jitdump_records *records, int fd,
					     const char *path, struct vmop_jitdump_record *ret,
					     bool *ret_is_end);

#endif
