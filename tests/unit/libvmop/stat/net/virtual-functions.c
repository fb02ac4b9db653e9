// SPDX-License-Identifier: GPL-2.0-or-later
/* On made messages in the kernel's format: this machine has no SR-IOV. */
#include "libvmop/stat/net/virtual-functions.h"

#include <cmocka.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "libutil/clock.h"
#include "tests/unit/ok.h"

static struct vmop_net_vfs vfs;
static struct vmop_readings before, now;

static int tear_down(void **state)
{
	(void)state;
	vmop_net_vfs_close(&vfs);
	vmop_readings_deinit(&before);
	vmop_readings_deinit(&now);
	return 0;
}

/* Begin a message as rtnl_fill_ifinfo does, up to the list of virtual functions. */
static struct nlmsghdr *begin(char *buffer, struct nlattr **ret_list)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	message->nlmsg_type = RTM_NEWLINK;
	struct ifinfomsg *info = mnl_nlmsg_put_extra_header(message, sizeof(*info));
	info->ifi_index = 5;
	mnl_attr_put_strz(message, IFLA_IFNAME, "eth0");
	*ret_list = mnl_attr_nest_start(message, IFLA_VFINFO_LIST);
	return message;
}

/* Add a virtual function as rtnl_fill_vfinfo does; counters beginning at first, unless it is 0. */
static void put_vf(struct nlmsghdr *message, uint32_t number, uint64_t first)
{
	const struct ifla_vf_mac mac = {.vf = number};
	struct nlattr *vf = mnl_attr_nest_start(message, IFLA_VF_INFO);
	mnl_attr_put(message, IFLA_VF_MAC, sizeof(mac), &mac);
	struct nlattr *stats = mnl_attr_nest_start(message, IFLA_VF_STATS);
	for (unsigned type = 0; type <= IFLA_VF_STATS_MAX; type++)
		if (type != IFLA_VF_STATS_PAD)
			mnl_attr_put_u64(message, (uint16_t)type, first ? first + type : 0);
	mnl_attr_nest_end(message, stats);
	mnl_attr_nest_end(message, vf);
}

/* Read the counters of virtual function 3 of a device that has four. */
static void read_into(struct vmop_readings *readings, uint64_t first)
{
	static _Alignas(struct nlmsghdr) char buffer[8192];
	struct nlattr *list;
	struct nlmsghdr *message = begin(buffer, &list);
	for (uint32_t i = 0; i < 4; i++)
		put_vf(message, i, first ? first + 1000 * i : 0);
	mnl_attr_nest_end(message, list);
	vfs.n = 0;
	vfs.index = 5;
	assert_int_equal(vmop_net_vfs_take(message, &vfs), MNL_CB_OK);
	assert_int_equal(vfs.n, 4);
	vmop_readings_begin(readings);
	assert_ok(vmop_net_vf_add(&vfs, "eth0", 3, "web1", readings));
	vmop_readings_end(readings);
}

/* Check the growth of a counter over a second; reason: a part of it, or NULL. */
static void check(const char *name, double value, const char *reason)
{
	struct vmop_readings_row *rows;
	size_t n, i = 0;
	now.time_ns = before.time_ns + VMOP_NS_PER_S;
	assert_ok(vmop_readings_rows(&before, &now, &rows, &n));
	while (i < n && strcmp(rows[i].row.name, name) != 0)
		i++;
	if (i == n)
		fail_msg("there is no row %s", name);
	const char *got = rows[i].row.reason;
	if (reason ? !got || !strstr(got, reason) : got || rows[i].row.values.mean != value)
		fail_msg("%s: %f, %s", name, rows[i].row.values.mean, got ? got : "no reason");
	assert_string_equal(rows[i].row.guest, "web1");
	free(rows);
}

static void counts(void **state)
{
	(void)state;
	read_into(&before, 100);
	assert_int_equal(before.items[0].value % 1000 / 100, 1);
	assert_in_range(before.items[0].value, 3100, 3199);
	read_into(&now, 700);
	check("eth0/vf3/rx-bytes", 600, NULL);
	check("eth0/vf3/tx-packets", 600, NULL);
	check("eth0/vf3/rx-dropped", 600, NULL);
	check("eth0/vf3/rx-broadcast", 600, NULL);
}

/* A driver without counters has zeros in its message: they are no traffic of 0. */
static void no_counters(void **state)
{
	(void)state;
	read_into(&before, 0);
	read_into(&now, 0);
	check("eth0/vf3/rx-bytes", 0, "the driver keeps none");
	assert_int_equal(now.n, 6);
}

static void no_such_function(void **state)
{
	(void)state;
	vmop_readings_begin(&before);
	assert_ok(vmop_net_vf_add(&vfs, "eth0", 3, "web1", &before));
	vmop_readings_end(&before);
	assert_string_equal(before.items[0].reason, "the driver exports no such virtual function");
}

/* Messages that end early, or whose attributes have other lengths, yield less, and no fault. */
static void broken_messages(void **state)
{
	static _Alignas(struct nlmsghdr) char whole[8192];
	struct nlattr *list;
	struct nlmsghdr *message = begin(whole, &list);
	(void)state;
	put_vf(message, 0, 100);
	put_vf(message, 1, 100);
	mnl_attr_nest_end(message, list);
	for (uint32_t len = 0; len <= message->nlmsg_len; len++) {
		struct nlmsghdr *copy = malloc(message->nlmsg_len);
		assert_non_null(copy);
		memcpy(copy, message, message->nlmsg_len);
		copy->nlmsg_len = len < sizeof(*copy) ? (uint32_t)sizeof(*copy) : len;
		vfs.n = 0;
		vmop_net_vfs_take(copy, &vfs);
		assert_in_range(vfs.n, 0, 2);
		free(copy);
	}
	for (size_t i = sizeof(*message); i < message->nlmsg_len; i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			whole[i] ^= (char)(1 << bit);
			vfs.n = 0;
			vmop_net_vfs_take(message, &vfs);
			whole[i] ^= (char)(1 << bit);
		}
	}
}

/* A real interface answers, and has no virtual functions; one that is gone yields the reason. */
static void real_interface(void **state)
{
	(void)state;
	uint32_t index = if_nametoindex("lo");
	if (!index)
		skip();
	assert_ok(vmop_net_vfs_read(&vfs, index));
	assert_int_equal(vfs.n, 0);
	assert_string_equal(vfs.reason, "");
	assert_ok(vmop_net_vfs_read(&vfs, INT32_MAX));
	assert_non_null(strstr(vfs.reason, "No such device"));
	assert_ok(vmop_net_vfs_read(&vfs, index));
	assert_string_equal(vfs.reason, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(counts, tear_down),
		cmocka_unit_test_teardown(no_counters, tear_down),
		cmocka_unit_test_teardown(no_such_function, tear_down),
		cmocka_unit_test_teardown(broken_messages, tear_down),
		cmocka_unit_test_teardown(real_interface, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
