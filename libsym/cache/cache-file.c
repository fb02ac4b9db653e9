// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/cache/cache-file.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "libsym/cache/cache-trim.h"
#include "libutil/cleanup.h"
#include "libutil/dirs/safe-dir.h"
#include "libutil/io.h"

int vmop_cache_file_open(int dir_fd, const char *name, uint64_t max_bytes, struct stat *ret)
{
	_cleanup_close_ int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, ret) || !S_ISREG(ret->st_mode) ||
	    !vmop_uid_is_trusted(ret->st_uid) || vmop_others_may_write(ret) ||
	    (uint64_t)ret->st_size > max_bytes)
		return -1;
	int opened = fd;
	fd = -1;
	return opened;
}

void vmop_cache_writer_init(struct vmop_cache_writer *writer, int dir_fd, const char *name)
{
	writer->dir_fd = dir_fd;
	snprintf(writer->name, sizeof(writer->name), "%s", name);
	snprintf(writer->part, sizeof(writer->part), "%s.%ld" VMOP_CACHE_PART_SUFFIX, name,
		 (long)getpid());
	writer->fd = openat(dir_fd, writer->part,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static void give_up(struct vmop_cache_writer *writer)
{
	unlinkat(writer->dir_fd, writer->part, 0);
	close(writer->fd);
	writer->fd = -1;
}

void vmop_cache_writer_put(struct vmop_cache_writer *writer, const void *bytes, size_t len_bytes,
			   uint64_t at)
{
	if (writer->fd < 0)
		return;
	if (lseek(writer->fd, (off_t)at, SEEK_SET) < 0 ||
	    vmop_io_write_full(writer->fd, bytes, len_bytes) != (ssize_t)len_bytes)
		give_up(writer);
}

void vmop_cache_writer_finish(struct vmop_cache_writer *writer)
{
	if (writer->fd < 0)
		return;
	if (renameat(writer->dir_fd, writer->part, writer->dir_fd, writer->name))
		unlinkat(writer->dir_fd, writer->part, 0);
	close(writer->fd);
	writer->fd = -1;
}

void vmop_cache_file_replace(int dir_fd, const char *name, const void *bytes, size_t len_bytes)
{
	struct vmop_cache_writer writer;
	vmop_cache_writer_init(&writer, dir_fd, name);
	vmop_cache_writer_put(&writer, bytes, len_bytes, 0);
	vmop_cache_writer_finish(&writer);
}
