// SPDX-License-Identifier: GPL-2.0-or-later
/* The gates of a report: vmopreport's options, as opreport/gate understands them. */
#ifndef VMOP_OPREPORT_GATE_REPORT_H
#define VMOP_OPREPORT_GATE_REPORT_H

#include "libutil/error.h"
#include "opreport/settings.h"

/* Check that the options go with gates.  VMOP_ERROR_USAGE names the first that does not. */
struct vmop_error *vmop_gate_report_check(const struct vmop_settings *settings);

/* Check the bounds, and log a line for each that is crossed. */
struct vmop_error *vmop_gate_report(const struct vmop_settings *settings, bool *ret_is_crossed);

#endif
