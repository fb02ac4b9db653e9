// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/tasks/lookup.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "libguest/kernel/kernel.h"
#include "libguest/kernel/layout.h"
#include "libguest/tasks/processes.h"

#define MAX_COMPONENTS 64
#define MAX_STACKED 16
#define NAME_MAX_BYTES 255u

struct reader {
	struct vmop_guest_space *space;
	const struct vmop_layout *layout;
};

/* A directory, or a file, as it is mounted. */
struct place {
	uint64_t mount, dentry;
};

static uint64_t at(const struct reader *reader, uint64_t base, enum vmop_layout_field field)
{
	return base + vmop_layout_value(reader->layout, field);
}

static uint64_t load(const struct reader *reader, uint64_t base, enum vmop_layout_field field)
{
	return vmop_guest_space_u64(reader->space, at(reader, base, field));
}

static bool go_on(const struct reader *reader, uint64_t node)
{
	return vmop_guest_space_is_kernel(reader->space, node) && !reader->space->fault &&
	       vmop_guest_budget_step(reader->space->budget);
}

/* Return whether a child of directory has this name, and a file. */
static bool has_name(const struct reader *reader, uint64_t dentry, uint64_t directory,
		     const char *name, size_t len)
{
	char text[NAME_MAX_BYTES + 2];
	vmop_guest_space_string(reader->space, load(reader, dentry, VMOP_LAYOUT_DENTRY_NAME), text,
				len + 2);
	return strncmp(text, name, len) == 0 && !text[len] &&
	       load(reader, dentry, VMOP_LAYOUT_DENTRY_PARENT) == directory &&
	       load(reader, dentry, VMOP_LAYOUT_DENTRY_HASH) &&
	       load(reader, dentry, VMOP_LAYOUT_DENTRY_INODE);
}

/* Return the child with a name, or 0. To 6.7 the list is circular. */
static uint64_t find_child(const struct reader *reader, uint64_t directory, const char *name,
			   size_t len)
{
	bool ends = vmop_layout_has(reader->layout, VMOP_LAYOUT_DENTRY_CHILDREN);
	uint64_t head = at(reader, directory,
			   ends ? VMOP_LAYOUT_DENTRY_CHILDREN : VMOP_LAYOUT_DENTRY_SUBDIRS);
	uint32_t link = vmop_layout_value(reader->layout, ends ? VMOP_LAYOUT_DENTRY_SIBLING
							       : VMOP_LAYOUT_DENTRY_CHILD);
	uint64_t node = vmop_guest_space_u64(reader->space, head);
	while (node != head && go_on(reader, node)) {
		if (has_name(reader, node - link, directory, name, len))
			return reader->space->fault ? 0 : node - link;
		node = vmop_guest_space_u64(reader->space, node);
	}
	return 0;
}

/* Return the mount on top of a place, or 0. */
static uint64_t find_mounted(const struct reader *reader, const struct place *place)
{
	uint64_t head = at(reader, place->mount, VMOP_LAYOUT_MOUNT_CHILDREN);
	uint64_t node = vmop_guest_space_u64(reader->space, head);
	while (node != head && go_on(reader, node)) {
		uint64_t mount = node - vmop_layout_value(reader->layout, VMOP_LAYOUT_MOUNT_CHILD);
		if (load(reader, mount, VMOP_LAYOUT_MOUNT_POINT) == place->dentry)
			return reader->space->fault ? 0 : mount;
		node = vmop_guest_space_u64(reader->space, node);
	}
	return 0;
}

/* Where a mount covers a place, go to its root. */
static void cross_mounts(const struct reader *reader, struct place *place)
{
	for (int i = 0; i < MAX_STACKED; i++) {
		uint64_t mount = find_mounted(reader, place);
		if (!mount)
			return;
		uint64_t vfsmount = at(reader, mount, VMOP_LAYOUT_MOUNT_MNT);
		place->mount = mount;
		place->dentry = load(reader, vfsmount, VMOP_LAYOUT_VFSMOUNT_ROOT);
	}
}

static bool find_root(struct vmop_guest_kernel *kernel, const struct reader *reader, uint64_t task,
		      struct place *ret)
{
	if (!task)
		task = vmop_guest_processes_first(kernel, reader->layout);
	uint64_t fs = task ? load(reader, task, VMOP_LAYOUT_TASK_FS) : 0;
	if (!fs)
		return false;
	uint64_t path = at(reader, fs, VMOP_LAYOUT_FS_ROOT);
	ret->mount = load(reader, path, VMOP_LAYOUT_PATH_MNT) -
		     vmop_layout_value(reader->layout, VMOP_LAYOUT_MOUNT_MNT);
	ret->dentry = load(reader, path, VMOP_LAYOUT_PATH_DENTRY);
	return !reader->space->fault;
}

static bool is_regular(const struct reader *reader, uint64_t inode)
{
	uint32_t mode =
		vmop_guest_space_u32(reader->space, at(reader, inode, VMOP_LAYOUT_INODE_MODE)) &
		UINT16_MAX;
	return S_ISREG(mode) && !reader->space->fault;
}

static bool is_overlay(const struct reader *reader, uint64_t inode)
{
	char name[8];
	uint64_t super = load(reader, inode, VMOP_LAYOUT_INODE_SUPER);
	uint64_t type = load(reader, super, VMOP_LAYOUT_SUPER_TYPE);
	if (!vmop_guest_space_is_kernel(reader->space, type))
		return false;
	vmop_guest_space_string(reader->space, load(reader, type, VMOP_LAYOUT_FS_TYPE_NAME), name,
				sizeof(name));
	return strcmp(name, "overlay") == 0;
}

/*
 * Return the inode with the pages of a file: another one in an overlay. There, the dentry in the
 * upper file system follows struct inode (kernel: fs/overlayfs/ovl_entry.h, struct ovl_inode, from
 * 4.13 on); it has the same name. 0: the file was not written to.
 */
static uint64_t find_pages(const struct reader *reader, uint64_t dentry, uint64_t inode)
{
	char name[NAME_MAX_BYTES + 1];
	if (!vmop_layout_has(reader->layout, VMOP_LAYOUT_INODE_BYTES) ||
	    !vmop_layout_has(reader->layout, VMOP_LAYOUT_SUPER_TYPE) ||
	    !vmop_layout_has(reader->layout, VMOP_LAYOUT_FS_TYPE_NAME) ||
	    !is_overlay(reader, inode))
		return inode;
	uint64_t upper = load(reader, inode, VMOP_LAYOUT_INODE_BYTES);
	if (!vmop_guest_space_is_kernel(reader->space, upper))
		return 0;
	vmop_guest_space_string(reader->space, load(reader, dentry, VMOP_LAYOUT_DENTRY_NAME), name,
				sizeof(name));
	uint64_t parent = load(reader, upper, VMOP_LAYOUT_DENTRY_PARENT);
	if (!has_name(reader, upper, parent, name, strlen(name)))
		return 0;
	return load(reader, upper, VMOP_LAYOUT_DENTRY_INODE);
}

uint64_t vmop_guest_lookup(struct vmop_guest_kernel *kernel, const struct vmop_layout *layout,
			   uint64_t task, const char *path)
{
	const struct reader reader = {.space = &kernel->space, .layout = layout};
	struct place place;
	if (*path != '/' || !find_root(kernel, &reader, task, &place))
		return 0;
	for (int i = 0; i < MAX_COMPONENTS && *path; i++) {
		path += strspn(path, "/");
		size_t len = strcspn(path, "/");
		if (!len)
			break;
		if (len > NAME_MAX_BYTES || (len == 2 && memcmp(path, "..", 2) == 0))
			return 0;
		if (len > 1 || *path != '.') {
			place.dentry = find_child(&reader, place.dentry, path, len);
			if (!place.dentry)
				return 0;
			cross_mounts(&reader, &place);
		}
		path += len;
	}
	uint64_t inode = load(&reader, place.dentry, VMOP_LAYOUT_DENTRY_INODE);
	if (*path || !is_regular(&reader, inode))
		return 0;
	inode = find_pages(&reader, place.dentry, inode);
	return inode && is_regular(&reader, inode) ? inode : 0;
}
