// SPDX-License-Identifier: GPL-2.0-or-later
/* The conditions under which this machine can be an active guest. */
#ifndef VMOP_HV_INTERFACE_ACTIVE_CHECK_H
#define VMOP_HV_INTERFACE_ACTIVE_CHECK_H

#include <stdbool.h>

#include "libutil/error.h"

/* Return whether this machine is a domU of Xen, so that its initiator is in dom0. */
bool vmop_active_is_domu(void);

/*
 * Return NULL if this machine is a PV domU of Xen and has a transport for its samples. Else return
 * VMOP_ERROR_CANT with the remedy. Call it before dom0 can list the domain: a domain that fails
 * after it was listed cannot be destroyed completely until the machine reboots.
 */
struct vmop_error *vmop_active_check(void);

#endif
