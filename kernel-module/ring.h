/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rings that user space maps; vmop/xen-device.h defines their layout. A ring has one writer at
 * a time, which its users ensure. Writing is possible from any context but NMI, also with a run
 * queue locked.
 */
#ifndef VMOP_RING_H
#define VMOP_RING_H

#include <linux/irq_work.h>
#include <linux/mm_types.h>
#include <linux/poll.h>
#include <linux/wait.h>
#include <vmop/xen-device.h>

struct vmop_ring {
	struct vmop_xendev_ring *shared;
	struct vmop_xendev_record *records;
	u64 head; /* the module's copy: user space can write the shared one */
	u64 lost;
};

struct vmop_rings {
	void *map;
	size_t map_bytes;
	u32 n_records; /* of each ring, a power of two */
	u32 wakeup_records;
	u32 n;
	wait_queue_head_t wait;
	struct irq_work wake;
	struct vmop_ring rings[];
};

/*
 * Allocate n rings. -ENOMEM, or a valid *ret, freed with vmop_rings_destroy() after the last
 * unmapping.
 */
int vmop_rings_create(u32 n, u32 n_records, struct vmop_rings **ret);
void vmop_rings_destroy(struct vmop_rings *rings);

int vmop_rings_mmap(struct vmop_rings *rings, struct vm_area_struct *vma);
__poll_t vmop_rings_poll(struct vmop_rings *rings, struct file *file, poll_table *table);

/* Write one record into ring i, or count it as lost. */
void vmop_rings_put(struct vmop_rings *rings, u32 i, const struct vmop_xendev_record *record);
/* Wake the reader if ring i has filled up to the watermark. Call it after some records. */
void vmop_rings_wake(struct vmop_rings *rings, u32 i);

u64 vmop_rings_lost(const struct vmop_rings *rings);

#endif
