// SPDX-License-Identifier: GPL-2.0-or-later
/* Test the rows of queries: their samples, sums and percents. */
#include "opreport/query/query.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "opreport/arrange/rows.h"
#include "tests/unit/ok.h"

static const uint64_t second_ns = 1000000000;
static char dir[] = "/tmp/vmop-opreport-XXXXXX";
static char path[64];
static const struct vmop_ratios no_ratios;

enum { CYCLES, MISSES, MISSES_READ };
enum { HOST, G1, G2 };
enum { TASK_IDLE = 1, TASK_A, TASK_A_THREAD, TASK_A2, TASK_QEMU };
enum { KERNEL = 1, PROGRAM, PROGRAM_MOVED, LIBRARY, G1_KERNEL, NO_MAPS };

static void put_facts(struct vmop_db *db)
{
	static const struct vmop_db_event events[] = {
		{{CYCLES}, "cycles", "perf", "events", 1000, 0, NULL},
		{{MISSES}, "cache:miss", "perf", "events", 100, 0, NULL},
		{{MISSES_READ}, "cache:read", "perf", "events", 100, 0, NULL},
	};
	static const struct vmop_db_domain domains[] = {
		{{HOST}, VMOP_DOMAIN_HOST, "host", NULL, 0, NULL, 1, 0},
		{{G1}, VMOP_DOMAIN_PASSIVE, "g1", "11111111-1111", 900, "qemu", 1, 0},
		{{G2}, VMOP_DOMAIN_OPAQUE, "g2", NULL, 901, "qemu", 1, 0},
	};
	static const struct vmop_db_task tasks[] = {
		{.id = {TASK_IDLE}, .comm = "swapper"},
		{.id = {TASK_A},
		 .pid = 10,
		 .comm = "a",
		 .exe_image = {PROGRAM},
		 .cgroup = "/machine/one"},
		{.id = {TASK_A_THREAD},
		 .pid = 10,
		 .tid = 11,
		 .comm = "a",
		 .exe_image = {PROGRAM},
		 .cgroup = "/machine/one"},
		{.id = {TASK_A2},
		 .pid = 20,
		 .comm = "a",
		 .exe_image = {PROGRAM},
		 .cgroup = "/machine/two"},
		{.id = {TASK_QEMU}, .pid = 900, .comm = "qemu"},
	};
	static const struct vmop_db_image images[] = {
		{.id = {KERNEL},
		 .kind = VMOP_IMAGE_KERNEL,
		 .name = "[kernel]",
		 .base = 0xffffffff81000000},
		{.id = {PROGRAM},
		 .kind = VMOP_IMAGE_FILE,
		 .name = "/opt/a",
		 .build_id_len_bytes = 2,
		 .build_id = {1, 2}},
		{.id = {PROGRAM_MOVED},
		 .kind = VMOP_IMAGE_FILE,
		 .name = "/opt/old/a",
		 .build_id_len_bytes = 2,
		 .build_id = {1, 2}},
		{.id = {LIBRARY}, .kind = VMOP_IMAGE_FILE, .name = "/opt/lib/libx.so.1"},
		{.id = {G1_KERNEL},
		 .kind = VMOP_IMAGE_GUEST_KERNEL,
		 .domain = {G1},
		 .name = "[guest g1 kernel]",
		 .base = 0xffffffff90000000},
		{.id = {NO_MAPS}, .kind = VMOP_IMAGE_NONE, .name = "[no-maps]"},
	};
	static const struct vmop_symbol kernel[] = {{0x100, 0x100, "schedule", 't'},
						    {0x200, 0x80, "_ZN3foo3barEi", 'T'}};
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		assert_ok(vmop_db_put_event(db, &events[i]));
	for (size_t i = 0; i < sizeof(domains) / sizeof(*domains); i++)
		assert_ok(vmop_db_put_domain(db, &domains[i]));
	for (size_t i = 0; i < sizeof(images) / sizeof(*images); i++)
		assert_ok(vmop_db_put_image(db, &images[i]));
	for (size_t i = 0; i < sizeof(tasks) / sizeof(*tasks); i++)
		assert_ok(vmop_db_put_task(db, &tasks[i]));
	assert_ok(vmop_db_put_symbols(db, (struct vmop_image_id){KERNEL}, kernel, 2));
	assert_ok(vmop_db_put_info(db, "start_ns", "1000000000"));
}

static void put(struct vmop_db *db, struct vmop_db_chunk_key key, uint64_t offset, uint64_t samples,
		uint64_t weight_events)
{
	const struct vmop_db_cell cell = {offset, samples, weight_events};
	if (key.bill == VMOP_BILL_SELF)
		key.billed = key.domain;
	assert_ok(vmop_db_put_chunk(db, &key, &cell, 1));
}

/*
 * Weights in cycles: host user 400, host kernel 100 (60 idle), g1's kernel 200, the hypervisor for
 * g1 150, g1's VMM 50, g2 (opaque) 100; 1000 in all.  A sample weighs 10, in [kernel] 20.
 */
static void put_samples(struct vmop_db *db)
{
	const struct vmop_db_chunk_key user = {
		.mode = VMOP_MODE_USER, .vcpu = -1, .cpu = 0, .task = {TASK_A}, .image = {PROGRAM}};
	const struct vmop_db_chunk_key kernel = {.mode = VMOP_MODE_KERNEL,
						 .vcpu = -1,
						 .cpu = 1,
						 .task = {TASK_IDLE},
						 .image = {KERNEL}};
	struct vmop_db_chunk_key key;
	assert_ok(vmop_db_begin_interval(db, second_ns, second_ns));
	put(db, user, 0x10, 20, 200);
	key = user, key.image.number = PROGRAM_MOVED, key.task.number = TASK_A_THREAD;
	put(db, key, 0x10, 5, 50);
	key = user, key.image.number = LIBRARY, key.task.number = TASK_A2, key.cpu = 1;
	put(db, key, 0x4, 14, 140);
	key = user, key.image.number = NO_MAPS, key.task.number = 0;
	put(db, key, 0x9, 1, 10);
	put(db, kernel, 0x110, 3, 60);
	assert_ok(vmop_db_commit(db));
	assert_ok(vmop_db_begin_interval(db, 2 * second_ns, second_ns));
	key = kernel, key.task.number = TASK_A;
	put(db, key, 0x120, 1, 20);
	put(db, key, 0x210, 1, 20);
	key = kernel, key.task.number = TASK_QEMU, key.mode = VMOP_MODE_HYPERVISOR,
	key.bill = VMOP_BILL_HYPERVISOR, key.billed.number = G1, key.vcpu = 0;
	put(db, key, 0x300, 15, 150);
	key = kernel, key.task.number = TASK_QEMU, key.bill = VMOP_BILL_VMM, key.billed.number = G1;
	put(db, key, 0x110, 5, 50);
	key = kernel, key.domain.number = G1, key.task.number = 0, key.image.number = G1_KERNEL,
	key.vcpu = 0, key.certainty = VMOP_CERTAIN_LIKELY;
	put(db, key, 0x5, 20, 200);
	key = kernel, key.domain.number = G2, key.task.number = 0, key.mode = VMOP_MODE_UNKNOWN,
	key.image.number = NO_MAPS;
	put(db, key, 0, 10, 100);
	key = user, key.event.number = MISSES;
	put(db, key, 0x10, 1, 100);
	key = user, key.event.number = MISSES_READ;
	put(db, key, 0x10, 2, 200);
	key.image.number = LIBRARY;
	put(db, key, 0x4, 6, 600);
	assert_ok(vmop_db_commit(db));
}

static int make_session(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s.vmop", dir);
	struct vmop_db *db;
	assert_ok(vmop_db_create(path, &db));
	put_facts(db);
	put_samples(db);
	assert_ok(vmop_db_finish(db));
	return 0;
}

static int remove_session(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

/* Run a query with the given specs.  Return its error. */
static struct vmop_error *run(const struct vmop_query *query, const char *const *specs,
			      struct vmop_result *ret)
{
	_cleanup_(vmop_spec_deinit) struct vmop_spec spec = {0};
	for (; specs && *specs; specs++)
		assert_ok(vmop_spec_parse(&spec, *specs));
	struct vmop_db *db;
	assert_ok(vmop_db_open(path, &db));
	const struct vmop_session_input session = {.name = "s", .db = db};
	struct vmop_error *err = vmop_query_run(query, &spec, &session, 1, ret);
	vmop_db_close(db);
	return err;
}

static void run_cycles(const struct vmop_query *query, const char *more, struct vmop_result *ret)
{
	const char *specs[] = {"event:cycles", more, NULL};
	assert_ok(run(query, specs, ret));
}

static const struct vmop_row *row_of_image(const struct vmop_result *result, const char *name)
{
	for (size_t i = 0; i < result->n_rows; i++) {
		if (!strcmp(vmop_row_image(result, &result->rows[i])->name, name))
			return &result->rows[i];
	}
	fail_msg("no row of %s", name);
	return NULL;
}

static uint64_t weight_of(const struct vmop_result *result, const struct vmop_row *row)
{
	return vmop_result_sum(result, row->counts, 0).weight_events;
}

static void by_image(void **state)
{
	(void)state;
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	const struct vmop_query query = {.dimensions = VMOP_BY_IMAGE};
	run_cycles(&query, NULL, &result);
	assert_int_equal(result.n_events, 1);
	assert_int_equal(result.n_rows, 5);
	assert_int_equal(result.selected[0].weight_events, 1000);
	/* the same build-id is the same image */
	assert_int_equal(weight_of(&result, row_of_image(&result, "/opt/a")), 250);
	assert_int_equal(weight_of(&result, row_of_image(&result, "[kernel]")), 300);
	assert_int_equal(weight_of(&result, row_of_image(&result, "[no-maps]")), 110);
	/* percents are of weight: 25 of 95 samples are a quarter of the cycles */
	const struct vmop_row *row = row_of_image(&result, "/opt/a");
	assert_int_equal(row->counts[0].samples, 25);
	assert_true(vmop_share_percent(row->counts[0], result.base[0]) == 25);
	assert_int_equal(result.idle.weight_events, 60);
}

static void specs_select(void **state)
{
	(void)state;
	static const struct {
		const char *spec;
		uint64_t weight_events;
	} cases[] = {
		{"domain:host", 700},
		{"domain:g1", 200},
		{"domain:11111111-*", 200},
		{"domain:g*", 300},
		{"image:a", 250},
		{"image:/opt/*", 390},
		{"libx*", 140},
		{"tgid:10", 290},
		{"tid:11", 50},
		{"task:a", 430},
		{"task:[idle]", 60},
		{"cpu:0", 260},
		{"cpu:1-3", 740},
		{"vcpu:0", 350},
		{"time:+1s", 460},
		{"time:+1s..", 540},
		{"time:@2", 540},
		{"certainty:likely", 200},
		{"certainty:exact,ambiguous", 800},
	};
	/* from totals, and from cells */
	static const unsigned dimensions[] = {VMOP_BY_IMAGE, VMOP_BY_IMAGE | VMOP_BY_SYMBOL};
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_(vmop_result_deinit) struct vmop_result result;
		const struct vmop_query query = {.dimensions = dimensions[i % 2]};
		run_cycles(&query, cases[i / 2].spec, &result);
		if (result.selected[0].weight_events != cases[i / 2].weight_events)
			fail_msg("%s: %lu", cases[i / 2].spec,
				 (unsigned long)result.selected[0].weight_events);
		assert_false(result.choice.is_everything);
	}
}

static void by_certainty(void **state)
{
	(void)state;
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	const struct vmop_query query = {.dimensions = VMOP_BY_CERTAINTY};
	run_cycles(&query, NULL, &result);
	assert_int_equal(result.n_rows, 2);
	for (size_t i = 0; i < result.n_rows; i++) {
		bool is_exact = result.rows[i].group->certainty == VMOP_CERTAIN_EXACT + 1;
		assert_int_equal(weight_of(&result, &result.rows[i]), is_exact ? 800 : 200);
	}
	assert_int_equal(result.certain[VMOP_CERTAIN_LIKELY], 20);
	assert_int_equal(result.certain[VMOP_CERTAIN_AMBIGUOUS], 0);
}

static void unknown_names(void **state)
{
	(void)state;
	static const struct {
		const char *spec, *message;
		enum vmop_error_code code;
	} cases[] = {
		{"domain:g9", "domain:g9 is not in the session; its domains: host, g1, g2",
		 VMOP_ERROR_USAGE},
		{"event:branches", "its events: cycles, cache:miss, cache:read", VMOP_ERROR_USAGE},
		{"image:nosuch", "image:nosuch", VMOP_ERROR_USAGE},
		{"task:nosuch", "its tasks: [idle], a, qemu", VMOP_ERROR_USAGE},
		{"image:nosuch*", "no images", VMOP_ERROR_NOT_FOUND},
		{"tgid:77", "no tasks", VMOP_ERROR_NOT_FOUND},
		{"cpu:7", "no samples", VMOP_ERROR_NOT_FOUND},
		{"cpu:99999", "4096", VMOP_ERROR_USAGE},
	};
	const struct vmop_query query = {.dimensions = VMOP_BY_IMAGE};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_(vmop_result_deinit) struct vmop_result result;
		const char *specs[] = {cases[i].spec, NULL};
		struct vmop_error *err = run(&query, specs, &result);
		assert_non_null(err);
		assert_int_equal(err->code, cases[i].code);
		if (!strstr(err->message, cases[i].message))
			fail_msg("%s", err->message);
		vmop_error_destroy(err);
	}
}

static uint64_t part(const struct vmop_result *result, const char *domain, enum vmop_part which)
{
	for (size_t i = 0; i < result->n_rows; i++) {
		if (!strcmp(vmop_row_domain(result, &result->rows[i])->name, domain))
			return result->rows[i].counts[which].weight_events;
	}
	return 0;
}

static void bills(void **state)
{
	(void)state;
	_cleanup_(vmop_result_deinit) struct vmop_result cpu, domain;
	struct vmop_query query = {.dimensions = VMOP_BY_DOMAIN, .by_part = true};
	run_cycles(&query, NULL, &cpu);
	assert_int_equal(part(&cpu, "host", VMOP_PART_USER), 400);
	assert_int_equal(part(&cpu, "host", VMOP_PART_KERNEL), 150);
	assert_int_equal(part(&cpu, "host", VMOP_PART_HYPERVISOR), 150);
	assert_int_equal(part(&cpu, "g1", VMOP_PART_KERNEL), 200);
	assert_int_equal(part(&cpu, "g1", VMOP_PART_HYPERVISOR), 0);
	assert_int_equal(part(&cpu, "g2", VMOP_PART_OTHER), 100);
	query.accounting = VMOP_ACCOUNTING_DOMAIN;
	run_cycles(&query, NULL, &domain);
	assert_int_equal(part(&domain, "host", VMOP_PART_KERNEL), 100);
	assert_int_equal(part(&domain, "host", VMOP_PART_HYPERVISOR), 0);
	assert_int_equal(part(&domain, "g1", VMOP_PART_KERNEL), 200);
	assert_int_equal(part(&domain, "g1", VMOP_PART_HYPERVISOR), 150);
	assert_int_equal(part(&domain, "g1", VMOP_PART_VMM), 50);
	assert_int_equal(part(&domain, "g1", VMOP_PART_USER), 0);
	/* domain: selects the domain that is billed */
	_cleanup_(vmop_result_deinit) struct vmop_result g1;
	run_cycles(&query, "domain:g1", &g1);
	assert_int_equal(g1.selected[0].weight_events, 400);
	assert_int_equal(g1.n_rows, 1);
}

static void shares_of_the_whole_session(void **state)
{
	(void)state;
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	const struct vmop_query query = {.dimensions = VMOP_BY_IMAGE, .of_whole_session = true};
	run_cycles(&query, "domain:g1", &result);
	assert_int_equal(result.base[0].weight_events, 1000);
	assert_true(vmop_share_percent(result.rows[0].counts[0], result.base[0]) == 20);
}

static void merged_tasks(void **state)
{
	(void)state;
	static const struct {
		unsigned merge;
		size_t n_rows;
	} cases[] = {{0, 6}, {VMOP_MERGE_TID, 5}, {VMOP_MERGE_TID | VMOP_MERGE_TGID, 4}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_(vmop_result_deinit) struct vmop_result result;
		const struct vmop_query query = {.dimensions = VMOP_BY_TASK,
						 .merge = cases[i].merge};
		run_cycles(&query, NULL, &result);
		assert_int_equal(result.n_rows, cases[i].n_rows);
	}
	_cleanup_(vmop_result_deinit) struct vmop_result cgroups;
	const struct vmop_query query = {.dimensions = VMOP_BY_CGROUP};
	run_cycles(&query, "task:a", &cgroups);
	assert_int_equal(cgroups.n_rows, 2);
}

static void exclusions_by_symbol(void **state)
{
	(void)state;
	_cleanup_(vmop_result_deinit) struct vmop_result all, own, busy;
	struct vmop_query query = {.dimensions = VMOP_BY_IMAGE | VMOP_BY_SYMBOL};
	run_cycles(&query, NULL, &all);
	assert_int_equal(all.idle.weight_events, 60);
	query.exclude_dependent = true;
	run_cycles(&query, NULL, &own);
	assert_int_equal(own.selected[0].weight_events, 250);
	query.exclude_dependent = false;
	query.exclude_idle = true;
	run_cycles(&query, NULL, &busy);
	assert_int_equal(busy.selected[0].weight_events, 940);
}

static void exclusions(void **state)
{
	(void)state;
	_cleanup_(vmop_result_deinit) struct vmop_result own, busy;
	struct vmop_query query = {.dimensions = VMOP_BY_IMAGE, .exclude_dependent = true};
	run_cycles(&query, NULL, &own);
	assert_int_equal(own.n_rows, 1);
	assert_int_equal(own.selected[0].weight_events, 250);
	query = (struct vmop_query){.dimensions = VMOP_BY_IMAGE, .exclude_idle = true};
	run_cycles(&query, NULL, &busy);
	assert_int_equal(busy.selected[0].weight_events, 940);
	assert_int_equal(busy.idle.samples, 0);
}

static void several_events(void **state)
{
	(void)state;
	_cleanup_(vmop_result_deinit) struct vmop_result apart, merged;
	struct vmop_query query = {.dimensions = VMOP_BY_IMAGE};
	assert_ok(run(&query, NULL, &apart));
	assert_int_equal(apart.n_events, 3);
	const struct vmop_row *row = row_of_image(&apart, "/opt/lib/libx.so.1");
	assert_int_equal(row->counts[0].weight_events, 140);
	assert_int_equal(row->counts[1].weight_events, 0);
	assert_int_equal(row->counts[2].weight_events, 600);
	assert_true(vmop_share_percent(row->counts[2], apart.base[2]) == 75);
	query.merge = VMOP_MERGE_UNITMASK;
	assert_ok(run(&query, NULL, &merged));
	assert_int_equal(merged.n_events, 2);
	row = row_of_image(&merged, "/opt/a");
	assert_int_equal(row->counts[1].weight_events, 300);
}

static void symbols(void **state)
{
	(void)state;
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	const struct vmop_query query = {.dimensions = VMOP_BY_IMAGE | VMOP_BY_SYMBOL,
					 .details = true,
					 .resolver.demangle = VMOP_DEMANGLE_FULL};
	run_cycles(&query, "image:[kernel]", &result);
	struct vmop_arrangement arrangement = {.sort = {VMOP_SORT_VMA}, .n_sort = 1};
	struct vmop_hidden hidden = {0};
	assert_ok(vmop_rows_arrange(&result, &no_ratios, &arrangement, &hidden));
	free(hidden.counts);
	assert_int_equal(result.n_rows, 3);
	struct vmop_row *none = &result.rows[0], *schedule = &result.rows[1];
	assert_string_equal(vmop_result_symbol_name(&result, none), "(no symbols)");
	assert_int_equal(weight_of(&result, none), 150);
	assert_string_equal(vmop_result_symbol_name(&result, schedule), "schedule");
	assert_int_equal(weight_of(&result, schedule), 130);
	assert_int_equal(schedule->address, 0xffffffff81000100);
	assert_int_equal(schedule->n_details, 2);
	const struct vmop_detail *detail = &result.details[schedule->first_detail];
	assert_int_equal(detail[0].address, 0xffffffff81000110);
	assert_int_equal(detail[0].counts[0].weight_events, 110);
	assert_int_equal(detail[1].address, 0xffffffff81000120);
	assert_int_equal(result.missing.samples, 15);
	assert_non_null(result.missing.top_why);
#ifdef HAVE_IBERTY
	assert_string_equal(vmop_result_symbol_name(&result, &result.rows[2]), "foo::bar(int)");
#endif
}

static void arrange(struct vmop_result *result, const struct vmop_arrangement *arrangement,
		    struct vmop_hidden *ret)
{
	const struct vmop_query query = {.dimensions = VMOP_BY_IMAGE};
	run_cycles(&query, NULL, result);
	assert_ok(vmop_rows_arrange(result, &no_ratios, arrangement, ret));
}

static void thresholds_and_tops(void **state)
{
	(void)state;
	_cleanup_(vmop_result_deinit) struct vmop_result result, top;
	struct vmop_hidden hidden = {0};
	struct vmop_arrangement arrangement = {.threshold_percent = 14};
	arrange(&result, &arrangement, &hidden); /* 30, 25, 20, 14; 11 is hidden */
	assert_int_equal(result.n_rows, 4);
	assert_int_equal(hidden.n_rows, 1);
	assert_int_equal(hidden.counts[0].weight_events, 110);
	for (size_t i = 1; i < result.n_rows; i++)
		assert_true(weight_of(&result, &result.rows[i - 1]) >
			    weight_of(&result, &result.rows[i]));
	free(hidden.counts);
	arrangement = (struct vmop_arrangement){.top = 2, .reverse = true};
	arrange(&top, &arrangement, &hidden);
	assert_int_equal(top.n_rows, 2);
	assert_int_equal(weight_of(&top, &top.rows[0]), 110);
	assert_int_equal(weight_of(&top, &top.rows[1]), 140);
	assert_int_equal(hidden.counts[0].weight_events, 750);
	free(hidden.counts);
}

static void nothing_reaches(void **state)
{
	(void)state;
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	const struct vmop_query query = {.dimensions = VMOP_BY_IMAGE};
	run_cycles(&query, NULL, &result);
	struct vmop_hidden hidden = {0};
	const struct vmop_arrangement arrangement = {.threshold_percent = 99};
	struct vmop_error *err = vmop_rows_arrange(&result, &no_ratios, &arrangement, &hidden);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_NOT_FOUND);
	vmop_error_destroy(err);
	free(hidden.counts);
}

/* Images below the threshold are not searched for symbols; the rows do not change. */
static void threshold_by_symbol(void **state)
{
	(void)state;
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	const struct vmop_query query = {.dimensions = VMOP_BY_IMAGE | VMOP_BY_SYMBOL,
					 .threshold_percent = 30};
	run_cycles(&query, NULL, &result);
	assert_int_equal(result.missing.samples,
			 15); /* of [kernel], the only image that was searched */
	uint64_t weight_events = 0;
	for (size_t i = 0; i < result.n_rows; i++)
		weight_events += weight_of(&result, &result.rows[i]);
	assert_int_equal(weight_events, 1000);
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_image),
		cmocka_unit_test(specs_select),
		cmocka_unit_test(by_certainty),
		cmocka_unit_test(unknown_names),
		cmocka_unit_test(bills),
		cmocka_unit_test(shares_of_the_whole_session),
		cmocka_unit_test(merged_tasks),
		cmocka_unit_test(exclusions),
		cmocka_unit_test(exclusions_by_symbol),
		cmocka_unit_test(several_events),
		cmocka_unit_test(symbols),
		cmocka_unit_test(thresholds_and_tops),
		cmocka_unit_test(nothing_reaches),
		cmocka_unit_test(threshold_by_symbol),
	};
	return cmocka_run_group_tests(tests, make_session, remove_session);
}
