// SPDX-License-Identifier: GPL-2.0-or-later
/* An eponymous-only virtual table, as sqlite.org/vtab.html section 2.1.2 describes. */
#ifdef VMOP_CELLS_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1
#endif
#include "libdb/cells-table.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "libdb/pack.h"

enum column {
	COLUMN_OFFSET,
	COLUMN_SAMPLES,
	COLUMN_WEIGHT,
	COLUMN_DATA,
};

struct cursor {
	sqlite3_vtab_cursor base; /* first: SQLite accesses this part */
	sqlite3_value *data;	  /* the blob, referenced during the walk */
	struct vmop_unpack unpack;
	struct vmop_db_cell cell;
	sqlite3_int64 number;
	bool ended;
};

static int cells_connect(sqlite3 *sqlite, void *aux, int argc, const char *const *argv,
			 sqlite3_vtab **ret, char **message)
{
	(void)aux, (void)argc, (void)argv, (void)message;
	int rc = sqlite3_declare_vtab(
		sqlite, "CREATE TABLE x(offset INTEGER, samples INTEGER, weight INTEGER,"
			" data BLOB HIDDEN)");
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_vtab *table = sqlite3_malloc(sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	memset(table, 0, sizeof(*table));
	/* The function reads only its argument: views may use it. */
	sqlite3_vtab_config(sqlite, SQLITE_VTAB_INNOCUOUS);
	*ret = table;
	return SQLITE_OK;
}

static int cells_disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

/* Choose the only plan: the argument is given. */
static int cells_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
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

static int cells_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret)
{
	(void)table;
	struct cursor *cursor = sqlite3_malloc(sizeof(*cursor));
	if (!cursor)
		return SQLITE_NOMEM;
	memset(cursor, 0, sizeof(*cursor));
	*ret = &cursor->base;
	return SQLITE_OK;
}

static int cells_close(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	sqlite3_value_free(cursor->data);
	sqlite3_free(cursor);
	return SQLITE_OK;
}

static int not_cells(struct cursor *cursor)
{
	sqlite3_free(cursor->base.pVtab->zErrMsg);
	cursor->base.pVtab->zErrMsg = sqlite3_mprintf("vmop_cells: not a blob of packed cells");
	return SQLITE_ERROR;
}

static int cells_next(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	cursor->number++;
	switch (vmop_unpack_next(&cursor->unpack, &cursor->cell)) {
	case VMOP_UNPACK_CELL:
		return SQLITE_OK;
	case VMOP_UNPACK_END:
		cursor->ended = true;
		return SQLITE_OK;
	default:
		return not_cells(cursor);
	}
}

static int cells_filter(sqlite3_vtab_cursor *base, int plan, const char *name, int argc,
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
		return not_cells(cursor);
	cursor->data = sqlite3_value_dup(argv[0]);
	if (!cursor->data)
		return SQLITE_NOMEM;
	const void *blob = sqlite3_value_blob(cursor->data);
	size_t len_bytes = (size_t)sqlite3_value_bytes(cursor->data);
	if (!blob || !vmop_unpack_begin(&cursor->unpack, blob, len_bytes))
		return not_cells(cursor);
	return cells_next(base);
}

static int cells_eof(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->ended;
}

static int cells_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	struct cursor *cursor = (struct cursor *)base;
	switch ((enum column)column) {
	case COLUMN_OFFSET:
		sqlite3_result_int64(context, (sqlite3_int64)cursor->cell.offset);
		break;
	case COLUMN_SAMPLES:
		sqlite3_result_int64(context, (sqlite3_int64)cursor->cell.samples);
		break;
	case COLUMN_WEIGHT:
		sqlite3_result_int64(context, (sqlite3_int64)cursor->cell.weight_events);
		break;
	case COLUMN_DATA:
		sqlite3_result_value(context, cursor->data);
		break;
	}
	return SQLITE_OK;
}

static int cells_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = ((struct cursor *)base)->number;
	return SQLITE_OK;
}

static const sqlite3_module cells_module = {
	.xConnect = cells_connect, /* no xCreate: it is there without CREATE VIRTUAL TABLE */
	.xBestIndex = cells_best_index,
	.xDisconnect = cells_disconnect,
	.xOpen = cells_open,
	.xClose = cells_close,
	.xFilter = cells_filter,
	.xNext = cells_next,
	.xEof = cells_eof,
	.xColumn = cells_column,
	.xRowid = cells_rowid,
};

int vmop_cells_table_register(sqlite3 *sqlite)
{
	return sqlite3_create_module_v2(sqlite, "vmop_cells", &cells_module, NULL, NULL);
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
