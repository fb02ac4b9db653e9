// SPDX-License-Identifier: GPL-2.0-or-later
/* Test tables that are kept between runs: equal ones, damaged ones, and those of other users. */
#include "libsym/cache/symbol-cache.h"

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "libsym/cache/mapped-symtab.h"
#include "libsym/symtab-builder.h"

static char dir[] = "/tmp/vmop-test.XXXXXX";
static const struct vmop_symbol_cache_key key = {{20, "0123456789abcdefghij"}, false, false};
#define FILE_NAME "303132333435363738396162636465666768696a"

/* Positions in the file's header. */
enum { FORMAT_AT = 8, PARTIAL_AT = 34, SAVED_AT = 48, HASH_AT = 56, HEADER_BYTES = 88 };

/* With 20 symbols: the hash covers the first offset and three hashes of pages. */
enum { PARTS_AT = HEADER_BYTES + 4 * 8 };

static struct vmop_symbol_cache cache;

static int set_up(void **state)
{
	(void)state;
	vmop_symbol_cache_init(&cache, dir);
	return cache.dir_fd < 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlinkat(cache.dir_fd, FILE_NAME, 0);
	unlinkat(cache.dir_fd, FILE_NAME ".addr", 0);
	vmop_symbol_cache_deinit(&cache);
	return 0;
}

/* Return n functions, the names of which differ from seed to seed, with aliases. */
static struct vmop_symtab *make_table(unsigned n, unsigned seed)
{
	struct vmop_symbol *symbols = calloc(n + 1, sizeof(*symbols));
	char *names = malloc(32 * (size_t)n + 1);
	struct vmop_symtab *table = NULL;
	for (unsigned i = 0; i < n; i++) {
		char *name = names + 32 * (size_t)i;
		snprintf(name, 32, "function_%u_%06u", seed, i);
		symbols[i] = (struct vmop_symbol){16 * (i / 3), i % 3 ? 8 : 0, name, 'T'};
	}
	assert_null(vmop_symtab_create(symbols, n, names, &table));
	return table;
}

static void assert_equal(const struct vmop_symtab *a, const struct vmop_symtab *b)
{
	size_t n, n_b;
	const struct vmop_symbol *of_a = vmop_symtab_symbols(a, &n);
	const struct vmop_symbol *of_b = vmop_symtab_symbols(b, &n_b);
	assert_int_equal(n, n_b);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(of_a[i].offset, of_b[i].offset);
		assert_int_equal(of_a[i].len_bytes, of_b[i].len_bytes);
		assert_int_equal(of_a[i].type, of_b[i].type);
		assert_string_equal(of_a[i].name, of_b[i].name);
	}
}

static void keep(unsigned n, bool is_partial)
{
	struct vmop_symtab *table = make_table(n, 1);
	vmop_symbol_cache_save(&cache, &key, is_partial, table);
	vmop_symtab_destroy(table);
}

static bool is_kept(void)
{
	struct vmop_symtab *loaded = NULL;
	assert_null(vmop_symbol_cache_load(&cache, &key, -1, &loaded));
	bool kept = loaded;
	vmop_symtab_destroy(loaded);
	return kept;
}

static void a_table_comes_back(void **state)
{
	(void)state;
	uint64_t last_identity = 0;
	for (unsigned n = 0; n <= 5000; n += 1000) {
		struct vmop_symtab *table = make_table(n, n), *loaded = NULL;
		assert_int_equal(vmop_symtab_identity(table), 0);
		vmop_symbol_cache_save(&cache, &key, false, table);
		assert_null(vmop_symbol_cache_load(&cache, &key, -1, &loaded));
		assert_non_null(loaded);
		assert_equal(table, loaded);
		assert_int_equal(vmop_symtab_identity(loaded), vmop_symtab_identity(table));
		assert_true(vmop_symtab_identity(loaded) != last_identity);
		last_identity = vmop_symtab_identity(loaded);
		vmop_symtab_destroy(loaded);
		vmop_symtab_destroy(table);
	}
}

/* The same symbols have one identity, whenever they were saved; others have another one. */
static void an_identity_is_of_the_symbols(void **state)
{
	(void)state;
	uint64_t identities[3];
	for (unsigned i = 0; i < 3; i++) {
		struct vmop_symtab *table = make_table(1000, i / 2);
		vmop_symbol_cache_save(&cache, &key, i == 1, table);
		identities[i] = vmop_symtab_identity(table);
		assert_true(identities[i] != 0);
		vmop_symtab_destroy(table);
	}
	assert_int_equal(identities[0], identities[1]);
	assert_true(identities[1] != identities[2]);
}

/* A table without damage is not written again. */
static void a_loaded_table_is_not_saved(void **state)
{
	(void)state;
	struct vmop_symtab *loaded = NULL;
	struct vmop_symbol_cache_key other = key;
	other.addresses = true;
	keep(10, false);
	assert_null(vmop_symbol_cache_load(&cache, &key, -1, &loaded));
	assert_non_null(loaded);
	vmop_symbol_cache_save(&cache, &other, false, loaded);
	vmop_symtab_destroy(loaded);
	assert_null(vmop_symbol_cache_load(&cache, &other, -1, &loaded));
	assert_null(loaded);
}

static void a_removed_table_is_missing(void **state)
{
	(void)state;
	keep(10, false);
	vmop_symbol_cache_remove(&cache, &key);
	assert_false(is_kept());
}

static void keys_do_not_mix(void **state)
{
	(void)state;
	struct vmop_symbol_cache_key other = key;
	struct vmop_symtab *loaded = NULL;
	keep(10, false);
	other.addresses = true;
	assert_null(vmop_symbol_cache_load(&cache, &other, -1, &loaded));
	assert_null(loaded);
	other.addresses = false;
	other.build_id.bytes[3]++;
	assert_null(vmop_symbol_cache_load(&cache, &other, -1, &loaded));
	assert_null(loaded);
	/* A file under the name of another key. */
	assert_int_equal(renameat(cache.dir_fd, FILE_NAME, cache.dir_fd, FILE_NAME ".addr"), 0);
	other = key;
	other.addresses = true;
	assert_null(vmop_symbol_cache_load(&cache, &other, -1, &loaded));
	assert_null(loaded);
}

/* Any difference between two files, or between two states of one, gives another key. */
static void files_have_keys(void **state)
{
	(void)state;
	struct stat st = {.st_dev = 1, .st_ino = 2, .st_size = 3};
	struct vmop_symbol_cache_key keys[8];
	for (size_t i = 0; i < 8; i++) {
		struct stat other = st;
		other.st_dev += i == 1;
		other.st_ino += i == 2;
		other.st_size += i == 3;
		other.st_mtim.tv_sec += i == 4;
		other.st_mtim.tv_nsec += i == 5;
		other.st_ctim.tv_sec += i == 6;
		other.st_ctim.tv_nsec += i == 7;
		assert_true(vmop_symbol_cache_key_of_file(&other, false, &keys[i]));
		for (size_t j = 0; j < i; j++)
			assert_false(vmop_build_id_equal(&keys[i].build_id, &keys[j].build_id));
	}
	struct vmop_symbol_cache_key again, changing;
	assert_true(vmop_symbol_cache_key_of_file(&st, false, &again));
	assert_true(vmop_build_id_equal(&again.build_id, &keys[0].build_id));
	st.st_ctim.tv_sec = time(NULL);
	assert_false(vmop_symbol_cache_key_of_file(&st, false, &changing));

	/* A build-id of the same bytes is another key. */
	struct vmop_symtab *table = make_table(10, 0), *loaded = NULL;
	vmop_symbol_cache_save(&cache, &again, false, table);
	assert_null(vmop_symbol_cache_load(&cache, &again, -1, &loaded));
	assert_non_null(loaded);
	assert_equal(table, loaded);
	vmop_symtab_destroy(loaded);
	again.is_file = false;
	assert_null(vmop_symbol_cache_load(&cache, &again, -1, &loaded));
	assert_null(loaded);
	vmop_symtab_destroy(table);
}

/* The string table of an image's file, behind another byte, and functions that have its names. */
static const char image_strings[] = "\0zero\0one@@V1\0two\0four";
static const char *const image_symbols[] = {"zero", "one", "two", "added@plt", "four"};

/* Make the file, and return its descriptor and its key. */
static int make_image(struct vmop_symbol_cache_key *ret)
{
	char path[sizeof(dir) + 16];
	snprintf(path, sizeof(path), "%s/image", dir);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct timespec past[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	struct stat st;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(write(fd, image_strings, sizeof(image_strings)), sizeof(image_strings));
	assert_int_equal(futimens(fd, past), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(unlink(path), 0);
	vmop_symbol_cache_key_of_file(&st, false, ret);
	return fd;
}

/* Return the table of such a file. One name is not in it. */
static struct vmop_symtab *make_image_table(void)
{
	enum { N = sizeof(image_symbols) / sizeof(*image_symbols) };
	struct vmop_symbol *symbols = calloc(N, sizeof(*symbols));
	char *names = malloc(sizeof(image_strings) + 16);
	const struct vmop_names_place place = {1, sizeof(image_strings)};
	struct vmop_symtab *table = NULL;
	memcpy(names, image_strings, sizeof(image_strings));
	names[9] = '\0'; /* the version is cut off */
	strcpy(names + sizeof(image_strings), "added@plt");
	static const size_t at[] = {1, 6, 14, sizeof(image_strings), 18};
	for (unsigned i = 0; i < N; i++)
		symbols[i] = (struct vmop_symbol){16 * i, 16, names + at[i], 't'};
	assert_null(vmop_symtab_create(symbols, N, names, &table));
	vmop_symtab_set_names_place(table, &place);
	return table;
}

static struct vmop_symtab *remake_image(void *arg)
{
	++*(unsigned *)arg;
	return make_image_table();
}

/* Look all names of a table up, from the last one. Return how often it was made again. */
static unsigned look_up_image(struct vmop_symtab *loaded)
{
	unsigned n = 0;
	vmop_mapped_symtab_set_remake(vmop_mapped_symtab_of(loaded), remake_image, &n);
	for (size_t i = sizeof(image_symbols) / sizeof(*image_symbols); i-- > 0;) {
		const struct vmop_symbol *symbol = vmop_symtab_find(loaded, 16 * i + 3);
		assert_non_null(symbol);
		assert_string_equal(symbol->name, image_symbols[i]);
		assert_int_equal(symbol->type, 't');
	}
	return n;
}

/*
 * Check that no name of a table is found but the one that its file lacked, which is in the cache,
 * and that it is not made again.
 */
static void find_no_names(struct vmop_symtab *loaded)
{
	unsigned n = 0;
	vmop_mapped_symtab_set_remake(vmop_mapped_symtab_of(loaded), remake_image, &n);
	for (size_t i = sizeof(image_symbols) / sizeof(*image_symbols); i-- > 0;) {
		const struct vmop_symbol *symbol = vmop_symtab_find(loaded, 16 * i + 3);
		if (!strcmp(image_symbols[i], "added@plt"))
			assert_string_equal(symbol->name, "added@plt");
		else
			assert_null(symbol);
	}
	assert_int_equal(n, 0);
}

/* Names stay in the file that the key is of. Where it changes, its names are missing. */
static void names_stay_in_the_image(void **state)
{
	(void)state;
	struct vmop_symbol_cache_key image_key;
	struct vmop_symtab *table = make_image_table(), *loaded = NULL;
	int fd = make_image(&image_key);
	cache.min_image_names_bytes = 1;
	vmop_symbol_cache_save(&cache, &image_key, false, table);
	assert_null(vmop_symbol_cache_load(&cache, &image_key, -1, &loaded));
	assert_null(loaded); /* needs the file */
	assert_null(vmop_symbol_cache_load(&cache, &image_key, fd, &loaded));
	assert_non_null(loaded);
	assert_int_equal(vmop_symtab_identity(loaded), vmop_symtab_identity(table));
	assert_int_equal(look_up_image(loaded), 0);
	assert_equal(table, loaded); /* reads all names at once */
	vmop_symtab_destroy(loaded);

	assert_null(vmop_symbol_cache_load(&cache, &image_key, fd, &loaded));
	assert_non_null(loaded);
	assert_equal(table, loaded);
	assert_int_equal(look_up_image(loaded), 0);
	vmop_symtab_destroy(loaded);

	assert_null(vmop_symbol_cache_load(&cache, &image_key, fd, &loaded));
	assert_non_null(loaded);
	assert_int_equal(pwrite(fd, "n", 1, 4), 1); /* changes its time */
	find_no_names(loaded);
	vmop_symtab_destroy(loaded);

	assert_null(vmop_symbol_cache_load(&cache, &image_key, fd, &loaded));
	assert_non_null(loaded);
	assert_int_equal(ftruncate(fd, 3), 0);
	find_no_names(loaded);
	vmop_symtab_destroy(loaded);

	/* Short string tables are copied, and so are all of files that are known by build-id. */
	cache.min_image_names_bytes = sizeof(image_strings) + 1;
	vmop_symbol_cache_save(&cache, &image_key, false, table);
	assert_null(vmop_symbol_cache_load(&cache, &image_key, -1, &loaded));
	assert_non_null(loaded);
	assert_equal(table, loaded);
	vmop_symtab_destroy(loaded);
	cache.min_image_names_bytes = 1;
	vmop_symbol_cache_save(&cache, &key, false, table);
	assert_null(vmop_symbol_cache_load(&cache, &key, -1, &loaded));
	assert_non_null(loaded);
	assert_equal(table, loaded);
	vmop_symtab_destroy(loaded);
	vmop_symbol_cache_remove(&cache, &image_key);
	vmop_symtab_destroy(table);
	close(fd);
}

/* Return the table of keep(20, ...), as a program does that finds damage. */
static struct vmop_symtab *remake(void *arg)
{
	++*(unsigned *)arg;
	return make_table(20, 1);
}

/* Load the table, compare all of it, and return how often it was made again. */
static unsigned count_remakes(void)
{
	struct vmop_symtab *loaded = NULL, *expected = make_table(20, 1);
	unsigned n = 0;
	assert_null(vmop_symbol_cache_load(&cache, &key, -1, &loaded));
	assert_non_null(loaded);
	vmop_mapped_symtab_set_remake(vmop_mapped_symtab_of(loaded), remake, &n);
	for (uint64_t offset = 0; offset < 200; offset++) {
		const struct vmop_symbol *a = vmop_symtab_find(loaded, offset);
		const struct vmop_symbol *b = vmop_symtab_find(expected, offset);
		assert_string_equal(a ? a->name : "none", b ? b->name : "none");
	}
	assert_equal(expected, loaded);
	vmop_symtab_destroy(loaded);
	vmop_symtab_destroy(expected);
	return n;
}

/* Each damaged byte makes the file count as missing, or the table be made again. */
static void damage_is_found(void **state)
{
	(void)state;
	keep(20, false);
	int fd = openat(cache.dir_fd, FILE_NAME, O_RDWR);
	struct stat st;
	assert_int_equal(fstat(fd, &st), 0);
	for (off_t at = 0; at < st.st_size; at++) {
		char was, is;
		assert_int_equal(pread(fd, &was, 1, at), 1);
		is = (char)(was ^ 0x41);
		assert_int_equal(pwrite(fd, &is, 1, at), 1);
		if (at < PARTS_AT)
			assert_false(is_kept());
		else
			assert_int_equal(count_remakes(), 1);
		assert_int_equal(pwrite(fd, &was, 1, at), 1);
	}
	assert_int_equal(count_remakes(), 0);
	for (off_t len = st.st_size - 1; len >= 0; len -= 7) {
		assert_int_equal(ftruncate(fd, len), 0);
		assert_false(is_kept());
	}
	close(fd);
	keep(20, false); /* written anew */
	assert_true(is_kept());
}

/* Change the bytes of a file, and the hash that makes its first part valid again. */
static void patch(off_t at, const void *bytes, size_t len_bytes)
{
	static char file[1 << 16];
	uint64_t hash = 0;
	int fd = openat(cache.dir_fd, FILE_NAME, O_RDWR);
	ssize_t n = pread(fd, file, sizeof(file), 0);
	assert_true(n > PARTS_AT);
	memcpy(file + at, bytes, len_bytes);
	memset(file + HASH_AT, 0, sizeof(hash));
	hash = XXH3_64bits_withSeed(file + HEADER_BYTES, PARTS_AT - HEADER_BYTES,
				    XXH3_64bits(file, HEADER_BYTES));
	memcpy(file + HASH_AT, &hash, sizeof(hash));
	assert_int_equal(pwrite(fd, file, (size_t)n, 0), n);
	close(fd);
}

static void a_partial_table_expires(void **state)
{
	(void)state;
	uint64_t yesterday_s = (uint64_t)time(NULL) - VMOP_SYMBOL_CACHE_PARTIAL_S - 2;
	keep(20, true);
	assert_true(is_kept());
	patch(SAVED_AT, &yesterday_s, sizeof(yesterday_s));
	assert_false(is_kept());
	patch(PARTIAL_AT, "", 1);
	assert_true(is_kept());
}

static void other_formats_count_as_missing(void **state)
{
	(void)state;
	keep(20, false);
	patch(FORMAT_AT, "\x63\0\0", 4);
	assert_false(is_kept());
}

static void files_of_others_count_as_missing(void **state)
{
	(void)state;
	keep(20, false);
	assert_int_equal(fchmodat(cache.dir_fd, FILE_NAME, 0622, 0), 0);
	assert_false(is_kept());
	assert_int_equal(fchmodat(cache.dir_fd, FILE_NAME, 0600, 0), 0);
	assert_true(is_kept());
	assert_int_equal(renameat(cache.dir_fd, FILE_NAME, cache.dir_fd, FILE_NAME ".addr"), 0);
	assert_int_equal(symlinkat(FILE_NAME ".addr", cache.dir_fd, FILE_NAME), 0);
	assert_false(is_kept());
	unlinkat(cache.dir_fd, FILE_NAME, 0);
	assert_int_equal(mkfifoat(cache.dir_fd, FILE_NAME, 0600), 0);
	assert_false(is_kept()); /* and does not wait for a writer */
	unlinkat(cache.dir_fd, FILE_NAME, 0);
	if (geteuid() != 0)
		return;
	keep(20, false);
	assert_int_equal(fchownat(cache.dir_fd, FILE_NAME, 65534, 65534, 0), 0);
	assert_false(is_kept());
}

static void unsafe_folders_are_not_used(void **state)
{
	(void)state;
	struct vmop_symbol_cache other;
	char path[sizeof(dir) + 16];
	static const char *const none[] = {NULL, "", "relative", "/proc/none/here"};
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		vmop_symbol_cache_init(&other, none[i]);
		assert_int_equal(other.dir_fd, -1);
		vmop_symbol_cache_deinit(&other);
	}
	snprintf(path, sizeof(path), "%s/open/to", dir);
	vmop_symbol_cache_init(&other, path); /* the parents are made, too */
	assert_true(other.dir_fd >= 0);
	vmop_symbol_cache_deinit(&other);
	assert_int_equal(chmod(path, 0777), 0);
	vmop_symbol_cache_init(&other, path);
	assert_int_equal(other.dir_fd, -1);
	rmdir(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

static void a_table_beyond_the_bound_is_not_kept(void **state)
{
	(void)state;
	cache.max_bytes = 5 * 1024;
	keep(1000, false);
	assert_false(is_kept());
	keep(10, false);
	assert_true(is_kept());
}

/* Load and save in turn. Return whether each loaded table was whole. */
static bool race(unsigned seed)
{
	for (unsigned i = 0; i < 300; i++) {
		struct vmop_symtab *loaded = NULL, *table = make_table(500, seed % 4);
		size_t n = 0;
		vmop_symbol_cache_save(&cache, &key, false, table);
		vmop_symtab_destroy(table);
		if (vmop_symbol_cache_load(&cache, &key, -1, &loaded) || !loaded)
			return false;
		vmop_symtab_symbols(loaded, &n);
		vmop_symtab_destroy(loaded);
		if (n != 500)
			return false;
	}
	return true;
}

static void several_programs_at_once(void **state)
{
	(void)state;
	enum { N = 8 };
	pid_t pids[N];
	for (unsigned i = 0; i < N; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (!pids[i])
			_exit(!race(i));
	}
	for (unsigned i = 0; i < N; i++) {
		int status = -1;
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		TEST(a_table_comes_back),
		TEST(an_identity_is_of_the_symbols),
		TEST(a_loaded_table_is_not_saved),
		TEST(a_removed_table_is_missing),
		TEST(keys_do_not_mix),
		TEST(files_have_keys),
		TEST(names_stay_in_the_image),
		TEST(damage_is_found),
		TEST(a_partial_table_expires),
		TEST(other_formats_count_as_missing),
		TEST(files_of_others_count_as_missing),
		TEST(unsafe_folders_are_not_used),
		TEST(a_table_beyond_the_bound_is_not_kept),
		TEST(several_programs_at_once),
	};
	if (!mkdtemp(dir))
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(dir);
	return failed;
}
