// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/handed/events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/parse.h"

static const char kind[] = "host", with_stacks[] = "stacks";

char *vmop_handed_events_format(const struct vmop_source *source, bool has_stacks)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return NULL;
	fputs(kind, out);
	if (has_stacks)
		fprintf(out, " %s", with_stacks);
	for (size_t i = 0; i < vmop_source_n_events(source); i++) {
		const struct vmop_event_info *info = vmop_source_event(source, i);
		fprintf(out, " %" PRIu64 ":%" PRIu64 ":%s:%s", info->period_events,
			info->frequency_hz, info->unit, info->name);
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

bool vmop_handed_events_are(const char *text)
{
	size_t len = sizeof(kind) - 1;
	return !strncmp(text, kind, len) && (text[len] == ' ' || !text[len]);
}

static bool take_number(char **rest, uint64_t *ret)
{
	const char *word = strsep(rest, ":");
	return word && vmop_parse_u64(word, 10, ret);
}

/* Parse one event. The strings of *ret point into word. */
static bool take_event(char *word, struct vmop_event_info *ret)
{
	char *rest = word;
	*ret = (struct vmop_event_info){0};
	if (!take_number(&rest, &ret->period_events) || !take_number(&rest, &ret->frequency_hz))
		return false;
	ret->unit = strsep(&rest, ":");
	ret->name = rest;
	return ret->unit && (!strcmp(ret->unit, "ns") || !strcmp(ret->unit, "events")) && rest &&
	       *rest;
}

struct vmop_error *vmop_handed_events_parse(const char *text, struct vmop_handed_events *ret)
{
	*ret = (struct vmop_handed_events){.text = strdup(text)};
	if (!ret->text)
		return &vmop_error_no_memory;
	char *rest = ret->text, *word = strsep(&rest, " ");
	bool is_whole = vmop_handed_events_are(text);
	word = strsep(&rest, " ");
	ret->has_stacks = word && !strcmp(word, with_stacks);
	if (ret->has_stacks)
		word = strsep(&rest, " ");
	for (; is_whole && word; word = strsep(&rest, " "))
		is_whole = ret->n < VMOP_ACTIVE_EVENTS_MAX && take_event(word, &ret->at[ret->n++]);
	return is_whole && ret->n ? NULL
				  : vmop_error_new(VMOP_ERROR_CANT,
						   "the host's events can't be read: install the "
						   "same version in both");
}

void vmop_handed_events_deinit(struct vmop_handed_events *events)
{
	free(events->text);
	*events = (struct vmop_handed_events){0};
}
