// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Indices and ids of the daemon's tables, each of a type of its own.  The compiler refuses to mix
 * them, or to store one where the session file expects the id of a row (vmop/ids.h).
 */
#ifndef VMOP_DAEMON_HOST_IDS_H
#define VMOP_DAEMON_HOST_IDS_H

#include <stdint.h>

/* An index into vmop_images.slots.  The id of the image's row is vmop_image.id. */
struct vmop_image_slot {
	uint32_t at;
};

/*
 * The number of a task with samples; 0: none.  The task's samples are stored under the row that
 * vmop_short_lived_row returns: its own, which has the same number as its id, or a merged one.
 */
struct vmop_task_id {
	uint32_t number;
};

#endif
