// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/image.h"

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/proc-text.h"
#include "tests/unit/ok.h"

static const struct vmop_build_id build_id = {.len_bytes = 20, .bytes = {1, 2, 3}};

static struct vmop_image *file(struct vmop_images *images, const char *path, uint64_t inode)
{
	return vmop_images_file(images, &(struct vmop_mapped_file){.path = path, .inode = inode});
}

static void a_build_id_before_the_row_joins_images(void **state)
{
	struct vmop_images images;
	(void)state;
	assert_ok(vmop_images_init(&images, 100));
	struct vmop_image *a = file(&images, "/a", 1), *b = file(&images, "/b", 2);
	vmop_images_identified(&images, a, &build_id);
	vmop_images_identified(&images, b, &build_id);
	assert_ptr_equal(vmop_image_canonical(b), a);
	assert_false(a->is_sampled); /* there is no row to write again */
	vmop_image_unref(&images, a);
	vmop_image_unref(&images, b);
	vmop_images_deinit(&images);
}

/* Reports merge two rows with one build-id. Samples keep the id that they have. */
static void a_build_id_after_the_row_changes_no_id(void **state)
{
	struct vmop_images images;
	(void)state;
	assert_ok(vmop_images_init(&images, 100));
	struct vmop_image *a = file(&images, "/a", 1), *b = file(&images, "/b", 2);
	vmop_images_identified(&images, a, &build_id);
	struct vmop_image_id id = vmop_images_assign_id(&images, b);
	vmop_image_stored(b);
	vmop_images_sweep(&images);
	vmop_images_identified(&images, b, &build_id);
	assert_ptr_equal(vmop_image_canonical(b), b);
	assert_int_equal(b->id.number, id.number);
	assert_true(vmop_build_id_equal(&b->build_id, &build_id));
	/* The next interval writes the row again. */
	assert_true(b->is_sampled);
	assert_false(b->is_stored);
	vmop_image_unref(&images, a);
	vmop_image_unref(&images, b);
	vmop_images_deinit(&images);
}

static void a_note_is_stored_again_when_it_changes(void **state)
{
	struct vmop_images images;
	(void)state;
	assert_ok(vmop_images_init(&images, 100));
	struct vmop_image *a = file(&images, "/a", 1);
	vmop_image_set_note(a, "not read");
	vmop_image_set_note(a, NULL);
	assert_false(a->has_stored_note); /* there is no stored note to empty */
	vmop_images_assign_id(&images, a);
	vmop_image_set_note(a, "not read");
	vmop_image_stored(a);
	assert_true(a->note_is_stored && a->has_stored_note);
	vmop_image_set_note(a, "not read");
	assert_true(a->is_stored && a->note_is_stored);
	vmop_image_set_note(a, NULL);
	assert_false(a->is_stored || a->note_is_stored);
	assert_true(a->has_stored_note);
	vmop_image_unref(&images, a);
	vmop_images_deinit(&images);
}

static void text_of_a_process_is_read_beside(void **state)
{
	struct vmop_proc_text *reader;
	char *text = NULL;
	(void)state;
	assert_ok(vmop_proc_text_create(&reader));
	for (int i = 0; i < 100; i++) {
		assert_true(vmop_proc_text_read(reader, "", (uint32_t)getpid(), "maps", 1 << 20,
						&text) > 100);
		assert_non_null(strstr(text, "[stack]"));
		free(text);
	}
	assert_int_equal(vmop_proc_text_read(reader, "", (uint32_t)getpid(), "maps", 10, &text),
			 10);
	assert_int_equal(strlen(text), 10);
	free(text);
	text = NULL;
	assert_int_equal(vmop_proc_text_read(reader, "/nowhere", 1, "maps", 10, &text), -1);
	assert_int_equal(errno, ENOENT);
	assert_null(text);
	vmop_proc_text_destroy(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_build_id_before_the_row_joins_images),
		cmocka_unit_test(a_build_id_after_the_row_changes_no_id),
		cmocka_unit_test(a_note_is_stored_again_when_it_changes),
		cmocka_unit_test(text_of_a_process_is_read_beside),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
