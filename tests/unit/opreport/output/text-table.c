// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/output/text-table.h"

#include <cmocka.h>
#include <locale.h>

#include "libutil/cleanup.h"

#define N 3

/* A table of a right, an elastic and a left column. */
static struct vmop_text_table *make(void)
{
	struct vmop_text_table *table = vmop_text_table_create(N);
	uint32_t headings[N];
	assert_non_null(table);
	assert_true(vmop_text_table_refer(table, "n", &headings[0]));
	assert_true(vmop_text_table_refer_ascii(table, "name", 4, &headings[1]));
	assert_true(vmop_text_table_refer(table, "end", &headings[2]));
	assert_true(vmop_text_table_reserve(table, 2)); /* some have more */
	for (size_t c = 0; c < N; c++)
		vmop_text_table_set_column(table, c, headings[c], c == 0, c == 1);
	return table;
}

/* Add a row; NULL is an empty cell. */
static void add(struct vmop_text_table *table, const char *a, const char *b, const char *c)
{
	const char *texts[N] = {a, b, c};
	uint32_t cells[N];
	for (size_t i = 0; i < N; i++) {
		cells[i] = VMOP_TEXT_EMPTY;
		if (texts[i])
			assert_true(vmop_text_table_copy(table, texts[i], &cells[i]));
	}
	assert_true(vmop_text_table_add_row(table, cells));
}

static void check(struct vmop_text_table *table, const char *expected)
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	assert_non_null(out);
	assert_true(vmop_text_table_print(table, out));
	fclose(out);
	assert_string_equal(text, expected);
	vmop_text_table_destroy(table);
}

static void columns_are_aligned(void **state)
{
	(void)state;
	struct vmop_text_table *table = make();
	add(table, "1", "abcdef", "x");
	add(table, "1000", "a", NULL);
	add(table, NULL, NULL, NULL);
	add(table, NULL, NULL, "long end");
	add(table, "7", "b  ", "  ");
	check(table, "   n  name    end\n"
		     "   1  abcdef  x\n"
		     "1000  a\n"
		     "\n"
		     "              long end\n"
		     "   7  b\n");
}

/* Widths are what a terminal shows: two columns of an ideograph, none of a combining accent. */
static void widths_are_columns(void **state)
{
	(void)state;
	struct vmop_text_table *table = make();
	add(table, "1", "\xe4\xb8\xad\xe6\x96\x87", "x");
	add(table, "1", "e\xcc\x81", "x");
	add(table, "1", "abcde", "x");
	check(table, "n  name   end\n"
		     "1  \xe4\xb8\xad\xe6\x96\x87   x\n"
		     "1  e\xcc\x81      x\n"
		     "1  abcde  x\n");
}

static void elastic_columns_shrink(void **state)
{
	(void)state;
	struct vmop_text_table *table = make();
	add(table, "1", "a name of some length", "left as it is");
	add(table, "2", "short", "x");
	assert_true(vmop_text_table_fit(table, 30, 8));
	check(table, "n  name          end\n"
		     "1  a name of...  left as it is\n"
		     "2  short         x\n");
	table = make();
	add(table, "1", "a name of some length", "left as it is");
	assert_true(vmop_text_table_fit(table, 5, 8));
	check(table, "n  name      end\n"
		     "1  a nam...  left as it is\n");
}

/* A piece in several rows stays one piece, also when it is shortened. */
static void cells_share_pieces(void **state)
{
	(void)state;
	struct vmop_text_table *table = make();
	uint32_t cells[N] = {VMOP_TEXT_EMPTY, VMOP_TEXT_EMPTY, VMOP_TEXT_EMPTY};
	assert_true(vmop_text_table_refer(table, "0123456789abcdef", &cells[1]));
	for (int i = 0; i < 1000; i++)
		assert_true(vmop_text_table_add_row(table, cells));
	assert_true(vmop_text_table_fit(table, 18, 8));
	static char expected[1000 * 32];
	size_t len = (size_t)sprintf(expected, "n  name        end\n");
	for (int i = 0; i < 1000; i++)
		len += (size_t)sprintf(expected + len, "   0123456...\n");
	check(table, expected);
}

static void no_rows_and_no_columns(void **state)
{
	(void)state;
	check(make(), "");
	struct vmop_text_table *table = vmop_text_table_create(0);
	assert_true(vmop_text_table_add_row(table, NULL));
	check(table, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_aligned),	  cmocka_unit_test(widths_are_columns),
		cmocka_unit_test(elastic_columns_shrink), cmocka_unit_test(cells_share_pieces),
		cmocka_unit_test(no_rows_and_no_columns),
	};
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
