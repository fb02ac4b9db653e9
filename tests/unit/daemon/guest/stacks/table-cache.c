// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/stacks/table-cache.h"

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "libutil/clock.h"
#include "libutil/error.h"

/* Return the table of this program, and set *ret to its bytes. */
static struct vmop_cfi_table *make_table(size_t *ret)
{
	static const struct vmop_cfi_limits limits = {.max_bytes = (size_t)64 << 20,
						      .max_cpu_ns = 60 * VMOP_NS_PER_S};
	struct vmop_cfi_table *table;
	struct vmop_cfi_facts facts;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_null(vmop_cfi_table_build(fd, &limits, &table));
	close(fd);
	vmop_cfi_table_facts(table, &facts);
	*ret = facts.table_bytes;
	return table;
}

static struct vmop_guest_code_key key_of(uint64_t file)
{
	return (struct vmop_guest_code_key){.file = file};
}

static void tables_are_found_again(void **state)
{
	struct vmop_guest_table_cache *cache = malloc(sizeof(*cache));
	struct vmop_guest_code_key key = key_of(1), other = key_of(2);
	size_t bytes;
	(void)state;
	vmop_guest_table_cache_init(cache, VMOP_GUEST_TABLE_CACHE_BYTES);
	assert_null(vmop_guest_table_cache_find(cache, &key));
	struct vmop_guest_table_slot *slot = vmop_guest_table_cache_add(cache, &key);
	assert_int_equal(slot->state, VMOP_CODE_PENDING);
	vmop_guest_table_cache_ask(cache, slot, 5);
	vmop_guest_table_cache_ask(cache, slot, 7);
	assert_int_equal(cache->n_asked, 1);
	struct vmop_cfi_table *table = make_table(&bytes);
	vmop_guest_table_cache_put(cache, &key, VMOP_CODE_HAS_TABLE, table);
	slot = vmop_guest_table_cache_find(cache, &key);
	assert_true(slot->table == table && slot->state == VMOP_CODE_HAS_TABLE);
	assert_int_equal(cache->n_asked, 0);
	assert_int_equal(cache->bytes, bytes);
	/* An answer for an unknown key is dropped. */
	vmop_guest_table_cache_put(cache, &other, VMOP_CODE_HAS_TABLE, make_table(&bytes));
	assert_null(vmop_guest_table_cache_find(cache, &other));
	/* One that can't be read any longer. */
	vmop_guest_table_cache_put(cache, &key, VMOP_CODE_UNREADABLE, NULL);
	assert_null(vmop_guest_table_cache_find(cache, &key)->table);
	assert_int_equal(cache->bytes, 0);
	vmop_guest_table_cache_deinit(cache);
	free(cache);
}

struct half_file {
	int fd;
	uint64_t absent_from;
};

static bool read_half(void *arg, uint64_t offset, void *buf, size_t len_bytes)
{
	const struct half_file *file = arg;
	return offset + len_bytes <= file->absent_from &&
	       pread(file->fd, buf, len_bytes, (off_t)offset) == (ssize_t)len_bytes;
}

/* Return a partial table of this program: the first one, or a better or worse one. */
static struct vmop_cfi_table *make_partial_table(bool is_better)
{
	static const struct vmop_cfi_limits limits = {.max_bytes = (size_t)64 << 20,
						      .max_cpu_ns = 60 * VMOP_NS_PER_S};
	struct half_file file = {.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)};
	const struct vmop_cfi_reader reader = {.read = read_half, .arg = &file};
	struct vmop_cfi_table *table = NULL;
	unsigned n_partial = 0;
	for (file.absent_from = 4096;; file.absent_from += 4096) {
		vmop_error_destroy(vmop_cfi_table_build_by(&reader, &limits, &table));
		if (table && !vmop_cfi_table_is_partial(table))
			break;
		if (table && n_partial++ == (is_better ? 1 : 0))
			break;
		vmop_cfi_table_destroy(table);
		table = NULL;
	}
	close(file.fd);
	return table;
}

static void a_better_table_replaces_a_partial_one(void **state)
{
	struct vmop_guest_table_cache *cache = malloc(sizeof(*cache));
	struct vmop_guest_code_key key = key_of(1);
	size_t bytes;
	(void)state;
	struct vmop_cfi_table *worse = make_partial_table(false);
	struct vmop_cfi_table *better = make_partial_table(true), *whole = make_table(&bytes);
	assert_true(vmop_cfi_table_is_partial(worse) && vmop_cfi_table_is_partial(better));
	vmop_guest_table_cache_init(cache, VMOP_GUEST_TABLE_CACHE_BYTES);
	struct vmop_guest_table_slot *slot = vmop_guest_table_cache_add(cache, &key);
	vmop_guest_table_cache_put(cache, &key, VMOP_CODE_HAS_TABLE, better);
	assert_true(slot->table == better && slot->is_partial);
	vmop_guest_table_cache_put(cache, &key, VMOP_CODE_HAS_TABLE, worse);
	assert_ptr_equal(slot->table, better);
	vmop_guest_table_cache_put(cache, &key, VMOP_CODE_UNREADABLE, NULL);
	assert_true(slot->table == better && slot->state == VMOP_CODE_HAS_TABLE);
	vmop_guest_table_cache_put(cache, &key, VMOP_CODE_HAS_TABLE, whole);
	assert_true(slot->table == whole && !slot->is_partial);
	assert_int_equal(cache->bytes, bytes);
	vmop_guest_table_cache_deinit(cache);
	free(cache);
}

static void memory_is_bounded(void **state)
{
	struct vmop_guest_table_cache *cache = malloc(sizeof(*cache));
	size_t bytes;
	(void)state;
	vmop_cfi_table_destroy(make_table(&bytes));
	vmop_guest_table_cache_init(cache, 2 * bytes);
	for (uint64_t i = 1; i <= 3; i++) {
		struct vmop_guest_code_key key = key_of(i), first = key_of(1);
		vmop_guest_table_cache_add(cache, &key);
		vmop_guest_table_cache_put(cache, &key, VMOP_CODE_HAS_TABLE, make_table(&bytes));
		assert_non_null(vmop_guest_table_cache_find(cache, &first)->table);
		assert_true(cache->bytes <= cache->max_bytes);
	}
	/* The second one was used last before the others. */
	struct vmop_guest_code_key second = key_of(2), third = key_of(3), fourth = key_of(4);
	assert_null(vmop_guest_table_cache_find(cache, &second));
	assert_non_null(vmop_guest_table_cache_find(cache, &third));
	/* A table that is too large for the cache. */
	cache->max_bytes = bytes - 1;
	vmop_guest_table_cache_add(cache, &fourth);
	vmop_guest_table_cache_put(cache, &fourth, VMOP_CODE_HAS_TABLE, make_table(&bytes));
	assert_int_equal(vmop_guest_table_cache_find(cache, &fourth)->state, VMOP_CODE_UNREADABLE);
	assert_int_equal(cache->bytes, 0);
	vmop_guest_table_cache_deinit(cache);
	free(cache);
}

static void files_are_bounded(void **state)
{
	struct vmop_guest_table_cache *cache = malloc(sizeof(*cache));
	struct vmop_guest_code_key first = key_of(1), second = key_of(2);
	(void)state;
	vmop_guest_table_cache_init(cache, VMOP_GUEST_TABLE_CACHE_BYTES);
	for (uint64_t i = 1; i <= VMOP_GUEST_TABLE_CACHE_FILES + 1; i++) {
		struct vmop_guest_code_key key = key_of(i);
		if (i > 1)
			assert_non_null(vmop_guest_table_cache_find(cache, &first));
		vmop_guest_table_cache_ask(cache, vmop_guest_table_cache_add(cache, &key), 1);
	}
	assert_int_equal(cache->n, VMOP_GUEST_TABLE_CACHE_FILES);
	assert_int_equal(cache->n_asked, VMOP_GUEST_TABLE_CACHE_FILES);
	assert_non_null(vmop_guest_table_cache_find(cache, &first));
	assert_null(vmop_guest_table_cache_find(cache, &second));
	vmop_guest_table_cache_deinit(cache);
	free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_are_found_again),
		cmocka_unit_test(a_better_table_replaces_a_partial_one),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(files_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
