// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/tasks/inodes.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "libguest/kernel/kernel.h"
#include "libguest/kernel/layout.h"
#include "libguest/memory/memory.h"
#include "libguest/tasks/files.h"
#include "libguest/tasks/lookup.h"
#include "libguest/tasks/page-cache.h"
#include "libguest/tasks/paths.h"
#include "libguest/tasks/processes.h"
#include "libutil/error.h"

#define MAX_FOUND 16384u /* when the table is full, all its entries are dropped */
#define MAX_ALIASES 64
#define MAX_MOUNTS 4096
#define MAX_DEPTH 256
#define TRIES 3

/* An inode that was found, by its pages. */
struct found {
	uint64_t mapping;
	struct vmop_guest_inode identity;
	UT_hash_handle hh;
};

struct vmop_guest_inodes {
	struct found *by_mapping;
	char path[2][VMOP_GUEST_PATH_MAX]; /* of two readings */
};

struct reader {
	struct vmop_guest_kernel *kernel;
	struct vmop_guest_space *space;
	const struct vmop_layout *layout;
};

struct vmop_error *vmop_guest_inodes_new(struct vmop_guest_inodes **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : &vmop_error_no_memory;
}

static void forget_all(struct vmop_guest_inodes *inodes)
{
	struct found *found, *next;
	HASH_ITER (hh, inodes->by_mapping, found, next) {
		HASH_DEL(inodes->by_mapping, found);
		free(found);
	}
}

void vmop_guest_inodes_free(struct vmop_guest_inodes *inodes)
{
	if (!inodes)
		return;
	forget_all(inodes);
	free(inodes);
}

static struct found *find(const struct vmop_guest_inodes *inodes, uint64_t mapping)
{
	struct found *found;
	HASH_FIND(hh, inodes->by_mapping, &mapping, sizeof(mapping), found);
	return found;
}

static void remember(struct vmop_guest_inodes *inodes, const struct vmop_guest_inode *identity)
{
	struct found *found = find(inodes, identity->mapping);
	if (found) {
		found->identity = *identity;
		return;
	}
	if (HASH_COUNT(inodes->by_mapping) >= MAX_FOUND)
		forget_all(inodes);
	found = calloc(1, sizeof(*found));
	if (!found)
		return; /* later reads by this mapping check less */
	found->mapping = identity->mapping;
	found->identity = *identity;
	HASH_ADD(hh, inodes->by_mapping, mapping, sizeof(found->mapping), found);
}

/* --- reading ------------------------------------------------------------------------------ */

static uint64_t at(const struct reader *reader, uint64_t base, enum vmop_layout_field field)
{
	return base + vmop_layout_value(reader->layout, field);
}

static uint64_t load(const struct reader *reader, uint64_t base, enum vmop_layout_field field)
{
	return vmop_guest_space_u64(reader->space, at(reader, base, field));
}

static uint32_t load32(const struct reader *reader, uint64_t base, enum vmop_layout_field field)
{
	return vmop_guest_space_u32(reader->space, at(reader, base, field));
}

static bool is_kernel(const struct reader *reader, uint64_t address)
{
	return vmop_guest_space_is_kernel(reader->space, address);
}

/* Let the next reads see the guest as it is then. */
static void see_anew(const struct reader *reader)
{
	vmop_guest_memory_forget(reader->space->memory);
	vmop_guest_space_take_fault(reader->space);
}

/*
 * Return whether the inode is the one of the identity, and its pages are those of the mapping. Some
 * device files have the pages of another inode, which then is the host.
 */
static bool is_same(const struct reader *reader, const struct vmop_guest_inode *identity)
{
	uint64_t inode = identity->inode;
	bool same = is_kernel(reader, inode) && is_kernel(reader, identity->mapping) &&
		    load(reader, identity->mapping, VMOP_LAYOUT_MAPPING_HOST) == inode &&
		    load(reader, inode, VMOP_LAYOUT_INODE_SUPER) == identity->superblock &&
		    load(reader, inode, VMOP_LAYOUT_INODE_NUMBER) == identity->number &&
		    load32(reader, inode, VMOP_LAYOUT_INODE_GENERATION) == identity->generation;
	return same && !reader->space->fault;
}

/* Set *ret to the identity of an inode as it is now. */
static bool identify(const struct reader *reader, uint64_t inode, struct vmop_guest_inode *ret)
{
	*ret = (struct vmop_guest_inode){
		.mapping = load(reader, inode, VMOP_LAYOUT_INODE_MAPPING),
		.inode = inode,
		.superblock = load(reader, inode, VMOP_LAYOUT_INODE_SUPER),
		.number = load(reader, inode, VMOP_LAYOUT_INODE_NUMBER),
		.generation = load32(reader, inode, VMOP_LAYOUT_INODE_GENERATION),
	};
	/* The pages of a device file belong to another inode. */
	ret->inode = load(reader, ret->mapping, VMOP_LAYOUT_MAPPING_HOST);
	return is_kernel(reader, inode) && ret->inode == inode && !reader->space->fault;
}

/* --- its dentry --------------------------------------------------------------------------- */

/* Return a dentry of the inode, one that still has its name if there is any. 0: none. */
static uint64_t find_dentry(const struct reader *reader, uint64_t inode)
{
	uint64_t node = load(reader, inode, VMOP_LAYOUT_INODE_DENTRIES), unhashed = 0;
	for (int i = 0; i < MAX_ALIASES && is_kernel(reader, node) && !reader->space->fault; i++) {
		uint64_t dentry =
			node - vmop_layout_value(reader->layout, VMOP_LAYOUT_DENTRY_ALIAS);
		if (!vmop_guest_budget_step(reader->space->budget) ||
		    load(reader, dentry, VMOP_LAYOUT_DENTRY_INODE) != inode)
			break;
		if (load(reader, dentry, VMOP_LAYOUT_DENTRY_HASH))
			return dentry;
		if (!unhashed)
			unhashed = dentry;
		node = vmop_guest_space_u64(reader->space, node);
	}
	return unhashed;
}

struct ancestors {
	uint64_t dentry[MAX_DEPTH];
	unsigned int n;
	bool is_complete; /* the last one is its own parent */
};

static void find_ancestors(const struct reader *reader, uint64_t dentry, struct ancestors *ret)
{
	ret->n = 0;
	ret->is_complete = false;
	while (ret->n < MAX_DEPTH && !ret->is_complete && !reader->space->fault) {
		uint64_t parent = load(reader, dentry, VMOP_LAYOUT_DENTRY_PARENT);
		ret->dentry[ret->n++] = dentry;
		ret->is_complete = parent == dentry;
		dentry = parent;
	}
}

static bool has_ancestor(const struct ancestors *ancestors, uint64_t dentry)
{
	for (unsigned int i = 0; i < ancestors->n; i++)
		if (ancestors->dentry[i] == dentry)
			return true;
	return false;
}

/* --- its mount ---------------------------------------------------------------------------- */

/* The mounts that the guest's first process sees. */
struct view {
	uint64_t namespace;
	uint64_t root; /* the mount that has its root directory; 0: unknown */
};

static struct view read_view(const struct reader *reader)
{
	struct view view = {0};
	uint64_t task = vmop_guest_processes_first(reader->kernel, reader->layout);
	uint64_t spaces = task ? load(reader, task, VMOP_LAYOUT_TASK_NAMESPACES) : 0;
	if (spaces)
		view.namespace = load(reader, spaces, VMOP_LAYOUT_NAMESPACES_MOUNT);
	if (!task || !vmop_layout_has_directories(reader->layout))
		return view;
	uint64_t fs = load(reader, task, VMOP_LAYOUT_TASK_FS);
	if (fs)
		view.root =
			load(reader, at(reader, fs, VMOP_LAYOUT_FS_ROOT), VMOP_LAYOUT_PATH_MNT) -
			vmop_layout_value(reader->layout, VMOP_LAYOUT_MOUNT_MNT);
	return view;
}

/* How well a mount shows a file: a sum, 0 where it does not show it. */
enum {
	RANK_PART = 1,
	RANK_WHOLE = 2, /* of the superblock */
	RANK_ELSEWHERE = 2,
	RANK_IN_VIEW = 4,
	RANK_BEST = RANK_WHOLE + RANK_IN_VIEW,
};

static int rank_of(const struct reader *reader, uint64_t mount, const struct view *view,
		   uint64_t whole_root, const struct ancestors *ancestors)
{
	uint64_t vfsmount = at(reader, mount, VMOP_LAYOUT_MOUNT_MNT);
	uint64_t root = load(reader, vfsmount, VMOP_LAYOUT_VFSMOUNT_ROOT);
	uint64_t its_namespace = load(reader, mount, VMOP_LAYOUT_MOUNT_NAMESPACE);
	if (reader->space->fault || !has_ancestor(ancestors, root))
		return 0;
	int rank = root == whole_root ? RANK_WHOLE : RANK_PART;
	if (view->namespace && its_namespace == view->namespace)
		return rank + RANK_IN_VIEW;
	/* A mount of the kernel's own has an error for a namespace. */
	bool is_attached = its_namespace && its_namespace < (uint64_t)-4096;
	return is_attached ? rank + RANK_ELSEWHERE : rank;
}

/*
 * Find the mount of a superblock that shows a dentry best, in its list of mounts. To 6.17 the list
 * goes from the oldest mount to the newest, and is circular. Later it ends with the oldest.
 */
static uint64_t search_mounts(const struct reader *reader, uint64_t super, const struct view *view,
			      uint64_t whole_root, const struct ancestors *ancestors)
{
	bool ends = vmop_layout_has(reader->layout, VMOP_LAYOUT_MOUNT_NEXT_OF_SUPER);
	uint64_t head = at(reader, super, VMOP_LAYOUT_SUPER_MOUNTS);
	uint64_t node = vmop_guest_space_u64(reader->space, head), best = 0;
	uint32_t link = vmop_layout_value(reader->layout, VMOP_LAYOUT_MOUNT_OF_SUPER);
	int best_rank = 0;
	for (int i = 0; i < MAX_MOUNTS && is_kernel(reader, node) && node != head; i++) {
		uint64_t mount = ends ? node : node - link;
		int rank = rank_of(reader, mount, view, whole_root, ancestors);
		if (reader->space->fault || !vmop_guest_budget_step(reader->space->budget))
			return 0;
		if (rank && (rank > best_rank || (ends && rank == best_rank))) {
			best = mount;
			best_rank = rank;
		}
		if (!ends && rank == RANK_BEST)
			break;
		node = ends ? load(reader, mount, VMOP_LAYOUT_MOUNT_NEXT_OF_SUPER)
			    : vmop_guest_space_u64(reader->space, node);
	}
	return best;
}

static uint64_t find_mount(const struct reader *reader, uint64_t super,
			   const struct ancestors *ancestors)
{
	struct view view = read_view(reader);
	uint64_t whole_root = load(reader, super, VMOP_LAYOUT_SUPER_ROOT);
	/* Most files are on the root file system, which can have thousands of mounts. */
	if (view.root && rank_of(reader, view.root, &view, whole_root, ancestors) == RANK_BEST)
		return view.root;
	return search_mounts(reader, super, &view, whole_root, ancestors);
}

/* --- its path ----------------------------------------------------------------------------- */

/* Write the path of an inode into buf and return its start. NULL: it has none, or it changes. */
static const char *read_path(const struct reader *reader, const struct vmop_guest_inode *identity,
			     char *buf)
{
	struct ancestors ancestors;
	uint64_t mount = 0;
	if (!is_same(reader, identity))
		return NULL;
	uint64_t dentry = find_dentry(reader, identity->inode);
	if (!dentry)
		return NULL;
	find_ancestors(reader, dentry, &ancestors);
	if (!ancestors.is_complete || reader->space->fault)
		return NULL;
	uint64_t root = load(reader, identity->superblock, VMOP_LAYOUT_SUPER_ROOT);
	bool is_in_tree = ancestors.n > 1 || dentry == root;
	if (is_in_tree) {
		mount = find_mount(reader, identity->superblock, &ancestors);
		if (!mount)
			return NULL;
		mount = at(reader, mount, VMOP_LAYOUT_MOUNT_MNT);
	}
	const char *path =
		vmop_guest_path_of_dentry(reader->kernel, reader->layout, dentry, mount, buf);
	return reader->space->fault ? NULL : path;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);
	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* Fill *ret, whose path is already known, from the inode. */
static void describe(const struct reader *reader, struct vmop_guest_files *files,
		     const struct vmop_guest_inode *identity, struct vmop_guest_inode_file *ret)
{
	char magic[4];
	size_t got;
	uint32_t links = load32(reader, identity->inode, VMOP_LAYOUT_INODE_LINKS);
	ret->is_deleted = !links || ends_with(ret->path, " (deleted)");
	ret->mapping = identity->mapping;
	ret->size_bytes = load(reader, identity->inode, VMOP_LAYOUT_INODE_SIZE);
	ret->is_elf = false;
	ret->build_id_len_bytes = 0;
	if (reader->space->fault)
		return;
	struct vmop_error *err = vmop_guest_page_cache_read(
		reader->kernel, reader->layout, identity->mapping, 0, magic, sizeof(magic), &got);
	ret->is_elf = !err && got == sizeof(magic) && memcmp(magic, "\177ELF", 4) == 0;
	vmop_error_destroy(err);
	if (ret->is_elf)
		ret->build_id_len_bytes = vmop_guest_files_inode_build_id(
			files, reader->kernel, reader->layout, identity->inode, identity->mapping,
			ret->path, ret->build_id);
}

static struct vmop_error *unknown_layout(const struct vmop_guest_kernel *kernel)
{
	return vmop_error_new(VMOP_ERROR_NOT_FOUND,
			      "kernel %s: the layout of its inodes is unknown",
			      kernel->info.release);
}

static struct vmop_error *gone(void)
{
	return vmop_error_new(VMOP_ERROR_NOT_FOUND,
			      "the guest's file is another one now, or has no name");
}

/* Read the path and the facts of an inode once, and the path again. */
static bool read_file(struct vmop_guest_inodes *inodes, const struct reader *reader,
		      struct vmop_guest_files *files, const struct vmop_guest_inode *identity,
		      struct vmop_guest_inode_file *ret)
{
	see_anew(reader);
	const char *path = read_path(reader, identity, inodes->path[0]);
	if (!path)
		return false;
	ret->path = path;
	describe(reader, files, identity, ret);
	bool is_read = !reader->space->fault;
	see_anew(reader);
	const char *again = read_path(reader, identity, inodes->path[1]);
	return is_read && again && strcmp(path, again) == 0;
}

static struct vmop_error *read_file_tried(struct vmop_guest_inodes *inodes,
					  const struct reader *reader,
					  struct vmop_guest_files *files,
					  const struct vmop_guest_inode *identity,
					  uint64_t *retries, struct vmop_guest_inode_file *ret)
{
	bool is_whole = false;
	for (int try = 0; try < TRIES && !is_whole; try++) {
		see_anew(reader);
		if (!is_same(reader, identity))
			break;
		*retries += try > 0;
		is_whole = read_file(inodes, reader, files, identity, ret);
	}
	vmop_guest_space_take_fault(reader->space);
	if (!is_whole)
		return gone();
	remember(inodes, identity);
	return NULL;
}

struct vmop_error *vmop_guest_inodes_find(struct vmop_guest_inodes *inodes,
					  struct vmop_guest_kernel *kernel,
					  const struct vmop_layout *layout,
					  struct vmop_guest_files *files,
					  const struct vmop_guest_inode *wanted, uint64_t *retries,
					  struct vmop_guest_inode_file *ret)
{
	const struct reader reader = {.kernel = kernel, .space = &kernel->space, .layout = layout};
	struct vmop_guest_inode identity = *wanted;
	if (!vmop_layout_has_inodes(layout))
		return unknown_layout(kernel);
	if (!identity.inode) {
		const struct found *found = find(inodes, identity.mapping);
		if (!found)
			return gone();
		identity = found->identity;
	}
	vmop_guest_space_take_fault(reader.space);
	return read_file_tried(inodes, &reader, files, &identity, retries, ret);
}

struct vmop_error *vmop_guest_inodes_find_path(struct vmop_guest_inodes *inodes,
					       struct vmop_guest_kernel *kernel,
					       const struct vmop_layout *layout,
					       struct vmop_guest_files *files, uint64_t task,
					       const char *path, uint64_t *retries,
					       struct vmop_guest_inode_file *ret)
{
	const struct reader reader = {.kernel = kernel, .space = &kernel->space, .layout = layout};
	struct vmop_guest_inode identity;
	if (!vmop_layout_has_directories(layout))
		return unknown_layout(kernel);
	uint64_t inode = vmop_guest_lookup(kernel, layout, task, path);
	bool is_known = inode && identify(&reader, inode, &identity);
	vmop_guest_space_take_fault(reader.space);
	if (!is_known)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND,
				      "the guest's kernel has no such file in its cache");
	return read_file_tried(inodes, &reader, files, &identity, retries, ret);
}

bool vmop_guest_inodes_holds(const struct vmop_guest_inodes *inodes,
			     struct vmop_guest_kernel *kernel, const struct vmop_layout *layout,
			     uint64_t mapping)
{
	const struct reader reader = {.kernel = kernel, .space = &kernel->space, .layout = layout};
	const struct found *found = find(inodes, mapping);
	struct vmop_guest_inode identity;
	if (!vmop_layout_has_inodes(layout) || !is_kernel(&reader, mapping))
		return false;
	see_anew(&reader);
	bool holds = found ? is_same(&reader, &found->identity)
			   : identify(&reader, load(&reader, mapping, VMOP_LAYOUT_MAPPING_HOST),
				      &identity) &&
				     identity.mapping == mapping;
	return !vmop_guest_space_take_fault(reader.space) && holds;
}
