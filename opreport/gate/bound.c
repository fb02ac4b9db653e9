// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/gate/bound.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"

#define ACCEPTED                                                                                   \
	"[each ]FIGURE OP NUMBER, as in 'symbol:crc32* > 5%%': domain: image: symbol: task: "      \
	"cgroup: steal:GLOB and unattributed with a share, lost[:NAME] with a share or a number, " \
	"ipc, cpi, mpki or a --ratio with a number; OP is > >= < or <="

/* The kind of a figure's number. */
enum unit { SHARE, NUMBER, ANY };

static const struct figure {
	const char *name; /* with its colon, if a word follows */
	enum vmop_figure_kind kind;
	enum unit unit;
} figures[] = {
	{"domain:", VMOP_GATE_DOMAIN, SHARE}, {"image:", VMOP_GATE_IMAGE, SHARE},
	{"symbol:", VMOP_GATE_SYMBOL, SHARE}, {"task:", VMOP_GATE_TASK, SHARE},
	{"cgroup:", VMOP_GATE_CGROUP, SHARE}, {"unattributed", VMOP_GATE_UNATTRIBUTED, SHARE},
	{"lost:", VMOP_GATE_LOST, ANY},	      {"lost", VMOP_GATE_LOST, ANY},
	{"steal:", VMOP_GATE_STEAL, SHARE},
};

struct vmop_error *vmop_bound_malformed(const char *text)
{
	return vmop_error_new(VMOP_ERROR_USAGE, "--fail-if='%s': accepted: " ACCEPTED, text);
}

/* Cut blanks off both ends of text. */
static char *trim(char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	size_t len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	return text;
}

/* Parse a number that is not negative, and a '%' behind it. */
static bool parse_limit(const char *text, struct vmop_bound *ret)
{
	char *end;
	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	ret->limit = strtod(text, &end); /* LC_NUMERIC stays "C" */
	if (end == text || !isfinite(ret->limit) || text[strcspn(text, "xX")])
		return false;
	while (*end == ' ')
		end++;
	ret->is_percent = *end == '%';
	return !end[ret->is_percent] && !(ret->is_percent && ret->limit > 100);
}

/* Cut text at its last operator: names of C++ contain '<' and '>'.  Returns the number's text. */
static char *cut_at_operator(char *text, enum vmop_bound_op *ret)
{
	char *at = NULL;
	for (char *c = text; *c; c++)
		if (*c == '<' || *c == '>')
			at = c;
	if (!at)
		return NULL;
	bool or_equal = at[1] == '=', is_above = *at == '>';
	*ret = is_above	  ? or_equal ? VMOP_AT_LEAST : VMOP_ABOVE
	       : or_equal ? VMOP_AT_MOST
			  : VMOP_BELOW;
	*at = '\0';
	return trim(at + 1 + or_equal);
}

static bool parse_figure(char *text, struct vmop_bound *ret, enum unit *ret_unit)
{
	*ret_unit = NUMBER;
	ret->kind = VMOP_GATE_RATIO;
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++) {
		size_t len = strlen(figures[i].name);
		bool has_word = figures[i].name[len - 1] == ':';
		if (has_word ? strncmp(text, figures[i].name, len) : strcmp(text, figures[i].name))
			continue;
		ret->kind = figures[i].kind;
		*ret_unit = figures[i].unit;
		text += len;
		if (!has_word)
			return true;
		break;
	}
	/* A word like a tag is a mistake; "mpki:EVENT" is a ratio. */
	bool has_tag = text[strspn(text, "abcdefghijklmnopqrstuvwxyz-")] == ':';
	if (!*text || (ret->kind == VMOP_GATE_RATIO && has_tag && strncmp(text, "mpki:", 5) != 0))
		return false;
	ret->word = strdup(text);
	return ret->word;
}

struct vmop_error *vmop_bound_parse(const char *text, struct vmop_bound *ret)
{
	_cleanup_free_ char *copy = strdup(text);
	enum unit unit;
	*ret = (struct vmop_bound){.text = text};
	if (!copy)
		return &vmop_error_no_memory;
	char *number = cut_at_operator(copy, &ret->op), *figure = trim(copy);
	if (!number || !parse_limit(number, ret))
		return vmop_bound_malformed(text);
	if (!strncmp(figure, "each ", 5)) {
		ret->each = true;
		figure = trim(figure + 5);
	}
	if (!parse_figure(figure, ret, &unit) || (ret->each && !vmop_bound_is_of_rows(ret)))
		return vmop_bound_malformed(text);
	if ((unit == SHARE && !ret->is_percent) || (unit == NUMBER && ret->is_percent))
		return vmop_error_new(VMOP_ERROR_USAGE, "--fail-if='%s': %s takes %s", text, figure,
				      unit == SHARE ? "a share: put % behind the number"
						    : "a number without %");
	return NULL;
}

void vmop_bound_deinit(struct vmop_bound *bound)
{
	free(bound->word);
}

bool vmop_bound_is_crossed(const struct vmop_bound *bound, double value)
{
	switch (bound->op) {
	case VMOP_ABOVE:
		return value > bound->limit;
	case VMOP_AT_LEAST:
		return value >= bound->limit;
	case VMOP_BELOW:
		return value < bound->limit;
	default:
		return value <= bound->limit;
	}
}
