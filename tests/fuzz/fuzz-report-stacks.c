// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a session file with call stacks: make every report of stacks from it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "opreport/stacks/callgraph.h"
#include "opreport/stacks/inclusive.h"
#include "opreport/stacks/inverse-tree.h"
#include "opreport/stacks/stack-reader.h"
#include "opreport/stacks/tree-output.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

#define DIMENSIONS (VMOP_BY_DOMAIN | VMOP_BY_TASK | VMOP_BY_IMAGE | VMOP_BY_SYMBOL)

static FILE *nowhere;

/* Check what the walks of a finished tree rely on. */
static void check_tree(const struct vmop_call_tree *tree)
{
	for (uint32_t i = 1; i < tree->n_nodes; i++)
		if (tree->nodes[i].parent >= i || tree->nodes[i].frame >= tree->frames.n ||
		    tree->nodes[i].first_child >= tree->n_nodes ||
		    tree->nodes[i].next_sibling >= tree->n_nodes)
			abort();
}

static struct vmop_error *print(struct vmop_call_tree *tree, const char *format)
{
	const struct vmop_tree_output_options options = {0};
	const struct vmop_tree_output *output = vmop_tree_output_find(format);
	return output->print(tree, &options, nowhere);
}

static struct vmop_error *turn(const struct vmop_call_tree *tree)
{
	struct vmop_call_tree inverse = {0};
	struct vmop_callgraph graph = {0};
	struct vmop_error *err = vmop_inverse_tree_init(&inverse, tree, tree->result->base, 0.1);
	if (!err)
		check_tree(&inverse);
	if (!err && !tree->options.groups)
		err = vmop_callgraph_init(&graph, tree);
	vmop_callgraph_deinit(&graph);
	vmop_call_tree_deinit(&inverse);
	return err;
}

static struct vmop_error *report(struct vmop_result *result, struct vmop_call_tree *tree)
{
	static const char *const formats[] = {"folded", "flamegraph", "pprof"};
	struct vmop_error *err = NULL;
	check_tree(tree);
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		vmop_error_destroy(print(tree, formats[i])); /* pprof may not be built */
	err = turn(tree);
	if (!err && tree->options.by_mode && !tree->options.by_offset)
		err = vmop_inclusive_add(result, tree);
	return err;
}

static void read_stacks(struct vmop_db *db, const struct vmop_call_tree_options *options)
{
	static const struct vmop_stack_filter filter = {0};
	static const struct vmop_spec spec = {0};
	const struct vmop_session_input input = {.name = "fuzz", .db = db};
	struct vmop_query query = {.dimensions = DIMENSIONS};
	struct vmop_result result = {0};
	struct vmop_stack_reader *reader;
	struct vmop_call_tree *tree;
	struct vmop_error *err = vmop_stack_reader_create(&query, options, &filter, &reader);
	if (err)
		abort();
	query.sink = vmop_stack_reader_sink(reader);
	err = vmop_query_run(&query, &spec, &input, 1, &result);
	err = vmop_stack_reader_finish(reader, err, &tree);
	if (!err)
		err = report(&result, tree);
	vmop_error_destroy(err);
	vmop_stack_reader_destroy(reader);
	vmop_result_deinit(&result);
}

/* One file in memory, which each run overwrites. */
static char dir[] = "/dev/shm/vmop-fuzz-report-XXXXXX";
static char path[sizeof(dir) + 16], wal[sizeof(dir) + 16], shm[sizeof(dir) + 16];

static void remove_wal(void)
{
	unlink(wal);
	unlink(shm);
}

static void remove_all(void)
{
	remove_wal();
	unlink(path);
	rmdir(dir);
}

static FILE *make_file(void)
{
	nowhere = fopen("/dev/null", "w");
	if (!nowhere || !mkdtemp(dir)) {
		perror(dir);
		exit(3);
	}
	snprintf(path, sizeof(path), "%s/session", dir);
	snprintf(wal, sizeof(wal), "%s/session-wal", dir);
	snprintf(shm, sizeof(shm), "%s/session-shm", dir);
	atexit(remove_all);
	return fopen(path, "w");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static const struct vmop_call_tree_options trees[] = {
		{0},
		{.groups = VMOP_BY_DOMAIN | VMOP_BY_TASK, .by_mode = true},
		{.groups = VMOP_BY_TASK, .by_offset = true, .by_mode = true},
	};
	static FILE *file;
	struct vmop_db *db;
	if (!file)
		file = make_file();
	if (!file || ftruncate(fileno(file), 0) < 0 ||
	    pwrite(fileno(file), data, len_bytes, 0) != (ssize_t)len_bytes)
		abort();
	struct vmop_error *err = vmop_db_open(path, &db);
	for (size_t i = 0; i < sizeof(trees) / sizeof(*trees) && !err; i++)
		read_stacks(db, &trees[i]);
	if (!err)
		vmop_db_close(db);
	vmop_error_destroy(err);
	remove_wal();
	return 0;
}
