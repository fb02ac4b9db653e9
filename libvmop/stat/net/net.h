// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmopstat --net: the traffic of network interfaces, and of InfiniBand's and RoCE's ports, with the
 * guests that they belong to. Data meets the files in this order: guests.h finds the guests' ends
 * (tap-namespace.h taps, macvtaps.h, passed.h devices of VFIO) and vhost workers; interfaces.h,
 * virtual-functions.h (netlink) and infiniband.h (/sys) read counters; net.c adds all of them to
 * the readings of meter.h.
 */
#ifndef VMOP_LIBVMOP_STAT_NET_NET_H
#define VMOP_LIBVMOP_STAT_NET_NET_H

#include "libvmop/stat/output.h"
#include "libvmop/stat/settings.h"

/* Count until the command ends, or a signal. *ret_status: the command's, if there is one. */
struct vmop_error *vmop_net_run(const struct vmop_stat_settings *settings,
				struct vmop_stat_writer *writer, int *ret_status);

#endif
