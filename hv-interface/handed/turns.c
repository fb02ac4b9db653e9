// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/handed/turns.h"

#include <stddef.h>

static void append(struct vmop_handed_turns *turns, uint64_t from_ns, uint32_t pid, uint32_t tid)
{
	turns->at[turns->n++ % VMOP_HANDED_TURNS] =
		(struct vmop_handed_turn){.from_ns = from_ns, .pid = pid, .tid = tid};
}

void vmop_handed_turns_add(struct vmop_handed_turns *turns, uint64_t time_ns,
			   const struct vmop_switch_record *record)
{
	if (!record->is_out) {
		append(turns, time_ns, record->pid, record->tid);
		return;
	}
	if (!turns->n) /* it ran since before the first record */
		append(turns, 0, record->pid, record->tid);
	append(turns, time_ns, VMOP_PID_SWITCHING, 0);
}

void vmop_handed_turns_break(struct vmop_handed_turns *turns, uint64_t time_ns)
{
	append(turns, time_ns, VMOP_PID_NO_TASK, 0);
}

static const struct vmop_handed_turn *turn(const struct vmop_handed_turns *turns, uint64_t i)
{
	return &turns->at[i % VMOP_HANDED_TURNS];
}

/* Return the index of the turn at a time, or UINT64_MAX: it is no longer or not yet known. */
static uint64_t find(const struct vmop_handed_turns *turns, uint64_t time_ns)
{
	uint64_t low = turns->n > VMOP_HANDED_TURNS ? turns->n - VMOP_HANDED_TURNS : 0;
	uint64_t high = turns->n, n = high - low;
	if (!n || time_ns < turn(turns, low)->from_ns)
		return UINT64_MAX;
	/* Nearly always it is one of the last turns. */
	for (uint64_t back = 1; back < n; back *= 2) {
		if (time_ns >= turn(turns, turns->n - back)->from_ns) {
			low = turns->n - back;
			break;
		}
		high = turns->n - back;
	}
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;
		if (time_ns < turn(turns, middle)->from_ns)
			high = middle;
		else
			low = middle;
	}
	return low;
}

/* Return whether a sample in user or kernel mode can be of a turn. */
static bool can_be(const struct vmop_handed_turn *turn, bool is_kernel)
{
	return is_kernel || (turn->pid && turn->pid != VMOP_PID_SWITCHING);
}

uint32_t vmop_handed_turns_find(const struct vmop_handed_turns *turns, uint64_t time_ns,
				uint64_t error_ns, bool is_kernel, uint32_t *ret_tid)
{
	uint64_t from_ns = time_ns > error_ns ? time_ns - error_ns : 0, to_ns;
	if (__builtin_add_overflow(time_ns, error_ns, &to_ns))
		to_ns = UINT64_MAX;
	uint64_t first = find(turns, from_ns);
	const struct vmop_handed_turn *found = NULL;
	if (first == UINT64_MAX)
		return VMOP_PID_NO_TASK;
	for (uint64_t i = first; i < turns->n; i++) {
		const struct vmop_handed_turn *next = turn(turns, i);
		if (i > first && next->from_ns > to_ns)
			break;
		if (next->pid == VMOP_PID_NO_TASK)
			return VMOP_PID_NO_TASK;
		if (!can_be(next, is_kernel))
			continue;
		if (found && (found->pid != next->pid || found->tid != next->tid))
			return VMOP_PID_NEAR_SWITCH;
		found = next;
	}
	if (!found) /* user mode where no task runs: the clock is further off than it claims */
		return VMOP_PID_NEAR_SWITCH;
	*ret_tid = found->tid;
	return found->pid;
}
