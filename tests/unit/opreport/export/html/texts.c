// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/export/html/texts.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "tests/unit/ok.h"

static uint32_t add(struct vmop_page_texts *texts, const char *text)
{
	uint32_t number;
	assert_ok(vmop_page_texts_add(texts, text, &number));
	return number;
}

static void a_text_has_one_number(void **state)
{
	(void)state;
	_cleanup_(vmop_page_texts_deinit) struct vmop_page_texts texts = {0};
	assert_int_equal(add(&texts, "a"), 0);
	assert_int_equal(add(&texts, "b"), 1);
	assert_int_equal(add(&texts, "a"), 0);
	for (unsigned i = 0; i < 5000; i++) {
		char text[16];
		snprintf(text, sizeof(text), "t%u", i);
		assert_int_equal(add(&texts, text), i + 2);
	}
	assert_int_equal(add(&texts, "t4000"), 4002);
	assert_int_equal(texts.n, 5002);
}

static void texts_are_written(void **state)
{
	(void)state;
	_cleanup_(vmop_page_texts_deinit) struct vmop_page_texts texts = {0};
	_cleanup_free_ char *written = NULL, *text = malloc(65537);
	struct vmop_json_writer writer;
	size_t len;
	memset(text, 'n', 65536);
	text[65536] = '\0';
	add(&texts, "<a\n\xff\"");
	add(&texts, text);
	FILE *out = open_memstream(&written, &len);
	vmop_json_writer_init(&writer, out);
	vmop_page_texts_write(&texts, &writer);
	assert_ok(vmop_json_writer_finish(&writer));
	fclose(out);
	static const char begin[] = "[\"\\"
				    "u003ca\\\\x0a\\\\xff\\\"\",\"nnn";
	assert_memory_equal(written, begin, sizeof(begin) - 1);
	assert_string_equal(written + len - 6, "n...\"]");
	assert_in_range(len, VMOP_PAGE_TEXTS_LEN_MAX, VMOP_PAGE_TEXTS_LEN_MAX + 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_has_one_number),
		cmocka_unit_test(texts_are_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
