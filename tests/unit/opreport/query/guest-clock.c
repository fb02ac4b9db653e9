// SPDX-License-Identifier: GPL-2.0-or-later
/* Test reports of a host's session and that of its active guest, whose clock is wrong. */
#include "opreport/query/guest-clock.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "opreport/query/query.h"
#include "tests/unit/ok.h"

#define UUID_HOST "AAAAAAAA-0000-4000-8000-000000000001"
#define UUID_GUEST "bbbbbbbb-0000-4000-8000-000000000002"
#define UUID_OTHER "cccccccc-0000-4000-8000-000000000003"

enum { LENGTH_S = 10, GUEST = 1 };

static const int64_t second_ns = 1000000000;
static const int64_t host_start_s = 1700000000;
static const uint64_t by_time = VMOP_BY_DOMAIN | VMOP_BY_TIME;
static char dir[] = "/tmp/vmop-guest-clock-XXXXXX";
static char paths[2][64];

/* Put an interval with so many samples of a domain. */
static void put_interval(struct vmop_db *db, int64_t start_ns, uint32_t domain, uint64_t samples)
{
	const struct vmop_db_cell cell = {0x10, samples, samples};
	const struct vmop_db_chunk_key key = {.domain = {domain},
					      .billed = {domain},
					      .mode = VMOP_MODE_KERNEL,
					      .cpu = -1,
					      .vcpu = -1,
					      .image = {1}};
	assert_ok(vmop_db_begin_interval(db, (uint64_t)start_ns, (uint64_t)second_ns));
	assert_ok(vmop_db_put_chunk(db, &key, &cell, 1));
	assert_ok(vmop_db_commit(db));
}

static struct vmop_db *begin_session(const char *path, int64_t start_ns, const char *uuid)
{
	struct vmop_db *db;
	char number[24];
	unlink(path);
	assert_ok(vmop_db_create(path, &db));
	snprintf(number, sizeof(number), "%lld", (long long)start_ns);
	assert_ok(vmop_db_put_info(db, "start_ns", number));
	assert_ok(vmop_db_put_event(
		db, &(struct vmop_db_event){.name = "cycles", .source = "perf", .unit = "events"}));
	assert_ok(vmop_db_put_domain(db, &(struct vmop_db_domain){.name = "host", .uuid = uuid}));
	assert_ok(vmop_db_put_image(
		db,
		&(struct vmop_db_image){.id = {1}, .kind = VMOP_IMAGE_KERNEL, .name = "[kernel]"}));
	return db;
}

/* Make the host's session: in each second 100 samples that are its copies of the guest's. */
static void put_host(const struct vmop_db_clock *clock)
{
	struct vmop_db *db = begin_session(paths[0], host_start_s * second_ns, UUID_HOST);
	const struct vmop_db_domain guest = {.id = {GUEST},
					     .kind = VMOP_DOMAIN_ACTIVE,
					     .name = "web1",
					     .uuid = UUID_GUEST,
					     .vmm_pid = 4711,
					     .first_seen_ns = 1};
	const struct vmop_db_domain other = {.id = {GUEST + 1},
					     .kind = VMOP_DOMAIN_ACTIVE,
					     .name = "web2",
					     .uuid = UUID_OTHER,
					     .vmm_pid = 4712,
					     .first_seen_ns = 1};
	const struct vmop_db_clock wrong = {
		.n = 1, .parts = {{(uint64_t)(host_start_s * second_ns), 0, 77 * second_ns}}};
	assert_ok(vmop_db_put_domain(db, &guest));
	assert_ok(vmop_db_put_domain(db, &other));
	if (clock)
		assert_ok(vmop_db_put_guest_clock(db, guest.id, clock));
	assert_ok(vmop_db_put_guest_clock(db, other.id, &wrong));
	for (int64_t i = 0; i < LENGTH_S; i++)
		put_interval(db, (host_start_s + i) * second_ns, GUEST, 100);
	assert_ok(vmop_db_finish(db));
}

/*
 * Make the guest's own session: i + 1 samples in second i of the host's session. From second set_at
 * on its clock is right, before it is behind by so much.
 */
static int64_t put_guest(int64_t behind_ns, int64_t set_at)
{
	int64_t start_ns = host_start_s * second_ns - behind_ns;
	struct vmop_db *db = begin_session(paths[1], start_ns, UUID_GUEST);
	for (int64_t i = 0; i < LENGTH_S; i++)
		put_interval(db, start_ns + i * second_ns + (i >= set_at ? behind_ns : 0), 0,
			     (uint64_t)i + 1);
	assert_ok(vmop_db_finish(db));
	return start_ns;
}

static struct vmop_db_clock clock_of(int64_t start_ns, int64_t add_ns)
{
	return (struct vmop_db_clock){.n = 1, .parts = {{(uint64_t)start_ns, 0, add_ns}}};
}

/* Query both sessions, and set *ret. */
static void run(uint64_t dimensions, const char *spec, bool guest_first, struct vmop_result *ret)
{
	struct vmop_session_input inputs[2] = {{.name = "host"}, {.name = "guest"}};
	const struct vmop_query query = {.dimensions = (unsigned)dimensions,
					 .by_step = (dimensions & VMOP_BY_TIME) != 0,
					 .time_step_s = 1};
	_cleanup_(vmop_spec_deinit) struct vmop_spec specs = {0};
	for (size_t i = 0; i < 2; i++)
		assert_ok(vmop_db_open(paths[i != guest_first], &inputs[i].db));
	if (spec)
		assert_ok(vmop_spec_parse(&specs, spec));
	assert_ok(vmop_query_run(&query, &specs, inputs, 2, ret));
	for (size_t i = 0; i < 2; i++)
		vmop_db_close(inputs[i].db);
}

/* Return the number of samples in a report of a time of the host's session; -1: it has none. */
static uint64_t samples(const char *from_to)
{
	char spec[96] = "";
	uint64_t sums[2];
	int from = 0, to = 0;
	if (from_to && sscanf(from_to, "%d..%d", &from, &to) == 2)
		snprintf(spec, sizeof(spec), "time:@%lld..@%lld", (long long)host_start_s + from,
			 (long long)host_start_s + to);
	for (unsigned i = 0; i < 2; i++) {
		_cleanup_(vmop_result_deinit) struct vmop_result result;
		run(VMOP_BY_DOMAIN, *spec ? spec : NULL, i, &result);
		sums[i] = result.selected[0].samples;
	}
	assert_int_equal(sums[0], sums[1]); /* whatever their order */
	return sums[0];
}

/* Return the facts of the guest's session in a report of both. */
static struct vmop_session_facts facts(void)
{
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	run(VMOP_BY_DOMAIN, NULL, false, &result);
	struct vmop_session_facts facts = result.catalog.sessions[1];
	assert_int_equal(result.catalog.sessions[0].guest, 0);
	assert_false(result.catalog.sessions[0].has_clock);
	return facts;
}

enum { ALL_OWN = LENGTH_S * (LENGTH_S + 1) / 2 };

/* The guest was restored after an hour, and its clock goes on from the time of saving. */
static void an_hour_behind(void **state)
{
	const int64_t behind_ns = 3600 * second_ns;
	(void)state;
	struct vmop_db_clock clock = clock_of(put_guest(behind_ns, LENGTH_S), behind_ns);
	put_host(&clock);
	assert_int_equal(samples(NULL), ALL_OWN); /* the host's copies count no second time */
	assert_int_equal(samples("3..4"), 4);
	assert_int_equal(samples("0..2"), 1 + 2);
	const struct vmop_session_facts found = facts();
	assert_true(found.guest && found.has_clock);
	assert_int_equal(found.ahead_ns, behind_ns);
	assert_int_equal(found.start_ns, host_start_s * second_ns);
	assert_int_equal(found.end_ns, (host_start_s + LENGTH_S) * second_ns);
}

static void an_hour_ahead(void **state)
{
	const int64_t ahead_ns = 3600 * second_ns;
	(void)state;
	struct vmop_db_clock clock = clock_of(put_guest(-ahead_ns, LENGTH_S), -ahead_ns);
	put_host(&clock);
	assert_int_equal(samples(NULL), ALL_OWN);
	assert_int_equal(samples("9..10"), 10);
}

/* Each second of a timeline has the samples of the guest in it. */
static void a_timeline(void **state)
{
	const int64_t behind_ns = 7 * 86400 * second_ns;
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	(void)state;
	struct vmop_db_clock clock = clock_of(put_guest(behind_ns, LENGTH_S), behind_ns);
	put_host(&clock);
	run(by_time, NULL, false, &result);
	assert_int_equal(result.n_rows, LENGTH_S);
	for (size_t i = 0; i < result.n_rows; i++) {
		const struct vmop_time_slot *slot =
			&result.times.items[result.rows[i].group->time - 1];
		int64_t at = (int64_t)slot->from_ns / second_ns - host_start_s;
		assert_int_equal(result.rows[i].counts[0].samples, at + 1);
	}
}

/* A service in the guest sets its clock in mid-session. */
static void set_in_the_session(void **state)
{
	const int64_t behind_ns = 1800 * second_ns;
	(void)state;
	struct vmop_db_clock clock = clock_of(put_guest(behind_ns, 5), behind_ns);
	clock.parts[clock.n++] = (struct vmop_db_clock_part){
		clock.parts[0].session_ns, (uint64_t)((host_start_s + 5) * second_ns), 0};
	put_host(&clock);
	for (int i = 0; i < LENGTH_S; i++) {
		char spec[32];
		snprintf(spec, sizeof(spec), "%d..%d", i, i + 1);
		assert_int_equal(samples(spec), i + 1);
	}
	assert_int_equal(samples(NULL), ALL_OWN);
	assert_int_equal(facts().ahead_ns, 0);
}

/* Without the clock of that very session the samples stay at the guest's time, which is known. */
static void unknown(void **state)
{
	const int64_t behind_ns = 3600 * second_ns;
	(void)state;
	int64_t start_ns = put_guest(behind_ns, LENGTH_S);
	struct vmop_db_clock clock = clock_of(start_ns - 1, behind_ns);
	const struct vmop_db_clock *const clocks[] = {NULL, &clock};
	for (size_t i = 0; i < 2; i++) {
		put_host(clocks[i]);
		const struct vmop_session_facts found = facts();
		assert_true(found.guest);
		assert_false(found.has_clock);
		assert_int_equal(found.start_ns, start_ns);
		assert_int_equal(samples("3..4"), 100);
		assert_int_equal(samples(NULL), ALL_OWN + LENGTH_S * 100);
	}
}

/* A report of the guest's session without its host's has the guest's times. */
static void by_itself(void **state)
{
	const int64_t behind_ns = 3600 * second_ns;
	struct vmop_session_input input = {.name = "guest"};
	const struct vmop_query query = {.dimensions = VMOP_BY_DOMAIN};
	const struct vmop_spec spec = {0};
	(void)state;
	int64_t start_ns = put_guest(behind_ns, LENGTH_S);
	assert_ok(vmop_db_open(paths[1], &input.db));
	/* Even after a report of both. */
	const struct vmop_db_clock clock = clock_of(start_ns, behind_ns);
	vmop_db_set_clock(input.db, &clock, (uint64_t)start_ns);
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	assert_ok(vmop_query_run(&query, &spec, &input, 1, &result));
	assert_int_equal(result.catalog.sessions[0].start_ns, start_ns);
	assert_int_equal(result.catalog.sessions[0].guest, 0);
	vmop_db_close(input.db);
}

static int set_up(void **state)
{
	(void)state;
	setenv("TZ", "UTC", 1);
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < 2; i++)
		snprintf(paths[i], sizeof(paths[i]), "%s/%zu.vmop", dir, i);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++)
		unlink(paths[i]);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_hour_behind), cmocka_unit_test(an_hour_ahead),
		cmocka_unit_test(a_timeline),	  cmocka_unit_test(set_in_the_session),
		cmocka_unit_test(unknown),	  cmocka_unit_test(by_itself),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
