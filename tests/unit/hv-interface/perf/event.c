// SPDX-License-Identifier: GPL-2.0-or-later
#include "config.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/perf/event.h"
#include "hv-interface/perf/name.h"

static struct vmop_error *resolve(const char *text, struct vmop_perf_event *ret)
{
	struct vmop_event_request request;
	struct vmop_error *err = vmop_event_request_parse(text, &request);
	if (err)
		return err;
	err = vmop_perf_event_resolve(&request, "", ret);
	vmop_event_request_deinit(&request);
	return err;
}

static struct vmop_perf_event resolved(const char *text)
{
	struct vmop_perf_event event;
	struct vmop_error *err = resolve(text, &event);
	if (err)
		fail_msg("%s", err->message);
	return event;
}

static void names(void **state)
{
	(void)state;
	enum { CACHE = PERF_TYPE_HW_CACHE };
	static const struct {
		const char *text, *name;
		enum vmop_perf_kind kind;
		uint32_t type;
		uint64_t config;
		bool counts_cycles;
	} table[] = {
		{"default", "cycles", VMOP_PERF_HARDWARE, PERF_TYPE_HARDWARE, 0, true},
		{"cpu_cycles", "cpu_cycles", VMOP_PERF_HARDWARE, PERF_TYPE_HARDWARE, 0, true},
		{"Instructions", "Instructions", VMOP_PERF_HARDWARE, PERF_TYPE_HARDWARE, 1, false},
		{"llc-misses", "llc-misses", VMOP_PERF_HARDWARE, PERF_TYPE_HARDWARE, 3, false},
		{"cpu-clock", "cpu-clock", VMOP_PERF_CLOCK, PERF_TYPE_SOFTWARE, 0, false},
		{"page-faults", "page-faults", VMOP_PERF_SOFTWARE, PERF_TYPE_SOFTWARE, 2, false},
		{"L1-dcache-load-misses", "L1-dcache-load-misses", VMOP_PERF_HARDWARE, CACHE,
		 0x10000, false},
		{"LLC-loads", "LLC-loads", VMOP_PERF_HARDWARE, CACHE, 0x2, false},
		{"dTLB-store-misses", "dTLB-store-misses", VMOP_PERF_HARDWARE, CACHE, 0x10103,
		 false},
		{"iTLB-misses", "iTLB-misses", VMOP_PERF_HARDWARE, CACHE, 0x10004, false},
		{"r1a2B", "r1a2B", VMOP_PERF_HARDWARE, PERF_TYPE_RAW, 0x1a2b, false},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct vmop_perf_event event = resolved(table[i].text);
		assert_string_equal(event.name, table[i].name);
		assert_int_equal(event.kind, table[i].kind);
		assert_int_equal(event.attr.type, table[i].type);
		assert_int_equal(event.attr.config, table[i].config);
		assert_int_equal(event.counts_cycles, table[i].counts_cycles);
		assert_null(event.note);
		vmop_perf_event_deinit(&event);
	}
}

static void counts(void **state)
{
	(void)state;
	struct vmop_perf_event event = resolved("cycles:100003");
	assert_int_equal(event.attr.freq, 0);
	assert_int_equal(event.attr.sample_period, 100003);
	vmop_perf_event_deinit(&event);
	event = resolved("cycles:50Hz");
	assert_int_equal(event.attr.freq, 1);
	assert_int_equal(event.attr.sample_freq, 50);
	vmop_perf_event_deinit(&event);
	event = resolved("cpu-clock:50Hz");
	assert_int_equal(event.attr.freq, 0);
	assert_int_equal(event.attr.sample_period, 20000000);
	vmop_perf_event_deinit(&event);
	event = resolved("page-faults:1");
	assert_int_equal(event.attr.sample_period, 1);
	vmop_perf_event_deinit(&event);
}

static void modes(void **state)
{
	(void)state;
	struct vmop_perf_event event = resolved("cycles:::1:0:0:1");
	assert_true(event.attr.exclude_user && !event.attr.exclude_kernel);
	assert_true(event.attr.exclude_host && !event.attr.exclude_guest);
	assert_int_equal(vmop_perf_event_wanted_classes(&event),
			 VMOP_PERF_ALL_CLASSES | VMOP_PERF_GUEST_ONLY |
				 VMOP_PERF_BY_PMU); /* a PMU counts it */
	assert_null(vmop_perf_event_become_clock(&event));
	assert_string_equal(event.name, "cpu-clock");
	assert_false(event.attr.exclude_host || event.attr.exclude_guest);
	assert_int_equal(vmop_perf_event_wanted_classes(&event), 8); /* a guest's kernel */
	vmop_perf_event_deinit(&event);
	event = resolved("cpu-clock:::0:1");
	/* "No kernel" would drop all of a guest's samples. */
	assert_false(event.attr.exclude_kernel);
	assert_int_equal(vmop_perf_event_wanted_classes(&event), 1 | 4);
	vmop_perf_event_deinit(&event);
	event = resolved("cpu-clock:::0:1:1:0");
	assert_true(event.attr.exclude_kernel);
	vmop_perf_event_deinit(&event);
}

/* opcontrol's names that no libpfm4 PMU has here. If libpfm4 has one, it takes precedence. */
static void names_of_opcontrol(void **state)
{
	(void)state;
	static const char *const table[][2] = {
		{"llc_refs:6000:0x4f", "cache-references"},
		{"LLC_MISSES:6000:0x41:1:1", NULL}, /* also a name of perf's */
		{"DTLB_MISSES:500:0x1", NULL},	    /* likewise */
		{"DTLB_STORE_MISSES", NULL},
		{"RETIRED_INSTRUCTIONS", "instructions"},
		{"DATA_CACHE_MISSES", "L1-dcache-load-misses"},
		{"br_miss:500:0", "branch-misses"},
		{"BR_MISS_PRED_RETIRED", "branch-misses"},
		{"CPU_CLK_UNHALTED:100000:0:1:1", NULL}, /* cycles, or libpfm4's own */
		{"INST_RETIRED:100000", NULL},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct vmop_perf_event event = resolved(table[i][0]);
		assert_int_equal(event.kind, VMOP_PERF_HARDWARE);
		if (table[i][1]) {
			assert_string_equal(event.name, table[i][1]);
			assert_non_null(strstr(event.note, "stands for "));
		}
		vmop_perf_event_deinit(&event);
	}
}

static void assert_refused(const char *text, const char *words)
{
	struct vmop_perf_event event;
	struct vmop_error *err = resolve(text, &event);
	if (!err)
		fail_msg("'%s' was accepted", text);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	if (!strstr(err->message, words))
		fail_msg("'%s' lacks '%s'", err->message, words);
	vmop_error_destroy(err);
}

static void what_is_refused(void **state)
{
	(void)state;
	static const struct {
		const char *text, *words;
	} table[] = {
		{"cylces", "near it: cycles"},
		{"no-such-event-anywhere", "no event 'no-such-event-anywhere'; others are"},
		{"rxyz", "no event 'rxyz'"},
		{"r0x12", "no event 'r0x12'"},
		{"r11223344556677889", "no event"},
		{"cycles:10", "a count of 10 is too low, the lowest is 6000"},
		{"r1:499", "the lowest is 500"},
		{"cpu-clock:9999", "the lowest is"},
		{"cpu-clock:4000000000Hz", "kernel.perf_event_max_sample_rate"},
		{"cycles:4000000000Hz", "kernel.perf_event_max_sample_rate"},
		{"default:100003", "takes a frequency"},
		{"DTLB_MISSES:500:0x7", "has no unit masks, so not '0x7'"},
		{"INST_RETIRED:5999", "the lowest is 6000"},
		{"LLC_MISSES:499", "the lowest is 500"},
		{"cycles:6000:0x1", "'cycles' has no unit masks, so not '0x1'"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_refused(table[i].text, table[i].words);
}

static void nearness(void **state)
{
	(void)state;
	assert_int_equal(vmop_perf_name_distance("cycles", "cycles"), 0);
	assert_int_equal(vmop_perf_name_distance("CPU_clock", "cpu-clock"), 0);
	assert_int_equal(vmop_perf_name_distance("cycle", "cycles"), 1);
	assert_int_equal(vmop_perf_name_distance("cylces", "cycles"), 2);
	assert_int_equal(vmop_perf_name_distance("", "abc"), 3);
	assert_int_equal(vmop_perf_name_distance("kitten", "sitting"), 3);
}

/*
 * Choose a CPU of libpfm4's, whatever the machine is, before libpfm4's first use. For each
 * architecture it supports only that architecture's CPUs.
 */
#if defined(HAVE_PFM) && defined(__aarch64__)
#define FORCED_PMU "arm_ac57"
static void names_of_libpfm4(void **state)
{
	(void)state;
	struct vmop_perf_event event = resolved("INST_RETIRED:100003");
	assert_int_equal(event.attr.type, PERF_TYPE_RAW);
	assert_int_equal(event.attr.config & 0xffff, 0x08);
	assert_string_equal(event.name, "INST_RETIRED");
	vmop_perf_event_deinit(&event);
	event = resolved("arm_ac57::BRANCH_MISPRED:100003::1:0");
	assert_int_equal(event.attr.config & 0xffff, 0x10);
	assert_true(event.attr.exclude_user);
	vmop_perf_event_deinit(&event);
	assert_refused("INST_RETIRED:100003:ANY_P", "has no unit masks, so not 'ANY_P'");
	assert_refused("INST_RETIRD", "near it: INST_RETIRED");
}
#elif defined(HAVE_PFM)
#define FORCED_PMU "skl"
static void names_of_libpfm4(void **state)
{
	(void)state;
	struct vmop_perf_event event = resolved("INST_RETIRED:100003:ANY_P");
	assert_int_equal(event.attr.type, PERF_TYPE_RAW);
	assert_int_equal(event.attr.config & 0xffff, 0x00c0);
	assert_string_equal(event.name, "INST_RETIRED:ANY_P");
	vmop_perf_event_deinit(&event);
	event = resolved("LONGEST_LAT_CACHE:100003:0x41"); /* as in opcontrol */
	assert_int_equal(event.attr.config & 0xffff, 0x412e);
	vmop_perf_event_deinit(&event);
	event = resolved("skl::BR_INST_RETIRED:100003:ALL_BRANCHES:1:0");
	assert_int_equal(event.attr.config & 0xff, 0xc4);
	assert_true(event.attr.exclude_user);
	vmop_perf_event_deinit(&event);
	static const char *const bad[][2] = {
		{"INST_RETIRED:100003:NONSENSE", "no unit mask 'NONSENSE'; it has:"},
		{"LONGEST_LAT_CACHE:100003:0x99", "no unit mask '0x99'; it has:"},
		{"UOPS_DISPATCHED_PORT:100003", "needs a unit mask, one of:"},
		{"INST_RETIRD", "near it: INST_RETIRED"},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused(bad[i][0], bad[i][1]);
}
#endif

int main(void)
{
#ifdef HAVE_PFM
	setenv("LIBPFM_FORCE_PMU", FORCED_PMU, 1);
#endif
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(counts),
		cmocka_unit_test(modes),
		cmocka_unit_test(names_of_opcontrol),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(nearness),
#ifdef HAVE_PFM
		cmocka_unit_test(names_of_libpfm4),
#endif
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
