// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/cache/name-cache.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "config.h"
#include "libsym/cache/cache-file.h"
#include "libsym/cache/cache-trim.h"
#include "libutil/array.h"
#include "libutil/cleanup.h"

static const char magic[8] = "vmopnam";

struct header {
	char magic[8];
	char version[24]; /* of the program: another one can demangle in another way */
	uint32_t n_slots; /* a power of two */
	uint32_t n;	  /* names */
	uint64_t texts_len_bytes;
	uint64_t hash; /* XXH3, of the header with a hash of 0, then of the rest */
};

/* Positions of a name and its demangled form among the texts. Position 0 is a NUL: a free slot. */
struct slot {
	uint32_t hash; /* the upper half of the name's hash */
	uint32_t mangled, demangled;
};

_Static_assert(sizeof(struct header) == 56 && sizeof(struct slot) == 12, "a file's form");
_Static_assert(VMOP_NAME_CACHE_MAX_BYTES <= UINT32_MAX, "a text's position fits");

/* Names that collide so often are not kept, which bounds a search. */
#define MAX_STEPS 32

struct added {
	const char *mangled, *demangled;
};

struct vmop_name_cache {
	int dir_fd;
	const char *file_name;
	bool was_opened;   /* at the first name: kept sums often have them all */
	const char *start; /* of the mapped file; NULL: none */
	size_t len_bytes;
	struct header header; /* zeros without a file */
	const struct slot *slots;
	const char *texts;
	struct added *added;
	size_t n_added, added_capacity;
};

/* ---- read ---------------------------------------------------------------------- */

static uint64_t hash_file(const struct header *header, const void *rest, size_t len_bytes)
{
	struct header hashed = *header;
	hashed.hash = 0;
	XXH64_hash_t seed = XXH3_64bits(&hashed, sizeof(hashed));
	return XXH3_64bits_withSeed(rest, len_bytes, seed);
}

/* Return whether a header fits a file of that size. */
static bool is_valid(const struct header *header, size_t len_bytes)
{
	char version[sizeof(header->version)] = PACKAGE_VERSION;
	size_t slots_bytes = (size_t)header->n_slots * sizeof(struct slot);
	return !memcmp(header->magic, magic, sizeof(magic)) &&
	       !memcmp(header->version, version, sizeof(version)) && header->n_slots &&
	       !(header->n_slots & (header->n_slots - 1)) &&
	       header->n <= VMOP_NAME_CACHE_MAX_NAMES && header->n <= header->n_slots &&
	       header->texts_len_bytes && header->texts_len_bytes <= len_bytes &&
	       len_bytes == sizeof(*header) + slots_bytes + header->texts_len_bytes;
}

/* Use the file mapped at start, unless it is damaged. Return whether it is used. */
static bool use_file(struct vmop_name_cache *cache, const char *start, size_t len_bytes)
{
	struct header header;
	if (len_bytes < sizeof(header))
		return false;
	memcpy(&header, start, sizeof(header));
	if (!is_valid(&header, len_bytes) || start[len_bytes - 1] ||
	    hash_file(&header, start + sizeof(header), len_bytes - sizeof(header)) != header.hash)
		return false;
	cache->header = header;
	cache->start = start;
	cache->len_bytes = len_bytes;
	cache->slots = (const void *)(start + sizeof(header));
	cache->texts = start + len_bytes - header.texts_len_bytes;
	return true;
}

/* Map the file, once. */
static void map_file(struct vmop_name_cache *cache)
{
	struct stat st;
	if (cache->was_opened)
		return;
	cache->was_opened = true;
	_cleanup_close_ int fd = vmop_cache_file_open(cache->dir_fd, cache->file_name,
						      VMOP_NAME_CACHE_MAX_BYTES, &st);
	if (fd < 0 || !st.st_size)
		return;
	char *start = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (start == MAP_FAILED)
		return;
	if (use_file(cache, start, (size_t)st.st_size))
		vmop_cache_touch(fd, &st);
	else
		munmap(start, (size_t)st.st_size);
}

struct vmop_name_cache *vmop_name_cache_open(int dir_fd, enum vmop_demangle demangle)
{
	if (dir_fd < 0 || demangle == VMOP_DEMANGLE_NONE)
		return NULL;
	struct vmop_name_cache *cache = calloc(1, sizeof(*cache));
	if (!cache)
		return NULL;
	cache->dir_fd = dir_fd;
	cache->file_name = demangle == VMOP_DEMANGLE_FULL ? "names.full" : "names.short";
	return cache;
}

/* Return a text of the file, or "" for a position outside of it. The last text ends with a NUL. */
static const char *text_at(const struct vmop_name_cache *cache, uint32_t at)
{
	return at < cache->header.texts_len_bytes ? cache->texts + at : "";
}

static uint64_t hash_of(const char *mangled)
{
	return XXH3_64bits(mangled, strlen(mangled));
}

const char *vmop_name_cache_find(struct vmop_name_cache *cache, const char *mangled)
{
	if (!cache)
		return NULL;
	map_file(cache);
	if (!cache->start)
		return NULL;
	uint64_t hash = hash_of(mangled);
	for (uint32_t step = 0; step < MAX_STEPS; step++) {
		const struct slot *slot =
			&cache->slots[((uint32_t)hash + step) & (cache->header.n_slots - 1)];
		if (!slot->mangled)
			return NULL;
		if (slot->hash == hash >> 32 && !strcmp(text_at(cache, slot->mangled), mangled))
			return text_at(cache, slot->demangled);
	}
	return NULL;
}

void vmop_name_cache_add(struct vmop_name_cache *cache, const char *mangled, const char *demangled)
{
	if (!cache || cache->n_added >= VMOP_NAME_CACHE_MAX_NAMES ||
	    strlen(mangled) > VMOP_NAME_CACHE_MAX_NAME_BYTES ||
	    strlen(demangled) > VMOP_NAME_CACHE_MAX_NAME_BYTES ||
	    !vmop_array_reserve(cache->added, cache->added_capacity, cache->n_added + 1))
		return;
	map_file(cache); /* which is replaced */
	cache->added[cache->n_added++] = (struct added){mangled, demangled};
}

/* ---- write --------------------------------------------------------------------- */

/* A file that is being made. */
struct making {
	struct slot *slots;
	uint32_t n_slots;
	char *texts;
	size_t len_bytes, max_bytes; /* of texts */
};

/* Return the position of the text, or 0 without room: slots of a nonsense file can share texts. */
static uint32_t put_text(struct making *making, const char *text)
{
	size_t at = making->len_bytes, bytes = strlen(text) + 1;
	if (bytes > making->max_bytes - at)
		return 0;
	memcpy(making->texts + at, text, bytes);
	making->len_bytes += bytes;
	return (uint32_t)at;
}

static void put_name(struct making *making, const char *mangled, const char *demangled)
{
	uint64_t hash = hash_of(mangled);
	for (uint32_t step = 0; step < MAX_STEPS; step++) {
		struct slot *slot = &making->slots[((uint32_t)hash + step) & (making->n_slots - 1)];
		if (slot->mangled)
			continue;
		uint32_t at = put_text(making, mangled), demangled_at = put_text(making, demangled);
		if (at && demangled_at)
			*slot = (struct slot){(uint32_t)(hash >> 32), at, demangled_at};
		return;
	}
}

/* Return the bytes of the names that were added, with their NULs. */
static size_t added_bytes(const struct vmop_name_cache *cache)
{
	size_t bytes = 0;
	for (size_t i = 0; i < cache->n_added; i++)
		bytes += strlen(cache->added[i].mangled) + strlen(cache->added[i].demangled) + 2;
	return bytes;
}

static uint32_t n_slots_for(size_t n)
{
	uint32_t n_slots = 64;
	while (n_slots < 2 * n)
		n_slots *= 2;
	return n_slots;
}

/* Write the names that were added, behind those of the file with with_file. */
static void save(const struct vmop_name_cache *cache, bool with_file)
{
	size_t n = cache->n_added + (with_file ? cache->header.n : 0);
	struct header header = {.n_slots = n_slots_for(n), .n = (uint32_t)n};
	size_t texts_at = sizeof(header) + header.n_slots * sizeof(struct slot);
	size_t max_bytes =
		texts_at + 1 + added_bytes(cache) + (with_file ? cache->header.texts_len_bytes : 0);
	if (max_bytes > VMOP_NAME_CACHE_MAX_BYTES)
		return;
	_cleanup_free_ char *file = calloc(1, max_bytes);
	if (!file)
		return;
	struct making making = {.slots = (void *)(file + sizeof(header)),
				.n_slots = header.n_slots,
				.texts = file + texts_at,
				.len_bytes = 1,
				.max_bytes = max_bytes - texts_at};
	for (uint32_t i = 0; with_file && i < cache->header.n_slots; i++) {
		const struct slot *slot = &cache->slots[i];
		if (slot->mangled)
			put_name(&making, text_at(cache, slot->mangled),
				 text_at(cache, slot->demangled));
	}
	for (size_t i = 0; i < cache->n_added; i++)
		put_name(&making, cache->added[i].mangled, cache->added[i].demangled);
	memcpy(header.magic, magic, sizeof(magic));
	strncpy(header.version, PACKAGE_VERSION, sizeof(header.version) - 1);
	header.texts_len_bytes = making.len_bytes;
	size_t len_bytes = texts_at + making.len_bytes;
	header.hash = hash_file(&header, file + sizeof(header), len_bytes - sizeof(header));
	memcpy(file, &header, sizeof(header));
	vmop_cache_file_replace(cache->dir_fd, cache->file_name, file, len_bytes);
}

/* A file that lacks a few names is not worth writing. */
#define WORTH_WRITING 16

void vmop_name_cache_close(struct vmop_name_cache *cache)
{
	if (!cache)
		return;
	size_t n = cache->n_added + cache->header.n;
	bool fits = n <= VMOP_NAME_CACHE_MAX_NAMES &&
		    n_slots_for(n) * sizeof(struct slot) + cache->header.texts_len_bytes +
				    added_bytes(cache) <
			    VMOP_NAME_CACHE_MAX_BYTES - sizeof(struct header) - 1;
	if (cache->n_added > cache->header.n / WORTH_WRITING)
		save(cache, fits);
	if (cache->start)
		munmap((void *)cache->start, cache->len_bytes);
	free(cache->added);
	free(cache);
}
