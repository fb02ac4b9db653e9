// SPDX-License-Identifier: GPL-2.0-or-later
/* The DWARF of an image's file or of its debug file, found as symbols are, within one budget. */
#include "libsym/inlines.h"

#include <cmocka.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libutil/clock.h"

#define PROGRAM VMOP_TEST_BUILDDIR "/tests/fixtures/inlines"
#define BUILD_ID "1171e5ee1171e5ee1171e5ee1171e5ee1171e5ee"

static char dir[] = "/tmp/vmop-inlines-XXXXXX";

/* Run a command of the test's own in dir. */
static void run(const char *command)
{
	char line[1024];
	snprintf(line, sizeof(line), "cd %s && %s", dir, command);
	assert_int_equal(system(line), 0);
}

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	char line[64];
	snprintf(line, sizeof(line), "rm -r %s", dir);
	return system(line);
}

struct search {
	struct vmop_resolver *resolver;
	struct vmop_inlines *inlines;
};

static struct search begin(uint64_t max_cpu_ns)
{
	struct search search;
	const char *debug_paths[] = {dir};
	const struct vmop_resolver_options options = {.debug_paths = debug_paths,
						      .n_debug_paths = 1};
	assert_null(vmop_resolver_create(&options, &search.resolver));
	assert_null(vmop_inlines_create(search.resolver, max_cpu_ns, &search.inlines));
	return search;
}

static void end(struct search *search)
{
	vmop_inlines_destroy(search->inlines);
	vmop_resolver_destroy(search->resolver);
}

static struct vmop_inline_index *open_path(struct search *search, const char *path,
					   const char **ret_reason)
{
	struct vmop_image_ref ref = {.path = path};
	struct vmop_inline_index *index;
	if (strcmp(path, "/nonexistent") != 0)
		for (size_t i = 0; i < 20; i++, ref.build_id.len_bytes++) {
			unsigned byte;
			sscanf(BUILD_ID + 2 * i, "%2x", &byte);
			ref.build_id.bytes[i] = (uint8_t)byte;
		}
	assert_null(vmop_inlines_open(search->inlines, &ref, &index, ret_reason));
	return index;
}

/* Count the offsets of the file at which innermost is inlined. */
static size_t count(struct search *search, struct vmop_inline_index *index)
{
	const char *names[VMOP_INLINES_MAX];
	size_t n_found = 0, n;
	for (uint64_t offset = 0; offset < 0x3000; offset++) {
		assert_true(vmop_inlines_find(search->inlines, index, offset, names, &n));
		n_found += n && !strcmp(names[0], "innermost");
	}
	return n_found;
}

static void files_and_debug_files_are_found(void **state)
{
	(void)state;
	char path[64];
	const char *reason;
	struct search search = begin(60 * VMOP_NS_PER_S);
	struct vmop_inline_index *index = open_path(&search, PROGRAM, &reason);
	assert_non_null(index);
	size_t n = count(&search, index);
	assert_true(n > 10);
	run("strip -o stripped " PROGRAM);
	snprintf(path, sizeof(path), "%s/stripped", dir);
	assert_null(open_path(&search, path, &reason));
	assert_string_equal(reason, "no DWARF was found");
	run("mkdir -p .build-id/11 && objcopy --only-keep-debug " PROGRAM
	    " .build-id/11/71e5ee1171e5ee1171e5ee1171e5ee1171e5ee.debug");
	index = open_path(&search, path, &reason);
	assert_non_null(index);
	assert_int_equal(count(&search, index), n);
	assert_null(open_path(&search, "/nonexistent", &reason));
	assert_string_equal(reason, "no such file");
	assert_false(vmop_inlines_are_over(search.inlines));
	end(&search);
}

/* Make a file's .debug_info longer than the file. */
static void cut_debug_info(const char *path)
{
	static char bytes[1 << 20];
	FILE *file = fopen(path, "r+");
	assert_non_null(file);
	size_t n = fread(bytes, 1, sizeof(bytes), file);
	Elf64_Ehdr *header = (Elf64_Ehdr *)bytes;
	assert_true(n > sizeof(*header) && n < sizeof(bytes));
	Elf64_Shdr *sections = (Elf64_Shdr *)(bytes + header->e_shoff);
	const char *names = bytes + sections[header->e_shstrndx].sh_offset;
	for (size_t i = 0; i < header->e_shnum; i++)
		if (!strcmp(names + sections[i].sh_name, ".debug_info"))
			sections[i].sh_size = (uint64_t)1 << 40;
	rewind(file);
	assert_int_equal(fwrite(bytes, 1, n, file), n);
	assert_int_equal(fclose(file), 0);
}

static void damage_is_a_reason(void **state)
{
	(void)state;
	char path[64];
	const char *reason;
	struct search search = begin(60 * VMOP_NS_PER_S);
	run("cp " PROGRAM " cut");
	snprintf(path, sizeof(path), "%s/cut", dir);
	cut_debug_info(path);
	assert_null(open_path(&search, path, &reason));
	assert_string_equal(reason, "its DWARF is damaged");
	end(&search);
}

static void no_time_finds_nothing(void **state)
{
	(void)state;
	const char *reason;
	struct search search = begin(0);
	assert_true(vmop_inlines_are_over(search.inlines));
	assert_null(open_path(&search, PROGRAM, &reason));
	assert_string_equal(reason, "there was no CPU time left");
	end(&search);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_and_debug_files_are_found),
		cmocka_unit_test(damage_is_a_reason),
		cmocka_unit_test(no_time_finds_nothing),
	};
	if (access(PROGRAM, R_OK) != 0) {
		puts("skipped: needs the fixture inlines of the build tree");
		return 77;
	}
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
