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
#include "libutil/heap.h"
#include "libutil/io.h"

/* Change it with the format, and with every change of the symbols that libsym finds in a file. */
#define FORMAT 3

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
};

_Static_assert(sizeof(struct header) == 72, "a file's form");
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

/* Return the identity of the table: the hash of all its pages' hashes. */
static uint64_t identity_of(const struct vmop_mapped_sizes *sizes, const char *file,
			    const struct vmop_mapped_layout *layout)
{
	const uint64_t numbers[] = {sizes->n_spans, sizes->n, sizes->names_len_bytes};
	return XXH3_64bits_withSeed(file + layout->hashes_at,
				    layout->parts_at[0] - layout->hashes_at,
				    XXH3_64bits(numbers, sizeof(numbers)));
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

/*
 * Make a table of the file. It is mapped, because reading large tables took half of the time of a
 * report. Only its owner could shorten it meanwhile: the cache replaces files as a whole.
 */
static struct vmop_error *map_table(int fd, uint64_t file_bytes,
				    const struct vmop_symbol_cache_key *key,
				    struct vmop_symtab **ret)
{
	struct header header;
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
	if (hash_file(&header, start, &layout) != header.hash) {
		munmap(start, file_bytes);
		return NULL;
	}
	uint64_t identity = identity_of(&sizes, start, &layout);
	struct vmop_error *err = vmop_mapped_symtab_create(start, &layout, &sizes, ret);
	if (!err)
		vmop_symtab_set_identity(*ret, identity);
	return err;
}

struct vmop_error *vmop_symbol_cache_load(const struct vmop_symbol_cache *cache,
					  const struct vmop_symbol_cache_key *key,
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
	struct vmop_error *err = map_table(fd, (uint64_t)st.st_size, key, ret);
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

/* The bytes of a table's file. */
struct file_image {
	char *bytes; /* heap */
	size_t len_bytes;
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

/*
 * Set the numbers and lengths of the header, and return the length of each name with its NUL
 * (heap). NULL: the table is too large, or there is no memory.
 */
static uint32_t *measure(const struct vmop_symtab *symtab, uint64_t max_bytes,
			 struct header *header)
{
	size_t n, n_spans;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	vmop_symtab_spans(symtab, &n_spans);
	if (n > VMOP_SYMTAB_MAX_SYMBOLS)
		return NULL;
	_cleanup_free_ uint32_t *names_bytes = reallocarray(NULL, n + 1, sizeof(*names_bytes));
	if (!names_bytes)
		return NULL;
	header->n = (uint32_t)n;
	header->n_spans = n_spans;
	for (size_t i = 0; i < n; i++) {
		fetch_name(symbols, n, i);
		size_t name_bytes = strlen(symbols[i].name) + 1;
		header->names_len_bytes += name_bytes;
		if (header->names_len_bytes > VMOP_SYMTAB_MAX_NAMES_BYTES)
			return NULL;
		names_bytes[i] = (uint32_t)name_bytes;
	}
	const struct vmop_mapped_sizes sizes = sizes_of(header);
	return vmop_mapped_lay_out(&sizes, sizeof(*header)).end <= max_bytes
		       ? vmop_steal(&names_bytes)
		       : NULL;
}

static void write_symbols(const struct vmop_symtab *symtab, const uint32_t *names_bytes,
			  struct vmop_mapped_symbol *stored, char *names)
{
	size_t n, at = 0;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	for (size_t i = 0; i < n; i++) {
		fetch_name(symbols, n, i);
		memcpy(names + at, symbols[i].name, names_bytes[i]);
		stored[i] = (struct vmop_mapped_symbol){
			.offset = symbols[i].offset,
			.len_bytes = symbols[i].len_bytes,
			.name = (uint32_t)at,
			.type = (unsigned char)symbols[i].type,
		};
		at += names_bytes[i];
	}
}

/* Write the hashes of all pages. */
static void write_hashes(char *file, const struct vmop_mapped_layout *layout,
			 const struct vmop_mapped_sizes *sizes)
{
	uint64_t *hashes = (void *)(file + layout->hashes_at);
	for (unsigned part = 0; part < VMOP_MAPPED_N; part++) {
		size_t at = layout->parts_at[part];
		size_t end = part + 1 < VMOP_MAPPED_N ? layout->parts_at[part + 1] : layout->end;
		size_t n = vmop_mapped_n_pages(sizes, part);
		for (; n > 0; n--, at += VMOP_MAPPED_PAGE_BYTES)
			*hashes++ = vmop_mapped_hash(file + at,
						     n > 1 ? VMOP_MAPPED_PAGE_BYTES : end - at);
	}
}

/* Lay out the file of a table. Return false if there is no memory or the table is too large. */
static bool lay_out(struct vmop_symtab *symtab, struct header *header, uint64_t max_bytes,
		    struct file_image *ret)
{
	_cleanup_free_ uint32_t *names_bytes = measure(symtab, max_bytes, header);
	if (!names_bytes)
		return false;
	const struct vmop_mapped_sizes sizes = sizes_of(header);
	const struct vmop_mapped_layout layout = vmop_mapped_lay_out(&sizes, sizeof(*header));
	char *file = vmop_heap_alloc_large(layout.end, 1);
	if (!file)
		return false;
	size_t n_spans;
	const struct vmop_symtab_span *spans = vmop_symtab_spans(symtab, &n_spans);
	if (n_spans)
		memcpy(file + layout.parts_at[VMOP_MAPPED_SPANS], spans, n_spans * sizeof(*spans));
	uint64_t *firsts = (void *)(file + layout.firsts_at);
	for (size_t i = 0; i < n_spans; i += VMOP_MAPPED_SPANS_PER_PAGE)
		*firsts++ = spans[i].offset;
	write_symbols(symtab, names_bytes, (void *)(file + layout.parts_at[VMOP_MAPPED_SYMBOLS]),
		      file + layout.parts_at[VMOP_MAPPED_NAMES]);
	write_hashes(file, &layout, &sizes);
	vmop_symtab_set_identity(symtab, identity_of(&sizes, file, &layout));
	header->hash = hash_file(header, file, &layout);
	memcpy(file, header, sizeof(*header));
	*ret = (struct file_image){file, layout.end};
	return true;
}

void vmop_symbol_cache_save(struct vmop_symbol_cache *cache,
			    const struct vmop_symbol_cache_key *key, bool is_partial,
			    struct vmop_symtab *symtab)
{
	struct header header = {
		.format = FORMAT,
		.build_id_len_bytes = key->build_id.len_bytes,
		.addresses = key->addresses,
		.is_partial = is_partial,
		.is_file = key->is_file,
		.saved_s = now_s(),
	};
	struct file_image file;
	char name[VMOP_CACHE_NAME_BYTES];
	if (cache->dir_fd < 0 || !key->build_id.len_bytes || vmop_mapped_symtab_of(symtab))
		return;
	memcpy(header.magic, magic, sizeof(magic));
	memcpy(header.build_id, key->build_id.bytes, key->build_id.len_bytes);
	if (!lay_out(symtab, &header, max_file_bytes(cache), &file))
		return;
	_cleanup_free_ char *bytes = file.bytes;
	cache->has_saved = true;
	name_file(key, name);
	vmop_cache_file_replace(cache->dir_fd, name, file.bytes, file.len_bytes);
}
