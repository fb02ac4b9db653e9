// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf-name.h"

#include <ctype.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/*
 * The lowest periods are OProfile's for its own: 6000 for what happens every
 * cycle, 500 for what happens now and then.  Timers can't do under 10,000 ns
 * (perf_swevent_start_hrtimer in kernel/events/core.c).
 */
enum { EVERY_CYCLE = 6000, NOW_AND_THEN = 500, EACH = 1, CLOCK_NS = 10000 };

#define HARDWARE(name, config, lowest)                                                             \
	{                                                                                          \
		name,                                                                              \
		{                                                                                  \
			PERF_TYPE_HARDWARE, config, lowest, false, false                           \
		}                                                                                  \
	}
#define CYCLES(name, config)                                                                       \
	{                                                                                          \
		name,                                                                              \
		{                                                                                  \
			PERF_TYPE_HARDWARE, config, EVERY_CYCLE, false, true                       \
		}                                                                                  \
	}
#define SOFTWARE(name, config)                                                                     \
	{                                                                                          \
		name,                                                                              \
		{                                                                                  \
			PERF_TYPE_SOFTWARE, config, EACH, false, false                             \
		}                                                                                  \
	}
#define CLOCK(name, config)                                                                        \
	{                                                                                          \
		name,                                                                              \
		{                                                                                  \
			PERF_TYPE_SOFTWARE, config, CLOCK_NS, true, false                          \
		}                                                                                  \
	}

static const struct {
	const char *name;
	struct vmop_perf_name event;
} names[] = {
	CYCLES("cycles", PERF_COUNT_HW_CPU_CYCLES),
	CYCLES("cpu-cycles", PERF_COUNT_HW_CPU_CYCLES),
	CYCLES("ref-cycles", PERF_COUNT_HW_REF_CPU_CYCLES),
	HARDWARE("instructions", PERF_COUNT_HW_INSTRUCTIONS, EVERY_CYCLE),
	HARDWARE("cache-references", PERF_COUNT_HW_CACHE_REFERENCES, NOW_AND_THEN),
	HARDWARE("cache-misses", PERF_COUNT_HW_CACHE_MISSES, NOW_AND_THEN),
	HARDWARE("llc-references", PERF_COUNT_HW_CACHE_REFERENCES, NOW_AND_THEN),
	HARDWARE("llc-misses", PERF_COUNT_HW_CACHE_MISSES, NOW_AND_THEN),
	HARDWARE("branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, NOW_AND_THEN),
	HARDWARE("branch-instructions", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, NOW_AND_THEN),
	HARDWARE("branch-misses", PERF_COUNT_HW_BRANCH_MISSES, NOW_AND_THEN),
	HARDWARE("bus-cycles", PERF_COUNT_HW_BUS_CYCLES, NOW_AND_THEN),
	HARDWARE("stalled-cycles-frontend", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, EVERY_CYCLE),
	HARDWARE("stalled-cycles-backend", PERF_COUNT_HW_STALLED_CYCLES_BACKEND, EVERY_CYCLE),
	CLOCK("cpu-clock", PERF_COUNT_SW_CPU_CLOCK),
	CLOCK("task-clock", PERF_COUNT_SW_TASK_CLOCK),
	SOFTWARE("page-faults", PERF_COUNT_SW_PAGE_FAULTS),
	SOFTWARE("faults", PERF_COUNT_SW_PAGE_FAULTS),
	SOFTWARE("minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN),
	SOFTWARE("major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ),
	SOFTWARE("context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES),
	SOFTWARE("cs", PERF_COUNT_SW_CONTEXT_SWITCHES),
	SOFTWARE("cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS),
	SOFTWARE("migrations", PERF_COUNT_SW_CPU_MIGRATIONS),
	SOFTWARE("alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS),
	SOFTWARE("emulation-faults", PERF_COUNT_SW_EMULATION_FAULTS),
};

static char fold(char c)
{
	return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

bool vmop_perf_name_equal(const char *a, const char *b)
{
	while (*a && fold(*a) == fold(*b)) {
		a++;
		b++;
	}
	return !*a && !*b;
}

/* The part of name behind prefix, or NULL. */
static const char *behind(const char *name, const char *prefix)
{
	for (; *prefix; name++, prefix++) {
		if (fold(*name) != fold(*prefix))
			return NULL;
	}
	return name;
}

/* Cache events: CACHE[-OP][-RESULT], as in LLC-load-misses, dTLB-loads, L1-icache-misses. */
static bool find_cache(const char *name, struct vmop_perf_name *ret)
{
	static const struct {
		const char *name;
		unsigned id;
	} caches[] =
		{
			{"L1-dcache", PERF_COUNT_HW_CACHE_L1D},
			{"L1-icache", PERF_COUNT_HW_CACHE_L1I},
			{"LLC", PERF_COUNT_HW_CACHE_LL},
			{"dTLB", PERF_COUNT_HW_CACHE_DTLB},
			{"iTLB", PERF_COUNT_HW_CACHE_ITLB},
			{"branch", PERF_COUNT_HW_CACHE_BPU},
			{"node", PERF_COUNT_HW_CACHE_NODE},
		},
	  ops[] = {
		  {"-load-misses", PERF_COUNT_HW_CACHE_OP_READ},
		  {"-store-misses", PERF_COUNT_HW_CACHE_OP_WRITE},
		  {"-prefetch-misses", PERF_COUNT_HW_CACHE_OP_PREFETCH},
		  {"-misses", PERF_COUNT_HW_CACHE_OP_READ},
		  {"-loads", PERF_COUNT_HW_CACHE_OP_READ},
		  {"-stores", PERF_COUNT_HW_CACHE_OP_WRITE},
		  {"-prefetches", PERF_COUNT_HW_CACHE_OP_PREFETCH},
	  };
	for (unsigned i = 0; i < ARRAY_SIZE(caches); i++) {
		const char *rest = behind(name, caches[i].name);
		for (unsigned j = 0; rest && j < ARRAY_SIZE(ops); j++) {
			if (!vmop_perf_name_equal(rest, ops[j].name))
				continue;
			unsigned result = strstr(ops[j].name, "misses")
						  ? PERF_COUNT_HW_CACHE_RESULT_MISS
						  : PERF_COUNT_HW_CACHE_RESULT_ACCESS;
			*ret = (struct vmop_perf_name){
				.type = PERF_TYPE_HW_CACHE,
				.config = caches[i].id | ops[j].id << 8 | result << 16,
				.min_period_events = NOW_AND_THEN,
			};
			return true;
		}
	}
	return false;
}

bool vmop_perf_name_find(const char *name, struct vmop_perf_name *ret)
{
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		if (vmop_perf_name_equal(name, names[i].name)) {
			*ret = names[i].event;
			return true;
		}
	}
	return find_cache(name, ret);
}

const char *vmop_perf_name_at(unsigned i)
{
	return i < ARRAY_SIZE(names) ? names[i].name : NULL;
}

unsigned vmop_perf_name_distance(const char *a, const char *b)
{
	enum { LETTERS = 64 };
	unsigned row[LETTERS + 1];
	size_t n = strnlen(b, LETTERS);
	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 0; i < LETTERS && a[i]; i++) {
		unsigned diagonal = row[0];
		row[0] = i + 1;
		for (unsigned j = 0; j < n; j++) {
			unsigned best = diagonal + (fold(a[i]) != fold(b[j]));
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j + 1] + 1 < best)
				best = row[j + 1] + 1;
			diagonal = row[j + 1];
			row[j + 1] = best;
		}
	}
	return row[n];
}
