// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/elf-file.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"

static int open_below(int root_fd, const char *path, int flags)
{
	if (root_fd == AT_FDCWD)
		return open(path, flags);
	const struct open_how how = {
		.flags = (uint64_t)flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	if (fd >= 0 || errno != ENOSYS)
		return fd;
	while (*path == '/')
		path++;
	return openat(root_fd, path, flags);
}

struct vmop_error *vmop_elf_open_path(int root_fd, const char *path, int *ret_fd)
{
	/* O_NONBLOCK: a FIFO or a device under that name would make us wait. */
	_cleanup_close_ int fd =
		open_below(root_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return vmop_error_os(errno, "%s", path);
	struct stat st;
	if (fstat(fd, &st) < 0)
		return vmop_error_os(errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return vmop_error_new(VMOP_ERROR_CANT, "%s: not a regular file", path);
	*ret_fd = vmop_steal_fd(&fd);
	return NULL;
}

/*
 * libelf makes a descriptor for each section before anything can be asked, and
 * their number may stand in the first of them (gabi, "e_shnum").  So that is
 * looked at first, by hand: head holds the first bytes, first the first section's.
 */
static bool order_is_ours(const unsigned char *ident)
{
	return ident[EI_DATA] == (BYTE_ORDER == LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB);
}

static uint64_t fix_u64(const unsigned char *ident, uint64_t value)
{
	return order_is_ours(ident) ? value : __builtin_bswap64(value);
}

static uint32_t fix_u32(const unsigned char *ident, uint32_t value)
{
	return order_is_ours(ident) ? value : __builtin_bswap32(value);
}

/* Reads from the file, or from memory where fd is -1. */
static bool read_at(int fd, const char *image, uint64_t len_bytes, uint64_t offset, void *ret,
		    size_t want_bytes)
{
	if (offset > len_bytes || len_bytes - offset < want_bytes)
		return false;
	if (fd < 0) {
		memcpy(ret, image + offset, want_bytes);
		return true;
	}
	return vmop_io_pread_full(fd, ret, want_bytes, offset) == (ssize_t)want_bytes;
}

static bool sections_are_bounded(int fd, const char *image, uint64_t len_bytes)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr e32;
		Elf64_Ehdr e64;
	} head;
	union {
		Elf32_Shdr e32;
		Elf64_Shdr e64;
	} first;
	uint64_t at, n;

	if (!read_at(fd, image, len_bytes, 0, &head, sizeof(head.e32)))
		return false;
	if (head.ident[EI_CLASS] == ELFCLASS32) {
		if (head.e32.e_shnum)
			return true;
		at = fix_u32(head.ident, head.e32.e_shoff);
		if (!at || !read_at(fd, image, len_bytes, at, &first.e32, sizeof(first.e32)))
			return true;
		n = fix_u32(head.ident, first.e32.sh_size);
	} else {
		if (!read_at(fd, image, len_bytes, 0, &head, sizeof(head.e64)))
			return false;
		if (head.e64.e_shnum)
			return true;
		at = fix_u64(head.ident, head.e64.e_shoff);
		if (!at || !read_at(fd, image, len_bytes, at, &first.e64, sizeof(first.e64)))
			return true;
		n = fix_u64(head.ident, first.e64.sh_size);
	}
	return n <= VMOP_ELF_MAX_SECTIONS;
}

static int by_address(const void *a, const void *b)
{
	const struct vmop_elf_load *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

static struct vmop_error *read_loads(struct vmop_elf *elf)
{
	size_t n;
	if (elf_getphdrnum(elf->elf, &n) < 0)
		return vmop_error_new(VMOP_ERROR_CORRUPT, "%s: %s", elf->path, elf_errmsg(-1));
	if (n > VMOP_ELF_MAX_SEGMENTS)
		return vmop_error_new(VMOP_ERROR_LIMIT, "%s: %zu segments; at most %d are read",
				      elf->path, n, VMOP_ELF_MAX_SEGMENTS);
	elf->loads = calloc(n + 1, sizeof(*elf->loads));
	if (!elf->loads)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr segment;
		/* A damaged table leaves its sections readable. */
		if (!gelf_getphdr(elf->elf, (int)i, &segment))
			break;
		if (segment.p_type != PT_LOAD || segment.p_filesz == 0 ||
		    segment.p_vaddr + segment.p_filesz < segment.p_vaddr ||
		    segment.p_offset + segment.p_filesz < segment.p_offset)
			continue;
		elf->loads[elf->n_loads++] = (struct vmop_elf_load){
			.address = segment.p_vaddr,
			.offset = segment.p_offset,
			.len_bytes = segment.p_filesz,
		};
	}
	qsort(elf->loads, elf->n_loads, sizeof(*elf->loads), by_address);
	return NULL;
}

static struct vmop_error *create(int fd, char *image, uint64_t len_bytes, const char *path,
				 struct vmop_elf **ret)
{
	char magic[SELFMAG];

	if (!read_at(fd, image, len_bytes, 0, magic, sizeof(magic)) ||
	    memcmp(magic, ELFMAG, SELFMAG) != 0)
		return vmop_error_new(VMOP_ERROR_CORRUPT, "%s: not an ELF file", path);
	if (!sections_are_bounded(fd, image, len_bytes))
		return vmop_error_new(VMOP_ERROR_CORRUPT,
				      "%s: a damaged ELF header, or more than %d sections", path,
				      VMOP_ELF_MAX_SECTIONS);
	_cleanup_(vmop_elf_cleanup) struct vmop_elf *elf = calloc(1, sizeof(*elf));
	if (!elf)
		return &vmop_error_no_memory;
	elf->path = path;
	elf->len_bytes = len_bytes;
	elf_version(EV_CURRENT);
	elf->elf = fd < 0 ? elf_memory(image, len_bytes) : elf_begin(fd, ELF_C_READ, NULL);
	if (!elf->elf || elf_kind(elf->elf) != ELF_K_ELF || !gelf_getehdr(elf->elf, &elf->header))
		return vmop_error_new(VMOP_ERROR_CORRUPT, "%s: a damaged ELF file: %s", path,
				      elf_errmsg(-1));
	struct vmop_error *err = read_loads(elf);
	if (err)
		return err;
	*ret = vmop_steal(&elf);
	return NULL;
}

struct vmop_error *vmop_elf_create(int fd, const char *path, struct vmop_elf **ret)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return vmop_error_os(errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return vmop_error_new(VMOP_ERROR_CANT, "%s: not a regular file", path);
	return create(fd, NULL, (uint64_t)st.st_size, path, ret);
}

struct vmop_error *vmop_elf_create_in_memory(char *image, size_t len_bytes, const char *path,
					     struct vmop_elf **ret)
{
	return create(-1, image, len_bytes, path, ret);
}

void vmop_elf_destroy(struct vmop_elf *elf)
{
	if (!elf)
		return;
	if (elf->elf)
		elf_end(elf->elf);
	free(elf->loads);
	free(elf);
}

const char *vmop_elf_section_name(const struct vmop_elf *elf, const GElf_Shdr *header)
{
	size_t names;
	if (elf_getshdrstrndx(elf->elf, &names) < 0)
		return "";
	/* Held against the bounds before libelf reads all of it. */
	if (!vmop_elf_section_data(elf, elf_getscn(elf->elf, names)))
		return "";
	const char *name = elf_strptr(elf->elf, names, header->sh_name);
	return name ? name : "";
}

Elf_Scn *vmop_elf_find_section(const struct vmop_elf *elf, uint32_t type, const char *name,
			       GElf_Shdr *ret_header)
{
	Elf_Scn *section = NULL;
	while ((section = elf_nextscn(elf->elf, section)) != NULL) {
		if (!gelf_getshdr(section, ret_header))
			continue;
		if (type != SHT_NULL && ret_header->sh_type != type)
			continue;
		if (!name || strcmp(vmop_elf_section_name(elf, ret_header), name) == 0)
			return section;
	}
	return NULL;
}

Elf_Data *vmop_elf_section_data(const struct vmop_elf *elf, Elf_Scn *section)
{
	GElf_Shdr header;
	if (!section || !gelf_getshdr(section, &header))
		return NULL;
	if (header.sh_type == SHT_NOBITS || (header.sh_flags & SHF_COMPRESSED))
		return NULL;
	if (header.sh_size == 0 || header.sh_size > VMOP_ELF_MAX_SECTION_BYTES ||
	    header.sh_offset > elf->len_bytes || elf->len_bytes - header.sh_offset < header.sh_size)
		return NULL;
	Elf_Data *data = elf_getdata(section, NULL);
	return data && data->d_buf && data->d_size > 0 ? data : NULL;
}

bool vmop_elf_offset_of_address(const struct vmop_elf *elf, uint64_t address, uint64_t *ret_offset,
				uint64_t *ret_left_bytes)
{
	size_t low = 0, high = elf->n_loads;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (elf->loads[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	const struct vmop_elf_load *load = &elf->loads[low - 1];
	uint64_t into = address - load->address;
	if (into >= load->len_bytes)
		return false;
	*ret_offset = load->offset + into;
	*ret_left_bytes = load->len_bytes - into;
	return true;
}
