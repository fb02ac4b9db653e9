// SPDX-License-Identifier: GPL-2.0-or-later
#include "ring.h"

#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

static void wake_reader(struct irq_work *work)
{
	wake_up_interruptible(&container_of(work, struct vmop_rings, wake)->wait);
}

int vmop_rings_create(u32 n, u32 n_records, struct vmop_rings **ret)
{
	size_t ring_bytes = PAGE_SIZE + PAGE_ALIGN(n_records * sizeof(struct vmop_xendev_record));
	struct vmop_xendev_map *head;
	struct vmop_rings *rings;
	u32 i;

	rings = kvzalloc(struct_size(rings, rings, n), GFP_KERNEL);
	if (!rings)
		return -ENOMEM;
	rings->map_bytes = PAGE_SIZE + n * ring_bytes;
	rings->map = vmalloc_user(rings->map_bytes);
	if (!rings->map) {
		kvfree(rings);
		return -ENOMEM;
	}
	rings->n = n;
	rings->n_records = n_records;
	rings->wakeup_records = n_records;
	init_waitqueue_head(&rings->wait);
	init_irq_work(&rings->wake, wake_reader);
	for (i = 0; i < n; i++) {
		rings->rings[i].shared = rings->map + PAGE_SIZE + i * ring_bytes;
		rings->rings[i].records = (void *)rings->rings[i].shared + PAGE_SIZE;
	}
	head = rings->map;
	*head = (struct vmop_xendev_map){
		.magic = VMOP_XENDEV_MAGIC,
		.abi = VMOP_XENDEV_ABI,
		.n_rings = n,
		.record_bytes = sizeof(struct vmop_xendev_record),
		.ring_records = n_records,
		.ring_bytes = ring_bytes,
		.first_offset = PAGE_SIZE,
		.data_offset = PAGE_SIZE,
	};
	*ret = rings;
	return 0;
}

void vmop_rings_destroy(struct vmop_rings *rings)
{
	if (!rings)
		return;
	irq_work_sync(&rings->wake);
	vfree(rings->map);
	kvfree(rings);
}

int vmop_rings_mmap(struct vmop_rings *rings, struct vm_area_struct *vma)
{
	return remap_vmalloc_range(vma, rings->map, vma->vm_pgoff);
}

/* Return the number of unread records. User space may have made up the tail. */
static u64 used_records(const struct vmop_ring *ring)
{
	return READ_ONCE(ring->head) - READ_ONCE(ring->shared->tail);
}

__poll_t vmop_rings_poll(struct vmop_rings *rings, struct file *file, poll_table *table)
{
	u32 i;

	poll_wait(file, &rings->wait, table);
	for (i = 0; i < rings->n; i++)
		if (used_records(&rings->rings[i]) >= rings->wakeup_records)
			return EPOLLIN | EPOLLRDNORM;
	return 0;
}

void vmop_rings_put(struct vmop_rings *rings, u32 i, const struct vmop_xendev_record *record)
{
	struct vmop_ring *ring = &rings->rings[i];
	/* Pairs with the reader's release: the reader is done with these records. */
	u64 tail = smp_load_acquire(&ring->shared->tail);

	if (ring->head - tail >= rings->n_records) {
		WRITE_ONCE(ring->lost, ring->lost + 1);
		WRITE_ONCE(ring->shared->lost, ring->lost);
		return;
	}
	ring->records[ring->head & (rings->n_records - 1)] = *record;
	WRITE_ONCE(ring->head, ring->head + 1);
	/* Pairs with the reader's acquire. */
	smp_store_release(&ring->shared->head, ring->head);
}

void vmop_rings_wake(struct vmop_rings *rings, u32 i)
{
	/* Wake the reader later, because waking takes locks that the caller may hold. */
	if (used_records(&rings->rings[i]) >= rings->wakeup_records)
		irq_work_queue(&rings->wake);
}

u64 vmop_rings_lost(const struct vmop_rings *rings)
{
	u64 lost = 0;
	u32 i;

	for (i = 0; i < rings->n; i++)
		lost += READ_ONCE(rings->rings[i].lost);
	return lost;
}
