// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/dirs/safe-dir.h"
#include "tests/unit/ok.h"

#define OTHER_USER 65534

static char top[PATH_MAX];

static int make_top(void **state)
{
	(void)state;
	const char *tmp = getenv("TMPDIR");
	snprintf(top, sizeof(top), "%s/vmop-safe-dir-XXXXXX", tmp ? tmp : "/tmp");
	return mkdtemp(top) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static int remove_top(void **state)
{
	(void)state;
	return nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Return a path below the test's directory. The last four results are valid. */
static const char *at(const char *name)
{
	static char paths[4][PATH_MAX + 64];
	static unsigned next;
	char *path = paths[next++ % 4];
	snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
	return path;
}

static void make(const char *name, mode_t mode)
{
	assert_int_equal(mkdir(at(name), 0700), 0);
	assert_int_equal(chmod(at(name), mode), 0);
}

static void make_file(const char *name)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_EXCL, 0644);
	assert_true(fd >= 0);
	close(fd);
}

static void refused(const char *path, unsigned flags, const char *text)
{
	struct vmop_dir dir;
	struct vmop_error *err = vmop_dir_open(path, flags, &dir);
	assert_non_null(err);
	if (!strstr(err->message, text))
		fail_msg("\"%s\" is not in \"%s\"", text, err->message);
	assert_int_equal(dir.fd, -1);
	vmop_error_destroy(err);
}

static void accepted(const char *path, unsigned flags)
{
	struct vmop_dir dir;
	assert_ok(vmop_dir_open(path, flags | VMOP_DIR_SAFE, &dir));
	assert_true(dir.is_safe);
	vmop_dir_deinit(&dir);
}

static bool is_safe(const char *path, unsigned flags)
{
	struct vmop_dir dir;
	assert_ok(vmop_dir_open(path, flags, &dir));
	bool safe = dir.is_safe;
	vmop_dir_deinit(&dir);
	return safe;
}

static void writable_by_others(void **state)
{
	(void)state;
	make("own", 0755);
	make("all", 0777);
	make("all/below", 0755);
	make("sticky", 01777);
	make("sticky/below", 0700);
	accepted(at("own"), 0);
	accepted(at("own/"), 0);
	accepted(at("own/../own/."), 0);
	accepted(at("sticky/below"), 0);
	refused(at("all"), VMOP_DIR_SAFE, "run 'chmod go-w'");
	refused(at("all/below"), VMOP_DIR_SAFE, "/all;");
	refused(at("sticky"), VMOP_DIR_SAFE, "run 'chmod go-w'");
	assert_false(is_safe(at("all/below"), 0));
	assert_true(is_safe(at("own"), 0));
}

static void made(void **state)
{
	(void)state;
	struct stat st;
	umask(022);
	accepted(at("own/new"), VMOP_DIR_MAKE);
	assert_int_equal(stat(at("own/new"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	accepted(at("own/new"), VMOP_DIR_MAKE);
	accepted(at("sticky/new"), VMOP_DIR_MAKE);
	refused(at("all/new"), VMOP_DIR_MAKE | VMOP_DIR_SAFE, "run 'chmod go-w'");
	assert_int_equal(access(at("all/new"), F_OK), -1);
	refused(at("own/no/where"), VMOP_DIR_MAKE, "No such file");
	make_file("own/file");
	refused(at("own/file"), VMOP_DIR_MAKE, "not a directory");
	refused("", 0, "No such file");
}

static void files(void **state)
{
	(void)state;
	struct vmop_dir dir;
	assert_ok(vmop_dir_open(at("own/file"), VMOP_DIR_OF_FILE, &dir));
	assert_string_equal(dir.file, "file");
	vmop_dir_deinit(&dir);
	/* Also a missing file, and one behind links. */
	assert_ok(vmop_dir_open(at("own/absent"), VMOP_DIR_OF_FILE, &dir));
	assert_string_equal(dir.file, "absent");
	vmop_dir_deinit(&dir);
	assert_int_equal(symlink("file", at("own/link")), 0);
	assert_int_equal(symlink(at("own"), at("own/up")), 0);
	assert_ok(vmop_dir_open(at("own/up/up/link"), VMOP_DIR_OF_FILE | VMOP_DIR_SAFE, &dir));
	assert_string_equal(dir.file, "file");
	assert_int_equal(faccessat(dir.fd, dir.file, F_OK, 0), 0);
	vmop_dir_deinit(&dir);
	refused(at("own/file/"), VMOP_DIR_OF_FILE, "Is a directory");
	refused(at("own/."), VMOP_DIR_OF_FILE, "Is a directory");
	refused(at("own/file/x"), VMOP_DIR_OF_FILE, "not a directory");
	/* A cycle of links. */
	assert_int_equal(symlink("b", at("own/a")), 0);
	assert_int_equal(symlink("a", at("own/b")), 0);
	refused(at("own/a"), VMOP_DIR_OF_FILE, "Too many levels");
	/* The text of this link is not its target. */
	char path[PATH_MAX + 32];
	snprintf(path, sizeof(path), "/proc/self/root%s", at("own/file"));
	assert_false(is_safe(path, VMOP_DIR_OF_FILE));
}

static void of_another_user(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("not root: another user's directories left out\n");
		return;
	}
	make("others", 0755);
	make("others/own", 0755);
	assert_int_equal(chown(at("others"), OTHER_USER, OTHER_USER), 0);
	refused(at("others"), VMOP_DIR_SAFE, "belongs to another user (uid 65534)");
	refused(at("others/own"), VMOP_DIR_SAFE, "belongs to another user (uid 65534)");
	assert_int_equal(symlink(at("own"), at("sticky/link")), 0);
	accepted(at("sticky/link"), 0);
	assert_int_equal(lchown(at("sticky/link"), OTHER_USER, OTHER_USER), 0);
	refused(at("sticky/link"), VMOP_DIR_SAFE, "link belongs to another user");
	/* Root's group is as trusted as root. */
	make("group", 0775);
	accepted(at("group"), 0);
	assert_int_equal(chown(at("group"), 0, OTHER_USER), 0);
	refused(at("group"), VMOP_DIR_SAFE, "run 'chmod go-w'");
}

static void regular_files(void **state)
{
	(void)state;
	struct vmop_dir dir;
	int fd = -1;
	assert_ok(vmop_dir_open(at("own"), 0, &dir));
	assert_int_equal(mkfifo(at("own/fifo"), 0600), 0);
	static const char *const bad[] = {"fifo", "link", "new"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct vmop_error *err =
			vmop_open_regular_at(dir.fd, bad[i], O_RDONLY, bad[i], &fd);
		assert_non_null(err);
		assert_non_null(strstr(err->message, "not a regular file"));
		vmop_error_destroy(err);
	}
	assert_ok(vmop_open_regular_at(dir.fd, "file", O_RDONLY, "file", &fd));
	close(fd);
	vmop_dir_deinit(&dir);
}

static void outputs(void **state)
{
	(void)state;
	int fd = -1;
	assert_ok(vmop_open_output(at("own/out"), &fd));
	assert_int_equal(write(fd, "12345", 5), 5);
	close(fd);
	assert_ok(vmop_open_output(at("own/out"), &fd));
	assert_int_equal(lseek(fd, 0, SEEK_END), 0);
	close(fd);
	assert_ok(vmop_open_output("/dev/null", &fd));
	close(fd);
	/* If others may write the directory, only a missing file or this user's own is opened. */
	assert_ok(vmop_open_output(at("all/out"), &fd));
	close(fd);
	assert_ok(vmop_open_output(at("all/out"), &fd));
	close(fd);
	assert_int_equal(link(at("own/file"), at("all/hard")), 0);
	assert_int_equal(symlink(at("own/file"), at("all/soft")), 0);
	assert_int_equal(mkfifo(at("all/fifo"), 0666), 0);
	assert_int_equal(symlink(at("own"), at("all/up")), 0);
	static const char *const bad[] = {"all/hard", "all/soft", "all/fifo", "all/up/out-new"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct vmop_error *err = vmop_open_output(at(bad[i]), &fd);
		assert_non_null(err);
		vmop_error_destroy(err);
	}
	assert_int_equal(access(at("own/out-new"), F_OK), -1);
	/* A link of this user is followed, even into such a directory. */
	assert_int_equal(symlink(at("all/out"), at("own/out-link")), 0);
	assert_ok(vmop_open_output(at("own/out-link"), &fd));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writable_by_others),
		cmocka_unit_test(made),
		cmocka_unit_test(files),
		cmocka_unit_test(of_another_user),
		cmocka_unit_test(regular_files),
		cmocka_unit_test(outputs),
	};
	return cmocka_run_group_tests(tests, make_top, remove_top);
}
