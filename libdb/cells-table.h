// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmop_cells(data): a table-valued function for people who write SQL by hand.
 * A row for each cell of a packed blob: offset, samples, weight.  Offsets and
 * weights of 64 bits show as SQL's signed integers.
 *
 * Every connection of libdb has it; vmop_cells.so brings it to sqlite3(1).
 */
#ifndef VMOP_LIBDB_CELLS_TABLE_H
#define VMOP_LIBDB_CELLS_TABLE_H

#include <sqlite3.h>

/* An SQLite result code. */
int vmop_cells_table_register(sqlite3 *sqlite);

#endif
