// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of a file of which the guest has only some pages in memory: this program's own file,
 * and the C library's, as a guest's page cache would return them. Whole guests: compare-samples.c.
 */
#include "daemon/guest/stacks/file-tables.h"

#include <cmocka.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libsym/build-id.h"
#include "libutil/error.h"

enum { PAGE = 4096, MAX_PAGES = 1 << 14, FILE_HANDLE = 7 };

/* The guest's file, which is one of this machine's. */
static struct {
	int fd;
	size_t len_bytes;
	bool is_absent[MAX_PAGES];
	bool is_gone;
} file;

struct vmop_error *__wrap_vmop_guest_read_file(struct vmop_guest *guest, uint64_t handle,
					       uint64_t offset, void *buf, size_t len_bytes,
					       size_t *ret_read);

struct vmop_error *__wrap_vmop_guest_read_file(struct vmop_guest *guest, uint64_t handle,
					       uint64_t offset, void *buf, size_t len_bytes,
					       size_t *ret_read)
{
	(void)guest;
	assert_int_equal(handle, FILE_HANDLE);
	if (file.is_gone)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "gone");
	memset(buf, 0, len_bytes);
	*ret_read = len_bytes;
	if (offset >= file.len_bytes || len_bytes > file.len_bytes - offset)
		*ret_read = 0;
	for (uint64_t page = offset / PAGE; page * PAGE < offset + len_bytes; page++)
		if (file.is_absent[page % MAX_PAGES])
			*ret_read = 0;
	if (*ret_read)
		assert_int_equal(pread(file.fd, buf, len_bytes, (off_t)offset), len_bytes);
	return NULL;
}

static void open_file(const char *path, struct vmop_guest_code_mapping *ret)
{
	struct stat status;
	struct vmop_build_id id;
	memset(&file, 0, sizeof(file));
	*ret = (struct vmop_guest_code_mapping){.file = FILE_HANDLE};
	file.fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(file.fd >= 0);
	assert_int_equal(fstat(file.fd, &status), 0);
	file.len_bytes = (size_t)status.st_size;
	assert_null(vmop_build_id_of_fd(file.fd, path, &id));
	ret->key.build_id_len_bytes = id.len_bytes;
	memcpy(ret->key.build_id, id.bytes, id.len_bytes);
}

/* Build the table, and return its number of rows; 0: none. */
static size_t build(const struct vmop_guest_code_mapping *mapping, const char *host_path,
		    bool *ret_is_partial)
{
	struct vmop_cfi_table *table;
	struct vmop_cfi_facts facts;
	enum vmop_code_state state = vmop_guest_table_build(NULL, mapping, host_path, &table);
	*ret_is_partial = false;
	assert_true((state == VMOP_CODE_HAS_TABLE) == (table != NULL));
	if (!table)
		return 0;
	vmop_cfi_table_facts(table, &facts);
	*ret_is_partial = vmop_cfi_table_is_partial(table);
	vmop_cfi_table_destroy(table);
	return facts.n_rows;
}

static void set_absent(size_t from, size_t to)
{
	for (size_t page = from; page < to; page++)
		file.is_absent[page % MAX_PAGES] = true;
}

static void present_pages_make_a_partial_table(void **state)
{
	struct vmop_guest_code_mapping mapping;
	bool is_partial;
	size_t n_partial = 0, n_pages;
	(void)state;
	open_file("/proc/self/exe", &mapping);
	size_t n_whole = build(&mapping, NULL, &is_partial);
	assert_true(n_whole > 100 && !is_partial);
	n_pages = file.len_bytes / PAGE + 1;
	for (size_t page = 1; page < n_pages; page++) {
		file.is_absent[page] = true;
		size_t n = build(&mapping, NULL, &is_partial);
		assert_true(n <= n_whole || is_partial);
		n_partial += is_partial && n > 0;
		file.is_absent[page] = false;
	}
	assert_true(n_partial > 0);
	/* Without the note of the build-id, the file can be another one. */
	file.is_absent[0] = true;
	assert_int_equal(build(&mapping, NULL, &is_partial), 0);
	close(file.fd);
}

static const char *libc_path(void)
{
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
		if (strstr(map->l_name, "/libc.so"))
			return map->l_name;
	skip();
	return NULL;
}

static void the_same_file_here_replaces_it(void **state)
{
	struct vmop_guest_code_mapping mapping;
	bool is_partial;
	(void)state;
	const char *path = libc_path();
	open_file(path, &mapping);
	size_t n_whole = build(&mapping, NULL, &is_partial);
	set_absent(0, MAX_PAGES);
	assert_int_equal(build(&mapping, NULL, &is_partial), 0);
	assert_int_equal(build(&mapping, path, &is_partial), n_whole);
	set_absent(0, MAX_PAGES);
	memset(file.is_absent, 0, file.len_bytes / PAGE / 9 * 8);
	assert_true(build(&mapping, NULL, &is_partial) < n_whole);
	assert_int_equal(build(&mapping, path, &is_partial), n_whole);
	assert_false(is_partial);
	/* The guest closed it. */
	file.is_gone = true;
	assert_int_equal(build(&mapping, path, &is_partial), n_whole);
	/* Another file than the one that the guest has. */
	mapping.key.build_id[3] ^= 1;
	assert_int_equal(build(&mapping, path, &is_partial), 0);
	mapping.key.build_id_len_bytes = 0;
	assert_int_equal(build(&mapping, path, &is_partial), 0);
	close(file.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(present_pages_make_a_partial_table),
		cmocka_unit_test(the_same_file_here_replaces_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
