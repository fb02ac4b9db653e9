// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines and code of images that a resolver finds: programs, and a kernel by addresses. */
#include "libsym/lines.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libsym/code.h"
#include "libutil/clock.h"

#define PROGRAM VMOP_TEST_BUILDDIR "/tests/fixtures/inlines"

static char dir[] = "/tmp/vmop-lines-XXXXXX";

/* Run a command of the test's own in dir. */
static void run(const char *command)
{
	char line[2048];
	snprintf(line, sizeof(line), "cd %s && %s", dir, command);
	assert_int_equal(system(line), 0);
}

/* A stand-in for a kernel: linked at its address, with _text, found by its build-id. */
static const char make_kernel[] =
	"printf '%s\\n' 'asm(\".globl _text; _text:\");' 'int work(int n)' '{' '\treturn n * 3;' "
	"'}' "
	"'void _start(void)' '{' '}' >kernel.c && "
	"gcc -g -O1 -nostdlib -static -fno-pie -no-pie -fno-stack-protector "
	"-Wl,-Ttext=0xffffffff81000000 "
	"-Wl,--build-id=0xabcdef0123456789abcdef0123456789abcdef01 -mcmodel=kernel "
	"-o vmlinux kernel.c 2>err";

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

static struct vmop_resolver *make_resolver(void)
{
	struct vmop_resolver *resolver;
	const char *debug_paths[] = {dir};
	const struct vmop_resolver_options options = {.debug_paths = debug_paths,
						      .n_debug_paths = 1};
	assert_null(vmop_resolver_create(&options, &resolver));
	return resolver;
}

/* Return the offset of a function, by the resolver. */
static uint64_t offset_of(struct vmop_resolver *resolver, const struct vmop_image_ref *ref,
			  const char *name)
{
	const struct vmop_symtab *symtab;
	const char *reason;
	size_t n;
	assert_null(vmop_resolver_symtab(resolver, ref, &symtab, &reason));
	assert_non_null(symtab);
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(symbols[i].name, name))
			return symbols[i].offset;
	fail_msg("no symbol %s", name);
	return 0;
}

static void programs_have_lines_and_code(void **state)
{
	(void)state;
	struct vmop_resolver *resolver = make_resolver();
	const struct vmop_image_ref ref = {.path = PROGRAM};
	struct vmop_lines *lines;
	struct vmop_image_lines *image;
	struct vmop_image_code *code;
	struct vmop_line line;
	const char *reason;
	uint8_t bytes[16];
	uint64_t offset = offset_of(resolver, &ref, "run_other");
	assert_null(vmop_lines_create(resolver, 60 * VMOP_NS_PER_S, &lines));
	assert_null(vmop_lines_open(lines, &ref, &image, &reason));
	assert_non_null(image);
	assert_null(reason);
	assert_true(vmop_lines_find(lines, image, offset, &line));
	assert_non_null(strstr(line.path, "inlines"));
	assert_true(line.number > 1 && *line.folder == '/');
	assert_true(vmop_lines_find(lines, image, UINT64_MAX, &line));
	assert_null(line.path);
	assert_null(vmop_image_code_open(resolver, &ref, &code, &reason));
	assert_non_null(code);
	assert_int_equal(vmop_image_code_read(code, offset, bytes, sizeof(bytes)), sizeof(bytes));
	FILE *file = fopen(PROGRAM, "r");
	uint8_t expected[16];
	assert_int_equal(fseek(file, (long)offset, SEEK_SET), 0);
	assert_int_equal(fread(expected, 1, sizeof(expected), file), sizeof(expected));
	fclose(file);
	assert_memory_equal(bytes, expected, sizeof(bytes));
	/* Headers are no code, nor are offsets behind the file. */
	assert_int_equal(vmop_image_code_read(code, 0, bytes, sizeof(bytes)), 0);
	assert_int_equal(vmop_image_code_read(code, UINT64_MAX - 4, bytes, sizeof(bytes)), 0);
	vmop_image_code_destroy(code);
	vmop_lines_destroy(lines);
	vmop_resolver_destroy(resolver);
}

static void kernels_count_from_text(void **state)
{
	(void)state;
#ifndef __x86_64__
	print_message("not tested: the stand-in for a kernel is of x86-64\n");
	skip();
#endif
	run(make_kernel);
	run("mkdir -p .build-id/ab && "
	    "cp vmlinux .build-id/ab/cdef0123456789abcdef0123456789abcdef01.debug");
	struct vmop_resolver *resolver = make_resolver();
	struct vmop_image_ref ref = {.path = "[kernel]", .addresses = true};
	ref.build_id.len_bytes = 20;
	const uint8_t whole[20] = {0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd,
				   0xef, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01};
	memcpy(ref.build_id.bytes, whole, sizeof(whole));
	uint64_t offset = offset_of(resolver, &ref, "work") - 0xffffffff81000000;
	struct vmop_lines *lines;
	struct vmop_image_lines *image;
	struct vmop_image_code *code;
	struct vmop_line line;
	const char *reason;
	uint8_t bytes[64];
	assert_null(vmop_lines_create(resolver, 60 * VMOP_NS_PER_S, &lines));
	assert_null(vmop_lines_open(lines, &ref, &image, &reason));
	assert_non_null(image);
	assert_true(vmop_lines_find(lines, image, offset, &line));
	assert_in_range(line.number, 3, 4); /* a compiler may begin with either */
	assert_null(vmop_image_code_open(resolver, &ref, &code, &reason));
	assert_non_null(code);
	assert_int_equal(vmop_image_code_machine(code), VMOP_MACHINE_X86_64);
	assert_true(vmop_image_code_read(code, offset, bytes, sizeof(bytes)) >= 3);
	vmop_image_code_destroy(code);
	vmop_lines_destroy(lines);
	vmop_resolver_destroy(resolver);
}

static void reasons_are_given(void **state)
{
	(void)state;
	struct vmop_resolver *resolver = make_resolver();
	struct vmop_image_ref ref = {.path = "/nonexistent"};
	struct vmop_lines *lines;
	struct vmop_image_lines *image;
	struct vmop_image_code *code;
	const char *reason;
	char path[64];
	assert_null(vmop_lines_create(resolver, 60 * VMOP_NS_PER_S, &lines));
	assert_null(vmop_lines_open(lines, &ref, &image, &reason));
	assert_null(image);
	assert_string_equal(reason, "no such file");
	assert_null(vmop_image_code_open(resolver, &ref, &code, &reason));
	assert_null(code);
	assert_string_equal(reason, "no such file");
	run("strip -R .note.gnu.build-id -o stripped " PROGRAM);
	run("objcopy --only-keep-debug -R .note.gnu.build-id " PROGRAM " debug");
	snprintf(path, sizeof(path), "%s/stripped", dir);
	ref.path = path;
	assert_null(vmop_lines_open(lines, &ref, &image, &reason));
	assert_null(image);
	assert_string_equal(reason, "no DWARF was found");
	snprintf(path, sizeof(path), "%s/debug", dir);
	assert_null(vmop_image_code_open(resolver, &ref, &code, &reason));
	assert_null(code);
	assert_string_equal(reason, "the file has no code");
	vmop_lines_destroy(lines);
	/* Without time nothing is read. */
	ref.path = PROGRAM;
	assert_null(vmop_lines_create(resolver, 0, &lines));
	assert_null(vmop_lines_open(lines, &ref, &image, &reason));
	assert_null(image);
	assert_string_equal(reason, "there was no CPU time left");
	vmop_lines_destroy(lines);
	vmop_resolver_destroy(resolver);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_have_lines_and_code),
		cmocka_unit_test(kernels_count_from_text),
		cmocka_unit_test(reasons_are_given),
	};
	/* They are not where only the tests are installed; nor are the compiler's tools. */
	if (access(PROGRAM, R_OK) < 0) {
		puts("skipped: needs the fixture inlines of the build tree");
		return 77;
	}
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
