// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is known of one passive guest at one moment, as the sampling thread
 * sees it: immutable, counted references, made by the watcher's thread
 * (guest/watch.h) from libguest.
 *
 * The parts change at different rates, so each has references of its own and
 * a new view shares what did not change.
 */
#ifndef VMOP_DAEMON_GUEST_VIEW_H
#define VMOP_DAEMON_GUEST_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libguest/guest.h"
#include "vmop/domain.h"
#include "vmop/symbol.h"

/* Profiles of guest kernels without BTF, each named as its kernel's release
 * (libguest/kernel/layout.h). */
#define VMOP_GUEST_PROFILES VMOP_SYSCONFDIR "/guest-profiles"

/* One image of guest kernel text: the kernel itself, a module, BPF programs, trampolines. */
struct vmop_guest_text_image {
	enum vmop_image_kind kind; /* GUEST_KERNEL, MODULE, BPF or TRAMPOLINE */
	char *name;		   /* "[kernel]", "[nf_tables]" */
	uint64_t start, end;	   /* offsets count from start */
	uint8_t build_id_len_bytes;
	uint8_t build_id[VMOP_GUEST_BUILD_ID_MAX];
	/* Text symbols with offsets from start, ascending; names in the text's pool. */
	struct vmop_symbol *symbols; /* within the text's all_symbols; NULL: dropped */
	size_t n_symbols;
};

/* The guest's kernel text as of one find_kernel or refresh_modules. */
struct vmop_guest_text {
	unsigned refs;	     /* atomic */
	uint32_t generation; /* rises with every new one of the same guest */
	struct vmop_guest_kernel_info kernel;
	struct vmop_guest_text_image *images; /* by start, not overlapping */
	size_t n_images;
	struct vmop_symbol *all_symbols;
	char *names; /* pool */
};

/* A snapshot of processes with a reference count. */
struct vmop_guest_tasks {
	unsigned refs; /* atomic */
	uint32_t generation;
	struct vmop_guest_snapshot *snapshot;
};

/* What a vCPU was seen to run, by time. */
struct vmop_guest_reading {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t pid;	  /* of the guest; 0: idle */
	bool is_kernel_thread;
	uint64_t pgd_gpa; /* of its page table, which changes when it executes another program */
};

/* The last readings of each vCPU, oldest first: enough for two flush intervals. */
#define VMOP_GUEST_READINGS 64
#define VMOP_GUEST_VCPUS_MAX 256

struct vmop_guest_vcpu_readings {
	uint32_t
		n; /* written since the beginning; the newest is at (n - 1) % VMOP_GUEST_READINGS */
	struct vmop_guest_reading at[VMOP_GUEST_READINGS];
};

/*
 * Puts down among n_vcpus readings what current says; the reading, or NULL for a vCPU beyond
 * them.  time_ns: before current was read, CLOCK_MONOTONIC.
 */
const struct vmop_guest_reading *vmop_guest_readings_put(struct vmop_guest_vcpu_readings *vcpus,
							 uint32_t n_vcpus,
							 const struct vmop_guest_current *current,
							 uint64_t time_ns);

struct vmop_guest_view {
	unsigned refs;				/* atomic */
	struct vmop_guest_text *text;		/* NULL: no kernel found so far */
	struct vmop_guest_tasks *tasks;		/* NULL: no processes known */
	struct vmop_guest_tasks *tasks_before;	/* the list before that one; NULL: none */
	struct vmop_guest_vcpu_readings *vcpus; /* n_vcpus of them */
	uint32_t n_vcpus;
	const char *state;   /* "symbols and processes", or why there is less; never freed text */
	bool may_be_booting; /* no kernel was found so far; the search goes on every few seconds */
	char *error;	     /* the last failure's message, or NULL */
	uint64_t made_ns;    /* CLOCK_MONOTONIC */
	struct vmop_guest_cost cost; /* of everything so far */
};

/*
 * Copies what libguest knows of guest's kernel text.  NULL when memory runs
 * out.  symbols are filled in as well.
 */
struct vmop_guest_text *vmop_guest_text_create(struct vmop_guest *guest, uint32_t generation);

/*
 * The same without its symbols, which are stored elsewhere: only their numbers stay.
 * NULL when memory runs out.
 */
struct vmop_guest_text *vmop_guest_text_strip(const struct vmop_guest_text *text);

/*
 * Has text, which was made when the kernel's own symbols were dropped, tell their number
 * as before did.
 */
void vmop_guest_text_inherit(struct vmop_guest_text *text, const struct vmop_guest_text *before);

struct vmop_guest_text *vmop_guest_text_ref(struct vmop_guest_text *text); /* NULL is allowed */
void vmop_guest_text_unref(struct vmop_guest_text *text);

/* The image that holds address; NULL: none. */
const struct vmop_guest_text_image *vmop_guest_text_find(const struct vmop_guest_text *text,
							 uint64_t address);

/* Owns snapshot from then on, also when it fails (NULL). */
struct vmop_guest_tasks *vmop_guest_tasks_create(struct vmop_guest_snapshot *snapshot,
						 uint32_t generation);
struct vmop_guest_tasks *vmop_guest_tasks_ref(struct vmop_guest_tasks *tasks);
void vmop_guest_tasks_unref(struct vmop_guest_tasks *tasks);

/*
 * The process that a reading shows; NULL: tasks (which may be NULL) doesn't have it, or
 * only as it was before it executed another program.
 */
const struct vmop_guest_process *vmop_guest_tasks_find(const struct vmop_guest_tasks *tasks,
						       const struct vmop_guest_reading *reading);

/* What is known of a guest whose kernel was found, in words; tasks may be NULL. */
const char *vmop_guest_view_state(const struct vmop_guest_text *text,
				  const struct vmop_guest_tasks *tasks);

struct vmop_guest_view *vmop_guest_view_ref(struct vmop_guest_view *view);
void vmop_guest_view_unref(struct vmop_guest_view *view);

/*
 * What vCPU vcpu ran at time_ns.  *ret_certain: the readings before and after agree
 * and are no further apart than max_gap_ns.  False: no reading is near enough.
 */
bool vmop_guest_view_current(const struct vmop_guest_view *view, uint32_t vcpu, uint64_t time_ns,
			     uint64_t max_gap_ns, struct vmop_guest_reading *ret,
			     bool *ret_certain);

#endif
