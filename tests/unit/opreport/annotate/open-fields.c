// SPDX-License-Identifier: GPL-2.0-or-later
/* Texts of instructions with fields that a module's file leaves open. */
#include "opreport/annotate/open-fields.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define BASE 0x4000

/* Check the text of an instruction of 5 bytes at offset 0x10, whose field is at 0x11. */
static void check(const char *instruction_text, struct vmop_code_field field, const char *wanted)
{
	struct vmop_annotation annotation = {0};
	struct vmop_instruction instruction = {.address = BASE + 0x10, .len_bytes = 5};
	const char *text;
	strcpy(instruction.text, instruction_text);
	field.offset = 0x11;
	field.len_bytes = 4;
	assert_null(vmop_open_field_text(&annotation, &instruction, &field, BASE, &text));
	assert_string_equal(text, wanted);
	vmop_annotation_deinit(&annotation);
}

static void targets_of_calls_are_replaced(void **state)
{
	(void)state;
	struct vmop_code_field printk = {
		.name = "_printk", .addend = -4, .is_distance = true, .is_from_end = true};
	check("callq 0x4015", printk, "callq _printk");
	printk.addend = 4;
	check("jmp 0x4015", printk, "jmp _printk+0x8");
	const struct vmop_code_field arm64 = {.name = "_printk", .is_distance = true};
	check("bl #0x4010", arm64, "bl _printk");
	const struct vmop_code_field inside = {.name = "",
					       .addend = -4,
					       .is_inside = true,
					       .target = 0x200,
					       .is_distance = true,
					       .is_from_end = true};
	check("callq 0x4015", inside, "callq 0x4200");
}

static void other_operands_get_a_comment(void **state)
{
	(void)state;
	const struct vmop_code_field data = {
		.name = "jiffies", .addend = -4, .is_distance = true, .is_from_end = true};
	check("movq (%rip), %rax", data, "movq (%rip), %rax  ; jiffies");
	const struct vmop_code_field text = {.name = ".rodata.str1.1", .addend = 0x20};
	check("movq $0, %rdi", text, "movq $0, %rdi  ; .rodata.str1.1+0x20");
	const struct vmop_code_field before = {.name = "table", .addend = -8};
	check("movq $0, %rdi", before, "movq $0, %rdi  ; table-0x8");
	/* An absolute number is no target. */
	check("pushq $0", text, "pushq $0  ; .rodata.str1.1+0x20");
	check("retq", before, "retq  ; table-0x8");
	const struct vmop_code_field least = {.name = "table", .addend = INT64_MIN};
	check("retq", least, "retq  ; table-0x8000000000000000");
}

static void long_names_are_cut(void **state)
{
	(void)state;
	char name[65536], wanted[1024];
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	const struct vmop_code_field field = {.name = name, .is_distance = true};
	snprintf(wanted, sizeof(wanted), "callq %.512s", name);
	check("callq 0x4015", field, wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_of_calls_are_replaced),
		cmocka_unit_test(other_operands_get_a_comment),
		cmocka_unit_test(long_names_are_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
