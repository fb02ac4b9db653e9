// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A sample and its callers become a stack: entries of the same vCPU and mode, up to the limit, and
 * the reason of its end.
 */
#include <cmocka.h>

#include "hv-interface/xen/trace.h"
#include "hv-interface/xen/xenoprof-abi.h"

#define KERNEL UINT64_C(0xffffffff81000000)

static const struct vmop_record record = {.type = VMOP_RECORD_SAMPLE, .time_ns = 7};

static struct vmop_xen_entry entry(uint8_t mode, uint64_t ip)
{
	return (struct vmop_xen_entry){.domain = 3, .vcpu = 1, .mode = mode, .ip = ip};
}

static void begin(struct vmop_xen_trace *trace, uint8_t mode, uint64_t ip)
{
	const struct vmop_xen_entry sample = entry(mode, ip);
	*trace = (struct vmop_xen_trace){0};
	vmop_xen_trace_begin(trace, &record, &sample);
	assert_true(trace->is_open);
	assert_int_equal(trace->record.time_ns, 7);
}

static void add(struct vmop_xen_trace *trace, uint8_t mode, uint64_t ip)
{
	const struct vmop_xen_entry caller = entry(mode, ip);
	vmop_xen_trace_add(trace, &caller);
}

static void test_user(void **state)
{
	struct vmop_xen_trace trace;
	struct vmop_stack_capture stack;
	(void)state;
	begin(&trace, VMOP_XENOPROF_MODE_USER, 0x1000);
	add(&trace, VMOP_XENOPROF_MODE_USER, 0x2000);
	add(&trace, VMOP_XENOPROF_MODE_USER, 0x3000);
	assert_true(vmop_xen_trace_end(&trace, 5, false, &stack));
	assert_false(trace.is_open);
	assert_int_equal(stack.n_user_frames, 3);
	assert_int_equal(stack.user_frames[0], 0x1000);
	assert_int_equal(stack.user_frames[2], 0x3000);
	assert_int_equal(stack.user_end, VMOP_STACK_END_UNKNOWN);
	assert_int_equal(stack.n_kernel_frames, 0);
	begin(&trace, VMOP_XENOPROF_MODE_USER, 0x1000);
	add(&trace, VMOP_XENOPROF_MODE_USER, 0x2000);
	assert_true(vmop_xen_trace_end(&trace, 1, false, &stack));
	assert_int_equal(stack.user_end, VMOP_STACK_DEPTH_LIMIT);
	/* No user code has such an address. */
	begin(&trace, VMOP_XENOPROF_MODE_USER, 0x1000);
	add(&trace, VMOP_XENOPROF_MODE_USER, UINT64_C(1) << 62 | 0x2000);
	add(&trace, VMOP_XENOPROF_MODE_USER, 0x3000);
	assert_true(vmop_xen_trace_end(&trace, 5, false, &stack));
	assert_int_equal(stack.n_user_frames, 1);
	assert_int_equal(stack.user_end, VMOP_STACK_TORN);
}

static void test_kernel(void **state)
{
	static const struct {
		uint64_t outermost;
		uint32_t depth;
		bool has_frames;
		size_t n;
		enum vmop_stack_end end;
	} cases[] = {
		{KERNEL + 3, 9, true, 3, VMOP_STACK_NOT_RECORDED},
		{KERNEL + 3, 2, true, 3, VMOP_STACK_DEPTH_LIMIT},
		{0x41, 9, true, 2, VMOP_STACK_TORN},
		{KERNEL + 3, 9, false, 1, VMOP_STACK_NO_CFI},
		{UINT64_C(0x8000000000000000), 9, true, 2, VMOP_STACK_TORN},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct vmop_xen_trace trace;
		struct vmop_stack_capture stack;
		begin(&trace, VMOP_XENOPROF_MODE_KERNEL, KERNEL + 1);
		add(&trace, VMOP_XENOPROF_MODE_KERNEL, KERNEL + 2);
		add(&trace, VMOP_XENOPROF_MODE_KERNEL, cases[i].outermost);
		assert_true(
			vmop_xen_trace_end(&trace, cases[i].depth, cases[i].has_frames, &stack));
		assert_int_equal(stack.n_kernel_frames, cases[i].n);
		assert_int_equal(stack.kernel_frames[0], KERNEL + 1);
		assert_int_equal(stack.user_end, cases[i].end);
		assert_int_equal(stack.n_user_frames, 0);
	}
}

/* Only what belongs to the sample, and Xen's own code has no stack. */
static void test_strangers(void **state)
{
	struct vmop_xen_trace trace = {0};
	struct vmop_stack_capture stack;
	(void)state;
	add(&trace, VMOP_XENOPROF_MODE_USER, 0x9000); /* before any sample */
	assert_int_equal(trace.n, 0);
	begin(&trace, VMOP_XENOPROF_MODE_USER, 0x1000);
	add(&trace, VMOP_XENOPROF_MODE_KERNEL, KERNEL);
	const struct vmop_xen_entry others[] = {
		{.domain = 4, .vcpu = 1, .ip = 0x2000},
		{.domain = 3, .vcpu = 0, .ip = 0x2000},
	};
	vmop_xen_trace_add(&trace, &others[0]);
	vmop_xen_trace_add(&trace, &others[1]);
	assert_int_equal(trace.n, 1);
	for (unsigned i = 0; i < 10 * VMOP_STACK_FRAMES_MAX; i++)
		add(&trace, VMOP_XENOPROF_MODE_USER, 0x2000);
	assert_true(vmop_xen_trace_end(&trace, VMOP_STACK_FRAMES_MAX, false, &stack));
	assert_int_equal(stack.n_user_frames, VMOP_STACK_FRAMES_MAX + 1);
	assert_int_equal(stack.user_end, VMOP_STACK_DEPTH_LIMIT);
	begin(&trace, VMOP_XENOPROF_MODE_XEN, KERNEL);
	assert_false(vmop_xen_trace_end(&trace, 5, true, &stack));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_user),
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_strangers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
