// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/roll-up.h"

#include <stdbool.h>

#include "libutil/clock.h"

/* The time between two roll-ups, and the number of minutes that one makes at most. */
static const uint64_t every_ns = 10 * VMOP_NS_PER_S;
static const unsigned minutes_budget = 4;

/*
 * An interval with many short-lived programs takes several bytes per sample, a minute takes one or
 * two. Such intervals become minutes at this age, if there were at least this many short-lived
 * programs per second, this many bytes per ten samples and this many bytes per second.
 */
static const uint64_t costly_minute_after_ns = 60 * VMOP_NS_PER_S;
static const uint64_t costly_bytes_in_10_samples = 15, costly_bytes_a_second = 1024;
static const uint64_t costly_short_lived_a_second = 16;

/* Return the age at which intervals become minutes, by the rows stored since the last roll-up. */
static uint64_t minute_after_ns(struct vmop_roll_up *roll_up, struct vmop_db *db,
				const struct vmop_profiler *profiler, uint64_t age_ns,
				uint64_t now_ns)
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
	return is_costly && age_ns > costly_minute_after_ns ? costly_minute_after_ns : age_ns;
}

struct vmop_error *vmop_roll_up(struct vmop_roll_up *roll_up, struct vmop_db *db,
				const struct vmop_profiler *profiler,
				const struct vmop_setup *setup, uint64_t now_ns)
{
	if (now_ns - roll_up->last_ns < every_ns)
		return NULL;
	uint64_t age_ns = minute_after_ns(roll_up, db, profiler, setup->minute_after_ns, now_ns);
	roll_up->last_ns = now_ns;
	struct vmop_error *err = NULL;
	bool more = false;
	if (setup->minute_after_ns)
		err = vmop_db_roll_up(db, 0, now_ns - age_ns, 60 * VMOP_NS_PER_S, minutes_budget,
				      &more);
	if (!err && setup->hour_after_ns && !more)
		err = vmop_db_roll_up(db, 1, now_ns - setup->hour_after_ns, 3600 * VMOP_NS_PER_S, 1,
				      &more);
	return err ? err : vmop_db_merge_stack_nodes(db);
}
