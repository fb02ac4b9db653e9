// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Network devices that the kernel has given to a process by VFIO (Linux,
 * Documentation/driver-api/vfio.rst), so that the host's network stack does not see their packets:
 * virtual functions of SR-IOV, and whole devices. By sysfs.
 */
#ifndef VMOP_LIBVMOP_STAT_NET_PASSED_H
#define VMOP_LIBVMOP_STAT_NET_PASSED_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

struct vmop_net_passed {
	char address[24]; /* on the PCI bus: "0000:03:10.2" */
	bool is_virtual;
	/* The interface of a virtual function's physical function; "": none in this namespace. */
	char parent[IF_NAMESIZE];
	uint32_t number; /* of a virtual function, from 0 on */
};

/*
 * Find the network devices of the VFIO group or device that an open file is, by the file's path:
 * "/dev/vfio/12", or "/dev/vfio/devices/vfio3" (Linux 6.6 and later). root: before /sys; "" but for
 * tests. The caller frees *ret; other files and other kinds of devices yield none.
 */
struct vmop_error *vmop_net_passed_find(const char *root, const char *path,
					struct vmop_net_passed **ret, size_t *ret_n);

#endif
