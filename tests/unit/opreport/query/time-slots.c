// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/time-slots.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "libdb/db.h"
#include "tests/unit/ok.h"

#define SECOND UINT64_C(1000000000)
#define START (1700000000 * SECOND)

static char dir[] = "/tmp/vmop-slots-XXXXXX";
static char path[64];

/* Make a session of n intervals of a second, and open it. */
static struct vmop_db *open_session(unsigned n)
{
	struct vmop_db *db;
	assert_ok(vmop_db_create(path, &db));
	for (unsigned i = 0; i < n; i++) {
		assert_ok(vmop_db_begin_interval(db, START + i * SECOND, SECOND));
		assert_ok(vmop_db_commit(db));
	}
	assert_ok(vmop_db_finish(db));
	assert_ok(vmop_db_open(path, &db));
	return db;
}

static void close_session(struct vmop_db *db)
{
	vmop_db_close(db);
	unlink(path);
}

static const struct vmop_db_interval second_10 = {.start_ns = START + 10 * SECOND,
						  .len_ns = SECOND};

static void each_interval_has_a_slot(void **state)
{
	(void)state;
	struct vmop_session_input input = {"session", open_session(100)};
	struct vmop_time_slots slots;
	assert_ok(vmop_time_slots_init(&slots, &input, 1, 0, 0, 1000));
	assert_int_equal(slots.n, 100);
	uint32_t slot = vmop_time_slots_find(&slots, 0, &second_10);
	assert_int_equal(slots.items[slot].from_ns, second_10.start_ns);
	assert_int_equal(slots.items[slot].to_ns, second_10.start_ns + SECOND);
	assert_int_equal(slots.items[slot].longest_ns, SECOND);
	vmop_time_slots_deinit(&slots);
	close_session(input.db);
}

static void few_slots_have_several_intervals(void **state)
{
	(void)state;
	struct vmop_session_input input = {"session", open_session(100)};
	struct vmop_time_slots slots;
	assert_ok(vmop_time_slots_init(&slots, &input, 1, 0, 0, 10));
	assert_int_equal(slots.n, 10);
	uint64_t covered_ns = 0;
	for (size_t i = 0; i < slots.n; i++)
		covered_ns += slots.items[i].to_ns - slots.items[i].from_ns;
	assert_int_equal(covered_ns, 100 * SECOND);
	uint32_t slot = vmop_time_slots_find(&slots, 0, &second_10);
	assert_true(slots.items[slot].from_ns <= second_10.start_ns);
	assert_true(slots.items[slot].to_ns >= second_10.start_ns + SECOND);
	vmop_time_slots_deinit(&slots);
	close_session(input.db);
}

static void slots_are_within_the_time(void **state)
{
	(void)state;
	struct vmop_session_input input = {"session", open_session(100)};
	struct vmop_time_slots slots;
	assert_ok(vmop_time_slots_init(&slots, &input, 1, START + 10 * SECOND, START + 20 * SECOND,
				       1000));
	assert_int_equal(slots.n, 10);
	assert_int_equal(vmop_time_slots_find(&slots, 0, &second_10), 0);
	vmop_time_slots_deinit(&slots);
	assert_ok(vmop_time_slots_init(&slots, &input, 1, START + 1000 * SECOND, 0, 1000));
	assert_int_equal(slots.n, 0);
	assert_int_equal(vmop_time_slots_find(&slots, 0, &second_10), VMOP_NO_TIME_SLOT);
	vmop_time_slots_deinit(&slots);
	close_session(input.db);
}

static void sessions_have_slots_of_their_own(void **state)
{
	(void)state;
	struct vmop_db *db = open_session(10);
	struct vmop_session_input inputs[] = {{"a", db}, {"b", db}};
	struct vmop_time_slots slots;
	assert_ok(vmop_time_slots_init(&slots, inputs, 2, 0, 0, 1000));
	assert_int_equal(slots.n, 20);
	const struct vmop_db_interval first = {.start_ns = START, .len_ns = SECOND};
	uint32_t a = vmop_time_slots_find(&slots, 0, &first);
	uint32_t b = vmop_time_slots_find(&slots, 1, &first);
	assert_true(slots.items[a].session == 0 && slots.items[b].session == 1);
	vmop_time_slots_deinit(&slots);
	close_session(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_interval_has_a_slot),
		cmocka_unit_test(few_slots_have_several_intervals),
		cmocka_unit_test(slots_are_within_the_time),
		cmocka_unit_test(sessions_have_slots_of_their_own),
	};
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/session.vmop", dir);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(dir);
	return failed;
}
