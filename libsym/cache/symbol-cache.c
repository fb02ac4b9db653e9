// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/cache/symbol-cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "libsym/cache/cache-trim.h"
#include "libsym/symtab-builder.h"
#include "libutil/cleanup.h"
#include "libutil/dirs/safe-dir.h"
#include "libutil/heap.h"
#include "libutil/io.h"

/* Change it with the format, and with every change of the symbols that libsym finds in a file. */
#define FORMAT 1

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
	uint64_t hash;	  /* XXH3, of the header with a hash of 0, then of all that follows */
};

struct stored_symbol {
	uint64_t offset, len_bytes;
	uint32_t name; /* its position among the names */
	uint32_t type;
};

_Static_assert(sizeof(struct header) == 64 && sizeof(struct stored_symbol) == 24, "a file's form");
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

#define NAME_MAX_BYTES (2 * VMOP_BUILD_ID_MAX_BYTES + 16)

/* Write the name of the key's file: the build-id, and marks of what differs from one. */
static void name_file(const struct vmop_symbol_cache_key *key, char ret[NAME_MAX_BYTES])
{
	char hex[2 * VMOP_BUILD_ID_MAX_BYTES + 1];
	vmop_build_id_format(&key->build_id, hex);
	snprintf(ret, NAME_MAX_BYTES, "%s%s%s", hex, key->addresses ? ".addr" : "",
		 key->is_file ? ".file" : "");
}

/* ---- load -------------------------------------------------------------------- */

static uint64_t hash_file(const struct header *header, const char *content, size_t len_bytes)
{
	struct header hashed = *header;
	hashed.hash = 0;
	XXH64_hash_t seed = XXH3_64bits(&hashed, sizeof(hashed));
	return XXH3_64bits_withSeed(content, len_bytes, seed);
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
	return header->n <= VMOP_SYMTAB_MAX_SYMBOLS && header->names_len_bytes <= file_bytes &&
	       header->n * sizeof(struct stored_symbol) + header->names_len_bytes ==
		       file_bytes - sizeof(*header);
}

/*
 * Make the table. *content is the symbols, then the names and a NUL; the table takes it, because
 * its symbols point to the names. Without a table *ret is NULL: the content contradicts itself.
 */
static struct vmop_error *make_table(const struct header *header, char **content,
				     struct vmop_symtab **ret)
{
	const struct stored_symbol *stored = (const void *)*content;
	const char *names = (const char *)(stored + header->n);
	_cleanup_free_ struct vmop_symbol *symbols =
		vmop_heap_alloc_large(header->n + (size_t)1, sizeof(*symbols));
	if (!symbols)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < header->n; i++) {
		if (stored[i].name >= header->names_len_bytes ||
		    (i > 0 && stored[i].offset < stored[i - 1].offset))
			return NULL;
		symbols[i] = (struct vmop_symbol){
			.offset = stored[i].offset,
			.len_bytes = stored[i].len_bytes,
			.name = names + stored[i].name,
			.type = (char)stored[i].type,
		};
	}
	return vmop_symtab_create(vmop_steal(&symbols), header->n, vmop_steal(content), ret);
}

static struct vmop_error *read_table(int fd, uint64_t file_bytes,
				     const struct vmop_symbol_cache_key *key,
				     struct vmop_symtab **ret)
{
	struct header header;
	if (file_bytes < sizeof(header) ||
	    vmop_io_pread_full(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    !is_valid(&header, file_bytes, key))
		return NULL;
	size_t len_bytes = file_bytes - sizeof(header);
	_cleanup_free_ char *content = vmop_heap_alloc_large(len_bytes + 1, 1);
	if (!content)
		return &vmop_error_no_memory;
	if (vmop_io_pread_full(fd, content, len_bytes, sizeof(header)) != (ssize_t)len_bytes ||
	    hash_file(&header, content, len_bytes) != header.hash)
		return NULL;
	content[len_bytes] = '\0';
	return make_table(&header, &content, ret);
}

struct vmop_error *vmop_symbol_cache_load(const struct vmop_symbol_cache *cache,
					  const struct vmop_symbol_cache_key *key,
					  struct vmop_symtab **ret)
{
	char name[NAME_MAX_BYTES];
	struct stat st;
	*ret = NULL;
	if (cache->dir_fd < 0 || !key->build_id.len_bytes)
		return NULL;
	name_file(key, name);
	_cleanup_close_ int fd =
		openat(cache->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || !vmop_uid_is_trusted(st.st_uid) ||
	    vmop_others_may_write(&st) || (uint64_t)st.st_size > max_file_bytes(cache))
		return NULL;
	struct vmop_error *err = read_table(fd, (uint64_t)st.st_size, key, ret);
	if (*ret)
		vmop_cache_touch(fd, &st);
	return err;
}

/* ---- save -------------------------------------------------------------------- */

/* The bytes of a table's file. */
struct file_image {
	char *bytes; /* heap */
	size_t len_bytes;
};

/* Lay out the file of a table. Return false if there is no memory or the table is too large. */
static bool lay_out(const struct vmop_symbol *symbols, size_t n, struct header *header,
		    uint64_t max_bytes, struct file_image *ret)
{
	size_t names_len_bytes = 0;
	for (size_t i = 0; i < n; i++)
		names_len_bytes += strlen(symbols[i].name) + 1;
	uint64_t content_bytes = n * sizeof(struct stored_symbol) + names_len_bytes;
	if (n > VMOP_SYMTAB_MAX_SYMBOLS || names_len_bytes > VMOP_SYMTAB_MAX_NAMES_BYTES ||
	    sizeof(*header) + content_bytes > max_bytes)
		return false;
	char *bytes = calloc(1, sizeof(*header) + content_bytes);
	if (!bytes)
		return false;
	struct stored_symbol *stored = (void *)(bytes + sizeof(*header));
	char *names = (char *)(stored + n);
	for (size_t i = 0, at = 0; i < n; i++) {
		size_t name_bytes = strlen(symbols[i].name) + 1;
		memcpy(names + at, symbols[i].name, name_bytes);
		stored[i] = (struct stored_symbol){
			.offset = symbols[i].offset,
			.len_bytes = symbols[i].len_bytes,
			.name = (uint32_t)at,
			.type = (unsigned char)symbols[i].type,
		};
		at += name_bytes;
	}
	header->n = (uint32_t)n;
	header->names_len_bytes = names_len_bytes;
	header->hash = hash_file(header, (char *)stored, content_bytes);
	memcpy(bytes, header, sizeof(*header));
	*ret = (struct file_image){bytes, sizeof(*header) + content_bytes};
	return true;
}

/* Write the file beside its place and rename it. Without fsync: a damaged file is written anew. */
static void replace_file(int dir_fd, const char *name, const struct file_image *file)
{
	char part[NAME_MAX_BYTES + 32];
	snprintf(part, sizeof(part), "%s.%ld" VMOP_CACHE_PART_SUFFIX, name, (long)getpid());
	_cleanup_close_ int fd =
		openat(dir_fd, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (vmop_io_write_full(fd, file->bytes, file->len_bytes) != (ssize_t)file->len_bytes ||
	    renameat(dir_fd, part, dir_fd, name))
		unlinkat(dir_fd, part, 0);
}

void vmop_symbol_cache_save(struct vmop_symbol_cache *cache,
			    const struct vmop_symbol_cache_key *key, bool is_partial,
			    const struct vmop_symtab *symtab)
{
	size_t n;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	struct header header = {
		.format = FORMAT,
		.build_id_len_bytes = key->build_id.len_bytes,
		.addresses = key->addresses,
		.is_partial = is_partial,
		.is_file = key->is_file,
		.saved_s = now_s(),
	};
	struct file_image file;
	char name[NAME_MAX_BYTES];
	if (cache->dir_fd < 0 || !key->build_id.len_bytes)
		return;
	memcpy(header.magic, magic, sizeof(magic));
	memcpy(header.build_id, key->build_id.bytes, key->build_id.len_bytes);
	if (!lay_out(symbols, n, &header, max_file_bytes(cache), &file))
		return;
	_cleanup_free_ char *bytes = file.bytes;
	cache->has_saved = true;
	name_file(key, name);
	replace_file(cache->dir_fd, name, &file);
}
