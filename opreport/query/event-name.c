// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/event-name.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/*
 * The names of perf, of libpfm4 4.13 for x86 and Arm core PMUs, and of opcontrol.  Reference cycles
 * are excluded: they tick at another rate than the core.
 */
static const struct {
	const char *name;
	enum vmop_event_role role;
} roles[] = {
	{"cycles", VMOP_EVENT_CYCLES},
	{"cpu-cycles", VMOP_EVENT_CYCLES},
	{"cpu-clk-unhalted", VMOP_EVENT_CYCLES},
	{"cpu-clk-unhalted:thread", VMOP_EVENT_CYCLES},
	{"cpu-clk-unhalted:thread-p", VMOP_EVENT_CYCLES},
	{"cpu-clk-unhalted:core", VMOP_EVENT_CYCLES},
	{"cpu-clk-unhalted:core-p", VMOP_EVENT_CYCLES},
	{"unhalted-core-cycles", VMOP_EVENT_CYCLES},
	{"cycles-not-in-halt", VMOP_EVENT_CYCLES},
	{"instructions", VMOP_EVENT_INSTRUCTIONS},
	{"inst-retired", VMOP_EVENT_INSTRUCTIONS},
	{"inst-retired:any", VMOP_EVENT_INSTRUCTIONS},
	{"inst-retired:any-p", VMOP_EVENT_INSTRUCTIONS},
	{"inst-retired-any-p", VMOP_EVENT_INSTRUCTIONS},
	{"instruction-retired", VMOP_EVENT_INSTRUCTIONS},
	{"instructions-retired", VMOP_EVENT_INSTRUCTIONS},
	{"retired-instructions", VMOP_EVENT_INSTRUCTIONS},
	{"instr-executed", VMOP_EVENT_INSTRUCTIONS},
};

/* The parts of a name, PMU::BASE:MODIFIERS or PMU/BASE/MODIFIERS, as pointers into it. */
struct parts {
	const char *pmu, *base, *modifiers;
	size_t pmu_len, base_len;
};

static char fold(char c)
{
	return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

static bool equal(const char *a, size_t a_len, const char *b, size_t b_len)
{
	if (a_len != b_len)
		return false;
	for (size_t i = 0; i < a_len; i++) {
		if (fold(a[i]) != fold(b[i]))
			return false;
	}
	return true;
}

bool vmop_event_names_equal(const char *a, const char *b)
{
	return equal(a, strlen(a), b, strlen(b));
}

const char *vmop_event_modifiers(const char *name)
{
	const char *colon = strrchr(name, ':'), *end = name + strlen(name);
	if (!colon || colon == name || !colon[1] || colon[-1] == ':')
		return end;
	return colon[1 + strspn(colon + 1, "ukHG")] ? end : colon;
}

static struct parts split(const char *name)
{
	struct parts parts = {.pmu = name, .base = name, .modifiers = vmop_event_modifiers(name)};
	const char *slash = strchr(name, '/'), *colons = strstr(name, "::");
	if (slash && slash < parts.modifiers) {
		parts.pmu_len = (size_t)(slash - name);
		parts.base = slash + 1;
	} else if (colons && colons < parts.modifiers) {
		parts.pmu_len = (size_t)(colons - name);
		parts.base = colons + 2;
	}
	parts.base_len = (size_t)(parts.modifiers - parts.base);
	if (slash && parts.base_len && parts.base[parts.base_len - 1] == '/')
		parts.base_len--;
	return parts;
}

enum vmop_event_role vmop_event_role(const char *name)
{
	struct parts parts = split(name);
	for (size_t i = 0; i < ARRAY_SIZE(roles); i++) {
		if (equal(parts.base, parts.base_len, roles[i].name, strlen(roles[i].name)))
			return roles[i].role;
	}
	return strcasestr(parts.base, "miss") ? VMOP_EVENT_MISSES : VMOP_EVENT_OTHER;
}

bool vmop_event_names_compare(const char *a, const char *b)
{
	struct parts x = split(a), y = split(b);
	return equal(x.pmu, x.pmu_len, y.pmu, y.pmu_len) && !strcmp(x.modifiers, y.modifiers);
}
