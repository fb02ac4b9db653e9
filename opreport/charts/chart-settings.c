// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/charts/chart-settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/parse.h"
#include "opreport/options/option-word.h"

enum {
	KEY_CHART = 0x500,
	KEY_FORMAT,
	KEY_SIZE,
};

static const struct argp_option options[] = {
	{"chart", KEY_CHART, "bars|bubbles|timeline|heat", 0,
	 "Draw a picture: bars or circles of the rows by domain, their shares over time, or the "
	 "samples of each moment",
	 0},
	{"chart-format", KEY_FORMAT, "svg|png|pdf|eps", 0,
	 "Its format (default: by the suffix of the output file)", 0},
	{"chart-size", KEY_SIZE, "WIDTHxHEIGHT", 0,
	 "Its size in points, or pixels of a PNG (default: as the rows need)", 0},
	{0}};

static const struct vmop_option_word kinds[] = {{"bars", VMOP_CHART_BARS},
						{"bubbles", VMOP_CHART_BUBBLES},
						{"timeline", VMOP_CHART_TIMELINE},
						{"heat", VMOP_CHART_HEAT},
						{0}};

static const struct vmop_option_word formats[] = {{"svg", VMOP_CHART_SVG},
						  {"png", VMOP_CHART_PNG},
						  {"pdf", VMOP_CHART_PDF},
						  {"eps", VMOP_CHART_EPS},
						  {0}};

static bool parse_side(const char *text, size_t len, unsigned *ret)
{
	char digits[8];
	uint64_t value;
	if (!len || len >= sizeof(digits))
		return false;
	memcpy(digits, text, len);
	digits[len] = '\0';
	if (!vmop_parse_u64(digits, 10, &value) || value < VMOP_CHART_SIZE_MIN ||
	    value > VMOP_CHART_SIZE_MAX)
		return false;
	*ret = (unsigned)value;
	return true;
}

static struct vmop_error *parse_size(const char *text, struct vmop_chart_options *ret)
{
	const char *times = strchr(text, 'x');
	if (times && parse_side(text, (size_t)(times - text), &ret->width) &&
	    parse_side(times + 1, strlen(times + 1), &ret->height))
		return NULL;
	return vmop_error_new(VMOP_ERROR_USAGE,
			      "--chart-size takes WIDTHxHEIGHT, each from %d to %d, not '%s'",
			      VMOP_CHART_SIZE_MIN, VMOP_CHART_SIZE_MAX, text);
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
	struct vmop_chart_settings *settings = state->input;
	unsigned value = 0;
	switch (key) {
	case KEY_CHART:
		settings->is_wanted = true;
		settings->err = vmop_option_word_parse(kinds, "--chart", arg, &value);
		settings->kind = value;
		break;
	case KEY_FORMAT:
		settings->first_option = "--chart-format";
		settings->format_word = arg;
		settings->err = vmop_option_word_parse(formats, "--chart-format", arg, &value);
		break;
	case KEY_SIZE:
		settings->first_option = "--chart-size";
		settings->err = parse_size(arg, &settings->options);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return settings->err ? EINVAL : 0;
}

const struct argp vmop_chart_argp = {options, take_option, NULL, NULL, NULL, NULL, NULL};

/* Return what follows the last dot of the file's name, or NULL. */
static const char *suffix_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *dot = path ? strrchr(slash ? slash : path, '.') : NULL;
	return dot && dot[1] ? dot + 1 : NULL;
}

struct vmop_error *vmop_chart_settings_decide(struct vmop_chart_settings *settings,
					      const char *output_file)
{
	if (!settings->is_wanted)
		return settings->first_option ? vmop_error_new(VMOP_ERROR_USAGE, "%s needs --chart",
							       settings->first_option)
					      : NULL;
	const char *word = settings->format_word ? settings->format_word : suffix_of(output_file);
	for (const struct vmop_option_word *format = formats; word && format->name; format++) {
		if (strcasecmp(format->name, word) == 0) {
			settings->options.format = format->value;
			return NULL;
		}
	}
	return vmop_error_new(VMOP_ERROR_USAGE,
			      "--chart needs an --output-file with the suffix .svg, .png, .pdf or "
			      ".eps, or --chart-format");
}
