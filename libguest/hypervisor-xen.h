// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the running Xen tells dom0 of itself: its build-id (XENVER_build_id) and its symbols
 * (XENPF_get_symbol), by hypercalls through libxencall.
 */
#ifndef VMOP_LIBGUEST_HYPERVISOR_XEN_H
#define VMOP_LIBGUEST_HYPERVISOR_XEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

/*
 * Up to max_bytes of it into ret; how many there are.  0: not on Xen, no permission, or a Xen
 * built without.
 */
size_t vmop_xen_build_id(uint8_t *ret, size_t max_bytes);

/*
 * Writes all symbols to the file open at fd, as lines "ADDRESS TYPE NAME", which is what Linux's
 * /proc/xen/xensyms has.  VMOP_ERROR_CANT: this Xen does not tell.
 */
struct vmop_error *vmop_xen_write_symbols(int fd);

#endif
