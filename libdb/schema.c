// SPDX-License-Identifier: GPL-2.0-or-later
#include "libdb/schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "libdb/types.h"

struct object {
	const char *name;
	const char *sql; /* as sqlite_schema stores it: no semicolon */
};

/*
 * REFERENCES document the relations.  Writing does not enforce them (foreign_keys is off), because
 * an interval's rows come in any order, and 0 means "none" in some columns.  vmop_db_check does.
 */
static const struct object tables_of_all[] = {
	{"info", "CREATE TABLE info(\n"
		 "  name TEXT PRIMARY KEY,\n"
		 "  value TEXT NOT NULL\n"
		 ") STRICT, WITHOUT ROWID"},
	{"event", "CREATE TABLE event(\n"
		  "  id INTEGER PRIMARY KEY CHECK(id >= 0),\n"
		  "  name TEXT NOT NULL,\n"
		  "  source TEXT NOT NULL,\n"
		  "  unit TEXT NOT NULL,\n"
		  "  period_events INTEGER NOT NULL,\n"
		  "  frequency_hz INTEGER NOT NULL,\n"
		  "  note TEXT\n"
		  ") STRICT"},
	{"domain", "CREATE TABLE domain(\n"
		   "  id INTEGER PRIMARY KEY CHECK(id >= 0),\n"
		   "  kind INTEGER NOT NULL,\n"
		   "  name TEXT NOT NULL,\n"
		   "  uuid TEXT,\n"
		   "  vmm_pid INTEGER NOT NULL,\n"
		   "  vmm TEXT,\n"
		   "  first_seen_ns INTEGER NOT NULL,\n"
		   "  last_seen_ns INTEGER NOT NULL\n"
		   ") STRICT"},
	{"vcpu", "CREATE TABLE vcpu(\n"
		 "  domain INTEGER NOT NULL REFERENCES domain,\n"
		 "  number INTEGER NOT NULL,\n"
		 "  tid INTEGER NOT NULL,\n"
		 "  PRIMARY KEY(domain, number)\n"
		 ") STRICT, WITHOUT ROWID"},
	{"task", "CREATE TABLE task(\n"
		 "  id INTEGER PRIMARY KEY CHECK(id >= 1),\n"
		 "  domain INTEGER NOT NULL REFERENCES domain,\n"
		 "  pid INTEGER NOT NULL,\n"
		 "  tid INTEGER NOT NULL,\n"
		 "  start_time_ns INTEGER NOT NULL,\n"
		 "  end_time_ns INTEGER NOT NULL,\n"
		 "  merged INTEGER NOT NULL,\n"
		 "  comm TEXT NOT NULL,\n"
		 "  exe_image INTEGER NOT NULL,\n"
		 "  cgroup TEXT\n"
		 ") STRICT"},
	{"task_merged", "CREATE INDEX task_merged ON task(domain, exe_image, comm, cgroup)\n"
			"  WHERE merged > 0"},
	{"image", "CREATE TABLE image(\n"
		  "  id INTEGER PRIMARY KEY CHECK(id >= 1),\n"
		  "  kind INTEGER NOT NULL,\n"
		  "  domain INTEGER NOT NULL REFERENCES domain,\n"
		  "  name TEXT NOT NULL,\n"
		  "  root TEXT,\n"
		  "  build_id BLOB CHECK(length(build_id) BETWEEN 1 AND 20),\n"
		  "  base INTEGER NOT NULL,\n"
		  "  len_bytes INTEGER NOT NULL\n"
		  ") STRICT"},
	{"symbols", "CREATE TABLE symbols(\n"
		    "  image INTEGER PRIMARY KEY REFERENCES image,\n"
		    "  n_symbols INTEGER NOT NULL,\n"
		    "  data BLOB NOT NULL\n"
		    ") STRICT"},
	{"interval", "CREATE TABLE interval(\n"
		     "  id INTEGER PRIMARY KEY CHECK(id >= 1),\n"
		     "  level INTEGER NOT NULL,\n"
		     "  start_ns INTEGER NOT NULL,\n"
		     "  len_ns INTEGER NOT NULL\n"
		     ") STRICT"},
	{"place", "CREATE TABLE place(\n"
		  "  id INTEGER PRIMARY KEY CHECK(id >= 1),\n"
		  "  event INTEGER NOT NULL REFERENCES event,\n"
		  "  domain INTEGER NOT NULL REFERENCES domain,\n"
		  "  billed INTEGER NOT NULL REFERENCES domain,\n"
		  "  bill INTEGER NOT NULL,\n"
		  "  mode INTEGER NOT NULL,\n"
		  "  certainty INTEGER NOT NULL,\n"
		  "  vcpu INTEGER NOT NULL,\n"
		  "  cpu INTEGER NOT NULL,\n"
		  "  image INTEGER NOT NULL REFERENCES image\n"
		  ") STRICT"},
	{"chunk", "CREATE TABLE chunk(\n"
		  "  id INTEGER PRIMARY KEY,\n"
		  "  interval INTEGER GENERATED ALWAYS AS (id >> 24) VIRTUAL,\n"
		  "  task INTEGER NOT NULL,\n"
		  "  place INTEGER NOT NULL REFERENCES place,\n"
		  "  stack INTEGER NOT NULL,\n"
		  "  samples INTEGER NOT NULL CHECK(samples > 0),\n"
		  "  weight INTEGER NOT NULL,\n"
		  "  cells BLOB NOT NULL\n"
		  ") STRICT"},
	{"loss", "CREATE TABLE loss(\n"
		 "  interval INTEGER NOT NULL,\n"
		 "  name TEXT NOT NULL,\n"
		 "  domain INTEGER NOT NULL REFERENCES domain,\n"
		 "  event INTEGER NOT NULL REFERENCES event,\n"
		 "  count INTEGER NOT NULL,\n"
		 "  PRIMARY KEY(interval, name, domain, event)\n"
		 ") STRICT, WITHOUT ROWID"},
	{NULL, NULL},
};

/* No program has written rows of the table stack. */
static const struct object tables_of_v1[] = {
	{"stack", "CREATE TABLE stack(\n"
		  "  id INTEGER PRIMARY KEY CHECK(id > parent),\n"
		  "  parent INTEGER NOT NULL,\n"
		  "  image INTEGER NOT NULL REFERENCES image,\n"
		  "  offset INTEGER NOT NULL\n"
		  ") STRICT"},
	{NULL, NULL},
};

#define STACK_NODES                                                                                \
	"CREATE TABLE stack_nodes(\n"                                                              \
	"  first INTEGER PRIMARY KEY CHECK(first >= 1),\n"                                         \
	"  n_nodes INTEGER NOT NULL,\n"                                                            \
	"  data BLOB NOT NULL\n"                                                                   \
	") STRICT"

static const struct object tables_of_v2[] = {
	{"stack_nodes", STACK_NODES},
	{NULL, NULL},
};

#define CODE                                                                                       \
	"CREATE TABLE code(\n"                                                                     \
	"  image INTEGER NOT NULL REFERENCES image,\n"                                             \
	"  offset INTEGER NOT NULL,\n"                                                             \
	"  time_ns INTEGER NOT NULL,\n"                                                            \
	"  n_bytes INTEGER NOT NULL,\n"                                                            \
	"  data BLOB NOT NULL,\n"                                                                  \
	"  PRIMARY KEY(image, offset, time_ns)\n"                                                  \
	") STRICT, WITHOUT ROWID"

static const struct object tables_of_v3[] = {
	{"stack_nodes", STACK_NODES},
	{"code", CODE},
	{NULL, NULL},
};

#define SUMMARY                                                                                    \
	"CREATE TABLE summary(\n"                                                                  \
	"  id INTEGER PRIMARY KEY CHECK(id >= 2147483648),\n"                                      \
	"  level INTEGER NOT NULL,\n"                                                              \
	"  start_ns INTEGER NOT NULL,\n"                                                           \
	"  len_ns INTEGER NOT NULL,\n"                                                             \
	"  first INTEGER NOT NULL REFERENCES interval,\n"                                          \
	"  last INTEGER NOT NULL\n"                                                                \
	") STRICT"

static const struct object tables_of_v4[] = {
	{"stack_nodes", STACK_NODES},
	{"code", CODE},
	{"summary", SUMMARY},
	{NULL, NULL},
};

static const struct object tables_of_v5[] = {
	{"stack_nodes", STACK_NODES},
	{"code", CODE},
	{"summary", SUMMARY},
	{"culprit", "CREATE TABLE culprit(\n"
		    "  id INTEGER PRIMARY KEY CHECK(id >= 1),\n"
		    "  kind INTEGER NOT NULL,\n"
		    "  domain INTEGER NOT NULL,\n"
		    "  name TEXT NOT NULL,\n"
		    "  UNIQUE(kind, domain, name)\n"
		    ") STRICT"},
	{"wait", "CREATE TABLE wait(\n"
		 "  interval INTEGER NOT NULL REFERENCES interval,\n"
		 "  domain INTEGER NOT NULL REFERENCES domain,\n"
		 "  vcpu INTEGER NOT NULL,\n"
		 "  state INTEGER NOT NULL,\n"
		 "  cause INTEGER NOT NULL,\n"
		 "  count INTEGER NOT NULL,\n"
		 "  time_ns INTEGER NOT NULL,\n"
		 "  PRIMARY KEY(interval, domain, vcpu, state, cause)\n"
		 ") STRICT, WITHOUT ROWID"},
	{"exit_place", "CREATE TABLE exit_place(\n"
		       "  interval INTEGER NOT NULL REFERENCES interval,\n"
		       "  domain INTEGER NOT NULL REFERENCES domain,\n"
		       "  cause INTEGER NOT NULL,\n"
		       "  image INTEGER NOT NULL,\n"
		       "  offset INTEGER NOT NULL,\n"
		       "  count INTEGER NOT NULL,\n"
		       "  PRIMARY KEY(interval, domain, cause, image, offset)\n"
		       ") STRICT, WITHOUT ROWID"},
	{NULL, NULL},
};

#define NAMES_OF_TOTALS                                                                            \
	"  event.name AS event, event.unit AS unit, domain.name AS domain,\n"                      \
	"  billed.name AS billed,\n"                                                               \
	"  CASE place.bill WHEN 0 THEN 'self' WHEN 1 THEN 'hypervisor'\n"                          \
	"    WHEN 2 THEN 'vmm' END AS bill,\n"                                                     \
	"  CASE place.mode WHEN 0 THEN 'unknown' WHEN 1 THEN 'hypervisor'\n"                       \
	"    WHEN 2 THEN 'kernel' WHEN 3 THEN 'user' END AS mode,\n"                               \
	"  CASE place.certainty WHEN 0 THEN 'exact' WHEN 1 THEN 'likely'\n"                        \
	"    WHEN 2 THEN 'ambiguous' END AS certainty,\n"                                          \
	"  place.vcpu AS vcpu, place.cpu AS cpu, task.pid AS pid, task.tid AS tid,\n"              \
	"  task.comm AS comm, task.cgroup AS cgroup, image.name AS image,\n"

/* LEFT joins: a total must include samples whose name is missing. */
#define JOINED_NAMES                                                                               \
	"  LEFT JOIN event ON event.id = place.event\n"                                            \
	"  LEFT JOIN domain ON domain.id = place.domain\n"                                         \
	"  LEFT JOIN domain AS billed ON billed.id = place.billed\n"                               \
	"  LEFT JOIN image ON image.id = place.image\n"

/* For SQL by hand. No program of vmop reads the views, so opening a file does not check them. */
static const struct object views[] = {
	{"v_chunk", "CREATE VIEW v_chunk AS SELECT chunk.id AS chunk,\n"
		    "  interval.id AS interval, interval.level AS level,\n"
		    "  interval.start_ns AS start_ns, interval.len_ns AS len_ns,\n" NAMES_OF_TOTALS
		    "  chunk.samples AS samples, chunk.weight AS weight, chunk.cells AS cells\n"
		    "FROM interval JOIN chunk ON chunk.id BETWEEN interval.id << 24\n"
		    "    AND (interval.id << 24) + 16777215\n"
		    "  LEFT JOIN place ON place.id = chunk.place\n" JOINED_NAMES
		    "  LEFT JOIN task ON task.id = chunk.task"},
	{"v_total", "CREATE VIEW v_total AS SELECT\n" NAMES_OF_TOTALS
		    "  sums.samples AS samples, sums.weight AS weight\n"
		    "FROM (SELECT place, task, sum(samples) AS samples, sum(weight) AS weight\n"
		    "    FROM chunk WHERE id < 2147483648 << 24 GROUP BY place, task) AS sums\n"
		    "  LEFT JOIN place ON place.id = sums.place\n" JOINED_NAMES
		    "  LEFT JOIN task ON task.id = sums.task"},
	{"v_loss", "CREATE VIEW v_loss AS SELECT loss.name AS name, domain.name AS domain,\n"
		   "  event.name AS event, sum(loss.count) AS count\n"
		   "FROM loss LEFT JOIN domain ON domain.id = loss.domain\n"
		   "  LEFT JOIN event ON event.id = loss.event\n"
		   "GROUP BY loss.name, loss.domain, loss.event"},
	{"v_wait", "CREATE VIEW v_wait AS SELECT wait.interval AS interval,\n"
		   "  domain.name AS domain, wait.vcpu AS vcpu,\n"
		   "  CASE wait.state WHEN 0 THEN 'running' WHEN 1 THEN 'waiting'\n"
		   "    WHEN 2 THEN 'quota' WHEN 3 THEN 'halted' WHEN 4 THEN 'blocked'\n"
		   "    WHEN 5 THEN 'vmm' WHEN 6 THEN 'unknown' WHEN 7 THEN 'exit' END AS state,\n"
		   "  CASE culprit.kind WHEN 0 THEN guest.name WHEN 3 THEN 'idle'\n"
		   "    WHEN 4 THEN 'others' ELSE culprit.name END AS culprit,\n"
		   "  CASE wait.state WHEN 7 THEN wait.cause & 4294967295 END AS reason,\n"
		   "  wait.count AS count, wait.time_ns AS time_ns\n"
		   "FROM wait LEFT JOIN domain ON domain.id = wait.domain\n"
		   "  LEFT JOIN culprit ON wait.state = 1 AND culprit.id = wait.cause\n"
		   "  LEFT JOIN domain AS guest ON guest.id = culprit.domain"},
	{NULL, NULL},
};

_Static_assert(VMOP_SCHEMA_CHUNK_BITS == 24, "the statements above contain it as 24 and 16777215");
_Static_assert(VMOP_DB_SCHEMA_VERSION == 5, "a new version needs its own list of tables");

/* Return the list of the tables that not all versions have, or NULL if there is no such version. */
static const struct object *tables_of(int version)
{
	switch (version) {
	case 1:
		return tables_of_v1;
	case 2:
		return tables_of_v2;
	case 3:
		return tables_of_v3;
	case 4:
		return tables_of_v4;
	case 5:
		return tables_of_v5;
	default:
		return NULL;
	}
}

static int create_all(sqlite3 *sqlite, const struct object *objects)
{
	int rc = SQLITE_OK;
	for (; rc == SQLITE_OK && objects->name; objects++)
		rc = sqlite3_exec(sqlite, objects->sql, NULL, NULL, NULL);
	return rc;
}

int vmop_schema_create(sqlite3 *sqlite)
{
	char pragmas[128];
	snprintf(pragmas, sizeof(pragmas), "PRAGMA application_id=%d; PRAGMA user_version=%d",
		 VMOP_SCHEMA_APPLICATION_ID, VMOP_DB_SCHEMA_VERSION);
	int rc = sqlite3_exec(sqlite, pragmas, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = create_all(sqlite, tables_of_all);
	if (rc == SQLITE_OK)
		rc = create_all(sqlite, tables_of(VMOP_DB_SCHEMA_VERSION));
	if (rc == SQLITE_OK)
		rc = create_all(sqlite, views);
	return rc;
}

static int pragma_int(sqlite3 *sqlite, const char *sql, int *ret)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(sqlite, sql, -1, &stmt, NULL);
	if (rc != SQLITE_OK)
		return rc;
	if (sqlite3_step(stmt) == SQLITE_ROW)
		*ret = sqlite3_column_int(stmt, 0);
	return sqlite3_finalize(stmt);
}

/* Set *ret_same to whether the file has object with exactly this statement. */
static int object_is_same(sqlite3_stmt *stmt, const struct object *object, bool *ret_same)
{
	sqlite3_bind_text(stmt, 1, object->name, -1, SQLITE_STATIC);
	*ret_same = false;
	if (sqlite3_step(stmt) == SQLITE_ROW) {
		const char *sql = (const char *)sqlite3_column_text(stmt, 0);
		*ret_same = sql && strcmp(sql, object->sql) == 0;
	}
	return sqlite3_reset(stmt);
}

static struct vmop_error *check_tables(sqlite3 *sqlite, const char *path,
				       const struct object *objects, int *ret_rc)
{
	sqlite3_stmt *stmt;
	*ret_rc = sqlite3_prepare_v2(sqlite, "SELECT sql FROM sqlite_schema WHERE name = ?1", -1,
				     &stmt, NULL);
	struct vmop_error *err = NULL;
	for (; *ret_rc == SQLITE_OK && !err && objects->name; objects++) {
		bool same;
		*ret_rc = object_is_same(stmt, objects, &same);
		if (*ret_rc == SQLITE_OK && !same)
			err = vmop_error_new(VMOP_ERROR_CORRUPT,
					     "%s: corrupt: the table %s is missing or altered",
					     path, objects->name);
	}
	sqlite3_finalize(stmt);
	return err;
}

struct vmop_error *vmop_schema_check(sqlite3 *sqlite, const char *path, int *ret_version,
				     int *ret_rc)
{
	int application_id = 0;
	*ret_rc = pragma_int(sqlite, "PRAGMA application_id", &application_id);
	if (*ret_rc == SQLITE_OK)
		*ret_rc = pragma_int(sqlite, "PRAGMA user_version", ret_version);
	if (*ret_rc != SQLITE_OK)
		return NULL;
	if (application_id != VMOP_SCHEMA_APPLICATION_ID)
		return vmop_error_new(VMOP_ERROR_CORRUPT, "%s: not a session file of vmop", path);
	const struct object *tables = tables_of(*ret_version);
	if (!tables && *ret_version < 1)
		return vmop_error_new(VMOP_ERROR_CORRUPT,
				      "%s: corrupt: session format %d does not exist", path,
				      *ret_version);
	if (!tables)
		return vmop_error_new(VMOP_ERROR_NEWER,
				      "%s: its session format is %d, made by a newer vmop; this "
				      "one reads up to %d",
				      path, *ret_version, VMOP_DB_SCHEMA_VERSION);
	struct vmop_error *err = check_tables(sqlite, path, tables_of_all, ret_rc);
	return err || *ret_rc != SQLITE_OK ? err : check_tables(sqlite, path, tables, ret_rc);
}
