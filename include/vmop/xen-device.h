/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The device /dev/vmop: what the kernel module vmop.ko and its one user, vmopd,
 * say to each other. Both sides are built from this file.
 *
 * A session is one open file; a second open fails with EBUSY. The calls in
 * their order, each once (after RELEASE it begins again at INIT):
 *
 *   VMOP_XENDEV_INIT     tells which counters there are; ends what somebody left
 *                        running in Xen, if asked to
 *   VMOP_XENDEV_PREPARE  lists of domains, events, buffers; from now on mmap() works
 *   VMOP_XENDEV_START    samples come
 *   VMOP_XENDEV_STOP     no more samples; those under way are in the rings on return
 *   VMOP_XENDEV_RELEASE  Xen is left as INIT found it
 *   VMOP_XENDEV_STATS    at any time
 *
 * Closing the file at any point does what is missing of STOP and RELEASE. A call out
 * of order fails with EBUSY, one with a field that is out of range with EINVAL, one with
 * another abi than VMOP_XENDEV_ABI with EPROTONOSUPPORT, an unknown one (also: with
 * another size) with ENOTTY.
 *
 * In an active domU PREPARE takes no lists and no events: the initiator in dom0
 * gives these. Between the two the order is: PREPARE in dom0 (which lists the domU), START in the
 * domU (EPERM: it isn't listed, or PREPARE gave back buffers that somebody who died had, which
 * takes it off the list: dom0 lists it again), START in dom0 (EAGAIN: a domU of the list has not
 * started), STOP in dom0, STOP in the domU (EBUSY: dom0 has not stopped), RELEASE in both. The
 * domU's PREPARE may come before or after dom0's.
 *
 * The memory that is mapped, from offset 0 and mmap_bytes of it: a page with struct
 * vmop_xendev_map, then n_rings rings, ring_bytes each: a page with struct
 * vmop_xendev_ring, then ring_records records. Ring i holds the samples of this
 * domain's CPU i, the last one those of all passive domains.
 */
#ifndef VMOP_XEN_DEVICE_H
#define VMOP_XEN_DEVICE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define VMOP_XENDEV_NAME "vmop"
#define VMOP_XENDEV_PATH "/dev/" VMOP_XENDEV_NAME
#define VMOP_XENDEV_ABI 1

#define VMOP_XENDEV_MAX_EVENTS 32  /* Xen's MAX_OPROF_EVENTS */
#define VMOP_XENDEV_MAX_DOMAINS 25 /* Xen's MAX_OPROF_DOMAINS, of each kind */
#define VMOP_XENDEV_MIN_RING_RECORDS 256u
#define VMOP_XENDEV_MAX_RING_RECORDS (1u << 20)
#define VMOP_XENDEV_MAX_POLL_MS 1000
#define VMOP_XENDEV_NO_TASK 0xffffffffu /* pid and tid of what ran outside of this domain */

/* Where a call that failed was, beside its errno. The hypercall's number, or: */
enum vmop_xendev_step {
	VMOP_XENDEV_STEP_NONE = -1,
	VMOP_XENDEV_STEP_MAP_BUFFER = 100, /* mapping a buffer that Xen shares */
	VMOP_XENDEV_STEP_RINGS = 101,	   /* memory for the rings */
	VMOP_XENDEV_STEP_CPUS = 102,	   /* an interrupt (VIRQ_XENOPROF) for each CPU */
	VMOP_XENDEV_STEP_SWITCHES = 103,   /* following which task a CPU runs */
};

/* What INIT found left over and ended, as bits of "left". */
enum vmop_xendev_left {
	VMOP_XENDEV_LEFT_RUNNING = 1 << 0,  /* a session that was taking samples */
	VMOP_XENDEV_LEFT_ACTIVE = 1 << 1,   /* this domain was active */
	VMOP_XENDEV_LEFT_RESERVED = 1 << 2, /* the counters were reserved */
	VMOP_XENDEV_LEFT_OWNED = 1 << 3,    /* xenoprof was in use, not more */
};

struct vmop_xendev_init {
	__u32 abi;	 /* in: VMOP_XENDEV_ABI */
	__s32 failed_op; /* out */
	/*
	 * in: 1: whoever in this domain has a session in Xen is dead, end it. 0: EBUSY (at step
	 * NONE) if somebody does. Of use in dom0 only.
	 */
	__u32 take_over;
	__u32 left;	   /* out: enum vmop_xendev_left */
	__u32 is_primary;  /* out: this is dom0, the initiator; 0: an active domU */
	__u32 n_counters;  /* out; in a domU: as many as there can be, dom0 knows */
	__u32 n_cpus;	   /* out: CPUs that this kernel can have, from 0 on */
	__u32 reserved;	   /* 0 */
	char cpu_type[64]; /* out: Xen's name of the model ("i386/core_2"), "" in a domU; ends with
			      a zero byte */
};

struct vmop_xendev_event {
	__u64 period_events;
	__u64 unit_mask;
	__u32 code;		/* the model's number of the event */
	__u32 counter;		/* below n_counters */
	__u8 xen, kernel, user; /* which modes count: 0 or 1 */
	__u8 reserved[5];	/* 0 */
};

struct vmop_xendev_domain {
	__u16 domid;
	__u16 reserved;	      /* 0 */
	__s32 error;	      /* out: 0, or a negative errno: this domain isn't sampled */
	__u32 n_buffers;      /* out: of a passive domain, one a vCPU */
	__u32 buffer_entries; /* out: samples that one holds */
};

struct vmop_xendev_prepare {
	__u32 abi;	      /* in: VMOP_XENDEV_ABI */
	__s32 failed_op;      /* out */
	__u32 ring_records;   /* in: a power of two; the same as long as the file is open */
	__u32 wakeup_records; /* in: poll() says readable when a ring holds so many; 1.. */
	__u32 poll_ms; /* in: 1..VMOP_XENDEV_MAX_POLL_MS: how often to look at passive ones */
	__u32 backtrace_depth;		     /* in: frames that Xen adds to each sample; 0: none */
	__u32 n_events, n_active, n_passive; /* in; n_active without this domain itself */
	__u32 n_buffers;		     /* out: of this domain, one a vCPU */
	__u32 buffer_entries;		     /* out: samples that one holds */
	__u32 follows_tasks; /* out: 0: samples in Xen itself may bear another task's pid */
	__u64 mmap_bytes;    /* out */
	struct vmop_xendev_event events[VMOP_XENDEV_MAX_EVENTS];
	struct vmop_xendev_domain active[VMOP_XENDEV_MAX_DOMAINS];
	struct vmop_xendev_domain passive[VMOP_XENDEV_MAX_DOMAINS];
};

/* START, STOP, RELEASE */
struct vmop_xendev_step_result {
	__u32 abi;	 /* in: VMOP_XENDEV_ABI */
	__s32 failed_op; /* out */
};

/* Since the file was opened. */
struct vmop_xendev_stats {
	__u32 abi; /* in: VMOP_XENDEV_ABI */
	__u32 reserved;
	__u64 interrupts;				 /* VIRQ_XENOPROF */
	__u64 entries;					 /* taken out of Xen's buffers */
	__u64 xen_samples, kernel_samples, user_samples; /* by Xen's own counters */
	__u64 lost_in_xen;     /* by Xen's own counter: its buffer was full */
	__u64 lost_in_rings;   /* a ring of ours was full */
	__u64 corrupt_buffers; /* times that indices in a buffer could not be and it was skipped */
};

#define VMOP_XENDEV_MAGIC 0x706f6d76 /* "vmop" in memory */

struct vmop_xendev_map {
	__u32 magic, abi;
	__u32 n_rings;
	__u32 record_bytes;
	__u32 ring_records;
	__u32 reserved;
	__u64 ring_bytes;   /* from one ring to the next */
	__u64 first_offset; /* of the first ring */
	__u64 data_offset;  /* of a ring's records in the ring */
};

/*
 * Counts run from 0 on without end; record n lies at n modulo ring_records.
 * head - tail records are there to read. Read head with acquire, write tail with release.
 */
struct vmop_xendev_ring {
	__u64 head; /* written by the module */
	__u64 lost; /* likewise: records for which there was no room */
	__u64 reserved[6];
	__u64 tail; /* written by the reader */
	__u64 reserved_too[7];
};

enum vmop_xendev_record_type {
	VMOP_XENDEV_ENTRY = 1, /* an entry of Xen's buffer as it stands there */
	VMOP_XENDEV_LOST = 2,  /* eip samples were lost in Xen: the buffer was full */
};

enum vmop_xendev_record_flags {
	/*
	 * Found by looking, not told of by an interrupt: time_ns is when it was found, up to
	 * poll_ms after the sample.
	 */
	VMOP_XENDEV_POLLED = 1 << 0,
};

struct vmop_xendev_record {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	/*
	 * Of the instruction; with backtrace_depth each sample is an escape (all ones, event 1),
	 * the sample, and its callers, innermost first.
	 */
	__u64 eip;
	__u32 pid, tid; /* the task that ran, by the initial namespace; or VMOP_XENDEV_NO_TASK */
	__u32 cpu;	/* this domain's CPU; all ones: a passive domain's sample */
	__u16 domid;	/* as in PREPARE; 0x7ff0 (DOMID_SELF): this domain */
	__u16 vcpu;	/* of that domain, by Xen's count */
	__u8 type;	/* enum vmop_xendev_record_type */
	__u8 mode;	/* 0 user, 1 kernel, 2 Xen; anything else is Xen's to explain */
	__u8 event;	/* the counter, in a sample */
	__u8 flags;	/* enum vmop_xendev_record_flags */
	__u32 reserved;
};

#define VMOP_XENDEV_INIT _IOWR('v', 0xe0, struct vmop_xendev_init)
#define VMOP_XENDEV_PREPARE _IOWR('v', 0xe1, struct vmop_xendev_prepare)
#define VMOP_XENDEV_START _IOWR('v', 0xe2, struct vmop_xendev_step_result)
#define VMOP_XENDEV_STOP _IOWR('v', 0xe3, struct vmop_xendev_step_result)
#define VMOP_XENDEV_RELEASE _IOWR('v', 0xe4, struct vmop_xendev_step_result)
#define VMOP_XENDEV_STATS _IOWR('v', 0xe5, struct vmop_xendev_stats)

_Static_assert(sizeof(struct vmop_xendev_init) == 96, "device ABI");
_Static_assert(sizeof(struct vmop_xendev_event) == 32, "device ABI");
_Static_assert(sizeof(struct vmop_xendev_domain) == 16, "device ABI");
_Static_assert(sizeof(struct vmop_xendev_prepare) == 56 + 32 * 32 + 2 * 25 * 16, "device ABI");
_Static_assert(sizeof(struct vmop_xendev_step_result) == 8, "device ABI");
_Static_assert(sizeof(struct vmop_xendev_stats) == 72, "device ABI");
_Static_assert(sizeof(struct vmop_xendev_map) == 48, "device ABI");
_Static_assert(sizeof(struct vmop_xendev_ring) == 128, "device ABI");
_Static_assert(__builtin_offsetof(struct vmop_xendev_ring, tail) == 64, "its own cache line");
_Static_assert(sizeof(struct vmop_xendev_record) == 40, "device ABI");

#endif
