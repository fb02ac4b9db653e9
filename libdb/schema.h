// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The schema of a session file.  What its tables and columns mean is said in
 * vmop-session(5), which changes with this.
 *
 * The file's header carries VMOP_SCHEMA_APPLICATION_ID (PRAGMA application_id)
 * and the version (PRAGMA user_version).  A version's tables are exactly the
 * statements of its list: a file whose stored statements differ is refused, so
 * that no view, trigger or strange column can stand where a table should.
 * Objects of other names (an index or view somebody added by hand) are let be.
 *
 * A new version: add its list, keep the old ones, and say in
 * vmop_schema_check's switch what readers must do for each.  Readers never
 * change a file; they read an old one as it is.
 */
#ifndef VMOP_LIBDB_SCHEMA_H
#define VMOP_LIBDB_SCHEMA_H

#include <sqlite3.h>

#include "libutil/error.h"

#define VMOP_SCHEMA_APPLICATION_ID 0x766d6f70 /* "vmop" */

/*
 * A chunk's id holds its interval: id = interval << 24 | number within it.
 * Chunks then lie in the order of time, are only ever appended, and a span of
 * time is a span of ids.
 */
#define VMOP_SCHEMA_CHUNK_BITS 24
#define VMOP_SCHEMA_CHUNKS_MAX (1 << VMOP_SCHEMA_CHUNK_BITS) /* of one interval */
#define VMOP_SCHEMA_INTERVAL_MAX (((uint64_t)1 << 31) - 1)

/* Tasks that libdb itself makes when it rolls up; the writer's ids lie below. */
#define VMOP_SCHEMA_MERGED_TASK_MIN (1u << 30)

/* Lays down the newest schema in an empty file. */
int vmop_schema_create(sqlite3 *sqlite);

/*
 * Is it a session file, of a version that we know?  VMOP_ERROR_NEWER,
 * VMOP_ERROR_CORRUPT; path is for the message.  *ret_version is what it is.
 * NULL with *ret_rc != SQLITE_OK when SQLite itself failed.
 */
struct vmop_error *vmop_schema_check(sqlite3 *sqlite, const char *path, int *ret_version,
				     int *ret_rc);

#endif
