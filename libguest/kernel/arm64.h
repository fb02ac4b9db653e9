// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds an arm64 kernel, and reads facts about memory from its variables.
 *
 * The image lies at gpa = address - kimage_voffset, in one piece. The kernel gives the address of
 * an object in the image (VMCOREINFO: init_uts_ns), and a scan finds the same object in RAM. The
 * two together give the start of RAM, which differs between VMMs (QEMU 1 GiB, Firecracker and
 * crosvm 2 GiB). TTBR1 is not needed: the root table is swapper_pg_dir. VMCOREINFO gives its
 * geometry. For a kernel that names its variables, it is the one among the few geometries of Linux
 * that maps the image to its address.
 *
 * Sources: the kernel's arch/arm64/kernel/vmcore_info.c, arch/arm64/include/asm/memory.h.
 */
#ifndef VMOP_LIBGUEST_KERNEL_ARM64_H
#define VMOP_LIBGUEST_KERNEL_ARM64_H

#include "libguest/kernel/kernel.h"

struct vmop_guest_kallsyms;

/*
 * Return the kernel that wrote vmcoreinfo, provided that the strings of its init_uts_ns lie at
 * uts_linear in RAM. The caller frees it. Selects a memory placement. NULL: no such kernel.
 */
struct vmop_guest_kernel *vmop_guest_kernel_try_arm64_uts(struct vmop_guest_memory *memory,
							  struct vmop_guest_budget *budget,
							  const struct vmop_vmcoreinfo *vmcoreinfo,
							  uint64_t uts_linear);

/*
 * Return the kernel with these symbols, provided that its banner lies at banner_linear in RAM.
 * There is no VMCOREINFO, so the symbols must name variables. Otherwise as above.
 */
struct vmop_guest_kernel *vmop_guest_kernel_try_arm64_banner(
	struct vmop_guest_memory *memory, struct vmop_guest_budget *budget,
	const struct vmop_guest_kallsyms *kallsyms, uint64_t banner_linear);

/* Fill the part of the info that is specific to arm64, and find the page structs. */
void vmop_guest_kernel_describe_arm64(struct vmop_guest_kernel *kernel);

/*
 * Return whether all RAM in the kernel's own list (memblock, which arm64 keeps) is in the selected
 * memory placement.
 */
bool vmop_guest_kernel_memblock_fits(struct vmop_guest_kernel *kernel);

#endif
