// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/net/net.h"

#include <string.h>

#include "libutil/clock.h"
#include "libutil/log.h"
#include "libvmop/stat/meter.h"
#include "libvmop/stat/net/guests.h"
#include "libvmop/stat/net/infiniband.h"
#include "libvmop/stat/net/interfaces.h"

struct net {
	struct vmop_net_interfaces interfaces;
	struct vmop_net_guests *guests;
	bool was_told; /* that guests are hidden */
};

/* Return whether an interface can be the end of a guest's. */
static bool is_tap(const struct vmop_net_interface *interface)
{
	return !strcmp(interface->kind, "tun") || !strcmp(interface->kind, "macvtap") ||
	       !strcmp(interface->kind, "ipvtap");
}

static struct vmop_error *add_interface(struct net *net, const struct vmop_net_interface *interface,
					struct vmop_readings *readings)
{
	const char *guest = NULL;
	if (is_tap(interface)) {
		guest = vmop_net_guests_of(net->guests, interface->name, interface->index);
		if (!guest && !net->was_told && vmop_net_guests_are_hidden(net->guests)) {
			vmop_log_warning("not all processes can be looked into: which guest has "
					 "%s is not known; run vmopstat as root",
					 interface->name);
			net->was_told = true;
		}
	}
	return vmop_net_interface_add(interface, guest, readings);
}

static struct vmop_error *read_net(void *arg, struct vmop_readings *readings)
{
	struct net *net = arg;
	struct vmop_error *err = vmop_net_guests_update(net->guests);
	if (!err)
		err = vmop_net_interfaces_read(&net->interfaces);
	readings->time_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	for (size_t i = 0; !err && i < net->interfaces.n; i++)
		err = add_interface(net, &net->interfaces.items[i], readings);
	if (!err)
		err = vmop_net_guests_add(net->guests, readings);
	return err ? err : vmop_net_infiniband_add("", readings);
}

struct vmop_error *vmop_net_run(const struct vmop_stat_settings *settings,
				struct vmop_stat_writer *writer, int *ret_status)
{
	struct net net = {0};
	const struct vmop_stat_meter meter = {
		.read = read_net, .arg = &net, .what = "this network namespace"};
	writer->has_guests = true;
	struct vmop_error *err = vmop_net_interfaces_open(&net.interfaces);
	if (!err)
		err = vmop_net_guests_open("", &net.guests);
	if (!err)
		err = vmop_stat_meter_run(&meter, settings, writer, ret_status);
	vmop_net_guests_close(net.guests);
	vmop_net_interfaces_close(&net.interfaces);
	return err;
}
