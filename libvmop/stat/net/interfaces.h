// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The network interfaces of this network namespace and their counters, by netlink.
 *
 * The request is RTM_GETLINK, not RTM_GETSTATS: the answer has an interface's name, kind and 64-bit
 * counters (IFLA_STATS64) in one message, so that a rename in between cannot mix two interfaces.
 */
#ifndef VMOP_LIBVMOP_STAT_NET_INTERFACES_H
#define VMOP_LIBVMOP_STAT_NET_INTERFACES_H

#include <linux/if_link.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "libvmop/stat/readings.h"

struct vmop_net_interface {
	uint32_t index;
	char name[IF_NAMESIZE];
	char kind[16]; /* "tun" (also a tap), "macvtap", "veth", ...; "": a device */
	struct rtnl_link_stats64 stats;
	size_t stats_bytes; /* of stats, as many as this kernel has; 0: none */
};

struct vmop_net_interfaces {
	struct mnl_socket *socket;
	struct vmop_net_interface *items;
	size_t n, capacity;
};

/* Close with vmop_net_interfaces_close, also after an error. */
struct vmop_error *vmop_net_interfaces_open(struct vmop_net_interfaces *interfaces);
void vmop_net_interfaces_close(struct vmop_net_interfaces *interfaces);

/* Replace items by the interfaces that there are now. Waits at most some seconds. */
struct vmop_error *vmop_net_interfaces_read(struct vmop_net_interfaces *interfaces);

/* Add the counters of an interface, which belongs to guest unless that is NULL. */
struct vmop_error *vmop_net_interface_add(const struct vmop_net_interface *interface,
					  const char *guest, struct vmop_readings *readings);

#endif
