// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The time of guests' vCPUs in sessions: what they did, who had the CPU while they waited, and
 * their exits (vmop/waits.h). Not samples: a session has it that was recorded with --waits.
 *
 * Callers: vmopreport.c prints one of the tables (waits-sheet.h), and the gate compares the steal
 * of guests with a bound. exit-reason.h names the reasons. task-times.h divides the running time
 * among the guests' tasks by samples.
 */
#ifndef VMOP_OPREPORT_WAITS_WAITS_H
#define VMOP_OPREPORT_WAITS_WAITS_H

#include "opreport/query/catalog.h"
#include "opreport/query/spec.h"
#include "vmop/waits.h"

/* A part of a guest's time. Facts with one key are one. */
struct vmop_waits_fact {
	uint32_t domain; /* catalog index of its row */
	uint32_t vcpu;
	enum vmop_wait_state state;
	enum vmop_culprit_kind kind; /* of WAITING */
	const char *culprit;	     /* of WAITING: its name as shown; else "" */
	uint64_t cause;		     /* of EXIT; else 0 */
	uint64_t count, time_ns;
};

/* Exits of a guest for one reason in one function. */
struct vmop_waits_function {
	uint32_t domain;
	uint64_t cause;
	const char *name;
	uint64_t count;
};

struct vmop_waits_facts_of {
	struct vmop_catalog catalog;
	struct vmop_waits_fact *facts; /* ascending by domain, vCPU, state, kind, culprit, cause */
	size_t n_facts, facts_capacity;
	struct vmop_waits_function *functions; /* by domain, cause, and falling by count */
	size_t n_functions, functions_capacity;
	uint64_t from_ns, to_ns; /* that the specs select; CLOCK_REALTIME; to_ns 0: no end */
	const char *losses;	 /* as vmop_losses_describe() has them; NULL: none */
	const char *no_exits;	 /* why a session has no exits; NULL: none has a reason */
};

/*
 * Load what a spec selects: by session:, domain:, vcpu: and time:. VMOP_ERROR_USAGE: it has another
 * tag. VMOP_ERROR_NOT_FOUND: nothing matches. The caller deinitialises ret also after an error.
 */
struct vmop_error *vmop_waits_load(const struct vmop_spec *spec, struct vmop_waits_facts_of *ret);
/* Return the error for a spec that selects no time of vCPUs. */
struct vmop_error *vmop_waits_none(const struct vmop_spec *spec);
/* Return VMOP_ERROR_USAGE for a spec with tags that vCPUs' time does not have. */
struct vmop_error *vmop_waits_check_spec(const struct vmop_spec *spec);
/* Add the facts of each guest's vCPUs up: then vcpu is 0. */
void vmop_waits_merge_vcpus(struct vmop_waits_facts_of *facts);
void vmop_waits_facts_deinit(struct vmop_waits_facts_of *facts);

/* Return the fact's time as part of its vCPU's: exits are a part of RUNNING. */
static inline uint64_t vmop_waits_whole_ns(const struct vmop_waits_fact *fact)
{
	return fact->state == VMOP_WAIT_EXIT ? 0 : fact->time_ns;
}

/*
 * Set *ret to the steal of the guests whose names match glob, in percent of their vCPUs' time: what
 * they waited for others and for their quota, as a guest's own steal clock has it.
 * VMOP_ERROR_NOT_FOUND: there is no such guest.
 */
struct vmop_error *vmop_waits_steal_percent(const struct vmop_spec *spec, const char *glob,
					    double *ret);

#endif
