// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Xen's samples by way of the kernel module: the user's side of /dev/vmop. The calls and their
 * order are those of vmop/xen-device.h; here they get errors that a user can act on, and the rings
 * are mapped. One thread.
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
 * Whether the module is there, without opening its device. That it isn't is no error: samples can
 * be had without it, but for their tasks.
 */
bool vmop_xen_device_is_there(void);

/* VMOP_ERROR_CANT: it isn't loaded, no leave, another process has it. */
struct vmop_error *vmop_xen_device_open(struct vmop_xen_device *device);
/* Ends what is under way. Does nothing to one that was never opened ({.fd = -1}). */
void vmop_xen_device_close(struct vmop_xen_device *device);

/*
 * abi and failed_op are filled in. After a failed prepare all begins again with init; after a
 * failed start, which is VMOP_ERROR_CANT with os_errno EAGAIN while an active domain has not
 * enabled its samples (in the initiator), EPERM while the initiator has not listed this domain (in
 * a domU), it can be tried again.
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
