// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/roll-up.h"

#include <inttypes.h>

#include "libutil/clock.h"
#include "libutil/log.h"

/* The time between two roll-ups, and the transactions of one kind that one makes at most. */
static const uint64_t every_ns = 10 * VMOP_NS_PER_S;
static const unsigned max_transactions = 4;

/*
 * After this time no further transaction begins. One takes some milliseconds; the rings hold a
 * second and more.
 */
static const uint64_t budget_ns = 20 * VMOP_NS_PER_MS;

/*
 * An interval with many short-lived programs takes several bytes per sample, a minute takes one or
 * two. Such intervals are merged at this age, if there were at least this many short-lived programs
 * per second, this many bytes per ten samples and this many bytes per second.
 */
static const uint64_t costly_after_ns = 60 * VMOP_NS_PER_S;
static const uint64_t costly_bytes_in_10_samples = 15, costly_bytes_a_second = 1024;
static const uint64_t costly_short_lived_a_second = 16;

/*
 * Free pages stay for later intervals: at least 1 MiB, otherwise 1/32 of the file, at most 16 MiB.
 * 256 of them (1 MiB) are given back in a transaction.
 */
#define SPARE_MIN_BYTES ((uint64_t)1 << 20)
#define SPARE_MAX_BYTES ((uint64_t)16 << 20)
static const unsigned spare_part = 32, give_back_pages = 256;

/* SQLite writes this much beside the file before it moves it into the file (libdb/db.c). */
#define LEAST_WAL_BYTES ((uint64_t)4 << 20)

/* A call: what it works on, and until when. */
struct work {
	struct vmop_roll_up *roll_up;
	struct vmop_db *db;
	const struct vmop_setup *setup;
	struct vmop_setup_ladder ladder;
	uint64_t now_ns;	   /* of the session */
	uint64_t end_monotonic_ns; /* no transaction begins afterwards */
	bool is_over;		   /* something was left over for the next call */
};

/* Return whether another transaction may begin: the n-th of its kind, from 0. */
static bool may_go_on(struct work *work, unsigned n)
{
	bool may = n < max_transactions && vmop_clock_ns(CLOCK_MONOTONIC) < work->end_monotonic_ns;
	work->is_over |= !may;
	return may;
}

/* Return the time that is age_ns ago. */
static uint64_t before(const struct work *work, uint64_t age_ns)
{
	return work->now_ns > age_ns ? work->now_ns - age_ns : 0;
}

/* ---- the ladder ------------------------------------------------------------- */

/* Return the age at which recorded intervals are merged, by the rows stored since the last call. */
static uint64_t first_age_ns(struct vmop_roll_up *roll_up, struct vmop_db *db,
			     const struct vmop_profiler *profiler, uint64_t age_ns, uint64_t now_ns)
{
	struct vmop_db_written written = vmop_db_written(db);
	uint64_t samples = written.samples - roll_up->written.samples;
	uint64_t bytes = written.bytes - roll_up->written.bytes;
	uint64_t seconds = (now_ns - roll_up->last_ns) / VMOP_NS_PER_S;
	struct vmop_profiler_stats stats;
	vmop_profiler_stats(profiler, &stats);
	uint64_t short_lived = stats.short_lived - roll_up->short_lived;
	roll_up->written = written;
	roll_up->short_lived = stats.short_lived;
	bool is_costly = short_lived > seconds * costly_short_lived_a_second &&
			 bytes * 10 > samples * costly_bytes_in_10_samples &&
			 bytes > seconds * costly_bytes_a_second;
	return is_costly && age_ns > costly_after_ns ? costly_after_ns : age_ns;
}

static struct vmop_error *climb(struct work *work)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < work->ladder.n_steps && !err; i++) {
		const struct vmop_ladder_step *step = &work->ladder.steps[i];
		uint64_t age_ns = i ? step->age_ns : work->roll_up->age_ns;
		bool more = true;
		for (unsigned n = 0; more && !err && may_go_on(work, n); n++)
			err = vmop_db_roll_up(work->db, (uint8_t)i, before(work, age_ns),
					      step->len_ns, 1, &more);
	}
	return err;
}

/*
 * The shortest intervals that are summed: shorter ones are too many at once. A session is summed
 * from this age on: summaries take room, and reports of a few hours need none.
 */
static const uint64_t summed_len_ns = 30 * VMOP_NS_PER_S, summed_age_ns = 12 * 3600 * VMOP_NS_PER_S;

/* Sum up intervals that are merged already. */
static struct vmop_error *summarize(struct work *work)
{
	const struct vmop_setup_ladder *ladder = &work->ladder;
	size_t i = 0;
	while (i < ladder->n_steps && ladder->steps[i].len_ns < summed_len_ns)
		i++;
	struct vmop_error *err = NULL;
	bool done = i < ladder->n_steps && work->now_ns - work->roll_up->begun_ns >= summed_age_ns;
	uint64_t age_ns = done ? ladder->steps[i].age_ns + ladder->steps[i].len_ns : 0;
	for (unsigned n = 0; done && !err && may_go_on(work, n); n++)
		err = vmop_db_summarize(work->db, before(work, age_ns + every_ns), &done);
	return err;
}

/* ---- age and room -------------------------------------------------------------- */

static struct vmop_error *drop_old(struct work *work)
{
	struct vmop_error *err = NULL;
	bool done = work->setup->keep_ns != 0;
	uint64_t before_ns = before(work, work->setup->keep_ns);
	for (unsigned n = 0; done && !err && may_go_on(work, n); n++)
		err = vmop_db_drop_oldest(work->db, before_ns, &done);
	return err;
}

/* Make the oldest detail coarser. If all is as coarse as it can be, delete the oldest interval. */
static struct vmop_error *make_some_room(struct work *work, bool *ret_done)
{
	uint64_t lens_ns[VMOP_LADDER_MAX_STEPS];
	const struct vmop_setup_ladder *ladder = &work->ladder;
	for (size_t i = 0; i < ladder->n_steps; i++)
		lens_ns[i] = ladder->steps[i].len_ns;
	*ret_done = false;
	struct vmop_error *err =
		ladder->n_steps ? vmop_db_coarsen(work->db, lens_ns, (unsigned)ladder->n_steps,
						  before(work, work->roll_up->age_ns), ret_done)
				: NULL;
	return err || *ret_done ? err : vmop_db_drop_oldest(work->db, work->now_ns, ret_done);
}

/* Return the room for the WAL. A reader that holds a snapshot makes it longer. */
static uint64_t wal_bytes(const struct work *work)
{
	uint64_t bytes = vmop_db_wal_bytes(work->db);
	return bytes > LEAST_WAL_BYTES ? bytes : LEAST_WAL_BYTES;
}

/* Log once that the session can't become small enough. */
static void log_no_room(struct work *work, const struct vmop_db_room *room)
{
	if (work->roll_up->no_room_was_logged)
		return;
	work->roll_up->no_room_was_logged = true;
	vmop_log_warning("max-size: the last interval and the session's names and symbols take "
			 "%" PRIu64 " MiB already, and max-size is %" PRIu64
			 " MiB: give more, or rotate=daily",
			 room->used_bytes >> 20, work->setup->max_bytes >> 20);
}

static struct vmop_error *make_room(struct work *work)
{
	uint64_t max_bytes = work->setup->max_bytes;
	bool done = max_bytes != 0;
	struct vmop_error *err = NULL;
	/* A sixteenth is left free, so that not every flush has to make room. */
	uint64_t aim_bytes = max_bytes - max_bytes / 16;
	aim_bytes -= wal_bytes(work) < aim_bytes ? wal_bytes(work) : aim_bytes;
	for (unsigned n = 0; done && !err; n++) {
		struct vmop_db_room room;
		err = vmop_db_room(work->db, &room);
		if (err || room.used_bytes <= aim_bytes || !may_go_on(work, n))
			return err;
		err = make_some_room(work, &done);
		if (!err && !done)
			log_no_room(work, &room);
	}
	return err;
}

static struct vmop_error *give_back(struct work *work)
{
	struct vmop_db_room room;
	struct vmop_error *err = vmop_db_room(work->db, &room);
	if (err)
		return err;
	uint64_t spare = room.used_bytes / spare_part, max_bytes = work->setup->max_bytes;
	spare = spare < SPARE_MIN_BYTES	  ? SPARE_MIN_BYTES
		: spare > SPARE_MAX_BYTES ? SPARE_MAX_BYTES
					  : spare;
	uint64_t taken = room.used_bytes + wal_bytes(work);
	if (max_bytes && taken + spare > max_bytes)
		spare = max_bytes > taken ? max_bytes - taken : 0;
	bool more = true;
	for (unsigned n = 0; more && !err && may_go_on(work, n); n++)
		err = vmop_db_give_back(work->db, spare, give_back_pages, &more);
	return err;
}

struct vmop_error *vmop_roll_up(struct vmop_roll_up *roll_up, struct vmop_db *db,
				const struct vmop_profiler *profiler,
				const struct vmop_setup *setup, uint64_t now_ns)
{
	struct work work = {.roll_up = roll_up, .db = db, .setup = setup, .now_ns = now_ns};
	if (!roll_up->begun_ns)
		roll_up->begun_ns = now_ns;
	if (!roll_up->goes_on && now_ns - roll_up->last_ns < every_ns)
		return NULL;
	vmop_setup_ladder_in_use(setup, &work.ladder);
	if (!roll_up->goes_on) {
		roll_up->age_ns =
			first_age_ns(roll_up, db, profiler,
				     work.ladder.n_steps ? work.ladder.steps[0].age_ns : 0, now_ns);
		roll_up->last_ns = now_ns;
	}
	work.end_monotonic_ns = vmop_clock_ns(CLOCK_MONOTONIC) + budget_ns;
	struct vmop_error *err = climb(&work);
	if (!err)
		err = summarize(&work);
	if (!err)
		err = drop_old(&work);
	if (!err)
		err = make_room(&work);
	if (!err)
		err = give_back(&work);
	roll_up->goes_on = !err && work.is_over;
	return err ? err : vmop_db_merge_stack_nodes(db);
}
