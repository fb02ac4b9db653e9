// SPDX-License-Identifier: GPL-2.0-or-later
/* Eponymous-only virtual tables, as sqlite.org/vtab.html section 2.1.2 describes. */
#ifdef VMOP_CELLS_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1
#endif
#include "libdb/cells-table.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "libdb/pack.h"
#include "libdb/stacks/cells.h"
#include "libdb/stacks/nodes.h"

/* Both tables have four columns, and the blob as a hidden one. */
#define COLUMN_DATA 4

enum next {
	NEXT_ROW,
	NEXT_END,
	NEXT_BAD, /* no such blob, or a damaged one */
	NEXT_NO_MEMORY,
};

struct cursor;

struct kind {
	const char *name, *declaration, *content;
	/* Begin a walk over the blob; NEXT_ROW: it can begin. */
	enum next (*begin)(struct cursor *cursor, const void *blob, size_t len_bytes);
	enum next (*next)(struct cursor *cursor);
	uint64_t (*column)(const struct cursor *cursor, int column);
};

struct table {
	sqlite3_vtab base; /* first: SQLite accesses this part */
	const struct kind *kind;
};

struct cursor {
	sqlite3_vtab_cursor base; /* first, likewise */
	sqlite3_value *data;	  /* the blob, referenced during the walk */
	bool has_stacks;	  /* of cells: which walk it is */
	struct vmop_unpack unpack;
	struct vmop_unpack_stacks unpack_stacks;
	struct vmop_db_stack_cell cell;
	struct vmop_stack_nodes nodes;
	struct vmop_db_stack_node node;
	sqlite3_int64 number;
	bool ended;
};

/* ---- vmop_cells ----------------------------------------------------------- */

static enum next cells_begin(struct cursor *cursor, const void *blob, size_t len_bytes)
{
	cursor->has_stacks = vmop_pack_has_stacks(blob, len_bytes);
	cursor->cell.stack.number = 0;
	bool begins = cursor->has_stacks
			      ? vmop_unpack_stacks_begin(&cursor->unpack_stacks, blob, len_bytes)
			      : vmop_unpack_begin(&cursor->unpack, blob, len_bytes);
	return begins ? NEXT_ROW : NEXT_BAD;
}

static enum next cells_next(struct cursor *cursor)
{
	size_t n;
	switch (cursor->has_stacks
			? vmop_unpack_stacks_some(&cursor->unpack_stacks, &cursor->cell, 1, &n)
			: vmop_unpack_next(&cursor->unpack, &cursor->cell.cell)) {
	case VMOP_UNPACK_CELL:
		return NEXT_ROW;
	case VMOP_UNPACK_END:
		return NEXT_END;
	default:
		return NEXT_BAD;
	}
}

static uint64_t cells_column(const struct cursor *cursor, int column)
{
	const struct vmop_db_cell *cell = &cursor->cell.cell;
	const uint64_t columns[] = {cell->offset, cell->samples, cell->weight_events,
				    cursor->cell.stack.number};
	return columns[column];
}

static const struct kind cells_kind = {
	.name = "vmop_cells",
	.declaration = "CREATE TABLE x(offset INTEGER, samples INTEGER, weight INTEGER,"
		       " stack INTEGER, data BLOB HIDDEN)",
	.content = "packed cells",
	.begin = cells_begin,
	.next = cells_next,
	.column = cells_column,
};

/* ---- vmop_stack_nodes ----------------------------------------------------- */

static enum next next_of(enum vmop_stack_nodes_result result)
{
	switch (result) {
	case VMOP_STACK_NODES_OK:
		return NEXT_ROW;
	case VMOP_STACK_NODES_END:
		return NEXT_END;
	case VMOP_STACK_NODES_NO_MEMORY:
		return NEXT_NO_MEMORY;
	default:
		return NEXT_BAD;
	}
}

static enum next nodes_begin(struct cursor *cursor, const void *blob, size_t len_bytes)
{
	return next_of(vmop_stack_nodes_begin(&cursor->nodes, blob, len_bytes));
}

static enum next nodes_next(struct cursor *cursor)
{
	return next_of(vmop_stack_nodes_next(&cursor->nodes, &cursor->node));
}

static uint64_t nodes_column(const struct cursor *cursor, int column)
{
	const struct vmop_db_stack_node *node = &cursor->node;
	const uint64_t columns[] = {node->id.number, node->parent.number, node->image.number,
				    node->offset};
	return columns[column];
}

static const struct kind nodes_kind = {
	.name = "vmop_stack_nodes",
	.declaration = "CREATE TABLE x(id INTEGER, parent INTEGER, image INTEGER, offset INTEGER,"
		       " data BLOB HIDDEN)",
	.content = "packed nodes of stacks",
	.begin = nodes_begin,
	.next = nodes_next,
	.column = nodes_column,
};

/* ---- both ------------------------------------------------------------------- */

static int table_connect(sqlite3 *sqlite, void *aux, int argc, const char *const *argv,
			 sqlite3_vtab **ret, char **message)
{
	(void)argc, (void)argv, (void)message;
	const struct kind *kind = aux;
	int rc = sqlite3_declare_vtab(sqlite, kind->declaration);
	if (rc != SQLITE_OK)
		return rc;
	struct table *table = sqlite3_malloc(sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	*table = (struct table){.kind = kind};
	/* The function reads only its argument: views may use it. */
	sqlite3_vtab_config(sqlite, SQLITE_VTAB_INNOCUOUS);
	*ret = &table->base;
	return SQLITE_OK;
}

static int table_disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

/* Choose the only plan: the argument is given. */
static int table_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	for (int i = 0; i < info->nConstraint; i++) {
		if (info->aConstraint[i].iColumn != COLUMN_DATA ||
		    info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		if (!info->aConstraint[i].usable)
			return SQLITE_CONSTRAINT;
		info->aConstraintUsage[i].argvIndex = 1;
		info->aConstraintUsage[i].omit = 1;
		info->idxNum = 1;
		info->estimatedCost = 10;
		info->estimatedRows = 10;
		return SQLITE_OK;
	}
	info->idxNum = 0; /* without the argument there are no rows */
	return SQLITE_OK;
}

static int table_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret)
{
	(void)table;
	struct cursor *cursor = sqlite3_malloc(sizeof(*cursor));
	if (!cursor)
		return SQLITE_NOMEM;
	memset(cursor, 0, sizeof(*cursor));
	*ret = &cursor->base;
	return SQLITE_OK;
}

static int table_close(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	vmop_stack_nodes_deinit(&cursor->nodes);
	sqlite3_value_free(cursor->data);
	sqlite3_free(cursor);
	return SQLITE_OK;
}

static const struct kind *kind_of(const struct cursor *cursor)
{
	return ((const struct table *)cursor->base.pVtab)->kind;
}

/* Return the SQLite result code of a step. */
static int stepped(struct cursor *cursor, enum next next)
{
	const struct kind *kind = kind_of(cursor);
	cursor->ended = next == NEXT_END;
	if (next == NEXT_ROW || next == NEXT_END)
		return SQLITE_OK;
	if (next == NEXT_NO_MEMORY)
		return SQLITE_NOMEM;
	sqlite3_free(cursor->base.pVtab->zErrMsg);
	cursor->base.pVtab->zErrMsg =
		sqlite3_mprintf("%s: not a blob of %s", kind->name, kind->content);
	return SQLITE_ERROR;
}

static int table_next(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	cursor->number++;
	return stepped(cursor, kind_of(cursor)->next(cursor));
}

static int table_filter(sqlite3_vtab_cursor *base, int plan, const char *name, int argc,
			sqlite3_value **argv)
{
	(void)name;
	struct cursor *cursor = (struct cursor *)base;
	sqlite3_value_free(cursor->data);
	cursor->data = NULL;
	cursor->number = 0;
	cursor->ended = plan == 0 || argc < 1 || sqlite3_value_type(argv[0]) == SQLITE_NULL;
	if (cursor->ended)
		return SQLITE_OK;
	if (sqlite3_value_type(argv[0]) != SQLITE_BLOB)
		return stepped(cursor, NEXT_BAD);
	cursor->data = sqlite3_value_dup(argv[0]);
	if (!cursor->data)
		return SQLITE_NOMEM;
	const void *blob = sqlite3_value_blob(cursor->data);
	size_t len_bytes = (size_t)sqlite3_value_bytes(cursor->data);
	enum next next = blob ? kind_of(cursor)->begin(cursor, blob, len_bytes) : NEXT_BAD;
	return next == NEXT_ROW ? table_next(base) : stepped(cursor, next);
}

static int table_eof(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->ended;
}

static int table_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	struct cursor *cursor = (struct cursor *)base;
	if (column == COLUMN_DATA)
		sqlite3_result_value(context, cursor->data);
	else
		sqlite3_result_int64(context,
				     (sqlite3_int64)kind_of(cursor)->column(cursor, column));
	return SQLITE_OK;
}

static int table_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = ((struct cursor *)base)->number;
	return SQLITE_OK;
}

static const sqlite3_module module = {
	.xConnect = table_connect, /* no xCreate: it is there without CREATE VIRTUAL TABLE */
	.xBestIndex = table_best_index,
	.xDisconnect = table_disconnect,
	.xOpen = table_open,
	.xClose = table_close,
	.xFilter = table_filter,
	.xNext = table_next,
	.xEof = table_eof,
	.xColumn = table_column,
	.xRowid = table_rowid,
};

int vmop_cells_table_register(sqlite3 *sqlite)
{
	static const struct kind *const kinds[] = {&cells_kind, &nodes_kind};
	int rc = SQLITE_OK;
	for (size_t i = 0; rc == SQLITE_OK && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		rc = sqlite3_create_module_v2(sqlite, kinds[i]->name, &module, (void *)kinds[i],
					      NULL);
	return rc;
}

#ifdef VMOP_CELLS_EXTENSION
/* The name that sqlite3_load_extension makes of "vmop_cells.so". */
int sqlite3_vmopcells_init(sqlite3 *sqlite, char **message, const sqlite3_api_routines *api);

__attribute__((visibility("default"))) int sqlite3_vmopcells_init(sqlite3 *sqlite, char **message,
								  const sqlite3_api_routines *api)
{
	(void)message;
	SQLITE_EXTENSION_INIT2(api);
	return vmop_cells_table_register(sqlite);
}
#endif
