// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that cost more than their size: pages that a table contains several times, large blobs. */
#include "tests/unit/libdb/common.h"

#include <fcntl.h>

enum { N_TASKS = 50000, INTERIOR_TABLE_PAGE = 5, FIRST_POINTER = 12 };

static struct vmop_db *create(const char *path)
{
	struct vmop_db *db;
	assert_ok(vmop_db_create(path, &db));
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS, VMOP_NS_PER_S));
	return db;
}

static void finish(struct vmop_db *db)
{
	assert_ok(vmop_db_commit(db));
	assert_ok(vmop_db_finish(db));
}

static size_t big_endian_16(const uint8_t *bytes)
{
	return (size_t)bytes[0] << 8 | bytes[1];
}

/*
 * Let every entry of the tables' interior pages point to the same page, and return the number of
 * changed pages (SQLite's file format, 1.6: the number of cells at 3, their pointers from 12 on).
 */
static unsigned repeat_pages(const char *path)
{
	uint8_t page[65536];
	unsigned changed = 0;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, page, 100, 0), 100);
	size_t page_bytes = big_endian_16(page + 16);
	page_bytes = page_bytes == 1 ? sizeof(page) : page_bytes;
	for (off_t at = (off_t)page_bytes; pread(fd, page, page_bytes, at) == (ssize_t)page_bytes;
	     at += (off_t)page_bytes) {
		size_t n = big_endian_16(page + 3);
		if (page[0] != INTERIOR_TABLE_PAGE || n < 2 || FIRST_POINTER + 2 * n > page_bytes)
			continue;
		for (size_t i = 1; i < n; i++)
			memcpy(page + FIRST_POINTER + 2 * i, page + FIRST_POINTER, 2);
		assert_int_equal(pwrite(fd, page, page_bytes, at), (ssize_t)page_bytes);
		changed++;
	}
	close(fd);
	return changed;
}

static struct vmop_error *count_task(void *arg, const struct vmop_db_task *task)
{
	(void)task;
	++*(size_t *)arg;
	return NULL;
}

static struct vmop_error *count_total(void *arg, const struct vmop_db_total *total)
{
	(void)total;
	++*(size_t *)arg;
	return NULL;
}

static struct vmop_error *count_loss(void *arg, const struct vmop_db_loss *loss)
{
	*(uint64_t *)arg += loss->count;
	return NULL;
}

static void tasks_that_come_again(void **state)
{
	(void)state;
	const char *path = test_path("tasks.vmop");
	struct vmop_db *db = create(path);
	for (uint32_t i = 1; i <= N_TASKS; i++)
		assert_ok(vmop_db_put_task(db, &(struct vmop_db_task){.id = {i}, .comm = "task"}));
	finish(db);
	assert_true(repeat_pages(path) > 0);
	assert_ok(vmop_db_open(path, &db));
	size_t n = 0;
	assert_error(vmop_db_each_task(db, count_task, &n), VMOP_ERROR_CORRUPT, "task");
	assert_true(n < N_TASKS);
	vmop_db_close(db);
}

static void chunks_that_come_again(void **state)
{
	(void)state;
	const char *path = test_path("chunks.vmop");
	struct vmop_db *db = create(path);
	const struct vmop_db_cell cell = {1, 1, 1};
	for (uint32_t i = 1; i <= N_TASKS; i++) {
		const struct vmop_db_chunk_key key = {
			.cpu = -1, .vcpu = -1, .task = {i}, .image = {1}};
		assert_ok(vmop_db_put_chunk(db, &key, &cell, 1));
	}
	finish(db);
	assert_true(repeat_pages(path) > 0);
	assert_ok(vmop_db_open(path, &db));
	size_t n = 0;
	assert_error(vmop_db_each_total(db, NULL, count_total, &n), VMOP_ERROR_CORRUPT, "chunk");
	vmop_db_close(db);
}

/* Losses of several intervals become one sum. */
static void losses_are_summed(void **state)
{
	(void)state;
	struct vmop_db *db = create(test_path("losses.vmop"));
	for (unsigned i = 0; i < 3; i++) {
		assert_ok(vmop_db_put_loss(
			db, &(struct vmop_db_loss){.name = "b", .domain = {1}, .count = 5}));
		assert_ok(vmop_db_put_loss(db, &(struct vmop_db_loss){.name = "a", .count = 7}));
		assert_ok(vmop_db_commit(db));
		assert_ok(vmop_db_begin_interval(db, TEST_START_NS + (i + 1) * VMOP_NS_PER_S,
						 VMOP_NS_PER_S));
	}
	finish(db);
	assert_ok(vmop_db_open(test_path("losses.vmop"), &db));
	uint64_t sum = 0;
	assert_ok(vmop_db_each_loss(db, count_loss, &sum));
	assert_int_equal(sum, 36);
	vmop_db_close(db);
}

static void symbols_within(void **state)
{
	(void)state;
	const struct vmop_symbol symbol = {0, 16, "a_name", 't'};
	struct vmop_db *db = create(test_path("symbols.vmop"));
	assert_ok(vmop_db_put_symbols(db, (struct vmop_image_id){1}, &symbol, 1));
	finish(db);
	assert_ok(vmop_db_open(test_path("symbols.vmop"), &db));
	struct vmop_symbol *symbols = NULL;
	size_t n = 0, bytes = sizeof(symbol);
	assert_error(
		vmop_db_get_symbols_within(db, (struct vmop_image_id){1}, &bytes, &symbols, &n),
		VMOP_ERROR_LIMIT, "symbols of");
	bytes = 1000;
	assert_ok(vmop_db_get_symbols_within(db, (struct vmop_image_id){1}, &bytes, &symbols, &n));
	assert_int_equal(n, 1);
	assert_in_range(bytes, sizeof(symbol) + sizeof("a_name"), 100);
	free(symbols);
	vmop_db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks_that_come_again),
		cmocka_unit_test(chunks_that_come_again),
		cmocka_unit_test(losses_are_summed),
		cmocka_unit_test(symbols_within),
	};
	return cmocka_run_group_tests(tests, test_dir_make, test_dir_remove);
}
