// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/xen-mark.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/run-dir.h"

bool vmop_xen_is_marked(void)
{
	_cleanup_free_ char *path = vmop_run_path(VMOP_XEN_SESSION_MARK);
	return path && access(path, F_OK) == 0;
}

struct vmop_error *vmop_xen_mark(void)
{
	_cleanup_free_ char *path = vmop_run_path(VMOP_XEN_SESSION_MARK);
	if (!path)
		return &vmop_error_no_memory;
	struct vmop_error *err = vmop_run_dir_make();
	if (err)
		return err;
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	return fd < 0 ? vmop_error_os(errno, "%s", path) : NULL;
}

void vmop_xen_unmark(void)
{
	_cleanup_free_ char *path = vmop_run_path(VMOP_XEN_SESSION_MARK);
	if (path)
		unlink(path);
}
