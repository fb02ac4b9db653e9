// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/kernel/search.h"

#include <stdlib.h>
#include <string.h>

#include "libstack/kernel/orc-entry.h"
#include "libstack/kernel/orc.h"
#include "libstack/kernel/pt-regs.h"
#include "libutil/error.h"

enum {
	WORD_BYTES = 8,
	MAX_FRAMES = VMOP_STACK_FRAMES_MAX + 1,
	MAX_STEPS = 1 << 12, /* of all chains of a search */
	/* Code that is searched for tail calls: at first, and further code with each search. */
	MAX_SEARCHED_BYTES = 1 << 21,
	MORE_SEARCHED_BYTES = 1 << 16,
};

struct vmop_kernel_searcher {
	struct vmop_kernel_calls calls;
	struct vmop_stack_frame frames[MAX_FRAMES]; /* of the chain that is tried */
};

struct vmop_error *vmop_kernel_searcher_create(struct vmop_kernel_searcher **ret)
{
	*ret = malloc(sizeof(**ret));
	if (!*ret)
		return &vmop_error_no_memory;
	vmop_kernel_searcher_reset(*ret);
	return NULL;
}

void vmop_kernel_searcher_destroy(struct vmop_kernel_searcher *searcher)
{
	free(searcher);
}

void vmop_kernel_searcher_reset(struct vmop_kernel_searcher *searcher)
{
	memset(&searcher->calls, 0, sizeof(searcher->calls));
	searcher->calls.bytes_left = MAX_SEARCHED_BYTES;
}

/* How well a chain agrees with the kernel's code; lower is better. */
struct rank {
	uint32_t n_mismatches;
	bool is_first_indirect; /* it is not known what the innermost call calls */
	/*
	 * Calls by a pointer, seemingly of functions that others call by their names, or of one
	 * that runs already.
	 */
	uint32_t n_doubtful;
};

struct attempt {
	struct vmop_kernel_searcher *searcher;
	const struct vmop_kernel_search *search;
	size_t steps_left;
	uint32_t n_possible;
	bool has_best;
	uint64_t best_sp;
	struct rank best;
};

/* ---- one chain ------------------------------------------------------------- */

static bool has_right_end(const struct vmop_kernel_search *search,
			  const struct vmop_kernel_unwound *unwound)
{
	const struct vmop_kernel_entry *entry = &unwound->entry;
	if (unwound->end != VMOP_STACK_COMPLETE || entry->is_known != search->has_user)
		return false;
	return !search->has_user || (entry->pc == search->user_pc && entry->sp == search->user_sp);
}

/*
 * Rank a call by a pointer, at `caller`, after which the CPU is in the function of `below`. A
 * caller that also calls that function by its name has left the remains of such a call.
 */
static void rank_indirect_call(struct attempt *attempt, uint64_t caller, uint64_t below,
			       struct rank *rank)
{
	const struct vmop_kernel_text *text = attempt->search->text;
	struct vmop_kernel_function from, to;
	if (!text->find_function(text->arg, caller, &from) ||
	    !text->find_function(text->arg, below, &to))
		return;
	rank->n_doubtful += to.is_only_named || vmop_kernel_calls_by_name(&attempt->searcher->calls,
									  text, &from, to.start);
	/* A function that calls itself knows its name. */
	rank->n_mismatches += from.start == to.start;
}

/*
 * Return whether the innermost function is also a caller. Below a function's frame are remains of
 * what it has called before, and a chain from there comes back to it.
 */
static bool is_repeated(const struct attempt *attempt, size_t n)
{
	const struct vmop_stack_frame *frames = attempt->searcher->frames;
	const struct vmop_kernel_text *text = attempt->search->text;
	struct vmop_kernel_function function;
	if (!text->find_function(text->arg, frames[0].address, &function))
		return false;
	for (size_t i = 1; i < n && !frames[i].is_interrupted; i++)
		if (frames[i].address - 1 - function.start < function.end - function.start)
			return true;
	return false;
}

/* Compare each call of a chain with the function below. Return false if one is impossible. */
static bool rank_calls(struct attempt *attempt, size_t n, struct rank *ret)
{
	const struct vmop_stack_frame *frames = attempt->searcher->frames;
	const struct vmop_kernel_text *text = attempt->search->text;
	*ret = (struct rank){0};
	for (size_t i = 1; i < n; i++) {
		uint64_t target, below = frames[i - 1].address - !frames[i - 1].is_interrupted;
		if (frames[i].is_interrupted)
			continue;
		switch (vmop_kernel_call_before(text, frames[i].address, &target)) {
		case VMOP_KERNEL_CALL_NONE:
			/* A new thread's first return address is made by hand. */
			if (i + 1 < n || attempt->search->has_user)
				return false;
			break;
		case VMOP_KERNEL_CALL_UNKNOWN:
			ret->is_first_indirect |= i == 1;
			break;
		case VMOP_KERNEL_CALL_INDIRECT:
			ret->is_first_indirect |= i == 1;
			rank_indirect_call(attempt, frames[i].address - 1, below, ret);
			break;
		case VMOP_KERNEL_CALL_DIRECT:
			ret->n_mismatches += !vmop_kernel_call_reaches(&attempt->searcher->calls,
								       text, target, below);
		}
	}
	ret->n_doubtful += ret->is_first_indirect && is_repeated(attempt, n);
	return true;
}

static bool is_better(const struct attempt *attempt, const struct rank *rank)
{
	const struct rank *best = &attempt->best;
	if (!attempt->has_best || rank->n_mismatches != best->n_mismatches)
		return !attempt->has_best || rank->n_mismatches < best->n_mismatches;
	if (rank->is_first_indirect != best->is_first_indirect)
		return rank->is_first_indirect < best->is_first_indirect;
	return rank->n_doubtful < best->n_doubtful;
}

/* Try a stack pointer. Lower ones were tried before. */
static void try_sp(struct attempt *attempt, uint64_t sp)
{
	struct vmop_kernel_regs regs = attempt->search->regs;
	struct vmop_kernel_unwound unwound;
	struct rank rank;
	size_t max_frames = attempt->steps_left < MAX_FRAMES ? attempt->steps_left : MAX_FRAMES;
	if (!max_frames)
		return;
	regs.sp = sp;
	vmop_orc_unwind(attempt->search->orc, &regs, &attempt->search->memory,
			attempt->searcher->frames, max_frames, &unwound);
	attempt->steps_left -= unwound.n_frames;
	if (!has_right_end(attempt->search, &unwound) ||
	    !rank_calls(attempt, unwound.n_frames, &rank))
		return;
	attempt->n_possible++;
	if (!is_better(attempt, &rank))
		return;
	attempt->has_best = true;
	attempt->best = rank;
	attempt->best_sp = sp;
}

/* ---- positions ------------------------------------------------------------- */

/* Return whether a stack has a return address at a position. */
static bool has_return_address(const struct attempt *attempt, uint64_t position)
{
	const struct vmop_kernel_search *search = attempt->search;
	uint64_t address, target;
	return vmop_kernel_memory_u64(&search->memory, position, &address) &&
	       vmop_orc_has_code(search->orc, address - 1) &&
	       vmop_kernel_call_before(search->text, address, &target) > VMOP_KERNEL_CALL_UNKNOWN;
}

/* Return whether segment registers of the kernel or of user code are where an entry saves them. */
static bool has_saved_segments(const struct attempt *attempt, uint64_t position)
{
	/* Kernel: arch/x86/include/asm/segment.h; Xen's PV guests have others. */
	enum { KERNEL_CS = 0x10, USER_CS = 0x33, USER32_CS = 0x23 };
	uint64_t cs;
	return vmop_kernel_memory_u64(&attempt->search->memory, position, &cs) &&
	       ((cs & 0xffff) == KERNEL_CS || (cs & 0xffff) == USER_CS ||
		(cs & 0xffff) == USER32_CS);
}

/* Return whether a position can be what the entry of the innermost code needs at its offset. */
static bool is_possible(const struct attempt *attempt, const struct vmop_orc_entry *entry,
			uint64_t position)
{
	enum { PARTIAL_CS = 8 };
	switch (entry->type) {
	case VMOP_ORC_TYPE_CALL:
		return entry->sp_reg != VMOP_ORC_SP ||
		       has_return_address(attempt, position - WORD_BYTES);
	case VMOP_ORC_TYPE_REGS:
		return has_saved_segments(attempt, position + VMOP_PT_CS * WORD_BYTES);
	default:
		return has_saved_segments(attempt, position + PARTIAL_CS);
	}
}

static void try_stack(struct attempt *attempt, const struct vmop_orc_entry *entry, uint64_t start,
		      uint64_t end)
{
	uint64_t offset = entry->sp_reg == VMOP_ORC_SP ? (uint64_t)(int64_t)entry->sp_offset : 0;
	for (uint64_t sp = start; sp < end && end - sp >= WORD_BYTES && attempt->steps_left;
	     sp += WORD_BYTES) {
		if (is_possible(attempt, entry, sp + offset))
			try_sp(attempt, sp);
	}
}

/* Return whether the frame of the innermost code does not depend on the stack pointer. */
static bool needs_no_sp(const struct vmop_orc_entry *entry)
{
	return entry->type == VMOP_ORC_TYPE_END ||
	       (entry->sp_reg != VMOP_ORC_SP && entry->sp_reg != VMOP_ORC_SP_INDIRECT);
}

bool vmop_kernel_search(struct vmop_kernel_searcher *searcher,
			const struct vmop_kernel_search *search, struct vmop_stack_frame *frames,
			size_t max_frames, struct vmop_kernel_unwound *ret,
			struct vmop_kernel_found *ret_found)
{
	struct attempt attempt = {.searcher = searcher, .search = search, .steps_left = MAX_STEPS};
	struct vmop_kernel_regs regs = search->regs;
	struct vmop_orc_entry entry = vmop_orc_find(search->orc, regs.pc - !regs.is_interrupted);
	/* Code that the kernel does not describe has its return address on top (orc.c). */
	if (entry.type == VMOP_ORC_TYPE_UNDEFINED)
		entry = (struct vmop_orc_entry){
			.type = VMOP_ORC_TYPE_CALL, .sp_reg = VMOP_ORC_SP, .sp_offset = 8};
	bool is_certain = needs_no_sp(&entry);
	regs.sp = 0;
	if (searcher->calls.bytes_left < MAX_SEARCHED_BYTES)
		searcher->calls.bytes_left += MORE_SEARCHED_BYTES;
	for (size_t i = 0; i < search->n_stacks && !is_certain; i++)
		try_stack(&attempt, &entry, search->stacks[i].start, search->stacks[i].end);
	*ret_found = (struct vmop_kernel_found){.sp = attempt.best_sp,
						.n_possible = attempt.n_possible,
						.n_mismatches = attempt.best.n_mismatches,
						.is_certain = is_certain};
	bool is_found =
		attempt.has_best && (search->has_all_stacks || attempt.best.n_mismatches == 0);
	if (!is_certain && !is_found) {
		frames[0] = (struct vmop_stack_frame){.address = regs.pc,
						      .is_interrupted = regs.is_interrupted};
		*ret = (struct vmop_kernel_unwound){.n_frames = 1, .end = VMOP_STACK_NOT_RECORDED};
		return false;
	}
	regs.sp = attempt.best_sp;
	vmop_orc_unwind(search->orc, &regs, &search->memory, frames, max_frames, ret);
	return true;
}
