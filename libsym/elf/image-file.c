// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/elf/image-file.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#ifdef HAVE_LZMA
#include <lzma.h>
#endif

#include "libsym/elf/unpack.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"

/* A file name and a checksum. */
#define MAX_LINK_BYTES 4096

struct vmop_error *vmop_image_file_open_fd(int fd, const char *path, struct vmop_sym_budget *budget,
					   struct vmop_image_file **ret)
{
	_cleanup_(vmop_image_file_cleanup) struct vmop_image_file *file = calloc(1, sizeof(*file));
	if (!file) {
		close(fd);
		return &vmop_error_no_memory;
	}
	file->fd = fd;
	file->path = strdup(path);
	if (!file->path)
		return &vmop_error_no_memory;
	struct vmop_error *err = vmop_elf_create(fd, file->path, budget, &file->elf);
	if (!err)
		err = vmop_build_id_of_elf(file->elf, &file->build_id);
	if (err)
		return err;
	*ret = vmop_steal(&file);
	return NULL;
}

struct vmop_error *vmop_image_file_open(int root_fd, const char *path,
					struct vmop_sym_budget *budget,
					struct vmop_image_file **ret)
{
	int fd;
	struct vmop_error *err = vmop_elf_open_path(root_fd, path, &fd);
	return err ? err : vmop_image_file_open_fd(fd, path, budget, ret);
}

/* Read the compressed file at fd and unpack it. */
static struct vmop_error *unpack(int fd, const char *path, struct vmop_sym_budget *budget,
				 struct vmop_unpacked *ret)
{
	struct stat status;
	if (fstat(fd, &status))
		return vmop_error_os(errno, "%s", path);
	uint64_t len_bytes = (uint64_t)status.st_size;
	if (!vmop_sym_budget_take_read(budget, len_bytes) ||
	    !vmop_sym_budget_take_memory(budget, len_bytes))
		return vmop_sym_budget_error(budget, path);
	_cleanup_free_ char *packed = malloc(len_bytes + 1);
	struct vmop_error *err = packed ? NULL : &vmop_error_no_memory;
	if (!err && vmop_io_pread_full(fd, packed, len_bytes, 0) != (ssize_t)len_bytes)
		err = vmop_error_new(VMOP_ERROR_CORRUPT, "%s: cannot be read", path);
	if (!err)
		err = vmop_unpack(packed, len_bytes, path, budget, ret);
	vmop_sym_budget_give_memory(budget, len_bytes);
	return err || ret->bytes
		       ? err
		       : vmop_error_new(VMOP_ERROR_CORRUPT, "%s: its compression is damaged", path);
}

/* Move the content into an unnamed file. */
static struct vmop_error *store(const struct vmop_unpacked *unpacked, const char *path, int *ret_fd)
{
	_cleanup_close_ int fd = memfd_create("module", MFD_CLOEXEC);
	if (fd < 0)
		return vmop_error_os(errno, "%s: memfd_create", path);
	ssize_t n = vmop_io_write_full(fd, unpacked->bytes, unpacked->len_bytes);
	if (n != (ssize_t)unpacked->len_bytes)
		return vmop_error_os(errno, "%s: a copy in memory", path);
	*ret_fd = vmop_steal_fd(&fd);
	return NULL;
}

static struct vmop_error *open_unpacked(int fd, const char *path, struct vmop_sym_budget *budget,
					struct vmop_image_file **ret)
{
	_cleanup_(vmop_unpacked_deinit) struct vmop_unpacked unpacked = {0};
	int copy_fd;
	struct vmop_error *err = unpack(fd, path, budget, &unpacked);
	if (!err)
		err = store(&unpacked, path, &copy_fd);
	uint64_t len_bytes = unpacked.len_bytes;
	vmop_unpacked_deinit(&unpacked);
	if (err)
		return err;
	/* The content's memory is charged once: it was freed, and no more is taken than that. */
	vmop_sym_budget_take_memory(budget, len_bytes);
	err = vmop_image_file_open_fd(copy_fd, path, budget, ret);
	if (err)
		vmop_sym_budget_give_memory(budget, len_bytes);
	else
		(*ret)->charged_bytes = len_bytes;
	return err;
}

struct vmop_error *vmop_image_file_open_packed(int root_fd, const char *path,
					       struct vmop_sym_budget *budget,
					       struct vmop_image_file **ret)
{
	char magic[VMOP_PACKED_MAGIC_BYTES];
	_cleanup_close_ int fd = -1;
	struct vmop_error *err = vmop_elf_open_path(root_fd, path, &fd);
	if (err)
		return err;
	ssize_t n = vmop_io_pread_full(fd, magic, sizeof(magic), 0);
	return n > 0 && vmop_is_packed(magic, (size_t)n)
		       ? open_unpacked(fd, path, budget, ret)
		       : vmop_image_file_open_fd(vmop_steal_fd(&fd), path, budget, ret);
}

void vmop_image_file_close(struct vmop_image_file *file)
{
	if (!file)
		return;
	if (file->charged_bytes)
		vmop_sym_budget_give_memory(file->elf->budget, file->charged_bytes);
	vmop_elf_destroy(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file);
}

/* A name, its NUL, padding to 4 bytes, the CRC in the file's byte order (gdb's manual). */
struct vmop_error *vmop_image_file_debug_link(const struct vmop_image_file *file, char **ret_name,
					      uint32_t *ret_crc)
{
	const struct vmop_elf_file *elf = file->elf;
	const GElf_Shdr *section = vmop_elf_find_section(elf, SHT_PROGBITS, ".gnu_debuglink");
	_cleanup_(vmop_elf_data_deinit) struct vmop_elf_data data = {0};
	struct vmop_error *err = NULL;

	*ret_name = NULL;
	if (section && section->sh_size <= MAX_LINK_BYTES)
		err = vmop_elf_data_read(elf, section, &data);
	if (err || !data.bytes)
		return err;
	size_t name_len_bytes = strlen(data.bytes);
	size_t crc_at = (name_len_bytes + 1 + 3) & ~(size_t)3;
	if (name_len_bytes == 0 || data.bytes[0] == '.' || strchr(data.bytes, '/') ||
	    crc_at > data.len_bytes || data.len_bytes - crc_at < sizeof(*ret_crc))
		return NULL;
	uint32_t crc;
	memcpy(&crc, data.bytes + crc_at, sizeof(crc));
	*ret_crc = elf->header.e_ident[EI_DATA] == ELFDATA2LSB ? le32toh(crc) : be32toh(crc);
	*ret_name = vmop_steal(&data.bytes);
	return NULL;
}

bool vmop_image_file_has_crc(const struct vmop_image_file *file, uint32_t crc, bool *ret_too_costly)
{
#ifdef HAVE_LZMA
	struct vmop_sym_budget *budget = file->elf->budget;
	char buf[65536];
	uint32_t sum = 0;
	uint64_t at = 0, len_bytes = file->elf->len_bytes;

	*ret_too_costly = len_bytes > budget->read_left_bytes / 2;
	while (!*ret_too_costly && at < len_bytes) {
		if (!vmop_sym_budget_take_read(budget, sizeof(buf)))
			return false;
		ssize_t n = vmop_io_pread_full(file->fd, buf, sizeof(buf), at);
		if (n <= 0)
			return false;
		sum = lzma_crc32((const uint8_t *)buf, (size_t)n, sum);
		at += (uint64_t)n;
	}
	return at == len_bytes && sum == crc;
#else
	(void)file;
	(void)crc;
	*ret_too_costly = false;
	return false;
#endif
}
