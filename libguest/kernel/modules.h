// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kernel text outside the kernel's image, with its symbols: modules, BPF programs, ftrace and
 * kprobe pages, as the guest's /proc/kallsyms lists them (kernel: kernel/kallsyms.c,
 * update_iter_mod()). Thread: as for the vmop_guest.
 */
#ifndef VMOP_LIBGUEST_KERNEL_MODULES_H
#define VMOP_LIBGUEST_KERNEL_MODULES_H

#include "libguest/kernel/module-set.h"

struct vmop_guest_kernel;
struct vmop_layout;

/*
 * Read the lists. before (may be NULL) is the previous reading. When nothing has changed, *ret is
 * before, at little cost. Otherwise *ret is new, and the caller frees it and still owns before. A
 * list that changes during the reading is read again, up to three times, and *retries counts that.
 * VMOP_ERROR_CORRUPT: a list stays inconsistent.
 */
struct vmop_error *vmop_guest_modules_read(struct vmop_guest_kernel *kernel,
					   const struct vmop_layout *layout,
					   struct vmop_guest_module_set *before, uint64_t *retries,
					   struct vmop_guest_module_set **ret);

#endif
