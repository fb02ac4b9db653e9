/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libvmop: count events in a thread, in a process with its children, in a region of code, or on a
 * CPU. See libvmop(3).
 *
 * The ABI is stable: handles are opaque, option structs begin with their size, result structs keep
 * their size, and symbols have versions.
 *
 * Errors: a function returns NULL for success, else an error that the caller frees with
 * vmop_error_destroy(). Threads: a handle is for one thread at a time; handles are independent of
 * one another. A process that forked may use, in the child, only vmop_counters_read() and
 * vmop_counters_close() on handles from before: they still count the parent.
 */
#ifndef VMOP_H
#define VMOP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Return the version of the library that is in use, such as "0.1.0". */
const char *vmop_version(void);

/* ---- errors -------------------------------------------------------------- */

struct vmop_error;

/* Kinds of errors. Later versions may add some. */
enum vmop_error_kind {
	VMOP_KIND_NO_MEMORY = 1,
	VMOP_KIND_USAGE = 2,	   /* an argument is wrong, or there is no such event */
	VMOP_KIND_IMPOSSIBLE = 3,  /* not permitted, or this machine cannot count it */
	VMOP_KIND_SYSTEM_CALL = 4, /* a system call failed: vmop_error_number() */
	VMOP_KIND_LIMIT = 5,	   /* too many counters, descriptors or threads */
};

/* Return one line without a newline, valid until the error is destroyed. */
const char *vmop_error_text(const struct vmop_error *error);
int vmop_error_kind(const struct vmop_error *error); /* enum vmop_error_kind */
/* Return the errno of the system call that failed, or 0. */
int vmop_error_number(const struct vmop_error *error);
void vmop_error_destroy(struct vmop_error *error); /* NULL is allowed */

/* ---- sets of counters ---------------------------------------------------- */

struct vmop_counters;

/* The object of counting. */
enum vmop_scope {
	VMOP_SCOPE_THREAD = 0,	/* one thread; id: its tid, 0: the calling thread */
	VMOP_SCOPE_PROCESS = 1, /* all threads of a process, and the threads and processes that
				   they make from now on; id: its pid, 0: the calling process */
	VMOP_SCOPE_CPU = 2,	/* everything on a CPU; id: its number */
	VMOP_SCOPE_ALL = 3,	/* all tasks of the machine; only for vmop_times_open() */
};

enum vmop_counters_flags {
	VMOP_COUNTERS_ON_EXEC = 1 << 0,	       /* start when the process executes a program */
	VMOP_COUNTERS_USER_ONLY = 1 << 1,      /* leave out the kernel in all events */
	VMOP_COUNTERS_NO_PAGE = 1 << 2,	       /* always read by read(2) */
	VMOP_COUNTERS_SOME = 1 << 3,	       /* open even if some events cannot be counted: see
						  vmop_counters_reason() */
	VMOP_COUNTERS_USER_IF_NEEDED = 1 << 4, /* leave out the kernel where that is not permitted;
						  the name then ends in ":u" */
	VMOP_COUNTERS_GUEST_ONLY = 1 << 5,     /* for a vCPU's thread: events of a PMU count only
						  while the guest runs; other events count the
						  thread, as the kernel cannot divide them */
};

struct vmop_counters_options {
	size_t size; /* sizeof(struct vmop_counters_options) */
	uint32_t scope;
	uint32_t flags;
	int32_t id;
	int32_t reserved;
};

/*
 * Open the counters of a list of events, separated by commas. The names are those of
 * vmop-events(7) without a COUNT: "task-clock,{cycles,instructions},cpu/event=0x3c/". The events
 * in braces are a group: they count at the same times. options: NULL for the calling thread. The
 * counters count nothing before vmop_counters_start(). The caller closes *ret.
 */
struct vmop_error *vmop_counters_open(const char *events,
				      const struct vmop_counters_options *options,
				      struct vmop_counters **ret);
void vmop_counters_close(struct vmop_counters *counters); /* NULL is allowed */

/* Start or stop all counters of the set. The values stay. */
struct vmop_error *vmop_counters_start(struct vmop_counters *counters);
struct vmop_error *vmop_counters_stop(struct vmop_counters *counters);

size_t vmop_counters_n(const struct vmop_counters *counters);
/* Return the i-th event's name with its modes, such as "cycles:u"; NULL past the last. */
const char *vmop_counters_name(const struct vmop_counters *counters, size_t i);
/* Return "ns" or "events"; NULL past the last. */
const char *vmop_counters_unit(const struct vmop_counters *counters, size_t i);
/* Return NULL, or the reason why the i-th event is not counted. */
const char *vmop_counters_reason(const struct vmop_counters *counters, size_t i);

/* How a value was read. */
enum vmop_way {
	VMOP_BY_NOTHING = 0, /* it was not read */
	VMOP_BY_PAGE = 1,    /* without a system call */
	VMOP_BY_READ = 2,    /* by read(2) */
};

enum vmop_count_flags {
	VMOP_COUNT_UNAVAILABLE = 1 << 0, /* not counted: vmop_counters_reason() */
	VMOP_COUNT_ESTIMATE = 1 << 1,	 /* it shared a counter: estimate is scaled */
	VMOP_COUNT_NOT_RUN = 1 << 2,	 /* it was never on a counter: value means nothing */
	VMOP_COUNT_CLAMPED = 1 << 3,	 /* the last estimate was higher, and is repeated */
};

struct vmop_count {
	uint64_t value;	   /* as counted; never lower than before */
	uint64_t estimate; /* value * enabled / running; never lower than before */
	/* The time for which it was meant to count, and did count, over all tasks that it counts.
	 */
	uint64_t enabled_ns, running_ns;
	uint32_t flags;
	uint32_t way;
	uint64_t reserved[3];
};

/*
 * Read all counters into counts, an array of vmop_counters_n() elements. n: its length; more
 * elements are not touched, fewer are an error.
 */
struct vmop_error *vmop_counters_read(struct vmop_counters *counters, struct vmop_count *counts,
				      size_t n);

/*
 * Read the value of the i-th counter, the fastest way: without a system call where the kernel
 * allows it. Return the way, enum vmop_way; VMOP_BY_NOTHING: it cannot be read, and *ret is
 * unchanged.
 */
int vmop_counters_value(struct vmop_counters *counters, size_t i, uint64_t *ret);

/* ---- regions ------------------------------------------------------------- */

/* The counts of the calling thread between begin and end, less those of begin and end themselves.
 */
struct vmop_region_count {
	uint64_t value;	   /* raw less cost, at least 0 */
	uint64_t raw;	   /* with the events of the reads themselves */
	uint64_t cost;	   /* the median of empty regions, measured before the first region */
	uint64_t spread;   /* 99 of 100 empty regions differed from cost by no more than this */
	uint64_t largest;  /* and all of them by no more than this */
	uint64_t estimate; /* value, scaled if the event shared a counter in the region */
	uint64_t enabled_ns, running_ns;
	uint32_t flags; /* enum vmop_count_flags */
	uint32_t way;
	uint64_t reserved[3];
};

/*
 * Begin a region. The first call starts the counters if needed, and measures the cost of empty
 * regions, which takes less than some milliseconds. Regions of a set do not nest: begin again
 * replaces the last begin.
 */
struct vmop_error *vmop_region_begin(struct vmop_counters *counters);
/* End it. n as for vmop_counters_read(). May be called several times for one begin. */
struct vmop_error *vmop_region_end(struct vmop_counters *counters, struct vmop_region_count *counts,
				   size_t n);

/* ---- overflows ----------------------------------------------------------- */

struct vmop_watch;

struct vmop_overflow {
	uint64_t address;  /* where the thread was interrupted */
	uint64_t overflow; /* the how manieth of this watch, from 1 */
	uint64_t reserved[2];
};

/* Called in a signal handler on the thread that overflowed: only async-signal-safe calls there. */
typedef void (*vmop_overflow_fn)(void *arg, const struct vmop_overflow *overflow);

struct vmop_watch_options {
	size_t size;	/* sizeof(struct vmop_watch_options) */
	int32_t signo;	/* the signal; 0: SIGRTMIN + 5. The library installs its handler. */
	uint32_t flags; /* VMOP_COUNTERS_USER_ONLY or 0 */
};

/*
 * Call fn each time that the calling thread has counted period_events more of event. It counts
 * from now on. The number of calls can be lower than the count demands: the kernel throttles, and
 * signals merge while blocked. options: NULL for none. The caller closes *ret on any thread.
 */
struct vmop_error *vmop_watch_open(const char *event, uint64_t period_events, vmop_overflow_fn fn,
				   void *arg, const struct vmop_watch_options *options,
				   struct vmop_watch **ret);
/* Read its current count, and the number of calls. Each of ret_* may be NULL. */
struct vmop_error *vmop_watch_read(struct vmop_watch *watch, uint64_t *ret_events,
				   uint64_t *ret_calls);
void vmop_watch_close(struct vmop_watch *watch); /* NULL is allowed */

/* ---- times --------------------------------------------------------------- */

struct vmop_times;

enum vmop_times_flags {
	VMOP_TIMES_NO_BPF = 1 << 0, /* load no BPF program: estimate the stolen time */
};

struct vmop_times_options {
	size_t size;	/* sizeof(struct vmop_times_options) */
	uint32_t scope; /* enum vmop_scope: THREAD (the calling one), PROCESS or ALL */
	uint32_t flags; /* enum vmop_times_flags */
	int32_t id;	/* of PROCESS: its pid; 0: the calling process */
	int32_t reserved;
};

/*
 * Measure times from now on. In a virtual machine, the CPU time of a task can contain stolen time,
 * in which the hypervisor ran others. The exact way to take it out is a BPF program, for which the
 * caller needs CAP_BPF and CAP_PERFMON; see vmop_times_reason() for other cases. options: NULL for
 * the calling thread. The caller closes *ret.
 */
struct vmop_error *vmop_times_open(const struct vmop_times_options *options,
				   struct vmop_times **ret);
void vmop_times_close(struct vmop_times *times); /* NULL is allowed */

enum vmop_time_flags {
	VMOP_TIME_NO_SPLIT = 1 << 0,	/* user_ns and system_ns are not known */
	VMOP_TIME_NO_STOLEN = 1 << 1,	/* stolen_ns is not known */
	VMOP_TIME_NO_UNSTOLEN = 1 << 2, /* unstolen_ns is not known */
	VMOP_TIME_ESTIMATE = 1 << 3,	/* the two are estimated from the steal of all CPUs */
	VMOP_TIME_SUBTRACTED = 1 << 4,	/* the kernel takes stolen time out of virtual_ns itself */
	VMOP_TIME_INCOMPLETE = 1 << 5,	/* too many tasks lived at once: some are missing */
};

struct vmop_time {
	uint64_t real_ns;
	uint64_t virtual_ns;	     /* CPU time, as the kernel accounts it */
	uint64_t user_ns, system_ns; /* its parts, as the kernel's ticks divide it */
	uint64_t stolen_ns;	     /* the hypervisor ran others meanwhile */
	uint64_t unstolen_ns;	     /* virtual time without stolen time */
	uint64_t n_tasks;	     /* threads that were counted; 0: not known */
	uint32_t flags;		     /* enum vmop_time_flags */
	uint32_t reserved[5];
};

/* Read the times since vmop_times_open(). */
struct vmop_error *vmop_times_read(struct vmop_times *times, struct vmop_time *ret);

/*
 * Measure a region: the times between begin and end. Regions do not nest; end may be called several
 * times for one begin.
 */
struct vmop_error *vmop_times_begin(struct vmop_times *times);
struct vmop_error *vmop_times_end(struct vmop_times *times, struct vmop_time *ret);

/* Return why the last result has flags, in one line, or NULL. Valid until the next call. */
const char *vmop_times_reason(const struct vmop_times *times);

/* A thread. */
struct vmop_task_time {
	int32_t pid, tid;
	char name[24];	 /* its last one */
	int32_t is_over; /* 1: it has ended */
	int32_t reserved;
	struct vmop_time time; /* real_ns is 0 */
};

/*
 * Return the number of threads that the last vmop_times_read() found: 0 without a BPF program, and
 * for VMOP_SCOPE_THREAD. Threads that ended are among them; the first 100,000.
 */
size_t vmop_times_n_tasks(const struct vmop_times *times);
/* Read the i-th thread of the last vmop_times_read(), ordered by pid and tid. Return 0, or -1 past
 * the last. */
int vmop_times_task(const struct vmop_times *times, size_t i, struct vmop_task_time *ret);

/* ---- programs with handlers of their own ---------------------------------- */

/*
 * Return 1 if the fault came from reading a counter in user mode, which the kernel has just
 * forbidden; the context is mended then, and the handler returns. Only for programs that install a
 * handler for SIGILL (arm64) or SIGSEGV (x86) after the first vmop_counters_open(). Others need
 * nothing: the library's own handler passes other faults on to the one before it. The arguments are
 * those of the handler, which has SA_SIGINFO.
 */
int vmop_handle_fault(int signo, void *info, void *context);

#ifdef __cplusplus
}
#endif

#endif
