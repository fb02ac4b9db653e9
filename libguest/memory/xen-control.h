// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The two control operations on a Xen domain that libguest needs: its description, and the
 * registers of a vCPU (libutil/xen/domctl.h). Thread: one at a time for each object.
 */
#ifndef VMOP_LIBGUEST_MEMORY_XEN_CONTROL_H
#define VMOP_LIBGUEST_MEMORY_XEN_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

struct vmop_error;
struct vmop_guest_xen_control;

/*
 * Open the control interface. The caller closes *ret. VMOP_ERROR_CANT names the missing part: Xen,
 * the privilege, or a known version.
 */
struct vmop_error *vmop_guest_xen_control_open(struct vmop_guest_xen_control **ret);
void vmop_guest_xen_control_close(struct vmop_guest_xen_control *control); /* NULL is allowed */

struct vmop_guest_xen_info {
	bool is_hvm; /* HVM or PVH; false: PV */
	uint64_t ram_pages;
	uint32_t max_vcpu_id;
};
/*
 * Set *ret to the description of a domain. VMOP_ERROR_NOT_FOUND: no such domain, or it is being
 * destroyed.
 */
struct vmop_error *vmop_guest_xen_control_info(struct vmop_guest_xen_control *control,
					       uint32_t domid, struct vmop_guest_xen_info *ret);

struct vmop_guest_xen_registers {
	uint64_t cr3;
	bool has_5_levels;
};
/* Set *ret to the registers of a vCPU. Return false when there is no such vCPU or it is offline. */
bool vmop_guest_xen_control_registers(struct vmop_guest_xen_control *control, uint32_t domid,
				      uint32_t vcpu, struct vmop_guest_xen_registers *ret);

#endif
