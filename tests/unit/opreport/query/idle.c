// SPDX-License-Identifier: GPL-2.0-or-later
/* Test that idle functions of hosts and guests are one symbol. */
#include "opreport/query/idle.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "opreport/query/query.h"
#include "tests/unit/ok.h"

static char dir[] = "/tmp/vmop-idle-XXXXXX";
static char path[64];

enum { HOST, GUEST };
enum { TASK_IDLE = 1, TASK_SHELL };
enum { KERNEL = 1, GUEST_KERNEL, HALTPOLL, PROGRAM, BARE_KERNEL };

static void put(struct vmop_db *db, uint32_t domain, uint32_t image, uint32_t task, uint64_t offset,
		uint64_t samples)
{
	const struct vmop_db_cell cell = {offset, samples, samples * 10};
	const struct vmop_db_chunk_key key = {.domain = {domain},
					      .billed = {domain},
					      .mode = VMOP_MODE_KERNEL,
					      .cpu = -1,
					      .vcpu = -1,
					      .task = {task},
					      .image = {image}};
	assert_ok(vmop_db_put_chunk(db, &key, &cell, 1));
}

static void put_facts(struct vmop_db *db)
{
	static const struct vmop_db_image images[] = {
		{.id = {KERNEL}, .kind = VMOP_IMAGE_KERNEL, .name = "[kernel]"},
		{.id = {GUEST_KERNEL},
		 .kind = VMOP_IMAGE_GUEST_KERNEL,
		 .domain = {GUEST},
		 .name = "[guest g kernel]"},
		{.id = {HALTPOLL}, .kind = VMOP_IMAGE_MODULE, .name = "[cpuidle_haltpoll]"},
		{.id = {PROGRAM}, .kind = VMOP_IMAGE_ANON, .name = "[anon]"},
		{.id = {BARE_KERNEL}, .kind = VMOP_IMAGE_MODULE, .name = "[no-symbols]"},
	};
	static const struct vmop_symbol kernel[] = {
		{0x100, 0x100, "schedule", 't'},
		{0x200, 0x100, "pv_native_safe_halt", 't'}, /* outside, by its name */
		{0x400, 0, "__cpuidle_text_start", 'T'},
		{0x400, 0x100, "sleep_of_some_driver", 't'}, /* inside, by its place */
		{0x500, 0x100, "mwait_idle_with_hints.constprop.0", 't'},
		{0x600, 0, "__cpuidle_text_end", 'T'},
		{0x600, 0x100, "idle_cpu", 't'}, /* a query, not an idle function */
		{0x700, 0x100, "handle_irq", 't'},
	};
	static const struct vmop_symbol guest[] = {{0x100, 0x100, "cpu_do_idle", 't'},
						   {0x200, 0x100, "work", 't'}};
	static const struct vmop_symbol module[] = {{0x100, 0x100, "default_enter_idle", 't'}};
	static const struct vmop_symbol program[] = {{0x100, 0x100, "default_idle", 't'},
						     {0x200, 0x100, "[idle]", 't'}};
	assert_ok(vmop_db_put_event(
		db, &(struct vmop_db_event){.name = "cycles", .source = "perf", .unit = "events"}));
	assert_ok(vmop_db_put_domain(db, &(struct vmop_db_domain){.name = "host"}));
	assert_ok(vmop_db_put_domain(
		db,
		&(struct vmop_db_domain){.id = {GUEST}, .kind = VMOP_DOMAIN_PASSIVE, .name = "g"}));
	assert_ok(
		vmop_db_put_task(db, &(struct vmop_db_task){.id = {TASK_IDLE}, .comm = "swapper"}));
	assert_ok(vmop_db_put_task(
		db, &(struct vmop_db_task){.id = {TASK_SHELL}, .pid = 7, .comm = "sh"}));
	for (size_t i = 0; i < sizeof(images) / sizeof(*images); i++)
		assert_ok(vmop_db_put_image(db, &images[i]));
	assert_ok(vmop_db_put_symbols(db, (struct vmop_image_id){KERNEL}, kernel,
				      sizeof(kernel) / sizeof(*kernel)));
	assert_ok(vmop_db_put_symbols(db, (struct vmop_image_id){GUEST_KERNEL}, guest, 2));
	assert_ok(vmop_db_put_symbols(db, (struct vmop_image_id){HALTPOLL}, module, 1));
	assert_ok(vmop_db_put_symbols(db, (struct vmop_image_id){PROGRAM}, program, 2));
}

/* 500 of 1000 samples are in the host's idle functions, 200 in the guest's. */
static int make_session(void **state)
{
	(void)state;
	struct vmop_db *db;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s.vmop", dir);
	assert_ok(vmop_db_create(path, &db));
	put_facts(db);
	assert_ok(vmop_db_begin_interval(db, 1000000000, 1000000000));
	put(db, HOST, KERNEL, TASK_IDLE, 0x210, 300);
	put(db, HOST, KERNEL, TASK_IDLE, 0x410, 100);
	put(db, HOST, KERNEL, TASK_IDLE, 0x510, 50);
	put(db, HOST, HALTPOLL, TASK_IDLE, 0x110, 50);
	put(db, HOST, KERNEL, TASK_IDLE, 0x710, 20); /* an interrupt in the idle task */
	put(db, HOST, BARE_KERNEL, TASK_IDLE, 0x10, 10);
	put(db, HOST, KERNEL, TASK_SHELL, 0x110, 120);
	put(db, HOST, KERNEL, TASK_SHELL, 0x610, 50);
	put(db, HOST, PROGRAM, TASK_SHELL, 0x110, 20);
	put(db, HOST, PROGRAM, TASK_SHELL, 0x210, 30);
	put(db, GUEST, GUEST_KERNEL, 0, 0x110, 200);
	put(db, GUEST, GUEST_KERNEL, 0, 0x210, 50);
	assert_ok(vmop_db_commit(db));
	assert_ok(vmop_db_finish(db));
	return 0;
}

static int remove_session(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static void ask(struct vmop_query query, struct vmop_result *ret)
{
	_cleanup_(vmop_spec_deinit) struct vmop_spec spec = {0};
	struct vmop_session_input input = {.name = "s"};
	query.dimensions = VMOP_BY_DOMAIN | VMOP_BY_IMAGE | VMOP_BY_SYMBOL;
	assert_ok(vmop_db_open(path, &input.db));
	assert_ok(vmop_query_run(&query, &spec, &input, 1, ret));
	vmop_db_close(input.db);
}

static uint64_t samples_of(struct vmop_result *result, const char *image, const char *symbol)
{
	uint64_t samples = 0, n = 0;
	for (size_t i = 0; i < result->n_rows; i++) {
		struct vmop_row *row = &result->rows[i];
		if (strcmp(vmop_row_image(result, row)->name, image) != 0 ||
		    strcmp(vmop_result_symbol_name(result, row), symbol) != 0)
			continue;
		samples += vmop_result_sum(result, row->counts, 0).samples;
		n++;
	}
	assert_true(n <= 1);
	return samples;
}

static void one_row_a_domain(void **state)
{
	(void)state;
	/* with addresses the store sums in another way */
	for (int details = 0; details < 2; details++) {
		_cleanup_(vmop_result_deinit) struct vmop_result result;
		ask((struct vmop_query){.details = details}, &result);
		/* with the module's, and the idle task's in an image without symbols */
		assert_int_equal(samples_of(&result, "[kernel]", "[idle]"), 510);
		assert_int_equal(samples_of(&result, "[guest g kernel]", "[idle]"), 200);
		assert_int_equal(samples_of(&result, "[kernel]", "pv_native_safe_halt"), 0);
		assert_int_equal(samples_of(&result, "[kernel]", "idle_cpu"), 50);
		assert_int_equal(samples_of(&result, "[kernel]", "handle_irq"), 20);
		assert_int_equal(samples_of(&result, "[anon]", "default_idle"), 20);
		assert_int_equal(result.idle.samples, 730);
		assert_int_equal(result.selected[0].samples, 1000);
	}
}

/* A program can have a function called [idle]. */
static void a_function_of_that_name(void **state)
{
	(void)state;
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	ask((struct vmop_query){0}, &result);
	assert_int_equal(samples_of(&result, "[anon]", "[idle]"), 0);
	assert_int_equal(samples_of(&result, "[anon]", "'[idle]'"), 30);
}

/* Without symbols, samples of the idle task count. */
static void no_symbols(void **state)
{
	(void)state;
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	ask((struct vmop_query){0}, &result);
	assert_int_equal(samples_of(&result, "[no-symbols]", "(no symbols)"), 0);
	assert_int_equal(result.missing.samples, 0);
	assert_int_equal(result.idle.samples, 730); /* the idle task's 530, the guest's 200 */
}

static void functions_by_name(void **state)
{
	(void)state;
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	ask((struct vmop_query){.idle_functions = true}, &result);
	assert_int_equal(samples_of(&result, "[kernel]", "[idle]"), 0);
	assert_int_equal(samples_of(&result, "[kernel]", "pv_native_safe_halt"), 300);
	assert_int_equal(samples_of(&result, "[guest g kernel]", "cpu_do_idle"), 200);
}

/* Percents are of the remaining samples. */
static void left_out(void **state)
{
	(void)state;
	for (int details = 0; details < 2; details++) {
		_cleanup_(vmop_result_deinit) struct vmop_result result;
		ask((struct vmop_query){.exclude_idle = true, .details = details}, &result);
		assert_int_equal(samples_of(&result, "[kernel]", "[idle]"), 0);
		assert_int_equal(samples_of(&result, "[guest g kernel]", "[idle]"), 0);
		assert_int_equal(samples_of(&result, "[guest g kernel]", "work"), 50);
		assert_int_equal(result.selected[0].samples, 270);
		assert_int_equal(result.base[0].samples, 270);
		assert_int_equal(result.idle.samples, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_row_a_domain), cmocka_unit_test(a_function_of_that_name),
		cmocka_unit_test(no_symbols),	    cmocka_unit_test(functions_by_name),
		cmocka_unit_test(left_out),
	};
	return cmocka_run_group_tests(tests, make_session, remove_session);
}
