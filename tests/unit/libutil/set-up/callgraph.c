// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/setup.h"

/* Set a key, and assert the set-up's line of it; NULL: no line, as with the default. */
static void takes(const char *key, const char *value, const char *line)
{
	_cleanup_(vmop_setup_deinit) struct vmop_setup setup, again;
	_cleanup_free_ char *text = NULL, *second = NULL;
	assert_null(vmop_setup_init(&setup));
	assert_null(vmop_setup_init(&again));
	assert_null(vmop_setup_set(&setup, key, value, false));
	assert_null(vmop_setup_format(&setup, &text));
	if (line)
		assert_non_null(strstr(text, line));
	else
		assert_null(strstr(text, key));
	assert_null(vmop_setup_parse(&again, "t.conf", text));
	assert_null(vmop_setup_format(&again, &second));
	assert_string_equal(text, second);
	assert_int_equal(setup.stacks.user_stack_bytes, again.stacks.user_stack_bytes);
	assert_int_equal(setup.stacks.user_stack_bytes % 8, 0);
	assert_int_equal(setup.stacks.may_use_bpf, strcmp(value, "auto") == 0);
	assert_int_equal(again.stacks.may_use_bpf, setup.stacks.may_use_bpf);
}

static void refuses(const char *key, const char *value, const char *words)
{
	_cleanup_(vmop_setup_deinit) struct vmop_setup setup;
	assert_null(vmop_setup_init(&setup));
	struct vmop_error *err = vmop_setup_set(&setup, key, value, false);
	if (!err)
		fail_msg("%s = %s was taken", key, value);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	assert_non_null(strstr(err->message, words));
	vmop_error_destroy(err);
	assert_int_equal(setup.stacks.mode, VMOP_STACKS_OFF);
	assert_int_equal(setup.stacks.max_frames, VMOP_STACK_FRAMES_MAX);
}

static void modes(void **state)
{
	(void)state;
	takes("callgraph", "off", NULL);
	takes("callgraph", "kernel", "callgraph = kernel\n");
	takes("callgraph", "fp", "callgraph = fp\n");
	takes("callgraph", "bpf", "callgraph = bpf\n");
	takes("callgraph", "defer", "callgraph = defer\n");
	takes("callgraph", "auto", "callgraph = auto\n");
	takes("callgraph", "cfi", "callgraph = cfi:16K\n");
	takes("callgraph", "cfi:8K", "callgraph = cfi:8K\n");
	takes("callgraph", "cfi:32768", "callgraph = cfi:32K\n");
	takes("callgraph", "cfi:64K", "callgraph = cfi:64K\n");
	assert_string_equal(vmop_setup_callgraph_word(VMOP_STACKS_DEFER), "defer");
	assert_string_equal(vmop_setup_callgraph_word(VMOP_STACKS_HANDED), "handed");
}

static void the_largest_copy_is_below_64_kib(void **state)
{
	(void)state;
	_cleanup_(vmop_setup_deinit) struct vmop_setup setup;
	assert_null(vmop_setup_init(&setup));
	assert_null(vmop_setup_set(&setup, "callgraph", "cfi:64K", false));
	assert_int_equal(setup.stacks.mode, VMOP_STACKS_CFI);
	assert_int_equal(setup.stacks.user_stack_bytes, 65528);
	assert_null(vmop_setup_set(&setup, "callgraph", "cfi", false));
	assert_int_equal(setup.stacks.user_stack_bytes, 16384);
}

static void bad_values(void **state)
{
	(void)state;
	static const char *const values[] = {
		"",	     "on",	  "CFI",     "cfi:",	"cfi:4K", "cfi:65K",
		"cfi:8K:8K", "kernel:8K", "auto:8K", "cfi:-8K", "5",	  "cf"};
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		refuses("callgraph", values[i], "off, kernel, fp, cfi, cfi:SIZE");
}

static void depths(void **state)
{
	(void)state;
	takes("callgraph-depth", "1", "callgraph-depth = 1\n");
	takes("callgraph-depth", "126", "callgraph-depth = 126\n");
	takes("callgraph-depth", "127", NULL);
	static const char *const values[] = {"", "0", "128", "-1", "9x", "99999999999999999999"};
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		refuses("callgraph-depth", values[i], "between 1 and 127");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes),
		cmocka_unit_test(the_largest_copy_is_below_64_kib),
		cmocka_unit_test(bad_values),
		cmocka_unit_test(depths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
