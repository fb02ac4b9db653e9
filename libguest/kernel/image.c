// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/kernel/image.h"

#include <stdlib.h>
#include <string.h>

#include "libguest/kernel/kallsyms.h"
#include "libguest/memory/memory.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"

#define SCAN_CHUNK_BYTES (UINT64_C(2) << 20)
#define SCAN_OVERLAP_BYTES (64u << 10)
#define MAX_TOKEN_TABLES 8
#define MAX_PATTERN_BYTES 64u
#define GATHER_PAGES 64u

bool vmop_guest_image_map(struct vmop_guest_space *space, uint64_t start, uint64_t end,
			  struct vmop_guest_image_map *ret)
{
	bool is_scattered = vmop_guest_memory_is_scattered(space->memory);
	uint64_t total = 0, gpa, left;
	ret->runs = 0;
	for (uint64_t at = start; at < end && total < VMOP_GUEST_IMAGE_MAX_BYTES; at += left) {
		if (!vmop_guest_budget_step(space->budget))
			break;
		bool mapped = vmop_guest_space_translate(space, at, &gpa, &left);
		if (left > end - at)
			left = end - at;
		if (!mapped)
			continue;
		if (!ret->runs)
			ret->delta = at - gpa;
		if (at - gpa != ret->delta && !is_scattered)
			continue;
		total += left;
		if (ret->runs && ret->run[ret->runs - 1].end == at) {
			ret->run[ret->runs - 1].end = at + left;
		} else {
			if (ret->runs == VMOP_GUEST_IMAGE_MAX_RUNS)
				break;
			ret->run[ret->runs++] =
				(struct vmop_guest_image_run){.start = at, .end = at + left};
		}
	}
	return ret->runs > 0;
}

/* Read an image of scattered pages, by whole pages where possible. */
static void read_scattered(struct vmop_guest_space *space, uint64_t address, uint8_t *buf,
			   size_t len)
{
	const uint64_t page = VMOP_GUEST_PAGE_BYTES;
	uint64_t gpa[GATHER_PAGES];
	while (len) {
		uint64_t in_page = address % page;
		size_t n = 0, chunk = len < page - in_page ? len : page - in_page;
		if (chunk == page) {
			for (; n < GATHER_PAGES && (n + 1) * page <= len; n++)
				if (!vmop_guest_space_translate(space, address + n * page, &gpa[n],
								NULL))
					gpa[n] = VMOP_GUEST_NO_ADDRESS;
			chunk = n * page;
			if (!vmop_guest_memory_gather(space->memory, gpa, n, buf))
				memset(buf, 0, chunk);
		} else if (!vmop_guest_space_translate(space, address, &gpa[0], NULL) ||
			   !vmop_guest_memory_read(space->memory, gpa[0], buf, chunk)) {
			memset(buf, 0, chunk);
		}
		buf += chunk, address += chunk, len -= chunk;
	}
}

/* Read [address, address + len), with zeros for unmapped parts. */
static void read_with_holes(struct vmop_guest_space *space, const struct vmop_guest_image_map *map,
			    uint64_t address, uint8_t *buf, size_t len)
{
	if (vmop_guest_memory_is_scattered(space->memory)) {
		read_scattered(space, address, buf, len);
		return;
	}
	memset(buf, 0, len);
	for (unsigned int i = 0; i < map->runs; i++) {
		uint64_t start = map->run[i].start, end = map->run[i].end;
		if (end <= address || start >= address + len)
			continue;
		if (start < address)
			start = address;
		if (end > address + len)
			end = address + len;
		uint8_t *at = buf + (start - address);
		if (!vmop_guest_memory_read(space->memory, start - map->delta, at, end - start))
			memset(at, 0, end - start);
	}
}

/* --- symbols ------------------------------------------------------------------ */

/* Return the symbol table around the token table at address tokens, or NULL when it is not one. */
static struct vmop_guest_kallsyms *unpack_around(struct vmop_guest_space *space,
						 const struct vmop_guest_image_map *map,
						 uint64_t tokens, uint64_t index)
{
	uint64_t first = map->run[0].start, last = map->run[map->runs - 1].end;
	uint64_t start = tokens - first > VMOP_GUEST_KALLSYMS_BEFORE_BYTES
				 ? (tokens - VMOP_GUEST_KALLSYMS_BEFORE_BYTES) & ~UINT64_C(4095)
				 : first;
	size_t len = last - tokens > VMOP_GUEST_KALLSYMS_AFTER_BYTES
			     ? tokens - start + VMOP_GUEST_KALLSYMS_AFTER_BYTES
			     : last - start;
	_cleanup_free_ uint8_t *window = malloc(len);
	if (!window)
		return NULL;
	read_with_holes(space, map, start, window, len);
	struct vmop_guest_kallsyms_tables tables;
	struct vmop_guest_kallsyms *kallsyms = NULL;
	if (vmop_guest_kallsyms_find_tables(window, len, tokens - start, index - start, &tables))
		vmop_error_destroy(
			vmop_guest_kallsyms_unpack(window, len, &tables, start, &kallsyms));
	return kallsyms;
}

static struct vmop_guest_kallsyms *find_in_run(struct vmop_guest_space *space,
					       const struct vmop_guest_image_map *map,
					       const struct vmop_guest_image_run *run,
					       uint8_t *chunk, int *tables_left)
{
	for (uint64_t at = run->start; at < run->end; at += SCAN_CHUNK_BYTES) {
		size_t len = SCAN_CHUNK_BYTES + SCAN_OVERLAP_BYTES;
		if (run->end - at < len)
			len = run->end - at;
		read_with_holes(space, map, at, chunk, len);
		size_t from = 0, tokens, index;
		while (vmop_guest_kallsyms_find_tokens(chunk, len, &from, &tokens, &index, NULL)) {
			if ((*tables_left)-- <= 0)
				return NULL;
			struct vmop_guest_kallsyms *kallsyms =
				unpack_around(space, map, at + tokens, at + index);
			if (kallsyms)
				return kallsyms;
		}
	}
	return NULL;
}

struct vmop_guest_kallsyms *vmop_guest_image_symbols(struct vmop_guest_space *space,
						     const struct vmop_guest_image_map *map)
{
	_cleanup_free_ uint8_t *chunk = malloc(SCAN_CHUNK_BYTES + SCAN_OVERLAP_BYTES);
	struct vmop_guest_kallsyms *kallsyms = NULL;
	int tables_left = MAX_TOKEN_TABLES;
	for (unsigned int i = 0; chunk && i < map->runs && !kallsyms; i++)
		kallsyms = find_in_run(space, map, &map->run[i], chunk, &tables_left);
	return kallsyms;
}

/* --- patterns ------------------------------------------------------------------- */

bool vmop_guest_image_find(struct vmop_guest_space *space, const struct vmop_guest_image_map *map,
			   const void *pattern, size_t len_bytes, uint64_t *from, uint64_t *ret)
{
	_cleanup_free_ uint8_t *chunk = malloc(SCAN_CHUNK_BYTES + MAX_PATTERN_BYTES);
	if (!chunk || len_bytes > MAX_PATTERN_BYTES)
		return false;
	for (unsigned int i = 0; i < map->runs; i++) {
		const struct vmop_guest_image_run *run = &map->run[i];
		uint64_t at = run->start > *from ? run->start : *from;
		for (; at < run->end && vmop_guest_budget_step(space->budget);
		     at += SCAN_CHUNK_BYTES) {
			size_t len = SCAN_CHUNK_BYTES + len_bytes - 1;
			if (run->end - at < len)
				len = run->end - at;
			read_with_holes(space, map, at, chunk, len);
			const uint8_t *hit = memmem(chunk, len, pattern, len_bytes);
			if (hit) {
				*ret = at + (uint64_t)(hit - chunk);
				*from = *ret + 1;
				return true;
			}
		}
	}
	return false;
}
