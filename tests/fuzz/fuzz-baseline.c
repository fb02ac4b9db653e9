// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any text as a baseline in JSON, whose shares never exceed their events; and its lines as bounds,
 * times and baselines of a command line, whose errors are one line.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/time-words.h"
#include "opreport/gate/baseline.h"
#include "opreport/gate/gate-options.h"
#include "opreport/gate/shares-json.h"
#include "opreport/series/series-options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

/* Return whether there is no error. */
static bool check(struct vmop_error *err)
{
	if (err && (!err->message[0] || strchr(err->message, '\n')))
		abort(); /* always one line */
	bool is_ok = !err;
	vmop_error_destroy(err);
	return is_ok;
}

static void check_sums(const struct vmop_shares *shares)
{
	for (size_t e = 0; e < shares->n_events; e++) {
		struct vmop_count sum = {0};
		for (size_t i = 0; i < shares->n_rows; i++)
			vmop_count_add(&sum, shares->rows[i].counts[e].samples,
				       shares->rows[i].counts[e].weight_events);
		if (sum.samples > shares->events[e].all.samples ||
		    sum.weight_events > shares->events[e].all.weight_events)
			abort();
	}
	for (size_t i = 1; i < shares->n_rows; i++)
		if (vmop_shares_compare(&shares->rows[i - 1], &shares->rows[i]) >= 0)
			abort();
}

static void read_json(const uint8_t *data, size_t len_bytes)
{
	struct vmop_shares_event events[] = {{.name = "cycles", .unit = "events", .asked = ""},
					     {.name = "clock", .unit = "ns", .asked = ""}};
	const struct vmop_shares like = {.dimensions =
						 VMOP_BY_DOMAIN | VMOP_BY_IMAGE | VMOP_BY_SYMBOL,
					 .events = events,
					 .n_events = 2};
	struct vmop_shares shares;
	struct vmop_changes changes;
	const struct vmop_change_bound bound = {0};
	if (check(vmop_shares_of_json(&shares, "fuzz", (const char *)data, len_bytes, &like))) {
		check_sums(&shares);
		/* Nothing differs from itself. */
		if (!check(vmop_changes_init(&changes, &shares, &shares, &bound)) || changes.n)
			abort();
		vmop_changes_deinit(&changes);
	}
	vmop_shares_deinit(&shares);
}

static void read_line(const char *line)
{
	const uint64_t now_ns = UINT64_C(1795437296000000000);
	struct vmop_bound bound;
	struct vmop_gate_options options = {0};
	struct vmop_series_options series = {0};
	struct vmop_time_words words;
	struct vmop_time_window window;
	uint64_t from_ns, to_ns;
	if (check(vmop_bound_parse(line, &bound)))
		vmop_bound_is_crossed(&bound, 1);
	vmop_bound_deinit(&bound);
	check(vmop_gate_change_parse(line, &options));
	check(vmop_series_parse(line, &series));
	check(vmop_baseline_check(line));
	if (vmop_time_words_parse(line, now_ns, &words) &&
	    (words.first_ns > words.last_ns || words.last_ns > words.end_ns))
		abort();
	if (vmop_time_window_parse(&window, line, now_ns) &&
	    vmop_time_window_is_absolute(&window, &from_ns, &to_ns) && to_ns && from_ns >= to_ns)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	_cleanup_free_ char *text = strndup((const char *)data, len_bytes);
	char *rest = text;
	if (!text)
		abort();
	read_json(data, len_bytes);
	for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
		read_line(line);
	return 0;
}
