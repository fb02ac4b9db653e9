// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/archive/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libdb/db.h"
#include "libutil/cleanup.h"
#include "libutil/dirs/safe-dir.h"
#include "libutil/io.h"
#include "libutil/progress.h"
#include "opreport/archive/content.h"
#include "opreport/archive/interrupt.h"
#include "opreport/archive/manifest-json.h"
#include "opreport/archive/pack.h"

#define READ_BLOCK_BYTES ((size_t)64 << 10)

/* An archive while it is unpacked. */
struct unpacking {
	struct archive *tar;
	const struct vmop_staging *staging;
	struct vmop_manifest *manifest;
	bool *is_unpacked; /* by member */
	char *block;	   /* VMOP_CONTENT_BLOCK_BYTES */
	uint64_t max_bytes;
	struct vmop_progress progress;
	int fd; /* of the packed file */
	char packed[READ_BLOCK_BYTES];
};

static void unpacking_deinit(struct unpacking *unpacking)
{
	archive_read_free(unpacking->tar);
	free(unpacking->is_unpacked);
	free(unpacking->block);
}

/* ---- the tar file ----------------------------------------------------------- */

/* Translate libarchive's last error: an unreadable file, or a damaged one. */
static struct vmop_error *error_of(const struct unpacking *unpacking)
{
	int number = archive_errno(unpacking->tar);
	const char *text = archive_error_string(unpacking->tar);
	if (number == ENOMEM)
		return &vmop_error_no_memory;
	if (vmop_interrupt_came())
		return vmop_interrupt_check();
	if (number == EIO || number == EISDIR || number == EACCES || number == ENXIO)
		return vmop_error_os(number, "reading it");
	return vmop_error_new(VMOP_ERROR_CORRUPT, "damaged, or no archive of vmoparchive (%s)",
			      text ? text : "?");
}

/* Read the packed file. libarchive's own function would go on after a signal. */
static la_ssize_t read_packed(struct archive *tar, void *arg, const void **ret)
{
	struct unpacking *unpacking = arg;
	ssize_t n;
	*ret = unpacking->packed;
	do
		n = read(unpacking->fd, unpacking->packed, sizeof(unpacking->packed));
	while (n < 0 && errno == EINTR && !vmop_interrupt_came());
	if (n < 0)
		archive_set_error(tar, errno, "%s", strerror(errno));
	return n;
}

static struct vmop_error *begin(struct unpacking *unpacking, int fd)
{
	unpacking->fd = fd;
	unpacking->tar = archive_read_new();
	unpacking->block = malloc(VMOP_CONTENT_BLOCK_BYTES);
	if (!unpacking->tar || !unpacking->block)
		return &vmop_error_no_memory;
	if (archive_read_support_filter_zstd(unpacking->tar) != ARCHIVE_OK ||
	    archive_read_support_format_tar(unpacking->tar) != ARCHIVE_OK ||
	    archive_read_open(unpacking->tar, unpacking, NULL, read_packed, NULL) != ARCHIVE_OK)
		return error_of(unpacking);
	return NULL;
}

static struct vmop_error *check_ratio(const struct unpacking *unpacking)
{
	uint64_t unpacked_bytes = (uint64_t)archive_filter_bytes(unpacking->tar, 0);
	uint64_t packed_bytes = (uint64_t)archive_filter_bytes(unpacking->tar, -1);
	if (vmop_archive_ratio_is_good(unpacked_bytes, packed_bytes))
		return vmop_interrupt_check();
	return vmop_error_new(VMOP_ERROR_LIMIT, "a zip bomb: it packs more than %d bytes in one",
			      VMOP_ARCHIVE_MAX_RATIO);
}

/* Read the header of the next member. *ret is NULL at the end. */
static struct vmop_error *next_entry(const struct unpacking *unpacking, struct archive_entry **ret)
{
	*ret = NULL;
	int rc = archive_read_next_header(unpacking->tar, ret);
	if (rc == ARCHIVE_EOF) {
		*ret = NULL;
		return NULL;
	}
	/* A warning: a name that the locale cannot have, or a damaged attribute. */
	if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
		return error_of(unpacking);
	return check_ratio(unpacking);
}

/* Check that a member is a plain file, and set *ret_name. */
static struct vmop_error *check_entry(struct archive_entry *entry, const char **ret_name)
{
	const char *name = archive_entry_pathname_utf8(entry);
	*ret_name = name ? name : archive_entry_pathname(entry);
	if (!*ret_name)
		return vmop_error_new(VMOP_ERROR_CORRUPT, "a member's name is not UTF-8");
	if (archive_entry_hardlink(entry) || archive_entry_symlink(entry) ||
	    archive_entry_filetype(entry) != AE_IFREG)
		return vmop_error_new(VMOP_ERROR_CORRUPT,
				      "member %s: a link, device or directory; only files are "
				      "unpacked",
				      *ret_name);
	if (archive_entry_sparse_count(entry))
		return vmop_error_new(VMOP_ERROR_CORRUPT, "member %s: has holes", *ret_name);
	if (!archive_entry_size_is_set(entry) || archive_entry_size(entry) < 0)
		return vmop_error_new(VMOP_ERROR_CORRUPT, "member %s: has no size", *ret_name);
	return NULL;
}

/* Read at most *len_bytes of the member, and set it to the number read; 0 at its end. */
static struct vmop_error *read_data(const struct unpacking *unpacking, void *ret, size_t *len_bytes)
{
	la_ssize_t n = archive_read_data(unpacking->tar, ret, *len_bytes);
	if (n < 0)
		return error_of(unpacking);
	*len_bytes = (size_t)n;
	return check_ratio(unpacking);
}

/* ---- the manifest ----------------------------------------------------------- */

static struct vmop_error *save(const struct unpacking *unpacking, const char *name,
			       const char *text, size_t len_bytes)
{
	_cleanup_close_ int fd = -1;
	struct vmop_error *err = vmop_staging_create(unpacking->staging, name, &fd);
	if (!err && vmop_io_write_full(fd, text, len_bytes) != (ssize_t)len_bytes)
		err = vmop_error_os(errno, "writing %s", name);
	return err;
}

/* Check that the manifest's members have room together. */
static struct vmop_error *check_size(const struct unpacking *unpacking)
{
	uint64_t all_bytes = vmop_manifest_size_bytes(unpacking->manifest);
	if (all_bytes <= unpacking->max_bytes)
		return NULL;
	return vmop_error_new(VMOP_ERROR_LIMIT,
			      "unpacks to %" PRIu64 " bytes, and --max-size is %" PRIu64, all_bytes,
			      unpacking->max_bytes);
}

static struct vmop_error *read_manifest(struct unpacking *unpacking)
{
	struct archive_entry *entry;
	const char *name = NULL;
	size_t len_bytes = 0;
	struct vmop_error *err = next_entry(unpacking, &entry);
	if (!err && entry)
		err = check_entry(entry, &name);
	if (!err && (!entry || strcmp(name, VMOP_MANIFEST_NAME)))
		err = vmop_error_new(VMOP_ERROR_CORRUPT,
				     "no archive of vmoparchive: its first member is not %s",
				     VMOP_MANIFEST_NAME);
	if (!err && (uint64_t)archive_entry_size(entry) > VMOP_MANIFEST_MAX_BYTES)
		err = vmop_error_new(VMOP_ERROR_LIMIT, "%s: larger than %zu MiB",
				     VMOP_MANIFEST_NAME, VMOP_MANIFEST_MAX_BYTES >> 20);
	if (err)
		return err;
	size_t wanted = (size_t)archive_entry_size(entry);
	_cleanup_free_ char *text = malloc(wanted + 1);
	if (!text)
		return &vmop_error_no_memory;
	for (size_t n = 1; len_bytes < wanted && n && !err; len_bytes += n) {
		n = wanted - len_bytes;
		err = read_data(unpacking, text + len_bytes, &n);
	}
	if (!err && len_bytes != wanted)
		err = vmop_error_new(VMOP_ERROR_CORRUPT, "%s: ends early", VMOP_MANIFEST_NAME);
	if (!err)
		err = vmop_manifest_read_json(unpacking->manifest, text, len_bytes);
	if (!err)
		err = check_size(unpacking);
	return err ? err : save(unpacking, VMOP_MANIFEST_NAME, text, len_bytes);
}

/* ---- members ---------------------------------------------------------------- */

/* Set *ret to the index of the member with this name, which comes for the first time. */
static struct vmop_error *find_member(const struct unpacking *unpacking, const char *name,
				      uint64_t size_bytes, size_t *ret)
{
	const struct vmop_manifest *manifest = unpacking->manifest;
	size_t i = 0;
	/* vmoparchive writes them in the manifest's order, so that the first try mostly hits. */
	while (i < manifest->n_members && unpacking->is_unpacked[i])
		i++;
	if (i == manifest->n_members || strcmp(manifest->members[i].name, name))
		for (i = 0; i < manifest->n_members; i++)
			if (!strcmp(manifest->members[i].name, name))
				break;
	if (i == manifest->n_members)
		return vmop_error_new(VMOP_ERROR_CORRUPT, "member %s: the manifest lacks it", name);
	if (unpacking->is_unpacked[i])
		return vmop_error_new(VMOP_ERROR_CORRUPT, "member %s: is there twice", name);
	if (manifest->members[i].size_bytes != size_bytes)
		return vmop_error_new(VMOP_ERROR_CORRUPT,
				      "member %s: has %" PRIu64 " bytes, and %" PRIu64
				      " by the manifest",
				      name, size_bytes, manifest->members[i].size_bytes);
	*ret = i;
	return NULL;
}

/* Check the build-id that the file has against the manifest's. */
static struct vmop_error *check_build_id(const struct vmop_member *member, int fd)
{
	char found[2 * VMOP_BUILD_ID_MAX_BYTES + 1], wanted[2 * VMOP_BUILD_ID_MAX_BYTES + 1];
	struct vmop_build_id id = {0};
	if (member->kind != VMOP_MEMBER_IMAGE && member->kind != VMOP_MEMBER_DEBUG)
		return NULL;
	struct vmop_error *err = vmop_build_id_of_fd(fd, member->name, &id);
	if (err || vmop_build_id_equal(&id, &member->build_id))
		return err;
	vmop_build_id_format(&id, found);
	vmop_build_id_format(&member->build_id, wanted);
	return vmop_error_new(VMOP_ERROR_CORRUPT,
			      "member %s: its build-id is %s, and %s by the manifest", member->name,
			      *found ? found : "missing", *wanted ? wanted : "there is none");
}

/* Write the member's bytes to fd, and check them. */
static struct vmop_error *copy_data(const struct unpacking *unpacking,
				    const struct vmop_member *member, int fd)
{
	XXH3_state_t *state = XXH3_createState();
	uint8_t hash[VMOP_MEMBER_HASH_BYTES];
	struct vmop_error *err = state ? NULL : &vmop_error_no_memory;
	uint64_t len_bytes = 0;
	if (state)
		XXH3_128bits_reset(state);
	for (size_t n = 1; n && !err; len_bytes += n) {
		n = VMOP_CONTENT_BLOCK_BYTES;
		err = read_data(unpacking, unpacking->block, &n);
		if (err)
			break;
		XXH3_128bits_update(state, unpacking->block, n);
		if (n > member->size_bytes - len_bytes)
			err = vmop_error_new(VMOP_ERROR_CORRUPT,
					     "member %s: is longer than its size", member->name);
		else if (vmop_io_write_full(fd, unpacking->block, n) != (ssize_t)n)
			err = vmop_error_os(errno, "writing %s", member->name);
	}
	if (!err)
		vmop_content_finish(state, hash);
	XXH3_freeState(state);
	if (!err && (len_bytes != member->size_bytes || memcmp(hash, member->hash, sizeof(hash))))
		err = vmop_error_new(VMOP_ERROR_CORRUPT,
				     "member %s: its content is not that of the manifest",
				     member->name);
	return err;
}

static struct vmop_error *unpack_member(struct unpacking *unpacking, struct archive_entry *entry)
{
	_cleanup_close_ int fd = -1;
	const char *name;
	size_t index = 0;
	struct vmop_error *err = check_entry(entry, &name);
	if (!err)
		err = find_member(unpacking, name, (uint64_t)archive_entry_size(entry), &index);
	if (err)
		return err;
	const struct vmop_member *member = &unpacking->manifest->members[index];
	unpacking->is_unpacked[index] = true;
	err = vmop_staging_create(unpacking->staging, member->name, &fd);
	if (!err)
		err = copy_data(unpacking, member, fd);
	if (!err)
		err = check_build_id(member, fd);
	return err ? err : vmop_staging_set_time(fd, member->name, member->mtime_ns);
}

static struct vmop_error *unpack_members(struct unpacking *unpacking)
{
	const struct vmop_manifest *manifest = unpacking->manifest;
	struct archive_entry *entry;
	size_t n = 0;
	unpacking->is_unpacked = calloc(manifest->n_members + 1, sizeof(bool));
	if (!unpacking->is_unpacked)
		return &vmop_error_no_memory;
	struct vmop_error *err = next_entry(unpacking, &entry);
	for (; !err && entry; n++) {
		err = unpack_member(unpacking, entry);
		vmop_progress_step(&unpacking->progress, n + 1);
		if (!err)
			err = next_entry(unpacking, &entry);
	}
	for (size_t i = 0; i < manifest->n_members && !err; i++)
		if (!unpacking->is_unpacked[i])
			err = vmop_error_new(VMOP_ERROR_CORRUPT, "ends early: member %s is missing",
					     manifest->members[i].name);
	return err;
}

/* Check that each session opens as one. A folder without any is made, for readers. */
static struct vmop_error *check_sessions(const struct unpacking *unpacking)
{
	const struct vmop_manifest *manifest = unpacking->manifest;
	const char *folder = vmop_member_kind_folder(VMOP_MEMBER_SESSION);
	_cleanup_close_ int fd = -1;
	struct vmop_error *err = vmop_staging_make_folder(unpacking->staging, folder);
	if (!err) {
		fd = openat(unpacking->staging->fd, folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
		err = fd < 0 ? vmop_error_os(errno, "%s", folder) : NULL;
	}
	const struct vmop_dir dir = {.fd = fd};
	for (size_t i = 0; i < manifest->n_members && !err; i++) {
		const struct vmop_member *member = &manifest->members[i];
		struct vmop_db *db = NULL;
		if (member->kind != VMOP_MEMBER_SESSION)
			continue;
		err = vmop_db_open_at(&dir, strchr(member->name, '/') + 1, member->name, &db);
		vmop_db_close(db);
	}
	return err;
}

struct vmop_error *vmop_archive_unpack(int fd, const char *path, uint64_t max_bytes,
				       const struct vmop_staging *staging,
				       struct vmop_manifest *ret)
{
	_cleanup_(unpacking_deinit) struct unpacking unpacking = {
		.staging = staging, .manifest = ret, .max_bytes = max_bytes};
	*ret = (struct vmop_manifest){0};
	struct vmop_error *err = begin(&unpacking, fd);
	if (!err)
		err = read_manifest(&unpacking);
	vmop_progress_begin(&unpacking.progress, "unpacking", ret->n_members);
	if (!err)
		err = unpack_members(&unpacking);
	vmop_progress_end(&unpacking.progress);
	if (!err)
		err = check_sessions(&unpacking);
	return err ? vmop_error_prefix(err, "%s", path) : NULL;
}
