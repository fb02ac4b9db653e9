// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/spec.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/parse.h"

#define TIME_FORMS                                                                                 \
	"HH:MM[:SS], YYYY-MM-DD[THH:MM[:SS]], @SECONDS, +DURATION, -DURATION, joined by '..'"

/* ---- words and numbers --------------------------------------------------- */

static struct vmop_error *words_append(struct vmop_words *words, const char *begin, size_t len)
{
	if (!vmop_array_reserve(words->items, words->capacity, words->n + 1))
		return &vmop_error_no_memory;
	words->items[words->n] = strndup(begin, len);
	if (!words->items[words->n])
		return &vmop_error_no_memory;
	words->n++;
	return NULL;
}

/* Return the bytes before the next comma without a backslash, or before the end. */
static size_t word_len(const char *text)
{
	size_t len = 0;
	while (text[len] && text[len] != ',')
		len += text[len] == '\\' && text[len + 1] ? 2 : 1;
	return len;
}

struct vmop_error *vmop_words_parse(struct vmop_words *words, const char *what, const char *text)
{
	for (const char *at = text;; at++) {
		size_t len = word_len(at);
		if (!len)
			return vmop_error_new(VMOP_ERROR_USAGE,
					      "%s '%s' has an empty word; a list is NAME[,NAME...]",
					      what, text);
		struct vmop_error *err = words_append(words, at, len);
		if (err)
			return err;
		at += len;
		if (!*at)
			return NULL;
	}
}

void vmop_words_deinit(struct vmop_words *words)
{
	for (size_t i = 0; i < words->n; i++)
		free(words->items[i]);
	free(words->items);
	*words = (struct vmop_words){0};
}

bool vmop_words_match(const struct vmop_words *words, const char *text)
{
	for (size_t i = 0; i < words->n; i++) {
		if (!strcmp(words->items[i], text) || !fnmatch(words->items[i], text, 0))
			return true;
	}
	return false;
}

bool vmop_word_is_glob(const char *word)
{
	return strpbrk(word, "*?[") != NULL;
}

static bool parse_range(const char *word, struct vmop_number_range *ret)
{
	_cleanup_free_ char *copy = strdup(word);
	if (!copy)
		return false;
	char *dash = strchr(copy, '-');
	if (dash)
		*dash++ = '\0';
	if (!vmop_parse_u64(copy, 10, &ret->first))
		return false;
	ret->last = ret->first;
	return !dash || (vmop_parse_u64(dash, 10, &ret->last) && ret->last >= ret->first);
}

static struct vmop_error *numbers_parse(struct vmop_numbers *numbers, const char *what,
					const char *text)
{
	_cleanup_(vmop_words_deinit) struct vmop_words words = {0};
	struct vmop_error *err = vmop_words_parse(&words, what, text);
	if (err)
		return err;
	if (!vmop_array_reserve(numbers->ranges, numbers->capacity, numbers->n + words.n))
		return &vmop_error_no_memory;
	for (size_t i = 0; i < words.n; i++) {
		if (!parse_range(words.items[i], &numbers->ranges[numbers->n]))
			return vmop_error_new(VMOP_ERROR_USAGE,
					      "%s '%s' is not a number or range, as in '0,2-3'",
					      what, words.items[i]);
		numbers->n++;
	}
	return NULL;
}

bool vmop_numbers_match(const struct vmop_numbers *numbers, uint64_t value)
{
	for (size_t i = 0; i < numbers->n; i++) {
		if (numbers->ranges[i].first <= value && value <= numbers->ranges[i].last)
			return true;
	}
	return false;
}

/* ---- time ---------------------------------------------------------------- */

/* Parse "HH:MM[:SS]", since midnight.  *ret_span_ns is its precision: a minute or a second. */
static bool parse_of_day(const char *text, uint64_t *ret_ns, uint64_t *ret_span_ns)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%H:%M", &tm);
	*ret_span_ns = 60 * VMOP_NS_PER_S;
	if (end && *end == ':') {
		end = strptime(end, ":%S", &tm);
		*ret_span_ns = VMOP_NS_PER_S;
	}
	*ret_ns = (uint64_t)((tm.tm_hour * 60 + tm.tm_min) * 60 + tm.tm_sec) * VMOP_NS_PER_S;
	return end && !*end;
}

/* Parse "YYYY-MM-DD[THH:MM[:SS]]", local time.  *ret_span_ns: likewise, or a day. */
static bool parse_date(const char *text, uint64_t *ret_ns, uint64_t *ret_span_ns)
{
	struct tm tm = {.tm_isdst = -1};
	uint64_t of_day_ns = 0;
	const char *end = strptime(text, "%Y-%m-%d", &tm);
	*ret_span_ns = 24 * 3600 * VMOP_NS_PER_S;
	if (!end || (*end && (*end != 'T' || !parse_of_day(end + 1, &of_day_ns, ret_span_ns))))
		return false;
	uint64_t of_day_s = of_day_ns / VMOP_NS_PER_S;
	tm.tm_hour = (int)(of_day_s / 3600);
	tm.tm_min = (int)(of_day_s / 60 % 60);
	tm.tm_sec = (int)(of_day_s % 60);
	time_t seconds = mktime(&tm);
	if (seconds < 0)
		return false;
	*ret_ns = (uint64_t)seconds * VMOP_NS_PER_S;
	return true;
}

static bool parse_bound(const char *text, struct vmop_time_bound *ret, uint64_t *ret_span_ns)
{
	*ret_span_ns = 0;
	*ret = (struct vmop_time_bound){VMOP_TIME_OPEN, 0};
	if (!*text)
		return true;
	if (*text == '+' || *text == '-') {
		ret->kind = *text == '+' ? VMOP_TIME_AFTER_START : VMOP_TIME_BEFORE_END;
		return vmop_parse_duration_ns(text + 1, &ret->value_ns);
	}
	if (*text == '@') {
		uint64_t seconds;
		if (!vmop_parse_u64(text + 1, 10, &seconds) || seconds > INT64_MAX / VMOP_NS_PER_S)
			return false;
		*ret = (struct vmop_time_bound){VMOP_TIME_REAL, seconds * VMOP_NS_PER_S};
		*ret_span_ns = VMOP_NS_PER_S;
		return true;
	}
	if (parse_of_day(text, &ret->value_ns, ret_span_ns)) {
		ret->kind = VMOP_TIME_OF_DAY;
		return true;
	}
	ret->kind = VMOP_TIME_REAL;
	return parse_date(text, &ret->value_ns, ret_span_ns);
}

static bool time_parse(struct vmop_spec *spec, const char *text)
{
	_cleanup_free_ char *copy = strdup(text);
	if (!copy || !*copy)
		return false;
	uint64_t span_ns, unused;
	spec->has_time = true;
	spec->to_after_from_ns = 0;
	char *dots = strstr(copy, "..");
	if (dots) {
		*dots = '\0';
		return parse_bound(copy, &spec->from, &unused) &&
		       parse_bound(dots + 2, &spec->to, &unused) && strcmp(text, "..");
	}
	if (!parse_bound(copy, &spec->from, &span_ns))
		return false;
	spec->to = (struct vmop_time_bound){VMOP_TIME_OPEN, 0};
	spec->to_after_from_ns = span_ns;
	if (spec->from.kind == VMOP_TIME_AFTER_START) { /* "+5m": the first five minutes */
		spec->to = spec->from;
		spec->from = (struct vmop_time_bound){VMOP_TIME_OPEN, 0};
	}
	return true;
}

/* Return of_day_ns on the local day of near_ns plus days. */
static uint64_t time_of_day(uint64_t near_ns, int days, uint64_t of_day_ns)
{
	time_t seconds = (time_t)(near_ns / VMOP_NS_PER_S);
	int of_day_s = (int)(of_day_ns / VMOP_NS_PER_S);
	struct tm tm;
	if (!localtime_r(&seconds, &tm))
		return near_ns;
	struct tm wanted = {.tm_year = tm.tm_year,
			    .tm_mon = tm.tm_mon,
			    .tm_mday = tm.tm_mday + days,
			    .tm_hour = of_day_s / 3600,
			    .tm_min = of_day_s / 60 % 60,
			    .tm_sec = of_day_s % 60,
			    .tm_isdst = -1};
	time_t at = mktime(&wanted);
	return at < 0 ? near_ns : (uint64_t)at * VMOP_NS_PER_S;
}

/* Return the time of a bound that is no time of day, or open_ns if it is open. */
static uint64_t bound_resolve(struct vmop_time_bound bound, uint64_t start_ns, uint64_t end_ns,
			      uint64_t open_ns)
{
	switch (bound.kind) {
	case VMOP_TIME_REAL:
		return bound.value_ns;
	case VMOP_TIME_AFTER_START:
		return start_ns + bound.value_ns;
	case VMOP_TIME_BEFORE_END:
		return end_ns > bound.value_ns ? end_ns - bound.value_ns : 1;
	default:
		return open_ns;
	}
}

/* Return TO for a given FROM: a time of day is the first one after FROM.  0: no end. */
static uint64_t resolve_to(const struct vmop_spec *spec, uint64_t start_ns, uint64_t end_ns,
			   uint64_t from_ns)
{
	if (spec->to_after_from_ns)
		return from_ns + spec->to_after_from_ns;
	if (spec->to.kind != VMOP_TIME_OF_DAY)
		return bound_resolve(spec->to, start_ns, end_ns, 0);
	uint64_t after_ns = from_ns ? from_ns : start_ns;
	uint64_t to_ns = time_of_day(after_ns, 0, spec->to.value_ns);
	return to_ns > after_ns ? to_ns : time_of_day(after_ns, 1, spec->to.value_ns);
}

/* Return FROM on the first day on which FROM..TO, or FROM if TO is open, overlaps the sessions. */
static uint64_t resolve_from_of_day(const struct vmop_spec *spec, uint64_t start_ns,
				    uint64_t end_ns)
{
	for (int days = -1; days <= 1; days++) {
		uint64_t from_ns = time_of_day(start_ns, days, spec->from.value_ns);
		uint64_t to_ns = resolve_to(spec, start_ns, end_ns, from_ns);
		if (to_ns ? to_ns > start_ns : from_ns >= start_ns && from_ns < end_ns)
			return from_ns;
	}
	return time_of_day(start_ns, 0, spec->from.value_ns);
}

struct vmop_error *vmop_spec_time(const struct vmop_spec *spec, uint64_t start_ns, uint64_t end_ns,
				  uint64_t *ret_from_ns, uint64_t *ret_to_ns)
{
	*ret_from_ns = *ret_to_ns = 0;
	if (!spec->has_time)
		return NULL;
	uint64_t from_ns = spec->from.kind == VMOP_TIME_OF_DAY
				   ? resolve_from_of_day(spec, start_ns, end_ns)
				   : bound_resolve(spec->from, start_ns, end_ns, 0);
	uint64_t to_ns = resolve_to(spec, start_ns, end_ns, from_ns);
	if (to_ns && to_ns <= from_ns)
		return vmop_error_new(
			VMOP_ERROR_USAGE,
			"time: ends before it begins; give FROM..TO, FROM the earlier");
	*ret_from_ns = from_ns;
	*ret_to_ns = to_ns;
	return NULL;
}

/* ---- specs --------------------------------------------------------------- */

static struct vmop_error *parse_words(void *list, const char *what, const char *text)
{
	return vmop_words_parse(list, what, text);
}

static struct vmop_error *parse_numbers(void *list, const char *what, const char *text)
{
	return numbers_parse(list, what, text);
}

static struct vmop_error *parse_certainties(void *list, const char *what, const char *text)
{
	static const char *const names[] = {"exact", "likely", "ambiguous"};
	_cleanup_(vmop_words_deinit) struct vmop_words words = {0};
	unsigned *certainties = list;
	struct vmop_error *err = vmop_words_parse(&words, what, text);
	for (size_t i = 0; i < words.n && !err; i++) {
		size_t n = sizeof(names) / sizeof(*names), at = 0;
		while (at < n && strcmp(words.items[i], names[at]))
			at++;
		if (at == n)
			err = vmop_error_new(VMOP_ERROR_USAGE,
					     "%s '%s' is not a certainty; accepted: exact, likely, "
					     "ambiguous",
					     what, words.items[i]);
		else
			*certainties |= 1u << at;
	}
	return err;
}

static const struct spec_tag {
	const char *name; /* with its colon */
	size_t offset;
	struct vmop_error *(*parse)(void *list, const char *what, const char *text);
} spec_tags[] = {
	{"session:", offsetof(struct vmop_spec, sessions), parse_words},
	{"domain:", offsetof(struct vmop_spec, domains), parse_words},
	{"image:", offsetof(struct vmop_spec, images), parse_words},
	{"event:", offsetof(struct vmop_spec, events), parse_words},
	{"task:", offsetof(struct vmop_spec, tasks), parse_words},
	{"stack:", offsetof(struct vmop_spec, stacks), parse_words},
	{"cpu:", offsetof(struct vmop_spec, cpus), parse_numbers},
	{"vcpu:", offsetof(struct vmop_spec, vcpus), parse_numbers},
	{"tgid:", offsetof(struct vmop_spec, tgids), parse_numbers},
	{"tid:", offsetof(struct vmop_spec, tids), parse_numbers},
	{"certainty:", offsetof(struct vmop_spec, certainties), parse_certainties},
};

/* Return whether the argument begins like a tag, "word:". */
static bool begins_with_tag(const char *argument)
{
	size_t len = strspn(argument, "abcdefghijklmnopqrstuvwxyz-");
	return len && argument[len] == ':';
}

struct vmop_error *vmop_spec_parse(struct vmop_spec *spec, const char *argument)
{
	for (size_t i = 0; i < sizeof(spec_tags) / sizeof(*spec_tags); i++) {
		const struct spec_tag *tag = &spec_tags[i];
		size_t len = strlen(tag->name);
		if (!strncmp(argument, tag->name, len))
			return tag->parse((char *)spec + tag->offset, tag->name, argument + len);
	}
	if (!strncmp(argument, "time:", 5)) {
		if (time_parse(spec, argument + 5))
			return NULL;
		return vmop_error_new(VMOP_ERROR_USAGE, "'%s' is not a time; accepted: %s",
				      argument, TIME_FORMS);
	}
	if (begins_with_tag(argument))
		return vmop_error_new(
			VMOP_ERROR_USAGE,
			"unknown profile spec '%s'; accepted: session: domain: image: "
			"event: task: stack: cpu: vcpu: tgid: tid: certainty: time:",
			argument);
	return vmop_words_parse(&spec->images, "image", argument);
}

/* Its lists, which it owns. */
#define N_WORDS 6
#define N_NUMBERS 4

static void words_of(struct vmop_spec *spec, struct vmop_words *ret[N_WORDS])
{
	struct vmop_words *lists[N_WORDS] = {&spec->sessions, &spec->domains, &spec->images,
					     &spec->events,   &spec->tasks,   &spec->stacks};
	memcpy(ret, lists, sizeof(lists));
}

static void numbers_of(struct vmop_spec *spec, struct vmop_numbers *ret[N_NUMBERS])
{
	struct vmop_numbers *lists[N_NUMBERS] = {&spec->cpus, &spec->vcpus, &spec->tgids,
						 &spec->tids};
	memcpy(ret, lists, sizeof(lists));
}

/* Replace a borrowed list by a copy; it is empty after an error. */
static bool own_words(struct vmop_words *words)
{
	const struct vmop_words borrowed = *words;
	*words = (struct vmop_words){0};
	if (borrowed.n && !vmop_array_reserve(words->items, words->capacity, borrowed.n))
		return false;
	for (; words->n < borrowed.n; words->n++) {
		words->items[words->n] = strdup(borrowed.items[words->n]);
		if (!words->items[words->n])
			return false;
	}
	return true;
}

static bool own_numbers(struct vmop_numbers *numbers)
{
	const struct vmop_numbers borrowed = *numbers;
	*numbers = (struct vmop_numbers){0};
	if (!borrowed.n)
		return true;
	if (!vmop_array_reserve(numbers->ranges, numbers->capacity, borrowed.n))
		return false;
	memcpy(numbers->ranges, borrowed.ranges, borrowed.n * sizeof(*numbers->ranges));
	numbers->n = borrowed.n;
	return true;
}

struct vmop_error *vmop_spec_copy(struct vmop_spec *ret, const struct vmop_spec *spec)
{
	struct vmop_words *words[N_WORDS];
	struct vmop_numbers *numbers[N_NUMBERS];
	bool is_good = true;
	*ret = *spec;
	ret->err = NULL;
	words_of(ret, words);
	numbers_of(ret, numbers);
	/* All of them, also after a failure: nothing of ret is borrowed then. */
	for (size_t i = 0; i < N_WORDS; i++)
		is_good &= own_words(words[i]);
	for (size_t i = 0; i < N_NUMBERS; i++)
		is_good &= own_numbers(numbers[i]);
	return is_good ? NULL : &vmop_error_no_memory;
}

void vmop_spec_deinit(struct vmop_spec *spec)
{
	struct vmop_words *words[N_WORDS];
	struct vmop_numbers *numbers[N_NUMBERS];
	words_of(spec, words);
	numbers_of(spec, numbers);
	for (size_t i = 0; i < N_WORDS; i++)
		vmop_words_deinit(words[i]);
	for (size_t i = 0; i < N_NUMBERS; i++)
		free(numbers[i]->ranges);
	vmop_error_destroy(spec->err);
	*spec = (struct vmop_spec){0};
}

/* ---- argp ---------------------------------------------------------------- */

enum { KEY_SESSION_DIR = 0x1000 };

static const struct argp_option spec_options[] = {
	{"session-dir", KEY_SESSION_DIR, "DIR", 0, "Where sessions are (" VMOP_STATEDIR ")", 10},
	{0}};

static error_t spec_option(int key, char *arg, struct argp_state *state)
{
	struct vmop_spec *spec = state->input;
	switch (key) {
	case KEY_SESSION_DIR:
		spec->session_dir = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (!spec->err)
			spec->err = vmop_spec_parse(spec, arg);
		return spec->err ? EINVAL : 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp vmop_spec_argp = {.options = spec_options, .parser = spec_option};
