// SPDX-License-Identifier: GPL-2.0-or-later
/* An opened ELF file with its build-id, a candidate for an image. Inside libsym only. */
#ifndef VMOP_LIBSYM_ELF_IMAGE_FILE_H
#define VMOP_LIBSYM_ELF_IMAGE_FILE_H

#include "libsym/build-id.h"
#include "libsym/elf/elf-file.h"

struct vmop_image_file {
	int fd;
	char *path; /* as passed to open(2) */
	struct vmop_elf_file *elf;
	struct vmop_build_id build_id;
	uint64_t charged_bytes; /* memory of an unpacked copy, which fd is then */
};

/*
 * Open the file at path. root_fd is as in vmop_elf_open_path(). budget pays for every read and must
 * outlive *ret.
 */
struct vmop_error *vmop_image_file_open(int root_fd, const char *path,
					struct vmop_sym_budget *budget,
					struct vmop_image_file **ret);
/* Do the same for an open file. Takes ownership of fd, also on error. */
struct vmop_error *vmop_image_file_open_fd(int fd, const char *path, struct vmop_sym_budget *budget,
					   struct vmop_image_file **ret);
/*
 * Do the same for the file at path, which may be compressed as a whole (libsym/elf/unpack.h). A
 * damaged one is VMOP_ERROR_CORRUPT.
 */
struct vmop_error *vmop_image_file_open_packed(int root_fd, const char *path,
					       struct vmop_sym_budget *budget,
					       struct vmop_image_file **ret);
void vmop_image_file_close(struct vmop_image_file *file); /* NULL is allowed */

static inline void vmop_image_file_cleanup(struct vmop_image_file **file)
{
	vmop_image_file_close(*file);
}

/*
 * Read the file name in .gnu_debuglink and the CRC-32 of that file. The caller frees *ret_name,
 * which is NULL without an error if there is no link.
 */
struct vmop_error *vmop_image_file_debug_link(const struct vmop_image_file *file, char **ret_name,
					      uint32_t *ret_crc);

/*
 * Return whether the whole file has that CRC-32. Always false if the build has no liblzma. One file
 * may use half of the bytes that the budget has left; a larger file is not read, and
 * *ret_too_costly is set.
 */
bool vmop_image_file_has_crc(const struct vmop_image_file *file, uint32_t crc,
			     bool *ret_too_costly);

#endif
