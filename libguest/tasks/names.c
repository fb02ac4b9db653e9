// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/tasks/names.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "libguest/kernel/kernel.h"
#include "libguest/kernel/layout.h"
#include "libguest/tasks/paths.h"
#include "libguest/tasks/snapshot-build.h"
#include "libutil/error.h"

#define MAX_DEPTH 64
#define MAX_HIERARCHIES 16

/* The key of a file: its dentry and mount. The key of a cgroup: its css_set and 0. */
struct name_key {
	uint64_t object, mount;
};

struct name {
	struct name_key key;
	uint32_t handle;
	char *text;
	UT_hash_handle hh;
};

struct vmop_guest_names {
	struct vmop_guest_kernel *kernel;
	const struct vmop_layout *layout;
	struct vmop_guest_snapshot *snapshot;
	struct name *by_key;
};

struct vmop_error *vmop_guest_names_new(struct vmop_guest_kernel *kernel,
					const struct vmop_layout *layout,
					struct vmop_guest_snapshot *snapshot,
					struct vmop_guest_names **ret)
{
	struct vmop_guest_names *names = calloc(1, sizeof(*names));
	if (!names)
		return &vmop_error_no_memory;
	names->kernel = kernel;
	names->layout = layout;
	names->snapshot = snapshot;
	*ret = names;
	return NULL;
}

void vmop_guest_names_free(struct vmop_guest_names *names)
{
	struct name *name, *next;
	if (!names)
		return;
	HASH_ITER (hh, names->by_key, name, next) {
		HASH_DEL(names->by_key, name);
		free(name->text);
		free(name);
	}
	free(names);
}

static struct name *find(struct vmop_guest_names *names, const struct name_key *key)
{
	struct name *name;
	HASH_FIND(hh, names->by_key, key, sizeof(*key), name);
	return name;
}

static struct vmop_error *remember(struct vmop_guest_names *names, const struct name_key *key,
				   const char *text, uint32_t *ret)
{
	struct vmop_error *err = vmop_guest_snapshot_text(names->snapshot, text, ret);
	if (err)
		return err;
	struct name *name = calloc(1, sizeof(*name));
	char *copy = strdup(text);
	if (!name || !copy) {
		free(name);
		free(copy);
		return &vmop_error_no_memory;
	}
	name->key = *key;
	name->handle = *ret;
	name->text = copy;
	HASH_ADD(hh, names->by_key, key, sizeof(name->key), name);
	return NULL;
}

static uint64_t load(struct vmop_guest_names *names, uint64_t base, enum vmop_layout_field field)
{
	return vmop_guest_space_u64(&names->kernel->space,
				    base + vmop_layout_value(names->layout, field));
}

struct vmop_error *vmop_guest_names_file(struct vmop_guest_names *names, uint64_t file,
					 char *ret_path, uint32_t *ret)
{
	struct name_key key;
	uint64_t path = vmop_guest_path_struct(names->kernel, names->layout, file);
	key.object = load(names, path, VMOP_LAYOUT_PATH_DENTRY);
	key.mount = load(names, path, VMOP_LAYOUT_PATH_MNT);
	const struct name *known = find(names, &key);
	if (known) {
		strcpy(ret_path, known->text);
		*ret = known->handle;
		return NULL;
	}
	char buf[VMOP_GUEST_PATH_MAX];
	strcpy(ret_path, vmop_guest_path_of_file(names->kernel, names->layout, file, buf));
	if (names->kernel->space.fault)
		return vmop_guest_snapshot_text(names->snapshot, "", ret);
	return remember(names, &key, ret_path, ret);
}

/* --- cgroups --------------------------------------------------------------------------- */

/* Write the path of a cgroup, found by its kernfs node, to the end of buf, and return its start. */
static const char *cgroup_path(struct vmop_guest_names *names, uint64_t cgroup, char *buf,
			       size_t size)
{
	struct vmop_guest_space *space = &names->kernel->space;
	char *at = buf + size - 1;
	*at = '\0';
	uint64_t node = load(names, cgroup, VMOP_LAYOUT_CGROUP_KN);
	for (int i = 0; i < MAX_DEPTH && !space->fault; i++) {
		char name[256];
		uint64_t parent = load(names, node, VMOP_LAYOUT_KERNFS_PARENT);
		if (!parent)
			break;
		vmop_guest_space_string(space, load(names, node, VMOP_LAYOUT_KERNFS_NAME), name,
					sizeof(name));
		size_t len = strlen(name);
		if ((size_t)(at - buf) < len + 1)
			break;
		at -= len;
		memcpy(at, name, len);
		*--at = '/';
		node = parent;
	}
	if (space->fault)
		at = buf + size - 1;
	else if (!*at)
		*--at = '/';
	return at;
}

/* Return the path in the unified hierarchy. A task at its root gets the first other path. */
static const char *css_set_path(struct vmop_guest_names *names, uint64_t css_set, char *buf,
				size_t size)
{
	const struct vmop_layout *layout = names->layout;
	uint64_t cgroup = load(names, css_set, VMOP_LAYOUT_CSS_SET_DFL);
	const char *path = cgroup_path(names, cgroup, buf, size);
	int32_t count = layout->value[VMOP_LAYOUT_CGROUP_SUBSYS_COUNT];
	for (int32_t i = 0; i < count && i < MAX_HIERARCHIES && strcmp(path, "/") == 0; i++) {
		uint64_t subsys = css_set + 8 * (uint64_t)i +
				  vmop_layout_value(layout, VMOP_LAYOUT_CSS_SET_SUBSYS);
		uint64_t css = vmop_guest_space_u64(&names->kernel->space, subsys);
		path = cgroup_path(names, load(names, css, VMOP_LAYOUT_CSS_CGROUP), buf, size);
	}
	return path;
}

static bool has_cgroups(const struct vmop_layout *layout)
{
	return vmop_layout_has(layout, VMOP_LAYOUT_TASK_CGROUPS) &&
	       vmop_layout_has(layout, VMOP_LAYOUT_CSS_SET_DFL) &&
	       vmop_layout_has(layout, VMOP_LAYOUT_CSS_SET_SUBSYS) &&
	       vmop_layout_has(layout, VMOP_LAYOUT_CSS_CGROUP) &&
	       vmop_layout_has(layout, VMOP_LAYOUT_CGROUP_KN) &&
	       vmop_layout_has(layout, VMOP_LAYOUT_KERNFS_NAME) &&
	       vmop_layout_has(layout, VMOP_LAYOUT_KERNFS_PARENT);
}

struct vmop_error *vmop_guest_names_cgroup(struct vmop_guest_names *names, uint64_t task,
					   uint32_t *ret)
{
	struct vmop_guest_space *space = &names->kernel->space;
	struct name_key key = {0};
	char buf[VMOP_GUEST_PATH_MAX];
	const char *path = "";
	bool was_fault = space->fault;
	if (has_cgroups(names->layout)) {
		key.object = load(names, task, VMOP_LAYOUT_TASK_CGROUPS);
		const struct name *known = find(names, &key);
		if (known) {
			*ret = known->handle;
			return NULL;
		}
		path = css_set_path(names, key.object, buf, sizeof(buf));
	}
	bool whole = key.object && !space->fault;
	space->fault = was_fault; /* a process without a cgroup is still a process */
	return whole ? remember(names, &key, path, ret)
		     : vmop_guest_snapshot_text(names->snapshot, "", ret);
}
