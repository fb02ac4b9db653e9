// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How the daemon's answer to "status" is shown.
 */
#ifndef VMOP_OPCONTROL_STATUS_H
#define VMOP_OPCONTROL_STATUS_H

#include <jansson.h>

#include "libutil/error.h"

/* For people, on stdout, 80 columns. */
struct vmop_error *control_status_table(const json_t *status);

/* For scripts, on stdout: the answer as it is, indented. */
struct vmop_error *control_status_json(const json_t *status);

#endif
