// SPDX-License-Identifier: GPL-2.0-or-later
/* Sheets of vCPUs' time, from a session file that the test writes: sums, shares, names, hostile
 * numbers. */
#include "opreport/waits/waits-sheet.h"

#include "tests/unit/libdb/common.h"

#define CAUSE vmop_db_exit_cause(VMOP_EXIT_SVM, 0x78)

static void put(struct vmop_db *db, uint32_t domain, uint32_t vcpu, enum vmop_wait_state state,
		uint64_t cause, uint64_t time_ns)
{
	const struct vmop_db_wait wait = {.domain = {domain},
					  .vcpu = vcpu,
					  .state = state,
					  .cause = cause,
					  .count = 2,
					  .time_ns = time_ns};
	assert_ok(vmop_db_put_wait(db, &wait));
}

static uint32_t culprit(struct vmop_db *db, enum vmop_culprit_kind kind, uint32_t domain,
			const char *name)
{
	uint32_t id;
	assert_ok(vmop_db_put_culprit(
		db, &(struct vmop_db_culprit){.kind = kind, .domain = {domain}, .name = name},
		&id));
	return id;
}

/* Store two seconds of two guests; of each vCPU 1000 ns a second, or unit times as much. */
static void write_session(const char *name, uint64_t unit)
{
	struct vmop_db *db;
	assert_ok(vmop_db_create(test_path(name), &db));
	put_facts(db);
	assert_ok(vmop_db_put_domain(db, &(struct vmop_db_domain){.id = {2},
								  .kind = VMOP_DOMAIN_PASSIVE,
								  .name = "g2",
								  .vmm_pid = 800,
								  .first_seen_ns = TEST_START_NS}));
	const struct vmop_symbol symbol = {
		.offset = 0x100, .len_bytes = 0x40, .name = "default_idle", .type = 't'};
	assert_ok(vmop_db_put_symbols(db, (struct vmop_image_id){1}, &symbol, 1));
	for (unsigned i = 0; i < 2; i++) {
		assert_ok(vmop_db_begin_interval(db, TEST_START_NS + i * VMOP_NS_PER_S,
						 VMOP_NS_PER_S));
		uint32_t guest = culprit(db, VMOP_CULPRIT_GUEST, 2, "");
		uint32_t cgroup = culprit(db, VMOP_CULPRIT_CGROUP, 0, "/batch\033[1m");
		put(db, 1, 0, VMOP_WAIT_RUNNING, 0, 500 * unit);
		put(db, 1, 0, VMOP_WAIT_EXIT, CAUSE, 50 * unit);
		put(db, 1, 0, VMOP_WAIT_WAITING, guest, 300 * unit);
		put(db, 1, 0, VMOP_WAIT_WAITING, cgroup, 100 * unit);
		put(db, 1, 0, VMOP_WAIT_QUOTA, 0, 100 * unit);
		put(db, 1, 1, VMOP_WAIT_HALTED, 0, 1000 * unit);
		put(db, 2, 0, VMOP_WAIT_RUNNING, 0, 1000 * unit);
		const struct vmop_db_exit_place places[] = {
			{{1}, CAUSE, {1}, 0x110, 9},
			{{1}, CAUSE, {1}, 0x120, 6},
			{{1}, CAUSE, {0}, VMOP_DB_EXIT_USER, 5},
		};
		for (size_t p = 0; p < sizeof(places) / sizeof(*places); p++)
			assert_ok(vmop_db_put_exit_place(db, &places[p]));
		assert_ok(vmop_db_put_loss(db,
					   &(struct vmop_db_loss){.name = "lost", .count = unit}));
		assert_ok(vmop_db_commit(db));
	}
	assert_ok(vmop_db_finish(db));
}

static struct vmop_waits_facts_of facts;
static struct vmop_waits_sheet *sheet;
static struct vmop_spec spec;

static void open_sheet(const char *name, const char *argument, enum vmop_waits_table table)
{
	char text[PATH_MAX + 80];
	spec = (struct vmop_spec){0};
	snprintf(text, sizeof(text), "session:%s", test_path(name));
	assert_ok(vmop_spec_parse(&spec, text));
	if (argument)
		assert_ok(vmop_spec_parse(&spec, argument));
	assert_ok(vmop_waits_load(&spec, &facts));
	assert_ok(vmop_waits_sheet_create(&facts, table, &sheet));
}

static void close_sheet(void)
{
	vmop_waits_sheet_destroy(sheet);
	vmop_waits_facts_deinit(&facts);
	vmop_spec_deinit(&spec);
}

/* Return the value of a column in a row. */
static struct vmop_value value(size_t row, const char *column)
{
	const struct vmop_sheet *of = vmop_waits_sheet_of(sheet);
	static struct vmop_value values[32];
	vmop_sheet_values(of, row, VMOP_NO_DETAIL, values);
	for (size_t i = 0; i < of->n_columns; i++)
		if (!strcmp(of->columns[i].name, column))
			return values[i];
	print_error("no column %s\n", column);
	fail();
	return values[0];
}

static void assert_percent(size_t row, const char *column, double wanted)
{
	double difference = value(row, column).percent - wanted;
	assert_true(difference < 1e-6 && difference > -1e-6);
}

static void guests(void **state)
{
	(void)state;
	open_sheet("s.vmop", NULL, VMOP_WAITS_GUESTS);
	assert_int_equal(vmop_waits_sheet_of(sheet)->n_rows, 2);
	assert_string_equal(value(0, "domain").text, "g1");
	assert_percent(0, "running_percent", 25);
	assert_percent(0, "exits_percent", 2.5);
	assert_percent(0, "waiting_percent", 20);
	assert_percent(0, "quota_percent", 5);
	assert_percent(0, "halted_percent", 50);
	assert_int_equal(value(0, "waiting_ns").number, 800);
	assert_string_equal(value(0, "culprit").text, "g2");
	assert_percent(0, "culprit_percent", 75);
	assert_true(value(1, "culprit").is_empty);
	assert_percent(1, "running_percent", 100);
	close_sheet();
}

static void vcpus_and_times(void **state)
{
	(void)state;
	open_sheet("s.vmop", "vcpu:0", VMOP_WAITS_VCPUS);
	assert_int_equal(vmop_waits_sheet_of(sheet)->n_rows, 2);
	assert_percent(0, "running_percent", 50);
	close_sheet();
	open_sheet("s.vmop", "domain:g1", VMOP_WAITS_VCPUS);
	assert_int_equal(vmop_waits_sheet_of(sheet)->n_rows, 2);
	assert_int_equal(value(1, "vcpu").number, 1);
	assert_percent(1, "halted_percent", 100);
	close_sheet();
	open_sheet("s.vmop", "time:+1s..", VMOP_WAITS_GUESTS);
	assert_int_equal(value(0, "running_ns").number, 500);
	close_sheet();
}

/* A report of a part of the time marks its losses as those of the whole session. */
static void losses(void **state)
{
	(void)state;
	open_sheet("s.vmop", NULL, VMOP_WAITS_GUESTS);
	const struct vmop_sheet *of = vmop_waits_sheet_of(sheet);
	assert_string_equal(of->lines[of->n_lines - 1], "losses: lost 2");
	assert_string_equal(facts.losses, "lost 2");
	close_sheet();
	open_sheet("s.vmop", "time:+1s..", VMOP_WAITS_CULPRITS);
	of = vmop_waits_sheet_of(sheet);
	assert_string_equal(of->lines[of->n_lines - 1], "losses: lost 2 (in the whole session)");
	close_sheet();
}

static void culprits(void **state)
{
	(void)state;
	open_sheet("s.vmop", NULL, VMOP_WAITS_CULPRITS);
	assert_int_equal(vmop_waits_sheet_of(sheet)->n_rows, 3);
	assert_string_equal(value(0, "kind").text, "guest");
	assert_string_equal(value(0, "culprit").text, "g2");
	assert_percent(0, "percent", 15);
	assert_percent(0, "percent_of_waits", 60);
	for (size_t row = 1; row < 3; row++) {
		bool is_quota = !strcmp(value(row, "kind").text, "quota");
		assert_string_equal(value(row, "culprit").text,
				    is_quota ? "[own quota]" : "/batch\033[1m");
		assert_int_equal(value(row, "time_ns").number, 200);
	}
	close_sheet();
}

static void exits(void **state)
{
	(void)state;
	open_sheet("s.vmop", NULL, VMOP_WAITS_BY_REASON);
	assert_int_equal(vmop_waits_sheet_of(sheet)->n_rows, 1);
	assert_string_equal(value(0, "reason").text, "hlt");
	assert_int_equal(value(0, "exits").number, 4);
	assert_int_equal(value(0, "ns_each").number, 25);
	assert_string_equal(value(0, "function").text, "default_idle");
	assert_percent(0, "function_percent", 75); /* at two addresses */
	close_sheet();
}

static void steal(void **state)
{
	double percent;
	(void)state;
	open_sheet("s.vmop", NULL, VMOP_WAITS_GUESTS);
	assert_ok(vmop_waits_steal_percent(&spec, "g1", &percent));
	assert_true(percent > 24.9 && percent < 25.1);
	assert_ok(vmop_waits_steal_percent(&spec, "g*", &percent));
	assert_true(percent > 16.6 && percent < 16.7);
	assert_error(vmop_waits_steal_percent(&spec, "x", &percent), VMOP_ERROR_NOT_FOUND,
		     "no guest 'x'");
	close_sheet();
}

/* Sums of the greatest numbers stay numbers. */
static void greatest_numbers(void **state)
{
	(void)state;
	write_session("great.vmop", UINT64_C(9000000000000000));
	open_sheet("great.vmop", NULL, VMOP_WAITS_GUESTS);
	for (size_t row = 0; row < 2; row++) {
		double percent = value(row, "running_percent").percent;
		assert_true(percent >= 0 && percent <= 100);
	}
	close_sheet();
}

static void specs_are_checked(void **state)
{
	char text[PATH_MAX + 80];
	(void)state;
	spec = (struct vmop_spec){0};
	snprintf(text, sizeof(text), "session:%s", test_path("s.vmop"));
	assert_ok(vmop_spec_parse(&spec, text));
	assert_ok(vmop_spec_parse(&spec, "task:sh"));
	assert_error(vmop_waits_load(&spec, &facts), VMOP_ERROR_USAGE, "has no task:");
	vmop_waits_facts_deinit(&facts);
	vmop_spec_deinit(&spec);
}

static int make(void **state)
{
	int status = test_dir_make(state);
	if (!status)
		write_session("s.vmop", 1);
	return status;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(guests),
		cmocka_unit_test(vcpus_and_times),
		cmocka_unit_test(losses),
		cmocka_unit_test(culprits),
		cmocka_unit_test(exits),
		cmocka_unit_test(steal),
		cmocka_unit_test(greatest_numbers),
		cmocka_unit_test(specs_are_checked),
	};
	return cmocka_run_group_tests(tests, make, test_dir_remove);
}
