// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as the file of kept names: as they are, and behind the right beginning with the right
 * hash.  Names are looked up in it and added to it, and it is written again.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "libsym/cache/name-cache.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

/* Bytes of a header: its beginning is the same in all files, and its end is the hash. */
enum { BEGIN_BYTES = 32, HASH_AT = 48, HEADER_BYTES = 56 };

static const char file_name[] = "names.short";
static char dir[] = "/tmp/vmop-fuzz-names-XXXXXX";
static int dir_fd = -1;
static uint8_t begin[BEGIN_BYTES];

static void remove_dir(void)
{
	unlinkat(dir_fd, file_name, 0);
	rmdir(dir);
}

/* Make the folder of the file, and learn the beginning of a right one. */
static void set_up(void)
{
	if (!mkdtemp(dir))
		abort();
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0 || atexit(remove_dir))
		abort();
	struct vmop_name_cache *cache = vmop_name_cache_open(dir_fd, VMOP_DEMANGLE_SMART);
	vmop_name_cache_add(cache, "_Z1fv", "f");
	vmop_name_cache_close(cache);
	_cleanup_close_ int fd = openat(dir_fd, file_name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || vmop_io_pread_full(fd, begin, sizeof(begin), 0) != (ssize_t)sizeof(begin))
		abort();
}

static void write_file(const void *bytes, size_t len_bytes)
{
	_cleanup_close_ int fd =
		openat(dir_fd, file_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || vmop_io_write_full(fd, bytes, len_bytes) != (ssize_t)len_bytes)
		abort();
}

/* Return whether a name of the file is found; it has to be a text. */
static bool is_found(struct vmop_name_cache *cache, const char *mangled)
{
	const char *found = vmop_name_cache_find(cache, mangled);
	return found && strlen(found) < VMOP_NAME_CACHE_MAX_BYTES;
}

/* Look up each text of the data, and add those that are missing. */
static void use_cache(const char *texts, size_t len_bytes)
{
	struct vmop_name_cache *cache = vmop_name_cache_open(dir_fd, VMOP_DEMANGLE_SMART);
	for (size_t at = 0; at < len_bytes; at += strlen(texts + at) + 1)
		if (!is_found(cache, texts + at))
			vmop_name_cache_add(cache, texts + at, "shown");
	vmop_name_cache_add(cache, "_Z3addv", "add");
	vmop_name_cache_close(cache);
	cache = vmop_name_cache_open(dir_fd, VMOP_DEMANGLE_SMART);
	is_found(cache, "_Z3addv"); /* unless the file has many names, or its slots are full */
	vmop_name_cache_close(cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	_cleanup_free_ uint8_t *bytes = malloc(len_bytes + 1);
	if (!bytes)
		abort();
	if (dir_fd < 0)
		set_up();
	memcpy(bytes, data, len_bytes);
	bytes[len_bytes] = '\0';
	write_file(bytes, len_bytes);
	use_cache((const char *)bytes, len_bytes);
	if (len_bytes < HEADER_BYTES)
		return 0;
	memcpy(bytes, begin, sizeof(begin));
	memset(bytes + HASH_AT, 0, HEADER_BYTES - HASH_AT);
	uint64_t seed = XXH3_64bits(bytes, HEADER_BYTES);
	uint64_t hash = XXH3_64bits_withSeed(bytes + HEADER_BYTES, len_bytes - HEADER_BYTES, seed);
	memcpy(bytes + HASH_AT, &hash, sizeof(hash));
	write_file(bytes, len_bytes);
	use_cache((const char *)bytes, len_bytes);
	return 0;
}
