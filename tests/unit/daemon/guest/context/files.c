// SPDX-License-Identifier: GPL-2.0-or-later
/* The cache of pages: its identity, its bounds, and what it drops. */
#include "daemon/guest/context/files.h"

#include <cmocka.h>

static struct vmop_guest_files files;
static struct vmop_images images;

static int begin(void **state)
{
	(void)state;
	assert_null(vmop_images_init(&images, 64));
	assert_true(vmop_guest_files_init(&files));
	return 0;
}

static int end(void **state)
{
	(void)state;
	vmop_guest_files_deinit(&files, &images);
	vmop_images_deinit(&images);
	return 0;
}

static struct vmop_guest_page_key key_of(uint64_t index)
{
	return (struct vmop_guest_page_key){.generation = 1,
					    .mapping = UINT64_C(0xffff888004321000),
					    .index = index,
					    .inode = UINT64_C(0xffff888004320f00),
					    .inode_number = 77};
}

static struct vmop_guest_code_page *get(uint64_t index)
{
	const struct vmop_guest_page_key key = key_of(index);
	return vmop_guest_files_get(&files, &key);
}

static struct vmop_guest_code_page *find(uint64_t index)
{
	const struct vmop_guest_page_key key = key_of(index);
	return vmop_guest_files_find(&files, &key);
}

static void a_page_is_known_by_all_of_its_identity(void **state)
{
	(void)state;
	struct vmop_guest_page_key key = key_of(3);
	struct vmop_guest_code_page *page = get(3);
	assert_non_null(page);
	assert_int_equal(page->state, VMOP_GUEST_PAGE_NEW);
	page->state = VMOP_GUEST_PAGE_PENDING;
	assert_ptr_equal(get(3), page);
	assert_int_equal(files.n, 1);
	/* The same page of memory, used for another file since. */
	key.inode_number++;
	assert_null(vmop_guest_files_find(&files, &key));
	key = key_of(3);
	key.generation++;
	assert_null(vmop_guest_files_find(&files, &key));
	key = key_of(3);
	key.inode_generation = 5;
	assert_null(vmop_guest_files_find(&files, &key));
	assert_int_equal(files.n, 1);
}

static void images_are_referenced_until_their_page_goes(void **state)
{
	(void)state;
	const struct vmop_build_id id = {.len_bytes = 0};
	struct vmop_image *image =
		vmop_images_guest_file(&images, (struct vmop_domain_id){1}, "/bin/a", &id);
	vmop_image_ref(image);
	vmop_guest_files_found(get(1), &images, image, true);
	assert_int_equal(find(1)->state, VMOP_GUEST_PAGE_FOUND);
	assert_true(find(1)->is_verified);
	assert_int_equal(image->refs, 2);
	uint64_t next = 2;
	for (unsigned interval = 0; interval < 4; interval++) {
		while (files.n < files.n_slots / 2)
			assert_non_null(get(next++));
		vmop_guest_files_next_interval(&files, &images);
	}
	assert_null(find(1));
	assert_non_null(find(next - 1));
	assert_int_equal(image->refs, 1);
	vmop_image_unref(&images, image);
}

static void the_table_grows_between_intervals_only(void **state)
{
	(void)state;
	uint64_t n = 0;
	while (get(n))
		n++;
	assert_int_equal(n, VMOP_GUEST_FILES_FIRST / 4 * 3);
	assert_int_equal(files.n_refused, 1);
	assert_non_null(get(0)); /* those that are there stay */
	vmop_guest_files_next_interval(&files, &images);
	assert_int_equal(files.n_slots, 2 * VMOP_GUEST_FILES_FIRST);
	for (uint64_t i = 0; i < n; i++)
		assert_non_null(find(i));
	assert_non_null(get(n));
}

static void the_table_has_a_largest_size(void **state)
{
	(void)state;
	uint64_t n = 0;
	for (unsigned interval = 0; interval < 12; interval++) {
		for (uint64_t i = 0; i < n; i++) /* all of them are in use */
			get(i);
		while (get(n))
			n++;
		vmop_guest_files_next_interval(&files, &images);
	}
	assert_int_equal(files.n_slots, VMOP_GUEST_FILES_MAX);
	assert_true(files.n <= VMOP_GUEST_FILES_MAX / 4 * 3);
	/* Without samples their room is free again. */
	for (unsigned i = 0; i < 4; i++)
		vmop_guest_files_next_interval(&files, &images);
	assert_int_equal(files.n, 0);
	assert_non_null(get(n));
}

static void a_cache_without_memory_refuses(void **state)
{
	struct vmop_guest_files none = {0};
	const struct vmop_guest_page_key key = key_of(1);
	(void)state;
	assert_null(vmop_guest_files_get(&none, &key));
	assert_null(vmop_guest_files_find(&none, &key));
	vmop_guest_files_next_interval(&none, &images);
	vmop_guest_files_deinit(&none, &images);
}

static void an_inode_has_the_file_of_its_pages(void **state)
{
	(void)state;
	struct vmop_guest_page_key key = key_of(3), other = key_of(4), another = key_of(4);
	struct vmop_image *image =
		vmop_images_named(&images, VMOP_DOMAIN_ID_HOST, VMOP_IMAGE_FILE, "a", 0, 0);
	assert_null(vmop_guest_files_find_inode(&files, &key));
	vmop_guest_files_note_inode(&files, &images, &key, image, true);
	vmop_guest_files_note_inode(&files, &images, &other, image, false);
	const struct vmop_guest_code_page *inode = vmop_guest_files_find_inode(&files, &other);
	assert_true(inode && inode->image == image && inode->is_verified);
	assert_null(vmop_guest_files_find(&files, &other));
	another.inode_generation++;
	assert_null(vmop_guest_files_find_inode(&files, &another));
	assert_int_equal(files.n, 1);
	vmop_image_unref(&images, image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_page_is_known_by_all_of_its_identity, begin, end),
		cmocka_unit_test_setup_teardown(an_inode_has_the_file_of_its_pages, begin, end),
		cmocka_unit_test_setup_teardown(images_are_referenced_until_their_page_goes, begin,
						end),
		cmocka_unit_test_setup_teardown(the_table_grows_between_intervals_only, begin, end),
		cmocka_unit_test_setup_teardown(the_table_has_a_largest_size, begin, end),
		cmocka_unit_test_setup_teardown(a_cache_without_memory_refuses, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
