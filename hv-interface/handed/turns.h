// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The turns of one CPU: which task ran on it from when on, by the scheduler's records. The last
 * VMOP_HANDED_TURNS are kept.
 *
 * A switch is two records, when the old task leaves and when the new one comes. Between them the
 * kernel switches, and no task runs.
 */
#ifndef VMOP_HV_INTERFACE_HANDED_TURNS_H
#define VMOP_HV_INTERFACE_HANDED_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "vmop/record.h"

#define VMOP_HANDED_TURNS 4096

struct vmop_handed_turn {
	uint64_t from_ns;
	uint32_t pid; /* VMOP_PID_SWITCHING: between two tasks; VMOP_PID_NO_TASK: not known */
	uint32_t tid;
};

/* Zeroed: without a turn. */
struct vmop_handed_turns {
	struct vmop_handed_turn at[VMOP_HANDED_TURNS]; /* a ring */
	uint64_t n;				       /* since the start */
};

/* Add a switch record, later than those before. */
void vmop_handed_turns_add(struct vmop_handed_turns *turns, uint64_t time_ns,
			   const struct vmop_switch_record *record);

/* Note that records may be lost: what runs is not known until the next one. */
void vmop_handed_turns_break(struct vmop_handed_turns *turns, uint64_t time_ns);

/*
 * Find the task of a sample that was taken at most error_ns before or after time_ns. Return its pid
 * and set *ret_tid, or return VMOP_PID_SWITCHING (only in the kernel),
 * VMOP_PID_NEAR_SWITCH (it could be several tasks) or VMOP_PID_NO_TASK (no turn is known).
 */
uint32_t vmop_handed_turns_find(const struct vmop_handed_turns *turns, uint64_t time_ns,
				uint64_t error_ns, bool is_kernel, uint32_t *ret_tid);

#endif
