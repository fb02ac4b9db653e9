// SPDX-License-Identifier: GPL-2.0-or-later
/* The options of charts, which the readers share: --chart, --chart-format and --chart-size. */
#ifndef VMOP_OPREPORT_CHARTS_CHART_SETTINGS_H
#define VMOP_OPREPORT_CHARTS_CHART_SETTINGS_H

#include <argp.h>
#include <stdbool.h>

#include "libutil/error.h"
#include "opreport/charts/chart-output.h"

struct vmop_chart_settings {
	bool is_wanted; /* --chart was given */
	enum vmop_chart_kind kind;
	struct vmop_chart_options options; /* its format is decided by vmop_chart_settings_decide */
	const char *format_word;	   /* NULL: by the suffix of the file */
	const char *first_option;	   /* "--chart-size": needs --chart; NULL: none was given */
	struct vmop_error *err;		   /* the first error, if argp_parse returned EINVAL */
};

/* A child parser; its input is a struct vmop_chart_settings. */
extern const struct argp vmop_chart_argp;

/*
 * Set the format by --chart-format or the suffix of output_file, NULL: stdout.  VMOP_ERROR_USAGE:
 * neither names one, or an option is without --chart.
 */
struct vmop_error *vmop_chart_settings_decide(struct vmop_chart_settings *settings,
					      const char *output_file);

#endif
