// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/kernel-cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "config.h"
#include "libdb/db.h"
#include "libutil/cleanup.h"
#include "libutil/dirs/run-dir.h"
#include "libutil/io.h"
#include "libutil/procfs.h"

/* A kernel with all of Debian's modules loaded has a twentieth. */
#define CACHE_MAX_BYTES (64u << 20)
#define HEAD_MAX_BYTES 256

/* Before each image's name, which ends with a NUL, and its packed symbols. */
struct entry {
	uint64_t base, len_bytes, packed_bytes, name_bytes;
};
_Static_assert(sizeof(struct entry) == 32, "no padding");

/* ---- the key ------------------------------------------------------------------- */

/* Whether a line of kallsyms text begins with an address other than 0. */
static bool has_address(const char *text)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (line[strspn(line, "0")] != ' ' && line[strspn(line, "0")])
			return true;
	}
	return false;
}

bool vmop_kernel_cache_key(const char *root, uint64_t modules_hash,
			   struct vmop_kernel_cache_key *ret)
{
	char boot[64], notes[4096], restricted[16], symbols[4096];
	ssize_t n = vmop_procfs_read(root, boot, sizeof(boot), "/proc/sys/kernel/random/boot_id");
	if (n <= 0)
		return false;
	boot[strspn(boot, "0123456789abcdef-")] = '\0';
	ssize_t notes_bytes = vmop_procfs_read(root, notes, sizeof(notes), "/sys/kernel/notes");
	if (vmop_procfs_read(root, restricted, sizeof(restricted),
			     "/proc/sys/kernel/kptr_restrict") < 0)
		*restricted = '\0';
	restricted[strspn(restricted, "0123456789")] = '\0';
	ssize_t symbols_bytes = vmop_procfs_read(root, symbols, sizeof(symbols), "/proc/kallsyms");
	if (symbols_bytes <= 0 || !has_address(symbols))
		return false;
	int len = snprintf(ret->text, sizeof(ret->text),
			   PACKAGE_VERSION " %s %016" PRIx64 " %s %016" PRIx64 " %016" PRIx64, boot,
			   (uint64_t)XXH3_64bits(notes, notes_bytes > 0 ? (size_t)notes_bytes : 0),
			   restricted, (uint64_t)XXH3_64bits(symbols, (size_t)symbols_bytes),
			   modules_hash);
	return len > 0 && (size_t)len < sizeof(ret->text);
}

/* Write the line before the given entries. Return its length, which only the key decides. */
static size_t make_head(char head[static HEAD_MAX_BYTES], const struct vmop_kernel_cache_key *key,
			const char *entries, size_t len_bytes)
{
	return (size_t)snprintf(head, HEAD_MAX_BYTES,
				"vmop-kernel-symbols-2 %s %016zx %016" PRIx64 "\n", key->text,
				len_bytes, (uint64_t)XXH3_64bits(entries, len_bytes));
}

/* ---- reading ------------------------------------------------------------------- */

static int open_private(int dir_fd)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	struct vmop_error *err = vmop_run_open(dir_fd, VMOP_RUN_KERNEL_SYMBOLS, O_RDONLY, 0, &fd);
	if (err) {
		vmop_error_destroy(err); /* usually no file exists yet */
		return -1;
	}
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077))
		return -1;
	return vmop_steal_fd(&fd);
}

/* Whether the head is that of the key and the entries behind it. */
static bool has_valid_head(const struct vmop_kernel_cache *cache,
			   const struct vmop_kernel_cache_key *key, size_t *ret_head_bytes)
{
	char expected[HEAD_MAX_BYTES];
	size_t head_bytes = make_head(expected, key, "", 0);
	if (cache->len_bytes < head_bytes)
		return false;
	make_head(expected, key, cache->bytes + head_bytes, cache->len_bytes - head_bytes);
	*ret_head_bytes = head_bytes;
	return !memcmp(cache->bytes, expected, head_bytes);
}

/* Whether all bytes from the position on are entries. */
static bool has_valid_entries(struct vmop_kernel_cache cache)
{
	struct vmop_kernel_cache_image image;
	while (vmop_kernel_cache_next(&cache, &image)) {
		struct vmop_error *err =
			vmop_db_check_packed_symbols(image.packed, image.packed_bytes);
		if (err) {
			vmop_error_destroy(err);
			return false;
		}
	}
	return cache.at == cache.len_bytes;
}

bool vmop_kernel_cache_load(int dir_fd, const struct vmop_kernel_cache_key *key,
			    struct vmop_kernel_cache *ret)
{
	*ret = (struct vmop_kernel_cache){0};
	_cleanup_close_ int fd = open_private(dir_fd);
	if (fd < 0)
		return false;
	struct vmop_error *err = vmop_io_read_fd(fd, VMOP_RUN_KERNEL_SYMBOLS, CACHE_MAX_BYTES,
						 &ret->bytes, &ret->len_bytes);
	if (err) {
		vmop_error_destroy(err); /* it is replaced */
		return false;
	}
	return has_valid_head(ret, key, &ret->at) && has_valid_entries(*ret);
}

void vmop_kernel_cache_deinit(struct vmop_kernel_cache *cache)
{
	free(cache->bytes);
	cache->bytes = NULL;
}

bool vmop_kernel_cache_next(struct vmop_kernel_cache *cache, struct vmop_kernel_cache_image *ret)
{
	struct entry entry;
	size_t left = cache->len_bytes - cache->at;
	if (left < sizeof(entry))
		return false;
	memcpy(&entry, cache->bytes + cache->at, sizeof(entry));
	left -= sizeof(entry);
	if (!entry.name_bytes || entry.name_bytes > left ||
	    entry.packed_bytes > left - entry.name_bytes)
		return false;
	const char *name = cache->bytes + cache->at + sizeof(entry);
	if (memchr(name, '\0', entry.name_bytes) != name + entry.name_bytes - 1)
		return false;
	*ret = (struct vmop_kernel_cache_image){
		.name = name,
		.base = entry.base,
		.len_bytes = entry.len_bytes,
		.packed = name + entry.name_bytes,
		.packed_bytes = entry.packed_bytes,
	};
	cache->at += sizeof(entry) + entry.name_bytes + entry.packed_bytes;
	return true;
}

/* ---- writing ------------------------------------------------------------------- */

static size_t entry_bytes(const struct vmop_kernel_cache_image *image)
{
	return sizeof(struct entry) + strlen(image->name) + 1 + image->packed_bytes;
}

/* Write an entry to p, which has room, and return the position behind it. */
static char *put_entry(char *p, const struct vmop_kernel_cache_image *image)
{
	struct entry entry = {
		.base = image->base,
		.len_bytes = image->len_bytes,
		.packed_bytes = image->packed_bytes,
		.name_bytes = strlen(image->name) + 1,
	};
	p = mempcpy(p, &entry, sizeof(entry));
	p = mempcpy(p, image->name, entry.name_bytes);
	return mempcpy(p, image->packed, image->packed_bytes);
}

static struct vmop_error *write_file(int dir_fd, const char *head, size_t head_bytes,
				     const char *entries, size_t len_bytes)
{
	_cleanup_close_ int fd = -1;
	struct vmop_error *err = vmop_run_open(dir_fd, VMOP_RUN_KERNEL_SYMBOLS ".new",
					       O_WRONLY | O_CREAT | O_EXCL, 0600, &fd);
	if (err)
		return err;
	if (vmop_io_write_full(fd, head, head_bytes) == (ssize_t)head_bytes &&
	    vmop_io_write_full(fd, entries, len_bytes) == (ssize_t)len_bytes &&
	    renameat(dir_fd, VMOP_RUN_KERNEL_SYMBOLS ".new", dir_fd, VMOP_RUN_KERNEL_SYMBOLS) == 0)
		return NULL;
	err = vmop_error_os(errno, "%s/" VMOP_RUN_KERNEL_SYMBOLS, vmop_run_dir());
	unlinkat(dir_fd, VMOP_RUN_KERNEL_SYMBOLS ".new", 0);
	return err;
}

struct vmop_error *vmop_kernel_cache_save(int dir_fd, const struct vmop_kernel_cache_key *key,
					  const struct vmop_kernel_cache_image *images, size_t n)
{
	char head[HEAD_MAX_BYTES];
	size_t len_bytes = 0;
	unlinkat(dir_fd, VMOP_RUN_KERNEL_SYMBOLS ".new", 0); /* of a vmopd that was killed */
	unlinkat(dir_fd, VMOP_RUN_KERNEL_SYMBOLS, 0);
	for (size_t i = 0; i < n; i++)
		len_bytes += entry_bytes(&images[i]);
	if (len_bytes > CACHE_MAX_BYTES - HEAD_MAX_BYTES)
		return vmop_error_new(VMOP_ERROR_LIMIT,
				      "%s/" VMOP_RUN_KERNEL_SYMBOLS
				      ": symbols of %zu bytes, up to %u are kept",
				      vmop_run_dir(), len_bytes, CACHE_MAX_BYTES - HEAD_MAX_BYTES);
	_cleanup_free_ char *entries = malloc(len_bytes + 1);
	if (!entries)
		return &vmop_error_no_memory;
	char *p = entries;
	for (size_t i = 0; i < n; i++)
		p = put_entry(p, &images[i]);
	size_t head_bytes = make_head(head, key, entries, len_bytes);
	return write_file(dir_fd, head, head_bytes, entries, len_bytes);
}
