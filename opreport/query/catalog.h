// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The events, domains, tasks and images of the sessions of one report, in memory.
 *
 * An id is unique within its session only.  Item 0 of each table stands for ids that the session
 * file does not define.  Strings belong to the catalog's arena.  Names of domains, tasks, cgroups
 * and images are labels (libutil/label.h).  The structs are open within opreport.
 */
#ifndef VMOP_OPREPORT_QUERY_CATALOG_H
#define VMOP_OPREPORT_QUERY_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libdb/db.h"
#include "libutil/error.h"
#include "opreport/query/arena.h"
#include "opreport/query/overlap.h"

#define VMOP_NO_SLOT UINT32_MAX
#define VMOP_SESSIONS_MAX 256 /* in one report: each keeps some files open */

/*
 * Bounds of the catalog, so that a report of any file ends soon and in little memory.  Sessions
 * from vmopd stay far below them.
 */
#define VMOP_EVENTS_MAX ((size_t)1 << 18) /* of all sessions */
#define VMOP_ITEMS_MAX ((size_t)2 << 20)  /* of each other table, and of losses */

/* A session to be read. */
struct vmop_session_input {
	const char *name;   /* as shown; owned by the caller */
	struct vmop_db *db; /* likewise */
};

/* All items begin with their id and session; `selected`: the profile specs choose the item. */
struct vmop_event_item {
	struct vmop_event_id id;
	uint32_t session;
	bool selected;
	uint32_t slot;				 /* index of its count in a row, or VMOP_NO_SLOT */
	const char *name, *source, *unit, *note; /* "" for none */
	const char *label; /* name, with "#2" and so on behind it where others have the same */
	const char *asked; /* the name as the user wrote it, "" where it is the same */
	uint64_t period_events, frequency_hz;
	uint64_t enabled_ns, running_ns; /* 0, 0: it shared no counter */
	double scale;			 /* factor for its weights, at least 1 */
	uint32_t name_row;		 /* index of the first event of that name */
};

struct vmop_domain_item {
	struct vmop_domain_id id;
	uint32_t session;
	bool selected;
	bool is_host; /* its row's domain is a guest in no session */
	bool is_some; /* VMOP_DOMAIN_SOME_NAME */
	/* Set on rows only: it ran, and no session has samples attributed to it. */
	bool is_unsampled;
	enum vmop_domain_kind kind;
	const char *name;     /* its row's, as shown: "host", or a guest's label */
	const char *own_name; /* a guest's label in its session; "" for a host */
	const char *uuid;
	const char *context_note; /* why its samples have no context of the guest; "" for none */
	uint32_t row;		  /* index of the domain that stands for it: see identity.h */
	/* Each start of a guest begins a life. */
	uint32_t life;		/* index of the item that stands for this life */
	const char *life_name;	/* "10:00:05 pid 4242"; "" if the domain has no lives */
	uint32_t vmm_pid;	/* 0: none */
	uint64_t first_seen_ns; /* CLOCK_REALTIME */
	uint64_t end_ns;	/* likewise; the session's end if it still ran */
	bool has_ended;
	uint32_t n_lives; /* set on rows only */
};

struct vmop_task_item {
	struct vmop_task_row_id id;
	uint32_t session;
	bool selected;
	bool is_idle;
	bool is_merged; /* stands for ended processes of one command */
	struct vmop_domain_id domain_id;
	uint64_t n_processes; /* 1 unless merged */
	uint32_t domain;      /* index of its row */
	uint32_t pid, tid;
	uint64_t start_time_ns;
	const char *comm, *cgroup;
	struct vmop_image_id exe_image;
	uint32_t row;	     /* index of the first task that rows show as one */
	uint32_t cgroup_row; /* likewise, by cgroup */
};

struct vmop_image_item {
	struct vmop_image_id id;
	uint32_t session;
	bool selected;
	bool is_shared; /* set on a row that has further items */
	enum vmop_image_kind kind;
	struct vmop_domain_id domain_id;
	uint32_t domain; /* index of its row */
	const char *name, *root;
	uint8_t build_id_len_bytes;
	uint8_t build_id[20];
	uint64_t base, len_bytes;
	uint32_t row; /* index of the first image with its build-id, or its name */
	/*
	 * Index of the image whose base and symbols apply to its addresses: its own, except for a
	 * hypervisor that only another session describes.
	 */
	uint32_t text;
};

/* The items of one session in a table: [first, end). */
struct vmop_table_part {
	size_t first, end;
	uint32_t *by_id; /* index by id if ids are dense, else NULL */
	size_t n_by_id;
};

/* Items, ascending by session and id. */
struct vmop_table {
	void *items;
	size_t n, capacity, item_bytes;
	struct vmop_table_part *parts; /* by session */
};

/* A span of time whose intervals are alike: the first one begins where the one before ends. */
struct vmop_detail_span {
	uint64_t start_ns, end_ns; /* CLOCK_REALTIME */
	uint64_t interval_ns;	   /* the longest one */
};
#define VMOP_DETAIL_SPANS_MAX 16 /* of a session; a ladder makes 9 */

/* Facts of a session; an unknown string is "". */
struct vmop_session_facts {
	const char *name; /* as the user gave it */
	const char *vmop, *hostname, *kernel, *machine, *cpus;
	const char *kernel_symbols; /* source of the host kernel's symbols; "none: REASON" */
	const char *guest_context;  /* the captures beside guests' samples; "": nothing */
	uint64_t start_ns, end_ns;  /* CLOCK_REALTIME; end: of the last interval */
	bool is_finished;
	uint32_t guest; /* index of the row of the guest whose own session it is; 0: of no guest */
	bool has_clock; /* its times are those of the guest's host */
	int64_t ahead_ns; /* then: the host's clock minus the guest's, at the session's end */
	/*
	 * The intervals, ascending by start, if the catalog has several sessions.  Those beyond
	 * VMOP_ITEMS_MAX are one with the last.
	 */
	struct vmop_span *intervals;
	size_t n_intervals, intervals_capacity;
	uint64_t dropped_until_ns; /* earlier intervals were deleted; 0: none */
	struct vmop_detail_span details[VMOP_DETAIL_SPANS_MAX];
	size_t n_details;
};

/* A loss: samples or records that the source or the daemon dropped or could not read. */
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
	uint64_t start_ns, end_ns;     /* of all sessions together, CLOCK_REALTIME */
	struct vmop_loss_item *losses; /* in order of name */
	size_t n_losses, losses_capacity;
	/* Numbers of items beyond the bounds above, which were not loaded. */
	uint64_t n_events_left_out, n_items_left_out;
};

/* Bits of --merge: which tasks and events share a row. */
enum vmop_merge {
	VMOP_MERGE_CPU = 1 << 0,
	VMOP_MERGE_TID = 1 << 1,      /* threads into their process */
	VMOP_MERGE_TGID = 1 << 2,     /* processes into their command */
	VMOP_MERGE_UNITMASK = 1 << 3, /* events that differ only behind ':' */
};

/*
 * Load the sessions inputs[0..n_inputs), which are in one snapshot each, and find their equal items
 * (unify.h).  merge has bits of enum vmop_merge.  with_tasks false reads only the host's idle task
 * of each session: a busy hour has 100,000 tasks.  The caller deinitialises the catalog also after
 * an error.
 */
struct vmop_error *vmop_catalog_load(struct vmop_catalog *catalog,
				     const struct vmop_session_input *inputs, size_t n_inputs,
				     unsigned merge, bool with_tasks);
/* Load the facts of one session, without its events, domains, tasks and images. */
struct vmop_error *vmop_catalog_load_facts(struct vmop_catalog *catalog,
					   const struct vmop_session_input *input);
void vmop_catalog_deinit(struct vmop_catalog *catalog);

/* Return err, prefixed with the name of the session if the catalog has several. */
struct vmop_error *vmop_catalog_blame(struct vmop_error *err, const struct vmop_catalog *catalog,
				      size_t session);

/* Return the index of a session's id in its table, or 0 if the session does not define it. */
size_t vmop_catalog_find_event(const struct vmop_catalog *catalog, size_t session,
			       struct vmop_event_id id);
size_t vmop_catalog_find_domain(const struct vmop_catalog *catalog, size_t session,
				struct vmop_domain_id id);
size_t vmop_catalog_find_task(const struct vmop_catalog *catalog, size_t session,
			      struct vmop_task_row_id id);
size_t vmop_catalog_find_image(const struct vmop_catalog *catalog, size_t session,
			       struct vmop_image_id id);

/*
 * Return the file's name without its folders, or the whole path where the name could be
 * mistaken for one of vmop's own words.
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
