// SPDX-License-Identifier: GPL-2.0-or-later
/* The files that a resolver finds for an image: its own, and its debug files in their order. */
#include <cmocka.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libsym/found-files.h"
#include "libutil/cleanup.h"

#define TARGET VMOP_TEST_BUILDDIR "/tests/unit/libsym/target"
#define BUILD_ID "5eed0123456789abcdef5eed0123456789abcdef"

static char dir[] = "/tmp/vmop-found-XXXXXX";

static int set_up_group(void **state)
{
	(void)state;
	char line[2048];
	if (!mkdtemp(dir))
		return -1;
	snprintf(line, sizeof(line),
		 "cd %s && cp " TARGET " full && strip -o stripped full && mkdir -p "
		 "debug/.build-id/5e .debug && objcopy --only-keep-debug full "
		 "debug/.build-id/5e/ed0123456789abcdef5eed0123456789abcdef.debug && "
		 "objcopy --only-keep-debug full linked.debug && "
		 "objcopy --remove-section=.note.gnu.build-id stripped noid && "
		 "objcopy --add-gnu-debuglink=linked.debug noid && mv linked.debug .debug",
		 dir);
	return system(line);
}

static int tear_down_group(void **state)
{
	(void)state;
	char line[256];
	snprintf(line, sizeof(line), "rm -rf %s", dir);
	return system(line);
}

/* Find the files of dir/name. The caller deinitialises *ret. */
static void find(const char *name, const char *build_id, struct vmop_found_files *ret)
{
	char path[512], debug[512];
	snprintf(path, sizeof(path), name[0] == '[' ? "%.0s%s" : "%s/%s", dir, name);
	snprintf(debug, sizeof(debug), "%s/debug", dir);
	const char *const debug_paths[] = {debug};
	const struct vmop_resolver_options options = {.debug_paths = debug_paths,
						      .n_debug_paths = 1};
	struct vmop_image_ref ref = {.path = path};
	if (build_id)
		assert_true(vmop_build_id_parse(build_id, &ref.build_id));
	struct vmop_resolver *resolver;
	assert_null(vmop_resolver_create(&options, &resolver));
	assert_null(vmop_found_files_init(ret, resolver, &ref));
	vmop_resolver_destroy(resolver);
}

static void a_complete_file_needs_no_other(void **state)
{
	(void)state;
	_cleanup_(vmop_found_files_deinit) struct vmop_found_files files;
	find("full", BUILD_ID, &files);
	assert_true(files.has_image);
	assert_int_equal(files.n_debug, 0);
	struct stat st, wanted;
	assert_int_equal(fstat(files.image.fd, &st) | stat(TARGET, &wanted), 0);
	assert_int_equal(st.st_size, wanted.st_size);
	assert_int_equal(files.image.build_id.len_bytes, 20);
}

static void a_stripped_file_has_its_debug_file(void **state)
{
	(void)state;
	_cleanup_(vmop_found_files_deinit) struct vmop_found_files files;
	find("stripped", BUILD_ID, &files);
	assert_true(files.has_image);
	assert_int_equal(files.n_debug, 1);
	assert_non_null(strstr(files.debug[0].path, "/.build-id/5e/"));
	assert_true(vmop_build_id_equal(&files.debug[0].build_id, &files.image.build_id));
}

static void a_debug_link_is_followed(void **state)
{
	(void)state;
	_cleanup_(vmop_found_files_deinit) struct vmop_found_files files;
	find("noid", NULL, &files);
	assert_true(files.has_image);
	assert_int_equal(files.image.build_id.len_bytes, 0);
	assert_int_equal(files.n_debug, 1);
	assert_non_null(strstr(files.debug[0].path, "/.debug/linked.debug"));
}

static void a_missing_file_has_its_reason(void **state)
{
	(void)state;
	_cleanup_(vmop_found_files_deinit) struct vmop_found_files files;
	find("absent", NULL, &files);
	assert_false(files.has_image);
	assert_string_equal(files.reason, "no such file");
	find("full", "beef", &files);
	assert_false(files.has_image);
	assert_non_null(strstr(files.reason, "its build-id differs"));
	assert_int_equal(files.n_debug, 0);
}

static void the_vdso_is_a_file(void **state)
{
	(void)state;
	_cleanup_(vmop_found_files_deinit) struct vmop_found_files files;
	find("[vdso]", NULL, &files);
	assert_true(files.has_image);
	assert_string_equal(files.image.path, "[vdso]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_complete_file_needs_no_other),
		cmocka_unit_test(a_stripped_file_has_its_debug_file),
		cmocka_unit_test(a_debug_link_is_followed),
		cmocka_unit_test(a_missing_file_has_its_reason),
		cmocka_unit_test(the_vdso_is_a_file),
	};
	if (system("command -v objcopy >/dev/null && command -v strip >/dev/null") != 0) {
		puts("skipped: needs objcopy and strip of binutils");
		return 77;
	}
	return cmocka_run_group_tests(tests, set_up_group, tear_down_group);
}
