// SPDX-License-Identifier: GPL-2.0-or-later
/* The time of guests' tasks: each interval's time is divided by the samples of that interval. */
#include "opreport/waits/task-times.h"

#include <math.h>

#include "tests/unit/opreport/waits/guest-tasks.h"

/*
 * The shares differ between the seconds: 3 to 1 in 800 ns outside exits, then 1 to 3 in 200 ns. A
 * third second has no sample of the guest.
 */
static const struct second seconds[] = {
	{{500, 400}, {60, 40}, 3, 1},
	{{250, 50}, {100, 0}, 1, 3},
	{{100, 100}, {0, 50}, 0, 0},
};

static struct vmop_task_times times;
static struct vmop_spec spec;

static struct vmop_error *load(const char *name, const char *more)
{
	parse_spec(&spec, name, more);
	return vmop_task_times_load(&spec, &times);
}

static void unload(void)
{
	vmop_task_times_deinit(&times);
	vmop_spec_deinit(&spec);
}

static void assert_near(double value, double wanted)
{
	if (fabs(value - wanted) < 1e-6)
		return;
	print_error("%g, not %g\n", value, wanted);
	fail();
}

/* Return the item of a kind and a task's name, or NULL. */
static const struct vmop_task_time *find(enum vmop_task_time_kind kind, const char *comm)
{
	for (size_t i = 0; i < times.n; i++) {
		const struct vmop_task_time *item = &times.items[i];
		const char *name = vmop_catalog_task(&times.result.catalog, item->task)->comm;
		if (item->kind == kind && (kind != VMOP_TASK_TIME_TASK || strcmp(name, comm) == 0))
			return item;
	}
	return NULL;
}

static void each_interval_is_divided(void **state)
{
	(void)state;
	assert_ok(load("s.vmop", NULL));
	assert_int_equal(times.n, 4);
	assert_true(times.has_exits);
	assert_int_equal(times.longest_ns, VMOP_NS_PER_S);
	const struct vmop_task_time *a = find(VMOP_TASK_TIME_TASK, "alpha");
	const struct vmop_task_time *b = find(VMOP_TASK_TIME_TASK, "beta");
	assert_non_null(a);
	assert_non_null(b);
	assert_near(a->time_ns, 600 + 50); /* all samples together would give 500 */
	assert_near(b->time_ns, 200 + 150);
	assert_int_equal(a->samples, 4);
	assert_near(find(VMOP_TASK_TIME_EXITS, "")->time_ns, 250);
	assert_near(find(VMOP_TASK_TIME_UNSAMPLED, "")->time_ns, 150);
	/* Nothing is lost or doubled, and the longest comes first. */
	double sum_ns = 0;
	for (size_t i = 0; i < times.n; i++) {
		sum_ns += times.items[i].time_ns;
		assert_near(times.items[i].running_ns, 1400);
		assert_true(!i || times.items[i].time_ns <= times.items[i - 1].time_ns);
	}
	assert_near(sum_ns, 1400);
	/* 4 of 8 samples, in two strata. */
	assert_near(a->error_ns, vmop_task_time_error(4, 8, 800. * 800 / 4 + 200. * 200 / 4));
	unload();
}

static void time_is_selected(void **state)
{
	(void)state;
	assert_ok(load("s.vmop", "time:+1s..+2s"));
	assert_near(find(VMOP_TASK_TIME_TASK, "beta")->time_ns, 150);
	assert_near(find(VMOP_TASK_TIME_EXITS, "")->time_ns, 100);
	unload();
}

static void exits_that_were_not_counted(void **state)
{
	const struct second second = {{500, 500}, {0, 0}, 1, 1};
	(void)state;
	write_guest_tasks("no-exits.vmop", &second, 1, "no tracefs");
	assert_ok(load("no-exits.vmop", NULL));
	assert_false(times.has_exits);
	assert_int_equal(times.n, 2);
	assert_near(find(VMOP_TASK_TIME_TASK, "alpha")->time_ns, 500);
	unload();
}

static void specs_are_checked(void **state)
{
	(void)state;
	assert_error(load("s.vmop", "task:alpha"), VMOP_ERROR_USAGE, "has no task:");
	unload();
	assert_error(load("s.vmop", "vcpu:0"), VMOP_ERROR_USAGE, "has no vcpu:");
	unload();
}

/* A session with samples and without the time of vCPUs. */
static void no_time(void **state)
{
	struct vmop_db *db;
	(void)state;
	assert_ok(vmop_db_create(test_path("none.vmop"), &db));
	put_facts(db);
	assert_ok(put_second(db, 0));
	assert_ok(vmop_db_finish(db));
	assert_error(load("none.vmop", NULL), VMOP_ERROR_NOT_FOUND, "'vmopcontrol --waits'");
	unload();
}

/* An event that counts something else shows no time. */
static void another_event(void **state)
{
	struct vmop_db *db;
	const struct vmop_db_chunk_key key = key_of(0, 0);
	const struct vmop_db_cell cell = {0x1000, 1, 1};
	(void)state;
	assert_ok(vmop_db_create(test_path("event.vmop"), &db));
	assert_ok(vmop_db_put_event(
		db, &(struct vmop_db_event){.id = {0}, .name = "page-faults", .source = "perf"}));
	assert_ok(vmop_db_put_domain(
		db, &(struct vmop_db_domain){.id = {0}, .kind = VMOP_DOMAIN_HOST, .name = "host"}));
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS, VMOP_NS_PER_S));
	assert_ok(vmop_db_put_chunk(db, &key, &cell, 1));
	assert_ok(vmop_db_commit(db));
	assert_ok(vmop_db_finish(db));
	assert_error(load("event.vmop", NULL), VMOP_ERROR_CANT, "record cpu-clock or cycles");
	unload();
	assert_error(load("event.vmop", "event:page-faults"), VMOP_ERROR_USAGE, "has no event:");
	unload();
}

/* By hand: 50 of 100 samples of 1 s of time are 0.5 s, within 0.096 s. */
static void interval_of_estimates(void **state)
{
	(void)state;
	assert_near(round(1e4 * vmop_task_time_error(50, 100, 1. / 100)) / 1e4, 0.0980);
	assert_true(vmop_task_time_error(100, 100, 1. / 100) > 0.01);
	assert_true(vmop_task_time_error(10, 100, 1. / 100) <
		    vmop_task_time_error(50, 100, 1. / 100));
}

/* Sums of the greatest numbers stay numbers. */
static void greatest_numbers(void **state)
{
	const uint64_t most = INT64_MAX;
	const struct second great[] = {{{most, most}, {most, most}, 1, 1},
				       {{most, most}, {1, 1}, 1, 1}};
	(void)state;
	write_guest_tasks("great.vmop", great, 2, NULL);
	assert_ok(load("great.vmop", NULL));
	for (size_t i = 0; i < times.n; i++) {
		assert_true(times.items[i].time_ns >= 0);
		assert_true(times.items[i].time_ns <= times.items[i].running_ns);
	}
	unload();
}

static int make(void **state)
{
	int status = test_dir_make(state);
	if (!status)
		write_guest_tasks("s.vmop", seconds, 3, NULL);
	return status;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_interval_is_divided),
		cmocka_unit_test(time_is_selected),
		cmocka_unit_test(exits_that_were_not_counted),
		cmocka_unit_test(specs_are_checked),
		cmocka_unit_test(no_time),
		cmocka_unit_test(another_event),
		cmocka_unit_test(interval_of_estimates),
		cmocka_unit_test(greatest_numbers),
	};
	return cmocka_run_group_tests(tests, make, test_dir_remove);
}
