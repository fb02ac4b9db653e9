// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libsym/kallsyms.h"

static char path[] = "/tmp/vmop-kallsyms-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	int fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

static void put_bytes(const void *bytes, size_t len)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	fclose(file);
}

static void put(const char *text)
{
	put_bytes(text, strlen(text));
}

/* The arguments of all calls of each(), as text. */
static char seen[4096];

static struct vmop_error *note(void *arg, const char *module, const struct vmop_symbol *symbols,
			       size_t n)
{
	(void)arg;
	size_t at = strlen(seen);
	at += (size_t)snprintf(seen + at, sizeof(seen) - at, "<%s>", module);
	for (size_t i = 0; i < n; i++) {
		at += (size_t)snprintf(seen + at, sizeof(seen) - at, " %" PRIx64 "%c%s",
				       symbols[i].offset, symbols[i].type, symbols[i].name);
		assert_int_equal(symbols[i].len_bytes, 0);
	}
	snprintf(seen + at, sizeof(seen) - at, "\n");
	return NULL;
}

static void text_symbols_come_by_module_and_sorted(void **state)
{
	(void)state;
	put("ffffffff81000000 T _stext\n"
	    "ffffffff81000000 T startup_64\n"
	    "ffffffff81000100 t helper\n"
	    "ffffffff82000000 D jiffies\n"
	    "ffffffff81000080 W weak_one\n"
	    "ffffffffc0002000 t b_late\t[beta]\n"
	    "ffffffffc0001000 t a_one\t[alpha]\n"
	    "ffffffffc0001800 b a_data\t[alpha]\n"
	    "ffffffffc0001800 r _note_6 [alpha]\n"
	    "ffffffffc0000000 t b_early\t[beta]\n"
	    "ffffffffc0300000 t bpf_prog_6deef7357e7b4530_x\t[bpf]\n");
	seen[0] = '\0';
	assert_null(vmop_kallsyms_read(path, note, NULL));
	assert_string_equal(seen, "<> ffffffff81000000Tstartup_64 ffffffff81000000T_stext "
				  "ffffffff81000080Wweak_one ffffffff81000100thelper\n"
				  "<beta> ffffffffc0000000tb_early ffffffffc0002000tb_late\n"
				  "<alpha> ffffffffc0001000ta_one\n"
				  "<bpf> ffffffffc0300000tbpf_prog_6deef7357e7b4530_x\n");
}

static void a_system_map_needs_no_last_newline(void **state)
{
	(void)state;
	put("                 U undefined\n"
	    "\n"
	    "0000000000001000 T first\n"
	    "fff T 32_bit_first");
	seen[0] = '\0';
	assert_null(vmop_kallsyms_read(path, note, NULL));
	assert_string_equal(seen, "<> fffT32_bit_first 1000Tfirst\n");
}

static void hidden_addresses_say_what_to_do(void **state)
{
	(void)state;
	put("0000000000000000 T _stext\n0000000000000000 t other\n");
	struct vmop_error *err = vmop_kallsyms_read(path, note, NULL);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_CANT);
	assert_non_null(strstr(err->message, path));
	assert_non_null(strstr(err->message, "kptr_restrict"));
	vmop_error_destroy(err);
}

static void other_text_is_refused(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"",
		"hello world\n",
		"ffffffff81000000 T\n",
		"ffffffff81000000 T \n",
		"ffffffff81000000  T x\n",
		"fffffffff81000000 T seventeen_digits\n",
		"ffffffff81000000 Tx\n",
		"ffffffff81000000 T x\nand then not\n",
		"ffffffff81000000 D only_data\n",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		put(texts[i]);
		struct vmop_error *err = vmop_kallsyms_read(path, note, NULL);
		assert_non_null(err);
		assert_int_equal(err->code, VMOP_ERROR_CORRUPT);
		vmop_error_destroy(err);
	}
	put_bytes("ffffffff81000000 T x\0y\n", 23);
	struct vmop_error *err = vmop_kallsyms_read(path, note, NULL);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_CORRUPT);
	vmop_error_destroy(err);
}

static void brackets_that_are_no_module_do_no_harm(void **state)
{
	(void)state;
	put("1000 T a\t[\n1001 T b\t]\n1002 T c\t[]\n1003 T d\t[m]x\n1004 T e \n1005 T f [[m]]\n");
	seen[0] = '\0';
	assert_null(vmop_kallsyms_read(path, note, NULL));
	assert_string_equal(seen, "<> 1000Ta 1001Tb 1002Tc 1003Td 1004Te\n<[m]> 1005Tf\n");
}

static struct vmop_error *refuse(void *arg, const char *module, const struct vmop_symbol *symbols,
				 size_t n)
{
	(void)module;
	(void)symbols;
	(void)n;
	++*(int *)arg;
	return vmop_error_new(VMOP_ERROR_LIMIT, "enough");
}

static void an_error_of_each_ends_it(void **state)
{
	(void)state;
	put("1000 T a\n2000 T b\t[m]\n");
	int calls = 0;
	struct vmop_error *err = vmop_kallsyms_read(path, refuse, &calls);
	assert_non_null(err);
	assert_string_equal(err->message, "enough");
	assert_int_equal(calls, 1);
	vmop_error_destroy(err);
}

static void too_many_modules_are_refused(void **state)
{
	(void)state;
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	for (int i = 0; i <= VMOP_KALLSYMS_MAX_MODULES; i++)
		fprintf(file, "%x t f\t[m%d]\n", 4096 + i, i);
	fclose(file);
	struct vmop_error *err = vmop_kallsyms_read(path, note, NULL);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_LIMIT);
	vmop_error_destroy(err);
}

static void the_first_bytes_decide_the_format(void **state)
{
	(void)state;
	struct vmop_symtab *symtab;
	put("ffffffffc0001000 t a_one\t[alpha]\nffffffff81000000 T startup_64\n");
	assert_null(vmop_symtab_read_kernel_image(path, &symtab));
	assert_string_equal(vmop_symtab_find(symtab, 0xffffffff81000010)->name, "startup_64");
	assert_string_equal(vmop_symtab_find(symtab, 0xffffffffc0001010)->name, "a_one");
	assert_null(vmop_symtab_find(symtab, 0xffffffff80ffffff));
	vmop_symtab_destroy(symtab);

	assert_null(vmop_symtab_read_kernel_image(VMOP_TEST_BUILDDIR "/tests/unit/libsym/target",
						  &symtab));
	size_t n;
	vmop_symtab_symbols(symtab, &n);
	assert_true(n > 10);
	vmop_symtab_destroy(symtab);

	put_bytes("MZ\0\0\xea\7\0\xc0", 8);
	struct vmop_error *err = vmop_symtab_read_kernel_image(path, &symtab);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_CANT);
	assert_non_null(strstr(err->message, "compressed"));
	vmop_error_destroy(err);

	err = vmop_symtab_read_kernel_image("/dev/zero", &symtab);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "not a regular file"));
	vmop_error_destroy(err);

	err = vmop_symtab_read_kernel_image("/nonexistent/vmlinux", &symtab);
	assert_non_null(err);
	assert_int_equal(err->os_errno, ENOENT);
	vmop_error_destroy(err);
}

static struct vmop_error *count_running(void *arg, const char *module,
					const struct vmop_symbol *symbols, size_t n)
{
	for (size_t i = 1; i < n; i++)
		assert_true(symbols[i - 1].offset <= symbols[i].offset);
	if (!module[0])
		*(size_t *)arg += n;
	return NULL;
}

static void the_running_kernels_text_is_read(void **state)
{
	(void)state;
	size_t n = 0;
	struct vmop_error *err = vmop_kallsyms_read("/proc/kallsyms", count_running, &n);
	if (err) {
		assert_int_equal(err->code, VMOP_ERROR_CANT);
		vmop_error_destroy(err);
		skip();
	}
	assert_true(n > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_symbols_come_by_module_and_sorted),
		cmocka_unit_test(a_system_map_needs_no_last_newline),
		cmocka_unit_test(hidden_addresses_say_what_to_do),
		cmocka_unit_test(other_text_is_refused),
		cmocka_unit_test(brackets_that_are_no_module_do_no_harm),
		cmocka_unit_test(an_error_of_each_ends_it),
		cmocka_unit_test(too_many_modules_are_refused),
		cmocka_unit_test(the_first_bytes_decide_the_format),
		cmocka_unit_test(the_running_kernels_text_is_read),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
