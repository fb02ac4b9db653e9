// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/module-files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"

enum { DEPTH_MAX = 16, ENTRIES_MAX = 1 << 17 };

/* A file, and the number of its folder in the order of the search. */
struct found {
	struct vmop_module_file file;
	size_t folder;
};

struct vmop_module_files {
	int root_fd;
	char *const *folders;
	size_t n_folders;
	bool is_listed;
	size_t entries_left;
	struct vmop_module_file *files; /* n, by name, then in the order of the search */
	struct found *found;		/* n, while they are listed */
	size_t n, capacity;
};

struct vmop_error *vmop_module_files_create(int root_fd, char *const *folders, size_t n,
					    struct vmop_module_files **ret)
{
	struct vmop_module_files *files = calloc(1, sizeof(*files));
	if (!files)
		return &vmop_error_no_memory;
	*files = (struct vmop_module_files){.root_fd = root_fd,
					    .folders = folders,
					    .n_folders = n,
					    .entries_left = ENTRIES_MAX};
	*ret = files;
	return NULL;
}

static void free_file(struct vmop_module_file *file)
{
	free(file->path);
	free(file->name);
}

void vmop_module_files_destroy(struct vmop_module_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < files->n && files->found; i++)
		free_file(&files->found[i].file);
	for (size_t i = 0; i < files->n && files->files; i++)
		free_file(&files->files[i]);
	free(files->found);
	free(files->files);
	free(files);
}

/* Return the length of a file's name without the suffix of a module, or 0. */
static size_t stem_bytes(const char *name)
{
	static const char *const suffixes[] = {".ko", ".ko.xz", ".ko.zst", ".ko.gz"};
	size_t len = strlen(name);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t n = strlen(suffixes[i]);
		if (len > n && !strcmp(name + len - n, suffixes[i]))
			return len - n;
	}
	return 0;
}

/* Copy a name as the kernel has it. NULL: out of memory. */
static char *kernel_name(const char *name, size_t len)
{
	char *copy = strndup(name, len);
	for (char *c = copy; c && *c; c++)
		if (*c == '-')
			*c = '_';
	return copy;
}

static struct vmop_error *add(struct vmop_module_files *files, size_t folder, const char *path,
			      const char *name, size_t stem)
{
	struct found found = {
		.folder = folder,
		.file = {.root_fd = folder < files->n_folders ? AT_FDCWD : files->root_fd,
			 .path = strdup(path),
			 .name = kernel_name(name, stem)}};
	if (!found.file.path || !found.file.name ||
	    !vmop_array_reserve(files->found, files->capacity, files->n + 1)) {
		free_file(&found.file);
		return &vmop_error_no_memory;
	}
	files->found[files->n++] = found;
	return NULL;
}

/* A folder that is listed. */
struct listing {
	struct vmop_module_files *files;
	size_t folder;	  /* number */
	const char *path; /* of the directory */
	int parent_fd;
	const char *name; /* of the directory, below parent_fd */
	unsigned depth;
	int flags; /* of open(2) */
};

static struct vmop_error *list(const struct listing *listing);

/* A link is a file, if anything: folders behind links are not listed. */
static struct vmop_error *take_entry(const struct listing *listing, int fd,
				     const struct dirent *entry)
{
	_cleanup_free_ char *path = NULL;
	size_t stem = stem_bytes(entry->d_name);
	bool can_be_folder = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
	bool is_hidden = entry->d_name[0] == '.';
	if (is_hidden || (!stem && (!can_be_folder || listing->depth == DEPTH_MAX)))
		return NULL;
	if (asprintf(&path, "%s/%s", listing->path, entry->d_name) < 0)
		return &vmop_error_no_memory;
	if (stem)
		return add(listing->files, listing->folder, path, entry->d_name, stem);
	const struct listing below = {.files = listing->files,
				      .folder = listing->folder,
				      .path = path,
				      .parent_fd = fd,
				      .name = entry->d_name,
				      .depth = listing->depth + 1,
				      .flags = O_NOFOLLOW};
	return list(&below);
}

static struct vmop_error *list(const struct listing *listing)
{
	_cleanup_closedir_ DIR *dir =
		vmop_io_open_dir(listing->parent_fd, listing->name, O_NONBLOCK | listing->flags);
	struct vmop_error *err = NULL;
	struct dirent *entry;
	while (dir && !err && listing->files->entries_left && (entry = readdir(dir))) {
		listing->files->entries_left--;
		err = take_entry(listing, dirfd(dir), entry);
	}
	return err;
}

/* Files of one folder in the order of their paths, because readdir(3) has none. */
static int compare_found(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int names = strcmp(x->file.name, y->file.name);
	if (names)
		return names;
	if (x->folder != y->folder)
		return x->folder < y->folder ? -1 : 1;
	return strcmp(x->file.path, y->file.path);
}

static struct vmop_error *list_all(struct vmop_module_files *files)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; i <= files->n_folders && !err; i++) {
		bool is_root = i == files->n_folders;
		const char *path = is_root ? "/lib/modules" : files->folders[i];
		bool is_below = is_root && files->root_fd != AT_FDCWD;
		const struct listing listing = {.files = files,
						.folder = i,
						.path = path,
						.parent_fd = is_below ? files->root_fd : AT_FDCWD,
						.name = is_below ? path + 1 : path};
		err = list(&listing);
	}
	if (err)
		return err;
	files->files = calloc(files->n + 1, sizeof(*files->files));
	if (!files->files)
		return &vmop_error_no_memory;
	if (files->n)
		qsort(files->found, files->n, sizeof(*files->found), compare_found);
	for (size_t i = 0; i < files->n; i++)
		files->files[i] = files->found[i].file;
	free(vmop_steal(&files->found));
	return NULL;
}

/* Return the number of files whose name is less than name, or equal to it with or_equal. */
static size_t count_before(const struct vmop_module_files *files, const char *name, bool or_equal)
{
	size_t low = 0, high = files->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(files->files[middle].name, name);
		if (order < 0 || (or_equal && !order))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct vmop_error *vmop_module_files_find(struct vmop_module_files *files, const char *name,
					  const struct vmop_module_file **ret, size_t *ret_n)
{
	size_t len = name ? strlen(name) : 0;
	struct vmop_error *err = NULL;
	*ret = NULL;
	*ret_n = 0;
	if (len < 3 || name[0] != '[' || name[len - 1] != ']')
		return NULL;
	_cleanup_free_ char *wanted = kernel_name(name + 1, len - 2);
	if (!wanted)
		return &vmop_error_no_memory;
	if (!files->is_listed)
		err = list_all(files);
	files->is_listed = true;
	if (err || !files->files)
		return err;
	size_t first = count_before(files, wanted, false);
	*ret = files->files + first;
	*ret_n = count_before(files, wanted, true) - first;
	return NULL;
}
