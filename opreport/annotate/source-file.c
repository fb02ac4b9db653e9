// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/annotate/source-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* If memory runs out, HASH_ADD leaves the element's tbl NULL instead of ending the program. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "libsym/code.h"
#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/io.h"

struct vmop_source_name {
	const char *path;
	uint32_t number;
	UT_hash_handle hh;
};

static const char not_found[] = "not found here; --search-dirs names folders with it";
static const char elsewhere[] = "a file of a guest; --search-dirs names folders with a copy";

/* ---- paths ------------------------------------------------------------------ */

/* Remove the last part of a path that ends with a slash; nothing is before `begin`. */
static char *remove_last(char *begin, char *end)
{
	if (end > begin)
		end--;
	while (end > begin && end[-1] != '/')
		end--;
	return end;
}

char *vmop_source_path(const char *folder, const char *path)
{
	_cleanup_free_ char *joined = NULL;
	bool is_joined = path[0] != '/' && *folder;
	if (asprintf(&joined, "%s%s%s", is_joined ? folder : "", is_joined ? "/" : "", path) < 0)
		return NULL;
	char *plain = malloc(strlen(joined) + 2), *to = plain;
	if (!plain)
		return NULL;
	if (joined[0] == '/')
		*to++ = '/';
	char *begin = to;
	for (const char *from = joined, *next; *from; from = next) {
		size_t len = strcspn(from, "/");
		next = from + len + strspn(from + len, "/");
		if (!len || (len == 1 && *from == '.'))
			continue;
		/* A path cannot leave its root. */
		if (len == 2 && !strncmp(from, "..", 2)) {
			to = remove_last(begin, to);
			continue;
		}
		memcpy(to, from, len);
		to += len;
		*to++ = '/';
	}
	if (to > begin)
		to--;
	*to = '\0';
	return plain;
}

const char *vmop_source_strip(const struct vmop_words *base_dirs, const char *path)
{
	for (size_t i = 0; base_dirs && i < base_dirs->n; i++) {
		const char *base = base_dirs->items[i];
		size_t len = strlen(base);
		while (len > 1 && base[len - 1] == '/')
			len--;
		if (!strncmp(path, base, len) && (path[len] == '/' || base[len - 1] == '/'))
			return path + len + strspn(path + len, "/");
	}
	return path;
}

/* ---- the table -------------------------------------------------------------- */

struct vmop_error *vmop_sources_init(struct vmop_sources *sources,
				     const struct vmop_source_options *options,
				     struct vmop_result *result)
{
	*sources = (struct vmop_sources){
		.options = *options, .result = result, .left_bytes = VMOP_SOURCES_MAX_BYTES};
	if (!vmop_array_reserve(sources->files, sources->capacity, 1))
		return &vmop_error_no_memory;
	sources->files[sources->n++] = (struct vmop_source_file){
		.path = "", .is_loaded = true, .why = "the code has no line"};
	return NULL;
}

void vmop_sources_deinit(struct vmop_sources *sources)
{
	struct vmop_source_name *name, *next;
	HASH_ITER (hh, sources->names, name, next) {
		HASH_DEL(sources->names, name);
		free(name);
	}
	for (size_t i = 0; i < sources->n; i++) {
		free(sources->files[i].lines);
		free(sources->files[i].text);
	}
	free(sources->files);
	*sources = (struct vmop_sources){0};
}

static struct vmop_error *add(struct vmop_sources *sources, size_t image, const char *path,
			      struct vmop_source_name **ret)
{
	struct vmop_source_name *name = calloc(1, sizeof(*name));
	const char *kept = vmop_arena_name(&sources->result->catalog.arena, path);
	if (!name || !kept || sources->n >= UINT32_MAX ||
	    !vmop_array_reserve(sources->files, sources->capacity, sources->n + 1)) {
		free(name);
		return &vmop_error_no_memory;
	}
	name->path = kept;
	name->number = (uint32_t)sources->n;
	HASH_ADD_KEYPTR(hh, sources->names, name->path, strlen(name->path), name);
	if (!name->hh.tbl) {
		free(name);
		return &vmop_error_no_memory;
	}
	sources->files[sources->n++] = (struct vmop_source_file){.path = kept, .image = image};
	*ret = name;
	return NULL;
}

struct vmop_error *vmop_sources_intern(struct vmop_sources *sources, size_t image,
				       const struct vmop_line *line, uint32_t *ret)
{
	struct vmop_source_name *name;
	*ret = 0;
	if (!line->path || !line->number)
		return NULL;
	_cleanup_free_ char *path = vmop_source_path(line->folder, line->path);
	if (!path)
		return &vmop_error_no_memory;
	HASH_FIND_STR(sources->names, path, name);
	struct vmop_error *err = name ? NULL : add(sources, image, path, &name);
	if (!err)
		*ret = name->number;
	return err;
}

/* ---- reading ---------------------------------------------------------------- */

/* Open a file below a folder; -1: it is missing, or must not be read. */
static int open_below(const char *folder, const char *path)
{
	int fd = -1;
	_cleanup_close_ int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -1;
	path += strspn(path, "/");
	if (*path)
		vmop_error_destroy(vmop_io_open_regular(dir, path, VMOP_IO_IN_ROOT,
							VMOP_SOURCE_MAX_BYTES, &fd));
	return fd;
}

static int search_dirs(const struct vmop_sources *sources, const char *path)
{
	const struct vmop_words *dirs = sources->options.search_dirs;
	const char *stripped = vmop_source_strip(sources->options.base_dirs, path);
	const char *slash = strrchr(path, '/');
	int fd = -1;
	for (size_t i = 0; i < dirs->n && fd < 0; i++)
		fd = open_below(dirs->items[i], stripped);
	for (size_t i = 0; i < dirs->n && fd < 0; i++)
		fd = open_below(dirs->items[i], slash ? slash + 1 : path);
	return fd;
}

/* Open the file at its own path, under the root of the image's container or under the user's. */
static int open_at_path(const struct vmop_sources *sources, const struct vmop_image_ref *ref,
			const char *path)
{
	const char *root = sources->options.root;
	int fd = -1;
	if (path[0] != '/')
		return -1;
	if (ref->root && !root)
		fd = open_below(ref->root, path);
	return fd < 0 ? open_below(root ? root : "/", path) : fd;
}

int vmop_source_open(const struct vmop_sources *sources, const struct vmop_source_file *file,
		     const char **ret_why)
{
	const struct vmop_image_ref ref = vmop_symbols_ref(sources->result->symbols, file->image);
	bool searches = sources->options.search_dirs && sources->options.search_dirs->n;
	int fd = -1;
	if (sources->options.archive && !searches)
		return vmop_archive_open_source(sources->options.archive, file->path, ref.root,
						ret_why);
	*ret_why = ref.is_elsewhere && !searches ? elsewhere : not_found;
	if (searches)
		fd = search_dirs(sources, file->path);
	else if (!ref.is_elsewhere)
		fd = open_at_path(sources, &ref, file->path);
	if (fd < 0)
		fd = vmop_source_from_debuginfod(vmop_symbols_resolver(sources->result->symbols),
						 &ref, file->path);
	return fd;
}

static struct vmop_error *split(struct vmop_source_file *file, size_t len_bytes)
{
	size_t n = 1;
	for (size_t i = 0; i < len_bytes; i++)
		n += file->text[i] == '\n';
	file->lines = calloc(n, sizeof(*file->lines));
	if (!file->lines)
		return &vmop_error_no_memory;
	for (char *line = file->text, *end = file->text + len_bytes; line < end;) {
		char *newline = memchr(line, '\n', (size_t)(end - line));
		file->lines[file->n_lines++] = line;
		if (newline)
			*newline = '\0';
		line = newline ? newline + 1 : end;
	}
	return NULL;
}

static struct vmop_error *read_source(struct vmop_sources *sources, struct vmop_source_file *file,
				      int fd)
{
	size_t max_bytes = sources->left_bytes < VMOP_SOURCE_MAX_BYTES ? sources->left_bytes
								       : VMOP_SOURCE_MAX_BYTES;
	size_t len_bytes;
	struct stat st;
	struct vmop_error *err =
		vmop_io_read_fd(fd, file->path, max_bytes, &file->text, &len_bytes);
	if (err) {
		file->why = err->code == VMOP_ERROR_LIMIT ? "too large" : "cannot be read";
		if (err == &vmop_error_no_memory)
			return err;
		vmop_error_destroy(err);
		return NULL;
	}
	sources->left_bytes -= len_bytes;
	if (memchr(file->text, '\0', len_bytes)) {
		file->why = "not a text file";
		return NULL;
	}
	const struct vmop_catalog *catalog = &sources->result->catalog;
	size_t session = vmop_catalog_image(catalog, file->image)->session;
	if (!fstat(fd, &st)) {
		file->device = st.st_dev;
		file->inode = st.st_ino;
		file->is_newer =
			(uint64_t)st.st_mtime * VMOP_NS_PER_S > catalog->sessions[session].start_ns;
	}
	return split(file, len_bytes);
}

struct vmop_error *vmop_sources_load(struct vmop_sources *sources, uint32_t number)
{
	struct vmop_source_file *file = &sources->files[number];
	if (file->is_loaded)
		return NULL;
	file->is_loaded = true;
	_cleanup_close_ int fd = vmop_source_open(sources, file, &file->why);
	if (fd < 0)
		return NULL;
	file->why = NULL;
	return read_source(sources, file, fd);
}

const char *vmop_source_line(const struct vmop_source_file *file, uint32_t line)
{
	return line && line <= file->n_lines ? file->lines[line - 1] : NULL;
}
