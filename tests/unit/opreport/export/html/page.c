// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/export/html/page.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"

static void texts_are_escaped(void **state)
{
	(void)state;
	static const struct {
		const char *text, *printed;
	} texts[] = {
		{"plain", "plain"},
		{"</script><b a='1' c=\"2\">&amp;",
		 "&lt;/script&gt;&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;amp;"},
		{"a\nb\x1b\xff\xe2\x80\xae", "a\\x0ab\\x1b\\xff\\u202e"},
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		_cleanup_free_ char *printed = NULL;
		size_t len;
		FILE *out = open_memstream(&printed, &len);
		vmop_page_text(out, texts[i].text);
		fclose(out);
		assert_string_equal(printed, texts[i].printed);
	}
}

static void long_texts_are_cut(void **state)
{
	(void)state;
	_cleanup_free_ char *text = malloc(65537), *printed = NULL;
	size_t len;
	memset(text, '<', 65536);
	text[65536] = '\0';
	FILE *out = open_memstream(&printed, &len);
	vmop_page_text(out, text);
	fclose(out);
	assert_in_range(len, 4 * (VMOP_PAGE_TEXT_MAX_BYTES - 16), 4 * VMOP_PAGE_TEXT_MAX_BYTES);
	assert_string_equal(printed + len - 3, "...");
}

/* The title stands in the head and above the content; styles and scripts are where they work. */
static void a_page_has_its_parts(void **state)
{
	(void)state;
	static const char *const styles[] = {"b { color: red; }\n"}, *const scripts[] = {
									     "run();\n"};
	static const char *const parts[] = {"<!DOCTYPE html>",
					    "default-src 'none'",
					    "<title>a &lt;b&gt;</title>",
					    "b { color: red; }",
					    "</head>",
					    "<main>",
					    "<h1>a &lt;b&gt;</h1>",
					    "id=\"data\">\n[]</script>",
					    "</main>",
					    "<script>\nrun();",
					    "</html>"};
	_cleanup_free_ char *page = NULL;
	size_t len;
	FILE *out = open_memstream(&page, &len);
	vmop_page_begin(out, "a <b>", styles, 1);
	vmop_page_begin_data(out, "data");
	fputs("[]", out);
	vmop_page_end_data(out);
	vmop_page_end(out, scripts, 1);
	fclose(out);
	const char *at = page;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		at = strstr(at, parts[i]);
		assert_non_null(at);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_escaped),
		cmocka_unit_test(long_texts_are_cut),
		cmocka_unit_test(a_page_has_its_parts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
