// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file in the run directory that exists while vmopd has a session with Xen from user space.
 *
 * Xen does not distinguish a dead profiler's session from a living one's. If the file exists and
 * this vmopd has the lock of the run directory, the session is the remains of a killed vmopd and
 * may be ended.
 */
#ifndef VMOP_HV_INTERFACE_XEN_OWNER_FILE_H
#define VMOP_HV_INTERFACE_XEN_OWNER_FILE_H

#include <stdbool.h>

#include "libutil/error.h"

#define VMOP_XEN_OWNER_FILE "xen-session" /* in the run directory */

bool vmop_xen_owner_file_exists(void);
/* Create the file, and the run directory if it is missing. */
struct vmop_error *vmop_xen_owner_file_create(void);
void vmop_xen_owner_file_remove(void);

#endif
