// SPDX-License-Identifier: GPL-2.0-or-later
/* Symbols of a copied file, which can be another file by then. watch.c reads copies of guests'
 * files. */
#include "daemon/guest/guest-file.h"

#include <cmocka.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static int open_copy(void)
{
	int fd = open(VMOP_TEST_BUILDDIR "/tests/unit/libsym/target", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* Read the symbols of a copy that was requested with that build-id. */
static struct vmop_symtab *read_as(int fd, const char *build_id, bool *ret_is_gone)
{
	struct vmop_build_id id = {0};
	if (*build_id)
		assert_true(vmop_build_id_parse(build_id, &id));
	return vmop_guest_file_symbols(fd, &id, ret_is_gone);
}

static void the_files_own_symbols_are_read(void **state)
{
	static const char *const ids[] = {"5eed0123456789abcdef5eed0123456789abcdef", ""};
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		bool is_gone = true;
		size_t n;
		int fd = open_copy();
		struct vmop_symtab *symtab = read_as(fd, ids[i], &is_gone);
		assert_false(is_gone);
		assert_non_null(symtab);
		vmop_symtab_symbols(symtab, &n);
		assert_true(n > 0);
		vmop_symtab_destroy(symtab);
		close(fd);
	}
}

/* The guest closed the file, and opened another one whose struct file has its place. */
static void another_files_symbols_are_refused(void **state)
{
	static const char *const others[] = {"5eed0123456789abcdef5eed0123456789abcdee", "5eed"};
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		bool is_gone = false;
		int fd = open_copy();
		assert_null(read_as(fd, others[i], &is_gone));
		assert_true(is_gone);
		close(fd);
	}
}

static void a_file_without_symbols_is_not_gone(void **state)
{
	bool is_gone = true;
	int fd = memfd_create("text", MFD_CLOEXEC);
	(void)state;
	assert_int_equal(write(fd, "text", 4), 4);
	assert_null(read_as(fd, "", &is_gone));
	assert_false(is_gone);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_files_own_symbols_are_read),
		cmocka_unit_test(another_files_symbols_are_refused),
		cmocka_unit_test(a_file_without_symbols_is_not_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
