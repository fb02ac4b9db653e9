// SPDX-License-Identifier: GPL-2.0-or-later
/* The set-up's key of the ladder: how long intervals are at which age. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/parse.h"
#include "libutil/set-up/span.h"
#include "libutil/setup-key.h"

#define MINUTE_NS (60 * VMOP_NS_PER_S)
#define HOUR_NS (60 * MINUTE_NS)
#define DAY_NS (24 * HOUR_NS)

#define LONGEST_NS (366 * DAY_NS)      /* of an interval */
#define OLDEST_NS (100 * 366 * DAY_NS) /* age */

#define EXAMPLE "1s:10m,1m:1d,10m:30d,1h"

void vmop_setup_default_ladder(struct vmop_setup_ladder *ret)
{
	*ret = (struct vmop_setup_ladder){
		.n_steps = 3,
		.steps = {{.age_ns = 10 * MINUTE_NS, .len_ns = MINUTE_NS},
			  {.age_ns = DAY_NS, .len_ns = 10 * MINUTE_NS},
			  {.age_ns = 30 * DAY_NS, .len_ns = HOUR_NS}},
	};
}

/* An element of the value: intervals of len_ns up to the age age_ns. */
struct element {
	uint64_t len_ns, age_ns; /* age_ns 0: for ever */
};

static bool parse_element(const char *text, struct element *ret)
{
	size_t len = strcspn(text, ":");
	_cleanup_free_ char *first = strndup(text, len);
	*ret = (struct element){0};
	if (!first || !vmop_parse_duration_ns(first, &ret->len_ns) ||
	    ret->len_ns < VMOP_NS_PER_S / 10 || ret->len_ns > LONGEST_NS)
		return false;
	return !text[len] || (vmop_parse_duration_ns(text + len + 1, &ret->age_ns) && ret->age_ns &&
			      ret->age_ns <= OLDEST_NS);
}

static struct vmop_error *malformed(const char *key, const char *value)
{
	return vmop_error_new(VMOP_ERROR_USAGE,
			      "%s: '%s' is neither 'off' nor lengths of intervals with the ages "
			      "up to which they stay, as " EXAMPLE,
			      key, value);
}

/* Refuse a step that can't follow the one before it. */
static struct vmop_error *check_next(const char *key, const struct element *before,
				     const struct element *next, bool is_recorded)
{
	struct vmop_span_text len, next_len, age, next_age, better;
	vmop_span_text(before->len_ns, &len);
	vmop_span_text(before->age_ns, &age);
	vmop_span_text(next->len_ns, &next_len);
	vmop_span_text(next->age_ns, &next_age);
	if (next->len_ns <= before->len_ns)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: intervals of %s can't become %s long: each length must "
				      "be greater than the one before, as in " EXAMPLE,
				      key, len.text, next_len.text);
	/* Recorded intervals have no fixed starts; those of the steps are aligned. */
	if (!is_recorded && next->len_ns % before->len_ns) {
		uint64_t n = next->len_ns / before->len_ns + 1;
		vmop_span_text(n * before->len_ns, &better);
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: %s is no multiple of %s, so its intervals can't be made "
				      "of whole ones: give %s",
				      key, next_len.text, len.text, better.text);
	}
	if (before->age_ns < next->len_ns)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: at the age of %s there is no whole interval of %s yet: "
				      "give %s:%s or a greater age",
				      key, age.text, next_len.text, len.text, next_len.text);
	if (next->age_ns && next->age_ns <= before->age_ns) {
		vmop_span_text(2 * before->age_ns, &better);
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: intervals of %s would end at the age of %s, which those "
				      "of %s reach: give an age above it, as %s:%s",
				      key, next_len.text, next_age.text, len.text, next_len.text,
				      better.text);
	}
	return NULL;
}

static struct vmop_error *add_element(const char *key, const struct element *before,
				      const struct element *next, struct vmop_setup_ladder *ladder)
{
	struct vmop_error *err = check_next(key, before, next, !ladder->n_steps);
	if (err)
		return err;
	if (ladder->n_steps == VMOP_LADDER_MAX_STEPS)
		return vmop_error_new(VMOP_ERROR_USAGE, "%s: more than %d lengths", key,
				      VMOP_LADDER_MAX_STEPS + 1);
	ladder->steps[ladder->n_steps++] =
		(struct vmop_ladder_step){.age_ns = before->age_ns, .len_ns = next->len_ns};
	return NULL;
}

/* Refuse a ladder that ends with an age. */
static struct vmop_error *check_end(const char *key, const char *value, const struct element *last)
{
	struct vmop_span_text len, age, longer;
	if (!last->age_ns)
		return NULL;
	uint64_t longer_ns = last->age_ns / last->len_ns * last->len_ns;
	vmop_span_text(last->len_ns, &len);
	vmop_span_text(last->age_ns, &age);
	vmop_span_text(longer_ns, &longer);
	if (longer_ns <= last->len_ns)
		return vmop_error_new(
			VMOP_ERROR_USAGE,
			"%s: '%s' gives no length after the age of %s: end with %s alone", key,
			value, age.text, len.text);
	return vmop_error_new(VMOP_ERROR_USAGE,
			      "%s: '%s' gives no length after the age of %s: end with one, as "
			      "%s,%s, or with %s alone; keep=%s deletes what is older",
			      key, value, age.text, value, longer.text, len.text, age.text);
}

static struct vmop_error *parse(const char *key, const char *value, struct vmop_setup_ladder *ret)
{
	_cleanup_free_ char *copy = strdup(value);
	struct element before = {0}, next;
	char *save = NULL;
	*ret = (struct vmop_setup_ladder){0};
	if (!copy)
		return &vmop_error_no_memory;
	for (char *word = strtok_r(copy, ", \t", &save); word;
	     word = strtok_r(NULL, ", \t", &save)) {
		struct vmop_error *err = NULL;
		if (!parse_element(word, &next) || (before.len_ns && !before.age_ns))
			return malformed(key, value);
		if (before.len_ns)
			err = add_element(key, &before, &next, ret);
		else
			ret->first_ns = next.len_ns;
		if (err)
			return err;
		before = next;
	}
	return before.len_ns ? check_end(key, value, &before) : malformed(key, value);
}

struct vmop_error *vmop_setup_set_ladder(struct vmop_setup *setup, const char *key,
					 const char *value)
{
	struct vmop_setup_ladder ladder = {0};
	struct vmop_error *err = strcmp(value, "off") != 0 ? parse(key, value, &ladder) : NULL;
	if (!err)
		setup->ladder = ladder;
	return err;
}

/* The two ages of older set-up files, at which intervals become a minute and an hour long. */
struct vmop_error *vmop_setup_set_rollup(struct vmop_setup *setup, const char *key,
					 const char *value)
{
	uint64_t minute_ns = 0, hour_ns = 0;
	bool is_good = !strcmp(value, "off");
	const char *comma = strchr(value, ',');
	if (!is_good) {
		_cleanup_free_ char *first = strndup(value, strcspn(value, ", \t"));
		if (!first)
			return &vmop_error_no_memory;
		is_good = vmop_parse_duration_ns(first, &minute_ns) && minute_ns >= MINUTE_NS &&
			  minute_ns <= OLDEST_NS;
	}
	if (is_good && comma) {
		comma += 1 + strspn(comma + 1, " \t");
		is_good = vmop_parse_duration_ns(comma, &hour_ns) && hour_ns >= HOUR_NS &&
			  hour_ns >= minute_ns && hour_ns <= OLDEST_NS;
	}
	if (!is_good)
		return vmop_error_new(
			VMOP_ERROR_USAGE,
			"%s: '%s' is neither 'off' nor two ages, as '10m,1d', at which "
			"intervals become a minute (at least 1m) and an hour (at least 1h) long; "
			"the key ladder is freer",
			key, value);
	setup->ladder = (struct vmop_setup_ladder){0};
	if (minute_ns && minute_ns != hour_ns)
		setup->ladder.steps[setup->ladder.n_steps++] =
			(struct vmop_ladder_step){minute_ns, MINUTE_NS};
	if (hour_ns)
		setup->ladder.steps[setup->ladder.n_steps++] =
			(struct vmop_ladder_step){hour_ns, HOUR_NS};
	return NULL;
}

void vmop_setup_ladder_in_use(const struct vmop_setup *setup, struct vmop_setup_ladder *ret)
{
	*ret = (struct vmop_setup_ladder){.first_ns = setup->flush_ns};
	for (size_t i = 0; i < setup->ladder.n_steps; i++)
		if (setup->ladder.steps[i].len_ns > setup->flush_ns)
			ret->steps[ret->n_steps++] = setup->ladder.steps[i];
}

struct vmop_error *vmop_setup_check_ladder(const struct vmop_setup *setup)
{
	struct vmop_span_text first, flush;
	if (!setup->ladder.first_ns || setup->ladder.first_ns == setup->flush_ns)
		return NULL;
	vmop_span_text(setup->ladder.first_ns, &first);
	vmop_span_text(setup->flush_ns, &flush);
	return vmop_error_new(VMOP_ERROR_USAGE,
			      "ladder: its first intervals are %s long, but flush-interval is %s: "
			      "begin the ladder with %s",
			      first.text, flush.text, flush.text);
}

void vmop_setup_put_ladder(FILE *out, const char *key, const struct vmop_setup *setup)
{
	struct vmop_setup_ladder ladder;
	struct vmop_span_text len, age;
	vmop_setup_ladder_in_use(setup, &ladder);
	fprintf(out, "%s = ", key);
	uint64_t len_ns = ladder.first_ns;
	for (size_t i = 0; i < ladder.n_steps; i++) {
		vmop_span_text(len_ns, &len);
		vmop_span_text(ladder.steps[i].age_ns, &age);
		fprintf(out, "%s:%s,", len.text, age.text);
		len_ns = ladder.steps[i].len_ns;
	}
	vmop_span_text(len_ns, &len);
	fprintf(out, "%s\n", ladder.n_steps ? len.text : "off");
}

/* The ladder is printed under its own key. */
void vmop_setup_put_rollup(FILE *out, const char *key, const struct vmop_setup *setup)
{
	(void)out;
	(void)key;
	(void)setup;
}
