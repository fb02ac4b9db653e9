// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reply to a "status" request. Members are added and never renamed, because scripts read them
 * through `vmopcontrol --status --json`.
 */
#ifndef VMOP_DAEMON_STATUS_H
#define VMOP_DAEMON_STATUS_H

#include <jansson.h>

#include "daemon/session.h"

/* Make the reply. session is NULL if the daemon is idle, last the last finished file or NULL. NULL:
 * out of memory. */
json_t *vmop_status_reply(struct vmop_session *session, const char *last, const char *session_dir);

#endif
