// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/xen/window-line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "libutil/clock.h"
#include "libutil/parse.h"

_Static_assert(sizeof("1 0123456789abcdef") + VMOP_WINDOW_PAGES * sizeof(" 12345678") <=
		       VMOP_ACTIVE_MESSAGE_BYTES,
	       "a line has room for all references");

void vmop_window_line_format(const struct vmop_window_line *line,
			     char ret[VMOP_ACTIVE_MESSAGE_BYTES])
{
	size_t len =
		(size_t)snprintf(ret, VMOP_ACTIVE_MESSAGE_BYTES, "1 %016" PRIx64, line->number);
	for (size_t i = 0; line->has_refs && i < VMOP_WINDOW_PAGES; i++)
		len += (size_t)snprintf(ret + len, VMOP_ACTIVE_MESSAGE_BYTES - len, " %" PRIx32,
					line->refs[i]);
	if (!line->has_refs && *line->reason)
		snprintf(ret + len, VMOP_ACTIVE_MESSAGE_BYTES - len, " none %s", line->reason);
	for (char *c = ret; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

/* Parse what follows the number. */
static bool parse_refs(char *rest, struct vmop_window_line *line)
{
	const char *word;
	size_t n = 0;
	while ((word = strsep(&rest, " "))) {
		uint64_t ref;
		if (n == VMOP_WINDOW_PAGES || !vmop_parse_u64(word, 16, &ref) || ref > UINT32_MAX)
			return false;
		line->refs[n++] = (uint32_t)ref;
	}
	line->has_refs = n == VMOP_WINDOW_PAGES;
	return line->has_refs || n == 0;
}

static bool parse_rest(char *rest, struct vmop_window_line *line)
{
	static const char none[] = "none ";
	if (!rest || strncmp(rest, none, strlen(none)) != 0)
		return parse_refs(rest, line);
	snprintf(line->reason, sizeof(line->reason), "%s", rest + strlen(none));
	return *line->reason;
}

bool vmop_window_line_parse(const char *text, struct vmop_window_line *ret)
{
	char copy[VMOP_ACTIVE_MESSAGE_BYTES], *rest = copy;
	struct vmop_window_line line = {0};
	if (strlen(text) >= sizeof(copy))
		return false;
	for (const char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			return false;
	strcpy(copy, text);
	if (strcmp(strsep(&rest, " "), "1") != 0 || !rest ||
	    !vmop_parse_u64(strsep(&rest, " "), 16, &line.number) || !line.number ||
	    !parse_rest(rest, &line))
		return false;
	*ret = line;
	return true;
}

uint64_t vmop_window_number(void)
{
	uint64_t number = 0;
	while (!number)
		if (getrandom(&number, sizeof(number), 0) < 0)
			number = vmop_clock_ns(CLOCK_MONOTONIC);
	return number;
}
