// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/tasks/paths.h"

#include <stdbool.h>
#include <string.h>

#include "libguest/kernel/kernel.h"
#include "libguest/kernel/layout.h"

#define MAX_COMPONENTS 256
#define NAME_MAX_BYTES 256u
/*
 * include/linux/fs.h: FMODE_NOACCOUNT. Of the files that processes can map only those of struct
 * backing_file have it. Their own flag is not the same bit in all kernels.
 */
#define FMODE_NOACCOUNT (1u << 29)

struct walk {
	struct vmop_guest_space *space;
	const struct vmop_layout *layout;
	char *start, *at; /* the path grows downward from the end of the buffer */
};

static uint64_t load(const struct walk *walk, uint64_t base, enum vmop_layout_field field)
{
	return vmop_guest_space_u64(walk->space, base + vmop_layout_value(walk->layout, field));
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
	uint64_t mount_offset = vmop_layout_value(walk->layout, VMOP_LAYOUT_MOUNT_MNT);
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

const char *vmop_guest_path_of_dentry(struct vmop_guest_kernel *kernel,
				      const struct vmop_layout *layout, uint64_t dentry,
				      uint64_t vfsmount, char *buf)
{
	struct walk walk = {.space = &kernel->space,
			    .layout = layout,
			    .start = buf,
			    .at = buf + VMOP_GUEST_PATH_MAX - 1};
	*walk.at = '\0';
	uint64_t parent = load(&walk, dentry, VMOP_LAYOUT_DENTRY_PARENT);
	bool is_top = parent == dentry;
	if (is_top && (!vfsmount || load(&walk, vfsmount, VMOP_LAYOUT_VFSMOUNT_ROOT) != dentry)) {
		pseudo_path(&walk, dentry);
		return walk.at;
	}
	if (!is_top && is_unhashed(&walk, dentry))
		prepend(&walk, " (deleted)");
	tree_path(&walk, dentry, vfsmount);
	if (*walk.at == '\0')
		prepend(&walk, "/");
	return walk.at;
}

/*
 * A file of an overlay has the path of the file behind it, from 6.8 on, and keeps its own apart
 * (kernel: fs/file_table.c, backing_file_user_path).
 */
uint64_t vmop_guest_path_struct(struct vmop_guest_kernel *kernel, const struct vmop_layout *layout,
				uint64_t file)
{
	const int32_t *value = layout->value;
	if (vmop_layout_has(layout, VMOP_LAYOUT_FILE_MODE) &&
	    vmop_layout_has(layout, VMOP_LAYOUT_BACKING_PATH) &&
	    vmop_guest_space_u32(&kernel->space, file + (uint32_t)value[VMOP_LAYOUT_FILE_MODE]) &
		    FMODE_NOACCOUNT)
		return file + (uint32_t)value[VMOP_LAYOUT_BACKING_PATH];
	return file + (uint32_t)value[VMOP_LAYOUT_FILE_PATH];
}

const char *vmop_guest_path_of_file(struct vmop_guest_kernel *kernel,
				    const struct vmop_layout *layout, uint64_t file, char *buf)
{
	const struct walk walk = {.space = &kernel->space, .layout = layout};
	uint64_t path = vmop_guest_path_struct(kernel, layout, file);
	uint64_t dentry = load(&walk, path, VMOP_LAYOUT_PATH_DENTRY);
	uint64_t vfsmount = load(&walk, path, VMOP_LAYOUT_PATH_MNT);
	return vmop_guest_path_of_dentry(kernel, layout, dentry, vfsmount, buf);
}
