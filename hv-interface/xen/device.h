// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The user's side of /dev/vmop, the kernel module's device. vmop/xen-device.h defines the calls and
 * their order; the functions here add errors that a user can act on, and map the rings. One thread.
 */
#ifndef VMOP_HV_INTERFACE_XEN_DEVICE_H
#define VMOP_HV_INTERFACE_XEN_DEVICE_H

#include <stdbool.h>

#include "hv-interface/xen/rings.h"
#include "libutil/error.h"
#include "vmop/xen-device.h"

struct vmop_xen_device {
	int fd;
	void *map; /* NULL: not mapped yet */
	size_t map_bytes;
	struct vmop_xen_rings rings; /* valid after prepare */
};

/*
 * Return whether the module is loaded, without opening its device. Without the module samples only
 * lack their tasks.
 */
bool vmop_xen_device_is_there(void);

/*
 * Open the device. VMOP_ERROR_CANT: the module is not loaded, no permission, or another process has
 * it open.
 */
struct vmop_error *vmop_xen_device_open(struct vmop_xen_device *device);
/* End any session and close. Does nothing to a device that was never opened ({.fd = -1}). */
void vmop_xen_device_close(struct vmop_xen_device *device);

/*
 * Carry out one step. They set abi and failed_op. After a failed prepare begin again with init. A
 * failed start can be tried again: it is VMOP_ERROR_CANT with os_errno EAGAIN in the initiator
 * while an active domain has not enabled its samples, and EPERM in a domU while the initiator has
 * not listed it.
 */
struct vmop_error *vmop_xen_device_init(struct vmop_xen_device *device,
					struct vmop_xendev_init *init);
struct vmop_error *vmop_xen_device_prepare(struct vmop_xen_device *device,
					   struct vmop_xendev_prepare *prepare);
struct vmop_error *vmop_xen_device_start(struct vmop_xen_device *device);
/* VMOP_ERROR_CANT with os_errno EBUSY: in a domU, the initiator has not stopped. */
struct vmop_error *vmop_xen_device_stop(struct vmop_xen_device *device);
struct vmop_error *vmop_xen_device_release(struct vmop_xen_device *device);
struct vmop_error *vmop_xen_device_stats(struct vmop_xen_device *device,
					 struct vmop_xendev_stats *stats);

#endif
