// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/off-cpu/scheduler-code.h"

/* kernel/sched/core.c, kernel/time/sleep_timeout.c; arch: __switch_to() */
static const char *const names[] = {
	"__switch_to_asm",
	"__switch_to",
	"__schedule",
	"schedule",
	"schedule_idle",
	"schedule_preempt_disabled",
	"schedule_rtlock",
	"preempt_schedule",
	"preempt_schedule_common",
	"preempt_schedule_irq",
	"schedule_timeout",
	"schedule_hrtimeout_range",
	"schedule_hrtimeout_range_clock",
	"schedule_hrtimeout",
	"io_schedule",
	"io_schedule_timeout",
};
_Static_assert(sizeof(names) / sizeof(names[0]) <= VMOP_SCHEDULER_FUNCTIONS, "room for each");

void vmop_scheduler_code_find(struct vmop_guest *guest, struct vmop_scheduler_code *ret)
{
	struct vmop_guest_symbol symbol;
	uint64_t address;
	ret->n = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!vmop_guest_symbol_address(guest, names[i], &address) ||
		    !vmop_guest_symbol_at(guest, address, &symbol) || symbol.address != address)
			continue;
		ret->at[ret->n].start = address;
		ret->at[ret->n++].end = address + symbol.len_bytes;
	}
}

static bool contains(const struct vmop_scheduler_code *code, uint64_t address)
{
	for (size_t i = 0; i < code->n; i++)
		if (address >= code->at[i].start && address < code->at[i].end)
			return true;
	return false;
}

size_t vmop_scheduler_code_skip(const struct vmop_scheduler_code *code,
				const struct vmop_stack_frame *frames, size_t n)
{
	size_t i = 0;
	/* A call can be the last instruction of its function. */
	while (i < n && contains(code, frames[i].address - !frames[i].is_interrupted))
		i++;
	return i < n ? i : n ? n - 1 : 0;
}
