// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finding an arm64 kernel, and what its own variables say of memory.
 *
 * The image lies at gpa = address - kimage_voffset, in one piece, so what the
 * kernel tells of an address in the image (VMCOREINFO: init_uts_ns), and where
 * the same is seen in RAM, give the place of RAM itself, which differs between
 * VMMs (QEMU 1 GiB, Firecracker and crosvm 2 GiB).  TTBR1 need not be known:
 * the table is swapper_pg_dir, and its geometry is what VMCOREINFO says or, of a
 * kernel that names its variables, the one of the few that Linux can be built with
 * that maps the image to where it is.
 *
 * kernel: arch/arm64/kernel/vmcore_info.c, arch/arm64/include/asm/memory.h.
 */
#ifndef VMOP_LIBGUEST_KERNEL_ARM64_H
#define VMOP_LIBGUEST_KERNEL_ARM64_H

#include "libguest/kernel/kernel.h"

struct vmop_kallsyms;

/*
 * The kernel that wrote vmcoreinfo, if the strings of its init_uts_ns are those at
 * uts_linear in RAM.  Selects a memory layout.  NULL: it is not so.
 */
struct vmop_guest_kernel *vmop_guest_kernel_try_arm64_uts(struct vmop_guest_memory *memory,
							  struct vmop_guest_budget *budget,
							  const struct vmop_vmcoreinfo *vmcoreinfo,
							  uint64_t uts_linear);

/*
 * The kernel with these symbols, if its banner is the one at banner_linear in RAM:
 * without VMCOREINFO, so the symbols must name variables.  Likewise.
 */
struct vmop_guest_kernel *vmop_guest_kernel_try_arm64_banner(struct vmop_guest_memory *memory,
							     struct vmop_guest_budget *budget,
							     const struct vmop_kallsyms *kallsyms,
							     uint64_t banner_linear);

/* Its architecture's part of the info, and where the page structs are. */
void vmop_guest_kernel_describe_arm64(struct vmop_guest_kernel *kernel);

/* Whether all RAM that the kernel knows of (memblock, kept on arm64) is in the layout in use. */
bool vmop_guest_kernel_memblock_fits(struct vmop_guest_kernel *kernel);

#endif
