// SPDX-License-Identifier: GPL-2.0-or-later
/* Instructions of both machines, in both syntaxes, and bytes that are none. */
#include "opreport/annotate/disassembly.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static struct vmop_disassembler *make(enum vmop_machine machine, enum vmop_syntax syntax)
{
	struct vmop_disassembler *disassembler;
	assert_null(vmop_disassembler_create(machine, syntax, &disassembler));
	return disassembler;
}

static void check(struct vmop_disassembler *with, const char *bytes, size_t len, size_t wanted_len,
		  const char *wanted)
{
	struct vmop_instruction instruction;
	assert_true(
		vmop_disassembler_next(with, (const uint8_t *)bytes, len, 0x1000, &instruction));
	assert_string_equal(instruction.text, wanted);
	assert_int_equal(instruction.len_bytes, wanted_len);
	assert_int_equal(instruction.address, 0x1000);
}

static void x86_is_decoded(void **state)
{
	(void)state;
	struct vmop_disassembler *att = make(VMOP_MACHINE_X86_64, VMOP_SYNTAX_ATT);
	struct vmop_disassembler *intel = make(VMOP_MACHINE_X86_64, VMOP_SYNTAX_INTEL);
	check(att, "\x48\x89\xd8\x90", 4, 3, "movq %rbx, %rax");
	check(intel, "\x48\x89\xd8\x90", 4, 3, "mov rax, rbx");
	check(att, "\xc3", 1, 1, "retq");
	check(att, "\xeb\x10", 2, 2, "jmp 0x1012");
	check(att, "\x06", 1, 1, ".byte 0x06");	    /* no instruction in 64-bit mode */
	check(att, "\x48\x89", 2, 1, ".byte 0x48"); /* cut off */
	struct vmop_instruction instruction;
	assert_false(vmop_disassembler_next(att, (const uint8_t *)"", 0, 0, &instruction));
	vmop_disassembler_destroy(att);
	vmop_disassembler_destroy(intel);
}

static void arm64_is_decoded(void **state)
{
	(void)state;
	struct vmop_disassembler *with = make(VMOP_MACHINE_ARM64, VMOP_SYNTAX_ATT);
	check(with, "\xc0\x03\x5f\xd6", 4, 4, "ret");
	check(with, "\xff\xff\xff\xff\0", 5, 4, ".inst 0xffffffff");
	check(with, "\xff\xff", 2, 1, ".byte 0xff");
	vmop_disassembler_destroy(with);
}

static void any_bytes_are_taken(void **state)
{
	(void)state;
	static const enum vmop_machine machines[] = {VMOP_MACHINE_X86_64, VMOP_MACHINE_ARM64};
	uint8_t bytes[4096];
	srandom(1);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)random();
	for (size_t m = 0; m < 2; m++) {
		struct vmop_disassembler *with = make(machines[m], VMOP_SYNTAX_ATT);
		struct vmop_instruction instruction;
		for (size_t at = 0; at < sizeof(bytes); at += instruction.len_bytes) {
			assert_true(vmop_disassembler_next(with, bytes + at, sizeof(bytes) - at, at,
							   &instruction));
			assert_in_range(instruction.len_bytes, 1, sizeof(bytes) - at);
			assert_true(*instruction.text);
		}
		vmop_disassembler_destroy(with);
	}
}

static void other_machines_are_refused(void **state)
{
	(void)state;
	struct vmop_disassembler *with;
	struct vmop_error *err =
		vmop_disassembler_create(VMOP_MACHINE_OTHER, VMOP_SYNTAX_ATT, &with);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_CANT);
	vmop_error_destroy(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86_is_decoded),
		cmocka_unit_test(arm64_is_decoded),
		cmocka_unit_test(any_bytes_are_taken),
		cmocka_unit_test(other_machines_are_refused),
	};
	if (!vmop_disassembler_exists())
		return 77; /* built without capstone */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
