// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/run-memo.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1024 };

/* Forget all runs, and make room for four times as many, up to the bound. */
static bool begin_anew(struct vmop_run_memo *memo)
{
	size_t capacity = memo->capacity ? memo->capacity * 4 : FIRST_CAPACITY;
	if (capacity > VMOP_RUN_MEMO_MAX_RUNS) {
		vmop_run_memo_clear(memo);
		return true;
	}
	vmop_run_memo_deinit(memo);
	memo->runs = malloc(capacity * sizeof(*memo->runs));
	memo->buckets = calloc(capacity, sizeof(*memo->buckets));
	if (!memo->runs || !memo->buckets) {
		vmop_run_memo_deinit(memo);
		return false;
	}
	memo->capacity = capacity;
	return true;
}

void vmop_run_memo_put(struct vmop_run_memo *memo, uint64_t offset, const struct vmop_run *run)
{
	/* A small memo stays in the CPU's caches while it is enough. */
	if (memo->n == memo->capacity && !begin_anew(memo))
		return;
	uint32_t *bucket = &memo->buckets[vmop_run_memo_bucket(memo, run->group, offset)];
	struct vmop_run *put = &memo->runs[memo->n++];
	*put = *run;
	put->next = *bucket;
	*bucket = (uint32_t)memo->n;
}

void vmop_run_memo_clear(struct vmop_run_memo *memo)
{
	if (memo->n)
		memset(memo->buckets, 0, memo->capacity * sizeof(*memo->buckets));
	memo->n = 0;
}

void vmop_run_memo_deinit(struct vmop_run_memo *memo)
{
	free(memo->runs);
	free(memo->buckets);
	*memo = (struct vmop_run_memo){0};
}
