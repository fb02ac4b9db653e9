/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The buffers that Xen writes a domain's samples into, one a vCPU: their mapping into the kernel
 * and their transfer into the rings.
 *
 * Their content is not trusted: a domain can write its own, and a passive one may have been active
 * before (XSA-313). Each field is read once, and each index is checked.
 */
#ifndef VMOP_BUFFER_H
#define VMOP_BUFFER_H

#include <linux/mm_types.h>
#include <linux/types.h>
#include <vmop/xenoprof.h>

#include "ring.h"

/* Xen's counters. They continue from session to session, so differences count. */
struct vmop_counts {
	u64 xen, kernel, user, lost;
};

struct vmop_buffer {
	struct vmop_xenoprof_buffer *shared;
	u32 n_entries;
	u16 domid;
	u16 vcpu;
	struct vmop_counts before, sum;
	u64 entries, corrupt; /* see struct vmop_xendev_stats */
};

/* One domain's buffers: n_pages pages from va on are Xen's. */
struct vmop_buffers {
	void *va;
	struct page *page; /* mapped at va when Xen's pages are not */
	u32 n_pages;
	u32 n;
	struct vmop_buffer buffers[];
};

/*
 * Map a domain's buffers as described by Xen. -EPROTO: the description is impossible. *ret is the
 * caller's until vmop_buffers_unmap(), which must come before the domain's counters are released:
 * unmapping the buffer of a destroyed domain later crashes Xen.
 */
int vmop_buffers_map(u16 domid, u64 machine_address, s32 n, s32 bytes, struct vmop_buffers **ret);
void vmop_buffers_unmap(struct vmop_buffers *buffers);

static inline bool vmop_buffer_is_empty(const struct vmop_buffer *buffer)
{
	return READ_ONCE(buffer->shared->head) == READ_ONCE(buffer->shared->tail);
}

/*
 * Move all entries into ring i, each a copy of *like with its own eip, mode and event. The caller
 * must be the only user of the buffer and the ring.
 */
void vmop_buffer_drain(struct vmop_buffer *buffer, struct vmop_rings *rings, u32 i,
		       const struct vmop_xendev_record *like);

/* Add the counts of the buffers to *stats. */
void vmop_buffers_add_stats(const struct vmop_buffers *buffers, struct vmop_xendev_stats *stats);

#endif
