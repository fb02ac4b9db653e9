// SPDX-License-Identifier: GPL-2.0-or-later
/* The session's tree of stacks: storing its nodes, and loading them. */
#include <stdlib.h>

#include "libdb/connection.h"
#include "libdb/db.h"
#include "libdb/schema.h"
#include "libdb/stacks/nodes.h"

/* ---- writing ------------------------------------------------------------- */

struct vmop_error *vmop_db_insert_stack_nodes(struct vmop_db *db,
					      const struct vmop_db_stack_node *nodes, size_t n,
					      int level)
{
	_cleanup_free_ uint8_t *blob = NULL;
	size_t len_bytes;
	if (!vmop_stack_nodes_pack(nodes, n, level, &blob, &len_bytes))
		return &vmop_error_no_memory;
	return vmop_db_run(db, VMOP_DB_PUT_STACK_NODES, "iib", (int64_t)nodes[0].id.number,
			   (int64_t)n, (const void *)blob, len_bytes);
}

static struct vmop_error *check_nodes(const struct vmop_db *db,
				      const struct vmop_db_stack_node *nodes, size_t n)
{
	if (n > UINT32_MAX - db->last_stack_node)
		return vmop_error_new(VMOP_ERROR_LIMIT, "%s: too many nodes of stacks", db->path);
	for (size_t i = 0; i < n; i++)
		if (!vmop_stack_node_is_valid(&nodes[i], db->last_stack_node + 1 + (uint32_t)i))
			return vmop_db_out_of_range(db, "a node of stacks", nodes[i].id.number);
	return NULL;
}

struct vmop_error *vmop_db_put_stack_nodes(struct vmop_db *db,
					   const struct vmop_db_stack_node *nodes, size_t n)
{
	if (!db->in_interval)
		return vmop_error_new(VMOP_ERROR_CANT, "%s: no interval is open", db->path);
	struct vmop_error *err = check_nodes(db, nodes, n);
	for (size_t i = 0; !err && i < n; i += VMOP_STACK_NODES_MAX) {
		size_t now = n - i < VMOP_STACK_NODES_MAX ? n - i : VMOP_STACK_NODES_MAX;
		err = vmop_db_insert_stack_nodes(db, nodes + i, now, VMOP_STACK_NODES_LEVEL);
	}
	db->interval_failed |= err != NULL;
	if (err)
		return err;
	db->last_stack_node += (uint32_t)n;
	for (size_t i = 0; i < n; i++)
		vmop_sampled_symbols_mark(&db->sampled, nodes[i].image, nodes[i].offset);
	return err;
}

struct vmop_stack_id vmop_db_last_stack_node(const struct vmop_db *db)
{
	return (struct vmop_stack_id){db->last_stack_node};
}

/* ---- the tree in memory -------------------------------------------------- */

/* A node without its id, which is its position + 1. */
struct node {
	struct vmop_stack_id parent;
	struct vmop_image_id image;
	uint64_t offset;
};

struct vmop_db_stacks {
	struct node *nodes;
	uint32_t n;
};

void vmop_db_stacks_destroy(struct vmop_db_stacks *stacks)
{
	if (!stacks)
		return;
	free(stacks->nodes);
	free(stacks);
}

static void cleanup_stacks(struct vmop_db_stacks **stacks)
{
	vmop_db_stacks_destroy(*stacks);
}

uint32_t vmop_db_stacks_last(const struct vmop_db_stacks *stacks)
{
	return stacks ? stacks->n : 0;
}

bool vmop_db_stacks_node(const struct vmop_db_stacks *stacks, struct vmop_stack_id id,
			 struct vmop_db_stack_node *ret)
{
	if (id.number - 1 >= vmop_db_stacks_last(stacks)) /* 0 - 1 is above all */
		return false;
	const struct node *node = &stacks->nodes[id.number - 1];
	*ret = (struct vmop_db_stack_node){id, node->parent, node->image, node->offset};
	return true;
}

struct loading {
	struct vmop_db *db;
	struct vmop_db_stacks *stacks;
	size_t capacity, max_nodes;
	struct vmop_stack_nodes blob;
	uint64_t size_bytes, read_bytes; /* of the file, and of the blobs read until now */
};

/* Make room for n more nodes. It grows by a half, so that no node takes more than 24 bytes. */
static struct vmop_error *make_room(struct loading *loading, size_t n)
{
	size_t needed = loading->stacks->n + n;
	if (needed > loading->max_nodes)
		return vmop_error_new(VMOP_ERROR_LIMIT, "%s: more than %zu nodes of stacks",
				      loading->db->path, loading->max_nodes);
	if (needed <= loading->capacity)
		return NULL;
	size_t capacity = loading->capacity + loading->capacity / 2;
	if (capacity < needed)
		capacity = needed;
	if (capacity > loading->max_nodes)
		capacity = loading->max_nodes;
	struct node *grown = realloc(loading->stacks->nodes, capacity * sizeof(*grown));
	if (!grown)
		return &vmop_error_no_memory;
	loading->stacks->nodes = grown;
	loading->capacity = capacity;
	return NULL;
}

/* Append the nodes of the blob that loading->blob walks over. */
static enum vmop_stack_nodes_result append_nodes(struct loading *loading)
{
	struct vmop_db_stacks *stacks = loading->stacks;
	struct vmop_db_stack_node node;
	enum vmop_stack_nodes_result result;
	while ((result = vmop_stack_nodes_next(&loading->blob, &node)) == VMOP_STACK_NODES_OK)
		stacks->nodes[stacks->n++] = (struct node){node.parent, node.image, node.offset};
	return result == VMOP_STACK_NODES_END ? VMOP_STACK_NODES_OK : result;
}

static struct vmop_error *load_row(struct loading *loading, sqlite3_stmt *stmt)
{
	bool corrupt = false;
	uint32_t first = vmop_db_column_u32(stmt, 0, &corrupt);
	uint32_t n = vmop_db_column_u32(stmt, 1, &corrupt);
	const void *data = sqlite3_column_blob(stmt, 2);
	size_t len_bytes = (size_t)sqlite3_column_bytes(stmt, 2);
	loading->read_bytes += len_bytes;
	/* Many rows of a hostile file may refer to the same pages. */
	if (corrupt || !data || first != (uint64_t)loading->stacks->n + 1 ||
	    loading->read_bytes > loading->size_bytes)
		return vmop_db_corrupt(loading->db, "a row of the table stack_nodes");
	enum vmop_stack_nodes_result result =
		vmop_stack_nodes_begin(&loading->blob, data, len_bytes);
	if (!result && (loading->blob.next != first || loading->blob.n != n))
		result = VMOP_STACK_NODES_CORRUPT;
	struct vmop_error *err = result ? NULL : make_room(loading, n);
	if (err)
		return err;
	if (!result)
		result = append_nodes(loading);
	if (result == VMOP_STACK_NODES_NO_MEMORY)
		return &vmop_error_no_memory;
	return result ? vmop_db_corrupt(loading->db, "the nodes of stacks from %u on", first)
		      : NULL;
}

static struct vmop_error *load_rows(struct loading *loading)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	struct vmop_db *db = loading->db;
	bool row;
	struct vmop_error *err = vmop_db_measure(db, &loading->size_bytes);
	if (!err)
		err = vmop_db_prepare(
			db, "SELECT first, n_nodes, data FROM stack_nodes ORDER BY first", &stmt);
	while (!err && !(err = vmop_db_step(db, stmt, &row)) && row)
		err = load_row(loading, stmt);
	vmop_stack_nodes_deinit(&loading->blob);
	return err;
}

struct vmop_error *vmop_db_load_stacks(struct vmop_db *db, size_t max_bytes,
				       struct vmop_db_stacks **ret)
{
	*ret = NULL;
	if (db->version < VMOP_SCHEMA_WITH_STACKS)
		return NULL;
	_cleanup_(cleanup_stacks) struct vmop_db_stacks *stacks = calloc(1, sizeof(*stacks));
	if (!stacks)
		return &vmop_error_no_memory;
	struct loading loading = {
		.db = db, .stacks = stacks, .max_nodes = max_bytes / sizeof(struct node)};
	struct vmop_error *err = vmop_db_allow_work(db);
	if (!err)
		err = load_rows(&loading);
	if (!err && stacks->n)
		*ret = vmop_steal(&stacks);
	return err;
}
