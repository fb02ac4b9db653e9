// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/active-message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libutil/parse.h"

static const char *const words[VMOP_ACTIVE_N_WORDS] = {
	[VMOP_ACTIVE_HELLO] = "hello",	   [VMOP_ACTIVE_OPEN] = "open",
	[VMOP_ACTIVE_ALERT] = "alert",	   [VMOP_ACTIVE_JOIN] = "join",
	[VMOP_ACTIVE_RUN] = "run",	   [VMOP_ACTIVE_LEAVE] = "leave",
	[VMOP_ACTIVE_HERE] = "here",	   [VMOP_ACTIVE_OPENED] = "opened",
	[VMOP_ACTIVE_ALERTED] = "alerted", [VMOP_ACTIVE_READY] = "ready",
	[VMOP_ACTIVE_STUCK] = "stuck",	   [VMOP_ACTIVE_SAMPLING] = "sampling",
	[VMOP_ACTIVE_LEFT] = "left",	   [VMOP_ACTIVE_FAILED] = "failed",
};

const char *vmop_active_word_name(enum vmop_active_word word)
{
	return word < VMOP_ACTIVE_N_WORDS ? words[word] : "?";
}

/* Copy the next word of *line into buf. Return false at the end, or if the word does not fit. */
static bool take_word(const char **line, char *buf, size_t size)
{
	size_t len = strcspn(*line, " ");
	if (!len || len >= size)
		return false;
	memcpy(buf, *line, len);
	buf[len] = '\0';
	*line += len + ((*line)[len] == ' ');
	return true;
}

static bool take_number(const char **line, int base, uint64_t max, uint64_t *ret)
{
	char word[24];
	return take_word(line, word, sizeof(word)) && vmop_parse_u64(word, base, ret) &&
	       *ret <= max;
}

static bool is_printable(char c)
{
	return c >= ' ' && c <= '~';
}

static bool take_text(const char *line, char text[VMOP_ACTIVE_TEXT_BYTES])
{
	size_t len = strlen(line);
	if (len >= VMOP_ACTIVE_TEXT_BYTES)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!is_printable(line[i]))
			return false;
	}
	memcpy(text, line, len + 1);
	return true;
}

enum vmop_active_parse vmop_active_parse(const char *line, struct vmop_active_message *ret)
{
	struct vmop_active_message message;
	uint64_t version, number, beat;
	char word[16];
	if (!take_number(&line, 10, UINT32_MAX, &version) || version == 0)
		return VMOP_ACTIVE_GARBLED;
	if (version != VMOP_ACTIVE_VERSION)
		return VMOP_ACTIVE_OTHER_VERSION;
	if (!take_number(&line, 16, UINT64_MAX, &message.token) || !message.token ||
	    !take_number(&line, 10, UINT32_MAX, &number) ||
	    !take_number(&line, 10, UINT32_MAX, &beat) || !take_word(&line, word, sizeof(word)) ||
	    !take_text(line, message.text))
		return VMOP_ACTIVE_GARBLED;
	message.number = (uint32_t)number;
	message.beat = (uint32_t)beat;
	for (message.word = 0; message.word < VMOP_ACTIVE_N_WORDS; message.word++) {
		if (strcmp(words[message.word], word) != 0)
			continue;
		*ret = message;
		return VMOP_ACTIVE_UNDERSTOOD;
	}
	return VMOP_ACTIVE_GARBLED;
}

void vmop_active_format(const struct vmop_active_message *message,
			char ret[VMOP_ACTIVE_MESSAGE_BYTES])
{
	char text[VMOP_ACTIVE_TEXT_BYTES];
	snprintf(text, sizeof(text), "%s", message->text);
	for (char *c = text; *c; c++) {
		if (!is_printable(*c))
			*c = '?';
	}
	snprintf(ret, VMOP_ACTIVE_MESSAGE_BYTES, "%d %016" PRIx64 " %" PRIu32 " %" PRIu32 " %s%s%s",
		 VMOP_ACTIVE_VERSION, message->token, message->number, message->beat,
		 vmop_active_word_name(message->word), *text ? " " : "", text);
}

bool vmop_active_send(struct vmop_active_store *store, struct vmop_active_message *message)
{
	char line[VMOP_ACTIVE_MESSAGE_BYTES];
	message->beat++;
	vmop_active_format(message, line);
	return store->ops->write(store, line);
}

void vmop_active_report_format(const struct vmop_active_report *report,
			       char ret[VMOP_ACTIVE_TEXT_BYTES])
{
	int len = snprintf(ret, VMOP_ACTIVE_TEXT_BYTES, "%" PRIu64, report->samples);
	if (report->start_ns)
		snprintf(ret + len, VMOP_ACTIVE_TEXT_BYTES - (size_t)len, " %" PRIu64 " %" PRIu64,
			 report->now_ns, report->start_ns);
}

bool vmop_active_report_parse(const char *text, struct vmop_active_report *ret)
{
	struct vmop_active_report report = {0};
	if (!take_number(&text, 10, UINT64_MAX, &report.samples))
		return false;
	if (*text && (!take_number(&text, 10, INT64_MAX, &report.now_ns) ||
		      !take_number(&text, 10, INT64_MAX, &report.start_ns) || *text ||
		      !report.start_ns || report.now_ns < report.start_ns))
		return false;
	*ret = report;
	return true;
}
