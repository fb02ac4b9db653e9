// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks in session files: written, walked over, rolled up, rolled back, damaged. */
#include "tests/unit/libdb/common.h"

#include <sqlite3.h>

#include "vmop/stack.h"

#define MINUTE_NS (60 * VMOP_NS_PER_S)
#define N_NODES 7
#define MAX_BYTES ((size_t)1 << 20)

static const struct vmop_db_stack_node tree[N_NODES] = {
	{{1}, {0}, {0}, VMOP_STACK_COMPLETE},
	{{2}, {1}, {2}, 0x500},
	{{3}, {2}, {2}, 0x600},
	{{4}, {3}, {1}, 0x10},
	{{5}, {2}, {2}, 0x700},
	{{6}, {0}, {0}, 3},
	{{7}, {6}, {2}, UINT64_MAX},
};

/* Samples of a second: of each stack, 2 at 0x1000 and 1 at its id. */
static struct vmop_error *put_stacks(struct vmop_db *db, uint32_t task, uint32_t last_stack)
{
	struct vmop_db_stack_cell cells[2 * (N_NODES + 2)];
	size_t n = 0;
	for (uint32_t stack = 0; stack <= last_stack; stack++) {
		cells[n++] = (struct vmop_db_stack_cell){{stack}, {stack, 1, 1000000}};
		cells[n++] = (struct vmop_db_stack_cell){{stack}, {0x1000, 2, 2000000}};
	}
	struct vmop_db_chunk_key key = key_of(task, 2);
	return vmop_db_put_stacks_chunk(db, &key, cells, n);
}

static void begin(struct vmop_db *db, unsigned second)
{
	assert_ok(
		vmop_db_begin_interval(db, TEST_START_NS + second * VMOP_NS_PER_S, VMOP_NS_PER_S));
}

/* Make a session of n seconds: two tasks with 24 samples in stacks, and 2 without, each. */
static struct vmop_db *make(const char *name, unsigned n)
{
	static const struct vmop_db_cell plain[] = {{0, 1, 1000000}, {0x2000, 1, 1000000}};
	struct vmop_db *db;
	assert_ok(vmop_db_create(test_path(name), &db));
	put_facts(db);
	for (unsigned i = 0; i < n; i++) {
		begin(db, i);
		if (i == 0)
			assert_ok(vmop_db_put_stack_nodes(db, tree, 4));
		if (i == 1)
			assert_ok(vmop_db_put_stack_nodes(db, tree + 4, N_NODES - 4));
		for (uint32_t task = 1; task <= 2; task++) {
			struct vmop_db_chunk_key key = key_of(task, 2);
			assert_ok(put_stacks(db, task, i ? N_NODES : 4));
			assert_ok(vmop_db_put_chunk(db, &key, plain, 2));
		}
		assert_ok(vmop_db_commit(db));
	}
	return db;
}

/* Results of walks, by stack. */
struct seen {
	uint64_t samples[N_NODES + 1], weight_events, weighed_offsets;
	unsigned n_calls;
	struct vmop_db_chunk_key last;
};

static void see(struct seen *seen, const struct vmop_db_chunk_key *key,
		const struct vmop_db_cell *cells, size_t n)
{
	assert_in_range(key->stack.number, 0, N_NODES);
	assert_in_range(n, 1, 4);
	for (size_t i = 0; i < n; i++) {
		if (i)
			assert_true(cells[i].offset > cells[i - 1].offset);
		seen->samples[key->stack.number] += cells[i].samples;
		seen->weight_events += cells[i].weight_events;
		seen->weighed_offsets += cells[i].offset * cells[i].samples;
	}
	seen->n_calls++;
	seen->last = *key;
}

static struct vmop_error *see_chunk(void *arg, const struct vmop_db_chunk *chunk)
{
	see(arg, &chunk->key, chunk->cells, chunk->n_cells);
	return NULL;
}

/* Sums come once for each key, in order. */
static struct vmop_error *see_sum(void *arg, const struct vmop_db_sum *sum)
{
	struct seen *seen = arg;
	uint64_t before = (uint64_t)seen->last.task.number << 32 | seen->last.stack.number;
	uint64_t now = (uint64_t)sum->key.task.number << 32 | sum->key.stack.number;
	assert_true(!seen->n_calls || now > before);
	see(seen, &sum->key, sum->cells, sum->n_cells);
	return NULL;
}

static struct vmop_error *see_total(void *arg, const struct vmop_db_total *total)
{
	struct seen *seen = arg;
	assert_int_equal(total->key.stack.number, 0);
	seen->samples[0] += total->samples;
	seen->weight_events += total->weight_events;
	return NULL;
}

/* Check the results of a walk over a session of n seconds. */
static void check_seen(const struct seen *seen, unsigned n, unsigned n_calls)
{
	uint64_t offsets = 0;
	for (uint32_t stack = 0; stack <= N_NODES; stack++) {
		unsigned seconds = stack > 4 ? n - 1 : n;
		assert_int_equal(seen->samples[stack], 2 * seconds * (stack ? 3 : 3 + 2));
		offsets += UINT64_C(2) * seconds * (stack + 2 * 0x1000);
	}
	assert_int_equal(seen->weighed_offsets, offsets + UINT64_C(2) * n * 0x2000);
	assert_int_equal(seen->n_calls, n_calls);
}

static void check_walks(struct vmop_db *db, unsigned n)
{
	struct seen seen = {0};
	uint64_t samples = 2 * (n * 26 - 9);
	assert_ok(vmop_db_each_sum(db, NULL, 0, see_sum, &seen));
	check_seen(&seen, n, 2 * (N_NODES + 1));
	seen = (struct seen){0};
	assert_ok(vmop_db_each_sum(db, NULL, VMOP_DB_MERGE_TASKS, see_sum, &seen));
	check_seen(&seen, n, N_NODES + 1);
	seen = (struct seen){0};
	assert_ok(vmop_db_each_sum(db, NULL, VMOP_DB_MERGE_TASKS | VMOP_DB_MERGE_CPUS, see_sum,
				   &seen));
	check_seen(&seen, n, N_NODES + 1);
	seen = (struct seen){0};
	assert_ok(vmop_db_each_total(db, NULL, see_total, &seen));
	assert_int_equal(seen.samples[0], samples);
	assert_int_equal(seen.weight_events, samples * 1000000);
	assert_ok(vmop_db_check(db));
}

static struct vmop_error *sum_merged(void *arg, const struct vmop_db_sum *sum)
{
	struct seen *seen = arg;
	/* The ids of the stacks, 0 to 7, then 0x1000 and 0x2000. */
	assert_int_equal(sum->n_cells, N_NODES + 1 + 2);
	assert_int_equal(sum->key.stack.number, 0);
	for (size_t i = 0; i < sum->n_cells; i++)
		seen->samples[0] += sum->cells[i].samples;
	seen->n_calls++;
	return NULL;
}

static void walks(void **state)
{
	(void)state;
	struct vmop_db *db = make("walks", 50), *reader;
	check_walks(db, 50);
	assert_ok(vmop_db_open(test_path("walks"), &reader)); /* beside the live writer */
	check_walks(reader, 50);
	struct seen seen = {0};
	unsigned n_groups = 2 * (50 * (N_NODES + 1) - 3);
	assert_ok(vmop_db_each_chunk(reader, NULL, see_chunk, &seen));
	check_seen(&seen, 50, n_groups + 2 * 50);
	seen = (struct seen){0};
	assert_ok(vmop_db_each_piece(reader, NULL, see_chunk, &seen));
	check_seen(&seen, 50, n_groups + 2 * 50);
	seen = (struct seen){0};
	assert_ok(vmop_db_each_sum(reader, NULL, VMOP_DB_MERGE_STACKS, sum_merged, &seen));
	assert_int_equal(seen.n_calls, 2);
	assert_int_equal(seen.samples[0], 2 * (50 * 26 - 9));
	vmop_db_close(reader);
	assert_ok(vmop_db_finish(db));
}

static struct vmop_error *count_piece(void *arg, const struct vmop_db_chunk *piece)
{
	assert_int_equal(piece->key.stack.number, 7);
	*(uint64_t *)arg += piece->n_cells;
	return NULL;
}

/* Pieces of more cells than one piece has. */
static void long_pieces(void **state)
{
	(void)state;
	enum { N = 3000 };
	struct vmop_db_stack_cell *cells = calloc(N, sizeof(*cells));
	struct vmop_db *db = make("long", 2);
	struct vmop_db_chunk_key key = key_of(1, 2);
	for (uint32_t i = 0; i < N; i++)
		cells[i] = (struct vmop_db_stack_cell){{7}, {i, 1, 1}};
	begin(db, 2);
	assert_ok(vmop_db_put_stacks_chunk(db, &key, cells, N));
	assert_ok(vmop_db_commit(db));
	uint64_t samples = 0;
	const struct vmop_db_filter filter = {.from_ns = TEST_START_NS + 2 * VMOP_NS_PER_S};
	assert_ok(vmop_db_each_piece(db, &filter, count_piece, &samples));
	assert_int_equal(samples, N);
	free(cells);
	assert_ok(vmop_db_finish(db));
}

static void check_tree(struct vmop_db *db)
{
	struct vmop_db_stacks *stacks;
	struct vmop_db_stack_node node;
	assert_ok(vmop_db_load_stacks(db, MAX_BYTES, &stacks));
	assert_int_equal(vmop_db_stacks_last(stacks), N_NODES);
	for (uint32_t i = 0; i < N_NODES; i++) {
		assert_true(vmop_db_stacks_node(stacks, tree[i].id, &node));
		assert_node(&node, &tree[i]);
	}
	assert_false(vmop_db_stacks_node(stacks, (struct vmop_stack_id){0}, &node));
	assert_false(vmop_db_stacks_node(stacks, (struct vmop_stack_id){N_NODES + 1}, &node));
	vmop_db_stacks_destroy(stacks);
	assert_error(vmop_db_load_stacks(db, N_NODES * 16 - 1, &stacks), VMOP_ERROR_LIMIT, "nodes");
	assert_null(stacks);
}

static void rolled_up(void **state)
{
	(void)state;
	struct vmop_db *db = make("rolled-up", 130);
	bool more;
	check_tree(db);
	assert_ok(vmop_db_roll_up(db, 0, TEST_START_NS + 2 * MINUTE_NS, MINUTE_NS, 10, &more));
	check_walks(db, 130);
	assert_ok(
		vmop_db_roll_up(db, 1, TEST_START_NS + 120 * MINUTE_NS, 60 * MINUTE_NS, 10, &more));
	check_walks(db, 130);
	struct seen seen = {0};
	assert_ok(vmop_db_each_chunk(db, NULL, see_chunk, &seen));
	check_seen(&seen, 130, 11 * 2 * (N_NODES + 2));
	check_tree(db);
	assert_ok(vmop_db_finish(db));
	assert_ok(vmop_db_open(test_path("rolled-up"), &db));
	check_walks(db, 130);
	check_tree(db);
	vmop_db_close(db);
}

/* A session without stacks has none. */
static void none(void **state)
{
	(void)state;
	struct vmop_db *db;
	struct vmop_db_stacks *stacks;
	assert_ok(vmop_db_create(test_path("none"), &db));
	put_facts(db);
	assert_ok(put_second(db, 0));
	assert_ok(vmop_db_load_stacks(db, MAX_BYTES, &stacks));
	assert_null(stacks);
	assert_int_equal(vmop_db_stacks_last(stacks), 0);
	vmop_db_stacks_destroy(stacks);
	assert_ok(vmop_db_check(db));
	assert_ok(vmop_db_finish(db));
}

static void rolled_back(void **state)
{
	(void)state;
	struct vmop_db *db;
	assert_ok(vmop_db_create(test_path("back"), &db));
	put_facts(db);
	assert_error(vmop_db_put_stack_nodes(db, tree, 1), VMOP_ERROR_CANT, "no interval");
	begin(db, 0);
	assert_ok(vmop_db_put_stack_nodes(db, tree, 2));
	assert_ok(vmop_db_commit(db));
	begin(db, 1);
	assert_ok(vmop_db_put_stack_nodes(db, tree + 2, 3));
	assert_int_equal(vmop_db_last_stack_node(db).number, 5);
	vmop_db_rollback(db);
	assert_int_equal(vmop_db_last_stack_node(db).number, 2);
	begin(db, 1);
	assert_error(vmop_db_put_stack_nodes(db, tree + 3, 1), VMOP_ERROR_LIMIT, "node");
	assert_error(vmop_db_commit(db), VMOP_ERROR_CANT, "dropped");
	begin(db, 1);
	assert_ok(vmop_db_put_stack_nodes(db, tree + 2, 5));
	assert_ok(put_stacks(db, 1, N_NODES));
	assert_ok(vmop_db_commit(db));
	check_tree(db);
	/* A stack that does not exist, and cells that do not ascend. */
	begin(db, 2);
	assert_error(put_stacks(db, 1, N_NODES + 1), VMOP_ERROR_LIMIT, "stack");
	vmop_db_rollback(db);
	vmop_db_drop_rejected(db);
	begin(db, 2);
	assert_ok(put_stacks(db, 1, N_NODES + 1));
	assert_ok(vmop_db_commit(db));
	struct vmop_db_rejected rejected;
	vmop_db_rejected(db, &rejected);
	assert_int_equal(rejected.samples, 3 * (N_NODES + 2));
	assert_ok(vmop_db_check(db));
	assert_ok(vmop_db_finish(db));
}

static void run_sql(const char *name, const char *sql)
{
	sqlite3 *sqlite;
	assert_int_equal(sqlite3_open(test_path(name), &sqlite), SQLITE_OK);
	if (sqlite3_exec(sqlite, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(sqlite));
	sqlite3_close(sqlite);
}

/* A file of the first version has the table stack, which was never filled. */
static void first_version(void **state)
{
	(void)state;
	struct vmop_db *db;
	struct vmop_db_stacks *stacks;
	assert_ok(vmop_db_create(test_path("v1"), &db));
	put_facts(db);
	assert_ok(put_second(db, 0));
	assert_ok(vmop_db_finish(db));
	run_sql("v1", "DROP TABLE stack_nodes; PRAGMA user_version = 1;"
		      "CREATE TABLE stack(\n"
		      "  id INTEGER PRIMARY KEY CHECK(id > parent),\n"
		      "  parent INTEGER NOT NULL,\n"
		      "  image INTEGER NOT NULL REFERENCES image,\n"
		      "  offset INTEGER NOT NULL\n"
		      ") STRICT");
	assert_ok(vmop_db_open(test_path("v1"), &db));
	assert_ok(vmop_db_load_stacks(db, MAX_BYTES, &stacks));
	assert_null(stacks);
	struct seen seen = {0};
	assert_ok(vmop_db_each_total(db, NULL, see_total, &seen));
	assert_int_equal(seen.samples[0], 10);
	assert_ok(vmop_db_check(db));
	vmop_db_close(db);
	run_sql("v1", "PRAGMA user_version = 2");
	assert_error(vmop_db_open(test_path("v1"), &db), VMOP_ERROR_CORRUPT, "stack_nodes");
}

static void damaged(void **state)
{
	(void)state;
	static const struct {
		const char *sql;
		bool loads;
	} damages[] = {
		{"DELETE FROM stack_nodes WHERE first = 1", false},
		{"DELETE FROM stack_nodes WHERE first = 5", true},
		{"UPDATE stack_nodes SET n_nodes = 4294967295", false},
		{"UPDATE stack_nodes SET n_nodes = -1 WHERE first = 5", false},
		{"UPDATE stack_nodes SET first = 9 WHERE first = 5", false},
		{"UPDATE stack_nodes SET data = zeroblob(100)", false},
		{"UPDATE stack_nodes SET data = x''", false},
		{"UPDATE stack_nodes SET data = (SELECT data FROM stack_nodes WHERE first = 1)",
		 false},
		{"DELETE FROM image WHERE id = 1", true},
		{"UPDATE chunk SET stack = 0", true},
		{"UPDATE chunk SET stack = 1", true},
		{"UPDATE chunk SET stack = 2 WHERE stack = 1", true},
		{"UPDATE chunk SET cells = x'2101ffffffff1f00' WHERE stack = 1", true},
		{"UPDATE chunk SET cells = x'2101' WHERE stack = 1", true},
	};
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct vmop_db *db = make("damaged", 3);
		struct vmop_db_stacks *stacks = NULL;
		assert_ok(vmop_db_finish(db));
		run_sql("damaged", damages[i].sql);
		assert_ok(vmop_db_open(test_path("damaged"), &db));
		assert_error(vmop_db_check(db), VMOP_ERROR_CORRUPT, "corrupt");
		if (damages[i].loads)
			assert_ok(vmop_db_load_stacks(db, MAX_BYTES, &stacks));
		else
			assert_error(vmop_db_load_stacks(db, MAX_BYTES, &stacks),
				     VMOP_ERROR_CORRUPT, "node");
		vmop_db_stacks_destroy(stacks);
		vmop_db_close(db);
		unlink(test_path("damaged"));
	}
}

static int64_t number(const char *name, const char *sql)
{
	sqlite3 *sqlite;
	sqlite3_stmt *stmt;
	assert_int_equal(sqlite3_open(test_path(name), &sqlite), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(sqlite, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	int64_t result = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(sqlite);
	return result;
}

/* Store n nodes as a chain, in an interval of their own. */
static void put_chain(struct vmop_db *db, uint32_t n)
{
	_cleanup_free_ struct vmop_db_stack_node *nodes = calloc(n, sizeof(*nodes));
	uint32_t first = vmop_db_last_stack_node(db).number + 1;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t id = first + i;
		nodes[i] = (struct vmop_db_stack_node){
			{id}, {id - 1}, {id > 1 ? 2 : 0}, id * UINT64_C(64)};
	}
	begin(db, first);
	assert_ok(vmop_db_put_stack_nodes(db, nodes, n));
	assert_ok(vmop_db_commit(db));
}

static void expect_chain(const char *name, uint32_t n)
{
	struct vmop_db *db;
	struct vmop_db_stacks *stacks;
	struct vmop_db_stack_node node;
	assert_ok(vmop_db_open(test_path(name), &db));
	assert_ok(vmop_db_check(db));
	assert_ok(vmop_db_load_stacks(db, 16 * MAX_BYTES, &stacks));
	assert_int_equal(vmop_db_stacks_last(stacks), n);
	for (uint32_t id = 1; id <= n; id++) {
		assert_true(vmop_db_stacks_node(stacks, (struct vmop_stack_id){id}, &node));
		assert_int_equal(node.parent.number, id - 1);
		assert_int_equal(node.offset, id * UINT64_C(64));
	}
	vmop_db_stacks_destroy(stacks);
	vmop_db_close(db);
}

/* Rows of nodes are merged from the end, and a much larger row stays as it is. */
static void merged(void **state)
{
	(void)state;
	static const char rows[] = "SELECT count(*) FROM stack_nodes";
	struct vmop_db *db;
	assert_ok(vmop_db_create(test_path("merged"), &db));
	put_facts(db);
	assert_ok(vmop_db_merge_stack_nodes(db));
	put_chain(db, 5000);
	for (int i = 0; i < 3; i++)
		put_chain(db, 100);
	assert_ok(vmop_db_merge_stack_nodes(db)); /* too few */
	assert_int_equal(number("merged", rows), 4);
	put_chain(db, 100);
	begin(db, 60);
	assert_error(vmop_db_merge_stack_nodes(db), VMOP_ERROR_CANT, "open");
	vmop_db_rollback(db);
	assert_ok(vmop_db_merge_stack_nodes(db));
	assert_int_equal(number("merged", rows), 2);
	expect_chain("merged", 5400);
	/* A row has a limit, and the rest another row. */
	for (int i = 0; i < 5; i++)
		put_chain(db, 20000);
	assert_ok(vmop_db_merge_stack_nodes(db)); /* the last three of them */
	put_chain(db, 100);
	assert_ok(vmop_db_finish(db));
	assert_int_equal(number("merged", "SELECT max(n_nodes) <= 65536 FROM stack_nodes"), 1);
	assert_int_equal(number("merged", "PRAGMA freelist_count"), 0);
	expect_chain("merged", 105500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks),       cmocka_unit_test(long_pieces),
		cmocka_unit_test(rolled_up),   cmocka_unit_test(none),
		cmocka_unit_test(rolled_back), cmocka_unit_test(first_version),
		cmocka_unit_test(damaged),     cmocka_unit_test(merged),
	};
	return cmocka_run_group_tests(tests, test_dir_make, test_dir_remove);
}
