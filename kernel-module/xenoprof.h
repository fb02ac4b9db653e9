/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Xen's side: the xenoprof hypercall and the buffers that it shares, as Xen's
 * public/xenoprof.h has them for a 64-bit PV domain (4.17). Linux has no header for it
 * since 5.12.
 */
#ifndef VMOP_XENOPROF_H
#define VMOP_XENOPROF_H

#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>
#include <asm/xen/hypercall.h>
#include <asm/xen/interface.h>

enum xenoprof_op {
	XENOPROF_INIT = 0,
	XENOPROF_RESET_ACTIVE_LIST = 1,
	XENOPROF_RESET_PASSIVE_LIST = 2,
	XENOPROF_SET_ACTIVE = 3,
	XENOPROF_SET_PASSIVE = 4,
	XENOPROF_RESERVE_COUNTERS = 5,
	XENOPROF_COUNTER = 6,
	XENOPROF_SETUP_EVENTS = 7,
	XENOPROF_ENABLE_VIRQ = 8,
	XENOPROF_START = 9,
	XENOPROF_STOP = 10,
	XENOPROF_DISABLE_VIRQ = 11,
	XENOPROF_RELEASE_COUNTERS = 12,
	XENOPROF_SHUTDOWN = 13,
	XENOPROF_GET_BUFFER = 14,
	XENOPROF_SET_BACKTRACE = 15,
	XENOPROF_GET_IBS_CAPS = 16,
};

/* Pages that Xen shares for one domain, at most (its MAX_OPROF_SHARED_PAGES). */
#define XENOPROF_MAX_PAGES 32
/* More than fits into these; Xen takes as many as do. */
#define XENOPROF_ALL_SAMPLES 8192

struct xenoprof_init {
	s32 num_events;
	s32 is_primary;
	char cpu_type[64];
};

struct xenoprof_get_buffer {
	s32 max_samples;
	s32 nbuf;
	s32 bufsize;
	u64 buf_gmaddr;
};

struct xenoprof_passive {
	domid_t domain_id;
	s32 max_samples;
	s32 nbuf;
	s32 bufsize;
	u64 buf_gmaddr;
};

struct xenoprof_counter {
	u32 ind;
	u64 count;
	u32 enabled;
	u32 event;
	u32 hypervisor;
	u32 kernel;
	u32 user;
	u64 unit_mask;
};

struct xenoprof_entry {
	u64 eip;
	u8 mode;
	u8 event;
};

struct xenoprof_buf {
	u32 event_head; /* written by Xen */
	u32 event_tail; /* written by whoever reads */
	u32 event_size;
	u32 vcpu_id;
	u64 xen_samples;
	u64 kernel_samples;
	u64 user_samples;
	u64 lost_samples;
	struct xenoprof_entry entries[];
};

static_assert(sizeof(struct xenoprof_init) == 72);
static_assert(sizeof(struct xenoprof_get_buffer) == 24);
static_assert(sizeof(struct xenoprof_passive) == 24);
static_assert(sizeof(struct xenoprof_counter) == 48);
static_assert(sizeof(struct xenoprof_entry) == 16);
static_assert(offsetof(struct xenoprof_buf, entries) == 48);

/* 0, or Xen's negative errno, which are Linux's. */
static inline int xenoprof_call(enum xenoprof_op op, void *arg)
{
	return _hypercall2(int, xenoprof_op, op, arg);
}

#endif
