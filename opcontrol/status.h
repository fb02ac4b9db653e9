// SPDX-License-Identifier: GPL-2.0-or-later
/* Print the reply to "status". */
#ifndef VMOP_OPCONTROL_STATUS_H
#define VMOP_OPCONTROL_STATUS_H

#include <jansson.h>

#include "libutil/error.h"

/* Print it for people, on stdout, in 80 columns. */
struct vmop_error *control_status_table(const json_t *status);

/* Print it for scripts, on stdout: the unchanged reply, indented. */
struct vmop_error *control_status_json(const json_t *status);

#endif
