// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/kernel/orc.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "libstack/kernel/orc-entry.h"
#include "libstack/kernel/pt-regs.h"

/* The stack changes from an exception's or interrupt's to a task's; more often than this, it lies.
 */
enum { STACK_CHANGES_MAX = 8 };

enum { ORC_REGS = 16 };

/* The numbers of enum vmop_orc_register, before Linux 7.0 and since. */
static const uint8_t registers_before_7_0[ORC_REGS] = {
	[0] = VMOP_ORC_UNDEFINED,  [1] = VMOP_ORC_PREV_SP, [2] = VMOP_ORC_DX,
	[3] = VMOP_ORC_DI,	   [4] = VMOP_ORC_BP,	   [5] = VMOP_ORC_SP,
	[6] = VMOP_ORC_R10,	   [7] = VMOP_ORC_R13,	   [8] = VMOP_ORC_BP_INDIRECT,
	[9] = VMOP_ORC_SP_INDIRECT};
static const uint8_t registers_since_7_0[ORC_REGS] = {
	[0] = VMOP_ORC_UNDEFINED,   [2] = VMOP_ORC_DX,	    [3] = VMOP_ORC_SP,
	[4] = VMOP_ORC_BP,	    [5] = VMOP_ORC_DI,	    [6] = VMOP_ORC_R10,
	[7] = VMOP_ORC_R13,	    [8] = VMOP_ORC_PREV_SP, [9] = VMOP_ORC_SP_INDIRECT,
	[10] = VMOP_ORC_BP_INDIRECT};
/* The numbers of the stack pointer, which most entries have. */
enum { SP_BEFORE_7_0 = 5, SP_SINCE_7_0 = 3 };

/* Code outside of all sections has a frame pointer (kernel: orc_fp_entry). */
static const struct vmop_orc_entry frame_pointer_entry = {
	.sp_offset = 16,
	.bp_offset = -16,
	.sp_reg = VMOP_ORC_BP,
	.bp_reg = VMOP_ORC_PREV_SP,
	.type = VMOP_ORC_TYPE_CALL,
};

struct section {
	uint64_t text_start, text_end, ip_address;
	size_t n;
	uint8_t *ips, *entries; /* one allocation */
};

struct vmop_orc {
	struct vmop_orc_format format;
	const uint8_t *registers; /* enum vmop_orc_register by number */
	size_t n_sections;
	struct section sections[];
};

void vmop_orc_destroy(struct vmop_orc *orc)
{
	if (!orc)
		return;
	for (size_t i = 0; i < orc->n_sections; i++)
		free(orc->sections[i].ips);
	free(orc);
}

static int by_text(const void *a, const void *b)
{
	const struct section *left = a, *right = b;
	return (left->text_start > right->text_start) - (left->text_start < right->text_start);
}

static bool copy_section(const struct vmop_orc_section *from, struct section *to)
{
	*to = (struct section){.text_start = from->text_start,
			       .text_end = from->text_end,
			       .ip_address = from->ip_address,
			       .n = from->n};
	to->ips = malloc(from->n * VMOP_ORC_BYTES + 1);
	if (!to->ips)
		return false;
	to->entries = to->ips + 4 * from->n;
	memcpy(to->ips, from->ips, 4 * from->n);
	memcpy(to->entries, from->entries, VMOP_ORC_ENTRY_BYTES * from->n);
	return true;
}

/*
 * Return the numbers of registers in the tables. A kernel does not state them: they are those with
 * which more entries are relative to the stack pointer.
 */
static const uint8_t *find_registers(const struct vmop_orc *orc)
{
	size_t n[ORC_REGS] = {0};
	for (size_t i = 0; i < orc->n_sections; i++) {
		const struct section *section = &orc->sections[i];
		for (size_t j = 0; j < section->n; j++)
			n[section->entries[VMOP_ORC_ENTRY_BYTES * j + 4] & 15]++;
	}
	return n[SP_SINCE_7_0] > n[SP_BEFORE_7_0] ? registers_since_7_0 : registers_before_7_0;
}

struct vmop_error *vmop_orc_create(const struct vmop_orc_format *format,
				   const struct vmop_orc_section *sections, size_t n_sections,
				   struct vmop_orc **ret)
{
	bool is_known = (format->type_bits == 2 || format->type_bits == 3) &&
			format->type_bit + format->type_bits <= 8 * VMOP_ORC_ENTRY_BYTES &&
			format->end_bit < 8 * VMOP_ORC_ENTRY_BYTES &&
			(format->type_bits == 3 || format->end_bit);
	if (!is_known)
		return vmop_error_new(VMOP_ERROR_CORRUPT,
				      "the kernel's ORC entries have an unknown form");
	struct vmop_orc *orc = calloc(1, sizeof(*orc) + n_sections * sizeof(orc->sections[0]));
	if (!orc)
		return &vmop_error_no_memory;
	orc->format = *format;
	for (; orc->n_sections < n_sections; orc->n_sections++) {
		if (!copy_section(&sections[orc->n_sections], &orc->sections[orc->n_sections])) {
			vmop_orc_destroy(orc);
			return &vmop_error_no_memory;
		}
	}
	orc->registers = find_registers(orc);
	qsort(orc->sections, n_sections, sizeof(orc->sections[0]), by_text);
	*ret = orc;
	return NULL;
}

/* ---- look-up --------------------------------------------------------------- */

static uint64_t ip_at(const struct section *section, size_t i)
{
	uint32_t relative;
	memcpy(&relative, section->ips + 4 * i, sizeof(relative));
	return section->ip_address + 4 * i + (uint64_t)(int64_t)(int32_t)le32toh(relative);
}

static struct vmop_orc_entry entry_at(const struct vmop_orc *orc, const struct section *section,
				      size_t i)
{
	const struct vmop_orc_format *format = &orc->format;
	uint64_t bits = 0;
	memcpy(&bits, section->entries + VMOP_ORC_ENTRY_BYTES * i, VMOP_ORC_ENTRY_BYTES);
	bits = le64toh(bits);
	struct vmop_orc_entry entry = {
		.sp_offset = (int16_t)bits,
		.bp_offset = (int16_t)(bits >> 16),
		.sp_reg = orc->registers[bits >> 32 & 15],
		.bp_reg = orc->registers[bits >> 36 & 15],
		.type = bits >> format->type_bit & ((1u << format->type_bits) - 1),
	};
	/* Before Linux 6.4 types were CALL, REGS and REGS_PARTIAL, and an undefined rsp ended. */
	if (format->type_bits == 2) {
		bool is_end = bits >> format->end_bit & 1;
		entry.type = (uint8_t)(entry.type + VMOP_ORC_TYPE_CALL);
		if (entry.sp_reg == VMOP_ORC_UNDEFINED)
			entry.type = is_end ? VMOP_ORC_TYPE_END : VMOP_ORC_TYPE_UNDEFINED;
	}
	return entry;
}

static const struct section *find_section(const struct vmop_orc *orc, uint64_t address)
{
	size_t low = 0, high = orc->n_sections;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (orc->sections[middle].text_start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	const struct section *section = low ? &orc->sections[low - 1] : NULL;
	return section && address < section->text_end && section->n ? section : NULL;
}

struct vmop_orc_entry vmop_orc_find(const struct vmop_orc *orc, uint64_t address)
{
	const struct section *section = find_section(orc, address);
	if (!section)
		return frame_pointer_entry;
	size_t low = 0, high = section->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ip_at(section, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? entry_at(orc, section, low - 1)
		   : (struct vmop_orc_entry){.type = VMOP_ORC_TYPE_UNDEFINED};
}

bool vmop_orc_has_code(const struct vmop_orc *orc, uint64_t address)
{
	return find_section(orc, address) != NULL;
}

/* ---- steps ----------------------------------------------------------------- */

struct state {
	const struct vmop_kernel_memory *memory;
	struct vmop_kernel_regs regs;
	int changes_left;
	enum vmop_stack_end end; /* of a step that found no caller */
	bool is_user;
	struct vmop_kernel_entry entry;
};

static bool read_u64(struct state *state, uint64_t address, uint64_t *ret)
{
	if (vmop_kernel_memory_u64(state->memory, address, ret))
		return true;
	state->end = VMOP_STACK_COPY_SHORT;
	return false;
}

static bool take_other(struct state *state, uint64_t value, uint64_t *ret)
{
	*ret = value;
	return state->regs.has_others;
}

/* Set *ret to the caller's stack pointer, or for a saved register set to its address. */
static bool find_sp(struct state *state, const struct vmop_orc_entry *entry, uint64_t *ret)
{
	const struct vmop_kernel_regs *regs = &state->regs;
	uint64_t offset = (uint64_t)(int64_t)entry->sp_offset;
	switch (entry->sp_reg) {
	case VMOP_ORC_SP:
		*ret = regs->sp + offset;
		return true;
	case VMOP_ORC_BP:
		*ret = regs->fp + offset;
		return true;
	case VMOP_ORC_BP_INDIRECT:
		return read_u64(state, regs->fp + offset, ret);
	case VMOP_ORC_SP_INDIRECT: /* as of Linux 5.12; not in use before */
		if (!read_u64(state, regs->sp, ret))
			return false;
		*ret += offset;
		return true;
	case VMOP_ORC_R10:
		return take_other(state, regs->r10, ret);
	case VMOP_ORC_R13:
		return take_other(state, regs->r13, ret);
	case VMOP_ORC_DI:
		return take_other(state, regs->di, ret);
	case VMOP_ORC_DX:
		return take_other(state, regs->dx, ret);
	default:
		return false;
	}
}

/* Go on at the code that an exception or interrupt interrupted, whose registers are at address. */
static bool take_regs(struct state *state, uint64_t address)
{
	if (vmop_kernel_saved_regs(state->memory, address, &state->regs, &state->entry)) {
		state->is_user = state->entry.is_known;
		return true;
	}
	state->end = VMOP_STACK_COPY_SHORT;
	return false;
}

/* The same where only the five words that the CPU itself saves are on the stack. */
static bool take_partial_regs(struct state *state, uint64_t address)
{
	uint64_t pc, cs, sp;
	if (!read_u64(state, address, &pc) || !read_u64(state, address + 8, &cs) ||
	    !read_u64(state, address + 24, &sp))
		return false;
	state->is_user = (cs & 3) != 0;
	/* rbp is still in its register. */
	state->entry = (struct vmop_kernel_entry){.is_known = state->is_user,
						  .address = address - 8 * VMOP_PT_IP,
						  .pc = pc,
						  .sp = sp,
						  .fp = state->regs.fp};
	state->regs.pc = pc;
	state->regs.sp = sp;
	state->regs.is_interrupted = true;
	return true;
}

static bool take_caller(struct state *state, const struct vmop_orc_entry *entry, uint64_t sp)
{
	struct vmop_kernel_regs caller = {.sp = sp, .fp = state->regs.fp};
	if (!read_u64(state, sp - 8, &caller.pc))
		return false;
	uint64_t base = entry->bp_reg == VMOP_ORC_PREV_SP ? sp : state->regs.fp;
	bool is_saved = entry->bp_reg == VMOP_ORC_PREV_SP || entry->bp_reg == VMOP_ORC_BP;
	if (is_saved && !read_u64(state, base + (uint64_t)(int64_t)entry->bp_offset, &caller.fp))
		return false;
	state->regs = caller;
	return true;
}

/*
 * Return the entry of a frame's code. No call is before the address to which a new thread returns,
 * the start of a function (kernel: ret_from_fork).
 */
static struct vmop_orc_entry find_entry(const struct vmop_orc *orc,
					const struct vmop_kernel_regs *regs)
{
	struct vmop_orc_entry entry = vmop_orc_find(orc, regs->pc - !regs->is_interrupted);
	bool is_start = entry.type == VMOP_ORC_TYPE_UNDEFINED && !regs->is_interrupted;
	return is_start ? vmop_orc_find(orc, regs->pc) : entry;
}

/* Go to the caller's frame. Return false at the last frame, with the reason in state->end. */
static bool step(struct state *state, const struct vmop_orc *orc)
{
	struct vmop_kernel_regs before = state->regs;
	struct vmop_orc_entry entry = find_entry(orc, &before);
	uint64_t sp;
	bool is_good = false;
	state->end = VMOP_STACK_TORN;
	if (entry.type == VMOP_ORC_TYPE_END) {
		state->end = VMOP_STACK_COMPLETE;
		return false;
	}
	if (entry.type == VMOP_ORC_TYPE_UNDEFINED) {
		state->end = VMOP_STACK_NO_CFI;
		return false;
	}
	if (!find_sp(state, &entry, &sp))
		return false;
	if (entry.type == VMOP_ORC_TYPE_CALL)
		is_good = take_caller(state, &entry, sp);
	else if (entry.type == VMOP_ORC_TYPE_REGS)
		is_good = take_regs(state, sp);
	else if (entry.type == VMOP_ORC_TYPE_REGS_PARTIAL)
		is_good = take_partial_regs(state, sp);
	if (!is_good)
		return false;
	if (state->is_user) {
		state->end = VMOP_STACK_COMPLETE;
		return false;
	}
	/* Down or to the same place only where the stack changes. */
	return state->regs.sp > before.sp || state->changes_left-- > 0;
}

static void unwind(const struct vmop_orc *orc, const struct vmop_kernel_regs *regs,
		   const struct vmop_kernel_memory *memory, struct vmop_stack_frame *frames,
		   size_t max_frames, struct vmop_kernel_unwound *ret)
{
	struct state state = {.memory = memory, .regs = *regs, .changes_left = STACK_CHANGES_MAX};
	*ret = (struct vmop_kernel_unwound){0};
	do {
		if (ret->n_frames == max_frames) {
			ret->end = VMOP_STACK_DEPTH_LIMIT;
			return;
		}
		frames[ret->n_frames++] = (struct vmop_stack_frame){
			.address = state.regs.pc, .is_interrupted = state.regs.is_interrupted};
	} while (step(&state, orc));
	ret->end = state.end;
	ret->entry = state.entry;
}

/*
 * Unwind at an interrupted instruction that the kernel does not describe, such as one of a
 * retpoline (arch/x86/lib/retpoline.S). Its return address is on top of the stack, or below the
 * address that a retpoline calls over; the right one has a chain to the end.
 */
static bool unwind_undescribed(const struct vmop_orc *orc, const struct vmop_kernel_regs *regs,
			       const struct vmop_kernel_memory *memory,
			       struct vmop_stack_frame *frames, size_t max_frames,
			       struct vmop_kernel_unwound *ret)
{
	for (uint64_t offset = 0; offset <= 8; offset += 8) {
		struct vmop_kernel_regs caller = {.sp = regs->sp + offset + 8, .fp = regs->fp};
		if (!vmop_kernel_memory_u64(memory, regs->sp + offset, &caller.pc) ||
		    !vmop_orc_has_code(orc, caller.pc - 1))
			continue;
		unwind(orc, &caller, memory, frames, max_frames, ret);
		if (ret->end == VMOP_STACK_COMPLETE)
			return true;
	}
	return false;
}

void vmop_orc_unwind(const struct vmop_orc *orc, const struct vmop_kernel_regs *regs,
		     const struct vmop_kernel_memory *memory, struct vmop_stack_frame *frames,
		     size_t max_frames, struct vmop_kernel_unwound *ret)
{
	struct vmop_kernel_unwound callers;
	unwind(orc, regs, memory, frames, max_frames, ret);
	bool is_undescribed =
		ret->end == VMOP_STACK_NO_CFI && ret->n_frames == 1 && regs->is_interrupted;
	if (!is_undescribed || max_frames < 2 ||
	    !unwind_undescribed(orc, regs, memory, frames + 1, max_frames - 1, &callers))
		return;
	*ret = callers;
	ret->n_frames++;
}
