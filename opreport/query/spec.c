// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/spec.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/parse.h"

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

/* Open an archive. Its time zone is needed before a time of day is read. */
static struct vmop_error *parse_archive(struct vmop_spec *spec, const char *path)
{
	if (spec->archive)
		return vmop_error_new(VMOP_ERROR_USAGE, "archive: is there twice");
	if (spec->time.is_set)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "archive: must be before time:, because it gives the zone");
	if (!*path)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "archive: takes the directory of an imported archive");
	return vmop_archive_open(path, &spec->archive);
}

struct vmop_error *vmop_spec_parse(struct vmop_spec *spec, const char *argument)
{
	size_t archive_len = strlen(VMOP_SPEC_ARCHIVE);
	if (!strncmp(argument, VMOP_SPEC_ARCHIVE, archive_len))
		return parse_archive(spec, argument + archive_len);
	for (size_t i = 0; i < sizeof(spec_tags) / sizeof(*spec_tags); i++) {
		const struct spec_tag *tag = &spec_tags[i];
		size_t len = strlen(tag->name);
		if (!strncmp(argument, tag->name, len))
			return tag->parse((char *)spec + tag->offset, tag->name, argument + len);
	}
	if (!strncmp(argument, "time:", 5)) {
		if (vmop_time_window_parse(&spec->time, argument + 5,
					   vmop_clock_ns(CLOCK_REALTIME)))
			return NULL;
		return vmop_error_new(VMOP_ERROR_USAGE, "'%s' is not a time; accepted: %s",
				      argument, VMOP_TIME_FORMS);
	}
	if (begins_with_tag(argument))
		return vmop_error_new(
			VMOP_ERROR_USAGE,
			"unknown profile spec '%s'; accepted: session: domain: image: "
			"event: task: stack: cpu: vcpu: tgid: tid: certainty: time: archive:",
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
	vmop_archive_share(ret->archive);
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
	vmop_archive_release(spec->archive);
	vmop_error_destroy(spec->err);
	*spec = (struct vmop_spec){0};
}

/* ---- argp ---------------------------------------------------------------- */

enum { KEY_SESSION_DIR = 0x1000, KEY_ARCHIVE };

static const struct argp_option spec_options[] = {
	{"session-dir", KEY_SESSION_DIR, "DIR", 0, "Where sessions are (" VMOP_STATEDIR ")", 10},
	{"archive", KEY_ARCHIVE, "DIR", 0,
	 "The directory of an imported archive (vmoparchive), whose sessions and files are used",
	 10},
	{0}};

static error_t spec_option(int key, char *arg, struct argp_state *state)
{
	struct vmop_spec *spec = state->input;
	switch (key) {
	case KEY_SESSION_DIR:
		spec->session_dir = arg;
		if (!*arg && !spec->err)
			spec->err =
				vmop_error_new(VMOP_ERROR_USAGE, "--session-dir needs a directory");
		return spec->err ? EINVAL : 0;
	case KEY_ARCHIVE:
		if (!spec->err)
			spec->err = parse_archive(spec, arg);
		return spec->err ? EINVAL : 0;
	case ARGP_KEY_ARG:
		if (!spec->err)
			spec->err = vmop_spec_parse(spec, arg);
		return spec->err ? EINVAL : 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp vmop_spec_argp = {.options = spec_options, .parser = spec_option};
