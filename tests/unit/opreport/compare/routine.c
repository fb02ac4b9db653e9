// SPDX-License-Identifier: GPL-2.0-or-later
/* Test the names by which rows of different builds are joined. */
#include "opreport/compare/routine.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "vmop/domain.h"

static void functions(void **state)
{
	(void)state;
	static const struct {
		const char *shown, *function;
	} cases[] = {
		{"main", "main"},
		{"", ""},
		{"do_work.constprop.0", "do_work"},
		{"do_work.isra.12", "do_work"},
		{"do_work.part.3.constprop.0.cold", "do_work"},
		{"do_work.cold", "do_work"},
		{"do_work.cold.7", "do_work"},
		{"do_work.lto_priv.0", "do_work"},
		{"do_work.llvm.1234567890", "do_work"},
		{"a::b(int) [clone .isra.0]", "a::b(int)"},
		{"a::b [clone .constprop.0.isra.1.cold]", "a::b"},
		{"a::b [clone .part.0] [clone .cold]", "a::b"},
		{".cold", ".cold"},
		{"counter.1234", "counter.1234"}, /* a static variable's, or nested, function */
		{"x.part", "x"},
		{"x.party", "x.party"},
		{"x.cold.hot", "x.cold.hot"},
		{"x [clone .avx2]", "x [clone .avx2]"},
		{"x [clone ]", "x [clone ]"},
		{"x []", "x []"},
		{"[clone .cold]", "[clone .cold]"},
		{"[idle]", "[idle]"},
		{"(no symbols)", "(no symbols)"},
		{"..", ".."},
		{"x.", "x."},
		{"x.0", "x.0"},
		{".0", ".0"},
	};
	struct vmop_arena arena = {0};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(vmop_routine_function(&arena, cases[i].shown),
				    cases[i].function);
	vmop_arena_deinit(&arena);
}

/* A name that a guest chose, of 64 KiB of suffixes: linear time, and an empty function is none. */
static void a_long_name(void **state)
{
	(void)state;
	struct vmop_arena arena = {0};
	enum { N = 8192 };
	char *name = malloc(N * 8 + 2), *at = name;
	assert_non_null(name);
	*at++ = 'f';
	for (size_t i = 0; i < N; i++)
		at = stpcpy(at, ".part.10");
	assert_string_equal(vmop_routine_function(&arena, name), "f");
	assert_string_equal(vmop_routine_function(&arena, name + 1), ".part.10");
	free(name);
	vmop_arena_deinit(&arena);
}

static const char *image(enum vmop_image_kind kind, const char *name)
{
	const struct vmop_image_item item = {.kind = kind, .name = name};
	return vmop_routine_image(&item);
}

static void images(void **state)
{
	(void)state;
	assert_string_equal(image(VMOP_IMAGE_FILE, "/usr/bin/cg"), "cg");
	assert_string_equal(image(VMOP_IMAGE_FILE, "/opt/old/cg"), "cg");
	assert_string_equal(image(VMOP_IMAGE_KERNEL, "[kernel]"), "[kernel]");
	assert_string_equal(image(VMOP_IMAGE_GUEST_KERNEL, "[guest web kernel]"), "[kernel]");
	assert_string_equal(image(VMOP_IMAGE_GUEST_USER, "[guest web user]"), "[guest user]");
	assert_string_equal(image(VMOP_IMAGE_MODULE, "[ext4]"), "[ext4]");
	assert_string_equal(image(VMOP_IMAGE_ANON, "[anon:java]"), "[anon:java]");
	/* A file whose base name looks like vmop's words keeps its path. */
	assert_string_equal(image(VMOP_IMAGE_FILE, "/tmp/[kernel]"), "/tmp/[kernel]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions),
		cmocka_unit_test(a_long_name),
		cmocka_unit_test(images),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
