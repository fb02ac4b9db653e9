// SPDX-License-Identifier: GPL-2.0-or-later
/* The text of a synthetic guest's kernel, into which the test writes calls and jumps. */
#include "daemon/guest/stacks/kernel-text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/libguest/opened.h"

enum { CALL = 0xe8, JMP = 0xe9 };

static int begin(void **state)
{
	(void)state;
	open_found(&(struct synthetic_options){0});
	return 0;
}

static int end(void **state)
{
	(void)state;
	close_guest();
	return 0;
}

static uint64_t address_of(const char *name)
{
	for (size_t i = 0; i < made.symbol_count; i++)
		if (strcmp(made.symbols[i].name, name) == 0)
			return made.symbols[i].address;
	fail_msg("no %s", name);
	return 0;
}

/* Write a branch from the start of a function to that of another one. */
static void write_branch(uint8_t opcode, const char *from, const char *to)
{
	int32_t relative = (int32_t)(address_of(to) - address_of(from) - 5);
	uint8_t *at = synthetic_at(&made, address_of(from));
	at[0] = opcode;
	memcpy(at + 1, &relative, sizeof(relative));
}

/* Return whether only direct calls reach a function, as the code is now. */
static bool is_only_named(const char *name)
{
	struct vmop_guest_kernel_text *text = vmop_guest_kernel_text_create(guest, true, NULL);
	struct vmop_kernel_function function;
	struct vmop_kernel_text view;
	assert_true(vmop_guest_kernel_text_is_usable(text));
	vmop_guest_kernel_text_view(text, &view);
	assert_true(view.find_function(view.arg, address_of(name), &function));
	assert_true(function.start == address_of(name));
	vmop_guest_kernel_text_destroy(text);
	return function.is_only_named;
}

/* A function that a pointer may reach by way of a tail call is not only named. */
static void tail_calls_of_pointers_targets_are_found(void **state)
{
	(void)state;
	assert_false(is_only_named("filler_40"));
	write_branch(CALL, "filler_10", "filler_40");
	assert_true(is_only_named("filler_40"));
	write_branch(JMP, "filler_20", "filler_40");
	assert_false(is_only_named("filler_40"));
	/* Now the function with the jump has a name, too. */
	write_branch(CALL, "filler_30", "filler_20");
	assert_true(is_only_named("filler_40"));
}

static void a_text_without_code_is_not_usable(void **state)
{
	(void)state;
	struct vmop_guest_kernel_text *text = vmop_guest_kernel_text_create(guest, false, NULL);
	assert_non_null(text);
	assert_false(vmop_guest_kernel_text_is_usable(text));
	vmop_guest_kernel_text_destroy(text);
	assert_false(vmop_guest_kernel_text_is_usable(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tail_calls_of_pointers_targets_are_found, begin,
						end),
		cmocka_unit_test_setup_teardown(a_text_without_code_is_not_usable, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
