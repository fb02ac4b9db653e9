// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/host-time.h"

#include <cmocka.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libutil/clock.h"

#define S VMOP_NS_PER_S

/* The guest: CLOCK_REALTIME is 1700000000 s ahead of CLOCK_MONOTONIC. */
static const struct vmop_tsc_pair own = {
	.tsc = 1700000100 * S, .time_ns = 100 * S, .width_ticks = 40};

static struct ptp_sys_offset_precise both_at(int64_t host_s, int64_t guest_s, uint32_t guest_ns)
{
	return (struct ptp_sys_offset_precise){
		.device = {.sec = host_s, .nsec = 7},
		.sys_realtime = {.sec = guest_s, .nsec = guest_ns},
	};
}

static void the_hosts_time_beside_the_guests(void **state)
{
	struct ptp_sys_offset_precise both = both_at(1800000000, 1700000099, 5000);
	struct vmop_tsc_pair pair;
	(void)state;
	assert_true(vmop_host_time_pair(&both, 99 * S, 99 * S + 9000, &own, &pair));
	assert_int_equal(pair.tsc, 1800000000 * S + 7);
	assert_int_equal(pair.time_ns, 99 * S + 5000);
	assert_int_equal(pair.width_ticks, 40);
	/* Within the error of the guest's own clocks. */
	assert_true(vmop_host_time_pair(&both, 99 * S + 5040, 99 * S + 9000, &own, &pair));
	assert_true(vmop_host_time_pair(&both, 99 * S, 99 * S + 4960, &own, &pair));
}

static void a_clock_that_was_set(void **state)
{
	struct ptp_sys_offset_precise both = both_at(1800000000, 1700000099, 5000);
	struct vmop_tsc_pair pair = {.tsc = 1};
	(void)state;
	assert_false(vmop_host_time_pair(&both, 99 * S + 5041, 99 * S + 9000, &own, &pair));
	assert_false(vmop_host_time_pair(&both, 99 * S, 99 * S + 4959, &own, &pair));
	assert_int_equal(pair.tsc, 1);
}

static void times_that_are_none(void **state)
{
	static const struct ptp_clock_time bad[] = {
		{.sec = 0}, {.sec = -1}, {.sec = INT64_MAX}, {.sec = 1, .nsec = 1000000000}};
	struct vmop_tsc_pair pair;
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ptp_sys_offset_precise both = both_at(1800000000, 1700000099, 5000);
		both.device = bad[i];
		assert_false(vmop_host_time_pair(&both, 0, UINT64_MAX - 40, &own, &pair));
		both = both_at(1800000000, 1700000099, 5000);
		both.sys_realtime = bad[i];
		assert_false(vmop_host_time_pair(&both, 0, UINT64_MAX - 40, &own, &pair));
	}
}

static void this_machines_clocks(void **state)
{
	struct vmop_tsc_pair pair;
	(void)state;
	uint64_t before_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	bool serves_guests = vmop_host_time_here(&pair);
	assert_true(pair.time_ns >= before_ns && pair.time_ns <= vmop_clock_ns(CLOCK_MONOTONIC));
	assert_true(pair.tsc > 1500000000 * S && pair.width_ticks < S);
#if defined(__x86_64__)
	assert_false(serves_guests);
#else
	assert_true(serves_guests);
#endif
}

/* ---- the device ----------------------------------------------------------------------------- */

static char root[32];

static int begin(void **state)
{
	char path[64];
	(void)state;
	strcpy(root, "/tmp/vmop-host-time.XXXXXX");
	if (!mkdtemp(root))
		return -1;
	for (const char *const *dir =
		     (const char *const[]){"dev", "sys", "sys/class", "sys/class/ptp",
					   "sys/class/ptp/ptp0", "sys/class/ptp/ptp1", NULL};
	     *dir; dir++) {
		snprintf(path, sizeof(path), "%s/%s", root, *dir);
		if (mkdir(path, 0700) < 0)
			return -1;
	}
	return 0;
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
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *name, const char *text)
{
	char path[64];
	snprintf(path, sizeof(path), "%s/%s", root, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void the_clock_of_kvm_among_others(void **state)
{
	char bytes[8] = "";
	struct vmop_tsc_pair pair = {.tsc = 1};
	(void)state;
	assert_int_equal(vmop_host_time_open(root), -1);
	put("sys/class/ptp/ptp0/clock_name", "ixgbe\n");
	put("dev/ptp0", "ixgbe");
	assert_int_equal(vmop_host_time_open(root), -1);
	put("sys/class/ptp/ptp1/clock_name", "KVM virtual PTP\n");
	assert_int_equal(vmop_host_time_open(root), -1); /* without its device */
	put("dev/ptp1", "kvm");
	int fd = vmop_host_time_open(root);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), 3);
	assert_string_equal(bytes, "kvm");
	/* A file has no clock. */
	assert_false(vmop_host_time_read(fd, &pair));
	close(fd);
	assert_false(vmop_host_time_read(-1, &pair));
	assert_int_equal(pair.tsc, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hosts_time_beside_the_guests),
		cmocka_unit_test(a_clock_that_was_set),
		cmocka_unit_test(times_that_are_none),
		cmocka_unit_test(this_machines_clocks),
		cmocka_unit_test_setup_teardown(the_clock_of_kvm_among_others, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
