// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables on their way into the kernel, in whose place maps of the test stand. */
#include "daemon/stack/kernel-tables.h"

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "tests/unit/daemon/stack/unwind-maps-double.h"
#include "tests/unit/ok.h"

static struct vmop_cfi_table *table;

static int build_table(void **state)
{
	const struct vmop_cfi_limits limits = {.max_bytes = (size_t)1 << 30,
					       .max_cpu_ns = 60000000000ull};
	(void)state;
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_ok(vmop_cfi_table_build(fd, &limits, &table));
	return 0;
}

static int free_table(void **state)
{
	(void)state;
	vmop_cfi_table_destroy(table);
	return 0;
}

/* The last finished copies. */
struct done {
	size_t n;
	struct vmop_image_slot image;
	uint32_t number;
};

static void note(void *arg, struct vmop_image_slot image, uint32_t number)
{
	struct done *done = arg;
	*done = (struct done){.n = done->n + 1, .image = image, .number = number};
}

static struct done await(struct vmop_kernel_tables *tables)
{
	struct done done = {0};
	while (!done.n) {
		usleep(1000);
		vmop_kernel_tables_collect(tables, note, &done);
	}
	assert_int_equal(done.n, 1);
	return done;
}

static bool is_here(struct vmop_unwind_maps *maps, uint32_t number)
{
	pthread_mutex_lock(&maps->lock);
	bool is_here = maps->n_rows[number] != 0;
	pthread_mutex_unlock(&maps->lock);
	return is_here;
}

static void a_table_is_copied_and_removed(void **state)
{
	struct vmop_unwind_maps maps = DOUBLE_NEW;
	struct vmop_kernel_tables *tables;
	(void)state;
	assert_ok(vmop_kernel_tables_create(&maps, &tables));
	assert_true(vmop_kernel_tables_put(tables, (struct vmop_image_slot){77}, table));
	struct done first = await(tables);
	assert_int_equal(first.image.at, 77);
	assert_true(is_here(&maps, first.number));
	assert_true(vmop_kernel_tables_put(tables, (struct vmop_image_slot){78}, table));
	struct done second = await(tables);
	assert_int_not_equal(second.number, first.number);
	vmop_kernel_tables_remove(tables, first.number);
	while (is_here(&maps, first.number))
		usleep(1000);
	assert_true(is_here(&maps, second.number));
	vmop_kernel_tables_destroy(tables);
}

/* Mappings in the kernel may have the number of a table that was removed. */
static void a_number_is_not_given_again_before_it_is_forgotten(void **state)
{
	struct vmop_unwind_maps maps = DOUBLE_NEW;
	struct vmop_kernel_tables *tables;
	(void)state;
	assert_ok(vmop_kernel_tables_create(&maps, &tables));
	uint32_t last = 0;
	for (uint32_t i = 0; i < DOUBLE_TABLES; i++) {
		assert_true(vmop_kernel_tables_put(tables, (struct vmop_image_slot){i}, table));
		last = await(tables).number;
	}
	const struct vmop_image_slot next = {DOUBLE_TABLES};
	assert_false(vmop_kernel_tables_put(tables, next, table));
	vmop_kernel_tables_remove(tables, last);
	assert_false(vmop_kernel_tables_put(tables, next, table));
	vmop_kernel_tables_forgotten(tables);
	assert_true(vmop_kernel_tables_put(tables, next, table));
	assert_int_equal(await(tables).number, last);
	assert_true(is_here(&maps, last));
	vmop_kernel_tables_destroy(tables);
}

static void a_refused_table_leaves_its_number_free(void **state)
{
	struct vmop_unwind_maps maps = DOUBLE_NEW;
	struct vmop_kernel_tables *tables;
	(void)state;
	maps.refuses_tables = true;
	assert_ok(vmop_kernel_tables_create(&maps, &tables));
	for (uint32_t i = 0; i < 2 * DOUBLE_TABLES; i++) {
		assert_true(vmop_kernel_tables_put(tables, (struct vmop_image_slot){i}, table));
		assert_int_equal(await(tables).number, VMOP_UNWIND_NOT_YET);
	}
	vmop_kernel_tables_destroy(tables);
}

/* A session that begins a new file uses the maps of its first one. */
static void leftovers_are_removed(void **state)
{
	struct vmop_unwind_maps maps = DOUBLE_NEW;
	struct vmop_kernel_tables *tables;
	(void)state;
	maps.n_rows[0] = maps.n_rows[3] = 100;
	assert_ok(vmop_kernel_tables_create(&maps, &tables));
	while (is_here(&maps, 0) || is_here(&maps, 3))
		usleep(1000);
	vmop_kernel_tables_destroy(tables);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_copied_and_removed),
		cmocka_unit_test(a_number_is_not_given_again_before_it_is_forgotten),
		cmocka_unit_test(a_refused_table_leaves_its_number_free),
		cmocka_unit_test(leftovers_are_removed),
	};
	return cmocka_run_group_tests(tests, build_table, free_table);
}
