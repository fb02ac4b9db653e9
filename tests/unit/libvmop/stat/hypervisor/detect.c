// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/hypervisor/detect.h"

#include <cmocka.h>
#include <string.h>

#include "libvmop/stat/hypervisor/machine.h"
#include "libvmop/stat/hypervisor/steal.h"
#include "tests/unit/libvmop/stat/tree.h"
#include "tests/unit/ok.h"

static const char *signature; /* of the CPU's only block; NULL: bare metal */
static uint32_t features, privileges;

static struct vmop_cpuid_words read_x86(uint32_t leaf, uint32_t subleaf)
{
	struct vmop_cpuid_words words = {0};
	(void)subleaf;
	if (leaf == 0)
		words.a = 0xd;
	else if (leaf == 1 && signature)
		words.c = UINT32_C(1) << 31;
	else if (leaf == VMOP_HV_CPUID_FIRST && signature) {
		words.a = leaf + 4;
		memcpy(&words.b, signature, 4);
		memcpy(&words.c, signature + 4, 4);
		memcpy(&words.d, signature + 8, 4);
	} else if (leaf == VMOP_HV_CPUID_FIRST + 1)
		words.a = features;
	else if (leaf == VMOP_HV_CPUID_FIRST + 3)
		words.b = privileges;
	return words;
}

static struct vmop_cpuid_words read_arm64(uint32_t leaf, uint32_t subleaf)
{
	(void)leaf, (void)subleaf;
	return (struct vmop_cpuid_words){0};
}

/* Return whether the description's JSON has the text. */
static bool describes(const struct vmop_hv *hv, const char *text)
{
	char *printed = NULL;
	size_t len;
	struct vmop_hv_report report;
	vmop_hv_report_init(&report);
	vmop_hv_describe(hv, &report);
	vmop_hv_describe_kvm(hv, &report);
	vmop_hv_describe_cpus(hv, &report);
	vmop_hv_describe_clock(hv, &report);
	FILE *out = open_memstream(&printed, &len);
	assert_ok(vmop_hv_report_print(&report, true, out));
	fclose(out);
	bool has = strstr(printed, text) != NULL;
	if (!has)
		print_message("%s", printed);
	free(printed);
	vmop_hv_report_deinit(&report);
	return has;
}

static int set_up(void **state)
{
	(void)state;
	signature = NULL;
	features = privileges = 0;
	tree_begin();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	tree_end();
	return 0;
}

static void bare_metal(void **state)
{
	struct vmop_hv hv;
	(void)state;
	/* A cloud's bare-metal instance has the vendor of its guests. */
	tree_file("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
	tree_file("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu tsc vmx constant_tsc\n\n");
	tree_file("/dev/kvm", "");
	tree_file("/sys/module/kvm_intel/version", "");
	vmop_hv_detect(tree_root, read_x86, &hv);
	assert_int_equal(hv.kind, VMOP_HV_NONE);
	assert_int_equal(hv.role, VMOP_HV_ROLE_HOST);
	assert_true(describes(&hv, "\"runs guests by\":[\"vmx\",\"KVM with VMX\"]"));
	assert_non_null(strstr(vmop_hv_steal_reason(&hv), "no hypervisor"));
}

static void kvm(void **state)
{
	struct vmop_hv hv;
	(void)state;
	signature = "KVMKVMKVM\0\0\0";
	features = VMOP_HV_KVM_STEAL_TIME | 1u << 24 | 1u << 8;
	tree_file("/sys/class/dmi/id/sys_vendor", "QEMU\n");
	tree_file("/proc/stat", "cpu  1 2 3 4 5 6 7 0 0 0\ncpu0 1 2 3 4 5 6 7 0 0 0\n");
	vmop_hv_detect(tree_root, read_x86, &hv);
	assert_int_equal(hv.kind, VMOP_HV_KVM);
	assert_int_equal(hv.role, VMOP_HV_ROLE_GUEST);
	assert_true(describes(&hv, "[\"steal-time\",\"bit 8\",\"clocksource-stable\"]"));
	assert_true(describes(&hv, "DMI sys_vendor: QEMU"));
	assert_null(vmop_hv_steal_reason(&hv));
	features = 0;
	assert_non_null(strstr(vmop_hv_steal_reason(&hv), "offers no steal clock"));
	tree_file("/proc/cmdline", "quiet no-steal-acc\n");
	assert_non_null(strstr(vmop_hv_steal_reason(&hv), "no-steal-acc"));
	/* Only the CPU's own line counts: the first field of the sum looks like its number. */
	tree_file("/proc/stat", "cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 80 0 0\n");
	struct vmop_readings readings = {0};
	assert_ok(vmop_hv_read_steal(&hv, &readings));
	assert_int_equal(readings.n, 1);
	assert_string_equal(readings.items[0].object, "cpu0");
	assert_int_equal(readings.items[0].value, UINT64_C(800000000));
	vmop_readings_deinit(&readings);
}

static void xen(void **state)
{
	struct vmop_hv hv;
	(void)state;
	tree_file("/sys/hypervisor/type", "xen\n");
	tree_file("/sys/hypervisor/version/major", "4\n");
	tree_file("/sys/hypervisor/version/minor", "17\n");
	tree_file("/sys/hypervisor/version/extra", ".5\n");
	tree_file("/sys/hypervisor/guest_type", "PV\n");
	/* A PV domain sees the CPU below Xen. */
	signature = "TCGTCGTCGTCG";
	vmop_hv_detect(tree_root, read_x86, &hv);
	assert_int_equal(hv.kind, VMOP_HV_XEN);
	assert_int_equal(hv.role, VMOP_HV_ROLE_GUEST);
	assert_true(describes(&hv, "\"version\":\"4.17.5\""));
	assert_true(describes(&hv, "Xen itself runs below QEMU's emulator"));
	tree_file("/proc/xen/capabilities", "control_d\n");
	vmop_hv_detect(tree_root, read_x86, &hv);
	assert_int_equal(hv.role, VMOP_HV_ROLE_DOM0);
}

static void hyperv(void **state)
{
	struct vmop_hv hv;
	(void)state;
	signature = "Microsoft Hv";
	vmop_hv_detect(tree_root, read_x86, &hv);
	assert_int_equal(hv.role, VMOP_HV_ROLE_GUEST);
	privileges = 1;
	vmop_hv_detect(tree_root, read_x86, &hv);
	assert_int_equal(hv.role, VMOP_HV_ROLE_ROOT);
}

static void device_tree(void **state)
{
	struct vmop_hv hv;
	(void)state;
	vmop_hv_detect(tree_root, read_arm64, &hv);
	assert_int_equal(hv.kind, VMOP_HV_NONE);
	tree_file("/sys/class/dmi/id/sys_vendor", "VMware, Inc.\n");
	vmop_hv_detect(tree_root, read_arm64, &hv);
	assert_int_equal(hv.kind, VMOP_HV_VMWARE);
	tree_file("/proc/device-tree/compatible", "linux,dummy-virt");
	tree_file("/proc/device-tree/fw-cfg@9020000/reg", "");
	vmop_hv_detect(tree_root, read_arm64, &hv);
	assert_int_equal(hv.kind, VMOP_HV_OTHER);
	assert_true(describes(&hv, "QEMU's virtual machine: KVM or the emulator"));
	tree_file("/proc/device-tree/hypervisor/compatible", "xen,xen-4.17");
	vmop_hv_detect(tree_root, read_arm64, &hv);
	assert_int_equal(hv.kind, VMOP_HV_XEN);
}

static void cpus_and_clock(void **state)
{
	struct vmop_hv hv;
	(void)state;
	tree_file("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu tsc nonstop_tsc\n");
	tree_file("/sys/devices/system/cpu/online", "0-2,5\n");
	for (unsigned cpu = 0; cpu < 6; cpu++) {
		char path[128], text[16];
		if (cpu == 3 || cpu == 4)
			continue;
		/* Two cores of two threads: 0 with 1, 2 with 5; one socket. */
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%u/topology/core_cpus_list", cpu);
		snprintf(text, sizeof(text), "%s\n", cpu < 2 ? "0-1" : "2,5");
		tree_file(path, text);
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%u/topology/package_cpus_list", cpu);
		tree_file(path, "0-2,5\n");
	}
	tree_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
	tree_file("/sys/devices/system/clocksource/clocksource0/available_clocksource",
		  "tsc-early hpet \n");
	vmop_hv_detect(tree_root, read_x86, &hv);
	assert_true(describes(&hv, "\"number\":4"));
	assert_true(describes(&hv, "\"sockets\":1,\"cores\":2,\"threads of a core\":2"));
	/* The kernel has withdrawn the TSC. */
	assert_true(describes(&hv, "\"TSC is stable\":false"));
	tree_file("/sys/devices/system/clocksource/clocksource0/available_clocksource",
		  "hpet tsc \n");
	assert_true(describes(&hv, "\"TSC is stable\":true"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(bare_metal, set_up, tear_down),
		cmocka_unit_test_setup_teardown(kvm, set_up, tear_down),
		cmocka_unit_test_setup_teardown(xen, set_up, tear_down),
		cmocka_unit_test_setup_teardown(hyperv, set_up, tear_down),
		cmocka_unit_test_setup_teardown(device_tree, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cpus_and_clock, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
