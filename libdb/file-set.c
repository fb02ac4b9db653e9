// SPDX-License-Identifier: GPL-2.0-or-later
#include "libdb/file-set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libutil/cleanup.h"

static bool is_trusted(const struct stat *st)
{
	return vmop_uid_is_trusted(st->st_uid) && !vmop_others_may_write(st);
}

static struct vmop_error *look_beside(struct vmop_file_set *set, const struct vmop_dir *dir,
				      const char *name, const char *suffix, bool *ret_holds_data)
{
	_cleanup_free_ char *beside = NULL;
	struct stat st;
	*ret_holds_data = false;
	if (asprintf(&beside, "%s%s", name, suffix) < 0) {
		beside = NULL;
		return &vmop_error_no_memory;
	}
	if (fstatat(dir->fd, beside, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return NULL;
	if (!S_ISREG(st.st_mode))
		set->not_regular = suffix;
	else
		*ret_holds_data = st.st_size > 0;
	if (!is_trusted(&st))
		set->is_trusted = false;
	return NULL;
}

struct vmop_error *vmop_file_set_init(struct vmop_file_set *ret, const struct vmop_dir *dir,
				      const char *name, const char *path)
{
	struct stat st;
	bool has_shm;
	*ret = (struct vmop_file_set){.fd = -1, .is_trusted = dir->is_safe};
	ret->fd = openat(dir->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (ret->fd < 0 && errno != ENOENT)
		return vmop_error_os(errno, "%s", path);
	if (ret->fd >= 0) {
		if (fstat(ret->fd, &st) < 0)
			return vmop_error_os(errno, "%s", path);
		if (!S_ISREG(st.st_mode))
			return vmop_error_new(VMOP_ERROR_CORRUPT,
					      "%s: not a session file of vmop: not a regular file",
					      path);
		if (!is_trusted(&st))
			ret->is_trusted = false;
	}
	struct vmop_error *err = look_beside(ret, dir, name, "-shm", &has_shm);
	if (!err)
		err = look_beside(ret, dir, name, "-wal", &ret->has_wal);
	if (!err)
		err = look_beside(ret, dir, name, "-journal", &ret->has_journal);
	return err;
}

void vmop_file_set_deinit(struct vmop_file_set *set)
{
	vmop_cleanup_close(&set->fd);
	set->fd = -1;
}

struct vmop_error *vmop_file_set_check(const struct vmop_file_set *set, const char *path)
{
	if (set->not_regular)
		return vmop_error_new(VMOP_ERROR_CANT, "%s%s: not a regular file; remove it", path,
				      set->not_regular);
	if (!set->is_trusted)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "%s: another user can change it or a file beside it", path);
	return NULL;
}
