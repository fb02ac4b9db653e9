// SPDX-License-Identifier: GPL-2.0-or-later
/* On a made tree; the script stat-net.sh has a real macvtap. */
#include "libvmop/stat/net/macvtaps.h"

#include <cmocka.h>
#include <sys/sysmacros.h>

#include "tests/unit/libvmop/stat/tree.h"
#include "tests/unit/ok.h"

static int set_up(void **state)
{
	(void)state;
	tree_begin();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	tree_end();
	return 0;
}

static void no_driver(void **state)
{
	struct vmop_net_macvtaps list = {0};
	(void)state;
	assert_ok(vmop_net_macvtaps_read(&list, tree_root));
	assert_int_equal(list.n, 0);
	assert_false(vmop_net_macvtaps_are(&list, makedev(246, 1)));
	vmop_net_macvtaps_deinit(&list);
}

static void two_drivers(void **state)
{
	struct vmop_net_macvtaps list = {0};
	(void)state;
	tree_file("/proc/devices", "Character devices:\n  1 mem\n245 ipvtap\n246 macvtap\n\n"
				   "Block devices:\n250 macvtap\n");
	tree_file("/sys/devices/virtual/net/m0/macvtap/tap7/dev", "246:1\n");
	tree_file("/sys/devices/virtual/net/i0/ipvtap/tap8/dev", "245:1\n");
	tree_file("/sys/devices/virtual/net/bad/macvtap/tap9/dev", "246\n");
	tree_link("/sys/class/macvtap/tap7", "../../devices/virtual/net/m0/macvtap/tap7");
	tree_link("/sys/class/macvtap/tap9", "../../devices/virtual/net/bad/macvtap/tap9");
	tree_link("/sys/class/ipvtap/tap8", "../../devices/virtual/net/i0/ipvtap/tap8");
	assert_ok(vmop_net_macvtaps_read(&list, tree_root));
	assert_int_equal(list.n, 2);
	assert_string_equal(vmop_net_macvtaps_find(&list, makedev(246, 1))->name, "m0");
	assert_int_equal(vmop_net_macvtaps_find(&list, makedev(246, 1))->index, 7);
	assert_string_equal(vmop_net_macvtaps_find(&list, makedev(245, 1))->name, "i0");
	assert_null(vmop_net_macvtaps_find(&list, makedev(246, 2)));
	assert_true(vmop_net_macvtaps_are(&list, makedev(246, 2)));
	assert_false(vmop_net_macvtaps_are(&list, makedev(250, 1)));
	vmop_net_macvtaps_deinit(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_driver, set_up, tear_down),
		cmocka_unit_test_setup_teardown(two_drivers, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
