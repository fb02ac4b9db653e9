// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/note.h"

#include <stdio.h>
#include <stdlib.h>

/* Write how long the event counted, if it shared a counter. */
static void put_multiplexed(FILE *out, const struct vmop_perf_event *event,
			    const struct vmop_event_info *info)
{
	double share = (double)info->running_ns / (double)info->enabled_ns;
	fputs("multiplexed, because it shares its counters with other events: counted ", out);
	if (info->running_ns)
		fprintf(out, "%.1f %% of the time, scale x%.2f", 100 * share, 1 / share);
	else if (event->group)
		fputs("never, because its group's counters were not free at the same time; leave "
		      "out the braces",
		      out);
	else
		fputs("never", out);
}

bool vmop_perf_note(const struct vmop_perf_event *event, const struct vmop_event_info *info,
		    const char *rate, char **ret)
{
	size_t len;
	char *note = NULL;
	FILE *out = open_memstream(&note, &len);
	if (!out)
		return false;
	if (event->note)
		fputs(event->note, out);
	if (vmop_event_is_multiplexed(info)) {
		fputs(event->note ? "; " : "", out);
		put_multiplexed(out, event, info);
	}
	if (rate)
		fprintf(out, "%s%s", ftell(out) > 0 ? "; " : "", rate);
	if (fclose(out) != 0) {
		free(note);
		return false;
	}
	*ret = *note ? note : NULL;
	if (!*ret)
		free(note);
	return true;
}
