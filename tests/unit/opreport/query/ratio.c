// SPDX-License-Identifier: GPL-2.0-or-later
/* Test ratios of events: their estimates, and which are chosen. */
#include "opreport/query/ratio.h"

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "opreport/arrange/rows.h"
#include "tests/unit/ok.h"

/* ---- estimates -------------------------------------------------------------- */

static bool is_near(double a, double b)
{
	return fabs(a - b) <= 1e-4 * fabs(b);
}

static struct vmop_ratio_value of_samples(uint64_t a, uint64_t b)
{
	return vmop_ratio_estimate((struct vmop_count){a, a * 1000},
				   (struct vmop_count){b, b * 500}, 1, 1000);
}

static void estimates_and_their_quality(void **state)
{
	(void)state;
	static const struct {
		uint64_t a, b;
		enum vmop_ratio_quality quality;
	} cases[] = {
		{0, 0, VMOP_RATIO_NONE},	  {5, 0, VMOP_RATIO_NONE},
		{1000000, 15, VMOP_RATIO_NONE},	  {1000000, 16, VMOP_RATIO_ROUGH},
		{0, 16, VMOP_RATIO_BELOW},	  {0, 1000000, VMOP_RATIO_BELOW},
		{3, 1000000, VMOP_RATIO_BELOW},	  {100, 100, VMOP_RATIO_ROUGH},
		{700, 700, VMOP_RATIO_ROUGH},	  {900, 900, VMOP_RATIO_CLOSE},
		{500, 1000000, VMOP_RATIO_CLOSE}, {300, 1000000, VMOP_RATIO_ROUGH},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct vmop_ratio_value value = of_samples(cases[i].a, cases[i].b);
		if (value.quality != cases[i].quality)
			fail_msg("%lu / %lu is %d", (unsigned long)cases[i].a,
				 (unsigned long)cases[i].b, (int)value.quality);
		assert_int_equal(value.has_interval, cases[i].b > 0);
	}
}

/* Wilson's interval of p = 20 / 30, by hand: 0.48780 to 0.80770. */
static void the_interval_is_wilsons(void **state)
{
	(void)state;
	struct vmop_ratio_value value = of_samples(20, 10);
	assert_true(value.value == 4); /* a sample of the numerator weighs twice as much */
	assert_true(is_near(value.low, 2 * 0.487800 / (1 - 0.487800)));
	assert_true(is_near(value.high, 2 * 0.807695 / (1 - 0.807695)));
	struct vmop_count a = {20, 20000}, b = {10, 5000};
	struct vmop_ratio_value thousand = vmop_ratio_estimate(a, b, 1000, 0);
	assert_true(is_near(thousand.value, 4000) && is_near(thousand.low, 1000 * value.low));
	/* no sample of the numerator: the weight of other samples gives the bound */
	a = (struct vmop_count){0, 0};
	value = vmop_ratio_estimate(a, b, 1, 1000);
	assert_true(value.value == 0 && value.low == 0);
	assert_true(is_near(value.high, 2 * 1.959964 * 1.959964 / 10)); /* z^2 / n as odds */
}

/* Return a number in (0, 1], by splitmix64 (Steele, Lea, Flood, 2014). */
static double random_unit(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((x ^ x >> 31) >> 11) / 0x1p53 + 0x1p-53;
}

static uint64_t random_poisson(uint64_t *state, double mean)
{
	uint64_t n = 0;
	for (double sum = -log(random_unit(state)); sum < mean; n++)
		sum -= log(random_unit(state));
	return n;
}

/* On 95 % of many machines, the interval contains the true ratio. */
static void the_interval_holds_the_truth(void **state)
{
	(void)state;
	static const double means[][2] = {{40, 40}, {200, 30}, {30, 200}, {900, 700}};
	enum { TRIES = 4000 };
	uint64_t seed = 1;
	for (size_t i = 0; i < sizeof(means) / sizeof(*means); i++) {
		unsigned holds = 0;
		for (unsigned n = 0; n < TRIES; n++) {
			uint64_t a = random_poisson(&seed, means[i][0]);
			uint64_t b = random_poisson(&seed, means[i][1]);
			struct vmop_ratio_value value = of_samples(a, b);
			double truth = 2 * means[i][0] / means[i][1];
			holds += value.low <= truth && truth <= value.high;
		}
		/* 3800 are expected; 1 % is 2.9 standard deviations of that, 0.3 % of tries. */
		if (holds < 0.94 * TRIES || holds > 0.965 * TRIES)
			fail_msg("%g / %g: %u of %u", means[i][0], means[i][1], holds, TRIES);
	}
}

/* ---- words ------------------------------------------------------------------ */

static char dir[] = "/tmp/vmop-ratio-XXXXXX";
static char path[64];

static void put_event(struct vmop_db *db, uint32_t id, const char *name, const char *asked)
{
	char info[32];
	assert_ok(vmop_db_put_event(
		db, &(struct vmop_db_event){{id}, name, "perf", "events", 1000, 0, NULL}));
	snprintf(info, sizeof(info), "event-%u-asked", id);
	if (asked)
		assert_ok(vmop_db_put_info(db, info, asked));
}

/* Begin a session of a host with one image and one open interval. */
static struct vmop_db *begin_session(void)
{
	struct vmop_db *db;
	unlink(path);
	assert_ok(vmop_db_create(path, &db));
	assert_ok(vmop_db_put_domain(db,
				     &(struct vmop_db_domain){.name = "host", .first_seen_ns = 1}));
	assert_ok(vmop_db_put_image(
		db, &(struct vmop_db_image){.id = {1}, .kind = VMOP_IMAGE_FILE, .name = "/opt/a"}));
	assert_ok(vmop_db_begin_interval(db, 1, 1000));
	return db;
}

static void end_session(struct vmop_db *db)
{
	assert_ok(vmop_db_commit(db));
	assert_ok(vmop_db_finish(db));
}

static void query_session(unsigned dimensions, struct vmop_result *ret)
{
	struct vmop_db *db;
	const struct vmop_query by = {.dimensions = dimensions};
	const struct vmop_spec spec = {0};
	assert_ok(vmop_db_open(path, &db));
	assert_ok(vmop_query_run(&by, &spec, &(struct vmop_session_input){"s", db}, 1, ret));
	vmop_db_close(db);
}

/* Make a session in which event i of names has i samples, and query it. */
static void query(const char *const *names, struct vmop_result *ret)
{
	struct vmop_db *db = begin_session();
	for (uint32_t i = 0; names[i]; i++) {
		const struct vmop_db_chunk_key key = {
			.event = {i}, .mode = VMOP_MODE_USER, .vcpu = -1, .cpu = -1, .image = {1}};
		const struct vmop_db_cell cell = {16, 100 + i, 1000 * (100 + i)};
		put_event(db, i, names[i], !strcmp(names[i], "cache-misses") ? "LLC_MISSES" : NULL);
		assert_ok(vmop_db_put_chunk(db, &key, &cell, 1));
	}
	end_session(db);
	query_session(VMOP_BY_IMAGE, ret);
}

/* Expect ratios as "NAME=NUMERATOR/DENOMINATOR:FACTOR ...", or an error's message. */
static void assert_ratios(const struct vmop_result *result, const char *text, const char *want)
{
	_cleanup_(vmop_words_deinit) struct vmop_words words = {0};
	_cleanup_(vmop_ratios_deinit) struct vmop_ratios ratios;
	char got[1024] = "";
	size_t len = 0;
	if (text)
		assert_ok(vmop_words_parse(&words, "--ratio", text));
	struct vmop_error *err = vmop_ratios_init(&ratios, &words, result);
	if (err) {
		assert_int_equal(err->code, VMOP_ERROR_USAGE);
		if (!strstr(err->message, want))
			fail_msg("'%s' lacks '%s'", err->message, want);
		vmop_error_destroy(err);
		return;
	}
	for (size_t i = 0; i < ratios.n; i++)
		len += (size_t)snprintf(got + len, sizeof(got) - len, "%s%s=%zu/%zu:%g",
					i ? " " : "", ratios.items[i].name,
					ratios.items[i].numerator, ratios.items[i].denominator,
					ratios.items[i].factor);
	assert_string_equal(got, want);
}

static void words_of_one_kind_of_core(void **state)
{
	(void)state;
	static const char *const events[] = {"cycles",		"instructions",
					     "cache-misses",	"sched:sched_switch",
					     "cpu/event=0x3c/", NULL};
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	static const struct {
		const char *text, *want;
	} cases[] = {
		{NULL, "ipc=1/0:1 mpki:cache-misses=2/1:1000"},
		{"auto", "ipc=1/0:1 mpki:cache-misses=2/1:1000"},
		{"none", ""},
		{"ipc", "ipc=1/0:1"},
		{"cpi", "cpi=0/1:1"},
		{"mpki", "mpki:cache-misses=2/1:1000"},
		{"auto,ipc,ipc", "ipc=1/0:1 mpki:cache-misses=2/1:1000"},
		{"cycles/instructions", "cycles/instructions=0/1:1"},
		{"LLC_MISSES/INST_RETIRED:1000", "LLC_MISSES/INST_RETIRED:1000=2/1:1000"},
		{"x=cache*/CPU_CLK_UNHALTED:0.5", "x=2/0:0.5"},
		{"sched:sched_switch/cycles:1000000",
		 "sched:sched_switch/cycles:1000000=3/0:1e+06"},
		{"cycles/sched:sched_switch", "cycles/sched:sched_switch=0/3:1"},
		{"y=cpu/event=0x3c//cycles", "y=4/0:1"},
		{"y=cycles/cpu/event=0x3c/:10", "y=0/4:10"},
		{"cycles", "accepted: auto, none, ipc, cpi, mpki, and"},
		{"cycles/branches", "cycles, instructions, cache-misses, sched:sched_switch"},
		{"cycles/instructions:", "unknown word"},
		{"cycles/instructions:0", "unknown word"},
		{"cycles/instructions:1e3", "unknown word"},
		{"cycles/instructions:1.2.3", "unknown word"},
		{"/", "unknown word"},
		{"=cycles/instructions", "unknown word"},
		{"x=cycles/instructions,x=instructions/cycles", "two ratios are named 'x'"},
		{"none,ipc", "excludes other ratios"},
		{"ipc,none", "excludes other ratios"},
	};
	query(events, &result);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_ratios(&result, cases[i].text, cases[i].want);
}

static void only_events_of_one_mode_are_paired(void **state)
{
	(void)state;
	static const char *const modes[] = {"cycles:u", "cycles", "instructions:k", NULL};
	static const char *const hybrid[] = {"cpu_core/cycles/",       "cpu_core/instructions/",
					     "cpu_atom/cycles/",       "cpu_atom/instructions/",
					     "cpu_core/cache-misses/", NULL};
	static const char *const both[] = {"cycles:u",	     "cycles:k",       "instructions:u",
					   "instructions:k", "cache-misses:k", NULL};
	_cleanup_(vmop_result_deinit) struct vmop_result apart, of_two, of_modes;
	query(modes, &apart);
	assert_ratios(&apart, NULL, "");
	assert_ratios(&apart, "ipc",
		      "needs instructions and cycles, counted in the same modes; "
		      "the events are: cycles:u, cycles, instructions:k");
	assert_ratios(&apart, "mpki", "needs instructions and misses");
	assert_ratios(&apart, "instructions:k/cycles:u", "instructions:k/cycles:u=2/0:1");
	query(hybrid, &of_two);
	assert_ratios(&of_two, NULL,
		      "ipc=1/0:1 ipc:cpu_atom/instructions/=3/2:1 "
		      "mpki:cpu_core/cache-misses/=4/1:1000");
	query(both, &of_modes);
	assert_ratios(&of_modes, NULL, "ipc:u=2/0:1 ipc:k=3/1:1 mpki:cache-misses:k=4/3:1000");
}

static void events_of_one_name_have_labels(void **state)
{
	(void)state;
	static const char *const events[] = {"cycles",	     "r11",	     "r11", "cycles",
					     "instructions", "instructions", "r11", NULL};
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	query(events, &result);
	static const char *const labels[] = {
		"cycles", "r11", "r11#2", "cycles#2", "instructions", "instructions#2", "r11#3"};
	for (size_t e = 0; e < result.n_events; e++)
		assert_string_equal(vmop_result_event(&result, e)->label, labels[e]);
	assert_ratios(&result, NULL, "ipc=4/0:1");
	assert_ratios(&result, "cycles#2/r11#3", "cycles#2/r11#3=3/6:1");
}

/* A damaged or hostile session may have any number. */
static void the_default_list_is_bounded(void **state)
{
	(void)state;
	char names[100][24];
	const char *events[101] = {"instructions"};
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	for (size_t i = 1; i < 100; i++) {
		snprintf(names[i], sizeof(names[i]), "misses-%zu", i);
		events[i] = names[i];
	}
	query(events, &result);
	const struct vmop_words none = {0};
	_cleanup_(vmop_ratios_deinit) struct vmop_ratios ratios;
	assert_ok(vmop_ratios_init(&ratios, &none, &result));
	assert_int_equal(ratios.n, 64);
	assert_ratios(&result, "mpki", "takes at most 64");
}

/* ---- scaling ---------------------------------------------------------------- */

/* Check the scale of an event with these times.  want_events 0: any weight. */
static void scale_with(const char *enabled, const char *running, double want_scale,
		       uint64_t want_events)
{
	struct vmop_db *db = begin_session();
	put_event(db, 0, "cycles", NULL);
	assert_ok(vmop_db_put_info(db, "event-0-enabled_ns", enabled));
	assert_ok(vmop_db_put_info(db, "event-0-running_ns", running));
	const struct vmop_db_chunk_key key = {
		.mode = VMOP_MODE_USER, .vcpu = -1, .cpu = -1, .image = {1}};
	const struct vmop_db_cell cells[] = {{16, 1, 1000}, {32, 2, 2001}};
	assert_ok(vmop_db_put_chunk(db, &key, cells, 2));
	end_session(db);
	static const unsigned dimensions[] = {VMOP_BY_IMAGE, VMOP_BY_IMAGE | VMOP_BY_SYMBOL};
	for (size_t i = 0; i < 2; i++) {
		_cleanup_(vmop_result_deinit) struct vmop_result scaled;
		query_session(dimensions[i], &scaled);
		assert_true(is_near(vmop_catalog_event(&scaled.catalog, 1)->scale, want_scale));
		assert_int_equal(scaled.selected[0].samples, 3); /* samples are not scaled */
		if (!want_events)
			continue;
		assert_int_equal(scaled.selected[0].weight_events, want_events);
		assert_int_equal(scaled.rows[0].counts[0].weight_events, want_events);
		assert_int_equal(scaled.base[0].weight_events, want_events);
	}
}

static void weights_are_scaled(void **state)
{
	(void)state;
	scale_with("4000", "1000", 4, 12004);
	scale_with("3000", "2000", 1.5, 4502); /* 4501.5 */
	scale_with("1000", "1000", 1, 3001);   /* all of the time */
	scale_with("1000", "0", 1, 3001);      /* never: nothing to scale */
	scale_with("1000", "2000", 1, 3001);   /* longer than enabled */
	scale_with("-4", "1", 1, 3001);
	scale_with("x", "", 1, 3001);
	scale_with("18446744073709551615", "1", 0x1p64, 0); /* the largest scale */
}

static int make_dir(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s.vmop", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(estimates_and_their_quality),
		cmocka_unit_test(the_interval_is_wilsons),
		cmocka_unit_test(the_interval_holds_the_truth),
		cmocka_unit_test(words_of_one_kind_of_core),
		cmocka_unit_test(only_events_of_one_mode_are_paired),
		cmocka_unit_test(events_of_one_name_have_labels),
		cmocka_unit_test(the_default_list_is_bounded),
		cmocka_unit_test(weights_are_scaled),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
