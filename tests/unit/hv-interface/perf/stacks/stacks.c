// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The attributes for call stacks and their substitutes, where perf_event_open refuses
 * (hv-interface/layer.h).
 */
#include <cmocka.h>

#include "hv-interface/perf/stacks/capture.h"
#include "hv-interface/perf/stacks/stacks.h"
#include "tests/unit/hv-interface/layer.h"

#define CFI                                                                                        \
	{                                                                                          \
		.mode = VMOP_STACKS_CFI, .user_stack_bytes = 8192, .max_frames = 100               \
	}

/* Open a source with the stacks of the layer, and assert what it captures. */
static struct vmop_source *must_capture(const char *event, enum vmop_stack_mode mode,
					const char *note)
{
	const char *noted;
	struct vmop_source *source = must_open(event);
	const struct vmop_stack_options *is = vmop_source_stacks(source, &noted);
	assert_int_equal(is->mode, mode);
	if (!note)
		assert_null(noted);
	else if (!noted || !strstr(noted, note))
		fail_msg("'%s' lacks '%s'", noted, note);
	return source;
}

static void each_mode_has_its_attributes(void **state)
{
	(void)state;
	stacks = (struct vmop_stack_options)CFI;
	stacks.mode = VMOP_STACKS_OFF;
	vmop_source_close(must_capture("cpu-clock", VMOP_STACKS_OFF, NULL));
	assert_false(layer.last_clock.sample_type & VMOP_PERF_SAMPLE_STACKS);
	stacks.mode = VMOP_STACKS_KERNEL;
	vmop_source_close(must_capture("cpu-clock", VMOP_STACKS_KERNEL, NULL));
	assert_int_equal(layer.last_clock.sample_type & VMOP_PERF_SAMPLE_STACKS,
			 PERF_SAMPLE_CALLCHAIN);
	assert_true(layer.last_clock.exclude_callchain_user);
	assert_int_equal(layer.last_clock.sample_max_stack, 100);
	stacks.mode = VMOP_STACKS_FP;
	vmop_source_close(must_capture("cpu-clock", VMOP_STACKS_FP, NULL));
	assert_false(layer.last_clock.exclude_callchain_user);
	stacks.mode = VMOP_STACKS_CFI;
	vmop_source_close(must_capture("cpu-clock", VMOP_STACKS_CFI, NULL));
	assert_true((layer.last_clock.sample_type & VMOP_PERF_SAMPLE_STACKS) ==
		    VMOP_PERF_SAMPLE_STACKS);
	assert_true(layer.last_clock.exclude_callchain_user);
	assert_true(layer.last_clock.sample_regs_user == VMOP_PERF_USER_REGS);
	assert_int_equal(layer.last_clock.sample_stack_user, 8192);
	assert_false(layer.last_dummy.sample_type & VMOP_PERF_SAMPLE_STACKS);
	/* An event that samples only guests has none. */
	vmop_source_close(must_capture("cpu-clock:::::0:1", VMOP_STACKS_CFI, NULL));
	assert_false(layer.last_clock.sample_type & VMOP_PERF_SAMPLE_STACKS);
}

static void the_largest_copy_is_taken(void **state)
{
	(void)state;
	stacks = (struct vmop_stack_options)CFI;
	stacks.user_stack_bytes = VMOP_USER_STACK_BYTES_MAX;
	vmop_source_close(must_capture("cpu-clock", VMOP_STACKS_CFI, NULL));
	assert_int_equal(layer.last_clock.sample_stack_user, 65528);
}

static bool user_copies(const struct perf_event_attr *attr, int cpu)
{
	(void)cpu;
	return attr->sample_type & PERF_SAMPLE_STACK_USER;
}

static bool user_chains(const struct perf_event_attr *attr, int cpu)
{
	return user_copies(attr, cpu) ||
	       (attr->sample_type & PERF_SAMPLE_CALLCHAIN && !attr->exclude_callchain_user);
}

static bool chains(const struct perf_event_attr *attr, int cpu)
{
	(void)cpu;
	return attr->sample_type & PERF_SAMPLE_CALLCHAIN;
}

static void refusals_lead_one_step_down(void **state)
{
	(void)state;
	static const struct {
		bool (*refuses)(const struct perf_event_attr *attr, int cpu);
		int os_errno;
		enum vmop_stack_mode mode;
		const char *note;
	} table[] = {
		{user_copies, EOPNOTSUPP, VMOP_STACKS_FP, "not by CFI"},
		{user_copies, EINVAL, VMOP_STACKS_FP, "Invalid argument"},
		{user_chains, EINVAL, VMOP_STACKS_KERNEL, "not by frame pointers"},
		{chains, EOPNOTSUPP, VMOP_STACKS_OFF, "not of the kernel"},
		{chains, EOVERFLOW, VMOP_STACKS_OFF, "not of the kernel"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		refuse(table[i].refuses, table[i].os_errno);
		stacks = (struct vmop_stack_options)CFI;
		vmop_source_close(must_capture("cpu-clock", table[i].mode, table[i].note));
		/* The event itself is as ever. */
		assert_int_equal(layer.last_clock.config, PERF_COUNT_SW_CPU_CLOCK);
	}
}

static bool hardware_chains(const struct perf_event_attr *attr, int cpu)
{
	return is_hardware(attr) && chains(attr, cpu);
}

static bool precise_hardware(const struct perf_event_attr *attr, int cpu)
{
	(void)cpu;
	return is_hardware(attr) && attr->precise_ip;
}

static bool hardware_for_guests(const struct perf_event_attr *attr, int cpu)
{
	(void)cpu;
	return is_hardware(attr) && !attr->exclude_guest;
}

static void a_pmu_that_refuses_stacks_samples_without_them(void **state)
{
	(void)state;
	static const int errnos[] = {EINVAL, EOPNOTSUPP, E2BIG};
	for (size_t i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++) {
		stacks = (struct vmop_stack_options)CFI;
		refuse(hardware_chains, errnos[i]);
		struct vmop_source *source =
			must_capture("instructions cpu-clock cycles", VMOP_STACKS_CFI, NULL);
		assert_event(source, 0, "instructions", "instructions has no call stacks");
		assert_event(source, 0, "instructions", strerror(errnos[i]));
		assert_event(source, 1, "cpu-clock", NULL);
		/* One that the clock could replace is kept, too. */
		assert_event(source, 2, "cycles", "cycles has no call stacks");
		assert_false(layer.last_hardware.sample_type & VMOP_PERF_SAMPLE_STACKS);
		assert_true((layer.last_clock.sample_type & VMOP_PERF_SAMPLE_STACKS) ==
			    VMOP_PERF_SAMPLE_STACKS);
		vmop_source_close(source);
		/* The level of precision stays, of a PMU that has some: not one of arm64's. */
		root = "/nonexistent";
		source = must_capture("instructions:pp", VMOP_STACKS_CFI, NULL);
		assert_int_equal(layer.last_hardware.precise_ip, 2);
		vmop_source_close(source);
		root = NULL;
	}
}

static void other_refusals_leave_the_stacks(void **state)
{
	(void)state;
	stacks = (struct vmop_stack_options)CFI;
	refuse(all_hardware, EINVAL);
	struct vmop_source *source = must_capture("cycles", VMOP_STACKS_CFI, NULL);
	assert_event(source, 0, "cpu-clock", "no cycles: ");
	assert_true(layer.last_clock.sample_type & PERF_SAMPLE_STACK_USER);
	vmop_source_close(source);
	must_fail("instructions", VMOP_ERROR_CANT, "event 'instructions': ");
	refuse(precise_hardware, EINVAL);
	root = "/nonexistent";
	source = must_capture("instructions:pp", VMOP_STACKS_CFI, NULL);
	assert_event(source, 0, "instructions", "its precise level is 0");
	assert_true(layer.last_hardware.sample_type & PERF_SAMPLE_STACK_USER);
	vmop_source_close(source);
	root = NULL;
	refuse(hardware_for_guests, EOPNOTSUPP);
	source = must_capture("instructions", VMOP_STACKS_CFI, NULL);
	assert_event(source, 0, "instructions:H", "counts only the host");
	assert_true(layer.last_hardware.sample_type & PERF_SAMPLE_STACK_USER);
	vmop_source_close(source);
	refuse(NULL, 0);
	layer.refuses_siblings = true;
	source = must_capture("{instructions llc-misses}", VMOP_STACKS_CFI, NULL);
	assert_event(source, 0, "instructions", "counted separately");
	assert_event(source, 1, "llc-misses", "counted separately");
	assert_true(layer.last_hardware.sample_type & PERF_SAMPLE_STACK_USER);
	vmop_source_close(source);
}

static void a_group_without_stacks_stays_a_group(void **state)
{
	(void)state;
	stacks = (struct vmop_stack_options)CFI;
	refuse(hardware_chains, EINVAL);
	struct vmop_source *source =
		must_capture("{instructions llc-misses}", VMOP_STACKS_CFI, NULL);
	assert_event(source, 1, "llc-misses", "llc-misses has no call stacks");
	assert_null(strstr(vmop_source_event(source, 1)->note, "separately"));
	assert_true(layer.last_group_fd >= 0);
	vmop_source_close(source);
}

static void permission_is_no_reason_for_a_substitute(void **state)
{
	(void)state;
	stacks = (struct vmop_stack_options)CFI;
	refuse(all, EACCES);
	must_fail("cpu-clock", VMOP_ERROR_CANT, "CAP_PERFMON");
}

static void a_request_for_later_kernels_becomes_cfi(void **state)
{
	(void)state;
	stacks = (struct vmop_stack_options)CFI;
	stacks.mode = VMOP_STACKS_DEFER;
	vmop_source_close(must_capture("cpu-clock", VMOP_STACKS_CFI, "not deferred"));
}

/* Only a request that leaves it open, and only above the bound. */
static void many_copies_prefer_bpf(void **state)
{
	(void)state;
	struct vmop_stack_options request = CFI;
	uint64_t bound_hz = VMOP_PERF_STACKS_COPIED_PER_S / request.user_stack_bytes;
	assert_false(vmop_perf_stacks_prefers_bpf(&request, UINT64_MAX));
	request.may_use_bpf = true;
	assert_false(vmop_perf_stacks_prefers_bpf(&request, bound_hz));
	assert_true(vmop_perf_stacks_prefers_bpf(&request, bound_hz + 1));
	request.mode = VMOP_STACKS_FP;
	assert_false(vmop_perf_stacks_prefers_bpf(&request, UINT64_MAX));
}

/* Choose under a root whose sysctl has a value; "": it has none. */
static void limited(const char *value, struct vmop_perf_stacks *ret)
{
	const struct vmop_stack_options request = CFI;
	char tree[] = "/tmp/vmop-stacks-XXXXXX", command[256];
	assert_non_null(mkdtemp(tree));
	snprintf(command, sizeof(command),
		 "mkdir -p %s/proc/sys/kernel && [ -z '%s' ] || "
		 "echo %s >%s/proc/sys/kernel/perf_event_max_stack",
		 tree, value, value, tree);
	assert_int_equal(system(command), 0);
	assert_null(vmop_perf_stacks_choose(&request, NULL, tree, ret));
	snprintf(command, sizeof(command), "rm -r %s", tree);
	assert_int_equal(system(command), 0);
}

static void the_kernels_limit_of_frames_is_kept(void **state)
{
	(void)state;
	struct vmop_perf_stacks chosen;
	limited("20", &chosen);
	assert_int_equal(chosen.chain_frames, 20);
	assert_int_equal(chosen.is.mode, VMOP_STACKS_CFI);
	assert_int_equal(chosen.is.max_frames, 100); /* user frames are not the kernel's */
	assert_non_null(strstr(chosen.note, "at most 20 frames"));
	assert_non_null(strstr(chosen.note, "kernel.perf_event_max_stack"));
	vmop_perf_stacks_deinit(&chosen);
	refuse(user_copies, EINVAL);
	limited("20", &chosen);
	assert_int_equal(chosen.is.mode, VMOP_STACKS_FP);
	assert_int_equal(chosen.is.max_frames, 20);
	vmop_perf_stacks_deinit(&chosen);
	limited("127", &chosen);
	assert_int_equal(chosen.chain_frames, 100);
	vmop_perf_stacks_deinit(&chosen);
	refuse(NULL, 0);
	limited("", &chosen);
	assert_int_equal(chosen.chain_frames, 100);
	assert_null(chosen.note);
	vmop_perf_stacks_deinit(&chosen);
}

/* A PMU's event gets two counters where there is KVM: the guests' half has no stack. */
static void guests_have_a_counter_of_their_own(void **state)
{
	(void)state;
	char tree[] = "/tmp/vmop-stacks-XXXXXX", command[128];
	assert_non_null(mkdtemp(tree));
	snprintf(command, sizeof(command), "mkdir %s/dev", tree);
	assert_int_equal(system(command), 0);
	stacks = (struct vmop_stack_options)CFI;
	online = "0";
	root = tree;
	vmop_source_close(must_capture("cycles", VMOP_STACKS_CFI, NULL));
	assert_int_equal(layer.n_hardware, 1);
	snprintf(command, sizeof(command), "touch %s/dev/kvm", tree);
	assert_int_equal(system(command), 0);
	refuse(NULL, 0);
	vmop_source_close(must_capture("cycles", VMOP_STACKS_CFI, NULL));
	assert_int_equal(layer.n_hardware, 2);
	assert_int_equal(layer.n_guest_only, 1);
	assert_true(layer.last_host_only.sample_type & PERF_SAMPLE_STACK_USER);
	assert_true(layer.last_hardware.exclude_host);
	assert_false(layer.last_hardware.sample_type & VMOP_PERF_SAMPLE_STACKS);
	refuse(NULL, 0); /* too few counters: the decoder drops guests' stacks */
	layer.counters = 1;
	vmop_source_close(must_capture("cycles", VMOP_STACKS_CFI, NULL));
	assert_int_equal(layer.n_hardware, 1);
	assert_true(layer.last_hardware.sample_type & PERF_SAMPLE_STACK_USER);
	root = NULL;
	snprintf(command, sizeof(command), "rm -r %s", tree);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_mode_has_its_attributes, reset),
		cmocka_unit_test_setup(the_largest_copy_is_taken, reset),
		cmocka_unit_test_setup(refusals_lead_one_step_down, reset),
		cmocka_unit_test_setup(a_pmu_that_refuses_stacks_samples_without_them, reset),
		cmocka_unit_test_setup(other_refusals_leave_the_stacks, reset),
		cmocka_unit_test_setup(a_group_without_stacks_stays_a_group, reset),
		cmocka_unit_test_setup(permission_is_no_reason_for_a_substitute, reset),
		cmocka_unit_test_setup(a_request_for_later_kernels_becomes_cfi, reset),
		cmocka_unit_test_setup(many_copies_prefer_bpf, reset),
		cmocka_unit_test_setup(the_kernels_limit_of_frames_is_kept, reset),
		cmocka_unit_test_setup(guests_have_a_counter_of_their_own, reset),
	};
	return cmocka_run_group_tests(tests, may_sample, NULL);
}
