// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/rate-history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libutil/clock.h"

/* Count the oldest span, which ended, and forget it. */
static void forget_oldest(struct vmop_rate_history *history)
{
	history->n_older++;
	history->older_ns += history->spans[0].end_ns - history->spans[0].start_ns;
	history->n--;
	memmove(history->spans, history->spans + 1, history->n * sizeof(history->spans[0]));
}

void vmop_rate_history_change(struct vmop_rate_history *history, uint64_t time_ns, unsigned divisor)
{
	if (history->n > 0 && !history->spans[history->n - 1].end_ns)
		history->spans[history->n - 1].end_ns = time_ns;
	if (divisor <= 1)
		return;
	if (history->n == VMOP_RATE_SPANS)
		forget_oldest(history);
	history->spans[history->n++] =
		(struct vmop_rate_span){.start_ns = time_ns, .divisor = divisor};
}

void vmop_rate_history_begin_file(struct vmop_rate_history *history, uint64_t time_ns)
{
	struct vmop_rate_span last = {.end_ns = 1};
	if (history->n > 0)
		last = history->spans[history->n - 1];
	*history = (struct vmop_rate_history){0};
	if (!last.end_ns)
		vmop_rate_history_change(history, time_ns, last.divisor);
}

static void put_time(FILE *out, uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / VMOP_NS_PER_S);
	struct tm tm;
	char text[40] = "?";
	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	fputs(text, out);
}

/* Print the rate of an event of which one of divisor samples is taken. */
static void put_rate(FILE *out, const struct vmop_event_info *event, unsigned divisor)
{
	bool is_clock = !strcmp(event->unit, "ns") && event->period_events;
	double hz = is_clock ? 1e9 / (double)event->period_events : (double)event->frequency_hz;
	if (hz > 0)
		fprintf(out, "%.4g Hz", hz / divisor);
	else
		fprintf(out, "one every %" PRIu64 " %s", event->period_events * divisor,
			event->unit);
}

char *vmop_rate_history_note(const struct vmop_rate_history *history,
			     const struct vmop_event_info *event)
{
	char *text = NULL;
	size_t len;
	FILE *out = history->n ? open_memstream(&text, &len) : NULL;
	if (!out)
		return NULL;
	fputs("rate lowered from ", out);
	put_rate(out, event, 1);
	for (size_t i = 0; i < history->n; i++) {
		const struct vmop_rate_span *span = &history->spans[i];
		fputs(i ? ", to " : " to ", out);
		put_rate(out, event, span->divisor);
		fputs(span->end_ns ? " between " : " since ", out);
		put_time(out, span->start_ns);
		if (span->end_ns) {
			fputs(" and ", out);
			put_time(out, span->end_ns);
		}
		fputs(" UTC", out);
	}
	if (history->n_older)
		fprintf(out, ", and %" PRIu64 " times before, for %" PRIu64 " s in all",
			history->n_older, history->older_ns / VMOP_NS_PER_S);
	fputs(" (max-overhead; weights make up for it)", out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
