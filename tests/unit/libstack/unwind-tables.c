// SPDX-License-Identifier: GPL-2.0-or-later
/* The unwinder with the tables of hand-made images: it keeps rules that it found. */
#include <cmocka.h>
#include <elf.h>

#include "libstack/table.h"
#include "libstack/unwind.h"
#include "libutil/error.h"
#include "tests/unit/libstack/synthetic.h"

/* Return the table of one function at SYNTHETIC_TEXT with a program. */
static struct vmop_cfi_table *table_of_program(const void *program, size_t n)
{
	struct synthetic_cfi cfi = {0};
	struct vmop_cfi_table *table = NULL;
	synthetic_usual_cie(&cfi, EM_X86_64);
	synthetic_fde(&cfi, SYNTHETIC_TEXT, 64, program, n);
	assert_null(synthetic_table(&(struct synthetic_image){.eh_frame = &cfi}, &table));
	synthetic_deinit(&cfi);
	return table;
}

static bool find_text(void *arg, uint64_t address, struct vmop_code_piece *ret)
{
	struct vmop_cfi_table **table = arg;
	*ret = (struct vmop_code_piece){.start = SYNTHETIC_TEXT,
					.end = SYNTHETIC_TEXT + SYNTHETIC_TEXT_BYTES,
					.offset = SYNTHETIC_TEXT,
					.table = *table,
					.state = VMOP_CODE_HAS_TABLE};
	return address - ret->start < SYNTHETIC_TEXT_BYTES;
}

/* An unwinder keeps rules by the table: another table at the same address has others. */
static void an_unwinder_outlives_tables(void **state)
{
	(void)state;
	static const uint8_t programs[][2] = {{0x0e, 8}, {0x0e, 16}};
	const uint64_t stack[] = {SYNTHETIC_TEXT + 0x101, SYNTHETIC_TEXT + 0x202, 0, 0};
	const uint64_t regs[VMOP_USER_REGS] = {[7] = 0x7000, [16] = SYNTHETIC_TEXT + 8};
	const struct vmop_stack_capture capture = {.user_regs = regs,
						   .user_stack = (const uint8_t *)stack,
						   .user_stack_bytes = sizeof(stack),
						   .user_stack_asked_bytes = sizeof(stack)};
	struct vmop_unwinder *unwinder;
	struct vmop_stack_frame frames[2];
	struct vmop_unwound unwound;
	assert_null(vmop_unwinder_create(EM_X86_64, &unwinder));
	for (size_t i = 0; i < 6; i++) {
		struct vmop_cfi_table *table =
			table_of_program(programs[i % 2], sizeof(programs[0]));
		const struct vmop_code_space space = {find_text, &table};
		for (int round = 0; round < 2; round++) {
			vmop_unwind(unwinder, &space, &capture, frames, 2, &unwound);
			assert_int_equal(unwound.n_frames, 2);
			assert_int_equal(frames[1].address, stack[i % 2]);
		}
		vmop_cfi_table_destroy(table);
	}
	vmop_unwinder_destroy(unwinder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_unwinder_outlives_tables),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
