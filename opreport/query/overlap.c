// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/overlap.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"

/* Times that are counted: ascending, and none touches the next one. */
struct counted {
	struct vmop_span *spans; /* n */
	size_t n;
};

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Return the index of the first counted span that ends after time_ns. */
static size_t find_after(const struct counted *counted, uint64_t time_ns)
{
	size_t low = 0, high = counted->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (counted->spans[middle].to_ns > time_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Return whether the span overlaps counted time by more than the clocks' difference. */
static bool overlaps(const struct counted *counted, const struct vmop_span *span)
{
	uint64_t allowed_ns = min((span->to_ns - span->from_ns) / 10, VMOP_OVERLAP_NS);
	uint64_t sum_ns = 0;
	for (size_t i = find_after(counted, span->from_ns); i < counted->n && sum_ns <= allowed_ns;
	     i++) {
		const struct vmop_span *other = &counted->spans[i];
		if (other->from_ns >= span->to_ns)
			break;
		uint64_t from_ns = other->from_ns > span->from_ns ? other->from_ns : span->from_ns;
		sum_ns += min(other->to_ns, span->to_ns) - from_ns;
	}
	return sum_ns > allowed_ns;
}

/* Append a span whose from_ns is not below those before it. */
static void append(struct counted *to, const struct vmop_span *span)
{
	if (span->to_ns <= span->from_ns)
		return;
	if (to->n && to->spans[to->n - 1].to_ns >= span->from_ns) {
		if (to->spans[to->n - 1].to_ns < span->to_ns)
			to->spans[to->n - 1].to_ns = span->to_ns;
		return;
	}
	to->spans[to->n++] = *span;
}

/* Add the coverage's intervals that are not left out. */
static struct vmop_error *count(struct counted *counted, const struct vmop_coverage *coverage)
{
	struct counted sum = {.spans = calloc(counted->n + coverage->n + 1, sizeof(*sum.spans))};
	if (!sum.spans)
		return &vmop_error_no_memory;
	size_t at = 0;
	for (size_t i = 0; i < coverage->n; i++) {
		if (coverage->is_left_out[i])
			continue;
		while (at < counted->n && counted->spans[at].from_ns <= coverage->spans[i].from_ns)
			append(&sum, &counted->spans[at++]);
		append(&sum, &coverage->spans[i]);
	}
	while (at < counted->n)
		append(&sum, &counted->spans[at++]);
	free(counted->spans);
	*counted = sum;
	return NULL;
}

static uint64_t end_of(const struct vmop_coverage *coverage)
{
	uint64_t end_ns = 0;
	for (size_t i = 0; i < coverage->n; i++)
		if (coverage->spans[i].to_ns > end_ns)
			end_ns = coverage->spans[i].to_ns;
	return end_ns;
}

/* Set ranks[i] to the coverage of rank i. */
static struct vmop_error *rank(const struct vmop_coverage *coverages, size_t n, size_t *ranks)
{
	_cleanup_free_ bool *is_ranked = calloc(n + 1, sizeof(*is_ranked));
	_cleanup_free_ uint64_t *ends_ns = calloc(n + 1, sizeof(*ends_ns));
	if (!is_ranked || !ends_ns)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < n; i++)
		ends_ns[i] = end_of(&coverages[i]);
	for (size_t place = 0, first = 0; place < n; place++) {
		while (is_ranked[first])
			first++;
		size_t best = first;
		for (size_t i = first + 1; i < n; i++)
			if (!is_ranked[i] && coverages[i].start_ns == coverages[first].start_ns &&
			    ends_ns[i] > ends_ns[best])
				best = i;
		is_ranked[best] = true;
		ranks[place] = best;
	}
	return NULL;
}

struct vmop_error *vmop_overlap_resolve(const struct vmop_coverage *coverages, size_t n)
{
	_cleanup_free_ size_t *ranks = calloc(n + 1, sizeof(*ranks));
	struct counted counted = {0};
	struct vmop_error *err = ranks ? rank(coverages, n, ranks) : &vmop_error_no_memory;
	for (size_t place = 0; place < n && !err; place++) {
		const struct vmop_coverage *coverage = &coverages[ranks[place]];
		for (size_t i = 0; i < coverage->n; i++)
			coverage->is_left_out[i] = overlaps(&counted, &coverage->spans[i]);
		err = count(&counted, coverage);
	}
	free(counted.spans);
	return err;
}
