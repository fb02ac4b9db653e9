// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tables of real files of which some pages are absent, as in a guest's page cache: each rule is the
 * one of the whole file or none, and few are lost. The search table finds the entries behind a
 * hole.
 */
#include <cmocka.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libstack/table.h"
#include "libutil/clock.h"
#include "libutil/error.h"

enum { PAGE = 4096 };

static const struct vmop_cfi_limits ample = {.max_bytes = (size_t)1 << 30,
					     .max_cpu_ns = 60 * VMOP_NS_PER_S};

/* A file of which some pages are absent. */
struct file {
	uint8_t *bytes;
	size_t len_bytes, n_pages;
	bool *is_absent; /* by page */
	struct vmop_cfi_table *whole;
};

static bool read_present(void *arg, uint64_t offset, void *buf, size_t len_bytes)
{
	const struct file *file = arg;
	if (offset > file->len_bytes || len_bytes > file->len_bytes - offset)
		return false;
	for (uint64_t page = offset / PAGE; page * PAGE < offset + len_bytes; page++)
		if (file->is_absent[page])
			return false;
	memcpy(buf, file->bytes + offset, len_bytes);
	return true;
}

static struct vmop_cfi_table *build(struct file *file)
{
	const struct vmop_cfi_reader reader = {.read = read_present, .arg = file};
	struct vmop_cfi_table *table = NULL;
	struct vmop_error *err = vmop_cfi_table_build_by(&reader, &ample, &table);
	if (err && err->code != VMOP_ERROR_CORRUPT && err->code != VMOP_ERROR_NOT_FOUND)
		fail_msg("%s", err->message);
	vmop_error_destroy(err);
	return table;
}

static void read_file(const char *path, struct file *ret)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &status), 0);
	ret->len_bytes = (size_t)status.st_size;
	ret->n_pages = (ret->len_bytes + PAGE - 1) / PAGE;
	ret->bytes = malloc(ret->len_bytes);
	ret->is_absent = calloc(ret->n_pages, sizeof(*ret->is_absent));
	assert_true(ret->bytes && ret->is_absent);
	assert_int_equal(read(fd, ret->bytes, ret->len_bytes), status.st_size);
	close(fd);
	ret->whole = build(ret);
	assert_non_null(ret->whole);
	assert_false(vmop_cfi_table_is_partial(ret->whole));
}

/* Read a program of the build tree. Skip the test where that tree is not. */
static void read_target(struct file *ret)
{
	static const char path[] = VMOP_TEST_BUILDDIR "/tests/unit/libstack/target-static";
	if (access(path, R_OK) != 0)
		skip();
	read_file(path, ret);
}

static void free_file(struct file *file)
{
	vmop_cfi_table_destroy(file->whole);
	free(file->bytes);
	free(file->is_absent);
}

/* Return the share of the rules of the whole file, in percent, that a table has. */
static double compare(const struct file *file, const struct vmop_cfi_table *table, size_t step)
{
	size_t n_same = 0, n_rules = 0;
	for (size_t offset = 0; offset < file->len_bytes; offset += step) {
		struct vmop_cfi_rule rule, found;
		vmop_cfi_table_find(file->whole, offset, &rule);
		vmop_cfi_table_find(table, offset, &found);
		n_rules += rule.kind != VMOP_CFI_NONE;
		if (found.kind == VMOP_CFI_NONE)
			continue;
		/* Without the function that needs rbx, no rule has it. */
		if (found.extra_saved == VMOP_CFI_LOST) {
			rule.extra_saved = VMOP_CFI_LOST;
			rule.extra_offset = found.extra_offset;
		}
		if (memcmp(&rule, &found, sizeof(rule)) != 0)
			fail_msg("another rule at %zu", offset);
		n_same++;
	}
	return 100. * (double)n_same / (double)n_rules;
}

static void find_libc(const char **ret)
{
	*ret = NULL;
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
		if (strstr(map->l_name, "/libc.so"))
			*ret = map->l_name;
	if (!*ret)
		skip();
}

static void each_page_costs_few_rules(void **state)
{
	(void)state;
	const char *path;
	struct file file;
	size_t n_partial = 0, n_fatal = 0;
	find_libc(&path);
	read_file(path, &file);
	for (size_t page = 1; page < file.n_pages; page++) {
		file.is_absent[page] = true;
		struct vmop_cfi_table *table = build(&file);
		file.is_absent[page] = false;
		assert_non_null(table);
		double share = compare(&file, table, 61);
		/* Nearly all functions have the same CIE, so one page or two have all rules. */
		n_fatal += share < 85;
		n_partial += vmop_cfi_table_is_partial(table);
		assert_true(vmop_cfi_table_is_partial(table) || share == 100);
		vmop_cfi_table_destroy(table);
	}
	assert_true(n_partial > 10 && n_partial < file.n_pages / 2);
	assert_true(n_fatal <= 2);
	free_file(&file);
}

/* A program without section headers, whose other pages may be absent too. */
static void any_pages_may_be_absent(void **state)
{
	(void)state;
	struct file file;
	unsigned random = 1, n_tables = 0;
	double shares = 0;
	read_target(&file);
	for (int turn = 0; turn < 64; turn++) {
		for (size_t page = 1; page < file.n_pages; page++) {
			random = random * 1103515245 + 12345;
			file.is_absent[page] = (random >> 16) % 100 < (unsigned)turn;
		}
		struct vmop_cfi_table *table = build(&file);
		if (!table)
			continue;
		n_tables++;
		shares += compare(&file, table, turn % 8 ? 7 : 1);
		vmop_cfi_table_destroy(table);
	}
	assert_true(n_tables > 16);
	assert_true(shares / n_tables > 30);
	free_file(&file);
}

static void without_headers_there_is_no_table(void **state)
{
	(void)state;
	struct file file;
	read_target(&file);
	file.is_absent[0] = true;
	assert_null(build(&file));
	free_file(&file);
}

/* Entries of the search table that point anywhere do no harm. */
static void a_damaged_search_table_is_bounded(void **state)
{
	(void)state;
	struct file file;
	size_t n_tables = 0;
	read_target(&file);
	const Elf64_Ehdr *header = (const void *)file.bytes;
	const Elf64_Phdr *segments = (const void *)(file.bytes + header->e_phoff);
	for (int i = 0; i < header->e_phnum; i++) {
		if (segments[i].p_type != PT_GNU_EH_FRAME)
			continue;
		for (size_t at = 12; at + 8 <= segments[i].p_filesz; at += 8)
			file.bytes[segments[i].p_offset + at + 4 + at % 3] ^= (uint8_t)(at * 37);
	}
	for (size_t page = 1; page < file.n_pages; page++) {
		file.is_absent[page] = true;
		struct vmop_cfi_table *table = build(&file);
		file.is_absent[page] = false;
		n_tables += table != NULL;
		vmop_cfi_table_destroy(table);
	}
	assert_true(n_tables > 0);
	free_file(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_page_costs_few_rules),
		cmocka_unit_test(any_pages_may_be_absent),
		cmocka_unit_test(without_headers_there_is_no_table),
		cmocka_unit_test(a_damaged_search_table_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
