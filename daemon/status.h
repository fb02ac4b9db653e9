// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What vmopd tells of itself: the reply to a "status" request.  Members are
 * added, never renamed: scripts read them through `vmopcontrol --status --json`.
 */
#ifndef VMOP_DAEMON_STATUS_H
#define VMOP_DAEMON_STATUS_H

#include <jansson.h>

#include "daemon/session.h"

/* session NULL: idle; last is the session file that ended last, or NULL. NULL: out of memory. */
json_t *vmop_status_reply(struct vmop_session *session, const char *last, const char *session_dir);

#endif
