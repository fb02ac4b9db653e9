// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rows of a session file, and the filters of walks.  db.h passes them to callers outside the
 * folder; the files of the folder exchange them.
 *
 * The writer chooses the ids (vmop/ids.h).
 */
#ifndef VMOP_LIBDB_TYPES_H
#define VMOP_LIBDB_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vmop/domain.h"
#include "vmop/ids.h"
#include "vmop/symbol.h"
#include "vmop/waits.h"

/*
 * The version that new files get (PRAGMA user_version).  Readers open files of this version and of
 * older ones, and refuse newer ones.
 */
#define VMOP_DB_SCHEMA_VERSION 5

struct vmop_db_event {
	struct vmop_event_id id;
	const char *name;	/* as the user wrote it: "cycles", "cpu-clock" */
	const char *source;	/* "perf", "replay", "xen" */
	const char *unit;	/* of a weight: "ns" for clocks, otherwise "events" */
	uint64_t period_events; /* 0 when sampled by frequency */
	uint64_t frequency_hz;	/* 0 when sampled by period */
	const char *note;	/* why it differs from the requested event, or NULL */
};

struct vmop_db_domain {
	struct vmop_domain_id id;
	enum vmop_domain_kind kind;
	const char *name; /* "host", or the guest's -name, else "pid-PID" */
	const char *uuid; /* NULL: not known */
	uint32_t vmm_pid; /* 0: none */
	const char *vmm;  /* the VMM's executable, "qemu-system-x86_64"; NULL: none */
	uint64_t first_seen_ns, last_seen_ns; /* CLOCK_REALTIME; last 0: still there */
};

struct vmop_db_vcpu {
	struct vmop_domain_id domain;
	uint32_t number;
	uint32_t tid; /* of the host's vCPU thread */
};

struct vmop_db_task {
	struct vmop_task_row_id id;
	struct vmop_domain_id domain; /* the host or guest that runs the task */
	uint32_t pid, tid;	      /* tid 0: the whole process; pid 0: idle */
	uint64_t start_time_ns;	      /* CLOCK_REALTIME; 0: not known; distinguishes reused pids */
	uint64_t end_time_ns;	      /* CLOCK_REALTIME; 0: it runs, or not known */
	const char *comm;
	struct vmop_image_id exe_image; /* 0: none or not known */
	const char *cgroup; /* path below the cgroup root, names the container; or NULL */
	/*
	 * Set only by readers. Above 0: the row stands for this number of ended tasks with the
	 * same domain, exe_image, comm and cgroup; pid, tid and times are 0. See
	 * vmop_db_merge_tasks.
	 */
	uint64_t merged;
};

/* A writer's task ids are below this limit. libdb numbers the rows of merged tasks from it on. */
#define VMOP_DB_TASK_ID_LIMIT (1u << 30)

struct vmop_db_image {
	struct vmop_image_id id;
	enum vmop_image_kind kind;
	struct vmop_domain_id domain; /* that the image belongs to; 0: host */
	const char *name; /* path as the task saw it; "[kernel]", "[kvm]", "[bpf]", "[no-maps]" */
	const char *root; /* "/proc/PID/root" if the path is of another mount namespace; or NULL */
	uint8_t build_id_len_bytes;
	uint8_t build_id[20];
	uint64_t base;	    /* address of offset 0 for kernel images, modules, BPF; else 0 */
	uint64_t len_bytes; /* 0: not known */
};

/* Everything that the samples of a chunk share: place, task and stack. */
struct vmop_db_chunk_key {
	struct vmop_event_id event;
	struct vmop_domain_id domain; /* that ran the code */
	/* The guest that the work was done for; with VMOP_BILL_SELF the same as domain. */
	struct vmop_domain_id billed;
	uint8_t bill;		      /* enum vmop_bill */
	uint8_t mode;		      /* enum vmop_mode */
	uint8_t certainty;	      /* enum vmop_certainty */
	int32_t vcpu;		      /* -1: vCPUs are not separated, or none ran */
	int32_t cpu;		      /* -1: CPUs are not separated */
	struct vmop_task_row_id task; /* 0: none */
	struct vmop_image_id image;   /* never 0: unattributed samples have a "[...]" image */
	struct vmop_stack_id stack;   /* node of the cells' caller; 0: no stack was captured */
};
_Static_assert(sizeof(struct vmop_db_chunk_key) == 36, "typed ids take no more room");

/* Return the key without its task and stack. Its padding is zero, so that its bytes can be
 * hashed. */
struct vmop_db_chunk_key vmop_db_place_of(const struct vmop_db_chunk_key *key);

/* A chunk's cells ascend by offset, and no two have the same offset. */
struct vmop_db_cell {
	uint64_t offset;
	uint64_t samples;	/* >= 1 */
	uint64_t weight_events; /* sum over the samples */
};

/*
 * A node of the session's tree of call stacks (vmop/stack.h).  Ids ascend from 1 in the order in
 * which nodes are put, and a node's parent is below it.
 */
struct vmop_db_stack_node {
	struct vmop_stack_id id;
	struct vmop_stack_id parent; /* the caller's node; 0: this node is an end mark */
	struct vmop_image_id image;  /* that the frame's code is in; 0 in an end mark */
	/*
	 * In the image, as in cells.  Of a frame that made a call: its return address - 1, so that
	 * it is in the call instruction.  Of an interrupted frame: exact.  In an end mark: enum
	 * vmop_stack_end.
	 */
	uint64_t offset;
};

/* A cell with its callers.  stack is the caller's node; 0: no stack was captured. */
struct vmop_db_stack_cell {
	struct vmop_stack_id stack;
	struct vmop_db_cell cell;
};

/*
 * Bytes of code that cannot be read later, as they were at a time: of generated code, for instance.
 * Code that changed has several rows with one offset.
 */
#define VMOP_DB_CODE_MAX_BYTES 4096
struct vmop_db_code {
	struct vmop_image_id image;
	uint64_t offset;  /* in the image, as in cells; below 2^63 */
	uint64_t time_ns; /* CLOCK_REALTIME */
	const void *bytes;
	size_t len_bytes; /* 1 to VMOP_DB_CODE_MAX_BYTES */
};

/*
 * The clock of a guest that records a session of its own, in the time of its host: a part for each
 * time from which on the two differ by another amount. The guest was stopped then, or its clock
 * set.
 */
#define VMOP_DB_CLOCK_PARTS_MAX 16
struct vmop_db_clock_part {
	uint64_t session_ns; /* the fact start_ns of the guest's session */
	uint64_t from_ns; /* the guest's time, as in its session; the first part is of all before */
	int64_t add_ns;	  /* the host's time minus the guest's */
};
struct vmop_db_clock {
	struct vmop_db_clock_part parts[VMOP_DB_CLOCK_PARTS_MAX]; /* ascending by the two times */
	size_t n;
};

struct vmop_db_interval {
	uint32_t id;	   /* given by libdb; ascending in the order of recording */
	uint8_t level;	   /* 0 as recorded, n: made by n roll-ups, the n-th step of the ladder */
	uint64_t start_ns; /* CLOCK_REALTIME */
	uint64_t len_ns;
};

/* Intervals of one level that follow one another. */
struct vmop_db_detail {
	uint8_t level;
	uint64_t start_ns, end_ns; /* CLOCK_REALTIME, of the first and the last */
	uint64_t longest_ns;	   /* length of the longest */
	uint32_t n_intervals;
};

/* The room that a session takes. */
struct vmop_db_room {
	uint64_t used_bytes; /* pages with content */
	uint64_t free_bytes; /* pages that later intervals can use */
	uint64_t disk_bytes; /* the file and its WAL, as on disk now */
};

/*
 * A loss.  vmop-session(5) lists the names: "lost", "throttled", "unhandled", ...  Samples of a
 * "[...]" image are stored in chunks and are no loss.
 */
struct vmop_db_loss {
	const char *name;
	struct vmop_domain_id domain;
	struct vmop_event_id event;
	uint64_t count;
};

/* The owner of a CPU while a vCPU waited for it. */
struct vmop_db_culprit {
	uint32_t id; /* given by libdb; 0: none */
	enum vmop_culprit_kind kind;
	struct vmop_domain_id domain; /* of GUEST; else 0 */
	const char *name;	      /* of a CGROUP its path, of a PROCESS its command; else "" */
};

/* A part of a vCPU's time. */
struct vmop_db_wait {
	struct vmop_domain_id domain; /* the victim */
	uint32_t vcpu;
	enum vmop_wait_state state;
	/*
	 * WAITING: the id of the culprit.  EXIT: see vmop_db_exit_cause.  Other states: 0.
	 */
	uint64_t cause;
	uint64_t count; /* how often it began */
	uint64_t time_ns;
};

static inline uint64_t vmop_db_exit_cause(enum vmop_exit_machine machine, uint32_t reason)
{
	return (uint64_t)machine << 32 | reason;
}

/* Places of exits without an image. */
#define VMOP_DB_EXIT_UNKNOWN 0	 /* kernel code that is not known */
#define VMOP_DB_EXIT_USER 1	 /* user code */
#define VMOP_DB_EXIT_ELSEWHERE 2 /* the places with fewer exits */

/* Exits of a guest for one reason at one place of its code. */
struct vmop_db_exit_place {
	struct vmop_domain_id domain;
	uint64_t cause;
	struct vmop_image_id image; /* of the guest's kernel; 0: none */
	uint64_t offset;	    /* in the image, as in cells; without one VMOP_DB_EXIT_... */
	uint64_t count;
};

/* Rows that a writer dropped because no session can hold them: see vmop_db_drop_rejected. */
struct vmop_db_rejected {
	uint64_t facts;	  /* dropped rows, without chunks */
	uint64_t samples; /* in dropped chunks */
	const char
		*first; /* the error of the first dropped row, valid until the next put; or NULL */
};

/* Samples that vmop_db_put_chunk stored, and the bytes of their rows before any roll-up. */
struct vmop_db_written {
	uint64_t samples, bytes;
};

/*
 * Chunks that a walk skips because another session covers them: those of the listed events, run by
 * the listed domains, in intervals whose middle is in [from, to).  Both lists ascend.
 */
struct vmop_db_omission {
	const struct vmop_event_id *events;
	const struct vmop_domain_id *domains;
	size_t n_events, n_domains; /* n_domains 0: every domain */
	uint64_t from_ns, to_ns;    /* CLOCK_REALTIME */
};

/* The chunks that a walk visits.  An empty list selects everything.  A walk sorts the id lists. */
struct vmop_db_filter {
	uint64_t from_ns, to_ns; /* intervals that overlap [from, to); to 0: no end */
	uint32_t after_interval; /* intervals with a greater id */
	const struct vmop_event_id *events;
	const struct vmop_domain_id *domains, *billed;
	const struct vmop_task_row_id *tasks;
	const struct vmop_image_id *images;
	size_t n_events, n_domains, n_billed, n_tasks, n_images;
	const int32_t *cpus, *vcpus;
	size_t n_cpus, n_vcpus;
	const struct vmop_db_omission *omissions;
	size_t n_omissions;
	bool only_omitted; /* visit the omitted chunks, and no others */
	/*
	 * vmop_db_each_piece may pass pieces by image instead of by time, and sums of several
	 * intervals with the span of all of them as their interval.  Totals and sums have no times,
	 * and do that in any case.
	 */
	bool needs_no_times;
	struct vmop_task_row_id task_apart; /* not merged with VMOP_DB_MERGE_TASKS; 0: none */
};

#endif
