// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/charts/chart-module.h"

extern const struct vmop_chart_module vmop_chart_module;

const struct vmop_chart_module vmop_chart_module = {
	VMOP_CHART_MODULE_BUILD,
	.print = vmop_chart_print,
};
