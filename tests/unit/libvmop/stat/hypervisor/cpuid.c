// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/hypervisor/cpuid.h"

#include <cmocka.h>
#include <string.h>

/* The words of a hypervisor, as read from real ones. */
static struct {
	bool is_guest;
	uint32_t last[3];
	const char *signatures[3]; /* of 12 bytes */
} machine;

static struct vmop_cpuid_words read_machine(uint32_t leaf, uint32_t subleaf)
{
	struct vmop_cpuid_words words = {0};
	(void)subleaf;
	if (leaf == 1)
		words.c = machine.is_guest ? UINT32_C(1) << 31 : 0;
	uint32_t block = (leaf - VMOP_HV_CPUID_FIRST) / VMOP_HV_CPUID_STEP;
	if (leaf < VMOP_HV_CPUID_FIRST || block >= 3 || leaf % VMOP_HV_CPUID_STEP ||
	    !machine.signatures[block])
		return words;
	words.a = machine.last[block];
	memcpy(&words.b, machine.signatures[block], 4);
	memcpy(&words.c, machine.signatures[block] + 4, 4);
	memcpy(&words.d, machine.signatures[block] + 8, 4);
	return words;
}

static void none(void **state)
{
	struct vmop_hv_cpuid cpuid;
	(void)state;
	machine.is_guest = false;
	machine.signatures[0] = "KVMKVMKVM\0\0\0";
	vmop_hv_cpuid_read(read_machine, &cpuid);
	assert_int_equal(cpuid.n, 0);
	assert_int_equal(vmop_hv_cpuid_kind(&cpuid), VMOP_HV_NONE);
}

static void kvm_with_the_interface_of_hyperv(void **state)
{
	struct vmop_hv_cpuid cpuid;
	(void)state;
	machine.is_guest = true;
	machine.last[0] = 0x4000000a;
	machine.signatures[0] = "Microsoft Hv";
	machine.last[1] = 0x40000101;
	machine.signatures[1] = "KVMKVMKVM\0\0\0";
	vmop_hv_cpuid_read(read_machine, &cpuid);
	assert_int_equal(cpuid.n, 2);
	assert_int_equal(vmop_hv_cpuid_kind(&cpuid), VMOP_HV_KVM);
	assert_int_equal(vmop_hv_cpuid_block(&cpuid, VMOP_HV_KVM)->base, 0x40000100);
	assert_int_equal(vmop_hv_cpuid_block(&cpuid, VMOP_HV_HYPERV)->last, 0x4000000a);
	assert_string_equal(cpuid.blocks[1].signature, "KVMKVMKVM");
	machine.signatures[1] = NULL;
	vmop_hv_cpuid_read(read_machine, &cpuid);
	assert_int_equal(vmop_hv_cpuid_kind(&cpuid), VMOP_HV_HYPERV);
}

static void old_kvm_has_no_last_leaf(void **state)
{
	struct vmop_hv_cpuid cpuid;
	(void)state;
	machine.last[0] = 0;
	machine.signatures[0] = "KVMKVMKVM\0\0\0";
	vmop_hv_cpuid_read(read_machine, &cpuid);
	assert_int_equal(vmop_hv_cpuid_block(&cpuid, VMOP_HV_KVM)->last, 0x40000001);
}

static void hostile_words(void **state)
{
	struct vmop_hv_cpuid cpuid;
	(void)state;
	machine.last[0] = 0x40000001;
	machine.signatures[0] = "\x1b[31m\\\n\0x\xffy";
	vmop_hv_cpuid_read(read_machine, &cpuid);
	assert_int_equal(cpuid.n, 1);
	assert_int_equal(vmop_hv_cpuid_kind(&cpuid), VMOP_HV_OTHER);
	assert_string_equal(cpuid.blocks[0].signature, "\\x1b[31m\\x5c\\x0a\\x00x\\xffy");
	/* Leaves of another block, or none. */
	machine.last[0] = 0x50000000;
	vmop_hv_cpuid_read(read_machine, &cpuid);
	assert_int_equal(cpuid.n, 0);
	assert_int_equal(vmop_hv_cpuid_kind(&cpuid), VMOP_HV_OTHER);
	assert_string_equal(vmop_hv_name(VMOP_HV_OTHER), "an unknown one");
}

/* This machine's own words. */
static void this_machine(void **state)
{
	struct vmop_hv_cpuid cpuid;
	(void)state;
	vmop_hv_cpuid_read(vmop_cpuid, &cpuid);
#ifdef __x86_64__
	assert_true(vmop_cpuid(0, 0).a >= 1);
	assert_true(cpuid.is_guest || !cpuid.n);
#else
	assert_false(cpuid.is_guest);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none),
		cmocka_unit_test(kvm_with_the_interface_of_hyperv),
		cmocka_unit_test(old_kvm_has_no_last_leaf),
		cmocka_unit_test(hostile_words),
		cmocka_unit_test(this_machine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
