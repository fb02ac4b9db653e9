// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The layout of a kernel's structs: member offsets, sizes and enumerators that libguest needs, each
 * found once, from the guest's BTF or from a profile.
 *
 * A profile is an INI file for a kernel without BTF:
 *
 *	[kernel]
 *	release = 5.4.0-42-generic	(must be the guest's)
 *	[offsets]
 *	task_struct.mm = 2144
 *	sizeof.page = 64
 *	maple_type.maple_leaf_64 = 1
 *
 * A layout is plain data: any thread may read one that no thread writes.
 */
#ifndef VMOP_LIBGUEST_KERNEL_LAYOUT_H
#define VMOP_LIBGUEST_KERNEL_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

struct vmop_btf;
struct vmop_error;

/*
 * X(FIELD, type, member). member can list alternatives ("f_path|__f_path": the first that exists).
 * "" is the size of type, and "=x" the value of its enumerator x. "@x" and "#x" are the offset and
 * the size of the bit field x, in bits.
 */
#define VMOP_LAYOUT_FIELDS(X)                                                                      \
	X(TASK_TASKS, "task_struct", "tasks")                                                      \
	X(TASK_PID, "task_struct", "pid")                                                          \
	X(TASK_TGID, "task_struct", "tgid")                                                        \
	X(TASK_COMM, "task_struct", "comm")                                                        \
	X(TASK_MM, "task_struct", "mm")                                                            \
	X(TASK_PARENT, "task_struct", "real_parent")                                               \
	X(TASK_START, "task_struct", "start_boottime|real_start_time|start_time")                  \
	X(TASK_THREAD_PID, "task_struct", "thread_pid")                                            \
	X(TASK_CGROUPS, "task_struct", "cgroups")                                                  \
	X(TASK_STATE, "task_struct", "__state|state")                                              \
	X(TASK_EXIT_STATE, "task_struct", "exit_state")                                            \
	X(TASK_ON_CPU, "task_struct", "on_cpu")                                                    \
	X(TASK_SWITCHES, "task_struct", "nvcsw")                                                   \
	X(TASK_FORCED_SWITCHES, "task_struct", "nivcsw")                                           \
	X(TASK_RUN_NS, "task_struct", "se.sum_exec_runtime")                                       \
	X(TASK_WAIT_NS, "task_struct", "sched_info.run_delay")                                     \
	X(TASK_RUNS, "task_struct", "sched_info.pcount")                                           \
	X(TASK_USER_NS, "task_struct", "utime")                                                    \
	X(TASK_SYSTEM_NS, "task_struct", "stime")                                                  \
	X(TASK_STACK, "task_struct", "stack")                                                      \
	X(TASK_SIGNAL, "task_struct", "signal")                                                    \
	X(TASK_THREAD_NODE, "task_struct", "thread_node")                                          \
	X(TASK_SP, "task_struct", "thread.sp")                                                     \
	X(TASK_CPU_CONTEXT, "task_struct", "thread.cpu_context")                                   \
	X(TASK_LEADER, "task_struct", "group_leader")                                              \
	X(TASK_FS, "task_struct", "fs")                                                            \
	X(TASK_NAMESPACES, "task_struct", "nsproxy")                                               \
	X(PID_LEVEL, "pid", "level")                                                               \
	X(PID_NUMBERS, "pid", "numbers")                                                           \
	X(UPID_NR, "upid", "nr")                                                                   \
	X(UPID_SIZE, "upid", "")                                                                   \
	X(CSS_SET_DFL, "css_set", "dfl_cgrp")                                                      \
	X(CSS_SET_SUBSYS, "css_set", "subsys")                                                     \
	X(CSS_CGROUP, "cgroup_subsys_state", "cgroup")                                             \
	X(CGROUP_SUBSYS_COUNT, "cgroup_subsys_id", "=CGROUP_SUBSYS_COUNT")                         \
	X(CGROUP_KN, "cgroup", "kn")                                                               \
	X(KERNFS_NAME, "kernfs_node", "name")                                                      \
	X(KERNFS_PARENT, "kernfs_node", "parent|__parent")                                         \
	X(MM_PGD, "mm_struct", "pgd")                                                              \
	X(MM_MMAP, "mm_struct", "mmap")                                                            \
	X(MM_TREE_ROOT, "mm_struct", "mm_mt.ma_root")                                              \
	X(MM_MAP_COUNT, "mm_struct", "map_count")                                                  \
	X(MM_START_BRK, "mm_struct", "start_brk")                                                  \
	X(MM_BRK, "mm_struct", "brk")                                                              \
	X(MM_START_STACK, "mm_struct", "start_stack")                                              \
	X(MM_VDSO, "mm_struct", "context.vdso")                                                    \
	X(VMA_START, "vm_area_struct", "vm_start")                                                 \
	X(VMA_END, "vm_area_struct", "vm_end")                                                     \
	X(VMA_FLAGS, "vm_area_struct", "vm_flags")                                                 \
	X(VMA_PGOFF, "vm_area_struct", "vm_pgoff")                                                 \
	X(VMA_FILE, "vm_area_struct", "vm_file")                                                   \
	X(VMA_NEXT, "vm_area_struct", "vm_next")                                                   \
	X(VMA_OPS, "vm_area_struct", "vm_ops")                                                     \
	X(VMA_PRIVATE, "vm_area_struct", "vm_private_data")                                        \
	X(SPECIAL_NAME, "vm_special_mapping", "name")                                              \
	X(MAPLE_RANGE_PIVOT, "maple_range_64", "pivot")                                            \
	X(MAPLE_RANGE_SLOT, "maple_range_64", "slot")                                              \
	X(MAPLE_ARANGE_PIVOT, "maple_arange_64", "pivot")                                          \
	X(MAPLE_ARANGE_SLOT, "maple_arange_64", "slot")                                            \
	X(MAPLE_LEAF_TYPE, "maple_type", "=maple_leaf_64")                                         \
	X(MAPLE_RANGE_TYPE, "maple_type", "=maple_range_64")                                       \
	X(MAPLE_ARANGE_TYPE, "maple_type", "=maple_arange_64")                                     \
	X(FILE_PATH, "file", "f_path|__f_path")                                                    \
	X(FILE_INODE, "file", "f_inode")                                                           \
	X(FILE_MAPPING, "file", "f_mapping")                                                       \
	X(FILE_MODE, "file", "f_mode")                                                             \
	X(BACKING_PATH, "backing_file", "user_path")                                               \
	X(PATH_MNT, "path", "mnt")                                                                 \
	X(PATH_DENTRY, "path", "dentry")                                                           \
	X(MOUNT_MNT, "mount", "mnt")                                                               \
	X(MOUNT_PARENT, "mount", "mnt_parent")                                                     \
	X(MOUNT_POINT, "mount", "mnt_mountpoint")                                                  \
	X(MOUNT_NAMESPACE, "mount", "mnt_ns")                                                      \
	X(MOUNT_CHILDREN, "mount", "mnt_mounts")                                                   \
	X(MOUNT_CHILD, "mount", "mnt_child")                                                       \
	X(MOUNT_OF_SUPER, "mount", "mnt_instance")                                                 \
	X(MOUNT_NEXT_OF_SUPER, "mount", "mnt_next_for_sb")                                         \
	X(VFSMOUNT_ROOT, "vfsmount", "mnt_root")                                                   \
	X(DENTRY_PARENT, "dentry", "d_parent")                                                     \
	X(DENTRY_NAME, "dentry", "d_name.name")                                                    \
	X(DENTRY_HASH, "dentry", "d_hash.pprev")                                                   \
	X(DENTRY_SUPER, "dentry", "d_sb")                                                          \
	X(DENTRY_INODE, "dentry", "d_inode")                                                       \
	X(DENTRY_ALIAS, "dentry", "d_alias|d_u.d_alias")                                           \
	X(DENTRY_CHILDREN, "dentry", "d_children")                                                 \
	X(DENTRY_SIBLING, "dentry", "d_sib")                                                       \
	X(DENTRY_SUBDIRS, "dentry", "d_subdirs")                                                   \
	X(DENTRY_CHILD, "dentry", "d_child")                                                       \
	X(INODE_SIZE, "inode", "i_size")                                                           \
	X(INODE_NUMBER, "inode", "i_ino")                                                          \
	X(INODE_SUPER, "inode", "i_sb")                                                            \
	X(INODE_GENERATION, "inode", "i_generation")                                               \
	X(INODE_DENTRIES, "inode", "i_dentry")                                                     \
	X(INODE_MAPPING, "inode", "i_mapping")                                                     \
	X(INODE_LINKS, "inode", "i_nlink")                                                         \
	X(INODE_MODE, "inode", "i_mode")                                                           \
	X(INODE_BYTES, "inode", "")                                                                \
	X(SUPER_TYPE, "super_block", "s_type")                                                     \
	X(SUPER_ROOT, "super_block", "s_root")                                                     \
	X(SUPER_MOUNTS, "super_block", "s_mounts")                                                 \
	X(FS_TYPE_NAME, "file_system_type", "name")                                                \
	X(MAPPING_HEAD, "address_space", "i_pages.xa_head")                                        \
	X(MAPPING_HOST, "address_space", "host")                                                   \
	X(XA_NODE_SHIFT, "xa_node", "shift")                                                       \
	X(XA_NODE_SLOTS, "xa_node", "slots")                                                       \
	X(FOLIO_INDEX, "folio", "index")                                                           \
	X(PAGE_INDEX, "page", "index|__folio_index")                                               \
	X(PAGE_MAPPING, "page", "mapping")                                                         \
	X(PAGE_COMPOUND_HEAD, "page", "compound_head")                                             \
	X(PAGE_COMPOUND_INFO, "page", "compound_info")                                             \
	X(PAGE_SIZE, "page", "")                                                                   \
	X(MODULE_LIST, "module", "list")                                                           \
	X(MODULE_STATE, "module", "state")                                                         \
	X(MODULE_NAME, "module", "name")                                                           \
	X(MODULE_CORE_BASE, "module", "core_layout.base")                                          \
	X(MODULE_CORE_SIZE, "module", "core_layout.size")                                          \
	X(MODULE_CORE_TEXT, "module", "core_layout.text_size")                                     \
	X(MODULE_MEM, "module", "mem")                                                             \
	X(MODULE_KALLSYMS, "module", "kallsyms")                                                   \
	X(MODULE_SYMS, "module", "syms")                                                           \
	X(MODULE_NUM_SYMS, "module", "num_syms")                                                   \
	X(MODULE_BUILD_ID, "module", "build_id")                                                   \
	X(MODULE_NOTES, "module", "notes_attrs")                                                   \
	X(MODULE_SELF, "module", "mkobj.mod")                                                      \
	X(MODULE_ORC_COUNT, "module", "arch.num_orcs")                                             \
	X(MODULE_ORC_IPS, "module", "arch.orc_unwind_ip")                                          \
	X(MODULE_ORC_ENTRIES, "module", "arch.orc_unwind")                                         \
	X(MODULE_MEMORY_BASE, "module_memory", "base")                                             \
	X(MODULE_MEMORY_SIZE, "module_memory", "size")                                             \
	X(MODULE_MEMORY_BYTES, "module_memory", "")                                                \
	X(MOD_INIT_TEXT, "mod_mem_type", "=MOD_INIT_TEXT")                                         \
	X(NOTES_COUNT, "module_notes_attrs", "notes")                                              \
	X(NOTES_ATTRS, "module_notes_attrs", "attrs")                                              \
	X(NOTES_LIST, "module_notes_attrs", "grp.bin_attrs")                                       \
	X(BIN_ATTR_SIZE, "bin_attribute", "size")                                                  \
	X(BIN_ATTR_PRIVATE, "bin_attribute", "private")                                            \
	X(BIN_ATTR_BYTES, "bin_attribute", "")                                                     \
	X(MOD_SYMTAB, "mod_kallsyms", "symtab")                                                    \
	X(MOD_NUM_SYMTAB, "mod_kallsyms", "num_symtab")                                            \
	X(MOD_STRTAB, "mod_kallsyms", "strtab")                                                    \
	X(MOD_TYPETAB, "mod_kallsyms", "typetab")                                                  \
	X(KERNEL_SYMBOL_BYTES, "kernel_symbol", "")                                                \
	X(KERNEL_SYMBOL_VALUE, "kernel_symbol", "value_offset")                                    \
	X(KERNEL_SYMBOL_NAME, "kernel_symbol", "name_offset")                                      \
	X(BPF_KSYM_START, "bpf_ksym", "start")                                                     \
	X(BPF_KSYM_END, "bpf_ksym", "end")                                                         \
	X(BPF_KSYM_NAME, "bpf_ksym", "name")                                                       \
	X(BPF_KSYM_NODE, "bpf_ksym", "lnode")                                                      \
	X(BPF_AUX_NODE, "bpf_prog_aux", "ksym_lnode")                                              \
	X(BPF_AUX_PROG, "bpf_prog_aux", "prog")                                                    \
	X(BPF_AUX_NAME, "bpf_prog_aux", "name")                                                    \
	X(BPF_AUX_BTF, "bpf_prog_aux", "btf")                                                      \
	X(BPF_AUX_FUNCTIONS, "bpf_prog_aux", "func_info")                                          \
	X(BPF_AUX_FUNCTION_COUNT, "bpf_prog_aux", "func_info_cnt")                                 \
	X(BPF_AUX_FUNCTION, "bpf_prog_aux", "func_idx")                                            \
	X(BPF_PROG_START, "bpf_prog", "bpf_func")                                                  \
	X(BPF_PROG_TAG, "bpf_prog", "tag")                                                         \
	X(BPF_HEADER_PAGES, "bpf_binary_header", "pages")                                          \
	X(BTF_TYPES, "btf", "types")                                                               \
	X(BTF_STRINGS, "btf", "strings")                                                           \
	X(FTRACE_OPS_LIST, "ftrace_ops", "list")                                                   \
	X(FTRACE_OPS_TRAMPOLINE, "ftrace_ops", "trampoline")                                       \
	X(FTRACE_OPS_SIZE, "ftrace_ops", "trampoline_size")                                        \
	X(FTRACE_MAP_LIST, "ftrace_mod_map", "list")                                               \
	X(FTRACE_MAP_MODULE, "ftrace_mod_map", "mod")                                              \
	X(FTRACE_MAP_FUNCS, "ftrace_mod_map", "funcs")                                             \
	X(FTRACE_FUNC_LIST, "ftrace_mod_func", "list")                                             \
	X(FTRACE_FUNC_NAME, "ftrace_mod_func", "name")                                             \
	X(FTRACE_FUNC_IP, "ftrace_mod_func", "ip")                                                 \
	X(FTRACE_FUNC_SIZE, "ftrace_mod_func", "size")                                             \
	X(KPROBE_CACHE_PAGES, "kprobe_insn_cache", "pages")                                        \
	X(KPROBE_PAGE_LIST, "kprobe_insn_page", "list")                                            \
	X(KPROBE_PAGE_INSNS, "kprobe_insn_page", "insns")                                          \
	X(RQ_CPU, "rq", "cpu")                                                                     \
	X(RQ_CURR, "rq", "curr")                                                                   \
	X(RQ_IDLE, "rq", "idle")                                                                   \
	X(RQ_CLOCK, "rq", "clock")                                                                 \
	X(RQ_SWITCHES, "rq", "nr_switches")                                                        \
	X(PCPU_HOT_CURRENT, "pcpu_hot", "current_task")                                            \
	X(PCPU_HOT_IRQ_STACK, "pcpu_hot", "hardirq_stack_ptr")                                     \
	X(CPUINFO_CAPABILITY, "cpuinfo_x86", "x86_capability")                                     \
	X(CPUINFO_BYTES, "cpuinfo_x86", "")                                                        \
	X(SIGNAL_THREADS, "signal_struct", "thread_head")                                          \
	X(CONTEXT_FP, "cpu_context", "fp")                                                         \
	X(CONTEXT_SP, "cpu_context", "sp")                                                         \
	X(CONTEXT_PC, "cpu_context", "pc")                                                         \
	X(SWITCH_FRAME_BP, "inactive_task_frame", "bp")                                            \
	X(SWITCH_FRAME_PC, "inactive_task_frame", "ret_addr")                                      \
	X(SWITCH_FRAME_BYTES, "inactive_task_frame", "")                                           \
	X(PT_REGS_BYTES, "pt_regs", "")                                                            \
	X(PT_REGS_RECORD_KIND, "pt_regs", "stackframe.type")                                       \
	X(FS_ROOT, "fs_struct", "root")                                                            \
	X(NAMESPACES_MOUNT, "nsproxy", "mnt_ns")                                                   \
	X(ORC_ENTRY_BYTES, "orc_entry", "")                                                        \
	X(ORC_TYPE_BIT, "orc_entry", "@type")                                                      \
	X(ORC_TYPE_BITS, "orc_entry", "#type")                                                     \
	X(ORC_END_BIT, "orc_entry", "@end")

#define VMOP_LAYOUT_ENUM(field, type, member) VMOP_LAYOUT_##field,
enum vmop_layout_field { VMOP_LAYOUT_FIELDS(VMOP_LAYOUT_ENUM) VMOP_LAYOUT_FIELD_COUNT };

struct vmop_layout {
	int32_t value[VMOP_LAYOUT_FIELD_COUNT]; /* in bytes, or an enumerator's value; -1: this
						   kernel has no such field */
};

/* Fill *ret from BTF; fields that it lacks are -1. */
void vmop_layout_from_btf(struct vmop_btf *btf, struct vmop_layout *ret);

/*
 * Fill *ret from a profile. VMOP_ERROR_NOT_FOUND: it is for a kernel other than release.
 * VMOP_ERROR_CORRUPT, with the line: it is not a profile. On error all values are -1.
 */
struct vmop_error *vmop_layout_from_profile(const char *path, const char *release,
					    struct vmop_layout *ret);

/* Return whether the kernel has the field. */
static inline bool vmop_layout_has(const struct vmop_layout *layout, enum vmop_layout_field field)
{
	return layout->value[field] >= 0;
}

/* Return the offset, size or enumerator of a field that the kernel has. */
static inline uint32_t vmop_layout_value(const struct vmop_layout *layout,
					 enum vmop_layout_field field)
{
	return (uint32_t)layout->value[field];
}

/* Write the name of a field in a profile to buf, for its first alternative, and return buf. */
const char *vmop_layout_name(enum vmop_layout_field field, char *buf, unsigned int size);

/* Return whether the layout suffices to read processes with their mappings and paths. */
bool vmop_layout_has_processes(const struct vmop_layout *layout);
/* ... modules. */
bool vmop_layout_has_modules(const struct vmop_layout *layout);
/* ... BPF programs of kernels from 5.7 on, which are in a list of symbols. */
bool vmop_layout_has_bpf_ksyms(const struct vmop_layout *layout);
/* ... BPF programs of earlier kernels. */
bool vmop_layout_has_bpf_programs(const struct vmop_layout *layout);
/* ... the names of the functions of BPF programs. */
bool vmop_layout_has_bpf_functions(const struct vmop_layout *layout);
/* ... the page cache. */
bool vmop_layout_has_page_cache(const struct vmop_layout *layout);
/* ... the path of an inode's file. */
bool vmop_layout_has_inodes(const struct vmop_layout *layout);
/* ... the file of a path. */
bool vmop_layout_has_directories(const struct vmop_layout *layout);

#endif
