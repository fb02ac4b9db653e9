// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/gate/gate-options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "opreport/query/spec.h"

#define ACCEPTED                                                                                   \
	"Npp (percentage points, up to 100), N%% (of the former share, up to 1000000) or both, "   \
	"as "                                                                                      \
	"in 2pp,25%%, and normalised"
#define MAX_PERCENT 1e6

enum { KEY_FAIL_IF = 0x3000, KEY_FAIL_IF_CHANGED };

static const struct argp_option argp_options[] = {
	{"fail-if", KEY_FAIL_IF, "BOUND", 0,
	 "Exit with 4 if 'symbol:GLOB > 5%' or the like; may be given several times", 0},
	{"fail-if-changed", KEY_FAIL_IF_CHANGED, "2pp,25% BASELINE", 0,
	 "Exit with 4 if a row's share changed by so much, and by more than chance; BASELINE is "
	 "specs, 'before:7d' (the same hours of seven days), or a report in JSON",
	 0},
	{"quiet", 'q', NULL, 0, "With --fail-if and --fail-if-changed: no report", 0},
	{0}};

static struct vmop_error *malformed(const char *text)
{
	return vmop_error_new(VMOP_ERROR_USAGE, "--fail-if-changed=%s: accepted: " ACCEPTED, text);
}

/* Parse a word; *seen has a bit for each kind of bound. */
static bool parse_word(const char *word, struct vmop_gate_options *ret, unsigned *seen)
{
	char *end;
	if (!strcmp(word, "normalised") || !strcmp(word, "normalized")) {
		ret->normalised = true;
		return true;
	}
	if (!isdigit((unsigned char)*word) || word[strcspn(word, "xX")])
		return false;
	double number = strtod(word, &end); /* LC_NUMERIC stays "C" */
	bool is_points = !strcmp(end, "pp"), is_percent = !strcmp(end, "%");
	unsigned bit = is_points ? 1 : 2;
	if ((!is_points && !is_percent) || !(number <= (is_points ? 100 : MAX_PERCENT)) ||
	    *seen & bit)
		return false;
	*seen |= bit;
	*(is_points ? &ret->change.points : &ret->change.percent) = number;
	return true;
}

struct vmop_error *vmop_gate_change_parse(const char *text, struct vmop_gate_options *ret)
{
	_cleanup_(vmop_words_deinit) struct vmop_words words = {0};
	struct vmop_error *err = vmop_words_parse(&words, "--fail-if-changed", text);
	unsigned seen = 0;
	for (size_t i = 0; i < words.n && !err; i++)
		if (!parse_word(words.items[i], ret, &seen))
			err = malformed(text);
	return err || seen ? err : malformed(text);
}

static struct vmop_error *take_bound(struct vmop_gate_options *options, const char *text)
{
	if (options->n_bounds == VMOP_GATE_BOUNDS_MAX)
		return vmop_error_new(VMOP_ERROR_USAGE, "--fail-if: at most %d bounds",
				      VMOP_GATE_BOUNDS_MAX);
	if (!vmop_array_reserve(options->bounds, options->capacity, options->n_bounds + 1))
		return &vmop_error_no_memory;
	return vmop_bound_parse(text, &options->bounds[options->n_bounds++]);
}

/* The baseline is the argument behind the option. */
static struct vmop_error *take_change(struct vmop_gate_options *options, const char *text,
				      struct argp_state *state)
{
	if (options->has_change)
		return vmop_error_new(VMOP_ERROR_USAGE, "--fail-if-changed is there twice");
	struct vmop_error *err = vmop_gate_change_parse(text, options);
	if (err)
		return err;
	options->has_change = true;
	if (state->next >= state->argc || *state->argv[state->next] == '-' ||
	    !*state->argv[state->next])
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--fail-if-changed=%s needs a baseline behind it: "
				      "session:NAME, before:7d, or a report in JSON",
				      text);
	options->baseline = state->argv[state->next++];
	return NULL;
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
	struct vmop_gate_options *options = state->input;
	switch (key) {
	case KEY_FAIL_IF:
		options->err = take_bound(options, arg);
		break;
	case KEY_FAIL_IF_CHANGED:
		options->err = take_change(options, arg, state);
		break;
	case 'q':
		options->quiet = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return options->err ? EINVAL : 0;
}

const struct argp vmop_gate_argp = {.options = argp_options, .parser = take_option};

void vmop_gate_options_deinit(struct vmop_gate_options *options)
{
	for (size_t i = 0; i < options->n_bounds; i++)
		vmop_bound_deinit(&options->bounds[i]);
	free(options->bounds);
	*options = (struct vmop_gate_options){0};
}
