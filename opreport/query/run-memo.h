// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cells of runs that were looked up lately, by group and offset.  A run is the range of offsets
 * that one symbol has.  A cache of bounded size.  The chunks of a session have the same few
 * thousand symbols again and again, and a look-up of symbol and cell takes several times as long as
 * one here.
 */
#ifndef VMOP_OPREPORT_QUERY_RUN_MEMO_H
#define VMOP_OPREPORT_QUERY_RUN_MEMO_H

#include <stddef.h>
#include <stdint.h>

#define VMOP_RUN_MEMO_MAX_RUNS ((size_t)1 << 16) /* of 32 bytes */

struct vmop_run {
	uint64_t start, end; /* offsets [start, end) */
	uint32_t group;
	uint32_t cell; /* its index in a tally */
	uint32_t next; /* index + 1 of the next run of the bucket; 0: none */
};

/* A zeroed memo is empty. */
struct vmop_run_memo {
	struct vmop_run *runs; /* n, the first ones of capacity */
	uint32_t *buckets;     /* capacity, a power of two: index + 1 of their first runs */
	size_t n, capacity;
};

/* The offsets that share a bucket.  A run is stored for each block in which it was looked up. */
#define VMOP_RUN_MEMO_BLOCK_BYTES 1024

/* In a bucket with more runs, only the last ones are found. */
#define VMOP_RUN_MEMO_MAX_STEPS 16

static inline size_t vmop_run_memo_bucket(const struct vmop_run_memo *memo, uint32_t group,
					  uint64_t offset)
{
	uint64_t block = offset / VMOP_RUN_MEMO_BLOCK_BYTES;
	uint64_t hash = (block ^ (uint64_t)group << 40) * UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(hash >> 40) & (memo->capacity - 1);
}

/* Return the run of a group that contains the offset, or NULL: not known.  Valid until a change. */
static inline const struct vmop_run *vmop_run_memo_find(const struct vmop_run_memo *memo,
							uint32_t group, uint64_t offset)
{
	if (!memo->capacity)
		return NULL;
	uint32_t at = memo->buckets[vmop_run_memo_bucket(memo, group, offset)];
	for (int steps = 0; at && steps < VMOP_RUN_MEMO_MAX_STEPS; steps++) {
		const struct vmop_run *run = &memo->runs[at - 1];
		if (offset - run->start < run->end - run->start && run->group == group)
			return run;
		at = run->next;
	}
	return NULL;
}

/* Store a run, for the block of an offset in it.  Without memory, nothing is stored. */
void vmop_run_memo_put(struct vmop_run_memo *memo, uint64_t offset, const struct vmop_run *run);

/* Forget all runs.  A memo of few runs stays in the CPU's caches. */
void vmop_run_memo_clear(struct vmop_run_memo *memo);

/* Forget all runs; frees the memory. */
void vmop_run_memo_deinit(struct vmop_run_memo *memo);

#endif
