// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What Xen's profiling hypercall and its callers say to each other, as Xen's public headers
 * define it (xen/include/public/xenoprof.h and xen.h, until 4.21; gone in 4.22), for a 64-bit
 * caller on x86.  Nothing here belongs to vmop: the numbers may never change.
 */
#ifndef VMOP_HV_INTERFACE_XENOPROF_ABI_H
#define VMOP_HV_INTERFACE_XENOPROF_ABI_H

#include <stddef.h>
#include <stdint.h>

#define VMOP_XEN_HYPERCALL_XENOPROF 31 /* __HYPERVISOR_xenoprof_op */
#define VMOP_XEN_DOMID_SELF 0x7ff0     /* DOMID_SELF */
#define VMOP_XEN_DOMID_FIRST_RESERVED 0x7ff0

/* Of these only INIT, ENABLE_VIRQ, DISABLE_VIRQ and GET_BUFFER are allowed to a domU. */
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
#define VMOP_XENOPROF_DOMAINS_MAX 25 /* active ones, dom0 among them; and as many passive ones */
#define VMOP_XENOPROF_PAGES_MAX 32   /* of one domain's buffers together */

struct vmop_xenoprof_init {
	int32_t n_events;   /* counters */
	int32_t is_primary; /* the caller commands: dom0, unless another does */
	char cpu_type[64];
};

struct vmop_xenoprof_get_buffer {
	int32_t max_samples; /* wanted; less is given where pages are short */
	int32_t n_buffers;   /* one a vCPU */
	int32_t buffer_bytes;
	uint32_t padding;
	uint64_t address; /* of the first one: a machine address in a PV domain */
};

struct vmop_xenoprof_passive {
	uint16_t domain_id;
	uint16_t padding;
	int32_t max_samples;
	int32_t n_buffers;
	int32_t buffer_bytes;
	uint64_t address;
};

struct vmop_xenoprof_counter {
	uint32_t counter;
	uint32_t padding;
	uint64_t period_events;
	uint32_t is_enabled;
	uint32_t event;			   /* the processor's own code of it */
	uint32_t hypervisor, kernel, user; /* which modes count */
	uint32_t padding_too;
	uint64_t unit_mask;
};

enum vmop_xenoprof_mode {
	VMOP_XENOPROF_MODE_USER = 0,
	VMOP_XENOPROF_MODE_KERNEL = 1,
	VMOP_XENOPROF_MODE_XEN = 2,
};

/* An entry of a buffer. */
struct vmop_xenoprof_entry {
	uint64_t ip; /* VMOP_XENOPROF_ESCAPE: not an address, event says what */
	uint8_t mode;
	uint8_t event; /* the counter */
	uint8_t padding[6];
};

#define VMOP_XENOPROF_ESCAPE UINT64_MAX
#define VMOP_XENOPROF_ESCAPE_TRACE 1 /* the next entry is a sample, those after it its callers */

/*
 * Xen and one vCPU share it; Xen writes entries and head, the reader tail.  An active domain
 * can write all of it, so what another domain's buffer says is hostile (XSA-313).
 */
struct vmop_xenoprof_buffer {
	uint32_t head, tail; /* indices into entries */
	uint32_t size;	     /* how many entries there are */
	uint32_t vcpu;
	/* Since the buffer was made, which outlives sessions. */
	uint64_t xen_samples, kernel_samples, user_samples, lost_samples;
	struct vmop_xenoprof_entry entries[];
};

_Static_assert(sizeof(struct vmop_xenoprof_init) == 72, "xenoprof_init");
_Static_assert(sizeof(struct vmop_xenoprof_get_buffer) == 24, "xenoprof_get_buffer");
_Static_assert(offsetof(struct vmop_xenoprof_get_buffer, address) == 16, "xenoprof_get_buffer");
_Static_assert(sizeof(struct vmop_xenoprof_passive) == 24, "xenoprof_passive");
_Static_assert(offsetof(struct vmop_xenoprof_passive, max_samples) == 4, "xenoprof_passive");
_Static_assert(offsetof(struct vmop_xenoprof_passive, address) == 16, "xenoprof_passive");
_Static_assert(sizeof(struct vmop_xenoprof_counter) == 48, "xenoprof_counter");
_Static_assert(offsetof(struct vmop_xenoprof_counter, period_events) == 8, "xenoprof_counter");
_Static_assert(offsetof(struct vmop_xenoprof_counter, unit_mask) == 40, "xenoprof_counter");
_Static_assert(sizeof(struct vmop_xenoprof_entry) == 16, "event_log");
_Static_assert(offsetof(struct vmop_xenoprof_buffer, entries) == 48, "xenoprof_buf");
_Static_assert(offsetof(struct vmop_xenoprof_buffer, lost_samples) == 40, "xenoprof_buf");

#endif
