// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/series/series-options.h"

#include <errno.h>
#include <string.h>

#include "libutil/clock.h"
#include "libutil/local-time.h"
#include "libutil/parse.h"

enum { KEY_OVER = 0x4000 };

static const struct argp_option argp_options[] = {
	{"over", KEY_OVER, "time[:STEP]", 0,
	 "A row for each step of time, and for each word of --by or symbol in it; STEP is 10s, 5m, "
	 "1h, 1d, 7d ...",
	 0},
	{0}};

struct vmop_error *vmop_series_parse(const char *text, struct vmop_series_options *ret)
{
	uint64_t step_ns = 0;
	ret->is_wanted = true;
	ret->step_s = 0;
	if (!strcmp(text, "time"))
		return NULL;
	if (!strncmp(text, "time:", 5) && vmop_parse_duration_ns(text + 5, &step_ns) &&
	    step_ns % VMOP_NS_PER_S == 0 && vmop_local_step_is_valid(step_ns / VMOP_NS_PER_S)) {
		ret->step_s = step_ns / VMOP_NS_PER_S;
		return NULL;
	}
	return vmop_error_new(VMOP_ERROR_USAGE,
			      "--over=%s: accepted: time, time:STEP with a step that divides a day "
			      "(1s, 10s, 1m, 5m, 1h, 6h) or of 1d to %dd",
			      text, VMOP_LOCAL_DAYS_MAX);
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
	struct vmop_series_options *options = state->input;
	if (key != KEY_OVER)
		return ARGP_ERR_UNKNOWN;
	options->err = vmop_series_parse(arg, options);
	return options->err ? EINVAL : 0;
}

const struct argp vmop_series_argp = {.options = argp_options, .parser = take_option};
