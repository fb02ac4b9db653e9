// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The limits of cgroups, in trees of files as the kernel makes them: both versions, levels,
 * containers, and text that is no number. tests/integration/control-memory.sh has a real cgroup.
 */
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "daemon/memory-limit.h"

#define MIB ((uint64_t)1 << 20)

static char root[64];

static int make_root(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/vmop-cgroup-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	(void)state;
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

/* Write a file below root, with its directories. */
static void put(const char *path, const char *text)
{
	char full[512];
	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
	}
	FILE *file = fopen(full, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static struct vmop_memory_limit limit_now(void)
{
	struct vmop_memory_limit limit;
	vmop_memory_limit_read(root, &limit);
	return limit;
}

static void put_v2(const char *limit, const char *high)
{
	put("/proc/self/cgroup", "0::/system.slice/vmopd.service\n");
	put("/proc/self/mounts", "proc /proc proc rw 0 0\n"
				 "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n");
	put("/sys/fs/cgroup/system.slice/vmopd.service/memory.max", limit);
	put("/sys/fs/cgroup/system.slice/vmopd.service/memory.high", high);
	put("/sys/fs/cgroup/system.slice/vmopd.service/memory.current", "52428800\n"); /* 50 */
	put("/sys/fs/cgroup/system.slice/vmopd.service/memory.stat",
	    "anon 20971520\nfile 31457280\ninactive_file 20971520\nactive_file 8388608\n"
	    "slab_reclaimable 2097152\nslab_unreclaimable 1048576\n"); /* 20 + 8 + 2 of them */
}

static void version_2(void **state)
{
	(void)state;
	put_v2("104857600\n", "max\n");
	assert_int_equal(limit_now().limit_bytes, 100 * MIB);
	assert_int_equal(limit_now().left_bytes, 80 * MIB);
	put_v2("104857600\n", "41943040\n");
	assert_int_equal(limit_now().limit_bytes, 40 * MIB);
	assert_int_equal(limit_now().left_bytes, 20 * MIB);
	put_v2("max\n", "max\n");
	assert_int_equal(limit_now().limit_bytes, 0);
	put_v2("10485760\n", "max\n"); /* less than the memory in use */
	assert_int_equal(limit_now().limit_bytes, 10 * MIB);
	assert_int_equal(limit_now().left_bytes, 0);
}

static void a_level_above(void **state)
{
	(void)state;
	put_v2("104857600\n", "max\n");
	put("/sys/fs/cgroup/system.slice/memory.max", "209715200\n");
	put("/sys/fs/cgroup/system.slice/memory.current", "199229440\n");
	put("/sys/fs/cgroup/system.slice/memory.stat", "inactive_file 1048576\n");
	assert_int_equal(limit_now().limit_bytes, 200 * MIB);
	assert_int_equal(limit_now().left_bytes, 11 * MIB);
}

static void version_1(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/vm\n3:cpuset:/\n0::/\n");
	put("/proc/self/mounts", "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
				 "cgroup /c/set cgroup rw,cpuset 0 0\n"
				 "cgroup /c/memory cgroup rw,cpu,memory 0 0\n");
	put("/c/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("/c/memory/vm/memory.limit_in_bytes", "104857600\n");
	put("/c/memory/vm/memory.usage_in_bytes", "52428800\n");
	put("/c/memory/vm/memory.stat", "inactive_file 1\ntotal_inactive_file 10485760\n"
					"total_active_file 10485760\n");
	assert_int_equal(limit_now().limit_bytes, 100 * MIB);
	assert_int_equal(limit_now().left_bytes, 70 * MIB);
}

/* A container sees its own cgroup as the mount, under the host's path. */
static void a_container(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "0::/docker/0123\n");
	put("/proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 ro 0 0\n");
	put("/sys/fs/cgroup/memory.max", "104857600\n");
	put("/sys/fs/cgroup/memory.current", "1048576\n");
	assert_int_equal(limit_now().left_bytes, 99 * MIB);
	put("/proc/self/cgroup", "0::/../other\n");
	assert_int_equal(limit_now().left_bytes, 99 * MIB);
}

static void what_is_missing(void **state)
{
	(void)state;
	assert_int_equal(limit_now().limit_bytes, 0);
	put_v2("many\n", "-1\n");
	assert_int_equal(limit_now().limit_bytes, 0);
	put_v2("104857600\n", "max\n");
	put("/sys/fs/cgroup/system.slice/vmopd.service/memory.current", "");
	assert_int_equal(limit_now().limit_bytes, 0);
	put_v2("104857600\n", "max\n");
	put("/sys/fs/cgroup/system.slice/vmopd.service/memory.stat",
	    "inactive_file\nactive_file x\ninactive_file 99999999999999999999\n");
	assert_int_equal(limit_now().left_bytes, 50 * MIB);
	put("/proc/self/cgroup", "0\n1:memory\n::\n");
	assert_int_equal(limit_now().limit_bytes, 0);
}

static void when_it_is_short(void **state)
{
	(void)state;
	struct vmop_memory_limit limit = {.limit_bytes = 80 * MIB, .left_bytes = 11 * MIB};
	assert_false(vmop_memory_limit_is_short(&limit, false));
	assert_true(vmop_memory_limit_is_short(&limit, true));
	limit.left_bytes = 10 * MIB;
	assert_true(vmop_memory_limit_is_short(&limit, false));
	limit.left_bytes = 21 * MIB;
	assert_false(vmop_memory_limit_is_short(&limit, true));
	assert_false(vmop_memory_limit_is_short(&(struct vmop_memory_limit){0}, true));

	assert_null(vmop_memory_limit_check(&limit));
	assert_null(vmop_memory_limit_check(&(struct vmop_memory_limit){0}));
	limit.left_bytes = VMOP_MEMORY_LEAST_BYTES - 1;
	struct vmop_error *err = vmop_memory_limit_check(&limit);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "80 MiB, leaves 15 MiB"));
	vmop_error_destroy(err);
}

#ifndef __SANITIZE_ADDRESS__ /* it ends the program when memory runs out */
static void huge_pages_are_given_up_and_used_again(void **state)
{
	(void)state;
	int before = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0);
	vmop_memory_limit_use_small_pages(true);
	assert_int_equal(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0), 1);
	vmop_memory_limit_use_small_pages(false);
	assert_int_equal(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0), 0);
	vmop_memory_limit_use_small_pages(before);
}

static void the_guard(void **state)
{
	(void)state;
	const size_t large = 64 * MIB;
	vmop_memory_limit_guard(
		&(struct vmop_memory_limit){.limit_bytes = 100 * MIB, .left_bytes = 20 * MIB});
	void *small = malloc(4 * MIB);
	assert_non_null(small);
	assert_null(malloc(large));
	free(small);
	/* Something is left even then, so that an interval can be stored. */
	vmop_memory_limit_guard(&(struct vmop_memory_limit){.limit_bytes = 100 * MIB});
	small = malloc(MIB);
	assert_non_null(small);
	free(small);
	assert_null(malloc(4 * MIB));
	vmop_memory_limit_guard(&(struct vmop_memory_limit){0});
	void *memory = malloc(large);
	assert_non_null(memory);
	free(memory);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, make_root, remove_root)
		TEST(version_2),
		TEST(a_level_above),
		TEST(version_1),
		TEST(a_container),
		TEST(what_is_missing),
		cmocka_unit_test(when_it_is_short),
#ifndef __SANITIZE_ADDRESS__
		cmocka_unit_test(huge_pages_are_given_up_and_used_again),
		cmocka_unit_test(the_guard),
#endif
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
