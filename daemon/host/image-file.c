// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/image-file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libutil/io.h"

/* No program is larger. */
#define IMAGE_FILE_MAX_BYTES (1ull << 40)

bool vmop_image_file_init(struct vmop_image_file *ret, const struct vmop_image *image,
			  const char *root)
{
	*ret = (struct vmop_image_file){
		.root = strdup(root),
		.name = strdup(image->name),
		.pid = image->pid,
		.map_start = image->map_start,
		.map_end = image->map_end,
		.inode = image->inode,
		.place = (uint64_t)image->dev_major << 32 | image->dev_minor,
	};
	if (ret->root && ret->name)
		return true;
	vmop_image_file_deinit(ret);
	return false;
}

void vmop_image_file_deinit(struct vmop_image_file *file)
{
	free(file->root);
	free(file->name);
	file->root = file->name = NULL;
}

/* Open the file at path if it still has its inode. Devices may differ: some file systems have two.
 */
static struct vmop_error *open_by_path(const struct vmop_image_file *file, const char *path,
				       int *ret_fd)
{
	struct stat st;
	struct vmop_error *err =
		vmop_io_open_regular(AT_FDCWD, path, file->is_strict ? VMOP_IO_NO_FOLLOW : 0,
				     IMAGE_FILE_MAX_BYTES, ret_fd);
	if (err || (!file->inode && !file->is_strict))
		return err;
	if (fstat(*ret_fd, &st) == 0 && st.st_ino == file->inode)
		return NULL;
	close(*ret_fd);
	*ret_fd = -1;
	return vmop_error_os(ENOENT, "%s: another file", path);
}

/*
 * Return whether the open file at a link of map_files is that of the image: the process may have
 * another file in that place by now. On some file systems only the name shows this.
 */
static bool is_file(const struct vmop_image_file *file, const char *link, int fd)
{
	struct stat st;
	char target[PATH_MAX];
	if (!file->inode || (fstat(fd, &st) == 0 && st.st_ino == file->inode))
		return true;
	ssize_t len = readlink(link, target, sizeof(target) - 1);
	size_t name_len = strlen(file->name);
	return len > 0 && (size_t)len >= name_len && !strncmp(target, file->name, name_len) &&
	       ((size_t)len == name_len || target[name_len] == ' '); /* " (deleted)" */
}

/* Open the file by its mapping. */
static struct vmop_error *open_by_mapping(const struct vmop_image_file *file, int *ret_fd)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/proc/%u/map_files/%" PRIx64 "-%" PRIx64, file->root,
		 file->pid, file->map_start, file->map_end);
	struct vmop_error *err =
		vmop_io_open_regular(AT_FDCWD, path, 0, IMAGE_FILE_MAX_BYTES, ret_fd);
	if (err || is_file(file, path, *ret_fd))
		return err;
	close(*ret_fd);
	*ret_fd = -1;
	return vmop_error_os(ENOENT, "%s: another file", path);
}

struct vmop_error *vmop_image_file_open(const struct vmop_image_file *file, int *ret_fd)
{
	char path[PATH_MAX];
	struct vmop_error *err = open_by_mapping(file, ret_fd);
	if (!err)
		return NULL;
	vmop_error_destroy(err);
	int n = snprintf(path, sizeof(path), "%s/proc/%u/root%s", file->root, file->pid,
			 file->name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return vmop_error_os(ENAMETOOLONG, "%s", file->name);
	err = open_by_path(file, path, ret_fd);
	if (!err || err->os_errno != ENOENT)
		return err;
	vmop_error_destroy(err); /* the process has ended */
	n = snprintf(path, sizeof(path), "%s%s", file->root, file->name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return vmop_error_os(ENAMETOOLONG, "%s", file->name);
	return open_by_path(file, path, ret_fd);
}
