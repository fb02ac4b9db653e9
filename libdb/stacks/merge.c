// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Merging blobs of nodes.  A flush stores its nodes as one blob, so that a crash loses no more than
 * an interval.  Zstandard finds fewer repetitions in small blobs: those of a minute take a quarter
 * less room as one.
 */
#include <stdlib.h>

#include "libdb/connection.h"
#include "libdb/db.h"
#include "libdb/schema.h"
#include "libdb/stacks/nodes.h"

/* Fewer rows are not worth the work. */
#define MIN_ROWS 4

/* The last rows of the table, from the node `first` on. */
struct tail {
	uint32_t first, n_nodes, n_rows;
};

/*
 * Find the rows to merge: the last ones, back to the first that is more than twice as large as all
 * behind it.  So a node is packed again once for each doubling of its blob.
 */
static struct vmop_error *find_tail(struct vmop_db *db, struct tail *ret)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	bool row, corrupt = false;
	struct tail tail = {0};
	struct vmop_error *err = vmop_db_prepare(
		db, "SELECT first, n_nodes FROM stack_nodes ORDER BY first DESC", &stmt);
	while (!err && !(err = vmop_db_step(db, stmt, &row)) && row) {
		uint32_t first = vmop_db_column_u32(stmt, 0, &corrupt);
		uint32_t n = vmop_db_column_u32(stmt, 1, &corrupt);
		if (corrupt)
			return vmop_db_corrupt(db, "a row of the table stack_nodes");
		if (n > VMOP_STACK_NODES_MAX - tail.n_nodes ||
		    (tail.n_rows && n / 2 > tail.n_nodes))
			break;
		tail = (struct tail){first, tail.n_nodes + n, tail.n_rows + 1};
	}
	*ret = tail;
	return err;
}

/* Append a blob's nodes to nodes[*n], which has room up to max. False: damaged or no memory. */
static bool append(const void *data, size_t len_bytes, struct vmop_db_stack_node *nodes, size_t *n,
		   size_t max)
{
	struct vmop_stack_nodes blob = {0};
	enum vmop_stack_nodes_result result = vmop_stack_nodes_begin(&blob, data, len_bytes);
	while (!result && *n < max)
		if (!(result = vmop_stack_nodes_next(&blob, &nodes[*n])))
			(*n)++;
	bool is_whole = !result ? blob.n == 0 : result == VMOP_STACK_NODES_END;
	vmop_stack_nodes_deinit(&blob);
	return is_whole;
}

static struct vmop_error *read_tail(struct vmop_db *db, const struct tail *tail,
				    struct vmop_db_stack_node *nodes)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	bool row;
	size_t n = 0;
	struct vmop_error *err = vmop_db_prepare(
		db, "SELECT data FROM stack_nodes WHERE first >= ?1 ORDER BY first", &stmt);
	if (!err)
		sqlite3_bind_int64(stmt, 1, tail->first);
	while (!err && !(err = vmop_db_step(db, stmt, &row)) && row) {
		const void *data = sqlite3_column_blob(stmt, 0);
		if (!data ||
		    !append(data, (size_t)sqlite3_column_bytes(stmt, 0), nodes, &n, tail->n_nodes))
			return vmop_db_corrupt(db, "nodes of stacks");
	}
	for (size_t i = 0; !err && i < tail->n_nodes; i++)
		if (i >= n || nodes[i].id.number != tail->first + i)
			return vmop_db_corrupt(db, "nodes of stacks");
	return err;
}

static struct vmop_error *replace(struct vmop_db *db, const struct tail *tail,
				  const struct vmop_db_stack_node *nodes)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	bool row;
	struct vmop_error *err =
		vmop_db_prepare(db, "DELETE FROM stack_nodes WHERE first >= ?1", &stmt);
	if (err)
		return err;
	sqlite3_bind_int64(stmt, 1, tail->first);
	err = vmop_db_step(db, stmt, &row);
	return err ? err
		   : vmop_db_insert_stack_nodes(db, nodes, tail->n_nodes,
						VMOP_STACK_NODES_MERGED_LEVEL);
}

struct vmop_error *vmop_db_merge_stack_nodes(struct vmop_db *db)
{
	struct tail tail = {0};
	if (!db->is_writer || db->in_interval)
		return vmop_error_new(VMOP_ERROR_CANT, "%s: %s", db->path,
				      db->is_writer ? "an interval is open" : "opened for reading");
	if (!db->last_stack_node)
		return NULL;
	struct vmop_error *err = find_tail(db, &tail);
	if (err || tail.n_rows < MIN_ROWS)
		return err;
	_cleanup_free_ struct vmop_db_stack_node *nodes = calloc(tail.n_nodes, sizeof(*nodes));
	if (!nodes)
		return &vmop_error_no_memory;
	err = vmop_db_run(db, VMOP_DB_BEGIN, "");
	if (err)
		return err;
	err = read_tail(db, &tail, nodes);
	if (!err)
		err = replace(db, &tail, nodes);
	if (!err)
		err = vmop_db_run(db, VMOP_DB_COMMIT, "");
	if (err && !sqlite3_get_autocommit(db->sqlite))
		vmop_error_destroy(vmop_db_run(db, VMOP_DB_ROLLBACK, ""));
	return err;
}
