// SPDX-License-Identifier: GPL-2.0-or-later
/* Test a report of sessions that each store other symbols of one kernel. */
#include "opreport/query/symbols.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "opreport/query/query.h"
#include "tests/unit/ok.h"

enum { N_SESSIONS = 3, KERNEL = 1 };

static char dir[] = "/tmp/vmop-symbols-XXXXXX";

static const char *path_of(int session)
{
	static char path[64];
	snprintf(path, sizeof(path), "%s/%d.vmop", dir, session);
	return path;
}

static const struct vmop_symbol symbols[] = {
	{0x100, 0, "first", 't'}, {0x200, 0, "second", 't'}, {0x300, 0, "last", 't'}};

/* Sessions 0 and 1 have samples in a function of their own and in "last"; 2 has no symbols. */
static void put_session(int session)
{
	static const char *const always[] = {NULL};
	_cleanup_free_ void *packed = NULL;
	size_t len_bytes;
	struct vmop_db *db;
	const struct vmop_db_image image = {.id = {KERNEL},
					    .kind = VMOP_IMAGE_KERNEL,
					    .name = "[kernel]",
					    .build_id_len_bytes = 2,
					    .build_id = {1, 2}};
	const struct vmop_db_chunk_key key = {
		.mode = VMOP_MODE_KERNEL, .cpu = -1, .vcpu = -1, .image = {KERNEL}};
	const struct vmop_db_cell cells[] = {{session == 1 ? 0x210 : 0x110, 10, 100},
					     {0x310, 1, 10}};
	assert_ok(vmop_db_create(path_of(session), &db));
	assert_ok(vmop_db_put_info(db, "hostname", "alpha"));
	assert_ok(vmop_db_put_event(
		db, &(struct vmop_db_event){.name = "cycles", .source = "perf", .unit = "events"}));
	assert_ok(vmop_db_put_domain(db, &(struct vmop_db_domain){.name = "host"}));
	assert_ok(vmop_db_put_image(db, &image));
	assert_ok(vmop_db_begin_interval(db, (uint64_t)(session + 1) * 1000000000, 1000000000));
	assert_ok(vmop_db_pack_symbols(symbols, 3, always, &packed, &len_bytes));
	if (session < 2)
		assert_ok(vmop_db_put_packed_symbols(db, image.id, packed, len_bytes));
	assert_ok(vmop_db_put_chunk(db, &key, cells, 2));
	assert_ok(vmop_db_commit(db));
	assert_ok(vmop_db_finish(db));
}

static int make_sessions(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	for (int i = 0; i < N_SESSIONS; i++)
		put_session(i);
	return 0;
}

static int remove_sessions(void **state)
{
	(void)state;
	for (int i = 0; i < N_SESSIONS; i++)
		unlink(path_of(i));
	return rmdir(dir);
}

static uint64_t samples_of(struct vmop_result *result, const char *symbol)
{
	for (size_t i = 0; i < result->n_rows; i++)
		if (!strcmp(vmop_result_symbol_name(result, &result->rows[i]), symbol))
			return vmop_result_sum(result, result->rows[i].counts, 0).samples;
	return 0;
}

/* Each session's samples get names, whichever session comes first. */
static void of_several_sessions(void **state)
{
	(void)state;
	for (int first = 0; first < N_SESSIONS; first++) {
		_cleanup_(vmop_spec_deinit) struct vmop_spec spec = {0};
		struct vmop_session_input inputs[N_SESSIONS] = {0};
		struct vmop_result result;
		const struct vmop_query query = {.dimensions = VMOP_BY_IMAGE | VMOP_BY_SYMBOL};
		for (int i = 0; i < N_SESSIONS; i++) {
			inputs[i].name = "s";
			assert_ok(vmop_db_open(path_of((first + i) % N_SESSIONS), &inputs[i].db));
		}
		assert_ok(vmop_query_run(&query, &spec, inputs, N_SESSIONS, &result));
		/* Session 2 takes the symbols of the first one. */
		assert_int_equal(samples_of(&result, "first"), first == 0 ? 20 : 10);
		assert_int_equal(samples_of(&result, "second"), 10);
		assert_int_equal(samples_of(&result, "last"), first == 2 ? 2 : 3);
		vmop_result_deinit(&result);
		for (int i = 0; i < N_SESSIONS; i++)
			vmop_db_close(inputs[i].db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(of_several_sessions)};
	return cmocka_run_group_tests(tests, make_sessions, remove_sessions);
}
