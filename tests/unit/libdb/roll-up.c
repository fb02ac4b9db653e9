// SPDX-License-Identifier: GPL-2.0-or-later
/* Rolling up: fewer rows, the same sums. */
#include "tests/unit/libdb/common.h"

#define MINUTE_NS (60 * VMOP_NS_PER_S)
#define HOUR_NS (60 * MINUTE_NS)

static struct vmop_db *new_session(const char *name)
{
	struct vmop_db *db;
	assert_ok(vmop_db_create(test_path(name), &db));
	put_facts(db);
	return db;
}

struct intervals {
	unsigned n[3]; /* by level */
	uint64_t last_end_ns;
	uint32_t last_id;
};

static struct vmop_error *count_interval(void *arg, const struct vmop_db_interval *interval)
{
	struct intervals *intervals = arg;
	assert_in_range(interval->level, 0, 2);
	intervals->n[interval->level]++;
	assert_true(interval->id > intervals->last_id);
	assert_true(interval->start_ns >= intervals->last_end_ns);
	intervals->last_id = interval->id;
	intervals->last_end_ns = interval->start_ns + interval->len_ns;
	return NULL;
}

static struct intervals intervals_of(struct vmop_db *db)
{
	struct intervals intervals = {0};
	assert_ok(vmop_db_each_interval(db, count_interval, &intervals));
	return intervals;
}

/* Hashes and sums of all cells of a session over its intervals, to compare. */
struct digest {
	uint64_t samples, weight_events, offsets;
};

static struct vmop_error *add_to_digest(void *arg, const struct vmop_db_sum *sum)
{
	struct digest *digest = arg;
	for (size_t i = 0; i < sum->n_cells; i++) {
		digest->samples += sum->cells[i].samples;
		digest->weight_events += sum->cells[i].weight_events;
		digest->offsets += sum->cells[i].offset * sum->cells[i].samples *
				   (sum->key.image.number + 3) * (sum->key.task.number + 7);
	}
	return NULL;
}

static struct digest digest_of(struct vmop_db *db)
{
	struct digest digest = {0};
	assert_ok(vmop_db_each_sum(db, NULL, 0, add_to_digest, &digest));
	return digest;
}

static void levels(void **state)
{
	(void)state;
	struct vmop_db *db = new_session("levels");
	/* From 30 s into a minute on, for 150 s. */
	for (unsigned i = 30; i < 180; i++)
		assert_ok(put_second(db, i));
	struct digest before = digest_of(db);
	bool more;
	/* The last whole minute is not over at 170 s. */
	uint64_t now_ns = TEST_START_NS + 170 * VMOP_NS_PER_S;
	assert_ok(vmop_db_roll_up(db, 0, now_ns, MINUTE_NS, 1, &more));
	assert_true(more);
	struct intervals intervals = intervals_of(db);
	assert_int_equal(intervals.n[0], 120);
	assert_int_equal(intervals.n[1], 1);
	assert_ok(vmop_db_roll_up(db, 0, now_ns, MINUTE_NS, 1, &more));
	assert_false(more);
	assert_ok(vmop_db_roll_up(db, 0, now_ns, MINUTE_NS, 100, &more));
	assert_false(more);
	intervals = intervals_of(db);
	assert_int_equal(intervals.n[0], 60);
	assert_int_equal(intervals.n[1], 2);
	struct digest after = digest_of(db);
	assert_memory_equal(&before, &after, sizeof(before));
	/* A filter for the first half minute selects the whole minute. */
	struct vmop_db_filter filter = {.from_ns = TEST_START_NS + 30 * VMOP_NS_PER_S,
					.to_ns = TEST_START_NS + 40 * VMOP_NS_PER_S};
	assert_int_equal(totals_of(db, &filter).samples, 300);
	filter.from_ns = 1;
	filter.to_ns = TEST_START_NS + 30 * VMOP_NS_PER_S;
	assert_int_equal(totals_of(db, &filter).samples, 0);
	assert_ok(vmop_db_check(db));
	/* Roll everything up into one hour, then continue. */
	assert_ok(vmop_db_roll_up(db, 0, TEST_START_NS + HOUR_NS, MINUTE_NS, 100, &more));
	assert_ok(vmop_db_roll_up(db, 1, TEST_START_NS + 2 * HOUR_NS, HOUR_NS, 100, &more));
	assert_ok(put_second(db, 9000));
	intervals = intervals_of(db);
	assert_int_equal(intervals.n[0], 1);
	assert_int_equal(intervals.n[1], 0);
	assert_int_equal(intervals.n[2], 1);
	assert_int_equal(totals_of(db, NULL).samples, 1510);
	assert_ok(vmop_db_check(db));
	assert_ok(vmop_db_finish(db));
}

struct tasks {
	uint64_t alive, merged_rows, merged;
};

static struct vmop_error *count_task(void *arg, const struct vmop_db_task *task)
{
	struct tasks *tasks = arg;
	if (!task->merged) {
		tasks->alive++;
		return NULL;
	}
	tasks->merged_rows++;
	tasks->merged += task->merged;
	assert_true(task->id.number >= VMOP_DB_TASK_ID_LIMIT);
	assert_int_equal(task->pid, 0);
	assert_string_equal(task->comm, "cc1");
	assert_int_equal(task->exe_image.number, 2);
	return NULL;
}

/* 20 short-lived processes a second, of two containers. */
static void put_busy_second(struct vmop_db *db, unsigned i)
{
	struct vmop_db_cell cell = {.samples = 1, .weight_events = 1000000};
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS + i * VMOP_NS_PER_S, VMOP_NS_PER_S));
	for (uint32_t n = 0; n < 20; n++) {
		uint32_t id = 10 + i * 20 + n;
		assert_ok(vmop_db_put_task(db,
					   &(struct vmop_db_task){.id = {id},
								  .pid = id,
								  .comm = "cc1",
								  .exe_image = {2},
								  .cgroup = n % 2 ? "/a" : "/b"}));
		struct vmop_db_chunk_key key = key_of(id, 2);
		cell.offset = 0x1000 + id % 64 * 4;
		assert_ok(vmop_db_put_chunk(db, &key, &cell, 1));
		assert_ok(vmop_db_end_task(db, (struct vmop_task_row_id){id},
					   TEST_START_NS + i * VMOP_NS_PER_S + 1));
	}
	assert_ok(vmop_db_commit(db));
}

/* A task with samples in several minutes is still one task. */
static void put_long_lived(struct vmop_db *db, unsigned i)
{
	struct vmop_db_chunk_key key = key_of(9, 2);
	assert_ok(vmop_db_put_task(
		db, &(struct vmop_db_task){
			    .id = {9}, .pid = 9, .comm = "cc1", .exe_image = {2}, .cgroup = "/a"}));
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS + i * VMOP_NS_PER_S + 1, VMOP_NS_PER_S));
	assert_ok(vmop_db_put_chunk(db, &key, &(struct vmop_db_cell){0x1000, 1, 1000000}, 1));
	assert_ok(vmop_db_commit(db));
}

static void dead_tasks_become_one(void **state)
{
	(void)state;
	struct vmop_db *db = new_session("dead");
	for (unsigned i = 0; i < 300; i++) {
		assert_ok(put_second(db, i));
		put_busy_second(db, i);
		if (i % 100 == 0)
			put_long_lived(db, i);
	}
	assert_ok(vmop_db_end_task(db, (struct vmop_task_row_id){9},
				   TEST_START_NS + 299 * VMOP_NS_PER_S));
	assert_int_equal(totals_of(db, NULL).n, 4 + 6000 + 1);
	bool more = true;
	while (more)
		assert_ok(vmop_db_roll_up(db, 0, TEST_START_NS + 300 * VMOP_NS_PER_S, MINUTE_NS, 1,
					  &more));
	struct totals totals = totals_of(db, NULL);
	assert_int_equal(totals.n, 4 + 2);
	assert_int_equal(totals.samples, 300 * 30 + 3);
	assert_int_equal(totals.weight_events, totals.samples * 1000000);
	struct tasks tasks = {0};
	assert_ok(vmop_db_each_task(db, count_task, &tasks));
	assert_int_equal(tasks.merged_rows, 2);
	assert_int_equal(tasks.merged, 6001);
	/* A sweep deletes their rows, except the last ones (it begins at 1024 tasks). */
	assert_in_range(tasks.alive, 2, 2 + 1200 + 1024);
	assert_ok(vmop_db_check(db));
	assert_ok(vmop_db_finish(db));
}

/* Merging at once, in several intervals, and by rolling up uses the same row. */
static void tasks_are_merged_at_once(void **state)
{
	(void)state;
	struct vmop_db *db = new_session("at-once");
	const struct vmop_db_task like = {.comm = "cc1", .exe_image = {2}, .cgroup = "/a"};
	struct vmop_task_row_id row = {0}, again = {0}, other = {0};
	for (unsigned i = 0; i < 2; i++) {
		assert_ok(vmop_db_begin_interval(db, TEST_START_NS + i * VMOP_NS_PER_S,
						 VMOP_NS_PER_S));
		assert_ok(vmop_db_merge_tasks(db, &like, 5, i ? &again : &row));
		struct vmop_db_chunk_key key = key_of(row.number, 2);
		assert_ok(
			vmop_db_put_chunk(db, &key, &(struct vmop_db_cell){0x1000, 3, 3000000}, 1));
		assert_ok(vmop_db_commit(db));
	}
	assert_true(row.number >= VMOP_DB_TASK_ID_LIMIT);
	assert_int_equal(again.number, row.number);
	/* A rollback restores the count, too. */
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS + 2 * VMOP_NS_PER_S, VMOP_NS_PER_S));
	assert_ok(vmop_db_merge_tasks(db, &like, 100, &again));
	vmop_db_rollback(db);
	/* A task without a cgroup has another row; an ended task adds one to the first row. */
	struct vmop_db_task bare = like;
	bare.cgroup = NULL;
	assert_ok(vmop_db_merge_tasks(db, &bare, 1, &other));
	assert_int_not_equal(other.number, row.number);
	put_long_lived(db, 3);
	assert_ok(vmop_db_end_task(db, (struct vmop_task_row_id){9},
				   TEST_START_NS + 4 * VMOP_NS_PER_S));
	struct digest before = digest_of(db);
	bool more;
	assert_ok(vmop_db_roll_up(db, 0, TEST_START_NS + 60 * VMOP_NS_PER_S, MINUTE_NS, 1, &more));
	assert_int_equal(digest_of(db).samples, before.samples);
	assert_int_equal(totals_of(db, NULL).n, 1);
	struct tasks tasks = {0};
	assert_ok(vmop_db_each_task(db, count_task, &tasks));
	assert_int_equal(tasks.merged_rows, 2);
	assert_int_equal(tasks.merged, 5 + 5 + 1 + 1);
	struct vmop_db_written written = vmop_db_written(db);
	assert_int_equal(written.samples, 7);
	assert_in_range(written.bytes, 3 * 20, 3 * 60);
	assert_ok(vmop_db_check(db));
	assert_ok(vmop_db_finish(db));
}

static struct vmop_error *see_loss(void *arg, const struct vmop_db_loss *loss)
{
	uint64_t *counts = arg;
	counts[strcmp(loss->name, "lost") == 0 ? 0 : 1] += loss->count;
	return NULL;
}

static void losses_and_space(void **state)
{
	(void)state;
	struct vmop_db *db = new_session("losses");
	bool more;
	uint64_t counts[2] = {0}, size_before = 0, size_after = 0;
	assert_ok(vmop_db_put_loss(db, &(struct vmop_db_loss){.name = "lost", .count = 1000}));
	/* Twenty minutes with a bound on intervals of a second: the file stops growing. */
	for (unsigned i = 0; i < 1200; i++) {
		assert_ok(vmop_db_begin_interval(db, TEST_START_NS + i * VMOP_NS_PER_S,
						 VMOP_NS_PER_S));
		assert_ok(vmop_db_put_loss(db, &(struct vmop_db_loss){.name = "lost", .count = 2}));
		if (i % 2)
			assert_ok(vmop_db_put_loss(
				db, &(struct vmop_db_loss){.name = "throttled", .count = 1}));
		for (uint32_t task = 1; task <= 2; task++)
			for (int cpu = 0; cpu < 64; cpu++) {
				struct vmop_db_chunk_key key = key_of(task, 2);
				key.cpu = cpu;
				assert_ok(vmop_db_put_chunk(
					db, &key, &(struct vmop_db_cell){0x1000, 1, 1}, 1));
			}
		assert_ok(vmop_db_commit(db));
		if (i % 60 == 59)
			assert_ok(vmop_db_roll_up(db, 0, TEST_START_NS + (i + 1) * VMOP_NS_PER_S,
						  MINUTE_NS, 2, &more));
		if (i == 600)
			assert_ok(vmop_db_size_bytes(db, &size_before));
	}
	assert_ok(vmop_db_size_bytes(db, &size_after));
	assert_in_range(size_after, size_before / 2, size_before + size_before / 4);
	assert_ok(vmop_db_each_loss(db, see_loss, counts));
	assert_int_equal(counts[0], 1000 + 2400);
	assert_int_equal(counts[1], 600);
	assert_int_equal(totals_of(db, NULL).samples, 1200 * 128);
	assert_ok(vmop_db_check(db));
	assert_ok(vmop_db_finish(db));
}

static void not_now(void **state)
{
	(void)state;
	struct vmop_db *db = new_session("not-now");
	bool more;
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS, VMOP_NS_PER_S));
	assert_error(vmop_db_roll_up(db, 0, UINT64_MAX, MINUTE_NS, 1, &more), VMOP_ERROR_CANT,
		     "interval is open");
	assert_ok(vmop_db_commit(db));
	assert_ok(vmop_db_roll_up(db, 0, UINT64_MAX, MINUTE_NS, UINT32_MAX, &more));
	assert_false(more);
	assert_ok(vmop_db_finish(db));
	assert_ok(vmop_db_open(test_path("not-now"), &db));
	assert_error(vmop_db_roll_up(db, 0, UINT64_MAX, MINUTE_NS, 1, &more), VMOP_ERROR_CANT,
		     "reading");
	vmop_db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels),
		cmocka_unit_test(dead_tasks_become_one),
		cmocka_unit_test(tasks_are_merged_at_once),
		cmocka_unit_test(losses_and_space),
		cmocka_unit_test(not_now),
	};
	return cmocka_run_group_tests(tests, test_dir_make, test_dir_remove);
}
