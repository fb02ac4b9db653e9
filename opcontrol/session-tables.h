// SPDX-License-Identifier: GPL-2.0-or-later
/* Print the facts of session-facts.h for people, on stdout. Times are local. */
#ifndef VMOP_OPCONTROL_SESSION_TABLES_H
#define VMOP_OPCONTROL_SESSION_TABLES_H

#include <jansson.h>

#include "libutil/error.h"

/* Print the table of --list: a line for each session. */
struct vmop_error *control_sessions_table(const json_t *sessions);

/* Print the description of one session. */
void control_session_table(const json_t *facts);

#endif
