// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kernels before 6.13 add up the stacks of a chain of calls, and refuse a program with more than
 * 512 bytes; later ones look at each function only. So a kernel of today does not find out.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "hv-interface/bpf/object.h"

enum {
	MAX_STACK_BYTES = 512,
	MAX_CALLS = 8, /* in a chain */
	FRAME_UNIT = 32,
	MAX_INSTRUCTIONS = 100000,
	FRAME_POINTER = 10,
};

static const struct bpf_insn *instructions;
static size_t n_instructions;
static bool is_start[MAX_INSTRUCTIONS]; /* of a function */

static bool is_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL;
}

/* Return whether a function's address is loaded, as bpf_loop takes it. */
static bool is_reference(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->src_reg == BPF_PSEUDO_FUNC;
}

static size_t target(size_t at)
{
	return (size_t)((long)at + 1 + instructions[at].imm);
}

/* Return how far below the frame pointer an instruction reaches. before: the one before, or NULL.
 */
static int reach(const struct bpf_insn *insn, const struct bpf_insn *before)
{
	uint8_t class = BPF_CLASS(insn->code);
	bool stores = class == BPF_ST || class == BPF_STX;
	if ((stores && insn->dst_reg == FRAME_POINTER) ||
	    (class == BPF_LDX && insn->src_reg == FRAME_POINTER))
		return -insn->off;
	bool is_address = before && before->code == (BPF_ALU64 | BPF_MOV | BPF_X) &&
			  before->src_reg == FRAME_POINTER && before->dst_reg == insn->dst_reg &&
			  insn->code == (BPF_ALU64 | BPF_ADD | BPF_K);
	return is_address ? -insn->imm : 0;
}

/* Return the bytes that a function needs with those that it calls; print the chain of the most. */
static int stack_of(size_t start, int n_calls)
{
	int own = 1, most = 0;
	assert_true(n_calls < MAX_CALLS);
	for (size_t at = start; at < n_instructions && (at == start || !is_start[at]); at++) {
		const struct bpf_insn *insn = &instructions[at];
		int bytes = reach(insn, at > start ? insn - 1 : NULL);
		own = bytes > own ? bytes : own;
		if (!is_call(insn) && !is_reference(insn))
			continue;
		bytes = stack_of(target(at), n_calls + 1);
		most = bytes > most ? bytes : most;
	}
	return (own + FRAME_UNIT - 1) / FRAME_UNIT * FRAME_UNIT + most;
}

static void the_stacks_of_a_chain_of_calls_fit(void **state)
{
	(void)state;
	for (size_t at = 0; at < n_instructions; at++) {
		if (is_call(&instructions[at]) || is_reference(&instructions[at])) {
			assert_true(target(at) < n_instructions);
			is_start[target(at)] = true;
		}
	}
	int bytes = stack_of(0, 0);
	printf("%d bytes of stack\n", bytes);
	assert_in_range(bytes, 2 * FRAME_UNIT, MAX_STACK_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stacks_of_a_chain_of_calls_fit),
	};
	size_t len_bytes = (size_t)(vmop_bpf_object_end - vmop_bpf_object);
	struct bpf_object *object = bpf_object__open_mem(vmop_bpf_object, len_bytes, NULL);
	struct bpf_program *program =
		object ? bpf_object__find_program_by_name(object, "vmop_sample") : NULL;
	if (!program)
		return 1;
	/* libbpf links the functions to the program when it is loaded. */
	if (bpf_object__load(object) < 0) {
		puts("skipped: the kernel refuses the program");
		bpf_object__close(object);
		return 77;
	}
	instructions = bpf_program__insns(program);
	n_instructions = bpf_program__insn_cnt(program);
	int status =
		n_instructions > MAX_INSTRUCTIONS ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
	bpf_object__close(object);
	return status;
}
