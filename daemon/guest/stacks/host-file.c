// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/stacks/host-file.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "daemon/guest/guest-file.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"
#include "libutil/io.h"

#define DEBUG_DIRECTORY "usr/lib/debug/.build-id"

bool vmop_host_file_is_path_allowed(const char *path)
{
	static const char *const directories[] = {"/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/"};
	if (strlen(path) >= VMOP_HOST_FILE_PATH_BYTES || strstr(path, "/../"))
		return false;
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
		if (strncmp(path, directories[i], strlen(directories[i])) == 0)
			return true;
	return false;
}

/* Return a descriptor of the file if it has the build-id, or -1. */
static int open_if_same(int root_fd, const char *path, const struct vmop_build_id *id)
{
	_cleanup_close_ int fd = -1;
	struct vmop_build_id found;
	struct vmop_error *err = vmop_io_open_regular(root_fd, path, VMOP_IO_IN_ROOT,
						      VMOP_GUEST_FILE_MAX_BYTES, &fd);
	if (!err)
		err = vmop_build_id_of_fd(fd, path, &found);
	bool is_same = !err && vmop_build_id_equal(&found, id);
	vmop_error_destroy(err);
	return is_same ? vmop_steal_fd(&fd) : -1;
}

static int open_below(int root_fd, const char *directory, const struct vmop_build_id *id,
		      const char *suffix)
{
	char hex[2 * VMOP_BUILD_ID_MAX_BYTES + 1], path[64 + sizeof(hex)];
	if (id->len_bytes < 2 || id->len_bytes > VMOP_BUILD_ID_MAX_BYTES)
		return -1;
	vmop_build_id_format(id, hex);
	snprintf(path, sizeof(path), "%s/%.2s/%s%s", directory, hex, hex + 2, suffix);
	return open_if_same(root_fd, path, id);
}

int vmop_host_file_open_debug(int root_fd, const struct vmop_build_id *id)
{
	return open_below(root_fd, DEBUG_DIRECTORY, id, ".debug");
}

int vmop_host_file_open(int root_fd, const struct vmop_build_id *id, const char *known_path)
{
	int fd = open_below(root_fd, DEBUG_DIRECTORY, id, "");
	if (fd < 0)
		fd = open_below(root_fd, "usr/lib/.build-id", id, "");
	bool is_id = id->len_bytes > 0 && id->len_bytes <= VMOP_BUILD_ID_MAX_BYTES;
	if (fd < 0 && is_id && known_path && vmop_host_file_is_path_allowed(known_path))
		fd = open_if_same(root_fd, known_path + 1, id);
	return fd;
}
