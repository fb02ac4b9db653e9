// SPDX-License-Identifier: GPL-2.0-or-later
/* Refuse options of vmopreport that do not go together.  Caller: settings.c. */
#ifndef VMOP_OPREPORT_SETTINGS_CHECK_H
#define VMOP_OPREPORT_SETTINGS_CHECK_H

#include "opreport/settings.h"

/* Refuse reports that the format has no form for: VMOP_ERROR_USAGE names the option. */
struct vmop_error *vmop_settings_check_format(const struct vmop_settings *settings);

/*
 * Refuse all else that contradicts, once the settings are decided.  VMOP_ERROR_CANT: a chart is
 * wanted, and vmop is built without charts.
 */
struct vmop_error *vmop_settings_check(const struct vmop_settings *settings);

#endif
