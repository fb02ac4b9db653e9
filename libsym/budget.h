// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How much one file, or all files of one image, may cost: memory that is held at one time, bytes
 * that are read or unpacked, steps of loops whose length the file decides, and time.
 *
 * One object is filled at the start and handed down to every reader.  A reader takes before it
 * allocates, reads or loops.  What runs dry is noted once, and the reading ends with
 * VMOP_ERROR_LIMIT and the reason.  One thread at a time.
 */
#ifndef VMOP_LIBSYM_BUDGET_H
#define VMOP_LIBSYM_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/clock.h"
#include "libutil/error.h"

/* Within 512 MiB and 2 s with what the process itself needs, and what lies between two looks. */
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
	VMOP_SYM_COST_CHECKSUM, /* a debug file that only its checksum could verify */
};

struct vmop_sym_budget {
	uint64_t memory_left_bytes;
	uint64_t read_left_bytes;
	uint64_t steps_left;
	uint64_t cpu_end_ns;	/* CLOCK_THREAD_CPUTIME_ID */
	uint64_t wall_end_ns;	/* CLOCK_MONOTONIC */
	uint32_t steps_to_look; /* at the clocks */
	enum vmop_sym_cost spent;
};

/* Fills budget with what one file may cost, from now on and for this thread. */
void vmop_sym_budget_init(struct vmop_sym_budget *budget);

/* Notes that cost is spent, unless another was before.  Returns false, for the caller to return. */
bool vmop_sym_budget_spend(struct vmop_sym_budget *budget, enum vmop_sym_cost cost);

/* Takes memory before it is allocated; false: there is not as much. */
bool vmop_sym_budget_take_memory(struct vmop_sym_budget *budget, uint64_t len_bytes);

/* Returns memory to the budget when it is freed. */
void vmop_sym_budget_give_memory(struct vmop_sym_budget *budget, uint64_t len_bytes);

/* Takes bytes that will be read or unpacked. */
bool vmop_sym_budget_take_read(struct vmop_sym_budget *budget, uint64_t len_bytes);

/* Looks at the clocks, for what takes long without steps. */
bool vmop_sym_budget_look(struct vmop_sym_budget *budget);

bool vmop_sym_budget_take_steps_slowly(struct vmop_sym_budget *budget, uint64_t n);

/* Takes n steps of some nanoseconds each. */
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
 * "PATH: too costly: ..." for what was spent, or VMOP_ERROR_LIMIT without a reason where nothing
 * was.  Never returns NULL.
 */
struct vmop_error *vmop_sym_budget_error(const struct vmop_sym_budget *budget, const char *path)
	__attribute__((returns_nonnull));

/* "too costly: ...", a constant. */
const char *vmop_sym_budget_message(const struct vmop_sym_budget *budget);

#endif
