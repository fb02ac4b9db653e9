// SPDX-License-Identifier: GPL-2.0-or-later
/* An ELF file that may be the one looked for: opened, with its build-id.  Inside libsym only. */
#ifndef VMOP_LIBSYM_IMAGE_FILE_H
#define VMOP_LIBSYM_IMAGE_FILE_H

#include "libsym/build-id.h"
#include "libsym/elf-file.h"

struct vmop_image_file {
	int fd;
	char *path; /* as it was opened */
	struct vmop_elf *elf;
	struct vmop_build_id build_id;
};

/* root_fd as for vmop_elf_open_path.  budget pays for all that is read, and outlives *ret. */
struct vmop_error *vmop_image_file_open(int root_fd, const char *path,
					struct vmop_sym_budget *budget,
					struct vmop_image_file **ret);
/* fd is taken, also on error. */
struct vmop_error *vmop_image_file_open_fd(int fd, const char *path, struct vmop_sym_budget *budget,
					   struct vmop_image_file **ret);
void vmop_image_file_close(struct vmop_image_file *file); /* NULL is allowed */

static inline void vmop_image_file_cleanup(struct vmop_image_file **file)
{
	vmop_image_file_close(*file);
}

/*
 * The name in .gnu_debuglink (a heap block that the caller frees; NULL, without an error: none) and
 * the CRC-32 of the file it means.
 */
struct vmop_error *vmop_image_file_debug_link(const struct vmop_image_file *file, char **ret_name,
					      uint32_t *ret_crc);

/*
 * Whether all of the file has that CRC-32 (false also where the build has no liblzma).  One file
 * gets a half of what the budget has left to be read: *ret_too_costly is set, and nothing read,
 * where the file has more.
 */
bool vmop_image_file_has_crc(const struct vmop_image_file *file, uint32_t crc,
			     bool *ret_too_costly);

#endif
