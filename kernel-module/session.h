/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session with Xen: the hypercalls in the safe order, and the way back from any point. One
 * session exists, as in Xen; all calls are under the caller's lock.
 *
 * In another order each of these crashes or blocks the whole machine (Xen 4.17): XENOPROF_init
 * while samples are taken; unmapping a passive domain's buffer after the counters were released;
 * sharing buffers again while they are mapped (EBUSY); leaving a domain on the active list (it
 * cannot be destroyed).
 */
#ifndef VMOP_SESSION_H
#define VMOP_SESSION_H

#include <vmop/xen-device.h>

#include "ring.h"

/* See vmop/xen-device.h for each step. They return 0 or a negative errno and set *failed_op. */
int vmop_session_init(struct vmop_xendev_init *init);
int vmop_session_prepare(struct vmop_xendev_prepare *prepare);
int vmop_session_start(s32 *failed_op);
int vmop_session_stop(s32 *failed_op);
int vmop_session_release(s32 *failed_op);
void vmop_session_stats(struct vmop_xendev_stats *stats);

/* Return the rings of PREPARE; NULL before it. Valid until vmop_session_close(). */
struct vmop_rings *vmop_session_rings(void);

/* Undo everything after the device's user and its mappings have gone. */
void vmop_session_close(void);

/* Called when the module is loaded and unloaded, outside of any session. */
void vmop_session_module_init(void);
void vmop_session_module_exit(void);

#endif
