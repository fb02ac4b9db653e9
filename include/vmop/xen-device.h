/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface of the device /dev/vmop, between the kernel module vmop.ko and its only user,
 * vmopd. Both are built from this file.
 *
 * An open file is a session. A second open fails with EBUSY. The calls of a session, in order and
 * each once (after RELEASE the next is INIT):
 *
 *   VMOP_XENDEV_INIT     returns the counters; on request ends a session that a dead
 *                        user left running in Xen
 *   VMOP_XENDEV_PREPARE  takes the lists of domains and events, makes buffers; from now
 *                        on mmap() works
 *   VMOP_XENDEV_START    starts samples
 *   VMOP_XENDEV_STOP     stops samples; those already taken are in the rings on return
 *   VMOP_XENDEV_RELEASE  leaves Xen as INIT found it
 *   VMOP_XENDEV_STATS    returns counts, at any time
 *
 * A close at any point does the missing part of STOP and RELEASE. A call fails with
 *
 *   EBUSY            out of order
 *   EINVAL           a field is out of range
 *   EPROTONOSUPPORT  abi is not VMOP_XENDEV_ABI
 *   ENOTTY           an unknown call, or a struct of another size
 *
 * In an active domU PREPARE takes no lists and no events: the initiator in dom0 gives them. The
 * order across the two domains is:
 *  1. PREPARE in dom0, which lists the domU; the PREPARE in the domU may come before or after it.
 *  2. START in the domU. EPERM: the domU is not listed. PREPARE takes it off the list when it gives
 *     back buffers of a dead user; then dom0 lists it again.
 *  3. START in dom0. EAGAIN: a listed domU has not started.
 *  4. STOP in dom0.
 *  5. STOP in the domU. EBUSY: dom0 has not stopped.
 *  6. RELEASE in both.
 *
 * The mapped memory has mmap_bytes from offset 0: a page with struct vmop_xendev_map, then n_rings
 * rings of ring_bytes each. A ring is a page with struct vmop_xendev_ring, then ring_records
 * records. Ring i holds the samples of this domain's CPU i; the last ring holds those of all
 * passive domains.
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
#define VMOP_XENDEV_NO_TASK 0xffffffffu /* pid and tid of samples outside this domain */

/*
 * The step at which a call failed, in addition to its errno: the number of a hypercall, or one of
 * these.
 */
enum vmop_xendev_step {
	VMOP_XENDEV_STEP_NONE = -1,
	VMOP_XENDEV_STEP_MAP_BUFFER = 100, /* mapping a buffer that Xen shares */
	VMOP_XENDEV_STEP_RINGS = 101,	   /* memory for the rings */
	VMOP_XENDEV_STEP_CPUS = 102,	   /* an interrupt (VIRQ_XENOPROF) for each CPU */
	VMOP_XENDEV_STEP_SWITCHES = 103,   /* hooks that follow the task of each CPU */
};

/* The remains that INIT found and ended, as bits of "left". */
enum vmop_xendev_left {
	VMOP_XENDEV_LEFT_RUNNING = 1 << 0,  /* a session that was taking samples */
	VMOP_XENDEV_LEFT_ACTIVE = 1 << 1,   /* this domain was active */
	VMOP_XENDEV_LEFT_RESERVED = 1 << 2, /* the counters were reserved */
	VMOP_XENDEV_LEFT_OWNED = 1 << 3,    /* xenoprof was only in use */
};

struct vmop_xendev_init {
	__u32 abi;	 /* in: VMOP_XENDEV_ABI */
	__s32 failed_op; /* out */
	/*
	 * in: 1: the owner of this domain's session in Xen is dead; end the session. 0: fail with
	 * EBUSY (at step NONE) if there is a session. Used only in dom0.
	 */
	__u32 take_over;
	__u32 left;	   /* out: enum vmop_xendev_left */
	__u32 is_primary;  /* out: this is dom0, the initiator; 0: an active domU */
	__u32 n_counters;  /* out; in a domU: the maximum, since only dom0 has the number */
	__u32 n_cpus;	   /* out: the number of CPUs that this kernel can have */
	__u32 reserved;	   /* 0 */
	char cpu_type[64]; /* out: Xen's name of the CPU model ("i386/core_2"), "" in a domU; ends
			      with NUL */
};

struct vmop_xendev_event {
	__u64 period_events;
	__u64 unit_mask;
	__u32 code;		/* the CPU model's number of the event */
	__u32 counter;		/* below n_counters */
	__u8 xen, kernel, user; /* which modes count: 0 or 1 */
	__u8 reserved[5];	/* 0 */
};

struct vmop_xendev_domain {
	__u16 domid;
	__u16 reserved;	      /* 0 */
	__s32 error;	      /* out: 0, or a negative errno: this domain is not sampled */
	__u32 n_buffers;      /* out: for a passive domain, one per vCPU */
	__u32 buffer_entries; /* out: samples per buffer */
};

struct vmop_xendev_prepare {
	__u32 abi;	      /* in: VMOP_XENDEV_ABI */
	__s32 failed_op;      /* out */
	__u32 ring_records;   /* in: a power of two; constant while the file is open */
	__u32 wakeup_records; /* in: poll() reports readable when a ring holds that many; from 1 */
	__u32 poll_ms; /* in: 1..VMOP_XENDEV_MAX_POLL_MS: interval of reads of passive domains */
	__u32 backtrace_depth;		     /* in: frames that Xen adds to each sample; 0: none */
	__u32 n_events, n_active, n_passive; /* in; n_active excludes this domain */
	__u32 n_buffers;		     /* out: for this domain, one per vCPU */
	__u32 buffer_entries;		     /* out: samples per buffer */
	__u32 follows_tasks; /* out: 0: samples in Xen can have another task's pid */
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

/* Counts since the file was opened. */
struct vmop_xendev_stats {
	__u32 abi; /* in: VMOP_XENDEV_ABI */
	__u32 reserved;
	__u64 interrupts;				 /* VIRQ_XENOPROF */
	__u64 entries;					 /* read from Xen's buffers */
	__u64 xen_samples, kernel_samples, user_samples; /* by Xen's counters */
	__u64 lost_in_xen;				 /* by Xen's counter: its buffer was full */
	__u64 lost_in_rings;				 /* a ring of this device was full */
	__u64 corrupt_buffers; /* times that a buffer was skipped because of impossible indices */
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
 * head and tail rise from 0 without limit; record n lies at n modulo ring_records. head - tail
 * records can be read. Read head with acquire, write tail with release.
 */
struct vmop_xendev_ring {
	__u64 head; /* written by the module */
	__u64 lost; /* by the module: records for which the ring had no room */
	__u64 reserved[6];
	__u64 tail; /* written by the reader */
	__u64 reserved_too[7];
};

enum vmop_xendev_record_type {
	VMOP_XENDEV_ENTRY = 1, /* an entry of Xen's buffer, unchanged */
	VMOP_XENDEV_LOST = 2,  /* eip is the number of samples lost in Xen: its buffer was full */
};

enum vmop_xendev_record_flags {
	/*
	 * Found by polling, not by an interrupt: time_ns is the time of the poll, up to poll_ms
	 * after the sample.
	 */
	VMOP_XENDEV_POLLED = 1 << 0,
};

struct vmop_xendev_record {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	/*
	 * The address of the instruction. With backtrace_depth each sample is an escape (all ones,
	 * event 1), the sample, and its callers, innermost first.
	 */
	__u64 eip;
	__u32 pid, tid; /* the current task, in the initial namespace; or VMOP_XENDEV_NO_TASK */
	__u32 cpu;	/* this domain's CPU; all ones: a passive domain's sample */
	__u16 domid;	/* as in PREPARE; 0x7ff0 (DOMID_SELF): this domain */
	__u16 vcpu;	/* of that domain, by Xen's numbers */
	__u8 type;	/* enum vmop_xendev_record_type */
	__u8 mode;	/* 0 user, 1 kernel, 2 Xen; other values as Xen defines them */
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
