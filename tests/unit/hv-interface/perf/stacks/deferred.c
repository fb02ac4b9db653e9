// SPDX-License-Identifier: GPL-2.0-or-later
/* Records of deferred user stacks, in the layout of the kernels that have them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hv-interface/perf/stacks/deferred.h"

static void test_decode(void **state)
{
	const uint64_t body[] = {77, 4, (uint64_t)PERF_CONTEXT_USER, 0x401000, 0x402000, 0x403000};
	struct vmop_perf_capture capture = {0};
	struct vmop_record record;
	(void)state;
	assert_true(vmop_perf_deferred_decode((const void *)body, sizeof(body), &record, &capture));
	assert_int_equal(record.type, VMOP_RECORD_USER_CHAIN);
	assert_int_equal(record.user_chain.cookie, 77);
	assert_true(capture.is_here);
	assert_int_equal(capture.stack.n_user_frames, 3);
	assert_int_equal(capture.stack.user_frames[0], 0x401000);
	assert_int_equal(capture.stack.user_end, VMOP_STACK_END_UNKNOWN);
	/* A session without stacks ignores another program's. */
	assert_true(vmop_perf_deferred_decode((const void *)body, sizeof(body), &record, NULL));
}

static void test_malformed(void **state)
{
	uint64_t body[] = {77, 4, 1, 2, 3, 4};
	struct vmop_perf_capture capture;
	struct vmop_record record;
	(void)state;
	for (size_t len = 0; len < sizeof(body); len++)
		assert_false(vmop_perf_deferred_decode((const void *)body, len, &record, &capture));
	body[1] = UINT64_MAX;
	assert_false(
		vmop_perf_deferred_decode((const void *)body, sizeof(body), &record, &capture));
	body[1] = 0;
	assert_true(vmop_perf_deferred_decode((const void *)body, sizeof(body), &record, &capture));
	assert_int_equal(capture.stack.n_user_frames, 0);
}

/* The flags lie behind read_format, also with headers that lack their names. */
static void test_flags(void **state)
{
	struct perf_event_attr attr = {.inherit = 1};
	(void)state;
	vmop_perf_deferred_ask(&attr);
	vmop_perf_deferred_deliver(&attr);
	const __u64 *flags = &attr.read_format + 1;
	assert_true(*flags == (UINT64_C(1) << 38 | UINT64_C(1) << 39 | 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_flags),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
