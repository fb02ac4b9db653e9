// SPDX-License-Identifier: GPL-2.0-or-later
/* Test demangled names that are kept between runs: equal ones, and damaged and hostile files. */
#include "libsym/cache/name-cache.h"

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* Positions in the file's header. */
enum { VERSION_AT = 8, N_SLOTS_AT = 32, N_AT = 36, HASH_AT = 48, HEADER_BYTES = 56 };

#define FILE_NAME "names.short"

static char dir[] = "/tmp/vmop-test.XXXXXX";
static int dir_fd;

static int tear_down(void **state)
{
	(void)state;
	unlinkat(dir_fd, FILE_NAME, 0);
	unlinkat(dir_fd, "names.full", 0);
	return 0;
}

static struct vmop_name_cache *open_cache(void)
{
	struct vmop_name_cache *cache = vmop_name_cache_open(dir_fd, VMOP_DEMANGLE_SMART);
	assert_non_null(cache);
	return cache;
}

/* Write the texts of name i. The caller frees nothing: the texts are in one static block. */
static const char *text_of(unsigned i, char kind)
{
	static char texts[2][32];
	char *text = texts[kind == 'm'];
	snprintf(text, sizeof(texts[0]), "%s%u", kind == 'm' ? "_ZN" : "shown::", i);
	return text;
}

/* Add names [first, last) and close the cache. */
static void keep(unsigned first, unsigned last)
{
	struct vmop_name_cache *cache = open_cache();
	char *texts = malloc((last - first + 1) * (size_t)64);
	for (unsigned i = first; i < last; i++) {
		char *text = texts + (size_t)64 * (i - first);
		strcpy(text, text_of(i, 'm'));
		strcpy(text + 32, text_of(i, 's'));
		assert_null(vmop_name_cache_find(cache, text));
		vmop_name_cache_add(cache, text, text + 32);
	}
	vmop_name_cache_close(cache);
	free(texts);
}

/* Return how many of the names [first, last) are kept. Those that are have the right form. */
static unsigned count(unsigned first, unsigned last)
{
	struct vmop_name_cache *cache = open_cache();
	unsigned n = 0;
	for (unsigned i = first; i < last; i++) {
		const char *found = vmop_name_cache_find(cache, text_of(i, 'm'));
		if (found)
			assert_string_equal(found, text_of(i, 's'));
		n += found != NULL;
	}
	vmop_name_cache_close(cache);
	return n;
}

static void names_are_found_by_the_next_run(void **state)
{
	(void)state;
	keep(0, 3000);
	assert_int_equal(count(0, 3000), 3000);
	assert_int_equal(count(3000, 3010), 0);
	struct vmop_name_cache *full = vmop_name_cache_open(dir_fd, VMOP_DEMANGLE_FULL);
	assert_null(vmop_name_cache_find(full, text_of(1, 'm')));
	vmop_name_cache_close(full);
	assert_null(vmop_name_cache_open(dir_fd, VMOP_DEMANGLE_NONE));
	assert_null(vmop_name_cache_open(-1, VMOP_DEMANGLE_SMART));
	assert_null(vmop_name_cache_find(NULL, "_Zx"));
	vmop_name_cache_add(NULL, "_Zx", "x");
	vmop_name_cache_close(NULL);
}

static void a_file_grows_by_many_names_and_not_by_few(void **state)
{
	(void)state;
	struct stat st;
	keep(0, 3000);
	keep(3000, 3100);
	assert_int_equal(count(0, 3100), 3000);
	keep(3000, 3600);
	assert_int_equal(count(0, 3600), 3600);
	assert_int_equal(fstatat(dir_fd, FILE_NAME, &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

/* Names that do not fit beside those of the file replace them. */
static void the_file_is_bounded(void **state)
{
	(void)state;
	struct stat st;
	keep(0, VMOP_NAME_CACHE_MAX_NAMES - 10000);
	keep(1000000, 1200000);
	assert_int_equal(count(1000000, 1200000), 200000);
	assert_int_equal(count(0, 1000), 0);
	assert_int_equal(fstatat(dir_fd, FILE_NAME, &st, 0), 0);
	assert_true((uint64_t)st.st_size <= VMOP_NAME_CACHE_MAX_BYTES);
}

static void long_names_are_not_kept(void **state)
{
	(void)state;
	static char name[VMOP_NAME_CACHE_MAX_NAME_BYTES + 2];
	memset(name, 'x', sizeof(name) - 1);
	struct vmop_name_cache *cache = open_cache();
	vmop_name_cache_add(cache, name, "short");
	vmop_name_cache_add(cache, "_Zshort", name);
	vmop_name_cache_close(cache);
	assert_int_not_equal(faccessat(dir_fd, FILE_NAME, F_OK, 0), 0);
}

/* Read the file. The caller frees the result. */
static char *read_file(size_t *ret_len_bytes)
{
	int fd = openat(dir_fd, FILE_NAME, O_RDONLY);
	struct stat st;
	assert_true(fd >= 0 && !fstat(fd, &st));
	char *bytes = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	*ret_len_bytes = (size_t)st.st_size;
	return bytes;
}

static void write_file(const char *bytes, size_t len_bytes)
{
	int fd = openat(dir_fd, FILE_NAME, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len_bytes), (ssize_t)len_bytes);
	close(fd);
}

static void set_hash(char *file, size_t len_bytes)
{
	memset(file + HASH_AT, 0, 8);
	uint64_t hash = XXH3_64bits(file, HEADER_BYTES);
	hash = XXH3_64bits_withSeed(file + HEADER_BYTES, len_bytes - HEADER_BYTES, hash);
	memcpy(file + HASH_AT, &hash, sizeof(hash));
}

static void a_damaged_file_counts_as_missing_and_is_written_anew(void **state)
{
	(void)state;
	size_t len_bytes;
	keep(0, 40);
	char *file = read_file(&len_bytes);
	for (size_t at = 0; at < len_bytes; at++) {
		file[at] ^= 0x10;
		write_file(file, len_bytes);
		assert_int_equal(count(0, 40), 0);
		file[at] ^= 0x10;
	}
	for (size_t shorter = 0; shorter < len_bytes; shorter += 7) {
		write_file(file, shorter);
		assert_int_equal(count(0, 40), 0);
	}
	keep(0, 40);
	assert_int_equal(count(0, 40), 40);
	free(file);
}

static void another_version_counts_as_missing(void **state)
{
	(void)state;
	size_t len_bytes;
	keep(0, 40);
	char *file = read_file(&len_bytes);
	set_hash(file, len_bytes);
	write_file(file, len_bytes);
	assert_int_equal(count(0, 40), 40); /* set_hash sets what the file had */
	file[VERSION_AT]++;
	set_hash(file, len_bytes);
	write_file(file, len_bytes);
	assert_int_equal(count(0, 40), 0);
	free(file);
}

/* A small file that claims many names would be written again with room for all of them. */
static void more_names_than_slots_count_as_missing(void **state)
{
	(void)state;
	size_t len_bytes;
	uint32_t n;
	keep(0, 40);
	char *file = read_file(&len_bytes);
	memcpy(&n, file + N_SLOTS_AT, sizeof(n));
	for (uint32_t more = 0; more < 2; more++, n++) {
		memcpy(file + N_AT, &n, sizeof(n));
		set_hash(file, len_bytes);
		write_file(file, len_bytes);
		assert_int_equal(count(0, 40), more ? 0 : 40);
	}
	free(file);
}

static void files_of_others_count_as_missing(void **state)
{
	(void)state;
	keep(0, 40);
	assert_int_equal(fchmodat(dir_fd, FILE_NAME, 0666, 0), 0);
	assert_int_equal(count(0, 40), 0);
	assert_int_equal(fchmodat(dir_fd, FILE_NAME, 0600, 0), 0);
	assert_int_equal(count(0, 40), 40);
	assert_int_equal(renameat(dir_fd, FILE_NAME, dir_fd, "names.full"), 0);
	assert_int_equal(symlinkat("names.full", dir_fd, FILE_NAME), 0);
	assert_int_equal(count(0, 40), 0);
	assert_int_equal(unlinkat(dir_fd, FILE_NAME, 0), 0);
	assert_int_equal(mkfifoat(dir_fd, FILE_NAME, 0600), 0);
	assert_int_equal(count(0, 40), 0); /* without waiting for a writer */
}

/* Positions that lead out of the file, full tables and wrong sizes, with a right hash. */
static void nonsense_is_bounded(void **state)
{
	(void)state;
	size_t len_bytes;
	keep(0, 40);
	char *file = read_file(&len_bytes);
	char *nonsense = malloc(len_bytes);
	uint64_t random = 1;
	for (unsigned round = 0; round < 300; round++) {
		memcpy(nonsense, file, len_bytes);
		for (unsigned i = 0; i < 1 + round % 200; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			size_t from = round % 4 ? HEADER_BYTES : VERSION_AT + 24;
			size_t at = from + (random >> 33) % (len_bytes - from);
			nonsense[at] = (char)(random >> 25);
		}
		set_hash(nonsense, len_bytes);
		write_file(nonsense, len_bytes);
		struct vmop_name_cache *cache = open_cache();
		for (unsigned i = 0; i < 60; i++) {
			const char *found = vmop_name_cache_find(cache, text_of(i, 'm'));
			assert_true(!found || strlen(found) < len_bytes);
		}
		static char names[200][16];
		for (unsigned i = 0; i < 200; i++) {
			snprintf(names[i], sizeof(names[i]), "_Zmore%u", i);
			vmop_name_cache_add(cache, names[i], "more");
		}
		vmop_name_cache_close(cache); /* copies the nonsense */
	}
	free(nonsense);
	free(file);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(names_are_found_by_the_next_run, tear_down),
		cmocka_unit_test_teardown(a_file_grows_by_many_names_and_not_by_few, tear_down),
		cmocka_unit_test_teardown(the_file_is_bounded, tear_down),
		cmocka_unit_test_teardown(long_names_are_not_kept, tear_down),
		cmocka_unit_test_teardown(a_damaged_file_counts_as_missing_and_is_written_anew,
					  tear_down),
		cmocka_unit_test_teardown(another_version_counts_as_missing, tear_down),
		cmocka_unit_test_teardown(more_names_than_slots_count_as_missing, tear_down),
		cmocka_unit_test_teardown(files_of_others_count_as_missing, tear_down),
		cmocka_unit_test_teardown(nonsense_is_bounded, tear_down),
	};
	if (!mkdtemp(dir))
		return 99;
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	close(dir_fd);
	rmdir(dir);
	return failed;
}
