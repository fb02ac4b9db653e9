// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/name.h"

#include <ctype.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* Timers have a minimum of 10,000 ns (perf_swevent_start_hrtimer in kernel/events/core.c). */
enum {
	EVERY_CYCLE = VMOP_PERF_LOWEST_EVERY_CYCLE,
	NOW_AND_THEN = VMOP_PERF_LOWEST_NOW_AND_THEN,
	EACH = 1,
	CLOCK_NS = 10000,
};

#define HARDWARE PERF_TYPE_HARDWARE
#define SOFTWARE PERF_TYPE_SOFTWARE
#define HW(event) HARDWARE, PERF_COUNT_HW_##event
#define SW(event) SOFTWARE, PERF_COUNT_SW_##event

static const struct {
	const char *name;
	struct vmop_perf_name event;
	const char *description;
} names[] = {
	{"cycles", {HW(CPU_CYCLES), EVERY_CYCLE, false, true}, "CPU clock cycles while not halted"},
	{"cpu-cycles", {HW(CPU_CYCLES), EVERY_CYCLE, false, true}, "the same as cycles"},
	{"ref-cycles",
	 {HW(REF_CPU_CYCLES), EVERY_CYCLE, false, true},
	 "cycles at a steady rate, whatever the frequency"},
	{"instructions", {HW(INSTRUCTIONS), EVERY_CYCLE, false, false}, "instructions retired"},
	{"cache-references",
	 {HW(CACHE_REFERENCES), NOW_AND_THEN, false, false},
	 "accesses to the last level cache"},
	{"cache-misses",
	 {HW(CACHE_MISSES), NOW_AND_THEN, false, false},
	 "misses of the last level cache"},
	{"llc-references",
	 {HW(CACHE_REFERENCES), NOW_AND_THEN, false, false},
	 "the same as cache-references"},
	{"llc-misses", {HW(CACHE_MISSES), NOW_AND_THEN, false, false}, "the same as cache-misses"},
	{"branches",
	 {HW(BRANCH_INSTRUCTIONS), NOW_AND_THEN, false, false},
	 "branch instructions retired"},
	{"branch-instructions",
	 {HW(BRANCH_INSTRUCTIONS), NOW_AND_THEN, false, false},
	 "the same as branches"},
	{"branch-misses",
	 {HW(BRANCH_MISSES), NOW_AND_THEN, false, false},
	 "branches predicted wrongly"},
	{"bus-cycles", {HW(BUS_CYCLES), NOW_AND_THEN, false, false}, "bus clock cycles"},
	{"stalled-cycles-frontend",
	 {HW(STALLED_CYCLES_FRONTEND), EVERY_CYCLE, false, false},
	 "cycles that waited for instructions to decode"},
	{"stalled-cycles-backend",
	 {HW(STALLED_CYCLES_BACKEND), EVERY_CYCLE, false, false},
	 "cycles that waited for data or units"},
	{"cpu-clock",
	 {SW(CPU_CLOCK), CLOCK_NS, true, false},
	 "time, by a timer on each CPU: needs no PMU"},
	{"task-clock", {SW(TASK_CLOCK), CLOCK_NS, true, false}, "time that tasks ran, by a timer"},
	{"page-faults", {SW(PAGE_FAULTS), EACH, false, false}, "page faults, minor and major"},
	{"faults", {SW(PAGE_FAULTS), EACH, false, false}, "the same as page-faults"},
	{"minor-faults",
	 {SW(PAGE_FAULTS_MIN), EACH, false, false},
	 "page faults served from memory"},
	{"major-faults", {SW(PAGE_FAULTS_MAJ), EACH, false, false}, "page faults that had to read"},
	{"context-switches",
	 {SW(CONTEXT_SWITCHES), EACH, false, false},
	 "switches from one task to another"},
	{"cs", {SW(CONTEXT_SWITCHES), EACH, false, false}, "the same as context-switches"},
	{"cpu-migrations", {SW(CPU_MIGRATIONS), EACH, false, false}, "tasks moved to another CPU"},
	{"migrations", {SW(CPU_MIGRATIONS), EACH, false, false}, "the same as cpu-migrations"},
	{"alignment-faults",
	 {SW(ALIGNMENT_FAULTS), EACH, false, false},
	 "unaligned accesses that the kernel handled"},
	{"emulation-faults",
	 {SW(EMULATION_FAULTS), EACH, false, false},
	 "instructions that the kernel emulated"},
};

static const char *const caches_listed[] = {
	"L1-dcache-loads", "L1-dcache-load-misses", "L1-dcache-stores", "L1-icache-load-misses",
	"LLC-loads",	   "LLC-load-misses",	    "LLC-stores",	"LLC-store-misses",
	"dTLB-loads",	   "dTLB-load-misses",	    "dTLB-stores",	"dTLB-store-misses",
	"iTLB-loads",	   "iTLB-load-misses",	    "branch-loads",	"branch-load-misses",
	"node-loads",	   "node-load-misses",
};

/*
 * Names that OProfile's event files have for most x86 models, and its numbers of the unit masks of
 * the i386/arch_perfmon set.
 */
static const struct vmop_perf_alias aliases[] = {
	{"CPU_CLK_UNHALTED", "cycles", 0x00},
	{"GLOBAL_POWER_EVENTS", "cycles", 0x01},
	{"UNHALTED_REFERENCE_CYCLES", "ref-cycles", 0x01},
	{"INST_RETIRED", "instructions", 0x00},
	{"INST_RETIRED_ANY_P", "instructions", 0x00},
	{"RETIRED_INSTRUCTIONS", "instructions", 0x00},
	{"INSTR_EXECUTED", "instructions", 0x00},
	{"LLC_REFS", "cache-references", 0x4f},
	{"LLC_MISSES", "cache-misses", 0x41},
	{"BR_INST_RETIRED", "branches", 0x00},
	{"RETIRED_BRANCH_INSTRUCTIONS", "branches", 0x00},
	{"BR_MISS_PRED_RETIRED", "branch-misses", 0x00},
	{"BR_MISP_RETIRED", "branch-misses", 0x00},
	{"RETIRED_MISPREDICTED_BRANCH_INSTRUCTIONS", "branch-misses", 0x00},
	{"BR_MISS", "branch-misses", 0x00},
	{"DTLB_MISSES", "dTLB-load-misses", 0x01},
	{"DTLB_LOAD_MISSES", "dTLB-load-misses", 0x01},
	{"DTLB_STORE_MISSES", "dTLB-store-misses", 0x01},
	{"ITLB_MISSES", "iTLB-load-misses", 0x01},
	{"DATA_CACHE_MISSES", "L1-dcache-load-misses", 0x00},
	{"INSTRUCTION_CACHE_MISSES", "L1-icache-load-misses", 0x00},
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

/* Return the part of name after prefix, or NULL. */
static const char *behind(const char *name, const char *prefix)
{
	for (; *prefix; name++, prefix++) {
		if (fold(*name) != fold(*prefix))
			return NULL;
	}
	return name;
}

/* Find a cache event: CACHE[-OP][-RESULT], as in LLC-load-misses, dTLB-loads, L1-icache-misses. */
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

const char *vmop_perf_name_description(unsigned i)
{
	return i < ARRAY_SIZE(names) ? names[i].description : NULL;
}

const char *vmop_perf_name_cache_at(unsigned i)
{
	return i < ARRAY_SIZE(caches_listed) ? caches_listed[i] : NULL;
}

const struct vmop_perf_alias *vmop_perf_alias_at(unsigned i)
{
	return i < ARRAY_SIZE(aliases) ? &aliases[i] : NULL;
}

const struct vmop_perf_alias *vmop_perf_alias_find(const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(aliases); i++) {
		if (vmop_perf_name_equal(name, aliases[i].name))
			return &aliases[i];
	}
	return NULL;
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
