// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/kernel/arm64-code.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#define REGISTERS 32u
#define CALL_CLOBBERED 19u /* x0 to x18: AAPCS64, 6.1.1 */

struct state {
	uint64_t value[REGISTERS];
	bool is_known[REGISTERS];
	uint64_t *ret;
	size_t count, max;
};

static void put(struct state *state, uint64_t address)
{
	for (size_t i = 0; i < state->count; i++)
		if (state->ret[i] == address)
			return;
	if (state->count < state->max)
		state->ret[state->count++] = address;
}

static void set(struct state *state, uint32_t reg, uint64_t value)
{
	state->value[reg] = value;
	state->is_known[reg] = true;
}

/* Return the field of bits bits from bit low on. */
static uint32_t field(uint32_t instruction, unsigned int low, unsigned int bits)
{
	return instruction >> low & ((1u << bits) - 1);
}

/* Return immhi:immlo of ADR and ADRP: 21 bits, signed. */
static int64_t page_distance(uint32_t instruction)
{
	uint32_t number = field(instruction, 5, 19) << 2 | field(instruction, 29, 2);
	return (int64_t)((uint64_t)number << 43) >> 43;
}

/* Return imm9 of loads and stores that write back: 9 bits, signed. */
static int64_t index_distance(uint32_t instruction)
{
	return (int64_t)((uint64_t)field(instruction, 12, 9) << 55) >> 55;
}

static void step(struct state *state, uint32_t instruction, uint64_t pc)
{
	uint32_t rd = field(instruction, 0, 5), rn = field(instruction, 5, 5);
	uint64_t offset = field(instruction, 10, 12);
	if ((instruction & 0x9f000000) == 0x90000000) { /* ADRP */
		set(state, rd,
		    (pc & ~UINT64_C(0xfff)) + ((uint64_t)page_distance(instruction) << 12));
	} else if ((instruction & 0x9f000000) == 0x10000000) { /* ADR */
		set(state, rd, pc + (uint64_t)page_distance(instruction));
		put(state, state->value[rd]);
	} else if ((instruction & 0xff800000) == 0x91000000) { /* ADD Xd, Xn, #imm */
		state->is_known[rd] = state->is_known[rn];
		state->value[rd] =
			state->value[rn] + (field(instruction, 22, 1) ? offset << 12 : offset);
		if (state->is_known[rd])
			put(state, state->value[rd]);
	} else if ((instruction & 0x3f000000) == 0x39000000) { /* LDR, STR Xt, [Xn, #imm] */
		if (state->is_known[rn])
			put(state, state->value[rn] + (offset << field(instruction, 30, 2)));
		if (field(instruction, 22, 2)) /* a load */
			state->is_known[rd] = false;
	} else if ((instruction & 0x3f200400) == 0x38000400) { /* [Xn, #imm]!, [Xn], #imm */
		uint64_t moved = state->value[rn] + (uint64_t)index_distance(instruction);
		if (state->is_known[rn])
			put(state, field(instruction, 11, 1) ? moved : state->value[rn]);
		state->value[rn] = moved;
		if (field(instruction, 22, 2))
			state->is_known[rd] = false;
	} else if ((instruction & 0xfc000000) == 0x94000000) { /* BL */
		memset(state->is_known, 0, CALL_CLOBBERED * sizeof(state->is_known[0]));
	}
}

size_t vmop_arm64_code_references(const uint8_t *code, size_t len_bytes, uint64_t address,
				  uint64_t *ret, size_t max)
{
	struct state state = {.ret = ret, .max = max};
	if (len_bytes > VMOP_ARM64_CODE_MAX_BYTES)
		len_bytes = VMOP_ARM64_CODE_MAX_BYTES;
	for (size_t at = 0; at + 4 <= len_bytes; at += 4) {
		uint32_t instruction;
		memcpy(&instruction, code + at, sizeof(instruction));
		step(&state, le32toh(instruction), address + at);
	}
	return state.count;
}
