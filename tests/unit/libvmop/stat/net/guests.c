// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * On a made tree in the form of /proc and /sys, for what this machine has not: SR-IOV and VFIO. The
 * script stat-net.sh has real taps and macvtaps.
 */
#include "libvmop/stat/net/guests.h"

#include <cmocka.h>
#include <string.h>

#include "tests/unit/libvmop/stat/tree.h"
#include "tests/unit/ok.h"

#define PCI "/sys/bus/pci/devices/"
#define NIC "0000:03:00.0"

static struct vmop_net_guests *guests;
static struct vmop_readings readings;

static int set_up(void **state)
{
	(void)state;
	tree_begin();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	vmop_net_guests_close(guests);
	guests = NULL;
	vmop_readings_deinit(&readings);
	tree_end();
	return 0;
}

static void update(void)
{
	assert_ok(vmop_net_guests_open(tree_root, &guests));
	assert_ok(vmop_net_guests_update(guests));
	vmop_readings_begin(&readings);
	assert_ok(vmop_net_guests_add(guests, &readings));
	vmop_readings_end(&readings);
}

/* Make a process with an open virtual machine and, unless it is NULL, an open file. */
static void make_vmm(unsigned pid, const char *cmdline, size_t len, const char *open)
{
	char path[128], text[128];
	snprintf(text, sizeof(text),
		 "%u (vmm) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n", pid);
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	tree_file(path, text);
	snprintf(path, sizeof(path), "%s/proc/%u/cmdline", tree_root, pid);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(cmdline, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
	snprintf(path, sizeof(path), "/proc/%u/fd/3", pid);
	tree_link(path, "anon_inode:kvm-vm");
	snprintf(path, sizeof(path), "/proc/%u/fd/4", pid);
	if (open)
		tree_link(path, open);
}

#define QEMU(name) "qemu\0-name\0" name, sizeof("qemu\0-name\0" name)

/* Make a network device on the PCI bus, in that group of the IOMMU. */
static void make_device(const char *address, const char *group)
{
	char path[256];
	snprintf(path, sizeof(path), PCI "%s/class", address);
	tree_file(path, "0x020000\n");
	snprintf(path, sizeof(path), "/sys/kernel/iommu_groups/%s/devices/%s", group, address);
	tree_link(path, "../../../../devices/pci0000:00/device");
}

static void make_vf(const char *address, const char *group, unsigned number)
{
	char path[256], target[64];
	make_device(address, group);
	snprintf(path, sizeof(path), PCI "%s/physfn", address);
	tree_link(path, "../" NIC);
	snprintf(path, sizeof(path), PCI NIC "/virtfn%u", number);
	snprintf(target, sizeof(target), "../%s", address);
	tree_link(path, target);
}

/* Check that there is one row of no counters, and its reason. */
static void check_reason(const char *object, const char *guest, const char *reason)
{
	assert_int_equal(readings.n, 1);
	assert_string_equal(readings.items[0].object, object);
	assert_string_equal(readings.items[0].counter, "traffic");
	assert_string_equal(readings.items[0].guest, guest);
	if (!readings.items[0].reason || !strstr(readings.items[0].reason, reason))
		fail_msg("%s", readings.items[0].reason);
}

static void virtual_functions(void **state)
{
	uint32_t number = 99;
	(void)state;
	tree_file(PCI NIC "/class", "0x020000\n");
	tree_file(PCI NIC "/net/eth0/address", "");
	tree_file(PCI NIC "/net/rep/phys_port_name", "pf0vf3\n");
	make_vf("0000:03:10.2", "12", 0);
	make_vf("0000:03:10.4", "13", 11);
	make_vf("0000:03:10.6", "14", 12);
	make_vmm(100, QEMU("web1"), "/dev/vfio/13");
	tree_link("/proc/100/fd/5", "/dev/vfio/vfio");
	tree_link("/proc/100/fd/6", "/dev/vfio/13"); /* the same group once more */
	/* Linux 6.6 and later: a file for each device. */
	tree_link("/sys/class/vfio-dev/vfio7/device", "../../../0000:03:10.6");
	make_vmm(101, QEMU("web2"), "/dev/vfio/devices/vfio7");
	update();
	const char *first = vmop_net_guests_vf(guests, "eth0", 0, &number);
	assert_non_null(first);
	bool is_web1 = !strcmp(first, "web1");
	assert_int_equal(number, is_web1 ? 11 : 12);
	assert_string_equal(vmop_net_guests_vf(guests, "eth0", 1, &number),
			    is_web1 ? "web2" : "web1");
	assert_int_equal(number, is_web1 ? 12 : 11);
	assert_null(vmop_net_guests_vf(guests, "eth0", 2, &number));
	assert_null(vmop_net_guests_vf(guests, "rep", 0, &number));
	assert_int_equal(readings.n, 0);
}

static void whole_device(void **state)
{
	(void)state;
	make_device("0000:04:00.0", "20");
	tree_file(PCI "0000:05:00.0/class", "0x030000\n"); /* a graphics card */
	tree_link("/sys/kernel/iommu_groups/20/devices/0000:05:00.0", "device");
	make_vmm(100, QEMU("web1"), "/dev/vfio/20");
	update();
	check_reason("0000:04:00.0", "web1", "process 100 has the whole device");
}

static void parent_elsewhere(void **state)
{
	(void)state;
	tree_file(PCI NIC "/class", "0x020000\n");
	make_vf("0000:03:10.2", "12", 0);
	make_vmm(100, QEMU("web1"), "/dev/vfio/12");
	update();
	check_reason("0000:03:10.2", "web1", "no interface in this network namespace");
}

static void no_such_group(void **state)
{
	(void)state;
	make_vmm(100, QEMU("web1"), "/dev/vfio/12");
	tree_link("/proc/100/fd/5", "/dev/vfio/devices/vfio1");
	tree_link("/proc/100/fd/6", "/dev/vfio/noiommu-0");
	tree_file(PCI "0000:06:00.0/class", "nonsense");
	tree_link("/sys/kernel/iommu_groups/12/devices/0000:06:00.0", "device");
	tree_link("/sys/kernel/iommu_groups/12/devices/a-name-that-no-address-on-a-bus-has",
		  "device");
	update();
	assert_int_equal(readings.n, 0);
}

static void vhost_user(void **state)
{
	static const char qemu[] = "qemu\0-name\0web1\0-netdev\0tap,id=a\0"
				   "-netdev\0vhost-user,chardev=c,id=b\0"
				   "-netdev\0{\"id\": \"d\", \"type\": \"vhost-user\"}\0"
				   "-netdev\0type=vhost-user,id=e\0-netdev\0{broken\0-netdev";
	(void)state;
	make_vmm(100, qemu, sizeof(qemu), NULL);
	update();
	check_reason("vhost-user-100", "web1", "(network cards: 3)");
}

static void vhost_user_of_cloud_hypervisor(void **state)
{
	static const char vmm[] = "/usr/bin/cloud-hypervisor\0--disk\0vhost_user=true,socket=d\0"
				  "--net\0tap=t\0mac=m,vhost_user=true,socket=a\0"
				  "--api-socket\0/run/web1\0--net=vhost_user=true\0tap=u\0--net";
	(void)state;
	make_vmm(100, vmm, sizeof(vmm), NULL);
	update();
	check_reason("vhost-user-100", "web1", "(network cards: 2)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(virtual_functions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(whole_device, set_up, tear_down),
		cmocka_unit_test_setup_teardown(parent_elsewhere, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_such_group, set_up, tear_down),
		cmocka_unit_test_setup_teardown(vhost_user, set_up, tear_down),
		cmocka_unit_test_setup_teardown(vhost_user_of_cloud_hypervisor, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
