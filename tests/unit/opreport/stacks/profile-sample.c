// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples of profiles are packed as protobuf-c packs them. */
#include "opreport/stacks/profile-sample.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "opreport/stacks/pprof.pb-c.h"

/* Pack a sample of the path's ids, outermost first, both ways, and compare. */
static void compare(const struct vmop_profile_path *path, const uint64_t *ids,
		    const struct vmop_profile_values *rest, Vmop__Pprof__Label *label)
{
	Vmop__Pprof__Profile piece = VMOP__PPROF__PROFILE__INIT;
	Vmop__Pprof__Sample sample = VMOP__PPROF__SAMPLE__INIT, *items = &sample;
	uint64_t reversed[VMOP_CALL_PATH_MAX];
	for (size_t i = 0; i < path->n; i++)
		reversed[i] = ids[path->n - 1 - i];
	sample.n_location_id = path->n;
	sample.location_id = reversed;
	sample.n_value = rest->n_values;
	sample.value = (int64_t *)rest->values;
	sample.n_label = label ? 1 : 0;
	sample.label = &label;
	piece.n_sample = 1;
	piece.sample = &items;
	size_t len = vmop__pprof__profile__get_packed_size(&piece);
	uint8_t *expected = malloc(len), *got = malloc(vmop_profile_sample_bound_bytes(path, rest));
	assert_non_null(expected);
	assert_non_null(got);
	vmop__pprof__profile__pack(&piece, expected);
	assert_int_equal(vmop_profile_sample_pack(path, rest, got), len);
	assert_true(len <= vmop_profile_sample_bound_bytes(path, rest));
	assert_memory_equal(got, expected, len);
	free(expected);
	free(got);
}

static void samples_are_packed(void **state)
{
	(void)state;
	static const uint64_t ids[] = {1, 127, 128, 16383, UINT32_MAX, 16384, UINT64_MAX, 5};
	static const int64_t values[] = {0, 1, -1, INT64_MAX, 1000000};
	static struct vmop_profile_path path;
	Vmop__Pprof__Sample sample = VMOP__PPROF__SAMPLE__INIT;
	Vmop__Pprof__Label label = VMOP__PPROF__LABEL__INIT, *labels = &label;
	uint8_t packed[64];
	label.key = 300;
	label.str = 7;
	sample.n_label = 1;
	sample.label = &labels;
	struct vmop_profile_values rest = {.values = values};
	compare(&path, ids, &rest, NULL);
	for (size_t n = 0; n < sizeof(ids) / sizeof(*ids); n++) {
		vmop_profile_path_enter(&path, n, ids[n]);
		rest = (struct vmop_profile_values){.values = values, .n_values = n % 6};
		compare(&path, ids, &rest, NULL);
		rest.labels = packed;
		rest.labels_len_bytes = vmop__pprof__sample__pack(&sample, packed);
		compare(&path, ids, &rest, &label);
	}
}

/* Leaving a callee for another one keeps the callers; the longest path has room. */
static void paths_change(void **state)
{
	(void)state;
	static struct vmop_profile_path path;
	static uint64_t ids[VMOP_CALL_PATH_MAX];
	static const int64_t value = 3;
	const struct vmop_profile_values rest = {.values = &value, .n_values = 1};
	for (size_t n = 0; n < VMOP_CALL_PATH_MAX; n++) {
		ids[n] = UINT64_MAX - n;
		vmop_profile_path_enter(&path, n, ids[n]);
	}
	compare(&path, ids, &rest, NULL);
	ids[3] = 9;
	vmop_profile_path_enter(&path, 3, 9);
	assert_int_equal(path.n, 4);
	compare(&path, ids, &rest, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_packed),
		cmocka_unit_test(paths_change),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
