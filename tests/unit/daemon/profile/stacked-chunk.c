// SPDX-License-Identifier: GPL-2.0-or-later
/* Keys that differ only in their stack: the aggregate orders them, and one chunk has their cells.
 */
#include "daemon/profile/stacked-chunk.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/profile/aggregate.h"
#include "tests/unit/ok.h"

enum { TASKS = 5, STACKS = 40, OFFSETS = 3 };

struct rig {
	char folder[64], path[96];
	struct vmop_db *db;
	struct vmop_stacked_chunk chunk;
	unsigned n_keys, n_chunks;
};

static void rename_nothing(void *arg, struct vmop_sample_key *key)
{
	(void)arg;
	(void)key;
}

static struct vmop_error *store(void *arg, const struct vmop_sample_key *key,
				const struct vmop_db_cell *cells, size_t n)
{
	struct rig *rig = arg;
	const struct vmop_db_chunk_key row = {
		.vcpu = -1, .cpu = -1, .task = {key->task.number}, .image = {1}};
	rig->n_keys++;
	struct vmop_error *err = vmop_stacked_chunk_add(&rig->chunk, rig->db, key, &row, cells, n);
	rig->n_chunks += rig->chunk.n == n; /* these cells began one */
	return err;
}

/* Count each stack of each task, and check the cells. */
static struct vmop_error *check_piece(void *arg, const struct vmop_db_chunk *chunk)
{
	unsigned(*seen)[STACKS + 1] = arg;
	assert_in_range(chunk->key.task.number, 1, TASKS);
	assert_in_range(chunk->key.stack.number, 1, STACKS);
	seen[chunk->key.task.number - 1][chunk->key.stack.number]++;
	assert_int_equal(chunk->n_cells, OFFSETS);
	for (size_t i = 0; i < chunk->n_cells; i++) {
		assert_int_equal(chunk->cells[i].offset, i);
		assert_int_equal(chunk->cells[i].samples, 2);
	}
	return NULL;
}

static void put_nodes(struct rig *rig)
{
	struct vmop_db_stack_node nodes[STACKS];
	assert_ok(vmop_db_put_image(rig->db, &(struct vmop_db_image){.id = {1},
								     .kind = VMOP_IMAGE_FILE,
								     .name = "/bin/program"}));
	for (uint32_t i = 0; i < STACKS; i++)
		nodes[i] = (struct vmop_db_stack_node){
			.id = {i + 1}, .parent = {i}, .image = {i != 0}, .offset = 1};
	assert_ok(vmop_db_put_stack_nodes(rig->db, nodes, STACKS));
}

static void stacks_of_a_task_are_one_chunk(void **state)
{
	static unsigned seen[TASKS][STACKS + 1];
	struct rig rig = {.folder = "/tmp/vmop-test-XXXXXX"};
	struct vmop_aggregate aggregate;
	char command[128];
	(void)state;
	assert_non_null(mkdtemp(rig.folder));
	snprintf(rig.path, sizeof(rig.path), "%s/session", rig.folder);
	assert_ok(vmop_db_create(rig.path, &rig.db));
	assert_true(vmop_aggregate_init(&aggregate, 16384, VMOP_AGGREGATE_STACK_KEYS_MAX, 0));
	/* Tasks and stacks take turns, so the keys come in another order. */
	for (uint32_t i = 0; i < 2 * TASKS * STACKS * OFFSETS; i++) {
		const struct vmop_sample_key key = {.task = {1 + i % TASKS},
						    .image = {1},
						    .vcpu = -1,
						    .cpu = -1,
						    .stack = {STACKS - i / TASKS % STACKS}};
		assert_true(
			vmop_aggregate_add(&aggregate, &key, i / TASKS / STACKS % OFFSETS, 1, 1));
	}
	assert_ok(vmop_db_begin_interval(rig.db, 1700000000000000000, 1000000000));
	put_nodes(&rig);
	assert_ok(vmop_aggregate_each(&aggregate, rename_nothing, store, &rig));
	assert_int_equal(rig.n_keys, TASKS * STACKS);
	assert_int_equal(rig.n_chunks, TASKS);
	assert_ok(vmop_stacked_chunk_put(&rig.chunk, rig.db));
	assert_ok(vmop_stacked_chunk_put(&rig.chunk, rig.db)); /* nothing is left */
	assert_ok(vmop_db_commit(rig.db));
	assert_ok(vmop_db_each_piece(rig.db, &(struct vmop_db_filter){0}, check_piece, seen));
	for (unsigned task = 0; task < TASKS; task++)
		for (unsigned stack = 1; stack <= STACKS; stack++)
			assert_int_equal(seen[task][stack], 1);
	vmop_stacked_chunk_deinit(&rig.chunk);
	vmop_aggregate_deinit(&aggregate);
	vmop_db_close(rig.db);
	snprintf(command, sizeof(command), "rm -rf '%s'", rig.folder);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_of_a_task_are_one_chunk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
