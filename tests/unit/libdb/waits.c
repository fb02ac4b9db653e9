// SPDX-License-Identifier: GPL-2.0-or-later
/* The time of vCPUs in session files: sums, times, roll-up of random streams, damage, old files. */
#include <sqlite3.h>

#include "tests/unit/libdb/common.h"

#define CAUSE(reason) vmop_db_exit_cause(VMOP_EXIT_SVM, reason)

static void run_sql(const char *name, const char *sql)
{
	sqlite3 *sqlite;
	assert_int_equal(sqlite3_open(test_path(name), &sqlite), SQLITE_OK);
	assert_int_equal(sqlite3_exec(sqlite, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(sqlite);
}

static struct vmop_db *new_session(const char *name)
{
	struct vmop_db *db = NULL;
	assert_ok(vmop_db_create(test_path(name), &db));
	put_facts(db);
	return db;
}

static uint32_t put_culprit(struct vmop_db *db, enum vmop_culprit_kind kind, const char *name)
{
	uint32_t id;
	assert_ok(vmop_db_put_culprit(db, &(struct vmop_db_culprit){.kind = kind, .name = name},
				      &id));
	return id;
}

static void put(struct vmop_db *db, uint32_t vcpu, enum vmop_wait_state state, uint64_t cause,
		uint64_t time_ns)
{
	const struct vmop_db_wait wait = {.domain = {1},
					  .vcpu = vcpu,
					  .state = state,
					  .cause = cause,
					  .count = 1,
					  .time_ns = time_ns};
	assert_ok(vmop_db_put_wait(db, &wait));
}

static void put_place(struct vmop_db *db, uint64_t cause, uint64_t offset, uint64_t count)
{
	const struct vmop_db_exit_place place = {
		.domain = {1}, .cause = cause, .image = {1}, .offset = offset, .count = count};
	assert_ok(vmop_db_put_exit_place(db, &place));
}

/* Sums that were read, by small numbers. */
struct seen {
	uint64_t times[4][VMOP_WAIT_N_STATES][4], counts[4][VMOP_WAIT_N_STATES][4];
	uint64_t places[4][8], n_rows, n_culprits;
	char names[8][32];
};

static struct vmop_error *see_wait(void *arg, const struct vmop_db_wait *wait)
{
	struct seen *seen = arg;
	assert_int_equal(wait->domain.number, 1);
	seen->times[wait->vcpu % 4][wait->state][wait->cause % 4] += wait->time_ns;
	seen->counts[wait->vcpu % 4][wait->state][wait->cause % 4] += wait->count;
	seen->n_rows++;
	return NULL;
}

static struct vmop_error *see_place(void *arg, const struct vmop_db_exit_place *place)
{
	struct seen *seen = arg;
	assert_int_equal(place->image.number, 1);
	seen->places[place->cause % 4][place->offset % 8] += place->count;
	return NULL;
}

static struct vmop_error *see_culprit(void *arg, const struct vmop_db_culprit *culprit)
{
	struct seen *seen = arg;
	seen->n_culprits++;
	snprintf(seen->names[culprit->id % 8], sizeof(seen->names[0]), "%s", culprit->name);
	return NULL;
}

static void read_all(struct vmop_db *db, uint64_t from_ns, uint64_t to_ns, struct seen *seen)
{
	*seen = (struct seen){0};
	assert_ok(vmop_db_each_wait_in(db, from_ns, to_ns, see_wait, seen));
	assert_ok(vmop_db_each_exit_place_in(db, from_ns, to_ns, see_place, seen));
	assert_ok(vmop_db_each_culprit(db, see_culprit, seen));
}

/* Store n seconds that each have the same rows. */
static void put_seconds(struct vmop_db *db, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		assert_ok(vmop_db_begin_interval(db, TEST_START_NS + i * VMOP_NS_PER_S,
						 VMOP_NS_PER_S));
		uint32_t by = put_culprit(db, VMOP_CULPRIT_PROCESS, "stress");
		assert_int_equal(by, 1);
		assert_int_equal(put_culprit(db, VMOP_CULPRIT_CGROUP, "/stress"), 2);
		put(db, 0, VMOP_WAIT_RUNNING, 0, 600);
		put(db, 0, VMOP_WAIT_WAITING, by, 300);
		put(db, 0, VMOP_WAIT_WAITING, by, 100); /* is added */
		put(db, 1, VMOP_WAIT_EXIT, CAUSE(2), 50);
		put_place(db, CAUSE(2), 5, 7);
		assert_ok(vmop_db_commit(db));
	}
}

static void rows_are_summed(void **state)
{
	struct vmop_db *db = new_session("sums");
	struct seen seen;
	(void)state;
	put_seconds(db, 3);
	assert_ok(vmop_db_check(db));
	read_all(db, 0, 0, &seen);
	assert_int_equal(seen.n_rows, 3);
	assert_int_equal(seen.n_culprits, 2);
	assert_string_equal(seen.names[1], "stress");
	assert_string_equal(seen.names[2], "/stress");
	assert_int_equal(seen.times[0][VMOP_WAIT_RUNNING][0], 1800);
	assert_int_equal(seen.times[0][VMOP_WAIT_WAITING][1], 1200);
	assert_int_equal(seen.counts[0][VMOP_WAIT_WAITING][1], 6);
	assert_int_equal(seen.times[1][VMOP_WAIT_EXIT][2], 150);
	assert_int_equal(seen.places[2][5], 21);
	read_all(db, TEST_START_NS + VMOP_NS_PER_S, TEST_START_NS + 2 * VMOP_NS_PER_S, &seen);
	assert_int_equal(seen.times[0][VMOP_WAIT_RUNNING][0], 600);
	read_all(db, TEST_START_NS + 2 * VMOP_NS_PER_S, 0, &seen);
	assert_int_equal(seen.places[2][5], 7);
	assert_ok(vmop_db_finish(db));
}

static void puts_are_checked(void **state)
{
	struct vmop_db *db = new_session("checked");
	struct vmop_db_wait wait = {.domain = {1}};
	struct seen seen;
	uint32_t id;
	(void)state;
	assert_error(vmop_db_put_wait(db, &wait), VMOP_ERROR_CANT, "no interval");
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS, VMOP_NS_PER_S));
	wait.state = VMOP_WAIT_N_STATES;
	assert_error(vmop_db_put_wait(db, &wait), VMOP_ERROR_LIMIT, "a vCPU's state");
	vmop_db_rollback(db);
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS, VMOP_NS_PER_S));
	assert_error(vmop_db_put_culprit(
			     db, &(struct vmop_db_culprit){.kind = VMOP_CULPRIT_N_KINDS}, &id),
		     VMOP_ERROR_LIMIT, "a culprit's kind");
	vmop_db_rollback(db);
	read_all(db, 0, 0, &seen);
	assert_int_equal(seen.n_rows + seen.n_culprits, 0);
	assert_ok(vmop_db_finish(db));
}

/* A stream of random rows, rolled up at random times, keeps all totals by key. */
static void random_streams_keep_totals(void **state)
{
	static const uint64_t lens_ns[] = {10 * VMOP_NS_PER_S, 60 * VMOP_NS_PER_S};
	(void)state;
	for (unsigned seed = 1; seed <= 4; seed++) {
		char name[32];
		struct seen *wanted = calloc(1, sizeof(*wanted)), seen;
		assert_non_null(wanted);
		snprintf(name, sizeof(name), "random-%u", seed);
		struct vmop_db *db = new_session(name);
		srandom(seed);
		for (unsigned second = 0; second < 200; second++) {
			bool more;
			uint64_t now_ns = TEST_START_NS + second * VMOP_NS_PER_S;
			assert_ok(vmop_db_begin_interval(db, now_ns, VMOP_NS_PER_S));
			for (long n = random() % 12; n; n--) {
				unsigned vcpu = (unsigned)random() % 4, cause = 0;
				unsigned in = (unsigned)random() % VMOP_WAIT_N_STATES;
				uint64_t time_ns = (uint64_t)random();
				if (in == VMOP_WAIT_WAITING)
					cause = put_culprit(db, VMOP_CULPRIT_PROCESS,
							    random() % 2 ? "a" : "b");
				else if (in == VMOP_WAIT_EXIT)
					cause = (unsigned)random() % 4;
				put(db, vcpu, in, cause, time_ns);
				wanted->times[vcpu][in][cause] += time_ns;
				wanted->counts[vcpu][in][cause]++;
				put_place(db, cause, time_ns % 8, vcpu + 1);
				wanted->places[cause][time_ns % 8] += vcpu + 1;
			}
			assert_ok(vmop_db_commit(db));
			if (random() % 20)
				continue;
			for (uint8_t level = 0; level < 2; level++)
				assert_ok(vmop_db_roll_up(db, level, now_ns, lens_ns[level],
							  1 + (unsigned)random() % 50, &more));
		}
		read_all(db, 0, 0, &seen);
		assert_memory_equal(seen.times, wanted->times, sizeof(seen.times));
		assert_memory_equal(seen.counts, wanted->counts, sizeof(seen.counts));
		assert_memory_equal(seen.places, wanted->places, sizeof(seen.places));
		assert_ok(vmop_db_check(db));
		assert_ok(vmop_db_finish(db));
		free(wanted);
	}
}

/* Old intervals go with their rows. */
static void old_rows_are_dropped(void **state)
{
	struct vmop_db *db = new_session("old-rows");
	struct seen seen;
	bool done;
	(void)state;
	put_seconds(db, 3);
	assert_ok(vmop_db_drop_oldest(db, UINT64_MAX, &done));
	assert_true(done);
	read_all(db, 0, 0, &seen);
	assert_int_equal(seen.times[0][VMOP_WAIT_RUNNING][0], 1200);
	assert_int_equal(seen.places[2][5], 14);
	assert_ok(vmop_db_check(db));
	assert_ok(vmop_db_finish(db));
}

static struct vmop_error *read_everything(struct vmop_db *db, struct seen *seen)
{
	struct vmop_error *err = vmop_db_each_culprit(db, see_culprit, seen);
	if (!err)
		err = vmop_db_each_wait_in(db, 0, 0, see_wait, seen);
	return err ? err : vmop_db_each_exit_place_in(db, 0, 0, see_place, seen);
}

static void damage_is_found(void **state)
{
	static const struct {
		const char *sql, *text;
	} damages[] = {
		{"UPDATE wait SET state = 99", "wait"},
		{"UPDATE wait SET vcpu = 1 << 40", "wait"},
		{"UPDATE wait SET time_ns = -1", "wait"},
		{"UPDATE wait SET cause = -1 WHERE state = 0", "wait"},
		{"UPDATE wait SET domain = -1", "wait"},
		{"UPDATE culprit SET kind = 99", "culprit"},
		{"UPDATE culprit SET domain = -1", "culprit"},
		{"UPDATE exit_place SET image = 1 << 40", "exit_place"},
		{"UPDATE exit_place SET count = -1", "exit_place"},
	};
	static const char *const dangling[] = {
		"DELETE FROM culprit",
		"UPDATE wait SET interval = 77",
		"UPDATE wait SET domain = 77",
		"UPDATE exit_place SET image = 77",
	};
	(void)state;
	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		struct seen seen = {0};
		char name[32];
		snprintf(name, sizeof(name), "damage-%zu", i);
		struct vmop_db *db = new_session(name);
		put_seconds(db, 1);
		assert_ok(vmop_db_finish(db));
		run_sql(name, damages[i].sql);
		assert_ok(vmop_db_open(test_path(name), &db));
		assert_error(read_everything(db, &seen), VMOP_ERROR_CORRUPT, damages[i].text);
		vmop_db_close(db);
	}
	for (size_t i = 0; i < sizeof(dangling) / sizeof(*dangling); i++) {
		char name[32];
		snprintf(name, sizeof(name), "dangling-%zu", i);
		struct vmop_db *db = new_session(name);
		put_seconds(db, 1);
		assert_ok(vmop_db_finish(db));
		run_sql(name, dangling[i]);
		assert_ok(vmop_db_open(test_path(name), &db));
		assert_error(vmop_db_check(db), VMOP_ERROR_CORRUPT, "missing reference");
		vmop_db_close(db);
	}
}

static void older_files_have_none(void **state)
{
	struct vmop_db *db = new_session("old");
	struct seen seen;
	(void)state;
	assert_ok(vmop_db_finish(db));
	run_sql("old", "DROP VIEW v_wait; DROP TABLE wait; DROP TABLE culprit;"
		       "DROP TABLE exit_place; PRAGMA user_version = 4");
	assert_ok(vmop_db_open(test_path("old"), &db));
	read_all(db, 0, 0, &seen);
	assert_int_equal(seen.n_rows + seen.n_culprits, 0);
	assert_ok(vmop_db_check(db));
	vmop_db_close(db);
	run_sql("old", "PRAGMA user_version = 5");
	assert_error(vmop_db_open(test_path("old"), &db), VMOP_ERROR_CORRUPT, "culprit");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_summed),
		cmocka_unit_test(puts_are_checked),
		cmocka_unit_test(random_streams_keep_totals),
		cmocka_unit_test(old_rows_are_dropped),
		cmocka_unit_test(damage_is_found),
		cmocka_unit_test(older_files_have_none),
	};
	return cmocka_run_group_tests(tests, test_dir_make, test_dir_remove);
}
