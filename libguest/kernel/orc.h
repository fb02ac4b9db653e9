// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ORC tables of an x86-64 kernel and its modules (kernel: arch/x86/kernel/unwind_orc.c;
 * arch/x86/include/asm/module.h, struct mod_arch_specific).
 *
 * Thread: as for the vmop_guest that is read.
 */
#ifndef VMOP_LIBGUEST_KERNEL_ORC_H
#define VMOP_LIBGUEST_KERNEL_ORC_H

#include "libguest/types.h"

struct vmop_error;
struct vmop_guest_kernel;
struct vmop_guest_module_set;
struct vmop_layout;

/* As vmop_guest_each_orc() in guest.h. modules may be NULL. */
struct vmop_error *vmop_guest_orc_read(struct vmop_guest_kernel *kernel,
				       const struct vmop_layout *layout,
				       const struct vmop_guest_module_set *modules,
				       vmop_guest_orc_fn *visit, void *arg,
				       struct vmop_guest_orc_format *ret_format);

#endif
