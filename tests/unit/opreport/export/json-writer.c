// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/export/json-writer.h"

#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "tests/unit/ok.h"

/* Write a document with each kind of value, and the text. */
static char *write_document(const char *text)
{
	struct vmop_json_writer writer;
	char *document;
	size_t len;
	FILE *out = open_memstream(&document, &len);
	assert_non_null(out);
	vmop_json_writer_init(&writer, out);
	vmop_json_writer_begin(&writer, '{');
	vmop_json_writer_text_member(&writer, "text", text);
	vmop_json_writer_name(&writer, "list");
	vmop_json_writer_begin(&writer, '[');
	vmop_json_writer_number(&writer, 0);
	vmop_json_writer_number(&writer, UINT64_C(9007199254740993));
	vmop_json_writer_real(&writer, -0.25);
	vmop_json_writer_real(&writer, NAN);
	vmop_json_writer_null(&writer);
	vmop_json_writer_bool(&writer, true);
	vmop_json_writer_begin(&writer, '[');
	vmop_json_writer_end(&writer, ']');
	vmop_json_writer_end(&writer, ']');
	vmop_json_writer_number_member(&writer, "last", 7);
	vmop_json_writer_end(&writer, '}');
	assert_ok(vmop_json_writer_finish(&writer));
	fclose(out);
	return document;
}

static void values_come_back(void **state)
{
	(void)state;
	_cleanup_free_ char *document = write_document("plain");
	json_error_t error;
	json_auto_t *root = json_loads(document, 0, &error), *list;
	assert_non_null(root);
	list = json_incref(json_object_get(root, "list"));
	assert_int_equal(json_array_size(list), 7);
	assert_int_equal(json_integer_value(json_array_get(list, 1)), 9007199254740993);
	assert_true(json_real_value(json_array_get(list, 2)) == -0.25);
	assert_true(json_number_value(json_array_get(list, 3)) == 0);
	assert_true(json_is_null(json_array_get(list, 4)));
	assert_true(json_is_true(json_array_get(list, 5)));
	assert_int_equal(json_integer_value(json_object_get(root, "last")), 7);
}

/* No text leaves its string, a script element or the terminal's plain characters. */
static void texts_are_escaped(void **state)
{
	(void)state;
	static const struct {
		const char *text, *read;
	} texts[] = {
		{"\"\\", "\"\\\\"},
		{"</script><!--&amp;", "</script><!--&amp;"},
		{"a\nb\x1b[31m\x7f", "a\\x0ab\\x1b[31m\\x7f"},
		{"\xff\xed\xa0\x80", "\\xff\\xed\\xa0\\x80"},
		{"j\xc3\xb6rg \xf0\x9f\x90\xb1", "j\xc3\xb6rg \xf0\x9f\x90\xb1"},
		{"\xe2\x80\xa8\xe2\x80\xae", "\\u2028\\u202e"},
		{"", ""},
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		_cleanup_free_ char *document = write_document(texts[i].text);
		json_error_t error;
		json_auto_t *root = json_loads(document, 0, &error);
		assert_non_null(root);
		assert_string_equal(json_string_value(json_object_get(root, "text")),
				    texts[i].read);
		assert_null(strpbrk(document, "<>&\x1b"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_come_back),
		cmocka_unit_test(texts_are_escaped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
