// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The file of an image, as a process has it mapped. Other users choose these files, and can replace
 * them. A read can block for ever, so it belongs on a thread of its own (readers.h).
 */
#ifndef VMOP_DAEMON_HOST_IMAGE_FILE_H
#define VMOP_DAEMON_HOST_IMAGE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/host/image.h"
#include "libutil/error.h"

/* The location of the file, in a copy for another thread. */
struct vmop_image_file {
	char *root, *name; /* root: the parent of /proc */
	uint32_t pid;	   /* of a process that has it mapped, and the mapping */
	uint64_t map_start, map_end;
	uint64_t inode; /* 0: not known */
	uint64_t place; /* the device, for struct vmop_read_job */
	/* Open only the file with that inode, which must be known, and no link. */
	bool is_strict;
};

/* Copy the location of image's file to *ret. False: out of memory; deinit is not needed then. */
bool vmop_image_file_init(struct vmop_image_file *ret, const struct vmop_image *image,
			  const char *root);
void vmop_image_file_deinit(struct vmop_image_file *file);

/*
 * Open the file by its mapping, else by its path in the process's root, else by its path here. Only
 * a regular file is opened, and by path only the one with the right inode. *ret_fd is the caller's.
 */
struct vmop_error *vmop_image_file_open(const struct vmop_image_file *file, int *ret_fd);

#endif
