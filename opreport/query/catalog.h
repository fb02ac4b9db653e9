// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What session files say of their events, domains, tasks and images, in memory
 * for one report.  Ids are a session's own; item 0 of each table stands for those that its
 * file doesn't explain.  Strings live in the catalog's arena.  Names of domains, tasks, cgroups
 * and images are labels (libutil/label.h).  Open within the folder.
 */
#ifndef VMOP_OPREPORT_QUERY_CATALOG_H
#define VMOP_OPREPORT_QUERY_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libdb/db.h"
#include "libutil/error.h"
#include "opreport/query/arena.h"

#define VMOP_NO_SLOT UINT32_MAX
#define VMOP_SESSIONS_MAX 256 /* in one report: each is some open files */

/*
 * Bounds of what is loaded, so that a report of any file ends soon and in little memory.  A session
 * that vmopd wrote is far below them.
 */
#define VMOP_EVENTS_MAX ((size_t)1 << 18) /* of all sessions */
#define VMOP_ITEMS_MAX ((size_t)2 << 20)  /* of each other table, and of losses */

/* A session to be read: db is not owned. */
struct vmop_session_input {
	const char *name; /* as shown */
	struct vmop_db *db;
};

/* All items begin with their id and session; `selected` is what the profile specs let through. */
struct vmop_event_item {
	uint32_t id, session;
	bool selected;
	uint32_t slot; /* which of a row's counts it adds to, or VMOP_NO_SLOT */
	const char *name, *source, *unit, *note; /* "" for none */
	const char *label; /* name, with "#2" and so on behind it where others have the same */
	const char *asked; /* the name as the user wrote it, "" where it is the same */
	uint64_t period_events, frequency_hz;
	uint64_t enabled_ns, running_ns; /* of one that shared its counters; 0, 0: it did not */
	double scale;			 /* what its weights are to be multiplied by: 1 and up */
	uint32_t name_row;		 /* index of the first event of that name */
};

struct vmop_domain_item {
	uint32_t id, session;
	bool selected;
	bool is_host; /* row's domain is a guest of none of the sessions */
	bool is_some; /* VMOP_DOMAIN_SOME_NAME */
	/* A row's: it ran, and no session has samples that are known to be its own. */
	bool is_unsampled;
	enum vmop_domain_kind kind;
	const char *name;     /* row's, as shown: "host", or a guest's name as a label (label.h) */
	const char *own_name; /* a guest's label in its session's file, "" for a host */
	const char *uuid;
	uint32_t row; /* index of the domain that stands for it: see identity.h */
	/* A guest that was shut down and started again has a life each time. */
	uint32_t life;		/* index of the item that stands for this life */
	const char *life_name;	/* "10:00:05 pid 4242"; "" for what has no lives */
	uint32_t vmm_pid;	/* 0: none */
	uint64_t first_seen_ns; /* CLOCK_REALTIME */
	uint64_t end_ns;	/* likewise; its session's end where it was still there */
	bool has_ended;
	uint32_t n_lives; /* of a row */
};

struct vmop_task_item {
	uint32_t id, session;
	bool selected;
	bool is_idle;
	bool is_merged;	      /* stands for ended processes of one command */
	uint64_t n_processes; /* that it stands for; 1 where it isn't merged */
	uint32_t domain;      /* index, of the one that stands for it */
	uint32_t pid, tid;
	uint64_t start_time_ns;
	const char *comm, *cgroup;
	uint32_t exe_image;  /* id */
	uint32_t row;	     /* index of the task that stands for it in rows */
	uint32_t cgroup_row; /* likewise */
};

struct vmop_image_item {
	uint32_t id, session;
	bool selected;
	bool is_shared; /* on the item that stands for others: it does */
	enum vmop_image_kind kind;
	uint32_t domain; /* index, of the one that stands for it */
	const char *name, *root;
	uint8_t build_id_len_bytes;
	uint8_t build_id[20];
	uint64_t base, len_bytes;
	uint32_t row; /* index of the image that stands for it: same build-id, or same name */
	/*
	 * Index of the image whose base and symbols go with its addresses: itself, but for a
	 * hypervisor's of which its session knows nothing else, where another session does.
	 */
	uint32_t text;
};

/* The items of one session in a table: [first, end). */
struct vmop_table_part {
	size_t first, end;
	uint32_t *by_id; /* index of each id where ids are dense, else NULL */
	size_t n_by_id;
};

/* Ascending by session and id. */
struct vmop_table {
	void *items;
	size_t n, capacity, item_bytes;
	struct vmop_table_part *parts; /* by session */
};

/* Facts of a session; strings "" when not known. */
struct vmop_session_facts {
	const char *name; /* as the user gave it */
	const char *vmop, *hostname, *kernel, *machine, *cpus;
	const char *kernel_symbols; /* what names the host kernel's functions; "none: WHY" */
	uint64_t start_ns, end_ns;  /* CLOCK_REALTIME; end: of the last interval */
	bool is_finished;
};

/* Samples that a source or the daemon had to give up, or what it could not read. */
struct vmop_loss_item {
	const char *name;
	size_t session, domain, event; /* indices */
	uint64_t count;
};

struct vmop_catalog {
	struct vmop_arena arena;
	struct vmop_table events, domains, tasks, images;
	struct vmop_session_facts *sessions;
	size_t n_sessions;
	uint64_t start_ns, end_ns;     /* of all sessions together */
	struct vmop_loss_item *losses; /* in order of name */
	size_t n_losses, losses_capacity;
	/* Rows beyond the bounds above, which were not loaded. */
	uint64_t n_events_left_out, n_items_left_out;
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
struct vmop_error *vmop_catalog_load(struct vmop_catalog *catalog,
				     const struct vmop_session_input *inputs, size_t n_inputs,
				     unsigned merge, bool with_tasks);
/* Only the sessions' facts of one: no events, domains, tasks or images. */
struct vmop_error *vmop_catalog_load_facts(struct vmop_catalog *catalog,
					   const struct vmop_session_input *input);
void vmop_catalog_deinit(struct vmop_catalog *catalog);

/* err, of a catalog of several sessions told apart by their names. */
struct vmop_error *vmop_catalog_blame(struct vmop_error *err, const struct vmop_catalog *catalog,
				      size_t session);

/* The index of a session's id; 0 when it is not explained. */
size_t vmop_table_index(const struct vmop_table *table, size_t session, uint32_t id);

/*
 * The file's name without its folders; the whole path where the rest could be taken for one of
 * vmop's own words.
 */
const char *vmop_image_base_name(const char *name);

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
