// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/budget.h"

#include <time.h>

/* A step takes some nanoseconds, so the clocks are read about every 100 microseconds. */
#define STEPS_BETWEEN_LOOKS 8192

#define REASON(text) "too costly: " text

static const char *const reasons[] = {
	[VMOP_SYM_COST_MEMORY] = REASON("reading it takes more than 480 MiB of memory"),
	[VMOP_SYM_COST_READ] = REASON("more than 1 GiB of it would be read"),
	[VMOP_SYM_COST_STEPS] = REASON("its tables take too many steps"),
	[VMOP_SYM_COST_CPU_TIME] = REASON("reading it takes more than 1.7 s of CPU time"),
	[VMOP_SYM_COST_WALL_TIME] = REASON("reading it takes more than 30 s"),
	[VMOP_SYM_COST_SECTIONS] = REASON("it has more than 65536 sections"),
	[VMOP_SYM_COST_SEGMENTS] = REASON("it has more than 4096 segments"),
	[VMOP_SYM_COST_NOTES] = REASON("it has more than 4 MiB of notes"),
	[VMOP_SYM_COST_SYMBOLS] = REASON("it has more than 8388608 symbols, or their names are "
					 "too large"),
	[VMOP_SYM_COST_UNPACKING] = REASON("its mini debug info unpacks to more than 256 MiB"),
	[VMOP_SYM_COST_CHECKSUM] = REASON("its debug file is too large to be verified by a "
					  "checksum"),
};

_Static_assert(VMOP_SYM_BUDGET_MEMORY_BYTES == (uint64_t)480 << 20, "its reason names it");
_Static_assert(VMOP_SYM_BUDGET_READ_BYTES == (uint64_t)1 << 30, "its reason names it");
_Static_assert(VMOP_SYM_BUDGET_CPU_NS == 1700000000, "its reason names it");
_Static_assert(VMOP_SYM_BUDGET_WALL_NS == 30000000000, "its reason names it");

void vmop_sym_budget_init(struct vmop_sym_budget *budget)
{
	*budget = (struct vmop_sym_budget){
		.memory_left_bytes = VMOP_SYM_BUDGET_MEMORY_BYTES,
		.read_left_bytes = VMOP_SYM_BUDGET_READ_BYTES,
		.steps_left = VMOP_SYM_BUDGET_STEPS,
		.cpu_end_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) + VMOP_SYM_BUDGET_CPU_NS,
		.wall_end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + VMOP_SYM_BUDGET_WALL_NS,
		.steps_to_look = STEPS_BETWEEN_LOOKS,
	};
}

void vmop_sym_budget_init_shared(struct vmop_sym_budget *budget, uint64_t max_cpu_ns)
{
	vmop_sym_budget_init(budget);
	budget->steps_left = budget->read_left_bytes = UINT64_MAX;
	budget->wall_end_ns = UINT64_MAX;
	if (__builtin_add_overflow(vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID), max_cpu_ns,
				   &budget->cpu_end_ns))
		budget->cpu_end_ns = UINT64_MAX;
}

bool vmop_sym_budget_spend(struct vmop_sym_budget *budget, enum vmop_sym_cost cost)
{
	if (!budget->spent)
		budget->spent = cost;
	return false;
}

bool vmop_sym_budget_take_memory(struct vmop_sym_budget *budget, uint64_t len_bytes)
{
	if (len_bytes > budget->memory_left_bytes)
		return vmop_sym_budget_spend(budget, VMOP_SYM_COST_MEMORY);
	budget->memory_left_bytes -= len_bytes;
	return true;
}

void vmop_sym_budget_give_memory(struct vmop_sym_budget *budget, uint64_t len_bytes)
{
	budget->memory_left_bytes += len_bytes;
}

bool vmop_sym_budget_take_read(struct vmop_sym_budget *budget, uint64_t len_bytes)
{
	if (len_bytes > budget->read_left_bytes)
		return vmop_sym_budget_spend(budget, VMOP_SYM_COST_READ);
	budget->read_left_bytes -= len_bytes;
	/* Copying a page takes about as long as this many steps. */
	return vmop_sym_budget_take_steps(budget, len_bytes / 256 + 16);
}

bool vmop_sym_budget_look(struct vmop_sym_budget *budget)
{
	budget->steps_to_look = STEPS_BETWEEN_LOOKS;
	if (budget->spent)
		return false;
	if (vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) > budget->cpu_end_ns)
		return vmop_sym_budget_spend(budget, VMOP_SYM_COST_CPU_TIME);
	if (vmop_clock_ns(CLOCK_MONOTONIC) > budget->wall_end_ns)
		return vmop_sym_budget_spend(budget, VMOP_SYM_COST_WALL_TIME);
	return true;
}

bool vmop_sym_budget_take_steps_slowly(struct vmop_sym_budget *budget, uint64_t n)
{
	if (n > budget->steps_left)
		return vmop_sym_budget_spend(budget, VMOP_SYM_COST_STEPS);
	budget->steps_left -= n;
	return vmop_sym_budget_look(budget);
}

const char *vmop_sym_budget_message(const struct vmop_sym_budget *budget)
{
	return budget->spent ? reasons[budget->spent] : "too costly";
}

struct vmop_error *vmop_sym_budget_error(const struct vmop_sym_budget *budget, const char *path)
{
	return vmop_error_new(VMOP_ERROR_LIMIT, "%s: %s", path, vmop_sym_budget_message(budget));
}
