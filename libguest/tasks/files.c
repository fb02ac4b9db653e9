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

#define MAX_COMPONENTS 256
#define MAX_FILES 65536u /* when the cache is full, all its entries are dropped */
#define NAME_MAX_BYTES 256u

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

/* --- paths ------------------------------------------------------------------------ */

struct walk {
	struct vmop_guest_space *space;
	const struct vmop_layout *layout;
	char *start, *at; /* the path grows downward from the end of the buffer */
};

static uint64_t load(const struct walk *walk, uint64_t base, enum vmop_layout_field field)
{
	return vmop_guest_space_u64(walk->space, base + (uint32_t)walk->layout->value[field]);
}

/* Put text before the path. Return false when it no longer fits. */
static bool prepend(struct walk *walk, const char *text)
{
	size_t len = strlen(text);
	if ((size_t)(walk->at - walk->start) < len)
		return false;
	walk->at -= len;
	memcpy(walk->at, text, len);
	return true;
}

static bool prepend_name(struct walk *walk, uint64_t dentry)
{
	char name[NAME_MAX_BYTES];
	vmop_guest_space_string(walk->space, load(walk, dentry, VMOP_LAYOUT_DENTRY_NAME), name,
				sizeof(name));
	return prepend(walk, name);
}

/*
 * Write the path of a file that is in no directory tree: memfd, shared anonymous memory, anonymous
 * inodes.
 */
static void pseudo_path(struct walk *walk, uint64_t dentry)
{
	char type[16] = "";
	if (vmop_layout_has(walk->layout, VMOP_LAYOUT_DENTRY_SUPER) &&
	    vmop_layout_has(walk->layout, VMOP_LAYOUT_SUPER_TYPE) &&
	    vmop_layout_has(walk->layout, VMOP_LAYOUT_FS_TYPE_NAME)) {
		uint64_t super = load(walk, dentry, VMOP_LAYOUT_DENTRY_SUPER);
		uint64_t fs = load(walk, super, VMOP_LAYOUT_SUPER_TYPE);
		vmop_guest_space_string(walk->space, load(walk, fs, VMOP_LAYOUT_FS_TYPE_NAME), type,
					sizeof(type));
	}
	if (strcmp(type, "anon_inodefs") == 0) {
		prepend_name(walk, dentry);
		prepend(walk, "anon_inode:");
	} else {
		prepend(walk, " (deleted)");
		prepend_name(walk, dentry);
		prepend(walk, "/");
	}
}

static bool is_unhashed(const struct walk *walk, uint64_t dentry)
{
	return vmop_layout_has(walk->layout, VMOP_LAYOUT_DENTRY_HASH) &&
	       load(walk, dentry, VMOP_LAYOUT_DENTRY_HASH) == 0;
}

/* Write the path from the root to dentry, across mount points. */
static void tree_path(struct walk *walk, uint64_t dentry, uint64_t vfsmount)
{
	uint64_t mount_offset = (uint32_t)walk->layout->value[VMOP_LAYOUT_MOUNT_MNT];
	uint64_t mount = vfsmount - mount_offset;
	for (int i = 0; i < MAX_COMPONENTS && !walk->space->fault; i++) {
		uint64_t root = load(walk, mount + mount_offset, VMOP_LAYOUT_VFSMOUNT_ROOT);
		uint64_t parent = load(walk, dentry, VMOP_LAYOUT_DENTRY_PARENT);
		if (dentry == root || dentry == parent) {
			uint64_t above = load(walk, mount, VMOP_LAYOUT_MOUNT_PARENT);
			if (above == mount)
				return;
			dentry = load(walk, mount, VMOP_LAYOUT_MOUNT_POINT);
			mount = above;
			continue;
		}
		if (!prepend_name(walk, dentry) || !prepend(walk, "/"))
			return;
		dentry = parent;
	}
}

const char *vmop_guest_files_path(struct vmop_guest_kernel *kernel,
				  const struct vmop_layout *layout, uint64_t file, char *buf)
{
	struct walk walk = {.space = &kernel->space,
			    .layout = layout,
			    .start = buf,
			    .at = buf + VMOP_GUEST_PATH_MAX - 1};
	*walk.at = '\0';
	uint64_t path = file + (uint32_t)layout->value[VMOP_LAYOUT_FILE_PATH];
	uint64_t dentry = load(&walk, path, VMOP_LAYOUT_PATH_DENTRY);
	uint64_t vfsmount = load(&walk, path, VMOP_LAYOUT_PATH_MNT);
	uint64_t parent = load(&walk, dentry, VMOP_LAYOUT_DENTRY_PARENT);
	if (parent == dentry && load(&walk, vfsmount, VMOP_LAYOUT_VFSMOUNT_ROOT) != dentry) {
		pseudo_path(&walk, dentry);
		return walk.at;
	}
	if (parent != dentry && is_unhashed(&walk, dentry))
		prepend(&walk, " (deleted)");
	tree_path(&walk, dentry, vfsmount);
	if (*walk.at == '\0')
		prepend(&walk, "/");
	return walk.at;
}

/* --- build-ids ---------------------------------------------------------------------- */

struct source {
	struct vmop_guest_kernel *kernel;
	const struct vmop_layout *layout;
	uint64_t file;			/* for reads from the page cache */
	struct vmop_guest_space *space; /* for reads through a page table */
	uint64_t start;
};

static bool read_page_cache(void *arg, uint64_t offset, void *buf, size_t len)
{
	struct source *source = arg;
	size_t got;
	struct vmop_error *err = vmop_guest_page_cache_read(source->kernel, source->layout,
							    source->file, offset, buf, len, &got);
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

static struct key key_of(struct vmop_guest_kernel *kernel, const struct vmop_layout *layout,
			 uint64_t file, const char *path, uint64_t first_page)
{
	struct walk walk = {.space = &kernel->space, .layout = layout};
	struct key key;
	memset(&key, 0, sizeof(key));
	key.path_hash = UINT64_C(14695981039346656037);
	for (const char *c = path; *c; c++) /* FNV-1a */
		key.path_hash = (key.path_hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
	if (!file) { /* the vDSO: all processes share its frames */
		key.mapping = first_page;
		return key;
	}
	if (vmop_layout_has(layout, VMOP_LAYOUT_FILE_MAPPING))
		key.mapping = load(&walk, file, VMOP_LAYOUT_FILE_MAPPING);
	if (vmop_layout_has(layout, VMOP_LAYOUT_FILE_INODE) &&
	    vmop_layout_has(layout, VMOP_LAYOUT_INODE_NUMBER) &&
	    vmop_layout_has(layout, VMOP_LAYOUT_INODE_SIZE)) {
		uint64_t inode = load(&walk, file, VMOP_LAYOUT_FILE_INODE);
		key.inode_number = load(&walk, inode, VMOP_LAYOUT_INODE_NUMBER);
		key.size = load(&walk, inode, VMOP_LAYOUT_INODE_SIZE);
	}
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

uint8_t vmop_guest_files_build_id(struct vmop_guest_files *files, struct vmop_guest_kernel *kernel,
				  const struct vmop_layout *layout, uint64_t file, const char *path,
				  uint64_t pgd_gpa, uint64_t first_page, uint8_t *ret)
{
	struct vmop_guest_space user;
	vmop_guest_space_init(&user, kernel->space.memory, kernel->space.budget,
			      vmop_paging_of_user(&kernel->space.paging, pgd_gpa));
	uint64_t frame = 0;
	if (!file && !vmop_guest_space_translate(&user, first_page, &frame, NULL))
		return 0;
	struct key key = key_of(kernel, layout, file, path, frame);
	if (kernel->space.fault)
		return 0;
	struct file *known;
	HASH_FIND(hh, files->by_key, &key, sizeof(key), known);
	if (known) {
		memcpy(ret, known->build_id, known->build_id_len);
		return known->build_id_len;
	}
	struct source source = {.kernel = kernel,
				.layout = layout,
				.file = file,
				.space = &user,
				.start = first_page};
	uint8_t len = file ? vmop_guest_elf_header_build_id(read_page_cache, &source, ret) : 0;
	if (!len && first_page)
		len = vmop_guest_elf_header_build_id(read_mapped, &source, ret);
	if (len)
		remember(files, &key, len, ret);
	return len;
}
