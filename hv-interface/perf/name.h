// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf's own names of events, the same on every machine: the tables of PERF_TYPE_HARDWARE,
 * _SOFTWARE and _HW_CACHE of linux/perf_event.h, with the perf tool's spelling. '-' equals '_', and
 * upper case equals lower case.
 */
#ifndef VMOP_HV_INTERFACE_PERF_NAME_H
#define VMOP_HV_INTERFACE_PERF_NAME_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The lowest periods, as OProfile has them for its own events: for events of every cycle, and for
 * rarer ones.
 */
enum { VMOP_PERF_LOWEST_EVERY_CYCLE = 6000, VMOP_PERF_LOWEST_NOW_AND_THEN = 500 };

struct vmop_perf_name {
	uint32_t type; /* PERF_TYPE_... */
	uint64_t config;
	uint64_t min_period_events;
	bool is_clock;
	bool counts_cycles;
};

/* Find a name. Return false if there is no such name. */
bool vmop_perf_name_find(const char *name, struct vmop_perf_name *ret);

/*
 * Return the i-th generic name except cache events, from 0; NULL past the last. The string is
 * static.
 */
const char *vmop_perf_name_at(unsigned i);

/* Return a few words about the i-th name's event. */
const char *vmop_perf_name_description(unsigned i);

/*
 * Return the i-th cache event that is worth a line in a list, such as "LLC-load-misses", from 0;
 * NULL past the last.
 */
const char *vmop_perf_name_cache_at(unsigned i);

/*
 * opcontrol's names for events that have a perf name: CPU_CLK_UNHALTED is cycles. Its unit mask is
 * accepted and has no effect.
 */
struct vmop_perf_alias {
	const char *name;
	const char *generic;
	uint64_t unit_mask;
};
/* Find opcontrol's name, or return NULL. */
const struct vmop_perf_alias *vmop_perf_alias_find(const char *name);
/* Return the i-th alias, from 0; NULL past the last. */
const struct vmop_perf_alias *vmop_perf_alias_at(unsigned i);

bool vmop_perf_name_equal(const char *a, const char *b);

/* Return the edit distance of two names (Levenshtein's), over at most 64 letters of each. */
unsigned vmop_perf_name_distance(const char *a, const char *b);

#endif
