// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/stack/deferred.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "vmop/stack.h"

/* A power of two. Half of the places stay free, so that a search is short. */
enum { PLACES = 1 << 16, STACKS_MAX = PLACES / 2 };

struct place {
	uint64_t cookie;
	uint32_t first; /* in words */
	uint32_t n;	/* frames; 0: the place is free */
};

struct vmop_deferred_stacks {
	size_t n; /* stacks */
	uint64_t *words;
	size_t n_words, max_words;
	struct place places[PLACES];
};

struct vmop_error *vmop_deferred_stacks_create(size_t size_bytes, struct vmop_deferred_stacks **ret)
{
	struct vmop_deferred_stacks *deferred = calloc(1, sizeof(*deferred));
	if (!deferred)
		return &vmop_error_no_memory;
	void *words = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (words == MAP_FAILED) {
		free(deferred);
		return vmop_error_os(errno, "the set of deferred call stacks");
	}
	deferred->words = words;
	deferred->max_words = size_bytes / sizeof(*deferred->words);
	*ret = deferred;
	return NULL;
}

void vmop_deferred_stacks_destroy(struct vmop_deferred_stacks *deferred)
{
	if (!deferred)
		return;
	munmap(deferred->words, deferred->max_words * sizeof(*deferred->words));
	free(deferred);
}

/* Return the place of a cookie, or the free one where it belongs. */
static size_t find_place(const struct vmop_deferred_stacks *deferred, uint64_t cookie)
{
	/* Cookies are a CPU's number above a counter: mix both (Knuth's multiplicative hash). */
	size_t at = (cookie * UINT64_C(0x9e3779b97f4a7c15)) >> 48 & (PLACES - 1);
	while (deferred->places[at].n && deferred->places[at].cookie != cookie)
		at = (at + 1) & (PLACES - 1);
	return at;
}

bool vmop_deferred_stacks_add(struct vmop_deferred_stacks *deferred, uint64_t cookie,
			      const uint64_t *frames, size_t n)
{
	struct place *place = &deferred->places[find_place(deferred, cookie)];
	if (n > VMOP_STACK_FRAMES_MAX)
		n = VMOP_STACK_FRAMES_MAX;
	if (place->n || !n)
		return true; /* the same stack again, or none */
	if (deferred->n == STACKS_MAX || n > deferred->max_words - deferred->n_words)
		return false;
	*place = (struct place){
		.cookie = cookie, .first = (uint32_t)deferred->n_words, .n = (uint32_t)n};
	memcpy(deferred->words + deferred->n_words, frames, n * sizeof(*frames));
	deferred->n_words += n;
	deferred->n++;
	return true;
}

size_t vmop_deferred_stacks_find(const struct vmop_deferred_stacks *deferred, uint64_t cookie,
				 const uint64_t **ret)
{
	const struct place *place = &deferred->places[find_place(deferred, cookie)];
	*ret = deferred->words + place->first;
	return place->n;
}

void vmop_deferred_stacks_clear(struct vmop_deferred_stacks *deferred)
{
	if (!deferred->n)
		return;
	memset(deferred->places, 0, sizeof(deferred->places));
	deferred->n = deferred->n_words = 0;
}
