// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/arrange/losses.h"

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/ok.h"

/* Describe n losses, which are in order of name. The arena owns the result. */
static const char *describe(struct vmop_arena *arena, struct vmop_loss_item *losses, size_t n,
			    size_t n_sessions, bool is_of_part)
{
	struct vmop_catalog catalog = {.losses = losses, .n_losses = n, .n_sessions = n_sessions};
	const char *text;
	assert_ok(vmop_losses_describe(&catalog, is_of_part, arena, &text));
	return text;
}

static void losses_are_summed_by_name(void **state)
{
	(void)state;
	struct vmop_arena arena = {0};
	struct vmop_loss_item losses[] = {{.name = "kept", .count = 0},
					  {.name = "lost", .count = 2},
					  {.name = "lost", .domain = 1, .count = 3},
					  {.name = "throttled", .count = 7}};
	assert_string_equal(describe(&arena, losses, 4, 1, false), "lost 5, throttled 7");
	assert_string_equal(describe(&arena, losses, 4, 1, true),
			    "lost 5, throttled 7 (in the whole session)");
	assert_string_equal(describe(&arena, losses, 3, 2, true), "lost 5 (in the whole sessions)");
	assert_null(describe(&arena, losses, 1, 1, true));
	assert_null(describe(&arena, losses, 0, 1, false));
	vmop_arena_deinit(&arena);
}

static void names_are_bounded(void **state)
{
	(void)state;
	struct vmop_arena arena = {0};
	struct vmop_loss_item losses[40];
	char names[40][8];
	for (unsigned i = 0; i < 40; i++) {
		snprintf(names[i], sizeof(names[i]), "n%02u", i);
		losses[i] = (struct vmop_loss_item){.name = names[i], .count = i};
	}
	const char *text = describe(&arena, losses, 40, 1, false);
	/* The first one has no losses, so n33 to n39 are beyond the bound. */
	assert_non_null(strstr(text, ", n32 32, and 7 more names 252"));
	vmop_arena_deinit(&arena);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(losses_are_summed_by_name),
		cmocka_unit_test(names_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
