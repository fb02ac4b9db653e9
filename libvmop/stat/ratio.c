// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/ratio.h"

#include <string.h>

/* Events and what their ratio is to. */
static const struct {
	const char *name, *to, *unit;
	double factor;
} pairs[] = {
	{"instructions", "cycles", "insn per cycle", 1},
	{"branch-misses", "branches", "% of branches", 100},
	{"cache-misses", "cache-references", "% of cache references", 100},
	{"llc-misses", "llc-references", "% of cache references", 100},
	{"stalled-cycles-frontend", "cycles", "% frontend cycles idle", 100},
	{"stalled-cycles-backend", "cycles", "% backend cycles idle", 100},
	{"L1-dcache-load-misses", "L1-dcache-loads", "% of L1-dcache loads", 100},
	{"LLC-load-misses", "LLC-loads", "% of LLC loads", 100},
	{"dTLB-load-misses", "dTLB-loads", "% of dTLB loads", 100},
};

static const char cpus_unit[] = "CPUs utilized", rate_unit[] = "/sec";

static size_t base_len(const char *name)
{
	return strcspn(name, ":");
}

/* Return the count of an event in the same modes as `like`, or NULL. */
static const struct vmop_ratio_input *find(const struct vmop_ratio_input *counts, size_t n,
					   const char *base, const char *like)
{
	const char *modes = like + base_len(like);
	for (size_t i = 0; i < n; i++) {
		size_t len = base_len(counts[i].name);
		if (counts[i].is_counted && counts[i].value > 0 && len == strlen(base) &&
		    memcmp(counts[i].name, base, len) == 0 &&
		    strcmp(counts[i].name + len, modes) == 0)
			return &counts[i];
	}
	return NULL;
}

static const struct vmop_ratio_input *find_clock(const struct vmop_ratio_input *counts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (counts[i].is_time && counts[i].is_counted && counts[i].value > 0)
			return &counts[i];
	}
	return NULL;
}

bool vmop_ratio_of(const struct vmop_ratio_input *counts, size_t n, size_t i, double elapsed_s,
		   double *ret, const char **ret_unit)
{
	const struct vmop_ratio_input *count = &counts[i];
	if (!count->is_counted)
		return false;
	if (count->is_time) {
		*ret = count->value / 1e9 / elapsed_s;
		*ret_unit = cpus_unit;
		return elapsed_s > 0;
	}
	for (size_t j = 0; j < sizeof(pairs) / sizeof(*pairs); j++) {
		size_t len = base_len(count->name);
		if (len != strlen(pairs[j].name) || memcmp(count->name, pairs[j].name, len) != 0)
			continue;
		const struct vmop_ratio_input *to = find(counts, n, pairs[j].to, count->name);
		if (!to)
			break;
		*ret = pairs[j].factor * count->value / to->value;
		*ret_unit = pairs[j].unit;
		return true;
	}
	const struct vmop_ratio_input *clock = find_clock(counts, n);
	if (!clock)
		return false;
	*ret = count->value / (clock->value / 1e9);
	*ret_unit = rate_unit;
	return true;
}

const char *vmop_ratio_unit(const char *text)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		if (strcmp(text, pairs[i].unit) == 0)
			return pairs[i].unit;
	}
	if (strcmp(text, cpus_unit) == 0)
		return cpus_unit;
	return strcmp(text, rate_unit) == 0 ? rate_unit : NULL;
}
