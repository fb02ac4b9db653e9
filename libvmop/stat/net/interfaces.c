// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/net/interfaces.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include "libutil/array.h"

#define BUFFER_BYTES 32768 /* the kernel's largest part of a dump */
#define ANSWER_S 2
/* A dump during which interfaces came or went is repeated. */
#define TRIES 10

static struct vmop_error *open_socket(struct vmop_net_interfaces *interfaces)
{
	const struct timeval limit = {.tv_sec = ANSWER_S};
	if (interfaces->socket)
		mnl_socket_close(interfaces->socket);
	interfaces->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!interfaces->socket || mnl_socket_bind(interfaces->socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    setsockopt(mnl_socket_get_fd(interfaces->socket), SOL_SOCKET, SO_RCVTIMEO, &limit,
		       sizeof(limit)) != 0)
		return vmop_error_os(errno, "a netlink socket");
	return NULL;
}

struct vmop_error *vmop_net_interfaces_open(struct vmop_net_interfaces *interfaces)
{
	*interfaces = (struct vmop_net_interfaces){0};
	return open_socket(interfaces);
}

void vmop_net_interfaces_close(struct vmop_net_interfaces *interfaces)
{
	if (interfaces->socket)
		mnl_socket_close(interfaces->socket);
	free(interfaces->items);
	*interfaces = (struct vmop_net_interfaces){0};
}

/* Copy a text into a field of `size` bytes; false: it is none, or too long. */
static bool take_text(const struct nlattr *attribute, char *ret, size_t size)
{
	if (mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) < 0)
		return false;
	const char *text = mnl_attr_get_str(attribute);
	if (strlen(text) >= size)
		return false;
	strcpy(ret, text);
	return true;
}

static int take_kind(const struct nlattr *attribute, void *arg)
{
	struct vmop_net_interface *interface = arg;
	if (mnl_attr_get_type(attribute) == IFLA_INFO_KIND)
		take_text(attribute, interface->kind, sizeof(interface->kind));
	return MNL_CB_OK;
}

static int take_attribute(const struct nlattr *attribute, void *arg)
{
	struct vmop_net_interface *interface = arg;
	size_t len = mnl_attr_get_payload_len(attribute);
	switch (mnl_attr_get_type(attribute)) {
	case IFLA_IFNAME:
		take_text(attribute, interface->name, sizeof(interface->name));
		break;
	case IFLA_LINKINFO:
		if (mnl_attr_validate(attribute, MNL_TYPE_NESTED) >= 0)
			mnl_attr_parse_nested(attribute, take_kind, interface);
		break;
	case IFLA_STATS64:
		if (len > sizeof(interface->stats))
			len = sizeof(interface->stats);
		memcpy(&interface->stats, mnl_attr_get_payload(attribute), len);
		interface->stats_bytes = len;
		break;
	default:
		break;
	}
	return MNL_CB_OK;
}

static int take_interface(const struct nlmsghdr *message, void *arg)
{
	struct vmop_net_interfaces *interfaces = arg;
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(message);
	if (message->nlmsg_type != RTM_NEWLINK ||
	    mnl_nlmsg_get_payload_len(message) < sizeof(*info))
		return MNL_CB_OK;
	if (!vmop_array_reserve(interfaces->items, interfaces->capacity, interfaces->n + 1)) {
		errno = ENOMEM;
		return MNL_CB_ERROR;
	}
	struct vmop_net_interface *interface = &interfaces->items[interfaces->n];
	*interface = (struct vmop_net_interface){.index = (uint32_t)info->ifi_index};
	mnl_attr_parse(message, sizeof(*info), take_attribute, interface);
	interfaces->n += *interface->name != '\0';
	return MNL_CB_OK;
}

/* Ask once. Return false with errno; EINTR: the list changed meanwhile. */
static bool dump(struct vmop_net_interfaces *interfaces, unsigned sequence)
{
	static _Alignas(struct nlmsghdr) char buffer[BUFFER_BYTES];
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	request->nlmsg_type = RTM_GETLINK;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	request->nlmsg_seq = sequence;
	struct ifinfomsg *info = mnl_nlmsg_put_extra_header(request, sizeof(*info));
	info->ifi_family = AF_UNSPEC;
	interfaces->n = 0;
	if (mnl_socket_sendto(interfaces->socket, request, request->nlmsg_len) < 0)
		return false;
	unsigned port = mnl_socket_get_portid(interfaces->socket);
	for (;;) {
		ssize_t len = mnl_socket_recvfrom(interfaces->socket, buffer, sizeof(buffer));
		if (len < 0)
			return false;
		int more =
			mnl_cb_run(buffer, (size_t)len, sequence, port, take_interface, interfaces);
		if (more <= MNL_CB_STOP)
			return more == MNL_CB_STOP;
	}
}

struct vmop_error *vmop_net_interfaces_read(struct vmop_net_interfaces *interfaces)
{
	static unsigned sequence;
	struct vmop_error *err = NULL;
	for (unsigned i = 0; !err && i < TRIES; i++) {
		if (dump(interfaces, ++sequence))
			return NULL;
		if (errno != EINTR)
			return vmop_error_os(errno == EAGAIN ? ETIMEDOUT : errno,
					     "the list of network interfaces");
		/* The rest of the broken dump would be taken for the next one's. */
		err = open_socket(interfaces);
	}
	return err ? err
		   : vmop_error_new(VMOP_ERROR_BUSY,
				    "the list of network interfaces changes all the time");
}

#define COUNTER(field, name, flags)                                                                \
	{                                                                                          \
		offsetof(struct rtnl_link_stats64, field), name, flags                             \
	}
static const struct {
	size_t offset;
	const char *name;
	unsigned flags;
} counters[] = {
	COUNTER(rx_bytes, "rx-bytes", 0),
	COUNTER(rx_packets, "rx-packets", 0),
	COUNTER(rx_errors, "rx-errors", 0),
	COUNTER(rx_dropped, "rx-dropped", 0),
	COUNTER(tx_bytes, "tx-bytes", 0),
	COUNTER(tx_packets, "tx-packets", 0),
	COUNTER(tx_errors, "tx-errors", 0),
	COUNTER(tx_dropped, "tx-dropped", 0),
	COUNTER(multicast, "rx-multicast", VMOP_READING_QUIET),
	COUNTER(collisions, "collisions", VMOP_READING_QUIET),
	COUNTER(rx_length_errors, "rx-length-errors", VMOP_READING_QUIET),
	COUNTER(rx_over_errors, "rx-over-errors", VMOP_READING_QUIET),
	COUNTER(rx_crc_errors, "rx-crc-errors", VMOP_READING_QUIET),
	COUNTER(rx_frame_errors, "rx-frame-errors", VMOP_READING_QUIET),
	COUNTER(rx_fifo_errors, "rx-fifo-errors", VMOP_READING_QUIET),
	COUNTER(rx_missed_errors, "rx-missed-errors", VMOP_READING_QUIET),
	COUNTER(tx_aborted_errors, "tx-aborted-errors", VMOP_READING_QUIET),
	COUNTER(tx_carrier_errors, "tx-carrier-errors", VMOP_READING_QUIET),
	COUNTER(tx_fifo_errors, "tx-fifo-errors", VMOP_READING_QUIET),
	COUNTER(tx_heartbeat_errors, "tx-heartbeat-errors", VMOP_READING_QUIET),
	COUNTER(tx_window_errors, "tx-window-errors", VMOP_READING_QUIET),
	COUNTER(rx_nohandler, "rx-nohandler", VMOP_READING_QUIET),
};

struct vmop_error *vmop_net_interface_add(const struct vmop_net_interface *interface,
					  const char *guest, struct vmop_readings *readings)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; !err && i < sizeof(counters) / sizeof(counters[0]); i++) {
		struct vmop_reading reading = {
			.identity = interface->index,
			.object = interface->name,
			.counter = counters[i].name,
			.guest = guest,
			.flags = counters[i].flags,
		};
		if (counters[i].offset + sizeof(reading.value) <= interface->stats_bytes)
			memcpy(&reading.value, (const char *)&interface->stats + counters[i].offset,
			       sizeof(reading.value));
		else if (counters[i].flags & VMOP_READING_QUIET)
			continue; /* of a later kernel */
		else
			reading.reason = "the kernel exports no 64-bit counters of it";
		err = vmop_readings_add(readings, &reading);
	}
	return err;
}
