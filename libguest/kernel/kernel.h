// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The Linux kernel in a guest's RAM: its address, page table and symbols.
 *
 * Callers are guest.c and tasks/. Data meets the files of kernel/ in this order:
 *  1. find.c looks for candidates in RAM, with vmcoreinfo.c and kallsyms-find.c for text and tables
 *     that a scan meets, and arm64.c for candidates on arm64.
 *  2. kernel.c checks a candidate: image.c maps its image, kallsyms.c unpacks its symbols, and
 *     variables.c with arm64-code.c finds variables that the symbol table omits.
 *  3. btf.c and layout.c give the struct offsets of the kernel that was chosen.
 *  4. modules.c reads kernel text outside the image (modules, BPF programs, trampolines) into a set
 *     (module-set.c).
 *
 * find.c looks for the page table in these ways, cheapest first:
 *  0. Registers: the page table that a CPU uses, where CPU registers can be read (Xen).
 *  1. The trampoline: below 1 MiB lies the page table with which the kernel starts its further
 *     CPUs. Its last entry is the kernel's own (arch/x86/realmode/init.c). This costs a few hundred
 *     pages.
 *  2. VMCOREINFO: its text, by a scan of all touched RAM.
 *  3. kallsyms: its tables, by the same scan.
 *
 * On arm64 nothing lies at a fixed address, and RAM can begin anywhere. VMCOREINFO gives the
 * geometry of the page table and the address of the kernel's name and release in the image. The
 * scan finds the same strings in RAM, and the two together give the start of RAM (arm64.h).
 *
 * Each find is only a candidate. It is accepted when its symbol table unpacks, and when the
 * kernel's own page table, found by symbol, maps the banner as the candidate does. RAM outlives a
 * reset and a kexec, so there can be several: the kernel whose jiffies advance is taken.
 *
 * Thread: as for the vmop_guest that owns the kernel.
 */
#ifndef VMOP_LIBGUEST_KERNEL_KERNEL_H
#define VMOP_LIBGUEST_KERNEL_KERNEL_H

#include "libguest/kernel/layout.h"
#include "libguest/kernel/vmcoreinfo.h"
#include "libguest/memory/page-table.h"
#include "libguest/types.h"

struct vmop_guest_kallsyms;

/* The symbols that libguest needs after the kernel was found. */
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
	X("__stop_notes")                                                                          \
	X("__start_init_task")                                                                     \
	X("__end_init_task")                                                                       \
	X("__start_init_stack")                                                                    \
	X("__end_init_stack")                                                                      \
	X("asm_fred_entrypoint_user")                                                              \
	X("hugetlb_vmemmap_optimize_folios")                                                       \
	X("__asan_loadN")                                                                          \
	X("__hwasan_loadN_noabort")                                                                \
	X("vmalloc_base")                                                                          \
	X("hardirq_stack_ptr")                                                                     \
	X("__start_orc_unwind")                                                                    \
	X("__start_orc_unwind_ip")                                                                 \
	X("__stop_orc_unwind_ip")
#define VMOP_GUEST_KERNEL_COUNT(name) +1

struct vmop_guest_kernel {
	struct vmop_guest_space space;	      /* the kernel's address space */
	struct vmop_guest_kallsyms *kallsyms; /* NULL after vmop_guest_kernel_drop_symbols() */
	/* addresses of symbols that kallsyms lacks; 0: unknown */
	uint64_t saved[VMOP_GUEST_KERNEL_NAMES(VMOP_GUEST_KERNEL_COUNT)];
	struct vmop_guest_kernel_info info;
	struct vmop_vmcoreinfo vmcoreinfo; /* its release is "": none was found */
	struct vmop_layout *layout;	   /* from BTF; NULL: not read yet, or none */
	size_t memory_placement;	   /* the memory placement in which the kernel was found */
	uint64_t jiffies_address;	   /* 0: the clocks of the run queues are read instead */
	uint64_t clock;			   /* value at the last check */
	uint64_t banner_gpa;
	/* address of the struct page of frame first_frame; 0: unknown */
	uint64_t vmemmap_start;
	int64_t first_frame;
	uint64_t page_struct_bytes; /* as above, only on arm64 */
};

/*
 * Find the kernel. budget is used for all later reads through the kernel and must outlive it.
 * is_live: RAM changes during the search (a process, not a file). The caller frees *ret.
 * VMOP_ERROR_NOT_FOUND: no Linux kernel that vmop can read. VMOP_ERROR_LIMIT: RAM cannot be read to
 * its end.
 */
struct vmop_error *vmop_guest_kernel_find(struct vmop_guest_memory *memory,
					  struct vmop_guest_budget *budget, bool is_live,
					  struct vmop_guest_kernel **ret);
void vmop_guest_kernel_free(struct vmop_guest_kernel *kernel); /* NULL is allowed */

/*
 * Set *ret_gpa to the address, as memory.h uses it, of a frame whose physical address in the guest
 * is given. The two differ only on Xen PV, where the kernel's direct map of all memory is
 * consulted. Return false when that fails.
 */
bool vmop_guest_kernel_locate(struct vmop_guest_kernel *kernel, uint64_t physical,
			      uint64_t *ret_gpa);

/*
 * Return the address that the struct page of the frame at physical address 0 has, or would have: on
 * arm64 RAM begins elsewhere, and calculations wrap around. 0: unknown.
 */
uint64_t vmop_guest_kernel_page_structs(struct vmop_guest_kernel *kernel);

/*
 * Set *ret to the address in the kernel's map of all RAM at which physical address 0 lies, or would
 * lie, as above. Return false when the map is unknown.
 */
bool vmop_guest_kernel_direct_map(struct vmop_guest_kernel *kernel, uint64_t *ret);

/* As vmop_guest_drop_symbols() in guest.h. */
void vmop_guest_kernel_drop_symbols(struct vmop_guest_kernel *kernel);
/* As vmop_guest_reload_symbols() in guest.h. */
bool vmop_guest_kernel_reload_symbols(struct vmop_guest_kernel *kernel);

/*
 * Return the address of a symbol, or 0 when it is unknown. After the symbols are dropped, only
 * VMOP_GUEST_KERNEL_NAMES are known.
 */
uint64_t vmop_guest_kernel_symbol(const struct vmop_guest_kernel *kernel, const char *name);

/* Store the address of a symbol of VMOP_GUEST_KERNEL_NAMES that the table lacks. */
void vmop_guest_kernel_save_symbol(struct vmop_guest_kernel *kernel, const char *name,
				   uint64_t address);

/*
 * Read struct offsets from the BTF in the image, once. Return false when it has no BTF that
 * suffices to read processes.
 */
bool vmop_guest_kernel_read_btf(struct vmop_guest_kernel *kernel);

/* As vmop_guest_kernel_state() in guest.h. The caller must have emptied the cache of memory. */
enum vmop_guest_kernel_state vmop_guest_kernel_check(struct vmop_guest_kernel *kernel);

/* --- between kernel.c, arm64.c and find.c -------------------------------------- */

/*
 * Take [start, end) of an address space as a kernel's image and return the kernel, which the caller
 * frees. vmcoreinfo may be NULL. search_method is a static string for the kernel's info. NULL: it
 * is not a kernel, it cannot be read, or memory is out, in which case the next candidate would fail
 * as well.
 */
struct vmop_guest_kernel *
vmop_guest_kernel_of_image(struct vmop_guest_memory *memory, struct vmop_guest_budget *budget,
			   struct vmop_paging paging, uint64_t start, uint64_t end,
			   const struct vmop_vmcoreinfo *vmcoreinfo, const char *search_method);

/* Take a root page table as that of an x86-64 kernel and return the kernel, or NULL as above. */
struct vmop_guest_kernel *vmop_guest_kernel_try_root(struct vmop_guest_memory *memory,
						     struct vmop_guest_budget *budget,
						     struct vmop_paging paging,
						     const char *search_method);

/*
 * Return whether the selected memory placement agrees with the kernel's own list of RAM (e820 on
 * x86-64, memblock on arm64).
 */
bool vmop_guest_kernel_placement_fits(struct vmop_guest_kernel *kernel);

#endif
