// SPDX-License-Identifier: GPL-2.0-or-later
/* Test how keys change the view. */
#include "opreport/top/top-view.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/clock.h"

static struct vmop_top_view view;

static int set_up(void **state)
{
	(void)state;
	vmop_top_view_init(&view, 2 * VMOP_NS_PER_S);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	vmop_top_view_deinit(&view);
	return 0;
}

/* Press a key on a view of 100 rows, 20 at once. */
static enum vmop_top_effect press(int key)
{
	return vmop_top_view_key(&view, key, 100, 20);
}

static void rows_are_selected(void **state)
{
	(void)state;
	static const struct {
		int key;
		size_t selected;
	} steps[] = {
		{VMOP_TOP_KEY_UP, 0},	      {VMOP_TOP_KEY_DOWN, 1},
		{VMOP_TOP_KEY_PAGE_DOWN, 21}, {VMOP_TOP_KEY_PAGE_UP, 1},
		{VMOP_TOP_KEY_PAGE_UP, 0},    {VMOP_TOP_KEY_END, 99},
		{VMOP_TOP_KEY_DOWN, 99},      {VMOP_TOP_KEY_PAGE_DOWN, 99},
		{VMOP_TOP_KEY_UP, 98},	      {VMOP_TOP_KEY_PAGE_DOWN, 99},
		{VMOP_TOP_KEY_HOME, 0},
	};
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		assert_int_equal(press(steps[i].key), VMOP_TOP_REDRAW);
		assert_int_equal(view.selected, steps[i].selected);
	}
	view.selected = 50;
	vmop_top_view_clamp(&view, 10);
	assert_int_equal(view.selected, 9);
	vmop_top_view_clamp(&view, 0);
	assert_int_equal(view.selected, 0);
	assert_int_equal(vmop_top_view_key(&view, VMOP_TOP_KEY_END, 0, 1), VMOP_TOP_REDRAW);
	assert_int_equal(view.selected, 0);
}

static void rows_are_entered_and_left(void **state)
{
	(void)state;
	view.selected = 3;
	assert_int_equal(press(VMOP_TOP_KEY_ENTER), VMOP_TOP_ENTER);
	vmop_top_view_enter(&view, "domain:db", "db");
	assert_int_equal(view.kind, VMOP_TOP_TASKS);
	assert_int_equal(view.selected, 0);
	vmop_top_view_enter(&view, "task:a", "a");
	vmop_top_view_enter(&view, "image:b", "b");
	assert_int_equal(view.kind, VMOP_TOP_SYMBOLS);
	assert_int_equal(press(VMOP_TOP_KEY_ENTER), VMOP_TOP_NOTHING);
	vmop_top_view_enter(&view, "symbol:c", "c");
	assert_int_equal(view.n_levels, 3);
	assert_string_equal(view.levels[1].word, "task:a");
	for (int kind = VMOP_TOP_IMAGES; kind >= VMOP_TOP_DOMAINS; kind--) {
		assert_int_equal(press(VMOP_TOP_KEY_BACK), VMOP_TOP_REFRESH);
		assert_int_equal(view.kind, kind);
	}
	assert_int_equal(view.selected, 3);
	assert_int_equal(press(VMOP_TOP_KEY_BACK), VMOP_TOP_NOTHING);
}

static void kinds_keep_the_rows_above(void **state)
{
	(void)state;
	vmop_top_view_enter(&view, "domain:db", "db");
	vmop_top_view_enter(&view, "task:a", "a");
	assert_int_equal(press('s'), VMOP_TOP_REFRESH);
	assert_int_equal(view.n_levels, 2); /* the symbols of db's task a */
	assert_int_equal(press('t'), VMOP_TOP_REFRESH);
	assert_int_equal(view.n_levels, 1);
	assert_int_equal(press('d'), VMOP_TOP_REFRESH);
	assert_int_equal(view.n_levels, 0);
	assert_int_equal(press('c'), VMOP_TOP_REFRESH);
	assert_int_equal(view.kind, VMOP_TOP_CERTAINTY);
	assert_int_equal(press(VMOP_TOP_KEY_ENTER), VMOP_TOP_NOTHING);
}

static void type(const char *text)
{
	for (; *text; text++)
		press((unsigned char)*text);
}

static void a_filter_is_typed(void **state)
{
	(void)state;
	press('/');
	assert_true(view.is_typing);
	type("q\xc3\xa4h");
	assert_string_equal(view.filter, "q\xc3\xa4h"); /* q does not quit here */
	press(VMOP_TOP_KEY_BACK);
	press(VMOP_TOP_KEY_BACK);
	assert_string_equal(view.filter, "q"); /* a character of two bytes is one */
	press(VMOP_TOP_KEY_BACK);
	press(VMOP_TOP_KEY_BACK);
	assert_string_equal(view.filter, "");
	type("main");
	assert_int_equal(press('\x01'), VMOP_TOP_NOTHING);
	press(VMOP_TOP_KEY_ENTER);
	assert_false(view.is_typing);
	assert_int_equal(press(VMOP_TOP_KEY_BACK), VMOP_TOP_REFRESH);
	assert_string_equal(view.filter, "");
	press(VMOP_TOP_KEY_FILTER);
	for (int i = 0; i < 500; i++)
		press('x');
	assert_int_equal(strlen(view.filter), VMOP_TOP_FILTER_BYTES - 1);
	press(VMOP_TOP_KEY_ESCAPE);
	assert_string_equal(view.filter, "");
	assert_false(view.is_typing);
}

static void the_order_goes_through_the_events(void **state)
{
	(void)state;
	view.n_events = 3;
	static const size_t forth[] = {2, 3, 0, 1};
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(press('>'), VMOP_TOP_REFRESH);
		assert_int_equal(view.sort, forth[i]);
	}
	static const size_t back[] = {0, 3, 2, 1};
	for (size_t i = 0; i < 4; i++) {
		press('<');
		assert_int_equal(view.sort, back[i]);
	}
	press('r');
	assert_true(view.is_reversed);
}

static void a_frozen_view_stays(void **state)
{
	(void)state;
	assert_int_equal(press(' '), VMOP_TOP_REDRAW);
	assert_true(view.is_frozen);
	assert_int_equal(press(' '), VMOP_TOP_REFRESH);
	assert_false(view.is_frozen);
}

static void spans_and_delays_have_bounds(void **state)
{
	(void)state;
	assert_int_equal(vmop_top_view_window_ns(&view), 10 * VMOP_NS_PER_S);
	for (int i = 0; i < 4; i++)
		press('w');
	assert_int_equal(vmop_top_view_window_ns(&view), 0);
	press('w');
	assert_int_equal(vmop_top_view_window_ns(&view), 10 * VMOP_NS_PER_S);
	for (int i = 0; i < 100; i++)
		press('-');
	assert_true(view.delay_ns >= VMOP_NS_PER_S / 2);
	for (int i = 0; i < 100; i++)
		press('+');
	assert_true(view.delay_ns <= 60 * VMOP_NS_PER_S);
}

static void help_ends_with_any_key(void **state)
{
	(void)state;
	press('?');
	assert_true(view.shows_help);
	assert_int_equal(press('d'), VMOP_TOP_REDRAW);
	assert_false(view.shows_help);
	press('h');
	assert_int_equal(press('q'), VMOP_TOP_QUIT);
	assert_int_equal(press(VMOP_TOP_KEY_QUIT), VMOP_TOP_QUIT);
}

static void any_keys_are_survived(void **state)
{
	(void)state;
	srand(1);
	for (int i = 0; i < 100000; i++) {
		size_t n_rows = (size_t)rand() % 5;
		enum vmop_top_effect effect =
			vmop_top_view_key(&view, rand() % 0x120, n_rows, (size_t)rand() % 3);
		if (effect == VMOP_TOP_ENTER && n_rows)
			vmop_top_view_enter(&view, "domain:x", "x");
		vmop_top_view_clamp(&view, n_rows);
		assert_true(view.n_levels <= VMOP_TOP_MAX_DEPTH);
		assert_true(view.kind < VMOP_TOP_N_KINDS);
		assert_true(view.selected < 5);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		TEST(rows_are_selected),
		TEST(rows_are_entered_and_left),
		TEST(kinds_keep_the_rows_above),
		TEST(a_filter_is_typed),
		TEST(the_order_goes_through_the_events),
		TEST(a_frozen_view_stays),
		TEST(spans_and_delays_have_bounds),
		TEST(help_ends_with_any_key),
		TEST(any_keys_are_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
