// SPDX-License-Identifier: GPL-2.0-or-later
/* Test which rows of two results are joined, the differences of rows, and their order. */
#include "opreport/compare/comparison.h"

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opreport/compare/difference.h"
#include "opreport/compare/order.h"
#include "tests/unit/ok.h"

static const uint64_t second_ns = 1000000000;
static char dir[] = "/tmp/vmop-compare-XXXXXX";

enum { CYCLES, INSTRUCTIONS };
enum { HOST, GUEST };

struct sample_row {
	unsigned domain, image, symbol, event;
	uint64_t samples, weight_events;
};

/* A session file of some functions; images[i] has n_symbols each. */
struct made {
	const char *path, *guest;
	struct vmop_db_image images[3];
	size_t n_images;
	const char *symbols[3][4];
	struct sample_row rows[8];
};

static void put_images(struct vmop_db *db, const struct made *made)
{
	for (size_t i = 0; i < made->n_images; i++) {
		struct vmop_symbol symbols[4];
		size_t n = 0;
		for (; n < 4 && made->symbols[i][n]; n++)
			symbols[n] =
				(struct vmop_symbol){n * 16, 16, (char *)made->symbols[i][n], 't'};
		assert_ok(vmop_db_put_image(db, &made->images[i]));
		assert_ok(vmop_db_put_symbols(db, made->images[i].id, symbols, n));
	}
}

static void make(const struct made *made)
{
	struct vmop_db *db;
	assert_ok(vmop_db_create(made->path, &db));
	assert_ok(vmop_db_put_info(db, "start_ns", "1000000000000"));
	assert_ok(vmop_db_put_event(
		db, &(struct vmop_db_event){.id = {CYCLES}, .name = "cycles", .unit = "events"}));
	assert_ok(vmop_db_put_event(db, &(struct vmop_db_event){.id = {INSTRUCTIONS},
								.name = "instructions",
								.unit = "events"}));
	assert_ok(vmop_db_put_domain(
		db,
		&(struct vmop_db_domain){.id = {HOST}, .kind = VMOP_DOMAIN_HOST, .name = "host"}));
	if (made->guest)
		assert_ok(
			vmop_db_put_domain(db, &(struct vmop_db_domain){.id = {GUEST},
									.kind = VMOP_DOMAIN_PASSIVE,
									.name = made->guest,
									.vmm_pid = 9,
									.vmm = "qemu"}));
	assert_ok(vmop_db_put_task(db, &(struct vmop_db_task){.id = {1}, .comm = "cg"}));
	put_images(db, made);
	assert_ok(vmop_db_begin_interval(db, 1000 * second_ns, 10 * second_ns));
	for (const struct sample_row *row = made->rows; row->samples; row++) {
		const struct vmop_db_chunk_key key = {.event = {row->event},
						      .domain = {row->domain},
						      .billed = {row->domain},
						      .mode = VMOP_MODE_USER,
						      .vcpu = -1,
						      .cpu = -1,
						      .task = {1},
						      .image = made->images[row->image].id};
		const struct vmop_db_cell cell = {row->symbol * 16, (uint32_t)row->samples,
						  row->weight_events};
		assert_ok(vmop_db_put_chunk(db, &key, &cell, 1));
	}
	assert_ok(vmop_db_commit(db));
	assert_ok(vmop_db_finish(db));
}

/* ---- sides -------------------------------------------------------------------------- */

static const struct vmop_query by_symbol = {.dimensions = VMOP_BY_DOMAIN | VMOP_BY_IMAGE |
							  VMOP_BY_SYMBOL};

struct fixture {
	struct vmop_side sides[2];
	struct vmop_comparison comparison;
};

static struct vmop_error *compare(struct fixture *fixture, const char *const *a,
				  const char *const *b, const char *per_text)
{
	const struct vmop_side_words none = {0};
	struct vmop_per per;
	*fixture = (struct fixture){0};
	assert_ok(vmop_per_parse(per_text, &per));
	for (size_t s = 0; s < 2; s++) {
		struct vmop_side_words words = {s ? b : a, 0};
		while (words.items[words.n])
			words.n++;
		assert_ok(vmop_side_init(&fixture->sides[s], s, dir, NULL, &none, &words));
		assert_ok(vmop_side_run(&fixture->sides[s], &by_symbol));
		vmop_side_close(&fixture->sides[s]);
	}
	return vmop_comparison_init(&fixture->comparison, fixture->sides, 2, VMOP_BY_SYMBOL, &per);
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void fixture_deinit(struct fixture *fixture)
{
	vmop_comparison_deinit(&fixture->comparison);
	vmop_side_deinit(&fixture->sides[0]);
	vmop_side_deinit(&fixture->sides[1]);
}

/* Return the row of a function, which is in one image only. */
static const struct vmop_compared_row *find(const struct vmop_comparison *comparison,
					    const char *symbol)
{
	const struct vmop_compared_row *found = NULL;
	for (size_t i = 0; i < comparison->n_rows; i++) {
		if (strcmp(comparison->rows[i].names[VMOP_COMPARED_SYMBOL], symbol) != 0)
			continue;
		assert_null(found);
		found = &comparison->rows[i];
	}
	if (!found)
		fail_msg("no row %s", symbol);
	return found;
}

static void check_counts(const struct vmop_comparison *comparison, const char *symbol, size_t event,
			 uint64_t before, uint64_t after)
{
	const struct vmop_count *counts =
		vmop_comparison_counts(comparison, find(comparison, symbol), event);
	if (counts[0].samples != before || counts[1].samples != after)
		fail_msg("%s: %lu and %lu", symbol, (unsigned long)counts[0].samples,
			 (unsigned long)counts[1].samples);
}

/* ---- sessions ------------------------------------------------------------------------ */

static char before_path[64], after_path[64], other_path[64];

static int make_all(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(before_path, sizeof(before_path), "%s/before.vmop", dir);
	snprintf(after_path, sizeof(after_path), "%s/after.vmop", dir);
	snprintf(other_path, sizeof(other_path), "%s/other.vmop", dir);
	make(&(struct made){
		.path = before_path,
		.images = {{.id = {1}, .kind = VMOP_IMAGE_ANON, .name = "cg"},
			   {.id = {2}, .kind = VMOP_IMAGE_KERNEL, .name = "[kernel]"}},
		.n_images = 2,
		.symbols = {{"work", "help.part.0", "help.cold", "old"}, {"copy_page"}},
		.rows = {{HOST, 0, 0, CYCLES, 1000, 1000000},
			 {HOST, 0, 1, CYCLES, 60, 60000},
			 {HOST, 0, 2, CYCLES, 40, 40000},
			 {HOST, 0, 3, CYCLES, 100, 100000},
			 {HOST, 1, 0, CYCLES, 500, 500000},
			 {HOST, 0, 0, INSTRUCTIONS, 400, 4000000}},
	});
	make(&(struct made){
		.path = after_path,
		.guest = "g",
		.images = {{.id = {1}, .kind = VMOP_IMAGE_ANON, .domain = {GUEST}, .name = "cg"},
			   {.id = {2},
			    .kind = VMOP_IMAGE_GUEST_KERNEL,
			    .domain = {GUEST},
			    .name = "[guest g kernel]"},
			   {.id = {3}, .kind = VMOP_IMAGE_KERNEL, .name = "[kernel]"}},
		.n_images = 3,
		.symbols = {{"work", "help", "new"}, {"copy_page.constprop.0"}, {"copy_page"}},
		.rows = {{GUEST, 0, 0, CYCLES, 2000, 2000000},
			 {GUEST, 0, 1, CYCLES, 100, 100000},
			 {GUEST, 0, 2, CYCLES, 150, 150000},
			 {GUEST, 1, 0, CYCLES, 490, 490000},
			 {HOST, 2, 0, CYCLES, 30, 30000},
			 {GUEST, 0, 0, INSTRUCTIONS, 800, 8000000}},
	});
	make(&(struct made){
		.path = other_path,
		.images = {{.id = {1}, .kind = VMOP_IMAGE_ANON, .name = "other"}},
		.n_images = 1,
		.symbols = {{"work"}},
		.rows = {{HOST, 0, 0, CYCLES, 10, 10000}},
	});
	return 0;
}

static int remove_all(void **state)
{
	(void)state;
	unlink(before_path);
	unlink(after_path);
	unlink(other_path);
	return rmdir(dir);
}

/* ---- tests --------------------------------------------------------------------------- */

static void host_and_guest_are_joined_by_name(void **state)
{
	(void)state;
	struct fixture fixture;
	assert_ok(compare(&fixture, WORDS("session:before"), WORDS("session:after", "domain:g"),
			  "samples"));
	const struct vmop_comparison *comparison = &fixture.comparison;
	assert_false(comparison->has_domains);
	assert_int_equal(comparison->n_events, 2);
	assert_int_equal(comparison->n_rows, 5);
	check_counts(comparison, "work", 0, 1000, 2000);
	check_counts(comparison, "work", 1, 400, 800);
	check_counts(comparison, "help", 0, 100, 100); /* its two parts, and the whole */
	check_counts(comparison, "old", 0, 100, 0);
	check_counts(comparison, "new", 0, 0, 150);
	check_counts(comparison, "copy_page", 0, 500, 490);
	assert_string_equal(find(comparison, "copy_page")->names[VMOP_COMPARED_IMAGE], "[kernel]");
	assert_int_equal(vmop_comparison_all(comparison, 0, 1).samples, 2740);
	fixture_deinit(&fixture);
}

static void domains_of_both_sides_stay_apart(void **state)
{
	(void)state;
	struct fixture fixture;
	assert_ok(compare(&fixture, WORDS("session:before"), WORDS("session:after"), "samples"));
	const struct vmop_comparison *comparison = &fixture.comparison;
	assert_true(comparison->has_domains);
	size_t n_kernels = 0;
	for (size_t i = 0; i < comparison->n_rows; i++)
		n_kernels += !strcmp(comparison->rows[i].names[VMOP_COMPARED_SYMBOL], "copy_page");
	assert_int_equal(n_kernels, 2);
	fixture_deinit(&fixture);
}

static enum vmop_change change_of(const struct fixture *fixture, const char *symbol,
				  struct vmop_difference *ret)
{
	const struct vmop_comparison *comparison = &fixture->comparison;
	*ret = vmop_difference_of(
		comparison, vmop_comparison_counts(comparison, find(comparison, symbol), 0), 0, 1);
	return ret->change;
}

static void differences(void **state)
{
	(void)state;
	struct fixture fixture;
	struct vmop_difference difference;
	assert_ok(compare(&fixture, WORDS("session:before"), WORDS("session:after", "domain:g"),
			  "1,1"));
	assert_int_equal(change_of(&fixture, "work", &difference), VMOP_CHANGE_MORE);
	assert_true(difference.ratio.value == 2 && vmop_interval_holds(difference.ratio, 2));
	assert_true(difference.difference.value == 1e6); /* events, not samples */
	assert_int_equal(change_of(&fixture, "help", &difference), VMOP_CHANGE_NOISE);
	assert_int_equal(change_of(&fixture, "copy_page", &difference), VMOP_CHANGE_NOISE);
	assert_int_equal(change_of(&fixture, "new", &difference), VMOP_CHANGE_NEW);
	assert_true(isinf(difference.ratio.value) && difference.ratio.low > 1);
	assert_int_equal(change_of(&fixture, "old", &difference), VMOP_CHANGE_GONE);
	assert_true(difference.ratio.value == 0 && difference.ratio.high < 1);
	fixture_deinit(&fixture);

	/* Twice the work was done in the second run. */
	assert_ok(compare(&fixture, WORDS("session:before"), WORDS("session:after", "domain:g"),
			  "3,6"));
	assert_int_equal(change_of(&fixture, "work", &difference), VMOP_CHANGE_NOISE);
	fixture_deinit(&fixture);
	assert_ok(compare(&fixture, WORDS("session:before"), WORDS("session:after", "domain:g"),
			  "instructions"));
	assert_int_equal(change_of(&fixture, "work", &difference), VMOP_CHANGE_NOISE);
	assert_true(fabs(difference.before.value - 0.25) < 1e-12);
	fixture_deinit(&fixture);
	assert_ok(compare(&fixture, WORDS("session:before"), WORDS("session:after", "domain:g"),
			  "time"));
	assert_int_equal(change_of(&fixture, "work", &difference), VMOP_CHANGE_MORE);
	assert_true(fabs(difference.before.value - 1e5) < 1e-6); /* 1e6 events in 10 s */
	fixture_deinit(&fixture);
}

static void check_order(const struct vmop_comparison *comparison,
			const struct vmop_ordering *ordering, const char *const *expected)
{
	struct vmop_order order;
	assert_ok(vmop_order_init(&order, comparison, 0, 1, ordering));
	for (size_t i = 0; i < order.n; i++)
		assert_string_equal(comparison->rows[order.rows[i]].names[VMOP_COMPARED_SYMBOL],
				    expected[i]);
	assert_null(expected[order.n]);
	vmop_order_deinit(&order);
}

static void orders(void **state)
{
	(void)state;
	struct fixture fixture;
	assert_ok(compare(&fixture, WORDS("session:before"), WORDS("session:after", "domain:g"),
			  "1"));
	const struct vmop_comparison *comparison = &fixture.comparison;
	struct vmop_ordering ordering = {.sort = VMOP_COMPARE_BY_DIFFERENCE};
	check_order(comparison, &ordering, WORDS("work", "new", "old", "copy_page", "help"));
	ordering.reverse = true; /* noise stays behind */
	check_order(comparison, &ordering, WORDS("old", "new", "work", "help", "copy_page"));
	ordering = (struct vmop_ordering){.sort = VMOP_COMPARE_BY_RATIO};
	check_order(comparison, &ordering, WORDS("new", "old", "work", "copy_page", "help"));
	ordering.sort = VMOP_COMPARE_BY_COUNT;
	check_order(comparison, &ordering, WORDS("work", "copy_page", "new", "help", "old"));
	ordering.sort = VMOP_COMPARE_BY_SYMBOL;
	check_order(comparison, &ordering, WORDS("copy_page", "help", "new", "old", "work"));
	ordering.sort = VMOP_COMPARE_BY_IMAGE;
	check_order(comparison, &ordering, WORDS("copy_page", "work", "new", "help", "old"));

	struct vmop_order order;
	ordering = (struct vmop_ordering){.sort = VMOP_COMPARE_BY_COUNT, .top = 2};
	assert_ok(vmop_order_init(&order, comparison, 0, 0, &ordering));
	assert_int_equal(order.n, 2);
	assert_int_equal(order.n_rest, 3);
	assert_int_equal(order.rest[0].samples, 200);
	assert_int_equal(order.rest[1].weight_events, 250000);
	vmop_order_deinit(&order);
	fixture_deinit(&fixture);
	enum vmop_compare_sort sort;
	struct vmop_error *err = vmop_compare_sort_parse("size", &sort);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	vmop_error_destroy(err);
}

static void check_refused(const char *const *a, const char *const *b, const char *per,
			  enum vmop_error_code code, const char *text)
{
	struct fixture fixture;
	struct vmop_error *err = compare(&fixture, a, b, per);
	assert_non_null(err);
	assert_int_equal(err->code, code);
	if (!strstr(err->message, text))
		fail_msg("%s", err->message);
	vmop_error_destroy(err);
	fixture_deinit(&fixture);
}

static void nothing_in_common(void **state)
{
	(void)state;
	check_refused(WORDS("session:before"), WORDS("session:other"), "samples",
		      VMOP_ERROR_NOT_FOUND, "no row in common");
	check_refused(WORDS("session:before", "event:cycles"),
		      WORDS("session:after", "event:instructions"), "samples", VMOP_ERROR_NOT_FOUND,
		      "A has cycles; B has instructions");
	check_refused(WORDS("session:before"), WORDS("session:after"), "misses", VMOP_ERROR_USAGE,
		      "A (session:before) has no such event");
	check_refused(WORDS("session:before"), WORDS("session:after"), "1,2,3", VMOP_ERROR_USAGE,
		      "not 3");
}

static void common_specs_are_of_both_sides(void **state)
{
	(void)state;
	const struct vmop_side_words common = {WORDS("session:other", "event:cycles"), 2};
	const struct vmop_side_words own = {WORDS("session:before", "image:cg"), 2};
	struct vmop_side side;
	assert_ok(vmop_side_init(&side, 1, dir, NULL, &common, &own));
	assert_int_equal(side.letter, 'B');
	assert_string_equal(side.label, "session:before image:cg");
	assert_int_equal(side.spec.sessions.n, 1); /* its own only */
	assert_string_equal(side.spec.sessions.items[0], "before");
	assert_int_equal(side.spec.events.n, 1);
	assert_ok(vmop_side_run(&side, &by_symbol));
	assert_true(side.seconds == 10);
	vmop_side_deinit(&side);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_and_guest_are_joined_by_name),
		cmocka_unit_test(domains_of_both_sides_stay_apart),
		cmocka_unit_test(differences),
		cmocka_unit_test(orders),
		cmocka_unit_test(nothing_in_common),
		cmocka_unit_test(common_specs_are_of_both_sides),
	};
	return cmocka_run_group_tests(tests, make_all, remove_all);
}
