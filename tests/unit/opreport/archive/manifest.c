// SPDX-License-Identifier: GPL-2.0-or-later
/* The names of members, and the bounds of lists. */
#include "opreport/archive/manifest.h"

#include <cmocka.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "tests/unit/ok.h"

static void names_are_checked(void **state)
{
	(void)state;
	const struct {
		enum vmop_member_kind kind;
		const char *name;
		bool is_valid;
	} cases[] = {
		{VMOP_MEMBER_IMAGE, "files/00001-libc.so.6", true},
		{VMOP_MEMBER_DEBUG, "files/x+y_Z.debug", true},
		{VMOP_MEMBER_SOURCE, "sources/00001-main.c", true},
		{VMOP_MEMBER_SESSION, "sessions/current.vmop", true},
		{VMOP_MEMBER_SESSION, "sessions/last night, \xc3\xbc.vmop", true},
		{VMOP_MEMBER_SESSION, "sessions/current.vmop-wal", false},
		{VMOP_MEMBER_SESSION, "sessions/.vmop", false},
		{VMOP_MEMBER_SESSION, "sessions/a\nb.vmop", false},
		{VMOP_MEMBER_SESSION, "sessions/a\xff.vmop", false},
		{VMOP_MEMBER_SESSION, "files/current.vmop", false},
		{VMOP_MEMBER_IMAGE, "manifest.json", false},
		{VMOP_MEMBER_IMAGE, "files", false},
		{VMOP_MEMBER_IMAGE, "files/", false},
		{VMOP_MEMBER_IMAGE, "files/.", false},
		{VMOP_MEMBER_IMAGE, "files/..", false},
		{VMOP_MEMBER_IMAGE, "files/../x", false},
		{VMOP_MEMBER_IMAGE, "files/a/b", false},
		{VMOP_MEMBER_IMAGE, "files//b", false},
		{VMOP_MEMBER_IMAGE, "/files/b", false},
		{VMOP_MEMBER_IMAGE, "./files/b", false},
		{VMOP_MEMBER_IMAGE, "files/a b", false},
		{VMOP_MEMBER_IMAGE, "files/a\\b", false},
		{VMOP_MEMBER_IMAGE, "", false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (vmop_member_name_is_valid(cases[i].kind, cases[i].name) != cases[i].is_valid)
			fail_msg("%s", cases[i].name);
	char name[VMOP_MEMBER_NAME_MAX_BYTES + 2];
	memset(name, 'x', sizeof(name));
	memcpy(name, "files/", 6);
	name[VMOP_MEMBER_NAME_MAX_BYTES] = '\0';
	assert_true(vmop_member_name_is_valid(VMOP_MEMBER_IMAGE, name));
	name[VMOP_MEMBER_NAME_MAX_BYTES] = 'x';
	name[VMOP_MEMBER_NAME_MAX_BYTES + 1] = '\0';
	assert_false(vmop_member_name_is_valid(VMOP_MEMBER_IMAGE, name));
}

static void made_names_are_valid(void **state)
{
	(void)state;
	static char long_path[5000];
	memset(long_path, 'y', sizeof(long_path) - 1);
	const char *const paths[] = {
		"/usr/lib/libc.so.6", "[vdso]",	    "",	       "/",	      "/a/..",
		"/x/\n\x1b[2J",	      "/\xff/\xfe", long_path, "/s/a b.vmop", "/s/.vmop"};
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		for (enum vmop_member_kind kind = 0; kind < VMOP_N_MEMBER_KINDS; kind++) {
			_cleanup_free_ char *name = NULL;
			assert_ok(vmop_member_name_make(kind, i, paths[i], &name));
			if (!vmop_member_name_is_valid(kind, name))
				fail_msg("%s", name);
		}
}

/* Modules are unpacked in the archive. */
static void made_names_have_no_packing(void **state)
{
	(void)state;
	static const struct {
		enum vmop_member_kind kind;
		const char *path, *name;
	} cases[] = {
		{VMOP_MEMBER_IMAGE, "/lib/modules/6.1/kernel/xfs.ko.xz", "files/00007-xfs.ko"},
		{VMOP_MEMBER_IMAGE, "/lib/modules/6.1/kernel/xfs.ko.zst", "files/00007-xfs.ko"},
		{VMOP_MEMBER_DEBUG, "/lib/modules/6.1/kernel/xfs.ko.gz", "files/00007-xfs.ko"},
		{VMOP_MEMBER_IMAGE, "/lib/modules/6.1/kernel/xfs.ko", "files/00007-xfs.ko"},
		{VMOP_MEMBER_IMAGE, "/opt/program.xz", "files/00007-program.xz"},
		{VMOP_MEMBER_SOURCE, "/src/xfs.ko.xz", "sources/00007-xfs.ko.xz"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_free_ char *name = NULL;
		assert_ok(vmop_member_name_make(cases[i].kind, 7, cases[i].path, &name));
		assert_string_equal(name, cases[i].name);
	}
}

static void lists_are_bounded(void **state)
{
	(void)state;
	struct vmop_manifest manifest = {0};
	struct vmop_member *member;
	for (size_t i = 0; i < VMOP_MANIFEST_MAX_MEMBERS; i++) {
		assert_ok(vmop_manifest_add_member(&manifest, &member));
		member->size_bytes = 2;
	}
	assert_int_equal(vmop_manifest_size_bytes(&manifest), 2 * VMOP_MANIFEST_MAX_MEMBERS);
	struct vmop_error *err = vmop_manifest_add_member(&manifest, &member);
	assert_int_equal(err->code, VMOP_ERROR_LIMIT);
	vmop_error_destroy(err);
	manifest.members[3].size_bytes = UINT64_MAX - 1;
	assert_true(vmop_manifest_size_bytes(&manifest) == UINT64_MAX);
	vmop_manifest_deinit(&manifest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_checked),
		cmocka_unit_test(made_names_are_valid),
		cmocka_unit_test(made_names_have_no_packing),
		cmocka_unit_test(lists_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
