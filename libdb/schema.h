// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The schema of a session file.  vmop-session(5) documents its tables and columns, and changes with
 * this.
 *
 * The file's header contains VMOP_SCHEMA_APPLICATION_ID (PRAGMA application_id) and the version
 * (PRAGMA user_version).  The tables of a version are exactly the statements of its list: a file
 * with other statements is refused, so that no view, trigger or unknown column can replace a table.
 * Objects with other names, such as indexes and views that users add by hand, are ignored.
 *
 * To add a version, list the tables that differ, keep the old lists, and add a case to tables_of().
 * Readers never change a file; they read an old one as it is.
 */
#ifndef VMOP_LIBDB_SCHEMA_H
#define VMOP_LIBDB_SCHEMA_H

#include <sqlite3.h>

#include "libutil/error.h"

#define VMOP_SCHEMA_APPLICATION_ID 0x766d6f70 /* "vmop" */

/*
 * A chunk's id contains its interval: id = interval << 24 | number within the interval.  So chunks
 * are in the order of time, writers only append them, and a span of time is a range of ids.
 */
#define VMOP_SCHEMA_CHUNK_BITS 24
#define VMOP_SCHEMA_CHUNKS_MAX (1 << VMOP_SCHEMA_CHUNK_BITS) /* of one interval */
#define VMOP_SCHEMA_INTERVAL_MAX (((uint64_t)1 << 31) - 1)

/* The first version with cells that have stacks, and with the table stack_nodes. */
#define VMOP_SCHEMA_WITH_STACKS 2

/* The first version with the table code. */
#define VMOP_SCHEMA_WITH_CODE 3

/* The first version with the table summary. */
#define VMOP_SCHEMA_WITH_SUMMARIES 4

/* The first version with the tables culprit, wait and exit_place. */
#define VMOP_SCHEMA_WITH_WAITS 5

/* Summaries have ids from here on, which no interval can have: summary.h. */
#define VMOP_SCHEMA_SUMMARY_MIN ((uint32_t)1 << 31)

/* libdb numbers merged tasks from here on; the writer's ids are below. */
#define VMOP_SCHEMA_MERGED_TASK_MIN (1u << 30)

/* Create the newest schema in an empty file.  Returns an SQLite result code. */
int vmop_schema_create(sqlite3 *sqlite);

/*
 * Check that the file is a session file of a supported version, and set *ret_version.  Returns
 * VMOP_ERROR_NEWER or VMOP_ERROR_CORRUPT with path in the message.  If SQLite fails, returns NULL
 * and sets *ret_rc to its result code, otherwise to SQLITE_OK.
 */
struct vmop_error *vmop_schema_check(sqlite3 *sqlite, const char *path, int *ret_version,
				     int *ret_rc);

#endif
