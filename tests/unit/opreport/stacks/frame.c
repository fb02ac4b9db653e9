// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/frame.h"

#include <cmocka.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/stack-end.h"
#include "opreport/query/idle.h"
#include "tests/unit/ok.h"

/* Equal keys have one number, also after the table grew. */
static void frames_are_interned(void **state)
{
	(void)state;
	_cleanup_(vmop_frames_deinit) struct vmop_frames frames = {0};
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 10000; i++) {
			const struct vmop_frame_key key = {.image = i % 10, .offset = i};
			uint32_t number;
			assert_ok(vmop_frames_intern(&frames, &key, 0, &number));
			assert_int_equal(number, i);
		}
	}
	assert_int_equal(frames.n, 10000);
}

/* Beyond the bound there is no number for a new frame. */
static void frames_are_bounded(void **state)
{
	(void)state;
	_cleanup_(vmop_frames_deinit) struct vmop_frames frames = {0};
	struct vmop_frame_key key = {0};
	uint32_t number;
	for (; key.offset < VMOP_FRAMES_MAX; key.offset++)
		assert_ok(vmop_frames_intern(&frames, &key, 0, &number));
	assert_ok(vmop_frames_intern(&frames, &key, 0, &number));
	assert_int_equal(number, VMOP_NO_FRAME);
	key.offset = 3;
	assert_ok(vmop_frames_intern(&frames, &key, 0, &number));
	assert_int_equal(number, 3);
}

static void words_have_names(void **state)
{
	(void)state;
	static const struct {
		struct vmop_frame_key key;
		const char *name;
	} cases[] = {
		{{.kind = VMOP_FRAME_END, .value = VMOP_STACK_COPY_SHORT}, "[copy too small]"},
		{{.kind = VMOP_FRAME_END, .value = 1000}, "[unknown end]"},
		{{.kind = VMOP_FRAME_DAMAGED}, "[damaged]"},
		{{.kind = VMOP_FRAME_LEFT_OUT}, "[left out]"},
		{{.kind = VMOP_FRAME_CPU, .value = 5}, "cpu 3"},
		{{.kind = VMOP_FRAME_VCPU, .value = 1}, "no vcpu"},
		{{.kind = VMOP_FRAME_CERTAINTY, .value = 2}, "likely"},
	};
	struct vmop_result result = {0};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct vmop_frame frame = {.key = cases[i].key};
		assert_string_equal(vmop_frame_name(&result, &frame), cases[i].name);
		assert_string_equal(vmop_frame_symbol_name(&result, &frame), cases[i].name);
	}
	vmop_arena_deinit(&result.catalog.arena);
}

/* Every end has a text and a word, and no two have the same. */
static void ends_differ(void **state)
{
	(void)state;
	for (unsigned a = 0; a < VMOP_N_STACK_ENDS; a++) {
		assert_non_null(vmop_stack_end_text(a));
		for (unsigned b = 0; b < a; b++) {
			assert_string_not_equal(vmop_stack_end_text(a), vmop_stack_end_text(b));
			assert_string_not_equal(vmop_stack_end_word(a), vmop_stack_end_word(b));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_interned),
		cmocka_unit_test(frames_are_bounded),
		cmocka_unit_test(words_have_names),
		cmocka_unit_test(ends_differ),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
