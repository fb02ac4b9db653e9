/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The structs of Xen's profiling hypercall, as Xen's public header defines them for a 64-bit caller
 * on x86 (xen/include/public/xenoprof.h, until 4.21; removed in 4.22). Linux has had no header for
 * it since 5.12. Nothing here belongs to vmop: the numbers must never change. The kernel module and
 * the programs are built from this file.
 */
#ifndef VMOP_XENOPROF_H
#define VMOP_XENOPROF_H

#include <linux/types.h>

/* A domU may use only INIT, ENABLE_VIRQ, DISABLE_VIRQ and GET_BUFFER. */
enum vmop_xenoprof_op {
	VMOP_XENOPROF_INIT = 0,
	VMOP_XENOPROF_RESET_ACTIVE_LIST = 1,
	VMOP_XENOPROF_RESET_PASSIVE_LIST = 2,
	VMOP_XENOPROF_SET_ACTIVE = 3,
	VMOP_XENOPROF_SET_PASSIVE = 4,
	VMOP_XENOPROF_RESERVE_COUNTERS = 5,
	VMOP_XENOPROF_COUNTER = 6,
	VMOP_XENOPROF_SETUP_EVENTS = 7,
	VMOP_XENOPROF_ENABLE_VIRQ = 8,
	VMOP_XENOPROF_START = 9,
	VMOP_XENOPROF_STOP = 10,
	VMOP_XENOPROF_DISABLE_VIRQ = 11,
	VMOP_XENOPROF_RELEASE_COUNTERS = 12,
	VMOP_XENOPROF_SHUTDOWN = 13,
	VMOP_XENOPROF_GET_BUFFER = 14,
	VMOP_XENOPROF_SET_BACKTRACE = 15,
	VMOP_XENOPROF_GET_IBS_CAPS = 16,
};

#define VMOP_XENOPROF_EVENTS_MAX 32
#define VMOP_XENOPROF_DOMAINS_MAX 25 /* of each kind: active (with dom0) and passive */
#define VMOP_XENOPROF_PAGES_MAX 32   /* for all buffers of one domain */

struct vmop_xenoprof_init {
	__s32 n_events;	  /* counters */
	__s32 is_primary; /* the caller is the initiator: dom0, unless another domain is */
	char cpu_type[64];
};

struct vmop_xenoprof_get_buffer {
	__s32 max_samples; /* requested; fewer are given when pages are short */
	__s32 n_buffers;   /* one per vCPU */
	__s32 buffer_bytes;
	__u32 padding;
	__u64 address; /* of the first buffer: a machine address in a PV domain */
};

struct vmop_xenoprof_passive {
	__u16 domain_id;
	__u16 padding;
	__s32 max_samples;
	__s32 n_buffers;
	__s32 buffer_bytes;
	__u64 address;
};

struct vmop_xenoprof_counter {
	__u32 counter;
	__u32 padding;
	__u64 period_events;
	__u32 is_enabled;
	__u32 event;			/* the processor's code of the event */
	__u32 hypervisor, kernel, user; /* which modes count */
	__u32 padding_too;
	__u64 unit_mask;
};

enum vmop_xenoprof_mode {
	VMOP_XENOPROF_MODE_USER = 0,
	VMOP_XENOPROF_MODE_KERNEL = 1,
	VMOP_XENOPROF_MODE_XEN = 2,
};

/* An entry of a buffer. */
struct vmop_xenoprof_entry {
	__u64 ip; /* VMOP_XENOPROF_ESCAPE: not an address; event gives the meaning */
	__u8 mode;
	__u8 event; /* the counter */
	__u8 padding[6];
};

#define VMOP_XENOPROF_ESCAPE 0xffffffffffffffffull
#define VMOP_XENOPROF_ESCAPE_TRACE 1 /* the next entry is a sample, followed by its callers */

/*
 * A buffer that Xen and one vCPU share. Xen writes entries and head, the reader writes tail. An
 * active domain can write all of it, so the content of another domain's buffer is hostile
 * (XSA-313).
 */
struct vmop_xenoprof_buffer {
	__u32 head, tail; /* indices into entries */
	__u32 size;	  /* number of entries */
	__u32 vcpu;
	/* Counts since the buffer was made; it outlives sessions. */
	__u64 xen_samples, kernel_samples, user_samples, lost_samples;
	struct vmop_xenoprof_entry entries[];
};

_Static_assert(sizeof(struct vmop_xenoprof_init) == 72, "xenoprof_init");
_Static_assert(sizeof(struct vmop_xenoprof_get_buffer) == 24, "xenoprof_get_buffer");
_Static_assert(__builtin_offsetof(struct vmop_xenoprof_get_buffer, address) == 16,
	       "xenoprof_get_buffer");
_Static_assert(sizeof(struct vmop_xenoprof_passive) == 24, "xenoprof_passive");
_Static_assert(__builtin_offsetof(struct vmop_xenoprof_passive, max_samples) == 4,
	       "xenoprof_passive");
_Static_assert(__builtin_offsetof(struct vmop_xenoprof_passive, address) == 16, "xenoprof_passive");
_Static_assert(sizeof(struct vmop_xenoprof_counter) == 48, "xenoprof_counter");
_Static_assert(__builtin_offsetof(struct vmop_xenoprof_counter, period_events) == 8,
	       "xenoprof_counter");
_Static_assert(__builtin_offsetof(struct vmop_xenoprof_counter, unit_mask) == 40,
	       "xenoprof_counter");
_Static_assert(sizeof(struct vmop_xenoprof_entry) == 16, "event_log");
_Static_assert(__builtin_offsetof(struct vmop_xenoprof_buffer, entries) == 48, "xenoprof_buf");
_Static_assert(__builtin_offsetof(struct vmop_xenoprof_buffer, lost_samples) == 40, "xenoprof_buf");

#endif
