// SPDX-License-Identifier: GPL-2.0-or-later
/* Test the call trees of queries over session files. */
#include "opreport/stacks/stack-reader.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "tests/unit/ok.h"

enum { PROGRAM = 1, KERNEL };
enum { DEEP = 600 };

static char dir[] = "/tmp/vmop-stack-reader-XXXXXX";
static char path[64];

static void put_facts(struct vmop_db *db)
{
	const struct vmop_symbol functions[] = {{0x100, 0x100, "main", 't'},
						{0x200, 0x100, "work", 't'}};
	const struct vmop_db_event event = {.name = "clock", .source = "perf", .unit = "ns"};
	const struct vmop_db_domain host = {.kind = VMOP_DOMAIN_HOST, .name = "host"};
	const struct vmop_db_image program = {
		.id = {PROGRAM}, .kind = VMOP_IMAGE_FILE, .name = "/gone/program"};
	const struct vmop_db_task task = {.id = {1}, .pid = 10, .comm = "a"};
	assert_ok(vmop_db_put_event(db, &event));
	assert_ok(vmop_db_put_domain(db, &host));
	assert_ok(vmop_db_put_image(db, &program));
	assert_ok(vmop_db_put_task(db, &task));
	assert_ok(vmop_db_put_symbols(db, program.id, functions, 2));
}

/* Write a session with nodes[0..n), and a sample at each offset of work's with stack 1, 2, ... n.
 */
static void make(const struct vmop_db_stack_node *nodes, size_t n)
{
	struct vmop_db *db;
	const struct vmop_db_chunk_key key = {
		.mode = VMOP_MODE_USER, .vcpu = -1, .cpu = -1, .task = {1}, .image = {PROGRAM}};
	struct vmop_db_stack_cell *cells = calloc(n, sizeof(*cells));
	assert_non_null(cells);
	unlink(path);
	assert_ok(vmop_db_create(path, &db));
	put_facts(db);
	assert_ok(vmop_db_begin_interval(db, 1000000000, 1000000000));
	assert_ok(vmop_db_put_stack_nodes(db, nodes, n));
	for (size_t i = 0; i < n; i++)
		cells[i] = (struct vmop_db_stack_cell){{(uint32_t)i + 1}, {0x210, 1, 100}};
	assert_ok(vmop_db_put_stacks_chunk(db, &key, cells, n));
	assert_ok(vmop_db_commit(db));
	assert_ok(vmop_db_finish(db));
	free(cells);
}

/* A query's result with the tree of its stacks. */
struct run {
	struct vmop_db *db;
	struct vmop_result result;
	struct vmop_stack_reader *reader;
	struct vmop_call_tree *tree;
};

static void run_begin(struct run *run, const struct vmop_call_tree_options *options)
{
	struct vmop_query query = {.dimensions = VMOP_BY_DOMAIN | VMOP_BY_IMAGE | VMOP_BY_SYMBOL};
	const struct vmop_stack_filter filter = {0};
	struct vmop_spec spec = {0};
	*run = (struct run){0};
	assert_ok(vmop_db_open(path, &run->db));
	const struct vmop_session_input input = {.name = "test", .db = run->db};
	assert_ok(vmop_stack_reader_create(&query, options, &filter, &run->reader));
	query.sink = vmop_stack_reader_sink(run->reader);
	struct vmop_error *err = vmop_query_run(&query, &spec, &input, 1, &run->result);
	assert_ok(vmop_stack_reader_finish(run->reader, err, &run->tree));
}

static void run_end(struct run *run)
{
	vmop_stack_reader_destroy(run->reader);
	vmop_result_deinit(&run->result);
	vmop_db_close(run->db);
}

/* Return the tree as "FRAME total", indented by depth.  The caller frees it. */
static char *describe(struct run *run)
{
	char *text = NULL;
	size_t len, depth = 0;
	FILE *out = open_memstream(&text, &len);
	assert_non_null(out);
	for (uint32_t node = 0; (node = vmop_call_tree_next(run->tree, node, &depth));)
		fprintf(out, "%*s%s %d\n", (int)depth - 1, "",
			vmop_frame_name(&run->result, vmop_call_tree_frame(run->tree, node)),
			(int)vmop_call_tree_total(run->tree, node)->samples);
	fclose(out);
	return text;
}

static const struct vmop_db_stack_node known[] = {
	{{1}, {0}, {0}, VMOP_STACK_COMPLETE},
	{{2}, {1}, {PROGRAM}, 0x180}, /* main */
	{{3}, {2}, {PROGRAM}, 0x190}, /* main, from another line */
	{{4}, {0}, {0}, VMOP_STACK_COPY_SHORT},
	{{5}, {4}, {99}, 0x10}, /* an image that the session lacks */
};

/* Frames are unified by symbol; stacks begin with the reason why they are incomplete. */
static void stacks_become_a_tree(void **state)
{
	(void)state;
	const struct vmop_call_tree_options options = {.groups = VMOP_BY_DOMAIN};
	struct run run;
	make(known, sizeof(known) / sizeof(*known));
	run_begin(&run, &options);
	_cleanup_free_ char *text = describe(&run);
	assert_string_equal(text, "host 5\n"
				  " main 2\n"
				  "  work 1\n"
				  "  main 1\n"
				  "   work 1\n"
				  " [copy too small] 2\n"
				  "  work 1\n"
				  "  [unknown] 1\n"
				  "   work 1\n"
				  " work 1\n");
	assert_int_equal(run.result.stacks.ends[VMOP_STACK_COMPLETE], 3);
	assert_int_equal(run.result.stacks.ends[VMOP_STACK_COPY_SHORT], 2);
	assert_int_equal(run.result.n_rows, 1); /* the flat result is as without stacks */
	assert_int_equal(run.result.rows[0].counts[0].samples, 5);
	run_end(&run);
}

/* With offsets, two calls in one function are two frames. */
static void offsets_are_kept(void **state)
{
	(void)state;
	const struct vmop_call_tree_options options = {.by_offset = true};
	const struct vmop_db_stack_node nodes[] = {
		{{1}, {0}, {0}, VMOP_STACK_COMPLETE},
		{{2}, {1}, {PROGRAM}, 0x180},
		{{3}, {1}, {PROGRAM}, 0x190},
	};
	struct run run;
	make(nodes, 3);
	run_begin(&run, &options);
	size_t n = 0;
	for (size_t i = 0; i < run.tree->frames.n; i++) {
		const struct vmop_frame *frame = &run.tree->frames.items[i];
		if (vmop_frame_is_code(frame) && !strcmp(frame->key.symbol->name, "main"))
			n += frame->key.offset == 0x180 || frame->key.offset == 0x190;
	}
	assert_int_equal(n, 2);
	run_end(&run);
}

/* A stack that no daemon writes, of 600 frames, counts as damaged and is cut. */
static void deep_stacks_are_cut(void **state)
{
	(void)state;
	const struct vmop_call_tree_options options = {0};
	struct vmop_db_stack_node *nodes = calloc(DEEP + 1, sizeof(*nodes));
	assert_non_null(nodes);
	nodes[0] = (struct vmop_db_stack_node){{1}, {0}, {0}, VMOP_STACK_COMPLETE};
	for (uint32_t i = 1; i <= DEEP; i++)
		nodes[i] = (struct vmop_db_stack_node){{i + 1}, {i}, {PROGRAM}, 0x180};
	make(nodes, DEEP + 1);
	free(nodes);
	struct run run;
	run_begin(&run, &options);
	uint64_t all = run.result.stacks.damaged;
	for (size_t end = 0; end < VMOP_N_STACK_ENDS; end++)
		all += run.result.stacks.ends[end];
	assert_int_equal(all, DEEP + 1);
	size_t depth = 0, deepest = 0;
	for (uint32_t node = 0; (node = vmop_call_tree_next(run.tree, node, &depth));)
		deepest = depth > deepest ? depth : deepest;
	/* A word, the callers, the function. */
	assert_true(deepest > VMOP_STACK_FOLLOWED_MAX);
	assert_true(deepest <= VMOP_STACK_FOLLOWED_MAX + 2);
	assert_int_equal(run.result.stacks.damaged, DEEP - VMOP_STACK_FOLLOWED_MAX);
	run_end(&run);
}

static int begin(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/session.vmop", dir);
	return 0;
}

static int end(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_become_a_tree),
		cmocka_unit_test(offsets_are_kept),
		cmocka_unit_test(deep_stacks_are_cut),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
