// SPDX-License-Identifier: GPL-2.0-or-later
/* The maps' keys and values and the settings, which both sides of the BPF program of waits share.
 */
#ifndef VMOP_HV_INTERFACE_BPF_WAITS_LAYOUT_H
#define VMOP_HV_INTERFACE_BPF_WAITS_LAYOUT_H

#include "vmop/waits.h"

#define VMOP_WAITS_MAX_VICTIMS 1024 /* threads of vCPUs */
#define VMOP_WAITS_MASK_WORDS (VMOP_WAITS_MAX_VICTIMS / 64)
#define VMOP_WAITS_MAX_PAIRS 16384    /* of a victim and a culprit */
#define VMOP_WAITS_MAX_EXITS 16384    /* of a victim and a reason */
#define VMOP_WAITS_MAX_ADDRESSES 8192 /* of a guest, a reason and an address; the least used go */
#define VMOP_WAITS_MAX_GUESTS 4096

_Static_assert((VMOP_WAIT_N_STATES & (VMOP_WAIT_N_STATES - 1)) == 0, "states are masked");

/*
 * A hint is for the low bits of ids: the slot of one of the watched threads with them, 0 for none;
 * and whether a process with them was a guest's.
 */
#define VMOP_WAITS_N_HINTS 16384
#define VMOP_WAITS_HINT_SLOT 0xffffu
#define VMOP_WAITS_HINT_GUEST 0x10000u
_Static_assert(VMOP_WAITS_MAX_VICTIMS <= VMOP_WAITS_HINT_SLOT, "hints hold slots");

/* Every so many runs of a program its time is measured. */
#define VMOP_WAITS_MEASURED 64

/*
 * The elements of an array begin 16 bytes behind a line's begin (Linux 6.1) or 8 bytes before it
 * (6.18). If they are as large as whole lines, the bytes 8 to 47 of each are in one line: a switch
 * finds most of what it needs there.
 */
#define VMOP_WAITS_LINE_BYTES 64
#define VMOP_WAITS_FILLS_LINES(type)                                                               \
	_Static_assert(sizeof(type) % VMOP_WAITS_LINE_BYTES == 0,                                  \
		       "elements have lines of their own")

struct vmop_waits_state {
	uint64_t time_ns, count; /* at the scheduler's events: see enum charger */
};

/* The slot of a victim is its index in the map; 0 is none. */
struct vmop_waits_victim {
	uint64_t others_ns; /* of WAITING, for which the map of pairs had no room */
	uint64_t since_ns;  /* until then its time is charged; of CLOCK_MONOTONIC */
	uint64_t task;	    /* address of its task_struct; 0: not seen yet */
	uint32_t state;
	uint32_t cpu; /* where it runs or waits */
	uint32_t is_throttled;
	uint32_t tid;					    /* 0: the slot is free */
	uint32_t guest;					    /* the number that the user gave */
	uint32_t reason;				    /* of the open exit */
	struct vmop_waits_state states[VMOP_WAIT_N_STATES]; /* by enum vmop_wait_state */
	uint64_t settled_ns[VMOP_WAIT_N_STATES];	    /* charged at requests of user space */
	uint64_t exit_ns;				    /* the open exit; 0: none */
	uint64_t off_at_exit_ns;
};
VMOP_WAITS_FILLS_LINES(struct vmop_waits_victim);

/* A CPU. Other CPUs set and clear bits of its mask. */
struct vmop_waits_cpu {
	uint64_t n_exits, n_switches, n_wakeups;
	uint64_t task;				 /* that runs there; 0: not seen yet */
	uint64_t waiting[VMOP_WAITS_MASK_WORDS]; /* by slot */
	uint64_t n_entries;
	/* By enum vmop_waits_program: the runs that were measured. */
	uint64_t measured[4], measured_ns[4];
	uint64_t reserved[3];
};
VMOP_WAITS_FILLS_LINES(struct vmop_waits_cpu);

enum vmop_waits_program {
	VMOP_WAITS_SWITCH,
	VMOP_WAITS_WAKEUP,
	VMOP_WAITS_EXIT,
	VMOP_WAITS_ENTRY,
};
#define VMOP_WAITS_N_PROGRAMS 4

struct vmop_waits_pair_key {
	uint32_t slot;
	uint32_t kind;	/* enum vmop_culprit_kind */
	uint64_t id[2]; /* the guest's number; the cgroup's id; or the command's 16 bytes */
};

struct vmop_waits_pair {
	uint64_t time_ns, count;
	uint32_t tgid; /* a process of the culprit */
	uint32_t reserved;
};

/*
 * A victim has so many places for the culprits that come first, by a hash of the culprit; the
 * others are in the map of pairs. Only the scheduler's events use them, like a victim's times. User
 * space empties a place that has not changed for long.
 */
#define VMOP_WAITS_PLACES 8
_Static_assert((VMOP_WAITS_PLACES & (VMOP_WAITS_PLACES - 1)) == 0, "places are masked");
struct vmop_waits_place {
	uint64_t reserved;
	uint64_t id[2]; /* as in struct vmop_waits_pair_key */
	uint64_t time_ns, count;
	uint32_t tgid;
	uint32_t kind_after; /* 1 + enum vmop_culprit_kind; 0: the place is empty. Stored last */
	uint64_t reserved_after[2];
};
VMOP_WAITS_FILLS_LINES(struct vmop_waits_place);

struct vmop_waits_exit_key {
	uint32_t slot, reason;
};

struct vmop_waits_exit {
	uint64_t count, time_ns;
};

struct vmop_waits_address_key {
	uint32_t guest, reason;
	uint64_t address;
};

/* Constants of the running kernel, set before the program is loaded. */
struct vmop_waits_settings {
	uint32_t has_state_argument;  /* of sched_switch: Linux 5.18 */
	uint32_t reason_at, class_at; /* in the record of kvm_exit; class_at 0: it has none */
	uint32_t address_at;
};
#define VMOP_WAITS_SETTINGS_SECTION ".rodata.vmop"

#endif
