// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Session files: the store of one run of sampling with a fixed set-up, in one SQLite file.
 * vmop-session(5) describes the schema.  Only libdb reads and writes it, so another store could
 * replace SQLite behind this header.
 *
 * Callers: vmopd writes, vmopreport reads.  They include only this header and session-files.h, by
 * which vmopcontrol, too, names, moves and removes the files of sessions.  Unit tests and fuzzers
 * also include pack.h, sum.h and symbols.h.
 *
 * Writing: create the file and put the facts, then for each interval call begin_interval, put_*
 * and commit.  An interval is one transaction: after a crash or kill -9 the file has every
 * committed interval and nothing of the open one.  A file has one writer, in one thread.
 *
 * A written chunk passes through: interval.c (the transaction), place.c (its place becomes an id),
 * pack.c (its cells become a blob), connection.c (statements, SQLite's errors).  facts.c writes
 * and reads all other rows, and symbols.c packs symbols.  stacks/cells.c packs cells with stacks,
 * and stacks/tree.c stores and loads the tree of stacks.  roll-up.c merges old intervals (pile.c),
 * and retention.c deletes them.  summary.c sums
 * them for readers that ask for no times.
 *
 * Reading: open the file, then walk.  Opening never writes; it works beside a live writer, and
 * without root if the caller may read the file.  A walk returns the first error that its callback
 * returns, and stops.  Rows and their strings are valid until the callback returns.
 *
 * A read chunk passes through: db.c and file-set.c (open, checks against hostile files), filter.c
 * (which intervals and places pass), walk.c (opened cells), walk-sums.c and sum.c (cells summed
 * by key).
 *
 * Putting an id again replaces the row.
 */
#ifndef VMOP_LIBDB_DB_H
#define VMOP_LIBDB_DB_H

#include <sys/types.h>

#include "libdb/types.h"
#include "libutil/error.h"

struct vmop_db;
struct vmop_dir; /* libutil/dirs/safe-dir.h */

/* ---- writing ----------------------------------------------------------- */

/* Create a session file at path, which must not exist, in WAL mode.  The caller owns *ret. */
struct vmop_error *vmop_db_create(const char *path, struct vmop_db **ret);

/*
 * Create the session file `name` in dir with the permissions `mode`.  The file and SQLite's files
 * beside it have mode 0600 until this process has the locks of a writer, which it keeps.  Messages
 * contain path.  dir may be closed afterwards.
 */
struct vmop_error *vmop_db_create_at(const struct vmop_dir *dir, const char *name, const char *path,
				     mode_t mode, struct vmop_db **ret);

/*
 * The time in which the end of a file waits for its readers. Every user who may read it can hold
 * their locks for ever, so that it is short: it is added to --stop.
 */
#define VMOP_DB_END_WAIT_MS 1000

/*
 * End the session: roll back an open interval, checkpoint, and leave one file without a WAL, which
 * can be copied and read anywhere.  VMOP_ERROR_BUSY: a reader has it open for longer than
 * VMOP_DB_END_WAIT_MS; nothing is lost, and the WAL stays.  Frees db in every case.
 */
struct vmop_error *vmop_db_finish(struct vmop_db *db);

/* Do the same with another wait for readers. */
struct vmop_error *vmop_db_finish_within(struct vmop_db *db, unsigned wait_ms);

/* Close a reader, or a writer without finishing its session, and free db.  NULL is allowed. */
void vmop_db_close(struct vmop_db *db);

/*
 * Finish the file of a writer that died (kill -9, power), as vmop_db_finish would have.
 * VMOP_ERROR_BUSY: a writer is alive.  VMOP_ERROR_CANT: the caller can't write the file or its
 * directory, or another user can change the file or those beside it.  Readers don't need this.
 * wait_ms: how long readers are awaited, at the opening and at the end each; VMOP_DB_END_WAIT_MS
 * without it.
 */
struct vmop_error *vmop_db_recover(const char *path);
struct vmop_error *vmop_db_recover_at(const struct vmop_dir *dir, const char *name,
				      const char *path, unsigned wait_ms);

/*
 * From now on, let a thread move the WAL into the file and sync it, so that this thread does not
 * wait for the disk. Without memory for it nothing changes.
 */
void vmop_db_checkpoint_beside(struct vmop_db *db);

/*
 * Return whether that thread is at work. An interval that begins meanwhile is stored, but may wait
 * for the disk, at most 5 s.
 */
bool vmop_db_is_checkpointing(const struct vmop_db *db);

/*
 * Keep that thread from beginning further work, until vmop_db_release_checkpoints. Return whether
 * it is idle: then an interval does not wait for the disk. Otherwise call it again.
 */
bool vmop_db_hold_checkpoints(struct vmop_db *db);
void vmop_db_release_checkpoints(struct vmop_db *db);

/*
 * Return the length of the part of the WAL that is in use. It grows past 4 MB while that thread is
 * behind, or while a reader holds a snapshot. 0: there is no such thread.
 */
uint64_t vmop_db_wal_bytes(const struct vmop_db *db);

/* Return the first failure of that thread since the last call, or NULL. No row is lost by it yet.
 */
struct vmop_error *vmop_db_checkpoint_failure(struct vmop_db *db);

/*
 * Note that the file of a writer, with SQLite's files beside it, has another name in its directory:
 * the last part of path. The writer goes on meanwhile. Takes over path, which is on the heap.
 */
void vmop_db_renamed(struct vmop_db *db, char *path);

/*
 * End a session whose file was renamed or deleted.  Completes that file, and touches no other file
 * that has its path now.  Frees db in every case.
 */
struct vmop_error *vmop_db_abandon(struct vmop_db *db);

/*
 * From now on, drop and count each row that no session can hold (VMOP_ERROR_LIMIT: too long, too
 * many, out of range); its put succeeds.  A guest or a file chooses such values, and must not keep
 * the rest from being stored.
 */
void vmop_db_drop_rejected(struct vmop_db *db);

/* Set *ret to the rows dropped since the file was created, without those of rolled-back intervals.
 */
void vmop_db_rejected(const struct vmop_db *db, struct vmop_db_rejected *ret);

/*
 * Put rows.  Between begin_interval and commit they are part of the interval's transaction;
 * otherwise each put is a transaction.  Facts of the whole session are info pairs: "vmop",
 * "hostname", "kernel", "machine", "cpus", "start_ns", "end_ns", "setup", ...
 */
struct vmop_error *vmop_db_put_info(struct vmop_db *db, const char *name, const char *value);
struct vmop_error *vmop_db_drop_info(struct vmop_db *db, const char *name);
/* Replace the clock of a guest, in the session of its host. */
struct vmop_error *vmop_db_put_guest_clock(struct vmop_db *db, struct vmop_domain_id domain,
					   const struct vmop_db_clock *clock);
struct vmop_error *vmop_db_put_event(struct vmop_db *db, const struct vmop_db_event *event);
struct vmop_error *vmop_db_put_domain(struct vmop_db *db, const struct vmop_db_domain *domain);
struct vmop_error *vmop_db_put_vcpu(struct vmop_db *db, const struct vmop_db_vcpu *vcpu);
struct vmop_error *vmop_db_put_task(struct vmop_db *db, const struct vmop_db_task *task);
struct vmop_error *vmop_db_put_image(struct vmop_db *db, const struct vmop_db_image *image);

/* Store the end of a task, so that a roll-up may merge it.  Does nothing if there is no such task.
 */
struct vmop_error *vmop_db_end_task(struct vmop_db *db, struct vmop_task_row_id task,
				    uint64_t end_time_ns);

/*
 * Add n tasks to the merged row (see struct vmop_db_task) of like's domain, exe_image, comm and
 * cgroup, and set *ret to its id.  Adds the row if it is missing.
 */
struct vmop_error *vmop_db_merge_tasks(struct vmop_db *db, const struct vmop_db_task *like,
				       uint64_t n, struct vmop_task_row_id *ret);

/*
 * Store the n symbols, in any order, of an image that can't be read later: a kernel, a module, a
 * BPF program, an image of a guest.
 */
struct vmop_error *vmop_db_put_symbols(struct vmop_db *db, struct vmop_image_id image,
				       const struct vmop_symbol *symbols, size_t n);

/*
 * Pack the symbols of an image with very many of them, in any order, to store the sampled ones in
 * several sessions.  *ret is on the heap, and the caller does not depend on its format.  Symbols
 * with the names in `always`, which a NULL ends, are stored in any case; at most 8.
 * VMOP_ERROR_LIMIT: no session can hold the symbols.
 *
 * vmop_db_check_packed_symbols checks that bytes from elsewhere are of the format that this libdb
 * writes, VMOP_ERROR_CORRUPT.  It does not unpack them: the caller answers for their content.
 *
 * vmop_db_put_packed_symbols stores only those symbols that contain offsets of the session's cells
 * or nodes of stacks, in the transaction of the interval that first needs them.  Call it in the
 * first interval that refers to the image; a later call for the image has no effect.  libdb keeps a
 * copy of packed in memory.
 */
struct vmop_error *vmop_db_pack_symbols(const struct vmop_symbol *symbols, size_t n,
					const char *const *always, void **ret,
					size_t *ret_len_bytes);
struct vmop_error *vmop_db_check_packed_symbols(const void *packed, size_t len_bytes);
struct vmop_error *vmop_db_put_packed_symbols(struct vmop_db *db, struct vmop_image_id image,
					      const void *packed, size_t len_bytes);

/*
 * Store code. *ret_stored_bytes is the room that it takes. The same image, offset and time replace
 * the row.
 */
struct vmop_error *vmop_db_put_code(struct vmop_db *db, const struct vmop_db_code *code,
				    size_t *ret_stored_bytes);

/* Open an interval.  start_ns is of CLOCK_REALTIME.  VMOP_ERROR_CANT: one is open already. */
struct vmop_error *vmop_db_begin_interval(struct vmop_db *db, uint64_t start_ns, uint64_t len_ns);

/*
 * Store a chunk of n >= 1 cells without stacks, ascending by offset without duplicates.  key's
 * stack is ignored.  A key that comes twice in an interval costs a second row.
 */
struct vmop_error *vmop_db_put_chunk(struct vmop_db *db, const struct vmop_db_chunk_key *key,
				     const struct vmop_db_cell *cells, size_t n);

/*
 * Store n nodes of the tree of stacks, in the open interval.  A session has one tree; the first
 * node that is put has id 1, and each further one the next id.  If the interval is rolled back, its
 * nodes are gone, and their ids are given again.  VMOP_ERROR_LIMIT, and no node is stored: an id is
 * not the next one, a parent is not below its node, or not exactly the end marks have parent 0 and
 * image 0.  vmop_db_drop_rejected does not concern nodes, because
 * later rows refer to them.
 */
struct vmop_error *vmop_db_put_stack_nodes(struct vmop_db *db,
					   const struct vmop_db_stack_node *nodes, size_t n);

/* Return the id of the last node that was put, or 0: the next one has this id + 1. */
struct vmop_stack_id vmop_db_last_stack_node(const struct vmop_db *db);

/*
 * Store a chunk whose n >= 1 cells have stacks, as one row.  The cells ascend by (stack, offset)
 * without duplicates, and their nodes have been put.  key's stack is ignored.
 */
struct vmop_error *vmop_db_put_stacks_chunk(struct vmop_db *db, const struct vmop_db_chunk_key *key,
					    const struct vmop_db_stack_cell *cells, size_t n);

/*
 * Sort n cells by offset for vmop_db_put_chunk.  scratch has room for n cells; its content is
 * undefined afterwards.  Takes a third of the time of qsort(3), which would be half of the
 * daemon's whole time.
 */
void vmop_db_sort_cells(struct vmop_db_cell *cells, struct vmop_db_cell *scratch, size_t n);

/* Sort n cells by (stack, offset) for vmop_db_put_stacks_chunk, likewise. */
void vmop_db_sort_stack_cells(struct vmop_db_stack_cell *cells, struct vmop_db_stack_cell *scratch,
			      size_t n);

/* Add to a loss, in the open interval or, without one, in the session as a whole. */
struct vmop_error *vmop_db_put_loss(struct vmop_db *db, const struct vmop_db_loss *loss);

/*
 * Store the time of vCPUs, in the open interval, or without one in no interval: VMOP_ERROR_CANT.  A
 * row of the same key is added to.  vmop_db_put_culprit sets *ret to the id of the row with the
 * same kind, domain and name, which it adds if it is missing.
 */
struct vmop_error *vmop_db_put_culprit(struct vmop_db *db, const struct vmop_db_culprit *culprit,
				       uint32_t *ret);
struct vmop_error *vmop_db_put_wait(struct vmop_db *db, const struct vmop_db_wait *wait);
struct vmop_error *vmop_db_put_exit_place(struct vmop_db *db,
					  const struct vmop_db_exit_place *place);

/* Commit the open interval.  After an error, also of a put before, the interval is rolled back. */
struct vmop_error *vmop_db_commit(struct vmop_db *db);

/*
 * Roll back the open interval, for instance after a full disk; the file stays valid.  All rows
 * since begin_interval (tasks, images, ...) are gone, and the caller must put them again.
 */
void vmop_db_rollback(struct vmop_db *db);

/* Return how much vmop_db_put_chunk has stored. */
struct vmop_db_written vmop_db_written(const struct vmop_db *db);

/* Set *ret to the present size of the file and its WAL on disk. */
struct vmop_error *vmop_db_size_bytes(struct vmop_db *db, uint64_t *ret);

/*
 * Merge the intervals of `level` into intervals of level + 1.  Intervals that began in the same
 * span of len_ns (aligned, and over at before_ns) become one, from the first one's start to the
 * last one's end, with the first one's id.  Their losses are merged, too.
 *
 * Ended tasks become one for each domain, exe_image, comm and cgroup.  Their own rows are deleted
 * when no row refers to them and they ended before before_ns.
 *
 * A call is one transaction of at most max_intervals of the upper level, outside of an interval.
 * *ret_more is true if there is more to do.  A span that can't be merged (damaged, or more than a
 * row can hold) only rises to level + 1.  Later intervals use the freed space again, and
 * vmop_db_finish cuts off the rest.
 */
struct vmop_error *vmop_db_roll_up(struct vmop_db *db, uint8_t level, uint64_t before_ns,
				   uint64_t len_ns, unsigned max_intervals, bool *ret_more);

/*
 * Make the oldest detail coarser: merge the oldest span of intervals that is over at before_ns and
 * can still become longer.  lens_ns[i] is the length of the intervals of level i + 1.  One
 * transaction.  *ret_done is false if there is no such span.
 */
struct vmop_error *vmop_db_coarsen(struct vmop_db *db, const uint64_t *lens_ns, unsigned n_lens,
				   uint64_t before_ns, bool *ret_done);

/*
 * Make one summary of old intervals that are over at before_ns, or of older summaries (summary.h):
 * reports that ask for no times read them in the place of the intervals.  One transaction.
 * *ret_done is false if there is nothing to do.  before_ns leaves out intervals that are still to
 * be merged into ones of a minute or so: more than 100 in ten minutes are not summed.
 */
struct vmop_error *vmop_db_summarize(struct vmop_db *db, uint64_t before_ns, bool *ret_done);

/*
 * Delete the oldest interval with its chunks and losses, if it ended by before_ns and is not the
 * only one.  One transaction.  The facts "dropped_samples" and "dropped_until_ns" count the
 * deleted samples.  *ret_done is false if nothing was.  Images, merged tasks and nodes of stacks
 * stay.
 */
struct vmop_error *vmop_db_drop_oldest(struct vmop_db *db, uint64_t before_ns, bool *ret_done);

/*
 * Cut free pages off the file until spare_bytes of them are left, at most max_pages in a call,
 * which is one transaction.  The file becomes shorter with the next checkpoint that no reader holds
 * up. *ret_more is true if there is more to do.
 */
struct vmop_error *vmop_db_give_back(struct vmop_db *db, uint64_t spare_bytes, unsigned max_pages,
				     bool *ret_more);

/* Set *ret to the room that the session takes. */
struct vmop_error *vmop_db_room(struct vmop_db *db, struct vmop_db_room *ret);

/*
 * Merge rows of nodes of stacks, so that they take less room: some time after the last call, and
 * before vmop_db_finish.  One transaction, outside of an interval.  It does nothing as long as that
 * is not worth the time.
 */
struct vmop_error *vmop_db_merge_stack_nodes(struct vmop_db *db);

/* ---- reading ----------------------------------------------------------- */

/*
 * Open a session file for reading.  The caller owns *ret.  Errors name the path: VMOP_ERROR_NEWER,
 * VMOP_ERROR_CORRUPT and others.
 *
 * If a user other than root and the caller can change the file, its directory or a file beside it,
 * only the file is read, and a copy of its WAL if it has the same owner and is not too large.  Then
 * no journal or lock is used, and nothing is created, deleted or waited for.
 */
struct vmop_error *vmop_db_open(const char *path, struct vmop_db **ret);
struct vmop_error *vmop_db_open_at(const struct vmop_dir *dir, const char *name, const char *path,
				   struct vmop_db **ret);

/* Return a line about the part of the session that is not read for that reason, or NULL. */
const char *vmop_db_left_out(const struct vmop_db *db);

/* Begin a snapshot, so that all walks of a report see a live session at one moment.  vmop_db_close
 * ends it. */
struct vmop_error *vmop_db_begin_snapshot(struct vmop_db *db);

/*
 * Copy the session into the new file `name` of dir, mode 0600, which is one file without a WAL.
 * Messages contain path.  A session that is being written is copied as of one moment: that of the
 * snapshot, or one at the start of the call.  `goes_on` is called about every 4 MiB with the share
 * that is done, 0 to 1, and ends the copy with VMOP_ERROR_BUSY by returning false; it may be NULL.
 * A session of more than max_bytes is VMOP_ERROR_LIMIT.  After an error there is no file.
 */
struct vmop_error *vmop_db_copy_at(struct vmop_db *db, const struct vmop_dir *dir, const char *name,
				   const char *path, uint64_t max_bytes,
				   bool (*goes_on)(void *arg, double share), void *arg);

/*
 * Return the facts of a reader's file from before its snapshot began (STATX_BASIC_STATS, and
 * STATX_BTIME where the file system has it), or NULL if they are not known: without a snapshot, or
 * for a file that another user can change.
 */
struct statx;
const struct statx *vmop_db_snapshot_file(const struct vmop_db *db);

/*
 * From now on, pass the times of the session in the time of its guest's host; session_ns is the
 * session's fact start_ns. Parts of other sessions are left out; clock NULL: its own time. Facts
 * keep the text that they have: vmop_db_time converts their times, where 0 means not known.
 * Filters have times of the host.
 */
void vmop_db_set_clock(struct vmop_db *db, const struct vmop_db_clock *clock, uint64_t session_ns);
/* Return whether the times are those of the host, and set *ret_add_ns to the last part's add_ns. */
bool vmop_db_has_clock(const struct vmop_db *db, int64_t *ret_add_ns);
uint64_t vmop_db_time(const struct vmop_db *db, uint64_t file_ns);

/* Add to *clock the parts of that session of a guest from the session of its host. */
struct vmop_error *vmop_db_add_guest_clock(struct vmop_db *db, struct vmop_domain_id domain,
					   uint64_t session_ns, struct vmop_db_clock *clock);

/* Set *ret to a copy of the info pair's value, which the caller frees, or to NULL. */
struct vmop_error *vmop_db_get_info(struct vmop_db *db, const char *name, char **ret);
/* Set *ret to the value of the info pair, a decimal number; 0: there is no such pair. */
struct vmop_error *vmop_db_get_number(struct vmop_db *db, const char *name, uint64_t *ret);

struct vmop_db_info {
	const char *name, *value;
};

/* Call `each` for every row of a table.  Losses are summed by name, domain and event. */
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
VMOP_DB_EACH(loss, struct vmop_db_loss);
#undef VMOP_DB_EACH

/* Call `each` for each run of intervals of one level, in the order of recording. */
struct vmop_error *
vmop_db_each_detail(struct vmop_db *db,
		    struct vmop_error *(*each)(void *arg, const struct vmop_db_detail *detail),
		    void *arg);

/*
 * Call `each` for the losses of the intervals that overlap [from_ns, to_ns), to_ns 0: no end, and
 * for those of the whole session.
 */
struct vmop_error *vmop_db_each_loss_in(struct vmop_db *db, uint64_t from_ns, uint64_t to_ns,
					struct vmop_error *(*each)(void *arg,
								   const struct vmop_db_loss *loss),
					void *arg);

/* Call `each` for every culprit, ascending by id.  A file of an older version has none. */
struct vmop_error *
vmop_db_each_culprit(struct vmop_db *db,
		     struct vmop_error *(*each)(void *arg, const struct vmop_db_culprit *culprit),
		     void *arg);

/*
 * Call `each` for the time of vCPUs in the intervals that overlap [from_ns, to_ns), to_ns 0: no
 * end, summed by domain, vCPU, state and cause, in this order.  A file of an older version has
 * none. VMOP_ERROR_LIMIT: there are more than VMOP_DB_WAITS_MAX sums.
 */
#define VMOP_DB_WAITS_MAX 1000000
struct vmop_error *vmop_db_each_wait_in(struct vmop_db *db, uint64_t from_ns, uint64_t to_ns,
					struct vmop_error *(*each)(void *arg,
								   const struct vmop_db_wait *wait),
					void *arg);

/*
 * Call `each` for the same time of each interval apart, ascending by interval, domain, vCPU, state
 * and cause.
 */
struct vmop_error *vmop_db_each_interval_wait(
	struct vmop_db *db, uint64_t from_ns, uint64_t to_ns,
	struct vmop_error *(*each)(void *arg, const struct vmop_db_interval *interval,
				   const struct vmop_db_wait *wait),
	void *arg);

/* Do the same as vmop_db_each_wait_in with the places of exits, summed by domain, cause, image and
 * offset. */
struct vmop_error *vmop_db_each_exit_place_in(
	struct vmop_db *db, uint64_t from_ns, uint64_t to_ns,
	struct vmop_error *(*each)(void *arg, const struct vmop_db_exit_place *place), void *arg);

/*
 * Call `each` for the totals by key of the chunks that pass filter.  Reads the rows' totals and
 * unpacks no cells; the stack of all keys is 0.  The order is undefined; if there are very many
 * keys, a key may come several times.
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
 * Call `each` for the totals of each chunk that passes filter, in the order of recording.  Likewise
 * unpacks no cells.
 */
struct vmop_error *vmop_db_each_interval_total(
	struct vmop_db *db, const struct vmop_db_filter *filter,
	struct vmop_error *(*each)(void *arg, const struct vmop_db_interval *interval,
				   const struct vmop_db_total *total),
	void *arg);

/*
 * Return whether a walk with the filter would visit chunks of that key, whatever their interval. A
 * walk with the filter must have sorted its lists.
 */
bool vmop_db_filter_passes(const struct vmop_db_filter *filter,
			   const struct vmop_db_chunk_key *key);

/*
 * Call `each` for the unpacked chunks that pass filter, ordered by image so that a reader can keep
 * one image's symbols in memory.
 */
struct vmop_db_chunk {
	struct vmop_db_chunk_key key;
	const struct vmop_db_interval *interval;
	const struct vmop_db_cell *cells;
	size_t n_cells;
};
/* A row whose cells have stacks gives one chunk for each stack, one after another. */
struct vmop_error *vmop_db_each_chunk(struct vmop_db *db, const struct vmop_db_filter *filter,
				      struct vmop_error *(*each)(void *arg,
								 const struct vmop_db_chunk *chunk),
				      void *arg);

/*
 * Call `each` for pieces of the unpacked chunks that pass filter, in the order of time.  For
 * readers that sum by something coarser than offsets: libdb keeps no cells.  With needs_no_times,
 * it keeps up to 4 MiB of packed cells, and passes these by image.  The pieces of a chunk follow
 * one another.  Of cells with stacks, each piece has those of one stack, key.stack, and stacks
 * ascend within a row.  The callback may read symbols and facts from db, but not walk over chunks.
 */
struct vmop_error *vmop_db_each_piece(struct vmop_db *db, const struct vmop_db_filter *filter,
				      struct vmop_error *(*each)(void *arg,
								 const struct vmop_db_chunk *piece),
				      void *arg);

/*
 * Call `each` once for each key, ordered by image, with its cells summed over the intervals and
 * over what `merge` names (enum vmop_db_merge).  Reports per symbol use it: 100 million samples
 * become some ten thousand cells.  VMOP_ERROR_LIMIT, before the first callback: the cells take more
 * than VMOP_DB_SUMS_MAX_BYTES.
 */
#define VMOP_DB_SUMS_MAX_BYTES ((size_t)512 << 20)
enum vmop_db_merge {
	VMOP_DB_MERGE_TASKS = 1 << 0,  /* key.task is 0, or the filter's task_apart */
	VMOP_DB_MERGE_CPUS = 1 << 1,   /* key.cpu and key.vcpu are -1 */
	VMOP_DB_MERGE_STACKS = 1 << 2, /* key.stack is 0 */
};
struct vmop_db_sum {
	struct vmop_db_chunk_key key;
	const struct vmop_db_cell *cells;
	size_t n_cells;
};
struct vmop_error *
vmop_db_each_sum(struct vmop_db *db, const struct vmop_db_filter *filter, unsigned merge,
		 struct vmop_error *(*each)(void *arg, const struct vmop_db_sum *sum), void *arg);

/*
 * Set *ret_symbols and *ret_n to the stored symbols of image, ascending by offset.  They are one
 * heap block, names included, that the caller frees.  Without stored symbols they are NULL and 0;
 * that is no error.
 */
struct vmop_error *vmop_db_get_symbols(struct vmop_db *db, struct vmop_image_id image,
				       struct vmop_symbol **ret_symbols, size_t *ret_n);

/*
 * Do the same within *bytes, and set *bytes to the size of the block.  VMOP_ERROR_LIMIT, before
 * anything is inflated: the block would be larger than *bytes.
 */
struct vmop_error *vmop_db_get_symbols_within(struct vmop_db *db, struct vmop_image_id image,
					      size_t *bytes, struct vmop_symbol **ret_symbols,
					      size_t *ret_n);

/*
 * Set *ret to whether the session stores only the symbols of image that its own samples need (see
 * vmop_db_put_packed_symbols).
 */
struct vmop_error *vmop_db_has_sampled_symbols(struct vmop_db *db, struct vmop_image_id image,
					       bool *ret);

/*
 * Call `each` for the stored code of image that overlaps [from, to), ascending by offset, then by
 * time. A file of an older version has none.
 */
struct vmop_error *
vmop_db_each_code(struct vmop_db *db, struct vmop_image_id image, uint64_t from, uint64_t to,
		  struct vmop_error *(*each)(void *arg, const struct vmop_db_code *code),
		  void *arg);

/*
 * The tree of stacks, in memory: at most 24 bytes a node.  It does not refer to db.  Any number of
 * threads may read it.
 */
struct vmop_db_stacks;

/*
 * Load the session's tree of stacks.  The caller owns *ret; it is NULL if the session has no
 * stacks.  VMOP_ERROR_LIMIT: the tree takes more than max_bytes.  VMOP_ERROR_CORRUPT: damage, for
 * instance a parent that is not below its node; so a walk to the root always ends.  A live session
 * may store further nodes afterwards: cells that a later walk reads can refer to nodes that are not
 * in the tree, unless vmop_db_begin_snapshot has been called before.
 */
struct vmop_error *vmop_db_load_stacks(struct vmop_db *db, size_t max_bytes,
				       struct vmop_db_stacks **ret);

/* Return whether the tree has the node id, and set *ret to it. False: the file is damaged. */
bool vmop_db_stacks_node(const struct vmop_db_stacks *stacks, struct vmop_stack_id id,
			 struct vmop_db_stack_node *ret);

/* Return the greatest id: the nodes have the ids 1 to that. stacks NULL: 0. */
uint32_t vmop_db_stacks_last(const struct vmop_db_stacks *stacks);

void vmop_db_stacks_destroy(struct vmop_db_stacks *stacks); /* NULL is allowed */

/*
 * Check the whole file: `PRAGMA quick_check`, every blob decodes, totals match their blobs, and
 * references lead to rows.  For tests.  A live session may store more in the middle of it, so it
 * needs vmop_db_begin_snapshot before.
 */
struct vmop_error *vmop_db_check(struct vmop_db *db);

#endif
