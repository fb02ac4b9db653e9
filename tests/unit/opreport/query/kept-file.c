// SPDX-License-Identifier: GPL-2.0-or-later
/* Test the files of kept sums: they are read as they were written, and damage is found. */
#include "opreport/query/kept-file.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"

static const struct vmop_kept_place places[] = {
	{.key = {.event = {1}, .mode = VMOP_MODE_USER, .cpu = -1, .vcpu = -1, .image = {7}},
	 .n_cells = 2},
	{.key = {.mode = VMOP_MODE_KERNEL, .cpu = 3, .vcpu = -1, .image = {8}}, .n_cells = 1},
};
static const struct vmop_kept_image images[] = {{{7}, 2, 0x1234}, {{9}, 0, VMOP_KEPT_NO_SYMBOLS}};
static const struct vmop_kept_run runs[] = {
	{.start = 0x10,
	 .end = 0x20,
	 .offset = 0x10,
	 .len_bytes = 16,
	 .name = 2,
	 .shown = 4,
	 .type = 'T'},
	{.start = 0x20, .end = 0x30, .index = VMOP_SYMTAB_NO_INDEX},
};
static const struct vmop_db_cell cells[] = {{0x10, 1, 10}, {0x20, 2, 20}, {0x5, 3, 30}};
static const struct vmop_kept_file whole = {
	.state = {.session = {1, 2}, .first = 3, .last = 9, .start_ns = 100, .end_ns = 200},
	.places = places,
	.images = images,
	.runs = runs,
	.cells = cells,
	.names = "a\0main",
	.n_places = 2,
	.n_images = 2,
	.n_runs = 2,
	.n_cells = 3,
	.names_len_bytes = 7,
	.demangle = VMOP_DEMANGLE_FULL,
};

static void test_read_what_was_written(void **state)
{
	(void)state;
	size_t len_bytes;
	struct vmop_kept_file file;
	_cleanup_free_ void *bytes = vmop_kept_file_make(&whole, &len_bytes);
	assert_non_null(bytes);
	assert_true(vmop_kept_file_parse(bytes, len_bytes, &file));
	assert_memory_equal(&file.state, &whole.state, sizeof(file.state));
	assert_int_equal(file.n_places, 2);
	assert_memory_equal(file.places, places, sizeof(places));
	assert_int_equal(file.n_images, 2);
	assert_memory_equal(file.images, images, sizeof(images));
	assert_int_equal(file.n_runs, 2);
	assert_memory_equal(file.runs, runs, sizeof(runs));
	assert_int_equal(file.n_cells, 3);
	assert_memory_equal(file.cells, cells, sizeof(cells));
	assert_string_equal(file.names + file.runs[0].name, "main");
	assert_string_equal(file.names + file.runs[0].shown, "in");
	assert_int_equal(file.demangle, VMOP_DEMANGLE_FULL);
}

static void test_find_damage(void **state)
{
	(void)state;
	size_t len_bytes;
	struct vmop_kept_file file;
	_cleanup_free_ char *bytes = vmop_kept_file_make(&whole, &len_bytes);
	assert_non_null(bytes);
	for (size_t at = 0; at < len_bytes; at++) {
		bytes[at] ^= 0x40;
		assert_false(vmop_kept_file_parse(bytes, len_bytes, &file));
		bytes[at] ^= 0x40;
		_cleanup_free_ char *cut = malloc(at + 1);
		assert_non_null(cut);
		memcpy(cut, bytes, at);
		assert_false(vmop_kept_file_parse(cut, at, &file));
	}
	assert_true(vmop_kept_file_parse(bytes, len_bytes, &file));
}

/* Numbers of a nonsense file do not lead out of it, whatever its hash. */
static void test_refuse_nonsense(void **state)
{
	(void)state;
	const struct vmop_kept_run overlapping[] = {{.start = 0x10, .end = 0x20},
						    {.start = 0x18, .end = 0x30}};
	const struct vmop_kept_run empty[] = {{.start = 0x10, .end = 0x10},
					      {.start = 0x18, .end = 0x30}};
	const struct vmop_kept_run without_name[] = {{.start = 0x10, .end = 0x20, .name = 7},
						     {.start = 0x20, .end = 0x30}};
	const struct vmop_kept_run without_shown[] = {{.start = 0x10, .end = 0x20, .shown = 7},
						      {.start = 0x20, .end = 0x30}};
	const struct vmop_kept_run of_a_later_one[] = {
		{.start = 0x10, .end = 0x20, .name = 2, .first = 1},
		{.start = 0x20, .end = 0x30, .name = 2}};
	const struct vmop_kept_run of_another[] = {
		{.start = 0x10, .end = 0x20, .name = 2},
		{.start = 0x20, .end = 0x30, .name = 2, .index = 1}};
	const struct vmop_kept_image many_runs[] = {{{7}, 3, 1}, {{9}, 0, 0}};
	const struct vmop_kept_image few_runs[] = {{{7}, 1, 1}, {{9}, 0, 0}};
	const struct vmop_kept_place more_cells[] = {{.n_cells = 2}, {.n_cells = 2}};
	struct vmop_kept_file bad[11], file;
	for (size_t i = 0; i < 11; i++)
		bad[i] = whole;
	bad[0].runs = overlapping;
	bad[1].runs = empty;
	bad[2].runs = without_name;
	bad[3].images = many_runs;
	bad[4].images = few_runs;
	bad[5].places = more_cells;
	bad[6].names = "a\0mainx";
	bad[7].state.first = 10;
	bad[8].runs = of_a_later_one;
	bad[9].runs = of_another;
	bad[10].runs = without_shown;
	for (size_t i = 0; i < 11; i++) {
		size_t len_bytes;
		_cleanup_free_ void *bytes = vmop_kept_file_make(&bad[i], &len_bytes);
		assert_non_null(bytes);
		assert_false(vmop_kept_file_parse(bytes, len_bytes, &file));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_what_was_written),
		cmocka_unit_test(test_find_damage),
		cmocka_unit_test(test_refuse_nonsense),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
