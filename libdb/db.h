// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A session file: one run of sampling with a fixed set-up, one SQLite file.
 * vmop-session(5) describes the schema; this is the only door to it, narrow so
 * that another store can stand behind it later.
 *
 * Writing: create, put what is known, then for each interval
 * begin_interval, put_* ..., commit.  An interval is one transaction: after a
 * crash or kill -9 the file holds every committed interval and nothing of the
 * open one.  One writer a file, from one thread.
 *
 * Reading: open (never writes, works beside a live writer, without root as
 * long as the file can be read), then the each_* walks.  A walk stops at the
 * first error that its callback returns and passes it on.  The strings handed
 * to a callback hold only until it returns.
 *
 * Ids are the writer's own small numbers, unique within their table and
 * session, starting at 1 (0 means none; domain 0 is the host, event ids start
 * at 0).  Putting an id again replaces the row.
 */
#ifndef VMOP_LIBDB_DB_H
#define VMOP_LIBDB_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libutil/error.h"
#include "vmop/domain.h"
#include "vmop/symbol.h"

/* Stored in the file (PRAGMA user_version); an older file opens, a newer one is refused. */
#define VMOP_DB_SCHEMA_VERSION 1

struct vmop_db;
struct vmop_dir; /* libutil/safe-dir.h */

/* ---- what a session is made of ---------------------------------------- */

struct vmop_db_event {
	uint32_t id;
	const char *name;	/* as the user wrote it: "cycles", "cpu-clock" */
	const char *source;	/* "perf", "replay", "xen" */
	const char *unit;	/* what a weight counts: "ns" for clocks, "events" else */
	uint64_t period_events; /* 0 when sampled by frequency */
	uint64_t frequency_hz;	/* 0 when sampled by period */
	const char *note;	/* why it is not what was asked for, or NULL */
};

struct vmop_db_domain {
	uint32_t id;
	enum vmop_domain_kind kind;
	const char *name; /* "host", or the guest's -name, else "pid-PID" */
	const char *uuid; /* NULL: not known */
	uint32_t vmm_pid; /* 0: none */
	const char *vmm;  /* the VMM's executable, "qemu-system-x86_64"; NULL: none */
	uint64_t first_seen_ns, last_seen_ns; /* CLOCK_REALTIME; last 0: still there */
};

struct vmop_db_vcpu {
	uint32_t domain;
	uint32_t number;
	uint32_t tid; /* of the host's vCPU thread */
};

struct vmop_db_task {
	uint32_t id;
	uint32_t domain;	/* whose task it is: host, or a guest */
	uint32_t pid, tid;	/* tid 0: the whole process; pid 0: idle */
	uint64_t start_time_ns; /* CLOCK_REALTIME; 0 not known; tells reused pids apart */
	uint64_t end_time_ns;	/* CLOCK_REALTIME; 0: it lives, or not known */
	const char *comm;
	uint32_t exe_image; /* 0: none or not known */
	const char *cgroup; /* path below the cgroup root: names the container; or NULL */
	/*
	 * Read only: above 0, this row stands for so many ended tasks of the same domain,
	 * exe_image, comm and cgroup; pid, tid and times are 0. See vmop_db_merge_tasks.
	 */
	uint64_t merged;
};

/* Ids of tasks that a writer gives lie below this; those above are made by rolling up. */
#define VMOP_DB_TASK_ID_LIMIT (1u << 30)

struct vmop_db_image {
	uint32_t id;
	enum vmop_image_kind kind;
	uint32_t domain;  /* whose: 0 host */
	const char *name; /* path as the task saw it; "[kernel]", "[kvm]", "[bpf]", "[no-maps]" */
	const char *root; /* "/proc/PID/root" when it lay in another mount namespace; or NULL */
	uint8_t build_id_len_bytes;
	uint8_t build_id[20];
	uint64_t base;	    /* address of offset 0 for kernel images, modules, BPF; else 0 */
	uint64_t len_bytes; /* 0: not known */
};

/* One row of samples: everything but the offset. */
struct vmop_db_chunk_key {
	uint32_t event;
	uint32_t domain;   /* whose code it is */
	uint32_t billed;   /* guest it was done for; == domain with VMOP_BILL_SELF */
	uint8_t bill;	   /* enum vmop_bill */
	uint8_t mode;	   /* enum vmop_mode */
	uint8_t certainty; /* enum vmop_certainty */
	int32_t vcpu;	   /* -1: not separated or not a vCPU's */
	int32_t cpu;	   /* -1: not separated */
	uint32_t task;	   /* 0: none */
	uint32_t image;	   /* 0 never: what has no image has a named "[...]" one */
	uint32_t stack;	   /* leaf of an interned stack; 0: none */
};

/* One place in a chunk. Within a chunk: ascending, distinct offsets. */
struct vmop_db_cell {
	uint64_t offset;
	uint64_t samples;	/* >= 1 */
	uint64_t weight_events; /* sum over them */
};

struct vmop_db_interval {
	uint32_t id;	   /* given by libdb; ascending in the order of recording */
	uint8_t level;	   /* 0 as recorded, 1 a minute, 2 an hour, ... */
	uint64_t start_ns; /* CLOCK_REALTIME */
	uint64_t len_ns;
};

/*
 * What could not be sampled, delivered, attributed or read, by name: "lost",
 * "throttled", "unhandled", ...  (docs: vmop-session(5)).  Samples that were
 * attributed to a named "[...]" image are in chunks, not here.
 */
struct vmop_db_loss {
	const char *name;
	uint32_t domain;
	uint32_t event;
	uint64_t count;
};

/* ---- writing ----------------------------------------------------------- */

/*
 * A new file at path, which must not exist.  Written in WAL mode; info pairs
 * go in with vmop_db_put_info.
 */
struct vmop_error *vmop_db_create(const char *path, struct vmop_db **ret);

/*
 * The same for the file `name` in dir, made with mode: at no time does it, or what SQLite keeps
 * beside it, have another. path is for messages. dir need not stay open.
 */
struct vmop_error *vmop_db_create_at(const struct vmop_dir *dir, const char *name, const char *path,
				     mode_t mode, struct vmop_db **ret);

/*
 * Ends the session: commits nothing open, checkpoints, and leaves one file
 * without a WAL beside it, which can be copied and read anywhere.  VMOP_ERROR_BUSY: a reader
 * keeps it from being one file; nothing is lost.  db is freed whatever happens.
 */
struct vmop_error *vmop_db_finish(struct vmop_db *db);

/* Frees db without any of that (also for readers). NULL is allowed. */
void vmop_db_close(struct vmop_db *db);

/*
 * Makes of a file whose writer died (kill -9, power) a finished one, as
 * vmop_db_finish would have left it.  VMOP_ERROR_BUSY while a writer lives, VMOP_ERROR_CANT where
 * the file or its directory can't be written, or where another user can change it or what lies
 * beside it; readers don't need this.
 */
struct vmop_error *vmop_db_recover(const char *path);
struct vmop_error *vmop_db_recover_at(const struct vmop_dir *dir, const char *name,
				      const char *path);

/*
 * Lets go of the file so that it can be renamed: it is one file afterwards (unless a reader keeps
 * it from that), and nothing but vmop_db_resume and vmop_db_close may be called.  An interval that
 * is open is forgotten.  On an error the file is still open.
 */
struct vmop_error *vmop_db_suspend(struct vmop_db *db);

/*
 * Goes on where vmop_db_suspend left off, in the file of that session, which has the name at the
 * end of path now, in the directory that it was made in.  On an error vmop_db_resume may be tried
 * again.
 */
struct vmop_error *vmop_db_resume(struct vmop_db *db, const char *path);

/*
 * Ends a session whose file was renamed or deleted under it: completes the file, wherever it is,
 * and touches nothing at its path, which may be another's.  db is freed whatever happens.
 */
struct vmop_error *vmop_db_abandon(struct vmop_db *db);

/*
 * From now on a put whose row no session can hold (VMOP_ERROR_LIMIT: too long, too many, out
 * of range) drops the row, counts it and succeeds: what a guest or a file names must not keep the
 * rest from being stored.
 */
void vmop_db_drop_rejected(struct vmop_db *db);

struct vmop_db_rejected {
	uint64_t facts;	   /* rows that were dropped */
	uint64_t samples;  /* in chunks that were dropped */
	const char *first; /* why the first one was; NULL: none was. Holds until the next put */
};
/* Since the file was made; without those of an interval that was rolled back. */
void vmop_db_rejected(const struct vmop_db *db, struct vmop_db_rejected *ret);

/*
 * Outside begin_interval/commit a put is a transaction of its own; within, it is
 * part of the interval's.  Facts of the whole session are info pairs: "vmop",
 * "hostname", "kernel", "machine", "cpus", "start_ns", "end_ns", "setup", ...
 */
struct vmop_error *vmop_db_put_info(struct vmop_db *db, const char *name, const char *value);
struct vmop_error *vmop_db_drop_info(struct vmop_db *db, const char *name);
struct vmop_error *vmop_db_put_event(struct vmop_db *db, const struct vmop_db_event *event);
struct vmop_error *vmop_db_put_domain(struct vmop_db *db, const struct vmop_db_domain *domain);
struct vmop_error *vmop_db_put_vcpu(struct vmop_db *db, const struct vmop_db_vcpu *vcpu);
struct vmop_error *vmop_db_put_task(struct vmop_db *db, const struct vmop_db_task *task);
/* The task ended: a roll-up may merge it. Nothing happens where there is no such task. */
struct vmop_error *vmop_db_end_task(struct vmop_db *db, uint32_t task, uint64_t end_time_ns);
/*
 * Finds the merged row (see vmop_db_task.merged) for like's domain, exe_image, comm and cgroup,
 * adds it if it is missing, adds n to the tasks it stands for, and sets *ret to its id.
 */
struct vmop_error *vmop_db_merge_tasks(struct vmop_db *db, const struct vmop_db_task *like,
				       uint64_t n, uint32_t *ret);
struct vmop_error *vmop_db_put_image(struct vmop_db *db, const struct vmop_db_image *image);

/*
 * The symbols of an image that can't be read later (kernels, modules, BPF,
 * guests).  In any order; packed and compressed.
 */
struct vmop_error *vmop_db_put_symbols(struct vmop_db *db, uint32_t image,
				       const struct vmop_symbol *symbols, size_t n);

struct vmop_error *vmop_db_begin_interval(struct vmop_db *db, uint64_t start_ns, uint64_t len_ns);
/*
 * cells as struct vmop_db_cell says, n >= 1.  A key may come more than once in an
 * interval (each is a row of its own), but better not.
 */
struct vmop_error *vmop_db_put_chunk(struct vmop_db *db, const struct vmop_db_chunk_key *key,
				     const struct vmop_db_cell *cells, size_t n);
struct vmop_error *vmop_db_put_loss(struct vmop_db *db, const struct vmop_db_loss *loss);
struct vmop_error *vmop_db_commit(struct vmop_db *db);
/*
 * Forgets the open interval, for instance after a full disk; the file stays good.
 * What else was put since begin_interval (tasks, images, ...) is forgotten with it
 * and must be put again.  A commit that fails has rolled back already; after a put
 * that failed, commit does nothing but that.
 */
void vmop_db_rollback(struct vmop_db *db);

/*
 * Return the number of samples that vmop_db_put_chunk stored, and the bytes of their rows. Rolling
 * up makes fewer bytes of them later.
 */
struct vmop_db_written {
	uint64_t samples, bytes;
};
struct vmop_db_written vmop_db_written(const struct vmop_db *db);

/* Bytes of the file and its WAL on disk now. */
struct vmop_error *vmop_db_size_bytes(struct vmop_db *db, uint64_t *ret);

/*
 * Merges the intervals of `level` into intervals of level+1: those that began in
 * the same span of len_ns (aligned, and over at before_ns) become one, which reaches from
 * the first one's start to the last one's end and takes the first one's id.  Tasks
 * that have ended become one for each domain, exe_image, comm and cgroup; their own
 * rows go once nothing refers to them and they ended before before_ns.  Losses are
 * merged too.  One transaction, bounded: at most max_intervals of the upper level a
 * call; *ret_more tells whether there is more to do.  Outside an interval only.
 * A span that can't be merged (damaged, or more than a row can hold) only rises to level+1.
 * The space is used again by later intervals, the file does not shrink.
 */
struct vmop_error *vmop_db_roll_up(struct vmop_db *db, uint8_t level, uint64_t before_ns,
				   uint64_t len_ns, unsigned max_intervals, bool *ret_more);

/* ---- reading ----------------------------------------------------------- */

/*
 * Opens for reading. VMOP_ERROR_NEWER, VMOP_ERROR_CORRUPT and others name the path.
 *
 * If another user than root and the caller's can change the file, its directory or a file beside
 * it, only the file itself is read, and a copy of its WAL if that is the same owner's and not too
 * large: no journal, no lock, and nothing is created, deleted or waited for.
 */
struct vmop_error *vmop_db_open(const char *path, struct vmop_db **ret);
struct vmop_error *vmop_db_open_at(const struct vmop_dir *dir, const char *name, const char *path,
				   struct vmop_db **ret);

/* One line on what of the session is not read for that reason; NULL: all of it is. */
const char *vmop_db_left_out(const struct vmop_db *db);

/* Readers of one report should see one moment of a live session. Ended by vmop_db_close. */
struct vmop_error *vmop_db_begin_snapshot(struct vmop_db *db);

/* *ret is the caller's to free, NULL when there is no such pair. */
struct vmop_error *vmop_db_get_info(struct vmop_db *db, const char *name, char **ret);

struct vmop_db_info {
	const char *name, *value;
};

#define VMOP_DB_EACH(noun, type)                                                                   \
	struct vmop_error *vmop_db_each_##noun(                                                    \
		struct vmop_db *db, struct vmop_error *(*each)(void *arg, const type *noun),       \
		void *arg)
VMOP_DB_EACH(info, struct vmop_db_info); /* ascending by name */
VMOP_DB_EACH(event, struct vmop_db_event);
VMOP_DB_EACH(domain, struct vmop_db_domain);
VMOP_DB_EACH(vcpu, struct vmop_db_vcpu);
VMOP_DB_EACH(task, struct vmop_db_task);
VMOP_DB_EACH(image, struct vmop_db_image);
VMOP_DB_EACH(interval, struct vmop_db_interval);
/* Summed over all intervals, a row for each (name, domain, event). */
VMOP_DB_EACH(loss, struct vmop_db_loss);
#undef VMOP_DB_EACH

/*
 * Chunks that a walk leaves out because another session has them: of these events, code of
 * these domains, in intervals whose middle is in [from, to).  Both lists ascend.
 */
struct vmop_db_omission {
	const uint32_t *events, *domains;
	size_t n_events, n_domains; /* no domain: every domain */
	uint64_t from_ns, to_ns;    /* CLOCK_REALTIME */
};

/* Which chunks a walk visits. An empty list means all. Lists of ids are sorted in place. */
struct vmop_db_filter {
	uint64_t from_ns, to_ns; /* intervals that overlap [from, to); to 0: no end */
	const uint32_t *events, *domains, *billed, *tasks, *images;
	size_t n_events, n_domains, n_billed, n_tasks, n_images;
	const int32_t *cpus, *vcpus;
	size_t n_cpus, n_vcpus;
	const struct vmop_db_omission *omissions;
	size_t n_omissions;
	bool only_omitted;   /* what the omissions match, instead of what is left */
	uint32_t task_apart; /* not merged with VMOP_DB_MERGE_TASKS; 0: none */
};

/*
 * Totals by key, summed over the intervals that filter lets through, straight
 * from the rows' totals: no blob is opened.  In no particular order; of very many keys, one may
 * come several times.
 */
struct vmop_db_total {
	struct vmop_db_chunk_key key;
	uint64_t samples, weight_events;
};
struct vmop_error *vmop_db_each_total(struct vmop_db *db, const struct vmop_db_filter *filter,
				      struct vmop_error *(*each)(void *arg,
								 const struct vmop_db_total *total),
				      void *arg);

/*
 * The chunks themselves, opened, ordered by image so that a reader can keep one
 * image's symbols at hand.  cells holds only until the callback returns.
 */
struct vmop_db_chunk {
	struct vmop_db_chunk_key key;
	const struct vmop_db_interval *interval;
	const struct vmop_db_cell *cells;
	size_t n_cells;
};
struct vmop_error *vmop_db_each_chunk(struct vmop_db *db, const struct vmop_db_filter *filter,
				      struct vmop_error *(*each)(void *arg,
								 const struct vmop_db_chunk *chunk),
				      void *arg);

/*
 * The same in pieces, in the order of time, for a reader that adds up itself by something coarser
 * than offsets: nothing is kept or sorted for it.  A chunk's pieces follow each other. The
 * callback may read from db what is no walk over chunks, such as symbols.
 */
struct vmop_error *vmop_db_each_piece(struct vmop_db *db, const struct vmop_db_filter *filter,
				      struct vmop_error *(*each)(void *arg,
								 const struct vmop_db_chunk *piece),
				      void *arg);

/*
 * The same cells added up over intervals, and over what else the reader does not
 * keep apart: one callback for each key that is left, ordered by image.  What a report per
 * symbol wants: 100 million samples become some ten thousand cells.  VMOP_ERROR_LIMIT, before
 * the first callback: the cells that are left take more than VMOP_DB_SUMS_MAX_BYTES.
 */
#define VMOP_DB_SUMS_MAX_BYTES ((size_t)512 << 20)
enum vmop_db_merge {
	VMOP_DB_MERGE_TASKS = 1 << 0,  /* key.task is 0, or the filter's task_apart */
	VMOP_DB_MERGE_CPUS = 1 << 1,   /* key.cpu and key.vcpu are -1 */
	VMOP_DB_MERGE_STACKS = 1 << 2, /* key.stack is 0 */
};
struct vmop_db_sum {
	struct vmop_db_chunk_key key;
	const struct vmop_db_cell *cells; /* hold until the callback returns */
	size_t n_cells;
};
struct vmop_error *
vmop_db_each_sum(struct vmop_db *db, const struct vmop_db_filter *filter,
		 unsigned merge, /* enum vmop_db_merge */
		 struct vmop_error *(*each)(void *arg, const struct vmop_db_sum *sum), void *arg);

/*
 * The stored symbols of image, ascending by offset: *ret_symbols is one heap block
 * (names inside it) that the caller frees.  None stored: NULL and 0, no error.
 */
struct vmop_error *vmop_db_get_symbols(struct vmop_db *db, uint32_t image,
				       struct vmop_symbol **ret_symbols, size_t *ret_n);

/*
 * The same; VMOP_ERROR_LIMIT, before anything is inflated, where the block would be larger than
 * *bytes.  Else *bytes becomes the block's size.
 */
struct vmop_error *vmop_db_get_symbols_within(struct vmop_db *db, uint32_t image, size_t *bytes,
					      struct vmop_symbol **ret_symbols, size_t *ret_n);

/*
 * `PRAGMA quick_check`, a decode of every blob, totals against their blobs, and whether
 * what a row refers to is there: for fault tests and `vmopcontrol`.
 */
struct vmop_error *vmop_db_check(struct vmop_db *db);

#endif
