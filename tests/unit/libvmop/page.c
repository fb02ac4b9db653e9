// SPDX-License-Identifier: GPL-2.0-or-later
#include "config.h"

#include <cmocka.h>

#include "libvmop/page.h"

/* The kernel's formula at full width, for any counter of ticks. */
static uint64_t exact_ns(const struct perf_event_mmap_page *page, uint64_t ticks)
{
	return page->time_offset +
	       (uint64_t)(((unsigned __int128)ticks * page->time_mult) >> page->time_shift);
}

static void times_follow_shift_mult_offset(void **state)
{
	(void)state;
	struct perf_event_mmap_page page = {
		.time_shift = 31, .time_mult = 1789569706, .time_offset = (uint64_t)-5000};
	const uint64_t ticks[] = {0, 1, 6000, 1ull << 33, 1ull << 52, 0x123456789abcdull};
	for (size_t i = 0; i < sizeof(ticks) / sizeof(*ticks); i++)
		assert_int_equal(vmop_page_since_ns(&page, ticks[i]), exact_ns(&page, ticks[i]));
}

static void short_counters_wrap(void **state)
{
	(void)state;
#ifdef HAVE_STRUCT_PERF_EVENT_MMAP_PAGE_TIME_MASK
	struct perf_event_mmap_page page = {.time_shift = 0, .time_mult = 1};
	page.cap_user_time_short = 1;
	page.time_mask = 0xff;
	page.time_cycles = 0x10f0;
	/* The counter of 8 bits went from f0 over ff to 05. */
	assert_int_equal(vmop_page_since_ns(&page, 0x05), 0x1105);
	assert_int_equal(vmop_page_since_ns(&page, 0xf0), 0x10f0);
#else
	skip();
#endif
}

static void counters_have_a_sign(void **state)
{
	(void)state;
	assert_int_equal(vmop_page_extend(0x00000005, 32), 5);
	assert_int_equal((int64_t)vmop_page_extend(0xfffffffb, 32), -5);
	assert_int_equal((int64_t)vmop_page_extend(0xfffffffffffb, 48), -5);
	assert_int_equal((int64_t)vmop_page_extend((uint64_t)-5, 64), -5);
	/* Bits above the width do not count. */
	assert_int_equal(vmop_page_extend(0xff00000000000007, 48), 7);
}

static void no_index_means_no_value(void **state)
{
	(void)state;
	struct perf_event_mmap_page page = {.offset = 77, .pmc_width = 48};
	struct vmop_page_read read = {.value = 1};
	uint64_t value = 2;
	page.cap_user_rdpmc = 1;
	page.cap_user_time = 1;
	assert_int_equal(vmop_page_value(&page, &value), VMOP_PAGE_NOT_NOW);
	assert_int_equal(vmop_page_read(&page, &read), VMOP_PAGE_NOT_NOW);
	assert_int_equal(value, 2);
	assert_int_equal(read.value, 1);
}

/* An index of a counter that the kernel does not let this process read. */
static void a_refusal_is_no_value(void **state)
{
	(void)state;
	struct perf_event_mmap_page page = {.offset = 77, .pmc_width = 48, .index = 3};
	struct vmop_page_read read = {.value = 1};
	uint64_t value = 2;
	page.cap_user_time = 1;
	vmop_user_read_prepare();
	if (vmop_page_value(&page, &value) == VMOP_PAGE_READ)
		skip(); /* rdpmc is free for everybody: /sys/bus/event_source/devices/cpu/rdpmc is 2
			 */
	assert_int_equal(vmop_page_value(&page, &value), VMOP_PAGE_REFUSED);
	assert_int_equal(vmop_page_read(&page, &read), VMOP_PAGE_REFUSED);
	assert_int_equal(value, 2);
	assert_int_equal(read.value, 1);
	page.cap_user_time = 0;
	assert_int_equal(vmop_page_read(&page, &read), VMOP_PAGE_NOT_NOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_follow_shift_mult_offset),
		cmocka_unit_test(short_counters_wrap),
		cmocka_unit_test(counters_have_a_sign),
		cmocka_unit_test(no_index_means_no_value),
		cmocka_unit_test(a_refusal_is_no_value),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
