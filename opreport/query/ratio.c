// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/ratio.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "opreport/query/event-name.h"

enum {
	MAX_RATIOS = 64,
	LEAST_SAMPLES = 16, /* the 95 % interval of so many is within a factor of two */
};

static const double z = 1.959964; /* 95 % of a normal distribution lie within z deviations */

/* ---- estimates ------------------------------------------------------------ */

/* Set *ret_low and *ret_high to the odds at the ends of Wilson's interval for a of a + b; b > 0. */
static void find_odds(double a, double b, double *ret_low, double *ret_high)
{
	double n = a + b, p = a / n, zz = z * z;
	double middle = p + zz / (2 * n);
	double half = z * sqrt(p * (1 - p) / n + zz / (4 * n * n));
	double low = (middle - half) / (1 + zz / n), high = (middle + half) / (1 + zz / n);
	*ret_low = a > 0 && low > 0 ? low / (1 - low) : 0;
	*ret_high = high / (1 - high);
}

static enum vmop_ratio_quality judge(const struct vmop_ratio_value *value, uint64_t b)
{
	if (b < LEAST_SAMPLES)
		return VMOP_RATIO_NONE;
	if (value->low < value->value / 2 || value->high > value->value * 2)
		return VMOP_RATIO_BELOW;
	bool is_close = value->low >= value->value * 0.9 && value->high <= value->value * 1.1;
	return is_close ? VMOP_RATIO_CLOSE : VMOP_RATIO_ROUGH;
}

struct vmop_ratio_value vmop_ratio_estimate(struct vmop_count numerator,
					    struct vmop_count denominator, double factor,
					    double events_per_sample)
{
	struct vmop_ratio_value ret = {0};
	if (!denominator.samples || !denominator.weight_events)
		return ret;
	double a = (double)numerator.samples, b = (double)denominator.samples;
	if (numerator.samples)
		events_per_sample = (double)numerator.weight_events / a;
	double unit = events_per_sample / ((double)denominator.weight_events / b) * factor;
	find_odds(a, b, &ret.low, &ret.high);
	ret.has_interval = true;
	ret.value = a / b * unit;
	ret.low *= unit;
	ret.high *= unit;
	ret.quality = judge(&ret, denominator.samples);
	return ret;
}

static struct vmop_ratio_value estimate(const struct vmop_ratio *ratio,
					const struct vmop_result *result,
					struct vmop_count numerator, struct vmop_count denominator)
{
	struct vmop_count all = result->selected[ratio->numerator];
	double events_per_sample =
		all.samples ? (double)all.weight_events / (double)all.samples : 0;
	return vmop_ratio_estimate(numerator, denominator, ratio->factor, events_per_sample);
}

struct vmop_ratio_value vmop_ratio_of(const struct vmop_ratio *ratio,
				      const struct vmop_result *result,
				      const struct vmop_count *counts)
{
	return estimate(ratio, result, vmop_result_sum(result, counts, ratio->numerator),
			vmop_result_sum(result, counts, ratio->denominator));
}

struct vmop_ratio_value vmop_ratio_of_all(const struct vmop_ratio *ratio,
					  const struct vmop_result *result)
{
	return estimate(ratio, result, result->selected[ratio->numerator],
			result->selected[ratio->denominator]);
}

/* ---- the list of ratios --------------------------------------------------- */

static const char *label(const struct vmop_result *result, size_t e)
{
	return vmop_result_event(result, e)->label;
}

/* Return "cycles, instructions", which the caller frees, or NULL without memory. */
static char *list_events(const struct vmop_result *result)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return NULL;
	for (size_t e = 0; e < result->n_events; e++)
		fprintf(out, "%s%s", e ? ", " : "", label(result, e));
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static const struct vmop_ratio *find_name(const struct vmop_ratios *ratios, const char *name)
{
	for (size_t i = 0; i < ratios->n; i++) {
		if (!strcmp(ratios->items[i].name, name))
			return &ratios->items[i];
	}
	return NULL;
}

static bool is_same(const struct vmop_ratio *a, const struct vmop_ratio *b)
{
	return a->numerator == b->numerator && a->denominator == b->denominator &&
	       a->factor == b->factor;
}

static struct vmop_error *add(struct vmop_ratios *ratios, const char *name, size_t numerator,
			      size_t denominator, double factor)
{
	const struct vmop_ratio new = {NULL, numerator, denominator, factor};
	const struct vmop_ratio *there = find_name(ratios, name);
	if (there && is_same(there, &new))
		return NULL; /* given twice */
	if (there)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--ratio: two ratios are named '%s'; name one of them, as in "
				      "NAME=EVENT/EVENT",
				      name);
	if (ratios->n == MAX_RATIOS)
		return vmop_error_new(VMOP_ERROR_USAGE, "--ratio takes at most %d ratios",
				      MAX_RATIOS);
	name = vmop_arena_text(&ratios->arena, name);
	if (!name)
		return &vmop_error_no_memory;
	ratios->items[ratios->n++] = (struct vmop_ratio){name, numerator, denominator, factor};
	return NULL;
}

/* Name the ratio "ipc" or, by its modes, "ipc:u"; if that exists, by the numerator. */
static struct vmop_error *add_pair(struct vmop_ratios *ratios, const struct vmop_result *result,
				   const char *what, size_t numerator, size_t denominator)
{
	_cleanup_free_ char *name = NULL;
	const char *of = label(result, numerator);
	const char *modifiers = vmop_event_modifiers(of);
	if (asprintf(&name, "%s%s", what, modifiers) < 0)
		name = NULL;
	const struct vmop_ratio *there = name ? find_name(ratios, name) : NULL;
	if (there && (there->numerator != numerator || there->denominator != denominator)) {
		free(name);
		if (asprintf(&name, "%s:%s", what, of) < 0)
			name = NULL;
	}
	return name ? add(ratios, name, numerator, denominator, 1) : &vmop_error_no_memory;
}

/* Return the first event of a role with the PMU and modes of event `as`, or SIZE_MAX. */
static size_t find_role(const struct vmop_result *result, enum vmop_event_role role, size_t as)
{
	for (size_t e = 0; e < result->n_events; e++) {
		const char *name = vmop_result_event(result, e)->name;
		if (vmop_event_role(name) == role &&
		    vmop_event_names_compare(name, vmop_result_event(result, as)->name))
			return e;
	}
	return SIZE_MAX;
}

/* Return whether an earlier event has the same name: with several periods, one is enough. */
static bool is_repeated(const struct vmop_result *result, size_t e)
{
	return vmop_result_event(result, e)->label != vmop_result_event(result, e)->name;
}

/* Add ipc, or cpi.  Set *ret_any if there are such events, else leave it; likewise below. */
static struct vmop_error *add_cycles(struct vmop_ratios *ratios, const struct vmop_result *result,
				     bool is_cpi, bool *ret_any)
{
	struct vmop_error *err = NULL;
	for (size_t e = 0; e < result->n_events && !err; e++) {
		if (vmop_event_role(vmop_result_event(result, e)->name) !=
			    VMOP_EVENT_INSTRUCTIONS ||
		    is_repeated(result, e))
			continue;
		size_t cycles = find_role(result, VMOP_EVENT_CYCLES, e);
		*ret_any |= cycles != SIZE_MAX;
		if (cycles != SIZE_MAX)
			err = is_cpi ? add_pair(ratios, result, "cpi", cycles, e)
				     : add_pair(ratios, result, "ipc", e, cycles);
	}
	return err;
}

static struct vmop_error *add_misses(struct vmop_ratios *ratios, const struct vmop_result *result,
				     bool *ret_any)
{
	struct vmop_error *err = NULL;
	for (size_t e = 0; e < result->n_events && !err; e++) {
		if (vmop_event_role(vmop_result_event(result, e)->name) != VMOP_EVENT_MISSES)
			continue;
		size_t instructions = find_role(result, VMOP_EVENT_INSTRUCTIONS, e);
		_cleanup_free_ char *name = NULL;
		if (asprintf(&name, "mpki:%s", label(result, e)) < 0) {
			name = NULL;
			return &vmop_error_no_memory;
		}
		*ret_any |= instructions != SIZE_MAX;
		if (instructions != SIZE_MAX)
			err = add(ratios, name, e, instructions, 1000);
	}
	return err;
}

/* Return whether word matches an event; a larger `way` is a looser match. */
static bool fits(const struct vmop_event_item *event, const char *word, unsigned way)
{
	enum vmop_event_role role = vmop_event_role(word);
	switch (way) {
	case 0:
		return !strcmp(event->label, word);
	case 1:
		return vmop_event_names_equal(event->label, word) ||
		       (*event->asked && vmop_event_names_equal(event->asked, word));
	case 2:
		return (role == VMOP_EVENT_CYCLES || role == VMOP_EVENT_INSTRUCTIONS) &&
		       vmop_event_role(event->name) == role &&
		       vmop_event_names_compare(event->name, word);
	default: {
		char *const globs[] = {(char *)word};
		const struct vmop_words words = {.items = (char **)globs, .n = 1};
		return vmop_words_match(&words, event->label);
	}
	}
}

size_t vmop_ratio_find_event(const struct vmop_result *result, const char *word)
{
	for (unsigned way = 0; way < 4 && *word; way++) {
		for (size_t e = 0; e < result->n_events; e++) {
			if (fits(vmop_result_event(result, e), word, way))
				return e;
		}
	}
	return SIZE_MAX;
}

/* Find EVENT or EVENT:FACTOR.  text is modified meanwhile. */
static size_t find_denominator(const struct vmop_result *result, char *text, double *ret_factor)
{
	char *colon = strrchr(text, ':'), *end;
	*ret_factor = 1;
	size_t found = vmop_ratio_find_event(result, text);
	if (found != SIZE_MAX || !colon || !colon[1] || colon[1 + strspn(colon + 1, "0123456789.")])
		return found;
	*ret_factor = strtod(colon + 1, &end); /* LC_NUMERIC stays "C" */
	if (*end || !(*ret_factor > 0 && *ret_factor <= 1e18))
		return SIZE_MAX;
	*colon = '\0';
	found = vmop_ratio_find_event(result, text);
	*colon = ':';
	return found;
}

/* Return the length of "NAME=" before the first slash, or 0. */
static size_t name_len(const char *word)
{
	size_t len = strcspn(word, "=/");
	return word[len] == '=' && len ? len + 1 : 0;
}

/* Add [NAME=]EVENT/EVENT[:FACTOR].  Try each slash, since names of events can contain some. */
static struct vmop_error *add_quotient(struct vmop_ratios *ratios, const struct vmop_result *result,
				       const char *word)
{
	size_t len = name_len(word);
	_cleanup_free_ char *name = len ? strndup(word, len - 1) : strdup(word);
	_cleanup_free_ char *text = strdup(word + len), *there = list_events(result);
	if (!name || !text || !there)
		return &vmop_error_no_memory;
	for (char *slash = strchr(text, '/'); slash; slash = strchr(slash + 1, '/')) {
		double factor;
		*slash = '\0';
		size_t numerator = vmop_ratio_find_event(result, text);
		size_t denominator = find_denominator(result, slash + 1, &factor);
		*slash = '/';
		if (numerator != SIZE_MAX && denominator != SIZE_MAX)
			return add(ratios, name, numerator, denominator, factor);
	}
	return vmop_error_new(
		VMOP_ERROR_USAGE,
		"--ratio: unknown word '%s'; accepted: auto, none, ipc, cpi, mpki, and "
		"[NAME=]EVENT/EVENT[:FACTOR] of these events: %s",
		word, there);
}

bool vmop_ratios_may_have(const char *name, const struct vmop_words *words)
{
	size_t len = strlen(name);
	if (strchr(name, '/') || !strcmp(name, "ipc") || !strcmp(name, "cpi") ||
	    !strncmp(name, "mpki", 4))
		return true;
	for (size_t i = 0; i < words->n; i++) {
		const char *word = words->items[i];
		if (!strncmp(word, name, len) && (word[len] == '=' || !word[len]))
			return true;
	}
	return false;
}

static struct vmop_error *add_word(struct vmop_ratios *ratios, const struct vmop_result *result,
				   const char *word)
{
	struct vmop_error *err = NULL;
	bool any = false;
	bool is_auto = !strcmp(word, "auto"), is_mpki = !strcmp(word, "mpki");
	bool is_cpi = !strcmp(word, "cpi"), is_ipc = !strcmp(word, "ipc");
	if (!is_auto && !is_mpki && !is_cpi && !is_ipc)
		return add_quotient(ratios, result, word);
	if (is_auto || is_ipc || is_cpi)
		err = add_cycles(ratios, result, is_cpi, &any);
	if (!err && (is_auto || is_mpki))
		err = add_misses(ratios, result, &any);
	if (err || is_auto || any)
		return err;
	_cleanup_free_ char *there = list_events(result);
	return vmop_error_new(VMOP_ERROR_USAGE,
			      "--ratio=%s needs instructions and %s, counted in the same modes; "
			      "the events are: %s",
			      word, is_mpki ? "misses" : "cycles", there ? there : "?");
}

struct vmop_error *vmop_ratios_init(struct vmop_ratios *ratios, const struct vmop_words *words,
				    const struct vmop_result *result)
{
	*ratios = (struct vmop_ratios){0};
	ratios->items = calloc(MAX_RATIOS, sizeof(*ratios->items));
	if (!ratios->items)
		return &vmop_error_no_memory;
	struct vmop_error *err = words->n ? NULL : add_word(ratios, result, "auto");
	if (err && err->code == VMOP_ERROR_USAGE) { /* the default list had no room */
		vmop_error_destroy(err);
		err = NULL;
	}
	for (size_t i = 0; i < words->n && !err; i++) {
		if (strcmp(words->items[i], "none") != 0)
			err = add_word(ratios, result, words->items[i]);
		else if (words->n > 1)
			err = vmop_error_new(VMOP_ERROR_USAGE,
					     "--ratio=none excludes other ratios");
	}
	return err;
}

void vmop_ratios_deinit(struct vmop_ratios *ratios)
{
	free(ratios->items);
	vmop_arena_deinit(&ratios->arena);
	*ratios = (struct vmop_ratios){0};
}

size_t vmop_ratios_find(const struct vmop_ratios *ratios, const char *word)
{
	const struct vmop_ratio *exact = find_name(ratios, word);
	size_t len = strlen(word);
	if (exact)
		return (size_t)(exact - ratios->items);
	for (size_t i = 0; i < ratios->n; i++) {
		if (!strncmp(ratios->items[i].name, word, len) && ratios->items[i].name[len] == ':')
			return i;
	}
	return SIZE_MAX;
}
