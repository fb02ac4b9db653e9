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

void vmop_cache_file_replace(int dir_fd, const char *name, const void *bytes, size_t len_bytes)
{
	char part[VMOP_CACHE_NAME_BYTES + 32];
	snprintf(part, sizeof(part), "%s.%ld" VMOP_CACHE_PART_SUFFIX, name, (long)getpid());
	_cleanup_close_ int fd =
		openat(dir_fd, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (vmop_io_write_full(fd, bytes, len_bytes) != (ssize_t)len_bytes ||
	    renameat(dir_fd, part, dir_fd, name))
		unlinkat(dir_fd, part, 0);
}
