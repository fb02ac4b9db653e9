// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/overlap.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/ok.h"

#define SECOND UINT64_C(1000000000)

enum { SPANS_MAX = 400, COVERAGES_MAX = 5, SECONDS = 300 };

/* A coverage with room. */
struct list {
	struct vmop_span spans[SPANS_MAX];
	bool left_out[SPANS_MAX];
	size_t n;
	uint64_t start_ns;
};

static void add(struct list *list, uint64_t from_s, uint64_t to_s)
{
	assert_in_range(list->n, 0, SPANS_MAX - 1);
	list->spans[list->n++] = (struct vmop_span){from_s * SECOND, to_s * SECOND};
}

static void resolve(struct list *lists, size_t n)
{
	struct vmop_coverage coverages[COVERAGES_MAX];
	for (size_t i = 0; i < n; i++)
		coverages[i] = (struct vmop_coverage){.spans = lists[i].spans,
						      .n = lists[i].n,
						      .start_ns = lists[i].start_ns,
						      .is_left_out = lists[i].left_out};
	assert_ok(vmop_overlap_resolve(coverages, n));
}

static size_t n_left_out(const struct list *list)
{
	size_t n = 0;
	for (size_t i = 0; i < list->n; i++)
		n += list->left_out[i];
	return n;
}

static void the_first_session_is_counted(void **state)
{
	(void)state;
	static struct list lists[2];
	memset(lists, 0, sizeof(lists));
	lists[1].start_ns = 1;
	for (uint64_t s = 100; s < 110; s++)
		add(&lists[0], s, s + 1);
	for (uint64_t s = 105; s < 115; s++)
		add(&lists[1], s, s + 1);
	resolve(lists, 2);
	assert_int_equal(n_left_out(&lists[0]), 0);
	assert_int_equal(n_left_out(&lists[1]), 5);
	assert_true(lists[1].left_out[4]);
	assert_false(lists[1].left_out[5]);
}

static void a_gap_is_filled(void **state)
{
	(void)state;
	static struct list lists[2];
	memset(lists, 0, sizeof(lists));
	lists[1].start_ns = 1;
	add(&lists[0], 100, 101);
	add(&lists[0], 108, 109);
	for (uint64_t s = 100; s < 109; s++)
		add(&lists[1], s, s + 1);
	resolve(lists, 2);
	assert_int_equal(n_left_out(&lists[1]), 2);
}

static void a_joint_is_no_overlap(void **state)
{
	(void)state;
	static struct list lists[2];
	memset(lists, 0, sizeof(lists));
	lists[1].start_ns = 1;
	add(&lists[0], 100, 101);
	add(&lists[1], 101, 102);
	lists[1].spans[0].from_ns -= 3000000; /* the clocks were read 3 ms apart */
	resolve(lists, 2);
	assert_int_equal(n_left_out(&lists[1]), 0);
	lists[1].spans[0].from_ns -= 500000000;
	resolve(lists, 2);
	assert_int_equal(n_left_out(&lists[1]), 1);
}

static uint32_t next_random(uint64_t *random)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*random >> 33);
}

/*
 * Make a copy of a session that recorded a sample in each of SECONDS seconds: taken after to_s
 * seconds, with intervals of a minute up to rolled_s and those before first_s deleted.
 */
static void make_copy(struct list *list, uint64_t first_s, uint64_t rolled_s, uint64_t to_s)
{
	for (uint64_t s = first_s; s < to_s;) {
		uint64_t end_s = s < rolled_s ? s - s % 60 + 60 : s + 1;
		if (s < rolled_s && end_s > rolled_s)
			end_s = s + 1; /* the minute is not over */
		if (end_s > to_s)
			end_s = to_s;
		add(list, s, end_s);
		s = end_s;
	}
}

/*
 * Copies of one session, in any order, give each second once: the newest one's intervals, and what
 * only older ones still have.
 */
static void copies_count_once(void **state)
{
	(void)state;
	static struct list lists[COVERAGES_MAX];
	uint64_t random = 7;
	for (int round = 0; round < 2000; round++) {
		size_t n = 1 + next_random(&random) % COVERAGES_MAX;
		uint64_t first_s = SECONDS, last_s = 0;
		uint8_t covered[SECONDS] = {0}, counted[SECONDS] = {0};
		memset(lists, 0, sizeof(lists));
		for (size_t i = 0; i < n; i++) {
			/* An older copy has less rolled up, and less deleted. */
			uint64_t to_s = 1 + next_random(&random) % SECONDS;
			uint64_t rolled_s = to_s > 100 ? (to_s - 100) / 60 * 60 : 0;
			uint64_t from_s = to_s > 200 ? (to_s - 200) / 60 * 60 : 0;
			make_copy(&lists[i], from_s, rolled_s, to_s);
			if (from_s < first_s)
				first_s = from_s;
			if (to_s > last_s)
				last_s = to_s;
			for (uint64_t s = from_s; s < to_s; s++)
				covered[s] = 1;
		}
		resolve(lists, n);
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < lists[i].n; k++)
				for (uint64_t s = lists[i].spans[k].from_ns / SECOND;
				     s < lists[i].spans[k].to_ns / SECOND; s++)
					counted[s] += !lists[i].left_out[k];
		assert_memory_equal(covered, counted, sizeof(covered));
	}
}

/* Any sessions, also with intervals that overlap: between two of them nothing counts twice. */
static void nothing_counts_twice(void **state)
{
	(void)state;
	static struct list lists[COVERAGES_MAX];
	uint64_t random = 11;
	for (int round = 0; round < 2000; round++) {
		size_t n = 2 + next_random(&random) % (COVERAGES_MAX - 1);
		memset(lists, 0, sizeof(lists));
		for (size_t i = 0; i < n; i++) {
			lists[i].start_ns = next_random(&random) % 3;
			uint64_t at_s = next_random(&random) % 50;
			while (at_s < SECONDS - 70) {
				uint64_t len_s = 1 + next_random(&random) % 60;
				add(&lists[i], at_s, at_s + len_s);
				at_s += len_s + next_random(&random) % 20 / 10 * 30;
			}
		}
		resolve(lists, n);
		uint8_t counted[SECONDS] = {0};
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < lists[i].n; k++)
				for (uint64_t s = lists[i].spans[k].from_ns / SECOND;
				     s < lists[i].spans[k].to_ns / SECOND; s++)
					counted[s] += !lists[i].left_out[k];
		for (size_t s = 0; s < SECONDS; s++)
			assert_in_range(counted[s], 0, 1);
		/* An interval that is left out overlaps one that is counted. */
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < lists[i].n; k++) {
				bool has_other = !lists[i].left_out[k];
				for (uint64_t s = lists[i].spans[k].from_ns / SECOND;
				     s < lists[i].spans[k].to_ns / SECOND; s++)
					has_other |= counted[s];
				assert_true(has_other);
			}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_session_is_counted), cmocka_unit_test(a_gap_is_filled),
		cmocka_unit_test(a_joint_is_no_overlap),	cmocka_unit_test(copies_count_once),
		cmocka_unit_test(nothing_counts_twice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
