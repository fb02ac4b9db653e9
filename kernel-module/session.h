/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session with Xen: the hypercalls in the order that works, and the way back from any point
 * of it. There is one, as there is one in Xen; all calls are under the caller's lock.
 *
 * Hazards, each of which crashes or blocks the whole machine if the order is another one
 * (Xen 4.17): XENOPROF_init while samples are taken; unmapping a passive domain's buffer
 * after the counters were released; buffers shared again while they are mapped (EBUSY); a
 * domain on the active list that is never taken off it (can't be destroyed).
 */
#ifndef VMOP_SESSION_H
#define VMOP_SESSION_H

#include <vmop/xen-device.h>

#include "ring.h"

/* Each: see xen-device.h. 0 or a negative errno; *failed_op is set. */
int vmop_session_init(struct vmop_xendev_init *init);
int vmop_session_prepare(struct vmop_xendev_prepare *prepare);
int vmop_session_start(s32 *failed_op);
int vmop_session_stop(s32 *failed_op);
int vmop_session_release(s32 *failed_op);
void vmop_session_stats(struct vmop_xendev_stats *stats);

/* Those of PREPARE; NULL before it. They stay until vmop_session_close(). */
struct vmop_rings *vmop_session_rings(void);

/* The device's user is gone, and so are its mappings: the way back. */
void vmop_session_close(void);

/* At the module's beginning and end, outside of any session. */
void vmop_session_module_init(void);
void vmop_session_module_exit(void);

#endif
