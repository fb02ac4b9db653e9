// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The set-up: which events the next session samples, how finely it separates them, which guests it
 * covers, and where it stores them. It is kept in an INI file (vmop.conf) of `key = value` lines
 * without sections. The file is parsed and never executed; vmopcontrol(8) describes the keys. A key
 * with a list value may occur several times.
 *
 * vmopcontrol reads the file, applies its options, saves them, and sends the set-up as text to
 * vmopd. vmopd parses that text for the session.
 *
 * A set-up file is hostile input: its size, lines and lists are bounded, and each error names file,
 * line and key. The daemon checks events and domains when it starts a session; this folder cannot.
 */
#ifndef VMOP_LIBUTIL_SETUP_H
#define VMOP_LIBUTIL_SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libutil/error.h"
#include "vmop/stack.h"

#define VMOP_SETUP_MAX_BYTES 49152 /* of the text; fits in a line of protocol.h */
#define VMOP_SETUP_MAX_LIST 64	   /* elements of a list */
#define VMOP_SETUP_FILE VMOP_SYSCONFDIR "/vmop.conf"

/*
 * The properties that separate samples beyond event, domain, process, image and mode. A session
 * always separates libraries and the kernel by task, so LIB and KERNEL are accepted and change
 * nothing. CPU separates vCPUs as well.
 */
enum vmop_setup_separate {
	VMOP_SETUP_SEPARATE_LIB = 1 << 0,
	VMOP_SETUP_SEPARATE_KERNEL = 1 << 1,
	VMOP_SETUP_SEPARATE_THREAD = 1 << 2,
	VMOP_SETUP_SEPARATE_CPU = 1 << 3,
};

/* Whether contexts of guests' samples are captured (vmop/guest-context.h). */
enum vmop_setup_context {
	VMOP_SETUP_CONTEXT_AUTO = 0, /* if guests are passive and their memory is read */
	VMOP_SETUP_CONTEXT_ON,
	VMOP_SETUP_CONTEXT_OFF,
};

struct vmop_setup_list {
	char **items;
	size_t n;
};

/*
 * The threads of guests that count as blocked, by their state in the guest's kernel. Kernel threads
 * sleep when they have no work, most of them in states S and I, so these are apart.
 */
enum vmop_off_cpu_state {
	VMOP_OFF_CPU_UNINTERRUPTIBLE = 1 << 0, /* D: waits for a disk, a lock, a page */
	VMOP_OFF_CPU_SLEEPING = 1 << 1,	       /* S, of programs */
	VMOP_OFF_CPU_KERNEL_SLEEPING = 1 << 2, /* S, of kernel threads */
	VMOP_OFF_CPU_IDLE = 1 << 3,	       /* I: a kernel thread without work */
	VMOP_OFF_CPU_STOPPED = 1 << 4,	       /* T and t: by a signal or a debugger */
	VMOP_OFF_CPU_READY = 1 << 5,	       /* R, and not on a CPU */
};
#define VMOP_OFF_CPU_DEFAULT_STATES (VMOP_OFF_CPU_UNINTERRUPTIBLE | VMOP_OFF_CPU_SLEEPING)
#define VMOP_OFF_CPU_MAX_HZ 100u

struct vmop_off_cpu {
	unsigned hz;	 /* how often blocked threads are read; 0: never */
	unsigned states; /* enum vmop_off_cpu_state */
};

#define VMOP_CODE_DEFAULT_BYTES ((uint64_t)16 << 20)
#define VMOP_FETCH_DEFAULT_BYTES ((uint64_t)64 << 20)

/* At the age age_ns, intervals are merged into ones of len_ns. */
struct vmop_ladder_step {
	uint64_t age_ns, len_ns;
};

/*
 * How long intervals are at which age. Lengths and ages ascend. An age is at least
 * the length of its step. Intervals of level i (vmop_db_interval) were made by step i - 1.
 */
#define VMOP_LADDER_MAX_STEPS 8
struct vmop_setup_ladder {
	uint64_t first_ns; /* of the intervals as recorded, as written; 0: not written */
	struct vmop_ladder_step steps[VMOP_LADDER_MAX_STEPS];
	size_t n_steps; /* 0: intervals are never merged */
};

/* When a session is closed and saved, and the next one begins. */
struct vmop_setup_rotate {
	bool is_daily;	/* when the local date changes */
	uint64_t bytes; /* when the file has this size; 0: never for its size */
};

#define VMOP_MAX_SIZE_LEAST_BYTES ((uint64_t)16 << 20)
#define VMOP_DEFAULT_NICE 10u
#define VMOP_ROTATE_LEAST_BYTES ((uint64_t)1 << 20)

struct vmop_setup {
	struct vmop_setup_list events; /* values of --event as written; none: the default event */
	unsigned separate;	       /* enum vmop_setup_separate */
	char *vmlinux; /* symbols of the host kernel: a vmlinux or System.map; NULL: /proc/kallsyms
			*/
	char *xen;     /* symbols of Xen: xen-syms or its map; NULL: vmopd searches for them */
	char *session_dir;		       /* absolute path; never NULL */
	struct vmop_setup_list active_domains; /* on Xen: domains with an agent: "all", or names */
	bool active_samples_by_host; /* KVM: the host takes active guests' samples and hands them
					over */
	uint64_t fetch_bytes; /* the largest session of an active guest to fetch; 0: fetch none */
	struct vmop_setup_list passive_domains; /* never empty: "all", "none", or names */
	struct vmop_setup_list passive_images;	/* "PATH[+0xOFFSET]" or ""; paired by position */
	unsigned guest_cpu_permille; /* CPU time for reading guests' memory, in 1/1000 of one CPU;
					0: never read it */
	struct vmop_off_cpu off_cpu; /* keys off-cpu and off-cpu-states */
	enum vmop_setup_context guest_context;
	bool waits; /* divide the time of guests' vCPUs: who had the CPU, exits by reason */
	uint64_t code_bytes; /* room for generated code in a session; 0: it is not stored */
	struct vmop_stack_options stacks; /* keys callgraph and callgraph-depth */
	uint64_t buffer_bytes;		  /* per CPU; 0: the source's default */
	uint64_t flush_ns;		  /* 0.1 s .. 1 h */
	struct vmop_setup_ladder ladder;
	uint64_t keep_ns;   /* age at which intervals are deleted; 0: never */
	uint64_t max_bytes; /* of the session on disk; 0: no bound */
	struct vmop_setup_rotate rotate;
	/*
	 * The largest part of the time of all CPUs that the daemon may use, in 1/10000, before it
	 * lowers the rate of the samples; 1 .. 5000; 0: no bound.
	 */
	unsigned max_overhead_permyriad;
	unsigned nice;	     /* of the threads that read files of others: 0 .. 19 */
	mode_t session_mode; /* of the session files */
	char *status_group;  /* group that may read --status; NULL: root only */
};

/* Fill the set-up with the defaults. */
struct vmop_error *vmop_setup_init(struct vmop_setup *setup);
void vmop_setup_deinit(struct vmop_setup *setup);

/*
 * Set one key to a value as a user writes it: "separate" to "thread,cpu". A list value is split at
 * commas and replaces the old list, unless append is set. VMOP_ERROR_USAGE names the key or the
 * value, and the accepted values.
 */
struct vmop_error *vmop_setup_set(struct vmop_setup *setup, const char *key, const char *value,
				  bool append);

/*
 * Parse INI text into the set-up; messages call it `name`. Keys that do not occur keep their value;
 * a list that occurs replaces the old list. VMOP_ERROR_USAGE for the first bad line.
 */
struct vmop_error *vmop_setup_parse(struct vmop_setup *setup, const char *name, const char *text);

/*
 * Do the same for a file. If it does not exist, *ret_found (may be NULL) is false and there is no
 * error.
 */
struct vmop_error *vmop_setup_read(struct vmop_setup *setup, const char *path, bool *ret_found);

/*
 * Check the keys against each other: images paired with domains. The only error is
 * VMOP_ERROR_USAGE.
 */
struct vmop_error *vmop_setup_check(const struct vmop_setup *setup);

/* Format the whole set-up as INI text; the caller frees *ret. */
struct vmop_error *vmop_setup_format(const struct vmop_setup *setup, char **ret);

/*
 * Replace the values of n keys in the file at path, atomically. Every other line stays, comments
 * included. The directory is made if it is missing.
 */
struct vmop_error *vmop_setup_save(const struct vmop_setup *setup, const char *path,
				   const char *const *keys, size_t n);

/* Return the value of the key callgraph, without a size, that stands for mode. */
const char *vmop_setup_callgraph_word(enum vmop_stack_mode mode);

/* Return whether the set-up wants contexts of guests' samples. */
bool vmop_setup_wants_guest_context(const struct vmop_setup *setup);

/* Set *ret to the steps that are longer than flush_ns, with flush_ns as its first length. */
void vmop_setup_ladder_in_use(const struct vmop_setup *setup, struct vmop_setup_ladder *ret);

/*
 * Split "PATH+0x1c000000" into path and offset. The caller frees *ret_path, which is NULL for "".
 * The only other error than memory is VMOP_ERROR_USAGE.
 */
struct vmop_error *vmop_setup_split_image(const char *text, char **ret_path,
					  uint64_t *ret_offset_bytes);

#endif
