// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The threads of a guest and the call stacks of those that wait, for vmopcontrol --inspect=GUEST
 * --stacks:
 *
 *	"threads": [{"pid": 1, "tid": 1, "comm": "init", "state": "S", "switches": 12,
 *	  "running": false, "kernel_thread": false,
 *	  "stack": [{"address": "0xffffffff81e2b1b4", "symbol": "schedule", "offset": 94,
 *	    "module": null}, ...], "end": "complete",
 *	  "user_stack": [{"address": "0x7f21a3c1d2b7", "symbol": "__read", "offset": 23,
 *	    "path": "/lib/libc.so.6"}, ...], "user_end": "complete"}, ...],
 *	"stacks_cost": {"tables_cpu_s": 0.011, "threads_cpu_s": 0.004, "torn": 0}
 *
 * A stack begins with the code to which the thread returns when it is switched in. "end" is null
 * for threads without a stack: "state" then shows that they run (R) or have exited. "user_end" is
 * null for kernel threads.
 */
#ifndef VMOP_DAEMON_INSPECT_STACKS_H
#define VMOP_DAEMON_INSPECT_STACKS_H

#include <jansson.h>

#include "libguest/guest.h"
#include "libutil/error.h"

/*
 * Add "threads" and "stacks_cost" to reply. The guest's kernel was found, and its symbols are
 * there. VMOP_ERROR_NOT_FOUND: its threads cannot be read; the message has the reason.
 */
struct vmop_error *vmop_inspect_put_stacks(json_t *reply, struct vmop_guest *guest);

#endif
