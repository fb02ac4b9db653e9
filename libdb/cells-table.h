// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmop_cells(data): a table-valued SQL function that returns a row for each cell of a packed blob:
 * offset, samples, weight.  SQL's integers are signed, so great offsets are negative.
 *
 * Each connection of libdb has it, and vmop_cells.so adds it to sqlite3(1), for SQL by hand.
 */
#ifndef VMOP_LIBDB_CELLS_TABLE_H
#define VMOP_LIBDB_CELLS_TABLE_H

#include <sqlite3.h>

/* Register the function with a connection.  Returns an SQLite result code. */
int vmop_cells_table_register(sqlite3 *sqlite);

#endif
