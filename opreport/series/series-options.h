// SPDX-License-Identifier: GPL-2.0-or-later
/* The option of a series: --over=time[:STEP]. */
#ifndef VMOP_OPREPORT_SERIES_OPTIONS_H
#define VMOP_OPREPORT_SERIES_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "libutil/error.h"

struct vmop_series_options {
	bool is_wanted;
	uint64_t step_s;	/* 0: chosen by the length of the time */
	struct vmop_error *err; /* the first error, if argp_parse returned EINVAL */
};

/* A child parser; its input is a struct vmop_series_options. */
extern const struct argp vmop_series_argp;

/* Parse "time" or "time:STEP".  VMOP_ERROR_USAGE names the steps that are accepted. */
struct vmop_error *vmop_series_parse(const char *text, struct vmop_series_options *ret);

#endif
