// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The KVM guests of this machine and their ends of the network: taps, macvtaps and VFIO's network
 * devices that a VMM holds open, and the workers of vhost that move its packets. A VMM is a process
 * with a descriptor of a virtual machine (anon_inode:kvm-vm), and its children, to which crosvm
 * gives its devices.
 *
 * The descriptors of other users' processes are root's to see.
 */
#ifndef VMOP_LIBVMOP_STAT_NET_GUESTS_H
#define VMOP_LIBVMOP_STAT_NET_GUESTS_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "libutil/vmm.h"
#include "libvmop/stat/readings.h"

struct vmop_net_guests;

/* root: before /proc and /sys; "" but for tests. The caller closes *ret. */
struct vmop_error *vmop_net_guests_open(const char *root, struct vmop_net_guests **ret);
void vmop_net_guests_close(struct vmop_net_guests *guests); /* NULL is allowed */

/*
 * Look for the guests again, unless that was done lately: at most once a second, and for at most a
 * twentieth of the time. A process that hangs is left out.
 */
struct vmop_error *vmop_net_guests_update(struct vmop_net_guests *guests);

/*
 * Return the name of the guest that has the tap of this name in this network namespace, or the
 * macvtap or ipvtap of this index; NULL: none.
 */
const char *vmop_net_guests_of(const struct vmop_net_guests *guests, const char *name,
			       uint32_t index);

/*
 * Return the name of the guest that has the i-th of the virtual functions of an interface that
 * guests have, and its number; NULL: there are at most i.
 */
const char *vmop_net_guests_vf(const struct vmop_net_guests *guests, const char *parent, size_t i,
			       uint32_t *ret_number);

/* Return whether descriptors could not be seen, so that a tap may belong to an unknown guest. */
bool vmop_net_guests_are_hidden(const struct vmop_net_guests *guests);

/*
 * Add the CPU time of each worker of vhost, which serves one pair of a guest's queues, and, with
 * the reason, the guests' ends that the kernel has no counters of here: those in another network
 * namespace, whole devices, and vhost-user.
 */
struct vmop_error *vmop_net_guests_add(const struct vmop_net_guests *guests,
				       struct vmop_readings *readings);

#endif
