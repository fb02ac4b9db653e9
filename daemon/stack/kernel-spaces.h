// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Address spaces in the kernel, for --callgraph=bpf: gives its program the executable mappings of
 * sampled processes, and decides whether a stack that the program found by them can be believed.
 *
 * A process gets its space after its first sample with a copied stack, and again when a copied
 * stack shows that the space lacks mappings or tables. So a process whose stacks the kernel unwinds
 * costs nothing here, whatever it maps. The number of updates is bounded (by process and in all).
 * A process that was not sampled in the present interval makes room for others.
 *
 * Truth: records and samples arrive in time order, so the daemon knows the mappings of a sample's
 * time. A stack carries the generation of the mappings by which it was found. These hold as long as
 * no address of the process got another meaning: a new mapping in a free range keeps them valid; a
 * replaced mapping and execve(2) do not. Generations ascend over all processes and sessions.
 *
 * All functions belong to the sampling thread.
 */
#ifndef VMOP_DAEMON_STACK_KERNEL_SPACES_H
#define VMOP_DAEMON_STACK_KERNEL_SPACES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/host/process.h"
#include "daemon/stack/tables.h"
#include "hv-interface/bpf/unwind-maps.h"
#include "libutil/error.h"

/* Bounds. An update costs as much as VMOP_KERNEL_SPACE_COST mappings and its own ones. */
#define VMOP_KERNEL_SPACES_MAX 16384
#define VMOP_KERNEL_SPACE_COST 64
#define VMOP_KERNEL_SPACE_MAPPINGS_A_SECOND 65536
#define VMOP_KERNEL_SPACE_PAUSE_NS (100 * 1000000ull) /* between two updates of a process */

struct vmop_kernel_spaces;

/* Create an empty set, which the caller owns. The others must outlive it. */
struct vmop_error *vmop_kernel_spaces_create(struct vmop_unwind_maps *maps,
					     struct vmop_processes *processes,
					     const struct vmop_stack_tables *tables,
					     struct vmop_kernel_spaces **ret);
/* Removes the spaces from the kernel too. NULL is allowed. */
void vmop_kernel_spaces_destroy(struct vmop_kernel_spaces *spaces);

/*
 * Return whether a stack of process is true that the kernel found by the mappings of that
 * generation. If not, the process gets a new space. On the per-sample path.
 */
bool vmop_kernel_spaces_believe(struct vmop_kernel_spaces *spaces, struct vmop_process *process,
				uint64_t generation);

/*
 * Note that a stack of process was copied. kernel_age is the largest one of the code that the stack
 * leads through (vmop_stack_tables_kernel_age). On the per-sample path.
 */
void vmop_kernel_spaces_copied(struct vmop_kernel_spaces *spaces, struct vmop_process *process,
			       uint32_t kernel_age);

/* Update the spaces that need it, as far as the bounds allow. Call it after each drain. */
void vmop_kernel_spaces_advance(struct vmop_kernel_spaces *spaces, uint64_t now_ns);

/* Remove the space of a process that ended, or called execve(2). */
void vmop_kernel_spaces_gone(struct vmop_kernel_spaces *spaces, struct vmop_process *process);

/* Remove all spaces: numbers of tables can get another meaning. */
void vmop_kernel_spaces_forget(struct vmop_kernel_spaces *spaces);

/* Note that an interval was stored. Removes spaces of processes that ended without a record. */
void vmop_kernel_spaces_stored(struct vmop_kernel_spaces *spaces);

struct vmop_kernel_spaces_facts {
	uint32_t n;	    /* processes with a space */
	uint64_t n_updates; /* of spaces */
	uint64_t n_refused; /* updates that the kernel had no room for */
	uint64_t n_pushed;  /* spaces that made room for others */
};
void vmop_kernel_spaces_facts(const struct vmop_kernel_spaces *spaces,
			      struct vmop_kernel_spaces_facts *ret);

#endif
