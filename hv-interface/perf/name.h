// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf's own names of events, the same on every machine: the tables behind
 * PERF_TYPE_HARDWARE, _SOFTWARE and _HW_CACHE of linux/perf_event.h, spelt as
 * the perf tool spells them.  '-' and '_' are the same, so is case.
 */
#ifndef VMOP_HV_INTERFACE_PERF_NAME_H
#define VMOP_HV_INTERFACE_PERF_NAME_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The lowest counts between samples, OProfile's for its own: for what happens every cycle, and
 * for what happens now and then.
 */
enum { VMOP_PERF_LOWEST_EVERY_CYCLE = 6000, VMOP_PERF_LOWEST_NOW_AND_THEN = 500 };

struct vmop_perf_name {
	uint32_t type; /* PERF_TYPE_... */
	uint64_t config;
	uint64_t min_period_events;
	bool is_clock;
	bool counts_cycles;
};

/* False: there is none of that name. */
bool vmop_perf_name_find(const char *name, struct vmop_perf_name *ret);

/* The i-th generic name but for cache events, from 0; NULL past the last. */
const char *vmop_perf_name_at(unsigned i);

/* What the i-th of them counts, in a few words. */
const char *vmop_perf_name_description(unsigned i);

/* The i-th cache event that is worth a line in a list, "LLC-load-misses", from 0; NULL past it. */
const char *vmop_perf_name_cache_at(unsigned i);

/*
 * opcontrol's names for what perf has a name of its own for: CPU_CLK_UNHALTED is cycles.  The
 * unit mask that goes with it may be given and changes nothing.
 */
struct vmop_perf_alias {
	const char *name;
	const char *generic;
	uint64_t unit_mask;
};
/* NULL: there is none of that name. */
const struct vmop_perf_alias *vmop_perf_alias_find(const char *name);
/* The i-th, from 0; NULL past the last. */
const struct vmop_perf_alias *vmop_perf_alias_at(unsigned i);

bool vmop_perf_name_equal(const char *a, const char *b);

/* How many letters apart two names are (Levenshtein's distance), up to 64 letters of each. */
unsigned vmop_perf_name_distance(const char *a, const char *b);

#endif
