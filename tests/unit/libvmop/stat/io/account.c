// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/io/account.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/appio-calls.h"

/* Two processes, the first with two threads. */
static const struct vmop_appio_task tasks[] = {
	{.pid = 10, .tid = 10, .name = "one", .open_peak = 5, .file_faults = 7, .major_faults = 1},
	{.pid = 10, .tid = 11, .name = "two", .open_peak = 9, .file_faults = 3},
	{.pid = 20, .tid = 20, .name = "three", .open_peak = 2},
};

static void put(struct vmop_stat_io_account *account, uint32_t task, int32_t fd, const char *call,
		uint8_t direction, uint8_t kind, uint64_t calls, uint64_t bytes)
{
	const struct vmop_appio_key key = {.task = task,
					   .fd = fd,
					   .call = (uint8_t)vmop_appio_call_id(call),
					   .direction = direction,
					   .kind = kind,
					   .inode = (uint64_t)fd};
	const struct vmop_appio_entry entry = {
		.counts = {.calls = calls, .bytes = bytes, .errors = 1, .time_ns = 10}};
	assert_int_not_equal(key.call, 0);
	assert_null(vmop_stat_io_account_put_entry(account, &key, &entry));
}

static void fill(struct vmop_stat_io_account *account)
{
	for (uint32_t i = 0; i < 3; i++)
		assert_null(vmop_stat_io_account_put_task(account, i + 1, &tasks[i]));
	put(account, 1, 3, "read", VMOP_APPIO_IN, VMOP_APPIO_KIND_FILE, 10, 1000);
	put(account, 2, 3, "pread64", VMOP_APPIO_IN, VMOP_APPIO_KIND_FILE, 20, 4000);
	put(account, 3, 3, "read", VMOP_APPIO_IN, VMOP_APPIO_KIND_PIPE, 5, 50);
	put(account, 3, 4, "write", VMOP_APPIO_OUT, VMOP_APPIO_KIND_PIPE, 7, 9000);
	put(account, 1, 3, "lseek", VMOP_APPIO_IN, VMOP_APPIO_KIND_FILE, 2, 0);
	put(account, 0, -1, "read", VMOP_APPIO_IN, VMOP_APPIO_KIND_FILE, 1, 1); /* left out */
}

static void totals_are_over_all_threads(void **state)
{
	(void)state;
	struct vmop_stat_io_account account = {0};
	struct vmop_stat_io_totals totals;
	fill(&account);
	vmop_stat_io_account_totals(&account, &totals);
	assert_int_equal(totals.sums[VMOP_STAT_IO_READS].calls, 36);
	assert_int_equal(totals.sums[VMOP_STAT_IO_READS].bytes, 5051);
	assert_int_equal(totals.sums[VMOP_STAT_IO_READS].errors, 4);
	assert_int_equal(totals.sums[VMOP_STAT_IO_READS].time_ns, 40);
	assert_int_equal(totals.sums[VMOP_STAT_IO_WRITES].calls, 7);
	assert_int_equal(totals.sums[VMOP_STAT_IO_SEEKS].calls, 2);
	assert_int_equal(totals.open_peak, 9);
	assert_int_equal(totals.file_faults, 10);
	assert_int_equal(totals.major_faults, 1);
	vmop_stat_io_account_clear(&account);
	vmop_stat_io_account_totals(&account, &totals);
	assert_int_equal(totals.sums[VMOP_STAT_IO_READS].calls, 0);
	assert_int_equal(totals.open_peak, 0);
	vmop_stat_io_account_deinit(&account);
}

/* Group, and check the numbers of calls, largest number of bytes first. */
static void expect_groups(enum vmop_stat_io_by by, size_t n_wanted, const uint64_t *calls)
{
	struct vmop_stat_io_account account = {0};
	struct vmop_stat_io_item *items;
	size_t n;
	fill(&account);
	assert_null(vmop_stat_io_account_group(&account, by, &items, &n));
	assert_int_equal(n, n_wanted);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(items[i].entry.counts.calls, calls[i]);
	free(items);
	vmop_stat_io_account_deinit(&account);
}

static void groups(void **state)
{
	(void)state;
	expect_groups(VMOP_STAT_IO_BY_KIND, 3, (const uint64_t[]){7, 31, 5});
	/* The last one has the calls that were left out. */
	expect_groups(VMOP_STAT_IO_BY_PROCESS, 4, (const uint64_t[]){7, 30, 5, 1});
	expect_groups(VMOP_STAT_IO_BY_THREAD, 5, (const uint64_t[]){7, 20, 10, 5, 1});
	/* Threads of a process share its descriptors. */
	expect_groups(VMOP_STAT_IO_BY_DESCRIPTOR, 4, (const uint64_t[]){7, 30, 5, 1});
	expect_groups(VMOP_STAT_IO_BY_CALL, 4, (const uint64_t[]){7, 20, 16, 2});
}

static void threads_are_in_their_order(void **state)
{
	(void)state;
	struct vmop_stat_io_account account = {0};
	struct vmop_error *err = vmop_stat_io_account_put_task(&account, 2, &tasks[0]);
	assert_non_null(err);
	vmop_error_destroy(err);
	assert_null(vmop_stat_io_account_task(&account, 0));
	assert_null(vmop_stat_io_account_task(&account, 1));
	vmop_stat_io_account_deinit(&account);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_are_over_all_threads),
		cmocka_unit_test(groups),
		cmocka_unit_test(threads_are_in_their_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
