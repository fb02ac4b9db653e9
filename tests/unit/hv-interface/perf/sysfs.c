// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events by sysfs and tracefs, here a made-up tree: hybrid CPUs, PMUs beside the cores, terms and
 * fields, tracepoints, the list of all events.
 */
#include <cmocka.h>
#include <sys/stat.h>

#include "hv-interface/event-list.h"
#include "hv-interface/perf/pfm.h"
#include "tests/unit/hv-interface/layer.h"

/* ---- a made-up /sys ---------------------------------------------------------- */

static char tree[] = "/tmp/vmop-sys.XXXXXX";

static void put(const char *path, const char *text)
{
	char command[512];
	assert_true(snprintf(command, sizeof(command), "%s/%s", tree, path) < 512);
	for (char *slash = command + strlen(tree) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(command, 0755);
		*slash = '/';
	}
	FILE *file = fopen(command, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

#define DEVICES "sys/bus/event_source/devices/"

/* CPU 0 has one type of core, CPU 1 the other. */
static int make_hybrid(void **state)
{
	reset(state);
	strcpy(tree, "/tmp/vmop-sys.XXXXXX");
	assert_non_null(mkdtemp(tree));
	put(DEVICES "cpu_core/type", "4\n");
	put(DEVICES "cpu_core/cpus", "0\n");
	put(DEVICES "cpu_core/format/event", "config:0-7\n");
	put(DEVICES "cpu_core/format/umask", "config:8-15,40-47\n");
	put(DEVICES "cpu_core/format/any", "config:21\n");
	put(DEVICES "cpu_core/format/ldlat", "config1:0-15\n");
	put(DEVICES "cpu_core/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
	put(DEVICES "cpu_core/events/mem-loads.scale", "1\n");
	put(DEVICES "cpu_core/events/circle", "circle\n");
	put(DEVICES "cpu_atom/type", "10\n");
	put(DEVICES "cpu_atom/cpus", "1-7\n");
	put(DEVICES "ibs_op/type", "11\n");
	put(DEVICES "ibs_op/format/cnt_ctl", "config:19\n");
	put(DEVICES "uncore/type", "12\n");
	put(DEVICES "uncore/cpumask", "1\n");
	put(DEVICES "far/type", "13\n");
	put(DEVICES "far/cpumask", "7000\n");
	put(DEVICES "arm_spe_0/type", "14\n");
	put("sys/kernel/tracing/events/sched/sched_switch/id", "316\n");
	put("sys/kernel/tracing/events/9p/9p_client_req/id", "317\n");
	put("sys/kernel/tracing/events/ftrace/print/format", "\n");
	root = tree;
	return 0;
}

static int remove_tree(void **state)
{
	char command[64];
	(void)state;
	root = NULL;
	snprintf(command, sizeof(command), "rm -rf %s", tree);
	return system(command);
}

static void assert_on(unsigned cpu, uint32_t type, uint64_t config)
{
	assert_int_equal(layer.types_on[cpu], type);
	assert_int_equal(layer.configs_on[cpu], config);
}

static void a_hybrid_machine_counts_on_each_of_its_pmus(void **state)
{
	(void)state;
	if (n_cpus() < 2)
		return;
	online = "0-1";
	struct vmop_source *source = must_open("instructions");
	assert_on(0, PERF_TYPE_HARDWARE, 1 | UINT64_C(4) << 32);
	assert_on(1, PERF_TYPE_HARDWARE, 1 | UINT64_C(10) << 32);
	vmop_source_close(source);
	source = must_open("LLC-loads");
	assert_on(1, PERF_TYPE_HW_CACHE, 2 | UINT64_C(10) << 32);
	vmop_source_close(source);
	source = must_open("r1c2");
	assert_on(0, 4, 0x1c2);
	assert_on(1, 10, 0x1c2);
	vmop_source_close(source);
	refuse(all_hardware, ENOENT); /* the replacing clock is on all CPUs */
	source = must_open("cycles");
	assert_event(source, 0, "cpu-clock", "no cycles");
	assert_null(vmop_source_start(source));
	assert_null(vmop_source_stop(source));
	vmop_source_close(source);
}

static bool cpu_1_lacks(const struct perf_event_attr *attr, int cpu)
{
	return is_hardware(attr) && (cpu == 1 || (attr->config >> 32 == 10 && cpu < 0));
}

static bool cpu_0_lacks(const struct perf_event_attr *attr, int cpu)
{
	return is_hardware(attr) && cpu == 0;
}

static void an_event_that_one_core_type_lacks_is_counted_on_the_others(void **state)
{
	(void)state;
	if (n_cpus() < 2)
		return;
	online = "0-1";
	refuse(cpu_1_lacks, ENOENT);
	struct vmop_source *source = must_open("LLC-loads cpu-clock");
	assert_event(source, 0, "cpu_core/LLC-loads/", "CPUs of cpu_atom (7 of them): that PMU");
	assert_string_equal(vmop_source_event(source, 0)->asked, "LLC-loads");
	assert_on(0, PERF_TYPE_HW_CACHE, 2 | UINT64_C(4) << 32);
	assert_on(1, 0, 0);
	assert_null(vmop_source_start(source));
	assert_null(vmop_source_stop(source));
	vmop_source_close(source);
	source = must_open("BR_MISS_PRED_RETIRED:::0");
	assert_event(source, 0, "cpu_core/branch-misses/:u",
		     "stands for BR_MISS_PRED_RETIRED; not counted");
	assert_string_equal(vmop_source_event(source, 0)->asked, "BR_MISS_PRED_RETIRED");
	vmop_source_close(source);
	source = must_open("{cycles:p instructions}"); /* the clock replaces cycles on all CPUs */
	assert_event(source, 0, "cpu-clock", "no cycles");
	assert_event(source, 1, "cpu_core/instructions/", "cpu_atom");
	vmop_source_close(source);
	refuse(cpu_1_lacks, EBUSY); /* the large core's PMU has it */
	must_fail("LLC-loads", VMOP_ERROR_CANT, "the PMU is in use");
	refuse(all_hardware, ENOENT);
	must_fail("LLC-loads", VMOP_ERROR_CANT, "no PMU that counts it");
}

static bool cpu_0_lacks_caches(const struct perf_event_attr *attr, int cpu)
{
	return attr->type == PERF_TYPE_HW_CACHE && cpu == 0;
}

/* arm64: the kernel goes by the CPU; one type of cores needs no special treatment. */
static void arm64_core_pmus_are_distinguished_by_cpu(void **state)
{
	(void)state;
	if (n_cpus() < 2)
		return;
	remove_tree(state);
	strcpy(tree, "/tmp/vmop-sys.XXXXXX");
	assert_non_null(mkdtemp(tree));
	root = tree;
	online = "0-1";
	put(DEVICES "armv8_cortex_a53/type", "8\n");
	put(DEVICES "armv8_cortex_a53/cpus", "0\n");
	refuse(cpu_0_lacks, ENOENT);
	must_fail("LLC-loads", VMOP_ERROR_CANT, "no PMU that counts it");
	put(DEVICES "armv8_cortex_a72/type", "9\n");
	put(DEVICES "armv8_cortex_a72/cpus", "1\n");
	put(DEVICES "arm_dsu_0/type", "10\n");
	put(DEVICES "arm_dsu_0/cpumask", "0\n");
	refuse(cpu_0_lacks, ENOENT);
	struct vmop_source *source = must_open("LLC-loads");
	assert_event(source, 0, "armv8_cortex_a72/LLC-loads/", "CPUs of armv8_cortex_a53 (1 of");
	assert_on(1, PERF_TYPE_HW_CACHE, 2);
	vmop_source_close(source);
	source = must_open("r1b");
	assert_event(source, 0, "armv8_cortex_a72/r1b/", "armv8_cortex_a53");
	assert_on(1, PERF_TYPE_RAW, 0x1b);
	vmop_source_close(source);
	refuse(NULL, 0);
	source = must_open("cycles:pp:1000003"); /* ignored by the kernel, not refused */
	assert_event(source, 0, "cycles", "this PMU has no precise levels");
	assert_int_equal(layer.last_hardware.precise_ip, 0);
	vmop_source_close(source);
	is_arm64_kvm = true; /* an event that the first CPU lacks is still split on the others */
	refuse(cpu_0_lacks_caches, ENOENT);
	source = must_open("cycles:1000003 LLC-loads:10007");
	assert_event(source, 0, "cycles", NULL);
	assert_event(source, 1, "armv8_cortex_a72/LLC-loads/", "armv8_cortex_a53");
	vmop_source_close(source);
	is_arm64_kvm = false;
	refuse(NULL, 0);
	source = must_open("instructions");
	assert_event(source, 0, "instructions", NULL);
	assert_on(0, PERF_TYPE_HARDWARE, 1);
	assert_on(1, PERF_TYPE_HARDWARE, 1);
	vmop_source_close(source);
}

static void a_pmu_is_opened_only_on_its_own_cpus(void **state)
{
	(void)state;
	if (n_cpus() < 2)
		return;
	online = "0-1";
	struct vmop_source *source =
		must_open("cpu_core/event=0x3c,umask=0x1fe,any/:100003 cpu-clock");
	assert_on(0, 4, 0x3c | 0xfe << 8 | UINT64_C(1) << 40 | 1 << 21);
	assert_on(1, 0, 0);
	assert_null(vmop_source_start(source));
	assert_null(vmop_source_check_cpus(source));
	assert_int_equal(vmop_source_event(source, 0)->period_events, 100003);
	assert_null(vmop_source_stop(source));
	vmop_source_close(source);
	reset(NULL);
	online = "0-1";
	source = must_open("cpu_core/mem-loads/:p:2000");
	assert_on(0, 4, 0x1cd);
	assert_int_equal(layer.last_hardware.config1, 3);
	assert_int_equal(layer.last_hardware.precise_ip, 1);
	vmop_source_close(source);
	source = must_open("ibs_op/cnt_ctl=1/");
	assert_on(0, 11, 1 << 19);
	assert_on(1, 11, 1 << 19);
	vmop_source_close(source);
	source = must_open("ibs_op//");
	assert_on(1, 11, 0);
	vmop_source_close(source);
	source = must_open("uncore/config=0x10,config1=7/");
	assert_on(1, 12, 0x10);
	assert_int_equal(layer.last_hardware.config1, 7);
	vmop_source_close(source);
	must_fail("far/config=1/", VMOP_ERROR_CANT, "its PMU has no CPU that is online");
}

static void refusals_of_pmus(void **state)
{
	(void)state;
	static const char *const table[][2] = {
		{"nopmu/config=1/", "no PMU 'nopmu'; it has: arm_spe_0, cpu_atom, cpu_core, far"},
		{"cpu_core/nonsense/",
		 "neither a field nor an event 'nonsense'; fields: config, "
		 "config1, config2, any, event, ldlat, umask; events: circle"},
		{"cpu_core/event=x/", "'x' of 'event=x' is not a number"},
		{"cpu_core/event=0x100/", "the value of 'event=0x100' does not fit its field "
					  "(config:0-7)"},
		{"cpu_core/circle/", "neither a field nor an event 'circle'"},
		{"cpu_core/event=1", "it is PMU/TERM,.../"},
		{"cpu_core/../", "neither a field nor an event '..'"},
		{"cpu_core/event=1/:499", "the lowest is 500"},
		{"cpu_core/mem-loads/::0x1", "has no unit masks"},
		{"arm_spe_0/config=1/", "writes traces (AUX), not samples"},
		{"arm_spe_0//", "vmop does not decode traces"},
		{"arm_spe_0", "PMU arm_spe_0 writes traces (AUX)"},
		{"uncore", "'uncore' is a PMU: name an event of it, as in uncore/event=0x11/"},
		{"sched:no_such", "there is no such tracepoint, and 'no_such' is not a count"},
		{"cycles:often", "'often' is not a count"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		must_fail(table[i][0], VMOP_ERROR_USAGE, table[i][1]);
}

static void tracepoints_go_by_their_number(void **state)
{
	(void)state;
	struct vmop_source *source = must_open("sched:sched_switch:7");
	assert_int_equal(layer.last_hardware.type, PERF_TYPE_TRACEPOINT);
	assert_int_equal(layer.last_hardware.config, 316);
	assert_event(source, 0, "sched:sched_switch", NULL);
	assert_int_equal(vmop_source_event(source, 0)->period_events, 7);
	vmop_source_close(source);
	source = must_open("9p:9p_client_req:3");
	assert_int_equal(layer.last_hardware.config, 317);
	assert_event(source, 0, "9p:9p_client_req", NULL);
	vmop_source_close(source);
	must_fail("9p:9p_no_such", VMOP_ERROR_USAGE, "there is no such tracepoint");
	must_fail("cycles:100_000", VMOP_ERROR_USAGE, "'100_000' is not a count");
	refuse(all_hardware, EACCES);
	must_fail("sched:sched_switch", VMOP_ERROR_CANT, "kernel.perf_event_paranoid to -1 (it is");
	put("sys/kernel/tracing/events/sched/sched_switch/id", "many\n");
	must_fail("sched:sched_switch", VMOP_ERROR_CORRUPT, "'many' is not a number");
	char command[128];
	snprintf(command, sizeof(command), "rm -r %s/sys/kernel", tree);
	assert_int_equal(system(command), 0);
	must_fail("sched:sched_switch", VMOP_ERROR_CANT, "mount -t tracefs");
}

/* ---- the list --------------------------------------------------------------------- */

struct listed {
	unsigned n[VMOP_N_EVENT_GROUPS], n_available[VMOP_N_EVENT_GROUPS];
	const char *wanted; /* name of the entry to keep */
	struct vmop_event_entry found;
};

static void note_entry(void *arg, const struct vmop_event_entry *entry)
{
	struct listed *listed = arg;
	assert_in_range(entry->group, 0, VMOP_N_EVENT_GROUPS - 1);
	assert_true(entry->lowest_count > 0 && entry->unit != NULL);
	if (entry->unit_mask)
		return;
	if (entry->group == VMOP_EVENTS_LIBPFM4 && entry->is_available) {
		struct vmop_pfm_event event;
		struct vmop_error *err = vmop_pfm_encode(entry->name, NULL, &event);
		if (err && err->code != VMOP_ERROR_USAGE)
			fail_msg("is in the list: %s", err->message);
		vmop_error_destroy(err);
	}
	listed->n[entry->group]++;
	listed->n_available[entry->group] += entry->is_available;
	if (!strcmp(entry->name, listed->wanted))
		listed->found = *entry;
}

static struct listed list_with(const char *wanted)
{
	struct listed listed = {.wanted = wanted};
	struct vmop_error *no_tracepoints;
	assert_null(vmop_event_list(root, note_entry, &listed, &no_tracepoints));
	assert_null(no_tracepoints);
	return listed;
}

static void the_list_tells_what_the_machine_has(void **state)
{
	(void)state;
	struct listed listed = list_with("cpu_core/mem-loads/");
	assert_true(listed.n[VMOP_EVENTS_SOFTWARE] >= 12);
	assert_int_equal(listed.n_available[VMOP_EVENTS_SOFTWARE], listed.n[VMOP_EVENTS_SOFTWARE]);
	assert_int_equal(listed.n_available[VMOP_EVENTS_HARDWARE], listed.n[VMOP_EVENTS_HARDWARE]);
	/* ftrace's own records have no number */
	assert_int_equal(listed.n[VMOP_EVENTS_TRACEPOINT], 2);
	/* Five PMUs without the tracer, and one event; the other event is impossible. */
	assert_int_equal(listed.n[VMOP_EVENTS_PMU], 6);
	assert_true(listed.found.is_available);
	assert_string_equal(listed.found.unit, "events");
	assert_int_equal(listed.found.lowest_count, 500);
	assert_int_equal(list_with("instructions").found.lowest_count, 6000);
	assert_string_equal(list_with("cpu-clock").found.unit, "ns");
	assert_true(list_with("LLC_REFS").found.is_available);
	refuse(all_hardware, ENOENT);
	listed = list_with("cycles");
	assert_false(listed.found.is_available);
	assert_int_equal(listed.n_available[VMOP_EVENTS_HARDWARE], 0);
	assert_int_equal(listed.n_available[VMOP_EVENTS_PMU], 0);
	assert_int_equal(listed.n_available[VMOP_EVENTS_SOFTWARE], listed.n[VMOP_EVENTS_SOFTWARE]);
	if (n_cpus() > 1) { /* one of two types of cores is enough */
		refuse(cpu_1_lacks, ENOENT);
		assert_true(list_with("LLC-loads").found.is_available);
	}
	refuse(all, EACCES); /* no permission: it may exist */
	assert_true(list_with("cycles").found.is_available);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_hybrid_machine_counts_on_each_of_its_pmus,
						make_hybrid, remove_tree),
		cmocka_unit_test_setup_teardown(
			an_event_that_one_core_type_lacks_is_counted_on_the_others, make_hybrid,
			remove_tree),
		cmocka_unit_test_setup_teardown(arm64_core_pmus_are_distinguished_by_cpu,
						make_hybrid, remove_tree),
		cmocka_unit_test_setup_teardown(a_pmu_is_opened_only_on_its_own_cpus, make_hybrid,
						remove_tree),
		cmocka_unit_test_setup_teardown(refusals_of_pmus, make_hybrid, remove_tree),
		cmocka_unit_test_setup_teardown(tracepoints_go_by_their_number, make_hybrid,
						remove_tree),
		cmocka_unit_test_setup_teardown(the_list_tells_what_the_machine_has, make_hybrid,
						remove_tree),
	};
	return cmocka_run_group_tests(tests, may_sample, NULL);
}
