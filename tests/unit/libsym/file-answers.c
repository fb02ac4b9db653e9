// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A resolver with recorded answers: it gives the symbols of the recorded files, verified as others
 * are, and opens nothing else, although the images' own paths have files.
 */
#include <cmocka.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libsym/file-answers.h"
#include "libsym/found-files.h"
#include "libsym/resolver.h"
#include "libutil/cleanup.h"

#define TARGET VMOP_TEST_BUILDDIR "/tests/unit/libsym/target"
#define BUILD_ID "5eed0123456789abcdef5eed0123456789abcdef"

static char dir[] = "/tmp/vmop-answers-XXXXXX";

static int set_up_group(void **state)
{
	(void)state;
	char line[2048];
	if (!mkdtemp(dir))
		return -1;
	snprintf(line, sizeof(line),
		 "cd %s && mkdir files cache && cp " TARGET
		 " full && strip -o files/stripped full && "
		 "objcopy --only-keep-debug full files/debug && ln -s ../full files/link && "
		 "objcopy --remove-section=.note.gnu.build-id full files/noid",
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

static struct vmop_image_ref ref_of(const char *path, const char *build_id)
{
	struct vmop_image_ref ref = {.path = path};
	if (build_id)
		assert_true(vmop_build_id_parse(build_id, &ref.build_id));
	return ref;
}

/* Resolve ref with one answer. *ret_resolver owns the symbols. */
static const struct vmop_symtab *resolve(const struct vmop_file_answer *answer,
					 const struct vmop_image_ref *ref, const char **ret_reason,
					 struct vmop_resolver **ret_resolver)
{
	_cleanup_close_ int fd = open(dir, O_PATH | O_DIRECTORY);
	assert_true(fd >= 0);
	const struct vmop_file_answers answers = {.dir_fd = fd, .items = answer, .n = 1};
	char cache[256];
	snprintf(cache, sizeof(cache), "%s/cache", dir);
	const struct vmop_resolver_options options = {.answers = &answers, .cache_path = cache};
	const struct vmop_symtab *symtab;
	assert_null(vmop_resolver_create(&options, ret_resolver));
	assert_null(vmop_resolver_symtab(*ret_resolver, ref, &symtab, ret_reason));
	return symtab;
}

static bool has_local(const struct vmop_symtab *symtab)
{
	size_t n = 0;
	const struct vmop_symbol *symbols = symtab ? vmop_symtab_symbols(symtab, &n) : NULL;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(symbols[i].name, "target_local"))
			return true;
	return false;
}

static void recorded_files_are_used_and_verified(void **state)
{
	(void)state;
	static const char *const debug[] = {"files/link", "files/absent", "files/debug"};
	const struct {
		const char *file, *build_id, *reason; /* reason NULL: symbols */
		size_t n_debug;
	} cases[] = {
		{"files/stripped", BUILD_ID, NULL, 3},
		{"files/noid", NULL, NULL, 0},
		{"files/noid", BUILD_ID, "its build-id differs", 0},
		{"files/stripped", "beef", "its build-id differs", 0},
		{"files/link", BUILD_ID, "no such file", 0}, /* a link is not followed */
		{TARGET, BUILD_ID, "no such file", 0},	     /* below the directory */
		{"files/absent", BUILD_ID, "no such file", 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		/* The same path exists here, with the right build-id. */
		const struct vmop_image_ref ref = ref_of(TARGET, cases[i].build_id);
		const struct vmop_file_answer answer = {.ref = ref,
							.file = cases[i].file,
							.debug_files = debug,
							.n_debug_files = cases[i].n_debug};
		struct vmop_resolver *resolver;
		const char *reason;
		const struct vmop_symtab *symtab = resolve(&answer, &ref, &reason, &resolver);
		if (has_local(symtab) != !cases[i].reason)
			fail_msg("%s: %s", cases[i].file, reason ? reason : "symbols");
		if (cases[i].reason && !strstr(reason, cases[i].reason))
			fail_msg("%s: %s", cases[i].file, reason);
		vmop_resolver_destroy(resolver);
	}
}

static void without_an_answer_nothing_is_read(void **state)
{
	(void)state;
	const struct vmop_image_ref other = ref_of("/other", NULL), ref = ref_of(TARGET, BUILD_ID),
				    vdso = ref_of("[vdso]", NULL);
	const struct vmop_file_answer none = {
		.ref = other, .reason = vmop_file_reason("no permission to read the file")};
	struct vmop_resolver *resolver;
	const char *reason;
	assert_null(resolve(&none, &ref, &reason, &resolver));
	assert_string_equal(reason, "the archive does not have it");
	vmop_resolver_destroy(resolver);
	assert_null(resolve(&none, &vdso, &reason, &resolver));
	vmop_resolver_destroy(resolver);
	assert_null(resolve(&none, &other, &reason, &resolver));
	assert_string_equal(reason, "no permission to read the file");
	vmop_resolver_destroy(resolver);
	assert_string_equal(vmop_file_reason("made up"), "the archive does not have it");
}

static void answers_are_found_by_the_whole_ref(void **state)
{
	(void)state;
	struct vmop_file_answer items[] = {
		{.ref = ref_of("/b", NULL), .file = "0"},
		{.ref = ref_of("/a", "aa"), .file = "1"},
		{.ref = ref_of("/a", "bb"), .file = "2"},
		{.ref = {.path = "/a", .root = "/proc/1/root"}, .file = "3"},
		{.ref = {.path = "/a", .is_elsewhere = true}, .file = "4"},
		{.ref = {.path = NULL}, .file = "5"},
	};
	const size_t n = sizeof(items) / sizeof(*items);
	struct vmop_file_answer shuffled[6];
	memcpy(shuffled, items, sizeof(items));
	vmop_file_answers_sort(shuffled, n);
	const struct vmop_file_answers answers = {.items = shuffled, .n = n};
	for (size_t i = 0; i < n; i++)
		assert_string_equal(vmop_file_answers_find(&answers, &items[i].ref)->file,
				    items[i].file);
	/* A build-id decides whether it is the same, not the domain. */
	struct vmop_image_ref ref = items[1].ref;
	ref.is_elsewhere = true;
	assert_string_equal(vmop_file_answers_find(&answers, &ref)->file, "1");
	ref = ref_of("/b", NULL);
	ref.is_elsewhere = true;
	assert_null(vmop_file_answers_find(&answers, &ref));
}

static void other_places_do_not_go_with_answers(void **state)
{
	(void)state;
	const struct vmop_file_answers answers = {.dir_fd = -1};
	const char *const paths[] = {"/tmp"};
	const struct vmop_resolver_options options[] = {
		{.answers = &answers, .root = "/"},
		{.answers = &answers, .image_paths = paths, .n_image_paths = 1}};
	for (size_t i = 0; i < 2; i++) {
		struct vmop_resolver *resolver;
		struct vmop_error *err = vmop_resolver_create(&options[i], &resolver);
		assert_non_null(err);
		assert_int_equal(err->code, VMOP_ERROR_USAGE);
		vmop_error_destroy(err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_files_are_used_and_verified),
		cmocka_unit_test(without_an_answer_nothing_is_read),
		cmocka_unit_test(answers_are_found_by_the_whole_ref),
		cmocka_unit_test(other_places_do_not_go_with_answers),
	};
	if (system("command -v objcopy >/dev/null && command -v strip >/dev/null") != 0) {
		puts("skipped: needs objcopy and strip of binutils");
		return 77;
	}
	return cmocka_run_group_tests(tests, set_up_group, tear_down_group);
}
