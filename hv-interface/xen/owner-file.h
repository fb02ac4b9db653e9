// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file in the run directory that lies there while vmopd has a session with Xen from user space.
 * Xen can't tell a session that was killed from a living profiler's: where the mark lies and
 * vmopd's lock is ours, it is the remains of a vmopd that was killed, and may be ended.
 */
#ifndef VMOP_HV_INTERFACE_XEN_OWNER_FILE_H
#define VMOP_HV_INTERFACE_XEN_OWNER_FILE_H

#include <stdbool.h>

#include "libutil/error.h"

#define VMOP_XEN_OWNER_FILE "xen-session" /* in the run directory */

bool vmop_xen_owner_file_exists(void);
/* Makes the run directory, if need be. */
struct vmop_error *vmop_xen_owner_file_create(void);
void vmop_xen_owner_file_remove(void);

#endif
