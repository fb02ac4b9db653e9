// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The drawing of charts as a module, vmop_charts.so in $(pkglibdir): with cairo and pango it brings
 * thirty libraries, and loading them took a quarter of the time of a small report.
 *
 * chart-loader.c, in the programs, loads the module when a chart is wanted. Where vmop is built
 * without shared libraries, the programs have chart-output.c in its place.
 */
#ifndef VMOP_OPREPORT_CHARTS_CHART_MODULE_H
#define VMOP_OPREPORT_CHARTS_CHART_MODULE_H

#include <stddef.h>
#include <stdio.h>

#include "config.h"
#include "opreport/charts/chart-output.h"

/* The name of the struct vmop_chart_module that the module exports. */
#define VMOP_CHART_MODULE_SYMBOL "vmop_chart_module"

struct vmop_chart_module {
	/* The loader refuses a module of another build: the structs may differ. */
	char version[32]; /* PACKAGE_VERSION */
	size_t chart_bytes, options_bytes;
	/*
	 * Is vmop_chart_print(). The caller of the module takes each error with
	 * VMOP_ERROR_NO_MEMORY for its own static one: the module has another.
	 */
	struct vmop_error *(*print)(const struct vmop_chart *chart,
				    const struct vmop_chart_options *options, FILE *out);
};

#define VMOP_CHART_MODULE_BUILD                                                                    \
	.version = PACKAGE_VERSION, .chart_bytes = sizeof(struct vmop_chart),                      \
	.options_bytes = sizeof(struct vmop_chart_options)

#endif
