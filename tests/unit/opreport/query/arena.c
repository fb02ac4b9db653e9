// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/arena.h"

#include <cmocka.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 100000 };

static void memory_is_zeroed_and_aligned(void **state)
{
	(void)state;
	struct vmop_arena arena = {0};
	for (size_t len = 1; len < 200000; len += len / 2 + 1) {
		const unsigned char *bytes = vmop_arena_alloc(&arena, len);
		assert_non_null(bytes);
		assert_int_equal((uintptr_t)bytes % _Alignof(max_align_t), 0);
		for (size_t i = 0; i < len; i++)
			assert_int_equal(bytes[i], 0);
		memset((void *)bytes, 0xff, len); /* the next piece must not be this one */
	}
	assert_null(vmop_arena_alloc(&arena, SIZE_MAX - 8));
	vmop_arena_deinit(&arena);
	assert_null(arena.blocks);
}

static void texts_are_copies(void **state)
{
	(void)state;
	struct vmop_arena arena = {0};
	char name[] = "before";
	const char *copy = vmop_arena_text(&arena, name);
	const char *made = vmop_arena_format(&arena, "%s, %d", name, 42);
	memcpy(name, "behind", sizeof(name));
	assert_string_equal(copy, "before");
	assert_string_equal(made, "before, 42");
	assert_string_equal(vmop_arena_text(&arena, NULL), "");
	assert_string_equal(vmop_arena_format(&arena, "%s", ""), "");
	vmop_arena_deinit(&arena);
}

static void a_text_may_be_longer_than_a_block(void **state)
{
	(void)state;
	struct vmop_arena arena = {0};
	const char *made = vmop_arena_format(&arena, "%*s|", LONG, "x");
	assert_non_null(made);
	assert_int_equal(strlen(made), LONG + 1);
	assert_string_equal(made + LONG - 2, " x|");
	vmop_arena_deinit(&arena);
}

/* Names that are cut must stay different, and whole characters. */
static void long_names_are_cut(void **state)
{
	(void)state;
	struct vmop_arena arena = {0};
	char *name = malloc(LONG + 1);
	assert_non_null(name);
	memset(name, 'n', LONG);
	name[LONG] = '\0';
	name[VMOP_NAME_MAX_BYTES - 1] = (char)0xc3; /* an a with dots is 0xc3 0xa4 */
	name[VMOP_NAME_MAX_BYTES] = (char)0xa4;
	const char *first = vmop_arena_name(&arena, name);
	name[LONG - 1] = 'm';
	const char *second = vmop_arena_name(&arena, name);
	assert_memory_equal(first, name, VMOP_NAME_MAX_BYTES - 1);
	assert_memory_equal(first + VMOP_NAME_MAX_BYTES - 1, "...[100000 bytes, ", 18);
	assert_string_not_equal(first, second);
	name[VMOP_NAME_MAX_BYTES - 1] = '\0';
	assert_string_equal(vmop_arena_name(&arena, name), name);
	free(name);
	vmop_arena_deinit(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_zeroed_and_aligned),
		cmocka_unit_test(texts_are_copies),
		cmocka_unit_test(a_text_may_be_longer_than_a_block),
		cmocka_unit_test(long_names_are_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
