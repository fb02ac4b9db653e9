// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/archive/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libsym/found-files.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "opreport/archive/manifest-json.h"
#include "opreport/archive/time-zone.h"

struct vmop_archive {
	unsigned users;
	int fd; /* O_PATH, of its directory */
	char *session_dir;
	struct vmop_manifest manifest;
	struct vmop_file_answers answers;
	struct vmop_file_answer *items; /* of the answers */
	const char **debug_files;	/* of all items */
};

static const char not_archived[] =
	"not in the archive; 'vmoparchive --sources' adds source files to one";
static const char unreadable[] = "the archive's copy cannot be read";

static struct vmop_error *no_archive(const char *path)
{
	struct stat st;
	int problem = errno;
	if (problem == ENOTDIR && !stat(path, &st) && S_ISREG(st.st_mode))
		return vmop_error_new(
			VMOP_ERROR_USAGE,
			"archive:%s: a packed archive; 'vmoparchive --import %s "
			"--output-directory=DIR' unpacks it, and archive:DIR reads it",
			path, path);
	return vmop_error_os(problem, "archive:%s", path);
}

static struct vmop_error *read_manifest(struct vmop_archive *archive)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *text = NULL;
	size_t len_bytes;
	struct vmop_error *err = vmop_io_open_regular(archive->fd, VMOP_MANIFEST_NAME,
						      VMOP_IO_NO_FOLLOW | VMOP_IO_IN_ROOT,
						      VMOP_MANIFEST_MAX_BYTES, &fd);
	if (err && err->os_errno == ENOENT) {
		vmop_error_destroy(err);
		return vmop_error_new(VMOP_ERROR_CANT,
				      "not an archive of vmoparchive: it has no %s",
				      VMOP_MANIFEST_NAME);
	}
	if (!err)
		err = vmop_io_read_fd(fd, VMOP_MANIFEST_NAME, VMOP_MANIFEST_MAX_BYTES, &text,
				      &len_bytes);
	return err ? err : vmop_manifest_read_json(&archive->manifest, text, len_bytes);
}

static const char *name_of(const struct vmop_manifest *manifest, uint32_t member)
{
	return member == VMOP_NO_MEMBER ? NULL : manifest->members[member].name;
}

static struct vmop_error *make_answers(struct vmop_archive *archive)
{
	const struct vmop_manifest *manifest = &archive->manifest;
	size_t n_debug = 0;
	for (size_t i = 0; i < manifest->n_images; i++)
		n_debug += manifest->images[i].n_debug;
	archive->items = calloc(manifest->n_images + 1, sizeof(*archive->items));
	archive->debug_files = calloc(n_debug + 1, sizeof(*archive->debug_files));
	if (!archive->items || !archive->debug_files)
		return &vmop_error_no_memory;
	const char **debug = archive->debug_files;
	for (size_t i = 0; i < manifest->n_images; i++) {
		const struct vmop_manifest_image *image = &manifest->images[i];
		archive->items[i] = (struct vmop_file_answer){
			.ref = image->ref,
			.file = name_of(manifest, image->file),
			.reason = image->reason ? vmop_file_reason(image->reason) : NULL,
			.debug_files = debug,
			.n_debug_files = image->n_debug,
		};
		for (size_t d = 0; d < image->n_debug; d++)
			*debug++ = name_of(manifest, image->debug[d]);
	}
	vmop_file_answers_sort(archive->items, manifest->n_images);
	archive->answers =
		(struct vmop_file_answers){archive->fd, archive->items, manifest->n_images};
	return NULL;
}

static int compare_sources(const void *a, const void *b)
{
	const struct vmop_manifest_source *x = a, *y = b;
	int order = strcmp(x->path, y->path);
	return order ? order : strcmp(x->root, y->root);
}

struct vmop_error *vmop_archive_open(const char *path, struct vmop_archive **ret)
{
	struct vmop_archive *archive = calloc(1, sizeof(*archive));
	if (!archive)
		return &vmop_error_no_memory;
	archive->users = 1;
	archive->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct vmop_error *err = archive->fd < 0 ? no_archive(path) : NULL;
	if (!err && asprintf(&archive->session_dir, "%s/%s", path,
			     vmop_member_kind_folder(VMOP_MEMBER_SESSION)) < 0) {
		archive->session_dir = NULL;
		err = &vmop_error_no_memory;
	}
	if (!err) {
		err = read_manifest(archive);
		err = err ? vmop_error_prefix(err, "archive:%s", path) : make_answers(archive);
	}
	if (err) {
		vmop_archive_release(archive);
		return err;
	}
	struct vmop_manifest *manifest = &archive->manifest;
	if (manifest->n_sources)
		qsort(manifest->sources, manifest->n_sources, sizeof(*manifest->sources),
		      compare_sources);
	vmop_time_zone_use(manifest->time_zone);
	*ret = archive;
	return NULL;
}

struct vmop_archive *vmop_archive_share(struct vmop_archive *archive)
{
	if (archive)
		archive->users++;
	return archive;
}

void vmop_archive_release(struct vmop_archive *archive)
{
	if (!archive || --archive->users)
		return;
	if (archive->fd >= 0)
		close(archive->fd);
	vmop_manifest_deinit(&archive->manifest);
	free(archive->session_dir);
	free(archive->items);
	free(archive->debug_files);
	free(archive);
}

const char *vmop_archive_session_dir(const struct vmop_archive *archive)
{
	return archive->session_dir;
}

const char *vmop_archive_session_of(const struct vmop_archive *archive, const char *path)
{
	const struct vmop_manifest *manifest = &archive->manifest;
	for (size_t i = 0; i < manifest->n_members; i++) {
		const struct vmop_member *member = &manifest->members[i];
		if (member->kind == VMOP_MEMBER_SESSION && !strcmp(member->path, path))
			return strchr(member->name, '/') + 1;
	}
	return NULL;
}

const struct vmop_file_answers *vmop_archive_answers(const struct vmop_archive *archive)
{
	return &archive->answers;
}

int vmop_archive_open_source(const struct vmop_archive *archive, const char *path, const char *root,
			     const char **ret_reason)
{
	const struct vmop_manifest *manifest = &archive->manifest;
	const struct vmop_manifest_source wanted = {.path = path, .root = root ? root : ""};
	const struct vmop_manifest_source *source =
		manifest->n_sources ? bsearch(&wanted, manifest->sources, manifest->n_sources,
					      sizeof(wanted), compare_sources)
				    : NULL;
	int fd = -1;
	*ret_reason = source && source->reason ? source->reason : not_archived;
	if (!source || source->file == VMOP_NO_MEMBER)
		return -1;
	struct vmop_error *err =
		vmop_io_open_regular(archive->fd, name_of(manifest, source->file),
				     VMOP_IO_NO_FOLLOW | VMOP_IO_IN_ROOT, INT64_MAX, &fd);
	if (err)
		*ret_reason = unreadable;
	vmop_error_destroy(err);
	return err ? -1 : fd;
}
