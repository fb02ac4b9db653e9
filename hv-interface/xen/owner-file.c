// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/xen/owner-file.h"

#include <fcntl.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/dirs/run-dir.h"

bool vmop_xen_owner_file_exists(void)
{
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir = VMOP_DIR_NONE;
	vmop_error_destroy(vmop_run_dir_open(&dir));
	return dir.fd >= 0 &&
	       faccessat(dir.fd, VMOP_XEN_OWNER_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

struct vmop_error *vmop_xen_owner_file_create(void)
{
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir = VMOP_DIR_NONE;
	_cleanup_close_ int fd = -1;
	struct vmop_error *err = vmop_run_dir_make(&dir);
	if (!err)
		err = vmop_run_open(dir.fd, VMOP_XEN_OWNER_FILE, O_WRONLY | O_CREAT, 0644, &fd);
	return err;
}

void vmop_xen_owner_file_remove(void)
{
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir = VMOP_DIR_NONE;
	vmop_error_destroy(vmop_run_dir_open(&dir));
	if (dir.fd >= 0)
		unlinkat(dir.fd, VMOP_XEN_OWNER_FILE, 0);
}
