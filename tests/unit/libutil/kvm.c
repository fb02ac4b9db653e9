// SPDX-License-Identifier: GPL-2.0-or-later
/* KVM's folder in debugfs, over a directory of this test. */
#include "libutil/kvm.h"

#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[32];

static int begin(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/vmop-kvm.XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int end(void **state)
{
	(void)state;
	nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return 0;
}

/* Put a file of a vCPU, with all folders above it. */
static void put(const char *vm, unsigned vcpu, const char *file, const char *text)
{
	char path[256];
	static const char *const above[] = {"/sys", "/sys/kernel", "/sys/kernel/debug",
					    "/sys/kernel/debug/kvm"};
	for (size_t i = 0; i < sizeof(above) / sizeof(above[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, above[i]);
		mkdir(path, 0700);
	}
	snprintf(path, sizeof(path), "%s/sys/kernel/debug/kvm/%s", root, vm);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/sys/kernel/debug/kvm/%s/vcpu%u", root, vm, vcpu);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/sys/kernel/debug/kvm/%s/vcpu%u/%s", root, vm, vcpu, file);
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void the_counter_of_all_vcpus(void **state)
{
	struct vmop_kvm_tsc tsc;
	(void)state;
	put("70-11", 0, "tsc-offset", "-1000\n");
	put("70-11", 1, "tsc-offset", "-1000\n");
	put("71-11", 0, "tsc-offset", "5\n");
	assert_true(vmop_kvm_read_tsc(root, 70, &tsc));
	assert_int_equal(vmop_kvm_guest_tsc(&tsc, 5000), 4000);
	assert_true(vmop_kvm_read_tsc(root, 71, &tsc));
	assert_int_equal(vmop_kvm_guest_tsc(&tsc, 5000), 5005);
}

static void a_scaled_counter(void **state)
{
	struct vmop_kvm_tsc tsc;
	(void)state;
	put("70-11", 0, "tsc-offset", "7\n");
	put("70-11", 0, "tsc-scaling-ratio", "6442450944\n"); /* 1.5 */
	put("70-11", 0, "tsc-scaling-ratio-frac-bits", "32\n");
	assert_true(vmop_kvm_read_tsc(root, 70, &tsc));
	assert_int_equal(vmop_kvm_guest_tsc(&tsc, 1000), 1507);
	/* No overflow on the way. */
	assert_int_equal(vmop_kvm_guest_tsc(&tsc, UINT64_C(1) << 62), (UINT64_C(3) << 61) + 7);
}

static void what_has_no_certain_counter(void **state)
{
	struct vmop_kvm_tsc tsc;
	(void)state;
	assert_false(vmop_kvm_read_tsc(root, 70, &tsc)); /* no debugfs */
	put("70-11", 0, "pid", "71\n");
	assert_false(vmop_kvm_read_tsc(root, 70, &tsc)); /* no such file, as on arm64 */
	put("70-11", 0, "tsc-offset", "1\n");
	put("70-11", 1, "tsc-offset", "2\n");
	assert_false(vmop_kvm_read_tsc(root, 70, &tsc)); /* they differ */
	put("70-11", 1, "tsc-offset", "1\n");
	assert_true(vmop_kvm_read_tsc(root, 70, &tsc));
	put("70-12", 0, "tsc-offset", "1\n");
	assert_false(vmop_kvm_read_tsc(root, 70, &tsc)); /* two VMs of one process */
	put("73-1", 0, "tsc-offset", "1x\n");
	assert_false(vmop_kvm_read_tsc(root, 73, &tsc)); /* no number */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_counter_of_all_vcpus),
		TEST(a_scaled_counter),
		TEST(what_has_no_certain_counter),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
