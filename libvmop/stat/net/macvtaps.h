// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The character devices of the macvtaps and ipvtaps of this network namespace, by sysfs (Linux,
 * drivers/net/macvtap.c, ipvlan/ipvtap.c). A VMM has one open for each pair of queues.
 *
 * Only the device's number identifies it. Its name, /dev/tapN, has the index of the interface, and
 * interfaces of two namespaces can have the same index.
 */
#ifndef VMOP_LIBVMOP_STAT_NET_MACVTAPS_H
#define VMOP_LIBVMOP_STAT_NET_MACVTAPS_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libutil/error.h"

struct vmop_net_macvtaps {
	struct vmop_net_macvtap {
		dev_t device;
		uint32_t index; /* of its interface */
		char name[IF_NAMESIZE];
	} * items;
	size_t n, capacity;
	struct {
		unsigned items[2];
		size_t n;
	} majors; /* of these devices, in all namespaces */
};

/* Replace the content of *macvtaps. root: before /proc and /sys; "" but for tests. */
struct vmop_error *vmop_net_macvtaps_read(struct vmop_net_macvtaps *macvtaps, const char *root);
void vmop_net_macvtaps_deinit(struct vmop_net_macvtaps *macvtaps);

/* Return whether a character device is a macvtap or an ipvtap, of any namespace. */
bool vmop_net_macvtaps_are(const struct vmop_net_macvtaps *macvtaps, dev_t device);

/* Return the one that has this device, or NULL: none of this namespace. */
const struct vmop_net_macvtap *vmop_net_macvtaps_find(const struct vmop_net_macvtaps *macvtaps,
						      dev_t device);

#endif
