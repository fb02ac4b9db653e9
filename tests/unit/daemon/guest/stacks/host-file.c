// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/stacks/host-file.h"

#include <cmocka.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libutil/error.h"

/* A root directory, and the build-id of this program. */
static char root_path[] = "/tmp/vmop-host-file.XXXXXX";
static int root;
static struct vmop_build_id id;
static char debug_path[128], lib_path[128];

/* Make the directories that lead to a file. */
static void make_directories(const char *path)
{
	char part[256];
	for (const char *at = path; (at = strchr(at, '/')); at++) {
		snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
		mkdirat(root, part, 0755);
	}
}

/* Copy this program to a path, without its last cut_bytes. */
static void copy_program(const char *path, off_t cut_bytes)
{
	struct stat status;
	make_directories(path);
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	assert_true(from >= 0 && to >= 0);
	assert_int_equal(fstat(from, &status), 0);
	for (off_t at = 0; at < status.st_size - cut_bytes;)
		assert_true(sendfile(to, from, &at, (size_t)(status.st_size - cut_bytes - at)) > 0);
	close(from);
	close(to);
}

static void write_text(const char *path)
{
	make_directories(path);
	int fd = openat(root, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, "text\n", 5), 5);
	close(fd);
}

static bool is_found(const char *known_path)
{
	int fd = vmop_host_file_open(root, &id, known_path);
	struct vmop_build_id found;
	if (fd < 0)
		return false;
	assert_null(vmop_build_id_of_fd(fd, "found", &found));
	assert_true(vmop_build_id_equal(&found, &id));
	close(fd);
	return true;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	(void)status;
	(void)kind;
	(void)walk;
	return remove(path);
}

static int begin(void **state)
{
	char hex[2 * VMOP_BUILD_ID_MAX_BYTES + 1];
	(void)state;
	strcpy(strrchr(root_path, '.'), ".XXXXXX");
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (vmop_build_id_of_fd(fd, "this program", &id) || id.len_bytes < 2 || !mkdtemp(root_path))
		return -1;
	close(fd);
	root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	vmop_build_id_format(&id, hex);
	snprintf(debug_path, sizeof(debug_path), "usr/lib/debug/.build-id/%.2s/%s", hex, hex + 2);
	snprintf(lib_path, sizeof(lib_path), "usr/lib/.build-id/%.2s/%s", hex, hex + 2);
	return root < 0;
}

static int end(void **state)
{
	(void)state;
	close(root);
	return nftw(root_path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void a_program_is_found_by_its_build_id(void **state)
{
	(void)state;
	assert_false(is_found(NULL));
	copy_program("usr/bin/program", 0);
	make_directories(lib_path);
	/* As packages link it: relative, out of the directory, and absolute. */
	assert_int_equal(symlinkat("../../../../usr/bin/program", root, lib_path), 0);
	assert_true(is_found(NULL));
	assert_int_equal(unlinkat(root, lib_path, 0), 0);
	make_directories(debug_path);
	assert_int_equal(symlinkat("/usr/bin/program", root, debug_path), 0);
	assert_true(is_found(NULL));
	/* A debug file has a name of its own. */
	assert_int_equal(vmop_host_file_open_debug(root, &id), -1);
	strcat(debug_path, ".debug");
	copy_program(debug_path, 0);
	int fd = vmop_host_file_open_debug(root, &id);
	assert_true(fd >= 0);
	close(fd);
	/* No build-id of a guest leads elsewhere. */
	id.len_bytes = 1;
	assert_false(is_found(NULL));
	id.len_bytes = VMOP_BUILD_ID_MAX_BYTES + 1;
	assert_int_equal(vmop_host_file_open(root, &id, NULL), -1);
}

static void a_program_is_found_where_it_is_mapped(void **state)
{
	(void)state;
	copy_program("usr/bin/program", 0);
	assert_true(is_found("/usr/bin/program"));
	assert_false(is_found(""));
	assert_false(is_found("/usr/bin/other"));
	/* Other users can make directories elsewhere, and mount file systems on them. */
	copy_program("home/program", 0);
	assert_false(is_found("/home/program"));
	assert_false(is_found("/usr/../home/program"));
	assert_false(is_found("usr/bin/program"));
	char path[VMOP_HOST_FILE_PATH_BYTES + 16] = "/usr/";
	memset(path + 5, 'a', sizeof(path) - 6);
	assert_false(vmop_host_file_is_path_allowed(path));
}

/* The name in the directory proves nothing: the file itself must have the build-id. */
static void other_files_are_refused(void **state)
{
	(void)state;
	write_text(debug_path);
	write_text("usr/bin/program");
	assert_false(is_found("/usr/bin/program"));
	assert_int_equal(unlinkat(root, debug_path, 0), 0);
	assert_int_equal(symlinkat("/bin/sh", root, debug_path), 0);
	copy_program("bin/sh", 0);
	int fd = openat(root, "bin/sh", O_WRONLY | O_CLOEXEC);
	for (off_t at = 64; at < 4096; at += 4) /* the note is in the first page */
		assert_int_equal(pwrite(fd, "\1\2\3\4", 4, at), 4);
	close(fd);
	assert_false(is_found(NULL));
	copy_program("bin/sh", 0);
	assert_true(is_found(NULL));
	/* A program of this machine with another build-id. */
	id.bytes[id.len_bytes - 1] ^= 1;
	assert_false(is_found("/bin/sh"));
	id.bytes[id.len_bytes - 1] ^= 1;
	assert_int_equal(unlinkat(root, debug_path, 0), 0);
	assert_int_equal(mkfifoat(root, debug_path, 0644), 0);
	assert_false(is_found(NULL));
	assert_int_equal(unlinkat(root, debug_path, 0), 0);
	assert_int_equal(symlinkat("/proc/self/exe", root, debug_path), 0);
	assert_false(is_found(NULL));
	assert_int_equal(unlinkat(root, debug_path, 0), 0);
	assert_int_equal(mkdirat(root, debug_path, 0755), 0);
	assert_false(is_found(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_program_is_found_by_its_build_id, begin, end),
		cmocka_unit_test_setup_teardown(a_program_is_found_where_it_is_mapped, begin, end),
		cmocka_unit_test_setup_teardown(other_files_are_refused, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
