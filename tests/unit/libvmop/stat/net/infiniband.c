// SPDX-License-Identifier: GPL-2.0-or-later
/* On a made tree in the kernel's format: this machine has no such device. */
#include "libvmop/stat/net/infiniband.h"

#include <cmocka.h>
#include <string.h>

#include "libutil/clock.h"
#include "tests/unit/libvmop/stat/tree.h"
#include "tests/unit/ok.h"

#define IB "/sys/class/infiniband/"

static struct vmop_readings before, now;

static int set_up(void **state)
{
	(void)state;
	tree_begin();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	vmop_readings_deinit(&before);
	vmop_readings_deinit(&now);
	tree_end();
	return 0;
}

static void read_into(struct vmop_readings *readings)
{
	vmop_readings_begin(readings);
	assert_ok(vmop_net_infiniband_add(tree_root, readings));
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
	free(rows);
}

static void no_device(void **state)
{
	(void)state;
	read_into(&now);
	assert_int_equal(now.n, 0);
}

static void ports(void **state)
{
	(void)state;
	tree_file(IB "mlx5_0/ports/1/counters/port_xmit_data", "1000\n");
	tree_file(IB "mlx5_0/ports/1/counters/port_xmit_packets", "100\n");
	tree_file(IB "mlx5_0/ports/1/counters/port_rcv_data", "4294967290\n");
	tree_file(IB "mlx5_0/ports/1/counters/symbol_error", "65530\n");
	tree_file(IB "mlx5_0/ports/1/counters/link_downed", "3\n");
	tree_file(IB "mlx5_0/ports/1/counters/port_xmit_wait", "N/A (no PMA)\n");
	tree_file(IB "mlx5_0/ports/2/counters/port_xmit_data", "7\n");
	read_into(&before);
	tree_file(IB "mlx5_0/ports/1/counters/port_xmit_data", "3500\n");
	tree_file(IB "mlx5_0/ports/1/counters/port_xmit_packets", "125\n");
	/* The counter of 32 bits has stopped, or that of 16. */
	tree_file(IB "mlx5_0/ports/1/counters/port_rcv_data", "4294967295\n");
	tree_file(IB "mlx5_0/ports/1/counters/symbol_error", "65535\n");
	tree_file(IB "mlx5_0/ports/2/counters/port_xmit_data", "18446744073709551615\n");
	read_into(&now);
	check("mlx5_0/1/tx-bytes", 10000, NULL);
	check("mlx5_0/1/tx-packets", 25, NULL);
	check("mlx5_0/1/rx-bytes", 0, "it is at 17179869180, where it stops");
	check("mlx5_0/1/symbol_error", 0, "it is at 65535, where it stops");
	check("mlx5_0/2/tx-bytes", 0, "larger than a number of bytes can be");
	/* The same files of a device with wide counters, which passes the narrow ones' end. */
	tree_file(IB "mlx5_0/ports/1/counters/port_rcv_data", "4294967300\n");
	read_into(&now);
	check("mlx5_0/1/rx-bytes", 40, NULL);
	/* perfquery -R */
	tree_file(IB "mlx5_0/ports/1/counters/port_xmit_data", "2\n");
	read_into(&now);
	check("mlx5_0/1/tx-bytes", 0, "it was reset");
	check("mlx5_0/1/tx-packets", 0, "its counters were reset");
}

static void wide_counters_of_old_kernels(void **state)
{
	(void)state;
	tree_file(IB "qib0/ports/1/counters/port_xmit_data", "4294967295\n");
	tree_file(IB "qib0/ports/1/counters_ext/port_xmit_data_64", "5000000000\n");
	read_into(&before);
	assert_int_equal(before.n, 1);
	tree_file(IB "qib0/ports/1/counters_ext/port_xmit_data_64", "5000000001\n");
	read_into(&now);
	check("qib0/1/tx-bytes", 4, NULL);
}

static void counters_of_the_driver(void **state)
{
	(void)state;
	tree_file(IB "rxe0/ports/1/hw_counters/sent_pkts", "5\n");
	tree_file(IB "rxe0/ports/1/hw_counters/lifespan", "10\n");
	tree_file(IB "slow0/hw_counters/port_xmit_data", "5\n");
	tree_file(IB "slow0/hw_counters/lifespan", "5000\n");
	read_into(&before);
	tree_file(IB "rxe0/ports/1/hw_counters/sent_pkts", "15\n");
	tree_file(IB "slow0/hw_counters/port_xmit_data", "15\n");
	read_into(&now);
	assert_int_equal(now.n, 2);
	check("rxe0/1/hw/sent_pkts", 10, NULL);
	check("slow0/hw/port_xmit_data", 0, "its driver renews it only every 5000 ms");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_device, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ports, set_up, tear_down),
		cmocka_unit_test_setup_teardown(wide_counters_of_old_kernels, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counters_of_the_driver, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
