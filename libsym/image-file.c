// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/image-file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#ifdef HAVE_LZMA
#include <lzma.h>
#endif

#include "libutil/cleanup.h"
#include "libutil/io.h"

/* Of a file whose checksum is asked for; Chromium's debug file has 3 GiB. */
#define MAX_CRC_BYTES ((uint64_t)8 << 30)

struct vmop_error *vmop_image_file_open_fd(int fd, const char *path, struct vmop_image_file **ret)
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
	struct vmop_error *err = vmop_elf_create(fd, file->path, &file->elf);
	if (err)
		return err;
	vmop_build_id_of_elf(file->elf, &file->build_id);
	*ret = vmop_steal(&file);
	return NULL;
}

struct vmop_error *vmop_image_file_open(int root_fd, const char *path, struct vmop_image_file **ret)
{
	int fd;
	struct vmop_error *err = vmop_elf_open_path(root_fd, path, &fd);
	return err ? err : vmop_image_file_open_fd(fd, path, ret);
}

void vmop_image_file_close(struct vmop_image_file *file)
{
	if (!file)
		return;
	vmop_elf_destroy(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file);
}

/* A name, its NUL, padding to 4, the CRC in the file's byte order (gdb's manual). */
bool vmop_image_file_debug_link(const struct vmop_image_file *file, const char **ret_name,
				uint32_t *ret_crc)
{
	GElf_Shdr header;
	Elf_Data *data =
		vmop_elf_section_data(file->elf, vmop_elf_find_section(file->elf, SHT_PROGBITS,
								       ".gnu_debuglink", &header));
	if (!data)
		return false;
	const char *name = data->d_buf;
	size_t name_len_bytes = strnlen(name, data->d_size);
	size_t crc_at = (name_len_bytes + 1 + 3) & ~(size_t)3;
	if (name_len_bytes == 0 || strchr(".", name[0]) || memchr(name, '/', name_len_bytes) ||
	    crc_at > data->d_size || data->d_size - crc_at < sizeof(*ret_crc))
		return false;
	Elf_Data from = {
		.d_buf = (char *)data->d_buf + crc_at,
		.d_type = ELF_T_WORD,
		.d_version = EV_CURRENT,
		.d_size = sizeof(*ret_crc),
	};
	Elf_Data to = from;
	to.d_buf = ret_crc;
	if (!gelf_xlatetom(file->elf->elf, &to, &from, file->elf->header.e_ident[EI_DATA]))
		return false;
	*ret_name = name;
	return true;
}

bool vmop_image_file_has_crc(const struct vmop_image_file *file, uint32_t crc)
{
#ifdef HAVE_LZMA
	char buf[65536];
	uint32_t sum = 0;
	uint64_t at = 0;
	ssize_t n;

	while (at < MAX_CRC_BYTES && (n = vmop_io_pread_full(file->fd, buf, sizeof(buf), at)) > 0) {
		sum = lzma_crc32((const uint8_t *)buf, (size_t)n, sum);
		at += (uint64_t)n;
	}
	return at == file->elf->len_bytes && sum == crc;
#else
	(void)file;
	(void)crc;
	return false;
#endif
}
