// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/kernel/layout.h"

#include <ini.h>
#include <stdio.h>
#include <string.h>

#include "libguest/kernel/btf.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"
#include "libutil/io.h"
#include "libutil/parse.h"

/* A profile has about a hundred short lines. */
#define MAX_PROFILE_BYTES (1 << 20)

#define LAYOUT_NAMES(field, type, member) {type, member},
static const struct {
	const char *type, *member;
} fields[] = {VMOP_LAYOUT_FIELDS(LAYOUT_NAMES)};

/* Copy the alternative at *at to ret and advance *at past it. Return false at the end. */
static bool next_alternative(const char **at, char *ret, size_t size)
{
	size_t len = strcspn(*at, "|");
	if (!len || len >= size)
		return false;
	memcpy(ret, *at, len);
	ret[len] = '\0';
	*at += len + ((*at)[len] == '|');
	return true;
}

static int32_t bit_field_from_btf(struct vmop_btf *btf, const char *type, const char *member)
{
	uint32_t bit, bits;
	if (!vmop_btf_bit_field(btf, type, member + 1, &bit, &bits) || bit > INT32_MAX)
		return -1;
	return (int32_t)(*member == '@' ? bit : bits);
}

static int32_t from_btf(struct vmop_btf *btf, const char *type, const char *member)
{
	uint32_t offset;
	int64_t value;
	char name[64];
	if (*member == '@' || *member == '#')
		return bit_field_from_btf(btf, type, member);
	if (!*member)
		return vmop_btf_size(btf, type, &offset) && offset <= INT32_MAX ? (int32_t)offset
										: -1;
	if (*member == '=')
		return vmop_btf_enumerator(btf, type, member + 1, &value) && value >= 0 &&
				       value <= INT32_MAX
			       ? (int32_t)value
			       : -1;
	while (next_alternative(&member, name, sizeof(name)))
		if (vmop_btf_member(btf, type, name, &offset))
			return (int32_t)offset;
	return -1;
}

void vmop_layout_from_btf(struct vmop_btf *btf, struct vmop_layout *ret)
{
	for (unsigned int i = 0; i < VMOP_LAYOUT_FIELD_COUNT; i++)
		ret->value[i] = from_btf(btf, fields[i].type, fields[i].member);
}

/* --- profiles ----------------------------------------------------------------- */

const char *vmop_layout_name(enum vmop_layout_field field, char *buf, unsigned int size)
{
	const char *type = fields[field].type, *member = fields[field].member;
	if (!*member)
		snprintf(buf, size, "sizeof.%s", type);
	else
		snprintf(buf, size, "%s.%.*s", type, (int)strcspn(member, "|"),
			 member + (*member == '='));
	return buf;
}

struct profile {
	struct vmop_layout *layout;
	const char *release;
	bool is_other, has_release;
};

static int profile_line(void *arg, const char *section, const char *name, const char *text)
{
	struct profile *profile = arg;
	uint64_t value;
	char known[96];
	if (strcmp(section, "kernel") == 0 && strcmp(name, "release") == 0) {
		profile->has_release = true;
		profile->is_other = strcmp(text, profile->release) != 0;
		return 1;
	}
	if (strcmp(section, "offsets") != 0 || !vmop_parse_u64(text, 0, &value) ||
	    value > INT32_MAX)
		return 0;
	for (unsigned int i = 0; i < VMOP_LAYOUT_FIELD_COUNT; i++)
		if (strcmp(vmop_layout_name(i, known, sizeof(known)), name) == 0)
			profile->layout->value[i] = (int32_t)value;
	return 1; /* an unknown name belongs to a later version of vmop */
}

static void forget_all(struct vmop_layout *layout)
{
	for (unsigned int i = 0; i < VMOP_LAYOUT_FIELD_COUNT; i++)
		layout->value[i] = -1;
}

struct vmop_error *vmop_layout_from_profile(const char *path, const char *release,
					    struct vmop_layout *ret)
{
	struct profile profile = {.layout = ret, .release = release};
	_cleanup_free_ char *text = NULL;
	struct vmop_error *err = vmop_io_read_file(path, MAX_PROFILE_BYTES, &text, NULL);
	if (err)
		return err;
	forget_all(ret);
	int line = ini_parse_string(text, profile_line, &profile);
	if (line > 0)
		err = vmop_error_new(VMOP_ERROR_CORRUPT, "%s:%d: not a line of a kernel profile",
				     path, line);
	else if (line < 0)
		err = &vmop_error_no_memory;
	else if (!profile.has_release || profile.is_other)
		err = vmop_error_new(VMOP_ERROR_NOT_FOUND, "%s: not the profile of kernel %s", path,
				     release);
	if (err)
		forget_all(ret);
	return err;
}

/* --- what a layout suffices for ------------------------------------------------- */

static bool has_all(const struct vmop_layout *layout, const enum vmop_layout_field *needed,
		    size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!vmop_layout_has(layout, needed[i]))
			return false;
	return true;
}

#define HAS_ALL(layout, ...)                                                                       \
	has_all(layout, (const enum vmop_layout_field[]){__VA_ARGS__},                             \
		sizeof((const enum vmop_layout_field[]){__VA_ARGS__}) /                            \
			sizeof(enum vmop_layout_field))

bool vmop_layout_has_processes(const struct vmop_layout *layout)
{
	return HAS_ALL(layout, VMOP_LAYOUT_TASK_TASKS, VMOP_LAYOUT_TASK_PID, VMOP_LAYOUT_TASK_TGID,
		       VMOP_LAYOUT_TASK_COMM, VMOP_LAYOUT_TASK_MM, VMOP_LAYOUT_MM_PGD,
		       VMOP_LAYOUT_VMA_START, VMOP_LAYOUT_VMA_END, VMOP_LAYOUT_VMA_FLAGS,
		       VMOP_LAYOUT_VMA_PGOFF, VMOP_LAYOUT_VMA_FILE, VMOP_LAYOUT_FILE_PATH,
		       VMOP_LAYOUT_PATH_MNT, VMOP_LAYOUT_PATH_DENTRY, VMOP_LAYOUT_MOUNT_MNT,
		       VMOP_LAYOUT_MOUNT_PARENT, VMOP_LAYOUT_MOUNT_POINT, VMOP_LAYOUT_VFSMOUNT_ROOT,
		       VMOP_LAYOUT_DENTRY_PARENT, VMOP_LAYOUT_DENTRY_NAME) &&
	       (HAS_ALL(layout, VMOP_LAYOUT_MM_MMAP, VMOP_LAYOUT_VMA_NEXT) ||
		HAS_ALL(layout, VMOP_LAYOUT_MM_TREE_ROOT, VMOP_LAYOUT_MAPLE_RANGE_PIVOT,
			VMOP_LAYOUT_MAPLE_RANGE_SLOT, VMOP_LAYOUT_MAPLE_ARANGE_PIVOT,
			VMOP_LAYOUT_MAPLE_ARANGE_SLOT, VMOP_LAYOUT_MAPLE_LEAF_TYPE,
			VMOP_LAYOUT_MAPLE_RANGE_TYPE, VMOP_LAYOUT_MAPLE_ARANGE_TYPE));
}

bool vmop_layout_has_modules(const struct vmop_layout *layout)
{
	return HAS_ALL(layout, VMOP_LAYOUT_MODULE_LIST, VMOP_LAYOUT_MODULE_NAME,
		       VMOP_LAYOUT_MODULE_STATE, VMOP_LAYOUT_MODULE_KALLSYMS,
		       VMOP_LAYOUT_MOD_SYMTAB, VMOP_LAYOUT_MOD_NUM_SYMTAB,
		       VMOP_LAYOUT_MOD_STRTAB) &&
	       (HAS_ALL(layout, VMOP_LAYOUT_MODULE_CORE_BASE, VMOP_LAYOUT_MODULE_CORE_SIZE,
			VMOP_LAYOUT_MODULE_CORE_TEXT) ||
		HAS_ALL(layout, VMOP_LAYOUT_MODULE_MEM, VMOP_LAYOUT_MODULE_MEMORY_BASE,
			VMOP_LAYOUT_MODULE_MEMORY_SIZE, VMOP_LAYOUT_MODULE_MEMORY_BYTES));
}

bool vmop_layout_has_bpf_ksyms(const struct vmop_layout *layout)
{
	return HAS_ALL(layout, VMOP_LAYOUT_BPF_KSYM_NODE, VMOP_LAYOUT_BPF_KSYM_START,
		       VMOP_LAYOUT_BPF_KSYM_END, VMOP_LAYOUT_BPF_KSYM_NAME);
}

bool vmop_layout_has_bpf_programs(const struct vmop_layout *layout)
{
	return HAS_ALL(layout, VMOP_LAYOUT_BPF_AUX_NODE, VMOP_LAYOUT_BPF_AUX_PROG,
		       VMOP_LAYOUT_BPF_AUX_NAME, VMOP_LAYOUT_BPF_PROG_START,
		       VMOP_LAYOUT_BPF_PROG_TAG, VMOP_LAYOUT_BPF_HEADER_PAGES);
}

bool vmop_layout_has_bpf_functions(const struct vmop_layout *layout)
{
	return HAS_ALL(layout, VMOP_LAYOUT_BPF_AUX_BTF, VMOP_LAYOUT_BPF_AUX_FUNCTIONS,
		       VMOP_LAYOUT_BPF_AUX_FUNCTION_COUNT, VMOP_LAYOUT_BPF_AUX_FUNCTION,
		       VMOP_LAYOUT_BTF_TYPES, VMOP_LAYOUT_BTF_STRINGS);
}

bool vmop_layout_has_page_cache(const struct vmop_layout *layout)
{
	return HAS_ALL(layout, VMOP_LAYOUT_FILE_MAPPING, VMOP_LAYOUT_MAPPING_HEAD,
		       VMOP_LAYOUT_XA_NODE_SHIFT, VMOP_LAYOUT_XA_NODE_SLOTS,
		       VMOP_LAYOUT_PAGE_SIZE) &&
	       layout->value[VMOP_LAYOUT_PAGE_SIZE] > 0 &&
	       (vmop_layout_has(layout, VMOP_LAYOUT_FOLIO_INDEX) ||
		vmop_layout_has(layout, VMOP_LAYOUT_PAGE_INDEX));
}

bool vmop_layout_has_inodes(const struct vmop_layout *layout)
{
	return vmop_layout_has_processes(layout) &&
	       HAS_ALL(layout, VMOP_LAYOUT_TASK_NAMESPACES, VMOP_LAYOUT_NAMESPACES_MOUNT,
		       VMOP_LAYOUT_MOUNT_NAMESPACE, VMOP_LAYOUT_DENTRY_INODE,
		       VMOP_LAYOUT_DENTRY_ALIAS, VMOP_LAYOUT_DENTRY_HASH, VMOP_LAYOUT_INODE_NUMBER,
		       VMOP_LAYOUT_INODE_SIZE, VMOP_LAYOUT_INODE_SUPER,
		       VMOP_LAYOUT_INODE_GENERATION, VMOP_LAYOUT_INODE_DENTRIES,
		       VMOP_LAYOUT_INODE_MAPPING, VMOP_LAYOUT_INODE_LINKS, VMOP_LAYOUT_SUPER_ROOT,
		       VMOP_LAYOUT_SUPER_MOUNTS, VMOP_LAYOUT_MAPPING_HOST) &&
	       (vmop_layout_has(layout, VMOP_LAYOUT_MOUNT_NEXT_OF_SUPER) ||
		vmop_layout_has(layout, VMOP_LAYOUT_MOUNT_OF_SUPER));
}

bool vmop_layout_has_directories(const struct vmop_layout *layout)
{
	return vmop_layout_has_inodes(layout) &&
	       HAS_ALL(layout, VMOP_LAYOUT_TASK_FS, VMOP_LAYOUT_FS_ROOT, VMOP_LAYOUT_MOUNT_CHILDREN,
		       VMOP_LAYOUT_MOUNT_CHILD, VMOP_LAYOUT_INODE_MODE) &&
	       (HAS_ALL(layout, VMOP_LAYOUT_DENTRY_CHILDREN, VMOP_LAYOUT_DENTRY_SIBLING) ||
		HAS_ALL(layout, VMOP_LAYOUT_DENTRY_SUBDIRS, VMOP_LAYOUT_DENTRY_CHILD));
}
