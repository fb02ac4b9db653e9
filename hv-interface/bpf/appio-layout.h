// SPDX-License-Identifier: GPL-2.0-or-later
/* The settings and the values of the maps, which appio.bpf.c and its user share. */
#ifndef VMOP_HV_INTERFACE_BPF_APPIO_LAYOUT_H
#define VMOP_HV_INTERFACE_BPF_APPIO_LAYOUT_H

#include <stdint.h>

#include "hv-interface/appio-calls.h"
#include "hv-interface/appio-counts.h"

#define VMOP_APPIO_MAX_TASKS 16384
#define VMOP_APPIO_MAX_ENTRIES 65536
/* Counts without thread and descriptor: for each call, direction and kind. */
#define VMOP_APPIO_N_RESTS (VMOP_APPIO_MAX_CALLS * 2 * VMOP_APPIO_N_KINDS)

#define VMOP_APPIO_SETTINGS_SECTION ".rodata.settings"

struct vmop_appio_settings {
	/* Ids by numbers; compat: of 32-bit system calls. */
	uint8_t native[VMOP_APPIO_MAX_NUMBERS], compat[VMOP_APPIO_MAX_NUMBERS];
	uint8_t socketcalls[VMOP_APPIO_MAX_SOCKETCALLS];
	uint8_t classes[VMOP_APPIO_MAX_CALLS], forms[VMOP_APPIO_MAX_CALLS];
	uint8_t complete;      /* the id of io_uring's completed requests */
	uint8_t complete_form; /* enum vmop_appio_complete */
};

/* Where the tracepoint io_uring_complete has the result: it changed with Linux 5.19 and 6.13. */
enum vmop_appio_complete { VMOP_APPIO_COMPLETE_RESULT, VMOP_APPIO_COMPLETE_ENTRY };

enum vmop_appio_state {
	VMOP_APPIO_STRANGER,
	VMOP_APPIO_WAITING, /* counted from its next execve(2) on */
	VMOP_APPIO_COUNTED,
};

/* The state that the leader of a process requests for its threads. */
enum vmop_appio_mark { VMOP_APPIO_UNMARKED, VMOP_APPIO_MARK_FOR_EXEC, VMOP_APPIO_MARK_NOW };

/* The state of the last interrupted call. */
enum vmop_appio_pending {
	VMOP_APPIO_SETTLED,
	VMOP_APPIO_UNDECIDED,  /* no signal was delivered yet */
	VMOP_APPIO_RESTARTING, /* a handler was called, after which the call is made once more */
};

/* An element of the array of entries. The counts are first: then a NULL needs no arithmetic. */
struct vmop_appio_slot {
	struct vmop_appio_entry entry;
	struct vmop_appio_key key;
};

/*
 * Where a thread found an entry: valid while no descriptor was closed, because the same number
 * means the same file then.
 */
struct vmop_appio_found {
	int32_t fd;
	uint32_t index;	     /* in the array */
	uint32_t generation; /* 0: unused */
	uint8_t call, direction, zero[2];
};
#define VMOP_APPIO_N_FOUND 16 /* a power of two */

/* A thread's own memory. */
struct vmop_appio_member {
	uint32_t task; /* as in vmop_appio_key */
	uint8_t state, pending, call;
	uint8_t mark;	/* of a process' leader, by user space: enum vmop_appio_mark */
	int32_t fds[2]; /* of the pending call; -1: none */
	int32_t code;	/* with which the kernel interrupted it */
	uint32_t zero;
	uint64_t ip, sp; /* of the pending call */
	uint64_t entered_ns;
	uint64_t spent_ns; /* by the pending call, before it was interrupted */
	struct vmop_appio_found found[VMOP_APPIO_N_FOUND];
};

/* The only variable. */
struct vmop_appio_progress {
	uint32_t n_tasks;   /* threads that were to have a number */
	uint32_t n_adopted; /* by walks over all tasks */
	uint32_t n_entries; /* that were to have a place in the array */
	uint32_t n_closed;  /* calls that may have closed a descriptor */
};

/* Counted by each CPU. */
struct vmop_appio_losses {
	uint64_t n_left_out;		    /* calls that are in the rests only */
	uint64_t n_foreign;		    /* system calls of an ABI without table */
	uint64_t n_restarts;		    /* calls that were restarted, and are counted once */
	uint64_t n_unsure;		    /* interrupted calls of which the end is not known */
	uint64_t n_unread;		    /* vectors that could not be read */
	uint64_t n_lost_tasks;		    /* threads for which there was no memory: not counted */
	uint64_t file_faults, major_faults; /* of threads that are left out */
	uint64_t n_unseen_faults;	    /* whose mapping could not be looked up */
};

#endif
