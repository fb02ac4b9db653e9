// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a session file says of its events, domains, tasks and images, in memory
 * for one report.  Item 0 of each table stands for ids that the file doesn't
 * explain.  Strings live in the catalog's arena.  Open within the folder.
 */
#ifndef VMOP_OPREPORT_CATALOG_H
#define VMOP_OPREPORT_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libdb/db.h"
#include "libutil/error.h"
#include "opreport/arena.h"

#define VMOP_NO_SLOT UINT32_MAX

/* All items begin with their id; `selected` is what the profile specs let through. */
struct vmop_event_item {
	uint32_t id;
	bool selected;
	uint32_t slot; /* which of a row's counts it adds to, or VMOP_NO_SLOT */
	const char *name, *source, *unit, *note; /* "" for none */
	const char *label; /* name, with "#2" and so on behind it where others have the same */
	const char *asked; /* the name as the user wrote it, "" where it is the same */
	uint64_t period_events, frequency_hz;
	uint64_t enabled_ns, running_ns; /* of one that shared its counters; 0, 0: it did not */
	double scale;			 /* what its weights are to be multiplied by: 1 and up */
};

struct vmop_domain_item {
	uint32_t id;
	bool selected;
	enum vmop_domain_kind kind;
	const char *name, *uuid;
};

struct vmop_task_item {
	uint32_t id;
	bool selected;
	bool is_idle;
	bool is_merged;	 /* stands for dead processes of one command */
	uint32_t domain; /* id */
	uint32_t pid, tid;
	uint64_t start_time_ns;
	const char *comm, *cgroup;
	uint32_t exe_image;  /* id */
	uint32_t row;	     /* index of the task that stands for it in rows */
	uint32_t cgroup_row; /* likewise */
};

struct vmop_image_item {
	uint32_t id;
	bool selected;
	enum vmop_image_kind kind;
	uint32_t domain; /* id */
	const char *name, *root;
	uint8_t build_id_len_bytes;
	uint8_t build_id[20];
	uint64_t base, len_bytes;
	uint32_t row; /* index of the image that stands for it: same build-id, or same name */
};

/* Ascending by id. */
struct vmop_table {
	void *items;
	size_t n, capacity, item_bytes;
	uint32_t *by_id; /* index of each id where ids are dense, else NULL */
	size_t n_by_id;
};

/* Facts of the session; strings "" when not known. */
struct vmop_session_facts {
	const char *vmop, *hostname, *kernel, *machine, *cpus;
	const char *kernel_symbols; /* what names the host kernel's functions; "none: WHY" */
	uint64_t start_ns, end_ns; /* CLOCK_REALTIME; end: of the last interval */
	bool is_finished;
};

struct vmop_catalog {
	struct vmop_arena arena;
	struct vmop_table events, domains, tasks, images;
	struct vmop_session_facts facts;
	struct vmop_db_loss *losses; /* in order of name; names in the arena */
	size_t n_losses;
};

/* How tasks and events are merged into one row; enum bits of --merge. */
enum vmop_merge {
	VMOP_MERGE_CPU = 1 << 0,
	VMOP_MERGE_TID = 1 << 1,      /* threads into their process */
	VMOP_MERGE_TGID = 1 << 2,     /* processes into their command */
	VMOP_MERGE_UNITMASK = 1 << 3, /* events that differ behind ':' */
};

/*
 * A busy hour has 100,000 tasks: where none but the idle one is of interest, with_tasks false,
 * what comes behind it is not read.
 */
struct vmop_error *vmop_catalog_load(struct vmop_catalog *catalog, struct vmop_db *db,
				     unsigned merge, bool with_tasks);
void vmop_catalog_deinit(struct vmop_catalog *catalog);

/* Fills cgroup_row of all tasks. */
struct vmop_error *vmop_catalog_unify_cgroups(struct vmop_catalog *catalog);

/* The index of id; 0 when it is not explained. */
size_t vmop_table_index(const struct vmop_table *table, uint32_t id);

static inline struct vmop_event_item *vmop_catalog_event(const struct vmop_catalog *c, size_t i)
{
	return (struct vmop_event_item *)c->events.items + i;
}
static inline struct vmop_domain_item *vmop_catalog_domain(const struct vmop_catalog *c, size_t i)
{
	return (struct vmop_domain_item *)c->domains.items + i;
}
static inline struct vmop_task_item *vmop_catalog_task(const struct vmop_catalog *c, size_t i)
{
	return (struct vmop_task_item *)c->tasks.items + i;
}
static inline struct vmop_image_item *vmop_catalog_image(const struct vmop_catalog *c, size_t i)
{
	return (struct vmop_image_item *)c->images.items + i;
}

#endif
