// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/cache/cache-trim.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"

#define DAY_S (24 * 3600)
#define PART_S 3600

/* The most files that one call looks at. */
#define MAX_FILES 65536

struct cached_file {
	char *name; /* heap */
	uint64_t len_bytes;
	time_t used_s;
};

struct cached_files {
	struct cached_file *items;
	size_t n, capacity;
	uint64_t len_bytes;
};

void vmop_cache_touch(int fd, const struct stat *st)
{
	if (time(NULL) - st->st_mtime > DAY_S)
		futimens(fd, NULL);
}

static void deinit(struct cached_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		free(files->items[i].name);
	free(files->items);
}

static bool add(struct cached_files *files, const char *name, const struct stat *st)
{
	if (files->n == files->capacity) {
		size_t capacity = files->capacity ? 2 * files->capacity : 256;
		struct cached_file *grown = reallocarray(files->items, capacity, sizeof(*grown));
		if (!grown)
			return false;
		files->items = grown;
		files->capacity = capacity;
	}
	char *copy = strdup(name);
	if (!copy)
		return false;
	files->items[files->n++] = (struct cached_file){copy, (uint64_t)st->st_size, st->st_mtime};
	files->len_bytes += (uint64_t)st->st_size;
	return true;
}

static bool is_part(const char *name)
{
	size_t len = strlen(name), suffix = strlen(VMOP_CACHE_PART_SUFFIX);
	return len > suffix && !strcmp(name + len - suffix, VMOP_CACHE_PART_SUFFIX);
}

static void list(int dir_fd, DIR *dir, struct cached_files *files)
{
	const struct dirent *entry;
	struct stat st;
	time_t now_s = time(NULL);
	while (files->n < MAX_FILES && (entry = readdir(dir))) {
		if (fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		if (is_part(entry->d_name)) {
			if (now_s - st.st_mtime > PART_S)
				unlinkat(dir_fd, entry->d_name, 0);
			continue;
		}
		if (!add(files, entry->d_name, &st))
			return;
	}
}

static int compare_age(const void *a, const void *b)
{
	const struct cached_file *x = a, *y = b;
	return (x->used_s > y->used_s) - (x->used_s < y->used_s);
}

void vmop_cache_trim(int dir_fd, uint64_t max_bytes)
{
	struct cached_files files = {0};
	_cleanup_closedir_ DIR *dir = vmop_io_open_dir(dir_fd, ".", 0);
	if (!dir)
		return;
	list(dir_fd, dir, &files);
	if (files.len_bytes > max_bytes) {
		qsort(files.items, files.n, sizeof(*files.items), compare_age);
		for (size_t i = 0; i < files.n && files.len_bytes > max_bytes; i++) {
			unlinkat(dir_fd, files.items[i].name, 0);
			files.len_bytes -= files.items[i].len_bytes;
		}
	}
	deinit(&files);
}
