// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The build-id (XENVER_build_id) and the symbols (XENPF_get_symbol) of the running Xen, read in
 * dom0 by hypercalls through libxencall. Any thread may call these functions.
 */
#ifndef VMOP_LIBGUEST_HYPERVISOR_XEN_H
#define VMOP_LIBGUEST_HYPERVISOR_XEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

/*
 * Copy the build-id of Xen to ret, which has room for max_bytes, and return its length in bytes.
 * Return 0 when this is not Xen, permission is missing, the build-id is longer, or Xen was built
 * without one.
 */
size_t vmop_hypervisor_xen_build_id(uint8_t *ret, size_t max_bytes);

/*
 * Write all symbols of Xen to the open file fd, as lines "ADDRESS TYPE NAME" like those of Linux's
 * /proc/xen/xensyms. fd stays open. VMOP_ERROR_CANT: this Xen does not return its symbols, or vmop
 * was built without Xen's libraries.
 */
struct vmop_error *vmop_hypervisor_xen_write_symbols(int fd);

#endif
