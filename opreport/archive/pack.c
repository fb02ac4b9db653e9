// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/archive/pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/io.h"
#include "libutil/progress.h"
#include "opreport/archive/content.h"
#include "opreport/archive/manifest-json.h"

bool vmop_archive_ratio_is_good(uint64_t unpacked_bytes, uint64_t packed_bytes)
{
	return unpacked_bytes <= VMOP_ARCHIVE_RATIO_FREE_BYTES ||
	       unpacked_bytes / VMOP_ARCHIVE_MAX_RATIO <= packed_bytes;
}

/* A tar file while it is written. */
struct packing {
	struct archive *tar;
	const char *path;
};

static void packing_deinit(struct packing *packing)
{
	archive_write_free(packing->tar);
}

/* Translate libarchive's last error. */
static struct vmop_error *error_of(const struct packing *packing)
{
	int number = archive_errno(packing->tar);
	const char *text = archive_error_string(packing->tar);
	if (number == ENOMEM)
		return &vmop_error_no_memory;
	if (number > 0)
		return vmop_error_os(number, "%s", packing->path);
	return vmop_error_new(VMOP_ERROR_CANT, "%s: %s", packing->path, text ? text : "?");
}

static struct vmop_error *begin(struct packing *packing, int fd)
{
	packing->tar = archive_write_new();
	if (!packing->tar)
		return &vmop_error_no_memory;
	if (archive_write_add_filter_zstd(packing->tar) != ARCHIVE_OK ||
	    archive_write_set_format_pax_restricted(packing->tar) != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(packing->tar, 1) != ARCHIVE_OK ||
	    archive_write_open_fd(packing->tar, fd) != ARCHIVE_OK)
		return error_of(packing);
	return NULL;
}

static struct vmop_error *begin_member(const struct packing *packing, const char *name,
				       uint64_t len_bytes, uint64_t mtime_ns)
{
	struct archive_entry *entry = archive_entry_new();
	if (!entry)
		return &vmop_error_no_memory;
	archive_entry_set_pathname(entry, name);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0600);
	archive_entry_set_size(entry, (la_int64_t)len_bytes);
	archive_entry_set_mtime(entry, (time_t)(mtime_ns / VMOP_NS_PER_S),
				(long)(mtime_ns % VMOP_NS_PER_S));
	int rc = archive_write_header(packing->tar, entry);
	archive_entry_free(entry);
	/* A warning: the locale has no UTF-8. The name is written as it is. */
	return rc == ARCHIVE_OK || rc == ARCHIVE_WARN ? NULL : error_of(packing);
}

static struct vmop_error *put_block(void *arg, const void *block, size_t len_bytes)
{
	const struct packing *packing = arg;
	return archive_write_data(packing->tar, block, len_bytes) == (la_ssize_t)len_bytes
		       ? NULL
		       : error_of(packing);
}

static struct vmop_error *check_hash(const struct vmop_member *member,
				     const uint8_t hash[VMOP_MEMBER_HASH_BYTES])
{
	if (!memcmp(hash, member->hash, sizeof(member->hash)))
		return NULL;
	return vmop_error_new(VMOP_ERROR_CANT, "%s: it changed while it was read; try again",
			      member->path);
}

static struct vmop_error *put_member(struct packing *packing, const struct vmop_member *member,
				     int fd)
{
	uint8_t hash[VMOP_MEMBER_HASH_BYTES];
	struct vmop_error *err =
		begin_member(packing, member->name, member->size_bytes, member->mtime_ns);
	if (!err)
		err = vmop_content_read(fd, member->path, member->size_bytes, put_block, packing,
					hash);
	return err ? err : check_hash(member, hash);
}

static struct vmop_error *put_manifest(struct packing *packing,
				       const struct vmop_manifest *manifest)
{
	_cleanup_free_ char *text = NULL;
	size_t len_bytes;
	struct vmop_error *err = vmop_manifest_write_json(manifest, &text, &len_bytes);
	if (!err)
		err = begin_member(packing, VMOP_MANIFEST_NAME, len_bytes, manifest->created_ns);
	return err ? err : put_block(packing, text, len_bytes);
}

/* Write the end of the file, and check that an import accepts it. */
static struct vmop_error *end(const struct packing *packing, uint64_t *ret_bytes)
{
	if (archive_write_close(packing->tar) != ARCHIVE_OK)
		return error_of(packing);
	uint64_t unpacked_bytes = (uint64_t)archive_filter_bytes(packing->tar, 0);
	*ret_bytes = (uint64_t)archive_filter_bytes(packing->tar, -1);
	if (vmop_archive_ratio_is_good(unpacked_bytes, *ret_bytes))
		return NULL;
	return vmop_error_new(VMOP_ERROR_LIMIT,
			      "%s: packs more than %d bytes in one, which --import refuses; "
			      "--output-directory does not pack",
			      packing->path, VMOP_ARCHIVE_MAX_RATIO);
}

struct vmop_error *vmop_archive_pack(const struct vmop_collection *collection, int fd,
				     const char *path, uint64_t *ret_bytes)
{
	_cleanup_(packing_deinit) struct packing packing = {.path = path};
	const struct vmop_manifest *manifest = &collection->manifest;
	struct vmop_progress progress;
	struct vmop_error *err = begin(&packing, fd);
	if (!err)
		err = put_manifest(&packing, manifest);
	vmop_progress_begin(&progress, "packing", manifest->n_members);
	for (size_t i = 0; i < manifest->n_members && !err; i++) {
		err = put_member(&packing, &manifest->members[i], collection->fds[i]);
		vmop_progress_step(&progress, i + 1);
	}
	vmop_progress_end(&progress);
	return err ? err : end(&packing, ret_bytes);
}

/* ---- as a directory --------------------------------------------------------- */

static struct vmop_error *write_block(void *arg, const void *block, size_t len_bytes)
{
	const int *fd = arg;
	return vmop_io_write_full(*fd, block, len_bytes) == (ssize_t)len_bytes
		       ? NULL
		       : vmop_error_os(errno, "writing a copy");
}

static struct vmop_error *write_member(const struct vmop_staging *staging,
				       const struct vmop_member *member, int from)
{
	_cleanup_close_ int to = -1;
	uint8_t hash[VMOP_MEMBER_HASH_BYTES];
	struct vmop_error *err = vmop_staging_create(staging, member->name, &to);
	if (!err)
		err = vmop_content_read(from, member->path, member->size_bytes, write_block, &to,
					hash);
	if (!err)
		err = check_hash(member, hash);
	return err ? err : vmop_staging_set_time(to, member->name, member->mtime_ns);
}

static struct vmop_error *write_manifest(const struct vmop_staging *staging,
					 const struct vmop_manifest *manifest)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	size_t len_bytes;
	struct vmop_error *err = vmop_manifest_write_json(manifest, &text, &len_bytes);
	if (!err)
		err = vmop_staging_create(staging, VMOP_MANIFEST_NAME, &fd);
	return err ? err : write_block(&fd, text, len_bytes);
}

struct vmop_error *vmop_archive_pack_directory(const struct vmop_collection *collection)
{
	const struct vmop_manifest *manifest = &collection->manifest;
	struct vmop_progress progress;
	struct vmop_error *err = write_manifest(collection->staging, manifest);
	vmop_progress_begin(&progress, "copying", manifest->n_members);
	for (size_t i = 0; i < manifest->n_members && !err; i++) {
		const struct vmop_member *member = &manifest->members[i];
		if (member->kind != VMOP_MEMBER_SESSION)
			err = write_member(collection->staging, member, collection->fds[i]);
		vmop_progress_step(&progress, i + 1);
	}
	vmop_progress_end(&progress);
	return err;
}
