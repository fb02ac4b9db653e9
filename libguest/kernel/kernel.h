// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The Linux kernel in a guest's RAM: where it is, and its symbols.
 *
 * Ways to find its page table, cheapest first:
 *  0. Where the CPUs' registers can be asked for (Xen), the page table that one of them runs on.
 *  1. The trampoline: below 1 MiB lies the page table with which the kernel
 *     starts its further CPUs; its last entry is the kernel's own
 *     (arch/x86/realmode/init.c).  A few hundred pages are looked at.
 *  2. VMCOREINFO, by a scan of all touched RAM for its text.
 *  3. kallsyms, by the same scan.
 * On arm64 nothing is at a known place, and RAM begins anywhere: VMCOREINFO tells
 * the geometry of the page table and where in the image the kernel keeps its name
 * and release, which the same scan finds; the two tell where RAM begins
 * (kernel/arm64.h).  Each is only a candidate: it counts when its symbol table unpacks, and the
 * kernel's own page table, found by symbol, maps the banner to the very place
 * where the candidate has it.  Of several candidates (RAM outlives a reset, a
 * kexec) the one whose jiffies advance is taken.
 */
#ifndef VMOP_LIBGUEST_KERNEL_KERNEL_H
#define VMOP_LIBGUEST_KERNEL_KERNEL_H

#include "libguest/kernel/layout.h"
#include "libguest/kernel/vmcoreinfo.h"
#include "libguest/memory/page-table.h"
#include "libguest/types.h"

struct vmop_kallsyms;

/* The symbols that libguest itself needs, beside those that finding the kernel takes. */
#define VMOP_GUEST_KERNEL_NAMES(X)                                                                 \
	X("linux_banner")                                                                          \
	X("init_task")                                                                             \
	X("special_mapping_vmops")                                                                 \
	X("pcpu_hot")                                                                              \
	X("current_task")                                                                          \
	X("__per_cpu_offset")                                                                      \
	X("vmemmap_base")                                                                          \
	X("page_offset_base")                                                                      \
	X("modules")                                                                               \
	X("ftrace_mod_maps")                                                                       \
	X("ftrace_ops_trampoline_list")                                                            \
	X("bpf_kallsyms")                                                                          \
	X("kprobe_insn_slots")                                                                     \
	X("kprobe_optinsn_slots")                                                                  \
	X("__entry_task")                                                                          \
	X("runqueues")                                                                             \
	X("memblock")                                                                              \
	X("__start_BTF")                                                                           \
	X("__stop_BTF")                                                                            \
	X("__start_notes")                                                                         \
	X("__stop_notes")
#define VMOP_GUEST_KERNEL_COUNT(name) +1

struct vmop_guest_kernel {
	struct vmop_view view;		/* the kernel's address space */
	struct vmop_kallsyms *kallsyms; /* NULL once dropped */
	/* of symbols that the table does not name or that is dropped; 0: not known */
	uint64_t kept[VMOP_GUEST_KERNEL_NAMES(VMOP_GUEST_KERNEL_COUNT)];
	struct vmop_guest_kernel_info info;
	struct vmop_vmcoreinfo vmcoreinfo; /* its release is "" where there is none */
	struct vmop_layout *layout;	   /* from BTF; NULL: not read, or none */
	size_t memory_layout;		   /* of RAM, in which it was found */
	uint64_t jiffies_address;	   /* 0: the run queues' clocks are looked at */
	uint64_t clock;			   /* when last looked at */
	uint64_t banner_gpa;
	/* where frame first_frame has its struct page; 0: not known */
	uint64_t vmemmap_start;
	int64_t first_frame;
};

/*
 * Finds the kernel.  The views's budget is the given one, which must outlive
 * the kernel.  is_live: RAM changes under us (a process, not a file).
 */
struct vmop_error *vmop_guest_kernel_find(struct vmop_guest_memory *memory,
					  struct vmop_guest_budget *budget, bool is_live,
					  struct vmop_guest_kernel **ret);
void vmop_guest_kernel_free(struct vmop_guest_kernel *kernel);

/*
 * Where a frame that the guest knows by its physical address lies in its memory as it is
 * read here: the same but for Xen PV, where the kernel's own map of all memory tells.
 */
bool vmop_guest_kernel_locate(struct vmop_guest_kernel *kernel, uint64_t physical,
			      uint64_t *ret_gpa);

/* As vmop_guest_drop_symbols(). */
void vmop_guest_kernel_drop_symbols(struct vmop_guest_kernel *kernel);

/*
 * A symbol's address, 0 when there is none.  Once the symbols are dropped, only
 * VMOP_GUEST_KERNEL_NAMES are known.
 */
uint64_t vmop_guest_kernel_symbol(const struct vmop_guest_kernel *kernel, const char *name);

/* Notes a symbol of VMOP_GUEST_KERNEL_NAMES that the table does not have. */
void vmop_guest_kernel_keep(struct vmop_guest_kernel *kernel, const char *name, uint64_t address);

/* Reads offsets from the BTF in the image, once; false: it has none that will do for processes. */
bool vmop_guest_kernel_read_btf(struct vmop_guest_kernel *kernel);

/* As vmop_guest_kernel_state(); the memory must have been told to forget. */
enum vmop_guest_kernel_state vmop_guest_kernel_look(struct vmop_guest_kernel *kernel);

/* --- between kernel.c, kernel/arm64.c and kernel/find.c ------------------------- */

/*
 * Takes what lies in [start, end) of an address space for a kernel's image.
 * vmcoreinfo may be NULL.  NULL: it is none, or it can't be read; out of memory too,
 * for then the next would not help.
 */
struct vmop_guest_kernel *
vmop_guest_kernel_of_image(struct vmop_guest_memory *memory, struct vmop_guest_budget *budget,
			   struct vmop_paging paging, uint64_t start, uint64_t end,
			   const struct vmop_vmcoreinfo *vmcoreinfo, const char *found_by);

/* Takes a root page table for an x86-64 kernel's; as before. */
struct vmop_guest_kernel *vmop_guest_kernel_try_root(struct vmop_guest_memory *memory,
						     struct vmop_guest_budget *budget,
						     struct vmop_paging paging,
						     const char *found_by);

/* Whether the RAM that the kernel was told of (e820, memblock) agrees with the layout in use. */
bool vmop_guest_kernel_layout_fits(struct vmop_guest_kernel *kernel);

#endif
