// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/gate/bound.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "opreport/gate/gate-options.h"
#include "tests/unit/ok.h"

static void assert_bound(const char *text, const struct vmop_bound *want)
{
	struct vmop_bound bound;
	assert_ok(vmop_bound_parse(text, &bound));
	assert_int_equal(bound.each, want->each);
	assert_int_equal(bound.kind, want->kind);
	assert_int_equal(bound.op, want->op);
	assert_int_equal(bound.is_percent, want->is_percent);
	assert_true(bound.limit == want->limit);
	if (want->word)
		assert_string_equal(bound.word, want->word);
	else
		assert_null(bound.word);
	vmop_bound_deinit(&bound);
}

static void bounds(void **state)
{
	(void)state;
	const struct {
		const char *text;
		struct vmop_bound want;
	} cases[] = {
		{"symbol:crc32* > 5%",
		 {.kind = VMOP_GATE_SYMBOL,
		  .word = (char *)"crc32*",
		  .is_percent = true,
		  .limit = 5}},
		{"symbol:crc32*>=5 %",
		 {.kind = VMOP_GATE_SYMBOL,
		  .word = (char *)"crc32*",
		  .op = VMOP_AT_LEAST,
		  .is_percent = true,
		  .limit = 5}},
		{"symbol:std::vector<int>::push_back > 0.5%",
		 {.kind = VMOP_GATE_SYMBOL,
		  .word = (char *)"std::vector<int>::push_back",
		  .is_percent = true,
		  .limit = 0.5}},
		{"steal:web1 > 5%",
		 {.kind = VMOP_GATE_STEAL, .word = (char *)"web1", .is_percent = true, .limit = 5}},
		{"each domain:* > 50%",
		 {.each = true,
		  .kind = VMOP_GATE_DOMAIN,
		  .word = (char *)"*",
		  .is_percent = true,
		  .limit = 50}},
		{" image:[kernel]  <  10%  ",
		 {.kind = VMOP_GATE_IMAGE,
		  .word = (char *)"[kernel]",
		  .op = VMOP_BELOW,
		  .is_percent = true,
		  .limit = 10}},
		{"task:a b > 1%",
		 {.kind = VMOP_GATE_TASK, .word = (char *)"a b", .is_percent = true, .limit = 1}},
		{"cgroup:/web > 1%",
		 {.kind = VMOP_GATE_CGROUP,
		  .word = (char *)"/web",
		  .is_percent = true,
		  .limit = 1}},
		{"lost > 0.1%", {.kind = VMOP_GATE_LOST, .is_percent = true, .limit = 0.1}},
		{"lost > 0", {.kind = VMOP_GATE_LOST}},
		{"lost:throttled >= 3",
		 {.kind = VMOP_GATE_LOST,
		  .word = (char *)"throttled",
		  .op = VMOP_AT_LEAST,
		  .limit = 3}},
		{"unattributed > 1%",
		 {.kind = VMOP_GATE_UNATTRIBUTED, .is_percent = true, .limit = 1}},
		{"ipc <= 0.8",
		 {.kind = VMOP_GATE_RATIO,
		  .word = (char *)"ipc",
		  .op = VMOP_AT_MOST,
		  .limit = 0.8}},
		{"mpki:cache-misses > 5",
		 {.kind = VMOP_GATE_RATIO, .word = (char *)"mpki:cache-misses", .limit = 5}},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_bound(cases[i].text, &cases[i].want);
}

static void assert_refused(struct vmop_error *err, const char *text)
{
	if (!err)
		fail_msg("accepted: '%s'", text);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	assert_null(strchr(err->message, '\n'));
	assert_non_null(strstr(err->message, text));
	vmop_error_destroy(err);
}

static void malformed_bounds(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"symbol:x",	    "symbol:x >",
		"symbol:x > %",	    "> 5%",
		"symbol: > 5%",	    "symbl:x > 5%",
		"symbol:x = 5%",    "symbol:x > -1%",
		"symbol:x > 101%",  "symbol:x > 5",
		"symbol:x > 5pp",   "symbol:x > 0x5%",
		"symbol:x > nan%",  "symbol:x > inf%",
		"ipc > 5%",	    "lost > 1e999",
		"each lost > 5%",   "each unattributed > 5%",
		"unattributed > 5", "unattributed:x > 5%",
		"lost: > 5",	    "each ipc > 1",
		"symbol:x > 5%%",   "symbol:x > 1000000000000%",
		"image:x > ",	    "domain:x <> ",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct vmop_bound bound;
		assert_refused(vmop_bound_parse(texts[i], &bound), texts[i]);
		vmop_bound_deinit(&bound);
	}
}

static void crossings(void **state)
{
	(void)state;
	struct vmop_bound bound = {.limit = 5};
	const bool want[][3] = {[VMOP_ABOVE] = {false, false, true},
				[VMOP_AT_LEAST] = {false, true, true},
				[VMOP_BELOW] = {true, false, false},
				[VMOP_AT_MOST] = {true, true, false}};
	for (bound.op = VMOP_ABOVE; bound.op <= VMOP_AT_MOST; bound.op++)
		for (int i = 0; i < 3; i++)
			assert_int_equal(vmop_bound_is_crossed(&bound, 4 + i), want[bound.op][i]);
}

static void changes(void **state)
{
	(void)state;
	struct vmop_gate_options options = {0};
	assert_ok(vmop_gate_change_parse("2pp,25%", &options));
	assert_true(options.change.points == 2 && options.change.percent == 25);
	assert_false(options.normalised);
	options = (struct vmop_gate_options){0};
	assert_ok(vmop_gate_change_parse("0.5%,normalised", &options));
	assert_true(options.change.points == 0 && options.change.percent == 0.5);
	assert_true(options.normalised);
	options = (struct vmop_gate_options){0};
	assert_ok(vmop_gate_change_parse("0pp", &options));
	static const char *const texts[] = {"2",	  "-1pp", "101pp", "1000000000000%",
					    "2pp,2pp",	  "pp",	  "25",	   "2pp;3",
					    "normalised", "2 pp", "nan%",  "0x2pp"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		options = (struct vmop_gate_options){0};
		assert_refused(vmop_gate_change_parse(texts[i], &options), texts[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds),
		cmocka_unit_test(malformed_bounds),
		cmocka_unit_test(crossings),
		cmocka_unit_test(changes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
