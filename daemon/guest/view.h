// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A view: the state of one passive guest at one moment.  The watching thread (watch.h) makes it
 * from libguest's results, and the sampling thread reads it.  It is immutable and has a reference
 * count.
 *
 * Its parts change at different rates.  Each has its own reference count, so that a new view shares
 * the parts that did not change.
 */
#ifndef VMOP_DAEMON_GUEST_VIEW_H
#define VMOP_DAEMON_GUEST_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libguest/guest.h"
#include "vmop/domain.h"
#include "vmop/guest-numbers.h"
#include "vmop/symbol.h"

/*
 * The directory of profiles of guest kernels without BTF.  Each file has the name of its kernel's
 * release (libguest/kernel/layout.h).
 */
#define VMOP_GUEST_PROFILES VMOP_SYSCONFDIR "/guest-profiles"

struct vmop_guest_orc_tables;

/* One image of guest kernel code: the kernel, a module, BPF programs, trampolines. */
struct vmop_guest_code_image {
	enum vmop_image_kind kind; /* GUEST_KERNEL, MODULE, BPF or TRAMPOLINE */
	char *name;		   /* "[kernel]", "[nf_tables]" */
	uint64_t start, end;	   /* offsets count from start */
	uint8_t build_id_len_bytes;
	uint8_t build_id[VMOP_GUEST_BUILD_ID_MAX];
	/* Function symbols by ascending offset from start.  Their names are in the pool below. */
	struct vmop_symbol *symbols; /* a part of all_symbols; NULL: dropped */
	size_t n_symbols;
};

/* The code of the guest's kernel, as read by one find_kernel or refresh_modules. */
struct vmop_guest_code {
	unsigned refs;	     /* atomic */
	uint32_t generation; /* ascending within a guest */
	struct vmop_guest_kernel_info kernel;
	struct vmop_guest_code_image *images; /* by ascending start, without overlap */
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

/* The task that a vCPU ran at one time. */
struct vmop_guest_reading {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t pid;	  /* of the guest; 0: idle */
	bool is_kernel_thread;
	uint64_t pgd_gpa; /* of its page table, which execve(2) changes; 0: a kernel thread */
};

/* The last readings of each vCPU, in a ring: enough for two flush intervals. */
#define VMOP_GUEST_READINGS 64
#define VMOP_GUEST_VCPUS_MAX 256

struct vmop_guest_vcpu_readings {
	uint32_t n; /* written in all; the newest is at[(n - 1) % VMOP_GUEST_READINGS] */
	struct vmop_guest_reading at[VMOP_GUEST_READINGS];
};

/*
 * Append current to the readings of its vCPU.  Returns the new reading; NULL: the vCPU's number is
 * n_vcpus or more.  time_ns: CLOCK_MONOTONIC, from before current was read.
 */
const struct vmop_guest_reading *vmop_guest_readings_put(struct vmop_guest_vcpu_readings *vcpus,
							 uint32_t n_vcpus,
							 const struct vmop_guest_current *current,
							 uint64_t time_ns);

struct vmop_guest_view {
	unsigned refs;				/* atomic */
	struct vmop_guest_code *code;		/* NULL: no kernel found yet */
	struct vmop_guest_tasks *tasks;		/* NULL: no processes listed yet */
	struct vmop_guest_tasks *tasks_before;	/* the previous list; NULL: none */
	struct vmop_guest_orc_tables *orc;	/* NULL: not wanted, or not read yet */
	struct vmop_guest_numbers numbers;	/* generation 0: not known */
	struct vmop_guest_vcpu_readings *vcpus; /* n_vcpus of them */
	uint32_t n_vcpus;
	const char *state;   /* "kernel symbols and processes", or the reason for less; static */
	bool may_be_booting; /* no kernel found yet; the search is repeated every few seconds */
	char *error;	     /* the message of the last failure; NULL: none */
	uint64_t made_ns;    /* CLOCK_MONOTONIC */
	struct vmop_guest_cost cost; /* since the guest was added */
};

/* Copy the code of guest's kernel, with its symbols, from libguest.  NULL: out of memory. */
struct vmop_guest_code *vmop_guest_code_create(struct vmop_guest *guest, uint32_t generation);

/*
 * Copy code without its symbols, which are stored elsewhere; n_symbols stays.  NULL: out of memory.
 */
struct vmop_guest_code *vmop_guest_code_strip(const struct vmop_guest_code *code);

/*
 * Copy the number of the kernel's symbols from before to code, which was made after libguest had
 * dropped these symbols.
 */
void vmop_guest_code_inherit(struct vmop_guest_code *code, const struct vmop_guest_code *before);

struct vmop_guest_code *vmop_guest_code_ref(struct vmop_guest_code *code); /* NULL is allowed */
void vmop_guest_code_unref(struct vmop_guest_code *code);

/* Return the image that contains address, or NULL. */
const struct vmop_guest_code_image *vmop_guest_code_find(const struct vmop_guest_code *code,
							 uint64_t address);

/* Create tasks from snapshot, which passes to it.  NULL: out of memory; snapshot is destroyed. */
struct vmop_guest_tasks *vmop_guest_tasks_create(struct vmop_guest_snapshot *snapshot,
						 uint32_t generation);
struct vmop_guest_tasks *vmop_guest_tasks_ref(struct vmop_guest_tasks *tasks);
void vmop_guest_tasks_unref(struct vmop_guest_tasks *tasks);

/*
 * Return the process that a reading shows; NULL: tasks does not have it, or has it from before it
 * executed another program.  tasks may be NULL.
 */
const struct vmop_guest_process *vmop_guest_tasks_find(const struct vmop_guest_tasks *tasks,
						       const struct vmop_guest_reading *reading);

/* Describe the state of a guest whose kernel was found.  tasks may be NULL. */
const char *vmop_guest_view_state(const struct vmop_guest_code *code,
				  const struct vmop_guest_tasks *tasks);

struct vmop_guest_view *vmop_guest_view_ref(struct vmop_guest_view *view);
void vmop_guest_view_unref(struct vmop_guest_view *view);

/*
 * Find the reading of vcpu that is nearest to time_ns.  *ret_certain: the readings before and after
 * time_ns agree.  Only readings at most max_gap_ns from time_ns count; false: none does.
 */
bool vmop_guest_view_reading(const struct vmop_guest_view *view, uint32_t vcpu, uint64_t time_ns,
			     uint64_t max_gap_ns, struct vmop_guest_reading *ret,
			     bool *ret_certain);

#endif
