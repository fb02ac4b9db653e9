// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The two control operations on a Xen domain that libguest needs.
 *
 * The domctl interface has a version that Xen raises now and then (0x15 is 4.17's), and
 * refuses others.  What is used here has been the same since version 9 (Xen 4.3) up to 0x18
 * (4.22), so the version is found by trying; libxenctrl, which each Xen brings
 * anew under another name, is not needed.
 */
#ifndef VMOP_LIBGUEST_MEMORY_XEN_CONTROL_H
#define VMOP_LIBGUEST_MEMORY_XEN_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

struct vmop_error;
struct vmop_guest_xen_control;

/* VMOP_ERROR_CANT with what is missing: Xen, the privilege, a version that is known. */
struct vmop_error *vmop_guest_xen_control_open(struct vmop_guest_xen_control **ret);
void vmop_guest_xen_control_close(struct vmop_guest_xen_control *control); /* NULL is allowed */

struct vmop_guest_xen_info {
	bool is_hvm; /* HVM or PVH; else PV */
	uint64_t ram_pages;
	uint32_t max_vcpu_id;
};
/* VMOP_ERROR_NOT_FOUND: no such domain, or it is being destroyed. */
struct vmop_error *vmop_guest_xen_control_info(struct vmop_guest_xen_control *control,
					       uint32_t domid, struct vmop_guest_xen_info *ret);

struct vmop_guest_xen_registers {
	uint64_t cr3;
	bool has_5_levels;
};
/* False: no such vCPU, or it is not online. */
bool vmop_guest_xen_control_registers(struct vmop_guest_xen_control *control, uint32_t domid,
				      uint32_t vcpu, struct vmop_guest_xen_registers *ret);

#endif
