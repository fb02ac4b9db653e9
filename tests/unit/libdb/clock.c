// SPDX-License-Identifier: GPL-2.0-or-later
/* Test sessions that are read in the time of another machine, and the facts with its distance. */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libdb/clock.h"
#include "tests/unit/ok.h"

#define SESSION UINT64_C(1000000)

static char path[] = "/tmp/vmop-clock-XXXXXX";

static int begin(void **state)
{
	struct vmop_db *db;
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	assert_ok(vmop_db_create(path, &db));
	*state = db;
	return 0;
}

static int end(void **state)
{
	vmop_db_close(*state);
	unlink(path);
	memcpy(path + strlen(path) - 6, "XXXXXX", 6);
	return 0;
}

static const struct vmop_domain_id guest = {3};

/* ---- the facts of the host ------------------------------------------------------------------- */

static void facts_of_a_guest(void **state)
{
	struct vmop_db_clock there = {0}, clock = {0};
	for (there.n = 0; there.n < VMOP_DB_CLOCK_PARTS_MAX; there.n++)
		there.parts[there.n] =
			(struct vmop_db_clock_part){.session_ns = there.n < 9 ? INT64_MAX : SESSION,
						    .from_ns = INT64_MAX - there.n,
						    .add_ns = there.n % 2 ? INT64_MAX : -INT64_MAX};
	assert_ok(vmop_db_put_guest_clock(*state, guest, &there));
	assert_ok(vmop_db_add_guest_clock(*state, guest, INT64_MAX, &clock));
	assert_int_equal(clock.n, 9);
	for (size_t i = 0; i < clock.n; i++) {
		const struct vmop_db_clock_part *part = &clock.parts[i];
		assert_int_equal(part->session_ns, INT64_MAX);
		assert_int_equal(part->from_ns, INT64_MAX - 8 + i); /* ascending */
		assert_int_equal(part->add_ns, i % 2 ? INT64_MAX : -INT64_MAX);
	}
	/* Another session of the host has further parts. */
	assert_ok(vmop_db_add_guest_clock(*state, guest, SESSION, &clock));
	assert_int_equal(clock.n, VMOP_DB_CLOCK_PARTS_MAX);
	assert_int_equal(clock.parts[0].session_ns, SESSION);
	assert_ok(vmop_db_add_guest_clock(*state, guest, SESSION, &clock));
	assert_int_equal(clock.n, VMOP_DB_CLOCK_PARTS_MAX);
	struct vmop_db_clock none = {0};
	assert_ok(vmop_db_add_guest_clock(*state, (struct vmop_domain_id){4}, SESSION, &none));
	assert_ok(vmop_db_add_guest_clock(*state, guest, SESSION + 1, &none));
	assert_int_equal(none.n, 0);
}

/* A session file can have any text. */
static void hostile_facts(void **state)
{
	static const char *const texts[] = {
		"",
		";",
		"1000000",
		"1000000 5",
		"1000000 5 7",
		"1000000 5 *7",
		"1000000 5 +7 ",
		"1000000 5 +7 8",
		" 1000000 5 +7",
		"1000000  5 +7",
		"1000000 5 +",
		"1000000 5 +-7",
		"1000000 5 +9223372036854775808",
		"1000000 9223372036854775808 +7",
		"1000000 -5 +7",
		"0x1000000 5 +7",
		"1000000,5,+7",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct vmop_db_clock clock = {0};
		assert_ok(vmop_db_put_info(*state, "domain-3-clock", texts[i]));
		assert_ok(vmop_db_add_guest_clock(*state, guest, SESSION, &clock));
		assert_int_equal(clock.n, 0);
	}
	char many[4096] = "";
	for (unsigned i = 0; i < 100; i++)
		strcat(many, i % 3 ? "1000000 5 -7;" : "x;");
	struct vmop_db_clock clock = {0};
	assert_ok(vmop_db_put_info(*state, "domain-3-clock", many));
	assert_ok(vmop_db_add_guest_clock(*state, guest, SESSION, &clock));
	assert_int_equal(clock.n, VMOP_DB_CLOCK_PARTS_MAX);
}

/* ---- a session with another clock ------------------------------------------------------------ */

static void times(void **state)
{
	struct vmop_db *db = *state;
	static const struct vmop_db_clock clock = {.n = 4,
						   .parts = {{SESSION + 1, 0, 5},
							     {SESSION, 900, 500},
							     {SESSION, 2000, -100},
							     {SESSION, 3000, 1000}}};
	int64_t add_ns = 77;
	assert_false(vmop_db_has_clock(db, &add_ns));
	assert_int_equal(vmop_db_time(db, 1234), 1234);
	assert_int_equal(vmop_db_file_time(db, 1234), 1234);
	vmop_db_set_clock(db, &clock, SESSION);
	assert_true(vmop_db_has_clock(db, &add_ns));
	assert_int_equal(add_ns, 1000);
	static const uint64_t pairs[][2] = {{1, 501},	  {899, 1399},	     {900, 1400},
					    {1300, 1800}, {2000, 1900},	     {2999, 2899},
					    {3000, 4000}, {1000000, 1001000}};
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		assert_int_equal(vmop_db_time(db, pairs[i][0]), pairs[i][1]);
		assert_int_equal(vmop_db_file_time(db, pairs[i][1]), pairs[i][0]);
	}
	assert_int_equal(vmop_db_time(db, 0), 0); /* not known stays so */
	assert_int_equal(vmop_db_file_time(db, 0), 0);
	assert_int_equal(vmop_db_file_time(db, UINT64_MAX), UINT64_MAX); /* no end */
	assert_int_equal(vmop_db_time(db, INT64_MAX), INT64_MAX);
	const struct vmop_db_clock back = {.n = 1, .parts = {{SESSION, 0, -INT64_MAX}}};
	vmop_db_set_clock(db, &back, SESSION);
	assert_int_equal(vmop_db_time(db, 5), 1);
	vmop_db_set_clock(db, NULL, SESSION);
	assert_false(vmop_db_has_clock(db, &add_ns));
}

struct seen {
	uint64_t times[8];
	size_t n;
};

static struct vmop_error *see_interval(void *arg, const struct vmop_db_interval *interval)
{
	struct seen *seen = arg;
	seen->times[seen->n++] = interval->start_ns;
	return NULL;
}

static struct vmop_error *see_task(void *arg, const struct vmop_db_task *task)
{
	struct seen *seen = arg;
	seen->times[seen->n++] = task->start_time_ns;
	seen->times[seen->n++] = task->end_time_ns;
	return NULL;
}

static struct vmop_error *see_domain(void *arg, const struct vmop_db_domain *domain)
{
	struct seen *seen = arg;
	seen->times[seen->n++] = domain->first_seen_ns;
	seen->times[seen->n++] = domain->last_seen_ns;
	return NULL;
}

static struct vmop_error *see_code(void *arg, const struct vmop_db_code *code)
{
	struct seen *seen = arg;
	seen->times[seen->n++] = code->time_ns;
	return NULL;
}

static struct vmop_error *add_loss(void *arg, const struct vmop_db_loss *loss)
{
	*(uint64_t *)arg += loss->count;
	return NULL;
}

static struct vmop_error *add_wait(void *arg, const struct vmop_db_wait *wait)
{
	*(uint64_t *)arg += wait->count;
	return NULL;
}

static struct vmop_error *add_interval_wait(void *arg, const struct vmop_db_interval *interval,
					    const struct vmop_db_wait *wait)
{
	struct seen *seen = arg;
	(void)wait;
	seen->times[seen->n++] = interval->start_ns;
	return NULL;
}

static struct vmop_error *add_total(void *arg, const struct vmop_db_total *total)
{
	*(uint64_t *)arg += total->samples;
	return NULL;
}

/* Put 3 intervals of 100 ns with 1, 10 and 100 samples, losses and waits; add 5000 to all times. */
static void put_content(struct vmop_db *db)
{
	size_t stored;
	assert_ok(vmop_db_put_domain(
		db, &(struct vmop_db_domain){.name = "host", .first_seen_ns = 10}));
	assert_ok(vmop_db_put_task(
		db,
		&(struct vmop_db_task){
			.id = {1}, .pid = 1, .comm = "a", .start_time_ns = 20, .end_time_ns = 30}));
	assert_ok(vmop_db_put_image(db, &(struct vmop_db_image){.id = {1}, .name = "/bin/x"}));
	assert_ok(vmop_db_put_code(
		db,
		&(struct vmop_db_code){.image = {1}, .time_ns = 40, .bytes = "x", .len_bytes = 1},
		&stored));
	for (uint64_t i = 0, n = 1; i < 3; i++, n *= 10) {
		const struct vmop_db_cell cell = {16, n, n};
		const struct vmop_db_chunk_key key = {.image = {1}, .cpu = -1, .vcpu = -1};
		assert_ok(vmop_db_begin_interval(db, 1000 + i * 100, 100));
		assert_ok(vmop_db_put_chunk(db, &key, &cell, 1));
		assert_ok(vmop_db_put_loss(db, &(struct vmop_db_loss){.name = "lost", .count = n}));
		assert_ok(vmop_db_put_wait(
			db, &(struct vmop_db_wait){.state = VMOP_WAIT_RUNNING, .count = n}));
		assert_ok(vmop_db_commit(db));
	}
}

static void all_rows(void **state)
{
	struct vmop_db *db = *state;
	const struct vmop_db_clock clock = {.n = 1, .parts = {{SESSION, 0, 5000}}};
	struct seen seen = {0};
	uint64_t sum = 0;
	put_content(db);
	vmop_db_set_clock(db, &clock, SESSION);
	assert_ok(vmop_db_each_domain(db, see_domain, &seen));
	assert_ok(vmop_db_each_task(db, see_task, &seen));
	assert_ok(vmop_db_each_code(db, (struct vmop_image_id){1}, 0, 100, see_code, &seen));
	static const uint64_t wanted[] = {5010, 0, 5020, 5030, 5040};
	assert_int_equal(seen.n, 5);
	assert_memory_equal(seen.times, wanted, sizeof(wanted));
	seen.n = 0;
	assert_ok(vmop_db_each_interval(db, see_interval, &seen));
	static const uint64_t starts[] = {6000, 6100, 6200};
	assert_int_equal(seen.n, 3);
	assert_memory_equal(seen.times, starts, sizeof(starts));
	const struct vmop_db_filter second = {.from_ns = 6100, .to_ns = 6200};
	assert_ok(vmop_db_each_total(db, &second, add_total, &sum));
	assert_int_equal(sum, 10);
	assert_ok(vmop_db_each_loss_in(db, 6100, 6200, add_loss, &sum));
	assert_int_equal(sum, 20);
	assert_ok(vmop_db_each_wait_in(db, 6100, 6200, add_wait, &sum));
	assert_int_equal(sum, 30);
	seen.n = 0;
	assert_ok(vmop_db_each_interval_wait(db, 6100, 6200, add_interval_wait, &seen));
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.times[0], 6100);
	sum = 0;
	assert_ok(vmop_db_each_total(db, NULL, add_total, &sum));
	assert_int_equal(sum, 111);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(facts_of_a_guest, begin, end),
		cmocka_unit_test_setup_teardown(hostile_facts, begin, end),
		cmocka_unit_test_setup_teardown(times, begin, end),
		cmocka_unit_test_setup_teardown(all_rows, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
