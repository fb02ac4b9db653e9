// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/json.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/protocol.h"

static void print_and_read(const char *name, const char *printed)
{
	_cleanup_(vmop_json_cleanup) json_t *list = json_pack("[o]", vmop_json_text(name));
	_cleanup_free_ char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	assert_null(vmop_json_print(list, 0, out));
	fclose(out);
	if (printed)
		assert_string_equal(text, printed);
	_cleanup_(vmop_json_cleanup) json_t *read = json_loads(text, 0, NULL);
	assert_string_equal(json_string_value(json_array_get(read, 0)), name);
}

static void names_come_back(void **state)
{
	(void)state;
	print_and_read("j\xc3\xb6rg \xe6\xbc\xa2", "[\"j\xc3\xb6rg \xe6\xbc\xa2\"]\n");
	print_and_read("a\x1b\n\x7f\\u", "[\"a\\u001B\\n\\u007f\\\\u\"]\n");
	print_and_read("\xc2\x9b\xe2\x80\xae"
		       "b",
		       "[\"\\u009b\\u202eb\"]\n");
	print_and_read("\xf3\xa0\x81\x81\xf0\x9f\x90\x8d",
		       "[\"\\udb40\\udc41\xf0\x9f\x90\x8d\"]\n");
	print_and_read("", "[\"\"]\n");
}

static void bytes_that_are_no_characters(void **state)
{
	(void)state;
	_cleanup_(vmop_json_cleanup) json_t *text = vmop_json_text("a\xff"
								   "b\xe6\xbc");
	assert_string_equal(json_string_value(text), "a\xef\xbf\xbd"
						     "b\xef\xbf\xbd\xef\xbf\xbd");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_come_back),
		cmocka_unit_test(bytes_that_are_no_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
