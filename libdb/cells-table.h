// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Table-valued SQL functions.  vmop_cells(data) returns a row for each cell of a packed blob:
 * offset, samples, weight, stack (0 if the cells have none).  vmop_stack_nodes(data) returns a row
 * for each packed node of stacks: id, parent, image, offset.  SQL's integers are signed, so great
 * offsets are negative.
 *
 * Each connection of libdb has them, and vmop_cells.so adds them to sqlite3(1), for SQL by hand.
 */
#ifndef VMOP_LIBDB_CELLS_TABLE_H
#define VMOP_LIBDB_CELLS_TABLE_H

#include <sqlite3.h>

/* Register the functions with a connection.  Returns an SQLite result code. */
int vmop_cells_table_register(sqlite3 *sqlite);

#endif
