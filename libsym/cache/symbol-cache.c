// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/cache/symbol-cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "libsym/cache/cache-file.h"
#include "libsym/cache/cache-trim.h"
#include "libsym/cache/mapped-symtab.h"
#include "libsym/symtab-builder.h"
#include "libutil/cleanup.h"
#include "libutil/dirs/safe-dir.h"
#include "libutil/io.h"

/* Change it with the format, and with every change of the symbols that libsym finds in a file. */
#define FORMAT 4

static const char magic[8] = "vmopsym";

struct header {
	char magic[8];
	uint32_t format;
	uint8_t build_id[VMOP_BUILD_ID_MAX_BYTES];
	uint8_t build_id_len_bytes;
	uint8_t addresses, is_partial, is_file;
	uint32_t n; /* symbols */
	uint64_t names_len_bytes;
	uint64_t saved_s; /* CLOCK_REALTIME */
	uint64_t hash;	  /* XXH3, of the header with a hash of 0, then up to the table's parts */
	uint64_t n_spans;
	uint64_t image_names_at, image_names_len_bytes; /* zeros: all names are in this file */
};

/* The descriptor that a table holds of its image is worth more than a copy of so many names. */
#define MIN_IMAGE_NAMES_BYTES ((size_t)256 << 10)

_Static_assert(sizeof(struct header) == 88, "a file's form");
_Static_assert(VMOP_SYMTAB_MAX_NAMES_BYTES <= UINT32_MAX, "a name's position fits");

/* A quarter of the cache is the most for one table. */
static uint64_t max_file_bytes(const struct vmop_symbol_cache *cache)
{
	return cache->max_bytes / 4;
}

/* Make the missing parents of path, as the XDG specification wants them: mode 0700. */
static void make_parents(const char *path)
{
	_cleanup_free_ char *parent = strndup(path, (size_t)(strrchr(path, '/') - path));
	if (parent)
		vmop_error_destroy(vmop_io_make_dir(parent, 0700));
}

void vmop_symbol_cache_init(struct vmop_symbol_cache *cache, const char *path)
{
	*cache = VMOP_SYMBOL_CACHE_NONE;
	cache->max_bytes = VMOP_SYMBOL_CACHE_MAX_BYTES;
	cache->min_image_names_bytes = MIN_IMAGE_NAMES_BYTES;
	if (!path || path[0] != '/')
		return;
	make_parents(path);
	struct vmop_dir dir;
	struct vmop_error *err = vmop_dir_open(path, VMOP_DIR_SAFE | VMOP_DIR_MAKE, &dir);
	if (!err && dir.is_safe) /* O_PATH serves openat, but not readdir */
		cache->dir_fd = openat(dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	vmop_dir_deinit(&dir);
	vmop_error_destroy(err);
}

void vmop_symbol_cache_deinit(struct vmop_symbol_cache *cache)
{
	if (cache->has_saved)
		vmop_cache_trim(cache->dir_fd, cache->max_bytes);
	if (cache->dir_fd >= 0)
		close(cache->dir_fd);
	*cache = VMOP_SYMBOL_CACHE_NONE;
}

_Static_assert(2 * VMOP_BUILD_ID_MAX_BYTES + 16 <= VMOP_CACHE_NAME_BYTES, "a file's name fits");

/* Write the name of the key's file: the build-id, and marks of what differs from one. */
static void name_file(const struct vmop_symbol_cache_key *key, char ret[VMOP_CACHE_NAME_BYTES])
{
	char hex[2 * VMOP_BUILD_ID_MAX_BYTES + 1];
	vmop_build_id_format(&key->build_id, hex);
	snprintf(ret, VMOP_CACHE_NAME_BYTES, "%s%s%s", hex, key->addresses ? ".addr" : "",
		 key->is_file ? ".file" : "");
}

/* ---- load -------------------------------------------------------------------- */

/* Return the hash of the header, of the first offsets and of the pages' hashes. */
static uint64_t hash_file(const struct header *header, const char *file,
			  const struct vmop_mapped_layout *layout)
{
	struct header hashed = *header;
	hashed.hash = 0;
	XXH64_hash_t seed = XXH3_64bits(&hashed, sizeof(hashed));
	return XXH3_64bits_withSeed(file + layout->firsts_at,
				    layout->parts_at[0] - layout->firsts_at, seed);
}

/*
 * Return the identity of the table: the hash of all its pages' hashes, and of the image's file if
 * it has names.
 */
static uint64_t identity_of(const struct header *header, const char *file,
			    const struct vmop_mapped_layout *layout)
{
	const uint64_t numbers[] = {header->n_spans, header->n, header->names_len_bytes};
	XXH64_hash_t seed = XXH3_64bits(numbers, sizeof(numbers));
	if (header->image_names_len_bytes)
		seed = XXH3_64bits_withSeed(header->build_id, sizeof(header->build_id), seed);
	return XXH3_64bits_withSeed(file + layout->hashes_at,
				    layout->parts_at[0] - layout->hashes_at, seed);
}

static uint64_t now_s(void)
{
	return (uint64_t)time(NULL);
}

/* The resolution of file systems' times is at most 2 s. */
#define SETTLED_S 3

bool vmop_symbol_cache_key_of_file(const struct stat *st, bool addresses,
				   struct vmop_symbol_cache_key *ret)
{
	const int64_t identity[] = {
		(int64_t)st->st_dev, (int64_t)st->st_ino, (int64_t)st->st_size, st->st_mtim.tv_sec,
		st->st_mtim.tv_nsec, st->st_ctim.tv_sec,  st->st_ctim.tv_nsec,
	};
	XXH128_canonical_t hash;
	_Static_assert(sizeof(hash) <= VMOP_BUILD_ID_MAX_BYTES, "it takes the place of a build-id");
	XXH128_canonicalFromHash(&hash, XXH3_128bits(identity, sizeof(identity)));
	*ret = (struct vmop_symbol_cache_key){.addresses = addresses, .is_file = true};
	ret->build_id.len_bytes = sizeof(hash);
	memcpy(ret->build_id.bytes, &hash, sizeof(hash));
	return st->st_mtim.tv_sec + SETTLED_S < time(NULL) &&
	       st->st_ctim.tv_sec + SETTLED_S < time(NULL);
}

/* Return whether a header fits its file and the key. */
static bool is_valid(const struct header *header, uint64_t file_bytes,
		     const struct vmop_symbol_cache_key *key)
{
	if (memcmp(header->magic, magic, sizeof(magic)) != 0 || header->format != FORMAT)
		return false;
	if (header->build_id_len_bytes != key->build_id.len_bytes ||
	    memcmp(header->build_id, key->build_id.bytes, key->build_id.len_bytes) != 0 ||
	    header->addresses != key->addresses || header->is_file != key->is_file)
		return false;
	if (header->is_partial && now_s() - header->saved_s > VMOP_SYMBOL_CACHE_PARTIAL_S)
		return false;
	if (header->image_names_len_bytes &&
	    (!header->is_file || header->image_names_at > INT64_MAX ||
	     header->image_names_len_bytes > VMOP_SYMTAB_MAX_NAMES_BYTES))
		return false;
	return header->n <= VMOP_SYMTAB_MAX_SYMBOLS && header->n_spans <= header->n &&
	       header->names_len_bytes <= file_bytes;
}

static struct vmop_mapped_sizes sizes_of(const struct header *header)
{
	return (struct vmop_mapped_sizes){
		.n_spans = header->n_spans,
		.n = header->n,
		.names_len_bytes = header->names_len_bytes,
	};
}

/* Set *ret to the names in the image's file, if the header has any. Return false without them. */
static bool open_image_names(const struct header *header, int image_fd,
			     struct vmop_image_names **ret)
{
	const struct vmop_names_place place = {
		.at = header->image_names_at,
		.len_bytes = (size_t)header->image_names_len_bytes,
	};
	*ret = NULL;
	if (!place.len_bytes)
		return true;
	vmop_error_destroy(vmop_image_names_create(image_fd, &place, ret));
	return *ret;
}

/*
 * Make a table of the file. It is mapped, because reading large tables took half of the time of a
 * report. Only its owner could shorten it meanwhile: the cache replaces files as a whole.
 */
static struct vmop_error *map_table(int fd, uint64_t file_bytes,
				    const struct vmop_symbol_cache_key *key, int image_fd,
				    struct vmop_symtab **ret)
{
	struct header header;
	struct vmop_image_names *image_names;
	if (file_bytes < sizeof(header) ||
	    vmop_io_pread_full(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    !is_valid(&header, file_bytes, key))
		return NULL;
	const struct vmop_mapped_sizes sizes = sizes_of(&header);
	const struct vmop_mapped_layout layout = vmop_mapped_lay_out(&sizes, sizeof(header));
	if (layout.end != file_bytes)
		return NULL;
	char *start = mmap(NULL, file_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (start == MAP_FAILED)
		return errno == ENOMEM ? &vmop_error_no_memory : NULL;
	if (hash_file(&header, start, &layout) != header.hash ||
	    !open_image_names(&header, image_fd, &image_names)) {
		munmap(start, file_bytes);
		return NULL;
	}
	uint64_t identity = identity_of(&header, start, &layout);
	struct vmop_error *err =
		vmop_mapped_symtab_create(start, &layout, &sizes, image_names, ret);
	if (!err)
		vmop_symtab_set_identity(*ret, identity);
	return err;
}

struct vmop_error *vmop_symbol_cache_load(const struct vmop_symbol_cache *cache,
					  const struct vmop_symbol_cache_key *key, int image_fd,
					  struct vmop_symtab **ret)
{
	char name[VMOP_CACHE_NAME_BYTES];
	struct stat st;
	*ret = NULL;
	if (cache->dir_fd < 0 || !key->build_id.len_bytes)
		return NULL;
	name_file(key, name);
	_cleanup_close_ int fd =
		vmop_cache_file_open(cache->dir_fd, name, max_file_bytes(cache), &st);
	if (fd < 0)
		return NULL;
	struct vmop_error *err = map_table(fd, (uint64_t)st.st_size, key, image_fd, ret);
	if (*ret)
		vmop_cache_touch(fd, &st);
	return err;
}

void vmop_symbol_cache_remove(const struct vmop_symbol_cache *cache,
			      const struct vmop_symbol_cache_key *key)
{
	char name[VMOP_CACHE_NAME_BYTES];
	name_file(key, name);
	if (cache->dir_fd >= 0)
		unlinkat(cache->dir_fd, name, 0);
}

/* ---- save -------------------------------------------------------------------- */

/* Pages that are written with one call: many enough for large folios of the page cache. */
#define WRITTEN_BYTES (168 * VMOP_MAPPED_PAGE_BYTES)

/* A table that is being written. */
struct saving {
	const struct vmop_symtab *symtab;
	const char *names; /* of symtab; the image's file has the first of them */
	struct vmop_names_place place;
	uint32_t *names_bytes; /* of each name that is not in the image's file, with its NUL */
	struct header header;
	struct vmop_mapped_sizes sizes;
	struct vmop_mapped_layout layout;
	char *start; /* the bytes up to the first part */
	struct vmop_cache_writer writer;
	uint64_t *hash; /* of the next page */
	char *pages;	/* WRITTEN_BYTES, of which used_bytes wait to be written */
	size_t used_bytes;
	uint64_t at; /* where the pages belong */
};

/*
 * Fetch a name that is needed soon. The symbols are in the order of their offsets, and their names
 * are all over a block of some 10 MB.
 */
static void fetch_name(const struct vmop_symbol *symbols, size_t n, size_t i)
{
	const size_t ahead = 16;
	if (i + ahead < n)
		__builtin_prefetch(symbols[i + ahead].name);
}

static bool is_in_image(const struct saving *saving, const char *name)
{
	uintptr_t at = (uintptr_t)name, begin = (uintptr_t)saving->names;
	return at >= begin && at - begin < saving->place.len_bytes;
}

/* Find the numbers and lengths. Return false if the table is too large, or without memory. */
static bool measure(struct saving *saving, uint64_t max_bytes)
{
	size_t n, n_spans;
	struct header *header = &saving->header;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(saving->symtab, &n);
	vmop_symtab_spans(saving->symtab, &n_spans);
	if (n > VMOP_SYMTAB_MAX_SYMBOLS)
		return false;
	saving->names_bytes = reallocarray(NULL, n + 1, sizeof(*saving->names_bytes));
	if (!saving->names_bytes)
		return false;
	header->n = (uint32_t)n;
	header->n_spans = n_spans;
	for (size_t i = 0; i < n; i++) {
		if (is_in_image(saving, symbols[i].name))
			continue;
		fetch_name(symbols, n, i);
		size_t name_bytes = strlen(symbols[i].name) + 1;
		header->names_len_bytes += name_bytes;
		if (header->names_len_bytes > VMOP_SYMTAB_MAX_NAMES_BYTES)
			return false;
		saving->names_bytes[i] = (uint32_t)name_bytes;
	}
	saving->sizes = sizes_of(header);
	saving->layout = vmop_mapped_lay_out(&saving->sizes, sizeof(*header));
	return saving->layout.end <= max_bytes;
}

/* Write whole pages, or the last ones of a part, and their hashes. */
static void write_pages(struct saving *saving, const char *bytes, size_t len_bytes)
{
	vmop_cache_writer_put(&saving->writer, bytes, len_bytes, saving->at);
	saving->at += len_bytes;
	for (size_t at = 0; at < len_bytes; at += VMOP_MAPPED_PAGE_BYTES)
		*saving->hash++ =
			vmop_mapped_hash(bytes + at, len_bytes - at < VMOP_MAPPED_PAGE_BYTES
							     ? len_bytes - at
							     : VMOP_MAPPED_PAGE_BYTES);
}

static void write_waiting(struct saving *saving)
{
	write_pages(saving, saving->pages, saving->used_bytes);
	saving->used_bytes = 0;
}

/* Add bytes to the pages that wait. */
static void add_bytes(struct saving *saving, const void *bytes, size_t len_bytes)
{
	while (len_bytes > 0) {
		size_t fitting_bytes = WRITTEN_BYTES - saving->used_bytes;
		if (fitting_bytes > len_bytes)
			fitting_bytes = len_bytes;
		memcpy(saving->pages + saving->used_bytes, bytes, fitting_bytes);
		saving->used_bytes += fitting_bytes;
		bytes = (const char *)bytes + fitting_bytes;
		len_bytes -= fitting_bytes;
		if (saving->used_bytes == WRITTEN_BYTES)
			write_waiting(saving);
	}
}

static void write_spans(struct saving *saving)
{
	size_t n;
	const struct vmop_symtab_span *spans = vmop_symtab_spans(saving->symtab, &n);
	uint64_t *firsts = (void *)(saving->start + saving->layout.firsts_at);
	for (size_t i = 0; i < n; i += VMOP_MAPPED_SPANS_PER_PAGE)
		*firsts++ = spans[i].offset;
	write_pages(saving, (const char *)spans, n * sizeof(*spans));
}

static void write_symbols(struct saving *saving)
{
	size_t n, at = 0;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(saving->symtab, &n);
	for (size_t i = 0; i < n; i++) {
		bool in_image = is_in_image(saving, symbols[i].name);
		const struct vmop_mapped_symbol stored = {
			.offset = symbols[i].offset,
			.len_bytes = symbols[i].len_bytes,
			.name = (uint32_t)(in_image ? (size_t)(symbols[i].name - saving->names)
						    : at),
			.type = (unsigned char)symbols[i].type |
				(in_image ? VMOP_MAPPED_IN_IMAGE : 0),
		};
		add_bytes(saving, &stored, sizeof(stored));
		at += in_image ? 0 : saving->names_bytes[i];
	}
	write_waiting(saving);
}

static void write_names(struct saving *saving)
{
	size_t n;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(saving->symtab, &n);
	for (size_t i = 0; i < n; i++) {
		if (is_in_image(saving, symbols[i].name))
			continue;
		fetch_name(symbols, n, i);
		add_bytes(saving, symbols[i].name, saving->names_bytes[i]);
	}
	write_waiting(saving);
}

/* Write the parts of the table, then what precedes them. Return the table's identity. */
static uint64_t write_table(struct saving *saving)
{
	const struct vmop_mapped_layout *layout = &saving->layout;
	saving->hash = (void *)(saving->start + layout->hashes_at);
	saving->at = layout->parts_at[0];
	write_spans(saving);
	write_symbols(saving);
	write_names(saving);
	saving->header.hash = hash_file(&saving->header, saving->start, layout);
	memcpy(saving->start, &saving->header, sizeof(saving->header));
	vmop_cache_writer_put(&saving->writer, saving->start, layout->parts_at[0], 0);
	return identity_of(&saving->header, saving->start, layout);
}

static void save(struct vmop_symbol_cache *cache, const struct vmop_symbol_cache_key *key,
		 struct saving *saving, struct vmop_symtab *symtab)
{
	char name[VMOP_CACHE_NAME_BYTES];
	if (!measure(saving, max_file_bytes(cache)))
		return;
	saving->start = malloc(saving->layout.parts_at[0]);
	saving->pages = malloc(WRITTEN_BYTES);
	if (!saving->start || !saving->pages)
		return;
	cache->has_saved = true;
	name_file(key, name);
	vmop_cache_writer_init(&saving->writer, cache->dir_fd, name);
	vmop_symtab_set_identity(symtab, write_table(saving));
	vmop_cache_writer_finish(&saving->writer);
}

bool vmop_symbol_cache_leaves_names(const struct vmop_symbol_cache *cache,
				    const struct vmop_symbol_cache_key *key,
				    const struct vmop_symtab *symtab)
{
	struct vmop_names_place place;
	vmop_symtab_names(symtab, &place);
	return key->is_file && place.len_bytes && place.len_bytes >= cache->min_image_names_bytes;
}

void vmop_symbol_cache_save(struct vmop_symbol_cache *cache,
			    const struct vmop_symbol_cache_key *key, bool is_partial,
			    struct vmop_symtab *symtab)
{
	struct saving saving = {
		.symtab = symtab,
		.header =
			{
				.format = FORMAT,
				.build_id_len_bytes = key->build_id.len_bytes,
				.addresses = key->addresses,
				.is_partial = is_partial,
				.is_file = key->is_file,
				.saved_s = now_s(),
			},
	};
	if (cache->dir_fd < 0 || !key->build_id.len_bytes || vmop_mapped_symtab_of(symtab))
		return;
	memcpy(saving.header.magic, magic, sizeof(magic));
	memcpy(saving.header.build_id, key->build_id.bytes, key->build_id.len_bytes);
	saving.names = vmop_symtab_names(symtab, &saving.place);
	if (!vmop_symbol_cache_leaves_names(cache, key, symtab))
		saving.place.len_bytes = 0;
	saving.header.image_names_at = saving.place.len_bytes ? saving.place.at : 0;
	saving.header.image_names_len_bytes = saving.place.len_bytes;
	save(cache, key, &saving, symtab);
	free(saving.names_bytes);
	free(saving.start);
	free(saving.pages);
}
