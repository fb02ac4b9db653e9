// SPDX-License-Identifier: GPL-2.0-or-later
/* Test names of an image's file: short and long ones, versions, bounds, and a file that changes. */
#include "libsym/cache/image-names.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "libsym/elf/elf-symbols.h"

/* Where the string table is in the file, and where its names are in the string table. */
enum { PLACE_AT = 100, SHORT_AT = 1, VERSION_AT = 7, LONG_AT = 20, TOO_LONG_AT = 3000 };
enum { LONG_BYTES = 2000, LAST_AT = TOO_LONG_AT + VMOP_ELF_MAX_NAME_BYTES + 1 };

static FILE *file;
static struct vmop_image_names *names;

static int set_up(void **state)
{
	(void)state;
	const struct vmop_names_place place = {PLACE_AT, LAST_AT + 3};
	char *table = calloc(1, place.len_bytes);
	strcpy(table + SHORT_AT, "short");
	strcpy(table + VERSION_AT, "old@V1");
	memset(table + LONG_AT, 'l', LONG_BYTES);
	memset(table + TOO_LONG_AT, 't', VMOP_ELF_MAX_NAME_BYTES);
	memcpy(table + LAST_AT, "end", 3); /* without a NUL */
	file = tmpfile();
	bool written = file && !fseek(file, PLACE_AT, SEEK_SET) &&
		       fwrite(table, place.len_bytes, 1, file) == 1 &&
		       fwrite("more", 4, 1, file) == 1 && !fflush(file);
	free(table);
	return !written || vmop_image_names_create(fileno(file), &place, &names);
}

static int tear_down(void **state)
{
	(void)state;
	vmop_image_names_destroy(names);
	return fclose(file);
}

static void assert_names(void)
{
	assert_string_equal(vmop_image_names_at(names, 0), "");
	assert_string_equal(vmop_image_names_at(names, SHORT_AT), "short");
	assert_string_equal(vmop_image_names_at(names, SHORT_AT + 2), "ort");
	assert_string_equal(vmop_image_names_at(names, VERSION_AT), "old");
	assert_int_equal(strlen(vmop_image_names_at(names, LONG_AT)), LONG_BYTES);
	assert_null(vmop_image_names_at(names, LAST_AT + 3));
	assert_null(vmop_image_names_at(names, SIZE_MAX));
}

static void names_are_read(void **state)
{
	(void)state;
	const char *first = vmop_image_names_at(names, SHORT_AT);
	assert_names();
	assert_string_equal(first, "short"); /* it stays */
	assert_null(vmop_image_names_at(names, TOO_LONG_AT));
	assert_null(vmop_image_names_at(names, LAST_AT));
	vmop_image_names_read_all(names);
	assert_names();
	assert_string_equal(first, "short");
}

static void the_descriptor_is_a_copy(void **state)
{
	(void)state;
	int again = dup(fileno(file));
	close(fileno(file));
	assert_names();
	assert_int_equal(dup2(again, fileno(file)), fileno(file));
	close(again);
}

static void a_file_that_changed_has_no_names(void **state)
{
	(void)state;
	const char *first = vmop_image_names_at(names, SHORT_AT);
	assert_non_null(first);
	assert_int_equal(ftruncate(fileno(file), PLACE_AT + 3), 0);
	assert_null(vmop_image_names_at(names, SHORT_AT));
	vmop_image_names_read_all(names);
	assert_null(vmop_image_names_at(names, SHORT_AT));
	assert_string_equal(first, "short");
}

static void a_place_outside_of_the_file_has_no_names(void **state)
{
	(void)state;
	const struct vmop_names_place places[] = {{1 << 20, 10}, {INT64_MAX, 10}};
	for (size_t i = 0; i < 2; i++) {
		struct vmop_image_names *none;
		assert_null(vmop_image_names_create(fileno(file), &places[i], &none));
		assert_null(vmop_image_names_at(none, 1));
		vmop_image_names_read_all(none);
		assert_null(vmop_image_names_at(none, 1));
		vmop_image_names_destroy(none);
	}
}

static void a_descriptor_is_needed(void **state)
{
	(void)state;
	const struct vmop_names_place place = {0, 10};
	struct vmop_image_names *none = NULL;
	struct rlimit was, few;
	struct vmop_error *err = vmop_image_names_create(-1, &place, &none);
	assert_non_null(err);
	vmop_error_destroy(err);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	few = was;
	few.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	err = vmop_image_names_create(fileno(file), &place, &none);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_non_null(err);
	vmop_error_destroy(err);
	assert_null(none);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		TEST(names_are_read),
		TEST(the_descriptor_is_a_copy),
		TEST(a_file_that_changed_has_no_names),
		TEST(a_place_outside_of_the_file_has_no_names),
		TEST(a_descriptor_is_needed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
