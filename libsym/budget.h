// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A bound on the cost of one file, or of all files of one image: memory in use at one time, bytes
 * read or unpacked, steps of loops whose length the file decides, and time.
 *
 * The caller initializes one budget and passes it to every reader. A reader charges the budget
 * before it allocates, reads or loops. The budget remembers the first resource that runs out; the
 * reader then fails with VMOP_ERROR_LIMIT and that reason. One thread at a time.
 */
#ifndef VMOP_LIBSYM_BUDGET_H
#define VMOP_LIBSYM_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/clock.h"
#include "libutil/error.h"

/*
 * Together with the process's own needs, and the overshoot between two reads of the clocks, these
 * stay within 512 MiB and 2 s.
 */
#define VMOP_SYM_BUDGET_MEMORY_BYTES ((uint64_t)480 << 20)
#define VMOP_SYM_BUDGET_READ_BYTES ((uint64_t)1 << 30)
#define VMOP_SYM_BUDGET_STEPS ((uint64_t)1 << 29)
#define VMOP_SYM_BUDGET_CPU_NS (1700 * VMOP_NS_PER_MS)
#define VMOP_SYM_BUDGET_WALL_NS (30 * VMOP_NS_PER_S)

/* The resource that ran out. */
enum vmop_sym_cost {
	VMOP_SYM_COST_NONE,
	VMOP_SYM_COST_MEMORY,
	VMOP_SYM_COST_READ,
	VMOP_SYM_COST_STEPS,
	VMOP_SYM_COST_CPU_TIME,
	VMOP_SYM_COST_WALL_TIME,
	VMOP_SYM_COST_SECTIONS,
	VMOP_SYM_COST_SEGMENTS,
	VMOP_SYM_COST_NOTES,
	VMOP_SYM_COST_SYMBOLS,
	VMOP_SYM_COST_UNPACKING,
	VMOP_SYM_COST_CHECKSUM, /* a debug file that is too large for a checksum, its only proof */
};

struct vmop_sym_budget {
	uint64_t memory_left_bytes;
	uint64_t read_left_bytes;
	uint64_t steps_left;
	uint64_t cpu_end_ns;	/* CLOCK_THREAD_CPUTIME_ID */
	uint64_t wall_end_ns;	/* CLOCK_MONOTONIC */
	uint32_t steps_to_look; /* until the clocks are read again */
	enum vmop_sym_cost spent;
};

/* Fill budget with the cost allowed for one file. CPU time counts from now on, for this thread. */
void vmop_sym_budget_init(struct vmop_sym_budget *budget);

/*
 * Fill budget for several images of one report: they share memory and CPU time, which counts from
 * now on, at most max_cpu_ns. Nothing else is bounded.
 */
void vmop_sym_budget_init_shared(struct vmop_sym_budget *budget, uint64_t max_cpu_ns);

/*
 * Record that cost ran out, unless another resource did before. Always returns false, which the
 * caller returns.
 */
bool vmop_sym_budget_spend(struct vmop_sym_budget *budget, enum vmop_sym_cost cost);

/* Charge memory before it is allocated. Return false if not enough is left. */
bool vmop_sym_budget_take_memory(struct vmop_sym_budget *budget, uint64_t len_bytes);

/* Return memory to the budget when it is freed. */
void vmop_sym_budget_give_memory(struct vmop_sym_budget *budget, uint64_t len_bytes);

/* Charge bytes before they are read or unpacked. Return false if not enough are left. */
bool vmop_sym_budget_take_read(struct vmop_sym_budget *budget, uint64_t len_bytes);

/* Read the clocks, for long work that takes no steps. Return false if time has run out. */
bool vmop_sym_budget_look(struct vmop_sym_budget *budget);

bool vmop_sym_budget_take_steps_slowly(struct vmop_sym_budget *budget, uint64_t n);

/* Charge n steps of some nanoseconds each. Return false if time has run out. */
static inline bool vmop_sym_budget_take_steps(struct vmop_sym_budget *budget, uint64_t n)
{
	if (n < budget->steps_to_look && n <= budget->steps_left) {
		budget->steps_to_look -= (uint32_t)n;
		budget->steps_left -= n;
		return true;
	}
	return vmop_sym_budget_take_steps_slowly(budget, n);
}

/*
 * Make a VMOP_ERROR_LIMIT: "PATH: too costly: ..." if a resource ran out, else without a reason.
 * Never returns NULL.
 */
struct vmop_error *vmop_sym_budget_error(const struct vmop_sym_budget *budget, const char *path)
	__attribute__((returns_nonnull));

/* Return "too costly: ...", a constant. */
const char *vmop_sym_budget_message(const struct vmop_sym_budget *budget);

#endif
