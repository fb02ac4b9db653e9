// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The variables of an arm64 kernel whose symbol table names only functions (CONFIG_KALLSYMS_ALL
 * off, as in Debian's arm64 kernels).
 *
 * A variable of known form is found by it: the banner by its text, BTF by its header, init_task as
 * the task named "swapper" whose list of tasks closes. Others are found among the addresses that
 * certain functions refer to (arm64-code.h), and are accepted only when their content is valid: a
 * consistent list, modules that point to themselves, a run queue whose idle task is init_task. A
 * variable that is not found stays unknown, and facts that depend on it are left out.
 */
#ifndef VMOP_LIBGUEST_KERNEL_VARIABLES_H
#define VMOP_LIBGUEST_KERNEL_VARIABLES_H

#include "libguest/kernel/image.h"
#include "libguest/kernel/kernel.h"

/*
 * Find the variables, store them with vmop_guest_kernel_save_symbol(), and set the number of CPUs.
 */
void vmop_guest_variables_find(struct vmop_guest_kernel *kernel,
			       const struct vmop_guest_image_map *map);

/*
 * Return a number that rises while the kernel runs: the sum of the clocks of its run queues in ns.
 * 0: they are unknown. On failure the fault flag of the space stays set.
 */
uint64_t vmop_guest_variables_clock(struct vmop_guest_kernel *kernel);

#endif
