// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/net/net.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "libutil/clock.h"
#include "libutil/log.h"
#include "libvmop/stat/meter.h"
#include "libvmop/stat/net/guests.h"
#include "libvmop/stat/net/infiniband.h"
#include "libvmop/stat/net/interfaces.h"
#include "libvmop/stat/net/virtual-functions.h"

struct net {
	const char *wanted; /* words of --net, separated by commas; NULL: none */
	bool hides_silent, has_shown;
	struct vmop_net_interfaces interfaces;
	struct vmop_net_vfs vfs; /* of the last interface whose virtual functions guests have */
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

/* Add the counters of the virtual functions of an interface that guests have. */
static struct vmop_error *add_vfs(struct net *net, const struct vmop_net_interface *interface,
				  struct vmop_readings *readings)
{
	uint32_t number;
	struct vmop_error *err = NULL;
	const char *guest = vmop_net_guests_vf(net->guests, interface->name, 0, &number);
	if (guest)
		err = vmop_net_vfs_read(&net->vfs, interface->index);
	for (size_t i = 1; !err && guest; i++) {
		err = vmop_net_vf_add(&net->vfs, interface->name, number, guest, readings);
		guest = vmop_net_guests_vf(net->guests, interface->name, i, &number);
	}
	return err;
}

static struct vmop_error *read_net(void *arg, struct vmop_readings *readings)
{
	struct net *net = arg;
	struct vmop_error *err = vmop_net_guests_update(net->guests);
	if (!err)
		err = vmop_net_interfaces_read(&net->interfaces);
	readings->time_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	for (size_t i = 0; !err && i < net->interfaces.n; i++) {
		err = add_interface(net, &net->interfaces.items[i], readings);
		if (!err)
			err = add_vfs(net, &net->interfaces.items[i], readings);
	}
	if (!err)
		err = vmop_net_guests_add(net->guests, readings);
	return err ? err : vmop_net_infiniband_add("", readings);
}

/* Return whether a pattern among words that commas separate matches. */
static bool is_wanted(const char *words, const char *object)
{
	for (const char *at = words; *at; at += *at == ',') {
		char pattern[128];
		size_t len = strcspn(at, ",");
		if (len < sizeof(pattern)) {
			snprintf(pattern, sizeof(pattern), "%.*s", (int)len, at);
			if (fnmatch(pattern, object, 0) == 0)
				return true;
		}
		at += len;
	}
	return false;
}

static bool shows(void *arg, const struct vmop_readings_row *row)
{
	struct net *net = arg;
	bool ret = net->wanted ? is_wanted(net->wanted, row->object)
			       : !(net->hides_silent && row->is_silent);
	net->has_shown |= ret;
	return ret;
}

struct vmop_error *vmop_net_run(const struct vmop_stat_settings *settings,
				struct vmop_stat_writer *writer, int *ret_status)
{
	bool is_all = settings->net_words && strcmp(settings->net_words, "all") == 0;
	struct net net = {
		.wanted = is_all ? NULL : settings->net_words,
		.hides_silent = !is_all && writer->format == VMOP_STAT_TABLE,
	};
	static const char *const hidden[] = {
		"interface without traffic: --net=all shows it",
		"interfaces without traffic: --net=all shows them",
	};
	const struct vmop_stat_meter meter = {
		.read = read_net,
		.arg = &net,
		.what = "this network namespace",
		.shows = shows,
		.hidden = net.wanted ? NULL : hidden,
	};
	writer->has_guests = true;
	struct vmop_error *err = vmop_net_interfaces_open(&net.interfaces);
	if (!err)
		err = vmop_net_guests_open("", &net.guests);
	if (!err)
		err = vmop_stat_meter_run(&meter, settings, writer, ret_status);
	if (!err && net.wanted && !net.has_shown)
		vmop_log_warning("no interface matches --net=%s", net.wanted);
	vmop_net_guests_close(net.guests);
	vmop_net_vfs_close(&net.vfs);
	vmop_net_interfaces_close(&net.interfaces);
	return err;
}
