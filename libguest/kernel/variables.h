// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The variables of an arm64 kernel whose symbol table names functions alone
 * (CONFIG_KALLSYMS_ALL off, as in Debian's arm64 kernels).
 *
 * What has a known shape is found by it: the banner by its text, BTF by its head,
 * init_task as the task named "swapper" whose list of tasks closes.  The others
 * are what certain functions refer to (arm64-code.h), and count only when what is
 * there is what it must be: a list that holds together, modules that point to
 * themselves, a run queue whose idle task is init_task.  What is not found stays
 * unknown, and what hangs on it is not told of the guest.
 */
#ifndef VMOP_LIBGUEST_KERNEL_VARIABLES_H
#define VMOP_LIBGUEST_KERNEL_VARIABLES_H

#include "libguest/kernel/image.h"
#include "libguest/kernel/kernel.h"

/* Notes what it finds with vmop_guest_kernel_keep(), and the number of CPUs. */
void vmop_guest_variables_find(struct vmop_guest_kernel *kernel, const struct vmop_image_map *map);

/*
 * A number that rises while the kernel runs: the clocks of its run queues, summed
 * up.  0: they are not known.  Leaves the view's fault flag set on failure.
 */
uint64_t vmop_guest_variables_clock(struct vmop_guest_kernel *kernel);

#endif
