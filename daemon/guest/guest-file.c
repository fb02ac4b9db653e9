// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/guest-file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"

/* The two ways to name a file: by its struct file, or by the handle of its pages. */
struct way {
	struct vmop_error *(*read)(struct vmop_guest *guest, uint64_t handle, uint64_t offset,
				   void *buf, size_t len_bytes, size_t *ret_read);
	struct vmop_error *(*size)(struct vmop_guest *guest, uint64_t handle, uint64_t *ret);
};

static struct vmop_error *copy_content(struct vmop_guest *guest, const struct way *way,
				       uint64_t handle, uint64_t size, int fd)
{
	static const size_t piece = 1 << 20;
	struct vmop_error *err = NULL;
	_cleanup_free_ char *buf = malloc(piece);
	if (!buf)
		return &vmop_error_no_memory;
	for (uint64_t at = 0; at < size && !err; at += piece) {
		size_t len = size - at < piece ? (size_t)(size - at) : piece;
		err = way->read(guest, handle, at, buf, len, NULL);
		if (!err && vmop_io_write_full(fd, buf, len) < 0)
			err = vmop_error_os(errno, "memfd");
	}
	return err;
}

static struct vmop_error *copy(struct vmop_guest *guest, const struct way *way, uint64_t handle,
			       int *ret_fd)
{
	uint64_t size;
	struct vmop_error *err = way->size(guest, handle, &size);
	if (err)
		return err;
	if (size > VMOP_GUEST_FILE_MAX_BYTES)
		return vmop_error_new(VMOP_ERROR_LIMIT, "larger than %u bytes",
				      VMOP_GUEST_FILE_MAX_BYTES);
	_cleanup_close_ int fd = memfd_create("vmop-guest-file", MFD_CLOEXEC);
	if (fd < 0)
		return vmop_error_os(errno, "memfd");
	err = copy_content(guest, way, handle, size, fd);
	if (!err)
		*ret_fd = vmop_steal_fd(&fd);
	return err;
}

struct vmop_error *vmop_guest_file_copy(struct vmop_guest *guest, uint64_t file, int *ret_fd)
{
	static const struct way way = {vmop_guest_read_file, vmop_guest_file_size};
	return copy(guest, &way, file, ret_fd);
}

struct vmop_error *vmop_guest_file_copy_mapping(struct vmop_guest *guest, uint64_t mapping,
						int *ret_fd)
{
	static const struct way way = {vmop_guest_read_mapping, vmop_guest_mapping_size};
	return copy(guest, &way, mapping, ret_fd);
}

struct vmop_symtab *vmop_guest_file_symbols(int fd, const struct vmop_build_id *build_id,
					    bool *ret_is_gone)
{
	struct vmop_symtab *symtab = NULL;
	struct vmop_build_id found = {0};
	struct vmop_error *err = NULL;
	if (build_id->len_bytes)
		err = vmop_build_id_of_fd(fd, "a guest's file", &found);
	*ret_is_gone = !err && !vmop_build_id_equal(&found, build_id);
	if (!err && !*ret_is_gone)
		err = vmop_symtab_read_elf(fd, "a guest's file", 0, &symtab);
	vmop_error_destroy(err);
	return symtab;
}
