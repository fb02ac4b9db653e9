// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/symbol-sort.h"

#include <stdbool.h>
#include <string.h>

#define DIGIT_BITS 11
#define FEW 64

/* Do one pass of a radix sort: stable, by the digit at shift. */
static void sort_by_digit(const struct vmop_symbol_key *from, struct vmop_symbol_key *to, size_t n,
			  unsigned shift)
{
	size_t next[1 << DIGIT_BITS] = {0}, begin = 0;
	const uint64_t mask = (1 << DIGIT_BITS) - 1;

	for (size_t i = 0; i < n; i++)
		next[from[i].offset >> shift & mask]++;
	for (size_t i = 0; i <= mask; i++) {
		size_t count = next[i];
		next[i] = begin;
		begin += count;
	}
	for (size_t i = 0; i < n; i++)
		to[next[from[i].offset >> shift & mask]++] = from[i];
}

/* Sort few keys, also stable: for these, counting digits would take longer. */
static void sort_few(struct vmop_symbol_key *keys, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const struct vmop_symbol_key key = keys[i];
		size_t at = i;
		for (; at > 0 && keys[at - 1].offset > key.offset; at--)
			keys[at] = keys[at - 1];
		keys[at] = key;
	}
}

/* A merge sort of the keys at one offset. Its work is bounded and it can stop half-way. */
struct merging {
	struct vmop_symbol_key *keys, *room; /* arrays of the same size */
	int (*compare)(const void *arg, uint32_t a, uint32_t b);
	const void *arg;
	struct vmop_sym_budget *budget;
};

static void merge(const struct merging *merging, size_t begin, size_t middle, size_t end)
{
	const struct vmop_symbol_key *keys = merging->keys;
	size_t left = begin, right = middle;
	for (size_t at = begin; at < end; at++) {
		bool take_right = left == middle ||
				  (right < end && merging->compare(merging->arg, keys[left].index,
								   keys[right].index) > 0);
		merging->room[at] = keys[take_right ? right++ : left++];
	}
}

/* Sort keys [first, last). Return false if the budget ran out. */
static bool sort_aliases(const struct merging *merging, size_t first, size_t last)
{
	size_t n = last - first;
	for (size_t width = 1; width < n; width *= 2) {
		for (size_t begin = first; begin < last; begin += 2 * width) {
			size_t middle = last - begin > width ? begin + width : last;
			size_t end = last - middle > width ? middle + width : last;
			/* Each comparison reads two names, which can be anywhere in memory. */
			if (!vmop_sym_budget_take_steps(merging->budget, 8 * (end - begin)))
				return false;
			merge(merging, begin, middle, end);
		}
		memcpy(merging->keys + first, merging->room + first, n * sizeof(*merging->keys));
	}
	return true;
}

static bool sort_all_aliases(const struct merging *merging, size_t n)
{
	for (size_t first = 0, last; first < n; first = last) {
		for (last = first + 1;
		     last < n && merging->keys[last].offset == merging->keys[first].offset;)
			last++;
		if (last - first > 1 && !sort_aliases(merging, first, last))
			return false;
	}
	return true;
}

struct vmop_error *vmop_symbol_keys_sort(struct vmop_symbol_key *keys, size_t n,
					 int (*compare)(const void *arg, uint32_t a, uint32_t b),
					 const void *arg, struct vmop_sym_budget *budget,
					 const char *path, struct vmop_symbol_key **ret_sorted)
{
	struct merging merging = {
		.keys = keys,
		.room = keys + n,
		.compare = compare,
		.arg = arg,
		.budget = budget,
	};
	uint64_t all = 0; /* the bits set in any key */

	if (n <= FEW)
		sort_few(keys, n);
	for (size_t i = 0; i < n && n > FEW; i++)
		all |= keys[i].offset;
	for (unsigned shift = 0; shift < 64 && all >> shift; shift += DIGIT_BITS) {
		if (!vmop_sym_budget_take_steps(budget, n))
			return vmop_sym_budget_error(budget, path);
		sort_by_digit(merging.keys, merging.room, n, shift);
		struct vmop_symbol_key *swapped = merging.keys;
		merging.keys = merging.room;
		merging.room = swapped;
	}
	*ret_sorted = merging.keys;
	if (compare && !sort_all_aliases(&merging, n))
		return vmop_sym_budget_error(budget, path);
	return NULL;
}
