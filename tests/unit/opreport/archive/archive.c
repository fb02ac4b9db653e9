// SPDX-License-Identifier: GPL-2.0-or-later
/* An archive's directory, as readers use it: sessions by their paths, source files, sharing. */
#include "opreport/archive/archive.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "opreport/query/spec.h"
#include "tests/unit/ok.h"

static const char manifest[] =
	"{\"format\":1,\"vmop\":\"1\",\"hostname\":\"rig\",\"time_zone\":\"\",\"created_ns\":1,"
	"\"has_sources\":true,\"members\":["
	"{\"name\":\"sessions/s.vmop\",\"kind\":\"session\",\"path\":\"/var/s.vmop\",\"bytes\":1,"
	"\"mtime_ns\":1,\"xxh128\":\"00000000000000000000000000000000\"},"
	"{\"name\":\"sources/1-a.c\",\"kind\":\"source\",\"path\":\"/src/a.c\",\"bytes\":1,"
	"\"mtime_ns\":1,\"xxh128\":\"00000000000000000000000000000000\"},"
	"{\"name\":\"sources/2-link.c\",\"kind\":\"source\",\"path\":\"/src/b.c\",\"bytes\":1,"
	"\"mtime_ns\":1,\"xxh128\":\"00000000000000000000000000000000\"}],"
	"\"images\":[{\"path\":\"/bin/x\",\"reason\":\"no such file\",\"debug_files\":[]}],"
	"\"source_files\":[{\"path\":\"/src/a.c\",\"file\":\"sources/1-a.c\"},"
	"{\"path\":\"/src/a.c\",\"root\":\"/proc/1/root\",\"reason\":\"elsewhere\"},"
	"{\"path\":\"/src/b.c\",\"file\":\"sources/2-link.c\"}]}";

static char dir[] = "/tmp/vmop-archive-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	char line[512];
	if (!mkdtemp(dir))
		return -1;
	snprintf(line, sizeof(line),
		 "cd %s && mkdir sources && echo a >sources/1-a.c && "
		 "ln -s 1-a.c sources/2-link.c",
		 dir);
	if (system(line))
		return -1;
	snprintf(line, sizeof(line), "%s/manifest.json", dir);
	struct vmop_error *err =
		vmop_io_write_file_atomic(line, manifest, sizeof(manifest) - 1, 0600);
	vmop_error_destroy(err);
	return err ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	char line[512];
	snprintf(line, sizeof(line), "rm -rf %s", dir);
	return system(line);
}

static void a_directory_is_read(void **state)
{
	(void)state;
	struct vmop_archive *archive;
	const char *why;
	char session_dir[64];
	assert_ok(vmop_archive_open(dir, &archive));
	snprintf(session_dir, sizeof(session_dir), "%s/sessions", dir);
	assert_string_equal(vmop_archive_session_dir(archive), session_dir);
	assert_string_equal(vmop_archive_session_of(archive, "/var/s.vmop"), "s.vmop");
	assert_null(vmop_archive_session_of(archive, "s.vmop"));
	int fd = vmop_archive_open_source(archive, "/src/a.c", NULL, &why);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(vmop_archive_open_source(archive, "/src/a.c", "/proc/1/root", &why), -1);
	assert_string_equal(why, "elsewhere");
	assert_int_equal(vmop_archive_open_source(archive, "/src/c.c", "", &why), -1);
	assert_non_null(strstr(why, "not in the archive"));
	/* A link is not followed. */
	assert_int_equal(vmop_archive_open_source(archive, "/src/b.c", "", &why), -1);
	const struct vmop_image_ref ref = {.path = "/bin/x"};
	assert_string_equal(vmop_file_answers_find(vmop_archive_answers(archive), &ref)->reason,
			    "no such file");
	vmop_archive_release(archive);
}

static void a_spec_shares_it_with_its_copies(void **state)
{
	(void)state;
	struct vmop_spec spec = {0}, copy;
	char word[64];
	snprintf(word, sizeof(word), "archive:%s", dir);
	assert_ok(vmop_spec_parse(&spec, word));
	struct vmop_error *err = vmop_spec_parse(&spec, word);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	vmop_error_destroy(err);
	assert_ok(vmop_spec_copy(&copy, &spec));
	vmop_spec_deinit(&spec);
	assert_string_equal(vmop_archive_session_of(copy.archive, "/var/s.vmop"), "s.vmop");
	vmop_spec_deinit(&copy);
}

static void no_archive_is_an_error(void **state)
{
	(void)state;
	const struct {
		const char *path, *text;
		enum vmop_error_code code;
	} cases[] = {
		{"/nonexistent", "archive:/nonexistent", VMOP_ERROR_OS},
		{"/etc", "no manifest.json", VMOP_ERROR_CANT},
		{"/etc/passwd", "vmoparchive --import", VMOP_ERROR_USAGE},
		{"/dev/null", "archive:/dev/null", VMOP_ERROR_OS},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct vmop_archive *archive;
		struct vmop_error *err = vmop_archive_open(cases[i].path, &archive);
		assert_non_null(err);
		assert_int_equal(err->code, cases[i].code);
		assert_non_null(strstr(err->message, cases[i].text));
		vmop_error_destroy(err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_directory_is_read),
		cmocka_unit_test(a_spec_shares_it_with_its_copies),
		cmocka_unit_test(no_archive_is_an_error),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
