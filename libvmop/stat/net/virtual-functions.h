// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counters of a network device's virtual functions (SR-IOV), which the driver of the physical
 * function keeps, by netlink: IFLA_VFINFO_LIST (Linux, net/core/rtnetlink.c, rtnl_fill_vfinfo).
 *
 * One interface is read at a time, and only where a guest has one of its functions: some drivers
 * ask the device's firmware for each, and a dump of all interfaces would grow past the kernel's
 * buffer.
 */
#ifndef VMOP_LIBVMOP_STAT_NET_VIRTUAL_FUNCTIONS_H
#define VMOP_LIBVMOP_STAT_NET_VIRTUAL_FUNCTIONS_H

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "libvmop/stat/readings.h"

struct vmop_net_vf {
	uint32_t number;
	uint64_t counters[IFLA_VF_STATS_MAX + 1]; /* by IFLA_VF_STATS_* */
	uint64_t known;				  /* bit set: of such counters */
};

struct vmop_net_vfs {
	struct mnl_socket *socket;
	struct vmop_net_vf *items;
	size_t n, capacity;
	uint32_t index;	  /* of the physical function's interface */
	char reason[128]; /* "", or why there are no items */
};

/* *vfs begins as {0}. */
void vmop_net_vfs_close(struct vmop_net_vfs *vfs);

/*
 * Replace the content of *vfs by the virtual functions of the interface of this index. A failure of
 * the kernel or the driver becomes the reason. Waits at most some seconds.
 */
struct vmop_error *vmop_net_vfs_read(struct vmop_net_vfs *vfs, uint32_t index);

/*
 * Add the virtual functions in a message of type RTM_NEWLINK: a callback of libmnl, with vfs as
 * argument. MNL_CB_ERROR with ENOMEM: out of memory.
 */
int vmop_net_vfs_take(const struct nlmsghdr *message, void *vfs);

/*
 * Add the counters of virtual function `number`, which a guest has, as "PARENT/vfNUMBER". They
 * count in the guest's direction: received is what the guest received.
 */
struct vmop_error *vmop_net_vf_add(const struct vmop_net_vfs *vfs, const char *parent,
				   uint32_t number, const char *guest,
				   struct vmop_readings *readings);

#endif
