// SPDX-License-Identifier: GPL-2.0-or-later
/* A report with specs in braces: vmopreport's options, as a comparison understands them. */
#ifndef VMOP_OPREPORT_COMPARE_REPORT_H
#define VMOP_OPREPORT_COMPARE_REPORT_H

#include "libutil/error.h"
#include "opreport/settings.h"

/* Check that the options go with braces.  VMOP_ERROR_USAGE names the first that does not. */
struct vmop_error *vmop_compare_report_check(const struct vmop_settings *settings);

/* Compare the sides and print the comparison. */
struct vmop_error *vmop_compare_report(const struct vmop_settings *settings);

#endif
