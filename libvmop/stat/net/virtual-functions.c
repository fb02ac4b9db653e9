// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/net/virtual-functions.h"

#include <errno.h>
#include <inttypes.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include "libutil/array.h"

#define ANSWER_S 2
/* The length of an attribute, here the list of all functions, has 16 bits. */
#define BUFFER_BYTES 131072
#define IDENTITY_VF (UINT64_C(1) << 60)

static const struct {
	unsigned type;
	const char *name;
	unsigned flags;
} counters[] = {
	{IFLA_VF_STATS_RX_BYTES, "rx-bytes", 0},
	{IFLA_VF_STATS_RX_PACKETS, "rx-packets", 0},
	{IFLA_VF_STATS_RX_DROPPED, "rx-dropped", 0},
	{IFLA_VF_STATS_TX_BYTES, "tx-bytes", 0},
	{IFLA_VF_STATS_TX_PACKETS, "tx-packets", 0},
	{IFLA_VF_STATS_TX_DROPPED, "tx-dropped", 0},
	{IFLA_VF_STATS_BROADCAST, "rx-broadcast", VMOP_READING_QUIET},
	{IFLA_VF_STATS_MULTICAST, "rx-multicast", VMOP_READING_QUIET},
};

static void close_socket(struct vmop_net_vfs *vfs)
{
	if (vfs->socket)
		mnl_socket_close(vfs->socket);
	vfs->socket = NULL;
}

void vmop_net_vfs_close(struct vmop_net_vfs *vfs)
{
	close_socket(vfs);
	free(vfs->items);
	*vfs = (struct vmop_net_vfs){0};
}

static int take_counter(const struct nlattr *attribute, void *arg)
{
	struct vmop_net_vf *vf = arg;
	unsigned type = mnl_attr_get_type(attribute);
	if (type <= IFLA_VF_STATS_MAX && mnl_attr_validate(attribute, MNL_TYPE_U64) >= 0) {
		vf->counters[type] = mnl_attr_get_u64(attribute);
		vf->known |= UINT64_C(1) << type;
	}
	return MNL_CB_OK;
}

struct function {
	struct vmop_net_vf vf;
	bool has_number;
};

static int take_part(const struct nlattr *attribute, void *arg)
{
	struct function *function = arg;
	struct ifla_vf_mac mac;
	switch (mnl_attr_get_type(attribute)) {
	case IFLA_VF_MAC:
		if (mnl_attr_get_payload_len(attribute) < sizeof(mac))
			break;
		memcpy(&mac, mnl_attr_get_payload(attribute), sizeof(mac));
		function->vf.number = mac.vf;
		function->has_number = true;
		break;
	case IFLA_VF_STATS:
		if (mnl_attr_validate(attribute, MNL_TYPE_NESTED) >= 0)
			mnl_attr_parse_nested(attribute, take_counter, &function->vf);
		break;
	default:
		break;
	}
	return MNL_CB_OK;
}

static int take_function(const struct nlattr *attribute, void *arg)
{
	struct vmop_net_vfs *vfs = arg;
	struct function function = {0};
	if (mnl_attr_get_type(attribute) != IFLA_VF_INFO ||
	    mnl_attr_validate(attribute, MNL_TYPE_NESTED) < 0)
		return MNL_CB_OK;
	mnl_attr_parse_nested(attribute, take_part, &function);
	if (!function.has_number)
		return MNL_CB_OK;
	if (!vmop_array_reserve(vfs->items, vfs->capacity, vfs->n + 1)) {
		errno = ENOMEM;
		return MNL_CB_ERROR;
	}
	vfs->items[vfs->n++] = function.vf;
	return MNL_CB_OK;
}

static int take_attribute(const struct nlattr *attribute, void *arg)
{
	if (mnl_attr_get_type(attribute) == IFLA_VFINFO_LIST &&
	    mnl_attr_validate(attribute, MNL_TYPE_NESTED) >= 0)
		return mnl_attr_parse_nested(attribute, take_function, arg);
	return MNL_CB_OK;
}

int vmop_net_vfs_take(const struct nlmsghdr *message, void *arg)
{
	if (message->nlmsg_type != RTM_NEWLINK ||
	    mnl_nlmsg_get_payload_len(message) < sizeof(struct ifinfomsg))
		return MNL_CB_OK;
	return mnl_attr_parse(message, sizeof(struct ifinfomsg), take_attribute, arg);
}

/* A socket of its own: an answer that comes too late must not meet the next list of interfaces. */
static bool open_socket(struct vmop_net_vfs *vfs)
{
	const struct timeval limit = {.tv_sec = ANSWER_S};
	if (vfs->socket)
		return true;
	vfs->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	return vfs->socket && mnl_socket_bind(vfs->socket, 0, MNL_SOCKET_AUTOPID) >= 0 &&
	       setsockopt(mnl_socket_get_fd(vfs->socket), SOL_SOCKET, SO_RCVTIMEO, &limit,
			  sizeof(limit)) == 0;
}

/* Ask for one interface. Return false with errno. */
static bool ask(struct vmop_net_vfs *vfs, char *buffer, unsigned sequence)
{
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	request->nlmsg_type = RTM_GETLINK;
	request->nlmsg_flags = NLM_F_REQUEST;
	request->nlmsg_seq = sequence;
	struct ifinfomsg *info = mnl_nlmsg_put_extra_header(request, sizeof(*info));
	info->ifi_family = AF_UNSPEC;
	info->ifi_index = (int)vfs->index;
	mnl_attr_put_u32(request, IFLA_EXT_MASK, RTEXT_FILTER_VF);
	if (!open_socket(vfs) || mnl_socket_sendto(vfs->socket, request, request->nlmsg_len) < 0)
		return false;
	ssize_t len = mnl_socket_recvfrom(vfs->socket, buffer, BUFFER_BYTES);
	return len >= 0 &&
	       mnl_cb_run(buffer, (size_t)len, sequence, mnl_socket_get_portid(vfs->socket),
			  vmop_net_vfs_take, vfs) >= 0;
}

struct vmop_error *vmop_net_vfs_read(struct vmop_net_vfs *vfs, uint32_t index)
{
	static _Alignas(struct nlmsghdr) char buffer[BUFFER_BYTES];
	static unsigned sequence;
	vfs->n = 0;
	vfs->index = index;
	*vfs->reason = '\0';
	if (ask(vfs, buffer, ++sequence))
		return NULL;
	int error = errno == EAGAIN ? ETIMEDOUT : errno;
	close_socket(vfs);
	vfs->n = 0;
	if (error == ENOMEM)
		return &vmop_error_no_memory;
	snprintf(vfs->reason, sizeof(vfs->reason), "the kernel returned no virtual functions: %s",
		 strerror(error));
	return NULL;
}

static const struct vmop_net_vf *find(const struct vmop_net_vfs *vfs, uint32_t number)
{
	for (size_t i = 0; i < vfs->n; i++) {
		if (vfs->items[i].number == number)
			return &vfs->items[i];
	}
	return NULL;
}

/* Return why the counters of a virtual function are not known, or NULL. */
static const char *unknown_reason(const struct vmop_net_vfs *vfs, const struct vmop_net_vf *vf)
{
	if (*vfs->reason)
		return vfs->reason;
	if (!vf || !vf->known)
		return "the driver exports no such virtual function";
	/* The kernel sends zeros for a driver that keeps no counters. */
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		if (vf->counters[counters[i].type])
			return NULL;
	}
	return "all its counters are 0: the driver keeps none, or no packet has come yet";
}

struct vmop_error *vmop_net_vf_add(const struct vmop_net_vfs *vfs, const char *parent,
				   uint32_t number, const char *guest,
				   struct vmop_readings *readings)
{
	char object[64];
	struct vmop_error *err = NULL;
	const struct vmop_net_vf *vf = find(vfs, number);
	const char *reason = unknown_reason(vfs, vf);
	snprintf(object, sizeof(object), "%s/vf%" PRIu32, parent, number);
	for (size_t i = 0; !err && i < sizeof(counters) / sizeof(counters[0]); i++) {
		struct vmop_reading reading = {
			.identity = IDENTITY_VF | (uint64_t)vfs->index << 16 | (number & 0xffff),
			.object = object,
			.counter = counters[i].name,
			.guest = guest,
			.flags = counters[i].flags,
			.reason = reason,
		};
		if (reason ? counters[i].flags & VMOP_READING_QUIET
			   : !(vf->known & UINT64_C(1) << counters[i].type))
			continue;
		if (!reason)
			reading.value = vf->counters[counters[i].type];
		err = vmop_readings_add(readings, &reading);
	}
	return err;
}
