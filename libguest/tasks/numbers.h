// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The numbers of a guest's kernel by which the task, the page and the stacks of a sample are found
 * (vmop/guest-numbers.h). Thread: as for the vmop_guest.
 */
#ifndef VMOP_LIBGUEST_TASKS_NUMBERS_H
#define VMOP_LIBGUEST_TASKS_NUMBERS_H

struct vmop_error;
struct vmop_guest_kernel;
struct vmop_guest_numbers;
struct vmop_layout;

/* As vmop_guest_sample_numbers() in guest.h. */
struct vmop_error *vmop_guest_numbers_find(struct vmop_guest_kernel *kernel,
					   const struct vmop_layout *layout,
					   struct vmop_guest_numbers *ret);

#endif
