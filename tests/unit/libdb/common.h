// SPDX-License-Identifier: GPL-2.0-or-later
/* Shared by the tests of libdb: a temporary folder, and small sessions in it. */
#ifndef VMOP_TESTS_UNIT_LIBDB_COMMON_H
#define VMOP_TESTS_UNIT_LIBDB_COMMON_H

#include <cmocka.h>

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libdb/db.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "tests/unit/ok.h"

#define TEST_START_NS (UINT64_C(1700000040) * VMOP_NS_PER_S) /* a whole minute */

static char test_dir[PATH_MAX];

static inline int test_dir_make(void **state)
{
	(void)state;
	const char *tmp = getenv("TMPDIR");
	snprintf(test_dir, sizeof(test_dir), "%s/vmop-libdb-XXXXXX", tmp ? tmp : "/tmp");
	return mkdtemp(test_dir) ? 0 : -1;
}

static inline int test_remove_one(const char *path, const struct stat *st, int type,
				  struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline int test_dir_remove(void **state)
{
	(void)state;
	return nftw(test_dir, test_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Return a path in the test's folder, valid until the fourth call after this one. */
static inline const char *test_path(const char *name)
{
	static char paths[4][PATH_MAX + 64];
	static unsigned next;
	char *path = paths[next++ % 4];
	snprintf(path, sizeof(paths[0]), "%s/%s", test_dir, name);
	return path;
}

static inline void check_error(struct vmop_error *err, enum vmop_error_code code, const char *text,
			       const char *file, int line)
{
	if (!err || err->code != code || !strstr(err->message, text)) {
		print_error("got \"%s\" (%d), not \"%s\" (%d)\n", err ? err->message : "no error",
			    err ? (int)err->code : -1, text, (int)code);
		vmop_error_destroy(err);
		_fail(file, line);
	}
	vmop_error_destroy(err);
}
/* Check that the call fails with code, and with text in its message. */
#define assert_error(call, code, text) check_error(call, code, text, __FILE__, __LINE__)

/* Compare by field: the structs have padding. */
static inline void assert_node(const struct vmop_db_stack_node *a,
			       const struct vmop_db_stack_node *b)
{
	assert_int_equal(a->id.number, b->id.number);
	assert_int_equal(a->parent.number, b->parent.number);
	assert_int_equal(a->image.number, b->image.number);
	assert_int_equal(a->offset, b->offset);
}

/* Put the rows that chunks refer to: host, guest, one event, two images, two tasks. */
static inline void put_facts(struct vmop_db *db)
{
	assert_ok(vmop_db_put_info(db, "hostname", "rig"));
	assert_ok(vmop_db_put_event(db, &(struct vmop_db_event){.id = {0},
								.name = "cpu-clock",
								.source = "perf",
								.unit = "ns",
								.frequency_hz = 1000}));
	assert_ok(vmop_db_put_domain(
		db, &(struct vmop_db_domain){.id = {0}, .kind = VMOP_DOMAIN_HOST, .name = "host"}));
	assert_ok(vmop_db_put_domain(
		db, &(struct vmop_db_domain){.id = {1},
					     .kind = VMOP_DOMAIN_PASSIVE,
					     .name = "g1",
					     .uuid = "5e1f0000-0000-4000-8000-000000000001",
					     .vmm_pid = 700,
					     .vmm = "qemu-system-x86_64",
					     .first_seen_ns = TEST_START_NS}));
	assert_ok(vmop_db_put_vcpu(db, &(struct vmop_db_vcpu){{1}, 0, 701}));
	assert_ok(vmop_db_put_image(db, &(struct vmop_db_image){.id = {1},
								.kind = VMOP_IMAGE_KERNEL,
								.name = "[kernel]",
								.base = 0xffffffff81000000}));
	assert_ok(vmop_db_put_image(db, &(struct vmop_db_image){.id = {2},
								.kind = VMOP_IMAGE_FILE,
								.name = "/usr/bin/loop",
								.build_id_len_bytes = 3,
								.build_id = {1, 2, 3}}));
	assert_ok(vmop_db_put_task(
		db, &(struct vmop_db_task){
			    .id = {1}, .pid = 100, .tid = 100, .comm = "loop", .exe_image = {2}}));
	assert_ok(vmop_db_put_task(db, &(struct vmop_db_task){.id = {2},
							      .pid = 200,
							      .tid = 200,
							      .start_time_ns = TEST_START_NS,
							      .comm = "loop",
							      .exe_image = {2},
							      .cgroup = "/user.slice"}));
}

/* Return the key of user code in a task of the host. */
static inline struct vmop_db_chunk_key key_of(uint32_t task, uint32_t image)
{
	return (struct vmop_db_chunk_key){.mode = image == 1 ? VMOP_MODE_KERNEL : VMOP_MODE_USER,
					  .vcpu = -1,
					  .cpu = -1,
					  .task = {task},
					  .image = {image}};
}

/* Put interval number i: a second with 10 samples of two tasks in two images. */
static inline struct vmop_error *put_second(struct vmop_db *db, unsigned i)
{
	static const struct vmop_db_cell user[] = {{0x1000, 3, 3000000}, {0x1010, 1, 1000000}};
	static const struct vmop_db_cell kernel[] = {{0x200, 1, 1000000}};
	struct vmop_error *err =
		vmop_db_begin_interval(db, TEST_START_NS + i * VMOP_NS_PER_S, VMOP_NS_PER_S);
	for (uint32_t task = 1; !err && task <= 2; task++) {
		struct vmop_db_chunk_key key = key_of(task, 2);
		err = vmop_db_put_chunk(db, &key, user, 2);
		key = key_of(task, 1);
		if (!err)
			err = vmop_db_put_chunk(db, &key, kernel, 1);
	}
	if (!err)
		return vmop_db_commit(db);
	vmop_db_rollback(db);
	return err;
}

struct totals {
	uint64_t samples, weight_events, n;
};

static inline struct vmop_error *add_to_totals(void *arg, const struct vmop_db_total *total)
{
	struct totals *totals = arg;
	totals->samples += total->samples;
	totals->weight_events += total->weight_events;
	totals->n++;
	return NULL;
}

static inline struct totals totals_of(struct vmop_db *db, const struct vmop_db_filter *filter)
{
	struct totals totals = {0};
	assert_ok(vmop_db_each_total(db, filter, add_to_totals, &totals));
	return totals;
}

/*
 * Check that a blob of n packed cells, cut anywhere, is refused or has fewer cells. `unpack`
 * returns the number of cells in a part, which is not longer than its memory; -1: refused.
 */
static inline void test_cuts(const uint8_t *blob, size_t len, size_t n,
			     int (*unpack)(void *arg, const void *part, size_t len), void *arg)
{
	for (size_t cut = 0; cut < len && cut < 300; cut++) {
		_cleanup_free_ uint8_t *part = malloc(cut + 1);
		memcpy(part, blob, cut);
		assert_in_range(unpack(arg, part, cut) + 1, 0, n);
	}
}

/* A blob that no writer wrote. */
struct test_blob {
	uint8_t bytes[24];
	size_t len;
};

/* Check that `unpack` refuses each of n blobs. */
static inline void test_refuses(const struct test_blob *blobs, size_t n,
				int (*unpack)(void *arg, const void *blob, size_t len), void *arg)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(unpack(arg, blobs[i].bytes, blobs[i].len), -1);
}

#endif
