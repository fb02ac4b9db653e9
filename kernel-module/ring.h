/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rings that user space maps; their shape is in vmop/xen-device.h. A ring has one
 * writer at a time; which, is its user's to arrange. Writing is possible from any
 * context but NMI, also with a run queue locked.
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
	u64 head; /* ours: that in shared can be written by user space */
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

/* -ENOMEM, or a valid *ret, which vmop_rings_destroy() frees once nobody has it mapped. */
int vmop_rings_create(u32 n, u32 n_records, struct vmop_rings **ret);
void vmop_rings_destroy(struct vmop_rings *rings);

int vmop_rings_mmap(struct vmop_rings *rings, struct vm_area_struct *vma);
__poll_t vmop_rings_poll(struct vmop_rings *rings, struct file *file, poll_table *table);

/* Writes one record, or counts it as lost. */
void vmop_rings_put(struct vmop_rings *rings, u32 i, const struct vmop_xendev_record *record);
/* To be called after some: wakes the reader if ring i has filled up to the mark. */
void vmop_rings_wake(struct vmop_rings *rings, u32 i);

u64 vmop_rings_lost(const struct vmop_rings *rings);

#endif
