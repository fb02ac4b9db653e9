// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The network namespace of a tap that another process has open. Only a copy of its descriptor shows
 * it. Between the look at the descriptor and the copy the process may put another file in its
 * place, whose close can block for ever: so the copy is made on a thread that may hang
 * (libutil/readers.h).
 */
#ifndef VMOP_LIBVMOP_STAT_NET_TAP_NAMESPACE_H
#define VMOP_LIBVMOP_STAT_NET_TAP_NAMESPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "libutil/error.h"

struct vmop_tap_namespace;

struct vmop_error *vmop_tap_namespace_create(struct vmop_tap_namespace **ret);
void vmop_tap_namespace_destroy(struct vmop_tap_namespace *asker); /* NULL is allowed */

/*
 * Write the identity of the namespace of the tap that is descriptor `number` of process pid to
 * *ret. Return false if it is not known: no right to copy the descriptor, Linux before 5.6, no tap
 * any more, or a process that hangs.
 */
bool vmop_tap_namespace_of(struct vmop_tap_namespace *asker, uint32_t pid, int number,
			   struct stat *ret);

#endif
