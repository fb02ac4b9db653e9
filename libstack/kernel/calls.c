// SPDX-License-Identifier: GPL-2.0-or-later
/* Encodings of instructions: Intel 64 and IA-32 Architectures Software Developer's Manual, 2. */
#include "libstack/kernel/calls.h"

#include <endian.h>
#include <string.h>

enum {
	LONGEST_CALL_BYTES = 7,
	MAX_FUNCTION_BYTES = 1 << 15, /* of one function that are searched for jumps */
	MAX_JUMPS = 1024,	      /* of one function */
	MAX_TAIL_CALLS = 4,	      /* one after the other */
};

static uint64_t add_displacement(uint64_t address, const uint8_t *bytes)
{
	uint32_t value;
	memcpy(&value, bytes, sizeof(value));
	return address + (uint64_t)(int64_t)(int32_t)le32toh(value);
}

/* ---- calls ----------------------------------------------------------------- */

/* A ModRM byte of `call`: FF /2 with these modes. */
static bool is_call_modrm(uint8_t modrm, unsigned mode, bool has_sib)
{
	bool is_sib = (modrm & 7) == 4;
	return modrm >> 6 == mode && (modrm >> 3 & 7) == 2 && (mode == 3 || is_sib == has_sib);
}

/* Return whether the bytes before end, which are LONGEST_CALL_BYTES, end with an indirect call. */
static bool ends_with_indirect_call(const uint8_t *end)
{
	enum { RIP_RELATIVE = 0x15, SIB = 0x14 };
	return (end[-2] == 0xff && is_call_modrm(end[-1], 3, false)) ||
	       (end[-2] == 0xff && is_call_modrm(end[-1], 0, false) && end[-1] != RIP_RELATIVE) ||
	       (end[-3] == 0xff && is_call_modrm(end[-2], 0, true)) ||
	       (end[-3] == 0xff && is_call_modrm(end[-2], 1, false)) ||
	       (end[-4] == 0xff && is_call_modrm(end[-3], 1, true)) ||
	       (end[-6] == 0xff && is_call_modrm(end[-5], 2, false)) ||
	       (end[-6] == 0xff && end[-5] == RIP_RELATIVE) ||
	       (end[-7] == 0xff && is_call_modrm(end[-6], 2, true)) ||
	       (end[-7] == 0xff && end[-6] == SIB && (end[-5] & 7) == 5);
}

/*
 * Return whether the code only goes on to an address in a register: the thunks to which compilers
 * and the kernel turn indirect calls (arch/x86/lib/retpoline.S), with or without a retpoline.
 */
static bool is_thunk(const struct vmop_kernel_text *text, uint64_t address)
{
	static const struct {
		uint8_t bytes[4], n;
	} skipped[] = {{{0xf3, 0x0f, 0x1e, 0xfa}, 4}, /* endbr64 */
		       {{0x0f, 0xae, 0xe8}, 3},	      /* lfence */
		       {{0x66, 0x90}, 2},
		       {{0x90}, 1}};
	enum { NEEDED_BYTES = 16, LONGEST_RETPOLINE = 0x20 };
	const uint8_t *at = text->code(text->arg, address, NEEDED_BYTES);
	if (!at)
		return false;
	for (size_t i = 0; i < sizeof(skipped) / sizeof(skipped[0]); i++)
		if (memcmp(at, skipped[i].bytes, skipped[i].n) == 0)
			at += skipped[i].n;
	if (at[0] == 0xe8) /* over a loop that only speculation runs */
		return at[1] && at[1] < LONGEST_RETPOLINE && !at[2] && !at[3] && !at[4];
	if (at[0] == 0x41) /* r8 to r15 */
		at++;
	return at[0] == 0xff && (at[1] & 0xf8) == 0xe0;
}

enum vmop_kernel_call vmop_kernel_call_before(const struct vmop_kernel_text *text,
					      uint64_t return_address, uint64_t *ret_target)
{
	const uint8_t *bytes =
		text->code(text->arg, return_address - LONGEST_CALL_BYTES, LONGEST_CALL_BYTES);
	if (!bytes)
		return VMOP_KERNEL_CALL_UNKNOWN;
	const uint8_t *end = bytes + LONGEST_CALL_BYTES;
	if (end[-5] == 0xe8) {
		*ret_target = add_displacement(return_address, end - 4);
		/* Else four bytes of another instruction. */
		if (text->code(text->arg, *ret_target, 1))
			return is_thunk(text, *ret_target) ? VMOP_KERNEL_CALL_INDIRECT
							   : VMOP_KERNEL_CALL_DIRECT;
	}
	return ends_with_indirect_call(end) ? VMOP_KERNEL_CALL_INDIRECT : VMOP_KERNEL_CALL_NONE;
}

/* ---- tail calls ------------------------------------------------------------ */

static uint64_t hash_of(uint64_t value)
{
	return value * UINT64_C(0x9e3779b97f4a7c15);
}

/* Note a jump of a function, if it is one that a compiler makes. */
static void add_jump(struct vmop_kernel_calls *calls, struct vmop_kernel_jumps *jumps,
		     const struct vmop_kernel_text *text, const struct vmop_kernel_function *from,
		     uint64_t target)
{
	struct vmop_kernel_function to;
	if (target - from->start < from->end - from->start || jumps->n == MAX_JUMPS ||
	    !text->find_function(text->arg, target, &to) || (to.start != target && !to.is_cold))
		return;
	calls->jumps[calls->n_jumps++] = to.start;
	jumps->n++;
}

/* Return the target of a JMP or Jcc rel8 or rel32 at address, or 0: it is another instruction. */
static uint64_t jump_target(uint64_t address, const uint8_t *code, size_t len_bytes)
{
	if (len_bytes >= 2 && (code[0] == 0xeb || (code[0] & 0xf0) == 0x70))
		return address + 2 + (uint64_t)(int64_t)(int8_t)code[1];
	if (len_bytes >= 5 && code[0] == 0xe9)
		return add_displacement(address + 5, code + 1);
	if (len_bytes >= 6 && code[0] == 0x0f && (code[1] & 0xf0) == 0x80)
		return add_displacement(address + 6, code + 2);
	return 0;
}

/*
 * Return whether code runs on into the function behind it, as at a label that is a symbol
 * (arch/x86/lib/putuser.S). Other functions are aligned, and padding is in front of them.
 */
static bool runs_on(const uint8_t *code, size_t len_bytes, uint64_t end)
{
	enum { ALIGNMENT = 16, RET = 0xc3, INT3 = 0xcc, NOP = 0x90, JMP8 = 0xeb, JMP = 0xe9 };
	if (len_bytes < 5 || end % ALIGNMENT == 0)
		return false;
	const uint8_t *last = code + len_bytes - 1;
	return *last != RET && *last != INT3 && *last != NOP && last[-1] != JMP8 && last[-4] != JMP;
}

/* Find the jumps wherever their bytes are in a function. */
static void scan(struct vmop_kernel_calls *calls, struct vmop_kernel_jumps *jumps,
		 const struct vmop_kernel_text *text, const struct vmop_kernel_function *from,
		 const uint8_t *code, size_t len_bytes)
{
	if (calls->n_jumps + MAX_JUMPS > VMOP_KERNEL_CALLS_JUMPS) {
		memset(calls->scanned, 0, sizeof(calls->scanned));
		calls->n_jumps = 0;
	}
	*jumps = (struct vmop_kernel_jumps){.from = from->start, .first = (uint32_t)calls->n_jumps};
	for (size_t i = 0; i < len_bytes; i++) {
		uint64_t target = jump_target(from->start + i, code + i, len_bytes - i);
		if (target)
			add_jump(calls, jumps, text, from, target);
	}
	if (len_bytes == from->end - from->start && runs_on(code, len_bytes, from->end))
		add_jump(calls, jumps, text, from, from->end);
}

/* Return the jumps of a function. NULL: the work is used up, or its code is not there. */
static const struct vmop_kernel_jumps *
find_jumps(struct vmop_kernel_calls *calls, const struct vmop_kernel_text *text, uint64_t start)
{
	struct vmop_kernel_jumps *jumps = &calls->scanned[hash_of(start) >> 53];
	_Static_assert(VMOP_KERNEL_CALLS_SCANNED == 1 << 11, "slots are the upper 11 bits");
	struct vmop_kernel_function from;
	if (jumps->from == start)
		return jumps;
	if (!text->find_function(text->arg, start, &from))
		return NULL;
	uint64_t size = from.end - from.start;
	size_t len_bytes = size < MAX_FUNCTION_BYTES ? (size_t)size : MAX_FUNCTION_BYTES;
	const uint8_t *code = text->code(text->arg, from.start, len_bytes);
	if (!code || len_bytes > calls->bytes_left)
		return NULL;
	calls->bytes_left -= len_bytes;
	scan(calls, jumps, text, &from, code, len_bytes);
	return jumps;
}

/* Add a function to the walk, unless it is there. */
static void add(struct vmop_kernel_calls *calls, uint64_t start)
{
	enum { SLOTS = 2 * VMOP_KERNEL_CALLS_WALK };
	_Static_assert(SLOTS == 1 << 11, "slots are the upper 11 bits");
	size_t slot = hash_of(start) >> 53;
	for (; calls->walk_slots[slot]; slot = (slot + 1) % SLOTS)
		if (calls->walk[calls->walk_slots[slot] - 1] == start)
			return;
	if (calls->n_walk == VMOP_KERNEL_CALLS_WALK)
		return;
	calls->walk[calls->n_walk++] = start;
	calls->walk_slots[slot] = (uint16_t)calls->n_walk;
}

/*
 * Walk from a function along jumps out of functions, breadth first. Return whether the way comes to
 * `to`. Set *ret_is_whole to false if the work was used up before.
 */
static bool jumps_to(struct vmop_kernel_calls *calls, const struct vmop_kernel_text *text,
		     uint64_t from, uint64_t to, bool *ret_is_whole)
{
	size_t i = 0;
	*ret_is_whole = true;
	memset(calls->walk_slots, 0, sizeof(calls->walk_slots));
	calls->n_walk = 0;
	add(calls, from);
	for (int n = 0; n < MAX_TAIL_CALLS; n++) {
		for (size_t end = calls->n_walk; i < end; i++) {
			const struct vmop_kernel_jumps *jumps =
				find_jumps(calls, text, calls->walk[i]);
			*ret_is_whole &= jumps || calls->bytes_left > MAX_FUNCTION_BYTES;
			for (size_t k = 0; jumps && k < jumps->n; k++) {
				if (calls->jumps[jumps->first + k] == to)
					return true;
				add(calls, calls->jumps[jumps->first + k]);
			}
		}
	}
	return false;
}

/* ---- questions -------------------------------------------------------------- */

enum question { REACHES = 1, CALLS_BY_NAME };

/* Return where the answer to a question is kept; *ret_is_known: it is there. */
static struct vmop_kernel_answer *find_answer(struct vmop_kernel_calls *calls,
					      enum question question, uint64_t from, uint64_t to,
					      bool *ret_is_known)
{
	size_t slot = hash_of(from * 31 + to + question) >> 54;
	_Static_assert(VMOP_KERNEL_CALLS_MEMO == 1 << 10, "slots are the upper 10 bits");
	struct vmop_kernel_answer *answer = &calls->memo[slot];
	*ret_is_known = answer->from == from && answer->to == to && answer->question == question;
	return answer;
}

static bool keep_answer(struct vmop_kernel_answer *answer, enum question question, uint64_t from,
			uint64_t to, bool is_yes)
{
	*answer = (struct vmop_kernel_answer){
		.from = from, .to = to, .question = (uint8_t)question, .is_yes = is_yes};
	return is_yes;
}

bool vmop_kernel_call_reaches(struct vmop_kernel_calls *calls, const struct vmop_kernel_text *text,
			      uint64_t target, uint64_t address)
{
	struct vmop_kernel_function from, to;
	bool is_known, is_whole;
	if (!text->find_function(text->arg, target, &from) ||
	    !text->find_function(text->arg, address, &to))
		return false;
	if (from.start == to.start)
		return true;
	struct vmop_kernel_answer *answer =
		find_answer(calls, REACHES, from.start, to.start, &is_known);
	if (is_known)
		return answer->is_yes;
	bool is_yes = jumps_to(calls, text, from.start, to.start, &is_whole);
	if (!is_yes && !is_whole)
		return false;
	return keep_answer(answer, REACHES, from.start, to.start, is_yes);
}

bool vmop_kernel_calls_by_name(struct vmop_kernel_calls *calls, const struct vmop_kernel_text *text,
			       const struct vmop_kernel_function *from, uint64_t to)
{
	enum { CALL = 0xe8, CALL_BYTES = 5 };
	bool is_known, is_yes = false;
	struct vmop_kernel_answer *answer =
		find_answer(calls, CALLS_BY_NAME, from->start, to, &is_known);
	if (is_known)
		return answer->is_yes;
	uint64_t size = from->end - from->start;
	size_t len_bytes = size < MAX_FUNCTION_BYTES ? (size_t)size : MAX_FUNCTION_BYTES;
	const uint8_t *code = text->code(text->arg, from->start, len_bytes);
	if (!code || len_bytes > calls->bytes_left)
		return false;
	calls->bytes_left -= len_bytes;
	for (size_t i = 0; i + CALL_BYTES <= len_bytes && !is_yes; i++)
		is_yes = code[i] == CALL &&
			 add_displacement(from->start + i + CALL_BYTES, code + i + 1) == to;
	return keep_answer(answer, CALLS_BY_NAME, from->start, to, is_yes);
}
