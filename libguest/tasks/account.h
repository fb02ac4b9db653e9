// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The CPU time of a thread as the guest's kernel accounts it, from its task_struct. In a guest
 * whose kernel lacks CONFIG_PARAVIRT_TIME_ACCOUNTING it contains steal.
 */
#ifndef VMOP_LIBGUEST_TASKS_ACCOUNT_H
#define VMOP_LIBGUEST_TASKS_ACCOUNT_H

#include <stdint.h>

#include "libguest/types.h"

struct vmop_guest_space;
struct vmop_layout;

/* Read the account of the thread whose task_struct is at task. */
struct vmop_guest_account vmop_guest_account_read(struct vmop_guest_space *space,
						  const struct vmop_layout *layout, uint64_t task);

#endif
