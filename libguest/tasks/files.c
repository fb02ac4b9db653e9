// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/tasks/files.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "libguest/kernel/kernel.h"
#include "libguest/kernel/layout.h"
#include "libguest/memory/elf-header.h"
#include "libguest/tasks/page-cache.h"
#include "libutil/error.h"

#define MAX_FILES 65536u /* when the cache is full, all its entries are dropped */

/* The key of a file. The guest reuses addresses, so the address is not enough. */
struct key {
	uint64_t mapping, inode_number, size, path_hash;
};

struct file {
	struct key key;
	uint8_t build_id_len;
	uint8_t build_id[VMOP_GUEST_BUILD_ID_MAX];
	UT_hash_handle hh;
};

struct vmop_guest_files {
	struct file *by_key;
};

struct vmop_error *vmop_guest_files_new(struct vmop_guest_files **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : &vmop_error_no_memory;
}

static void forget_all(struct vmop_guest_files *files)
{
	struct file *file, *next;
	HASH_ITER (hh, files->by_key, file, next) {
		HASH_DEL(files->by_key, file);
		free(file);
	}
}

void vmop_guest_files_free(struct vmop_guest_files *files)
{
	if (!files)
		return;
	forget_all(files);
	free(files);
}

/* --- build-ids ---------------------------------------------------------------------- */

/* The pages of a file in the page cache, and its inode; all 0 for the vDSO. */
struct object {
	uint64_t mapping, inode;
};

struct source {
	struct vmop_guest_kernel *kernel;
	const struct vmop_layout *layout;
	uint64_t mapping;		/* for reads from the page cache */
	struct vmop_guest_space *space; /* for reads through a page table */
	uint64_t start;
};

static uint64_t load(struct vmop_guest_kernel *kernel, const struct vmop_layout *layout,
		     uint64_t base, enum vmop_layout_field field)
{
	if (!vmop_layout_has(layout, field))
		return 0;
	return vmop_guest_space_u64(&kernel->space, base + vmop_layout_value(layout, field));
}

static bool read_page_cache(void *arg, uint64_t offset, void *buf, size_t len)
{
	struct source *source = arg;
	size_t got;
	struct vmop_error *err = vmop_guest_page_cache_read(
		source->kernel, source->layout, source->mapping, offset, buf, len, &got);
	vmop_error_destroy(err);
	return !err && got == len;
}

static bool read_mapped(void *arg, uint64_t offset, void *buf, size_t len)
{
	struct source *source = arg;
	bool ok = offset <= INT64_MAX &&
		  !vmop_guest_space_is_kernel(source->space, source->start + offset) &&
		  vmop_guest_space_read(source->space, source->start + offset, buf, len);
	vmop_guest_space_take_fault(source->space);
	return ok;
}

/* first_page: the frame of the vDSO, which all processes share. */
static struct key key_of(struct vmop_guest_kernel *kernel, const struct vmop_layout *layout,
			 const struct object *object, const char *path, uint64_t first_page)
{
	struct key key;
	memset(&key, 0, sizeof(key));
	key.path_hash = UINT64_C(14695981039346656037);
	for (const char *c = path; *c; c++) /* FNV-1a */
		key.path_hash = (key.path_hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
	key.mapping = object ? object->mapping : first_page;
	if (!object || !object->inode)
		return key;
	key.inode_number = load(kernel, layout, object->inode, VMOP_LAYOUT_INODE_NUMBER);
	key.size = load(kernel, layout, object->inode, VMOP_LAYOUT_INODE_SIZE);
	return key;
}

static void remember(struct vmop_guest_files *files, const struct key *key, uint8_t len,
		     const uint8_t *build_id)
{
	if (HASH_COUNT(files->by_key) >= MAX_FILES)
		forget_all(files);
	struct file *file = calloc(1, sizeof(*file));
	if (!file)
		return; /* the build-id is read again next time */
	file->key = *key;
	file->build_id_len = len;
	memcpy(file->build_id, build_id, len);
	HASH_ADD(hh, files->by_key, key, sizeof(file->key), file);
}

static const struct file *find(struct vmop_guest_files *files, const struct key *key)
{
	struct file *known;
	HASH_FIND(hh, files->by_key, key, sizeof(*key), known);
	return known;
}

static uint8_t copy_known(const struct file *known, uint8_t *ret)
{
	memcpy(ret, known->build_id, known->build_id_len);
	return known->build_id_len;
}

uint8_t vmop_guest_files_build_id(struct vmop_guest_files *files, struct vmop_guest_kernel *kernel,
				  const struct vmop_layout *layout, uint64_t file, const char *path,
				  uint64_t pgd_gpa, uint64_t first_page, uint8_t *ret)
{
	struct vmop_guest_space user;
	vmop_guest_space_init(&user, kernel->space.memory, kernel->space.budget,
			      vmop_paging_of_user(&kernel->space.paging, pgd_gpa));
	uint64_t frame = 0;
	struct object object = {0};
	if (!file && !vmop_guest_space_translate(&user, first_page, &frame, NULL))
		return 0;
	if (file) {
		object.mapping = load(kernel, layout, file, VMOP_LAYOUT_FILE_MAPPING);
		object.inode = load(kernel, layout, file, VMOP_LAYOUT_FILE_INODE);
	}
	struct key key = key_of(kernel, layout, file ? &object : NULL, path, frame);
	if (kernel->space.fault)
		return 0;
	const struct file *known = find(files, &key);
	if (known)
		return copy_known(known, ret);
	struct source source = {.kernel = kernel,
				.layout = layout,
				.mapping = object.mapping,
				.space = &user,
				.start = first_page};
	uint8_t len = file ? vmop_guest_elf_header_build_id(read_page_cache, &source, ret) : 0;
	if (!len && first_page)
		len = vmop_guest_elf_header_build_id(read_mapped, &source, ret);
	if (len)
		remember(files, &key, len, ret);
	return len;
}

uint8_t vmop_guest_files_inode_build_id(struct vmop_guest_files *files,
					struct vmop_guest_kernel *kernel,
					const struct vmop_layout *layout, uint64_t inode,
					uint64_t mapping, const char *path, uint8_t *ret)
{
	const struct object object = {.mapping = mapping, .inode = inode};
	struct key key = key_of(kernel, layout, &object, path, 0);
	if (kernel->space.fault)
		return 0;
	const struct file *known = find(files, &key);
	if (known)
		return copy_known(known, ret);
	struct source source = {.kernel = kernel, .layout = layout, .mapping = mapping};
	uint8_t len = vmop_guest_elf_header_build_id(read_page_cache, &source, ret);
	if (len)
		remember(files, &key, len, ret);
	return len;
}
