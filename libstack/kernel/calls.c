// SPDX-License-Identifier: GPL-2.0-or-later
/* Encodings of instructions: Intel 64 and IA-32 Architectures Software Developer's Manual, 2. */
#include "libstack/kernel/calls.h"

#include <endian.h>
#include <string.h>

enum {
	LONGEST_CALL_BYTES = 7,
	MAX_FUNCTION_BYTES = 1 << 15, /* of one function that are searched for jumps */
	MAX_FUNCTIONS = 256,	      /* on the way of tail calls */
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

/* A walk from a function along jumps out of functions, breadth first. */
struct walk {
	const struct vmop_kernel_text *text;
	uint64_t to; /* the start of the function that is looked for */
	bool is_found;
	size_t n, *bytes_left;
	struct vmop_kernel_function functions[MAX_FUNCTIONS];
};

static void add(struct walk *walk, const struct vmop_kernel_function *function)
{
	walk->is_found |= function->start == walk->to;
	for (size_t i = 0; i < walk->n; i++)
		if (walk->functions[i].start == function->start)
			return;
	if (walk->n < MAX_FUNCTIONS)
		walk->functions[walk->n++] = *function;
}

/* Follow a jump of a function, if it is one that a compiler makes. */
static void follow(struct walk *walk, const struct vmop_kernel_function *from, uint64_t target)
{
	struct vmop_kernel_function to;
	if (target - from->start < from->end - from->start ||
	    !walk->text->find_function(walk->text->arg, target, &to))
		return;
	if (to.start == target || to.is_cold)
		add(walk, &to);
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

/* Follow the jumps wherever their bytes are in a function. */
static void follow_jumps(struct walk *walk, const struct vmop_kernel_function *from)
{
	uint64_t size = from->end - from->start;
	size_t len_bytes = size < MAX_FUNCTION_BYTES ? (size_t)size : MAX_FUNCTION_BYTES;
	const uint8_t *code = walk->text->code(walk->text->arg, from->start, len_bytes);
	if (!code || len_bytes > *walk->bytes_left)
		return;
	*walk->bytes_left -= len_bytes;
	for (size_t i = 0; i < len_bytes; i++) {
		uint64_t target = jump_target(from->start + i, code + i, len_bytes - i);
		if (target)
			follow(walk, from, target);
	}
}

static bool jumps_to(struct walk *walk)
{
	size_t i = 0;
	for (int n = 0; n < MAX_TAIL_CALLS && !walk->is_found; n++)
		for (size_t end = walk->n; i < end; i++)
			follow_jumps(walk, &walk->functions[i]);
	return walk->is_found;
}

bool vmop_kernel_call_reaches(struct vmop_kernel_calls *calls, const struct vmop_kernel_text *text,
			      uint64_t target, uint64_t address)
{
	struct walk walk;
	struct vmop_kernel_function to;
	walk.text = text;
	walk.n = 1;
	walk.is_found = false;
	walk.bytes_left = &calls->bytes_left;
	if (!text->find_function(text->arg, target, &walk.functions[0]) ||
	    !text->find_function(text->arg, address, &to))
		return false;
	uint64_t from = walk.functions[0].start;
	walk.to = to.start;
	if (from == to.start)
		return true;
	uint64_t hash = (from * 31 + to.start) * UINT64_C(0x9e3779b97f4a7c15);
	size_t slot = hash >> 54;
	_Static_assert(VMOP_KERNEL_CALLS_MEMO == 1 << 10, "slots are the upper 10 bits");
	if (calls->memo[slot].from == from && calls->memo[slot].to == to.start)
		return calls->memo[slot].is_reached;
	if (!calls->bytes_left)
		return false;
	calls->memo[slot].is_reached = jumps_to(&walk);
	calls->memo[slot].from = from;
	calls->memo[slot].to = to.start;
	return calls->memo[slot].is_reached;
}
