// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libsym/symtab.h"

#define TARGET VMOP_TEST_BUILDDIR "/tests/unit/libsym/target"

static struct vmop_symtab *adopt(const struct vmop_symbol *symbols, size_t n)
{
	struct vmop_symbol *copy = malloc(n * sizeof(*copy) + 1);
	assert_non_null(copy);
	if (n)
		memcpy(copy, symbols, n * sizeof(*copy));
	struct vmop_symtab *symtab;
	assert_null(vmop_symtab_adopt(copy, n, &symtab));
	return symtab;
}

static const char *name_at(const struct vmop_symtab *symtab, uint64_t offset)
{
	const struct vmop_symbol *symbol = vmop_symtab_find(symtab, offset);
	return symbol ? symbol->name : "-";
}

static void an_empty_table_holds_nothing(void **state)
{
	(void)state;
	struct vmop_symtab *symtab = adopt(NULL, 0);
	assert_null(vmop_symtab_find(symtab, 0));
	assert_null(vmop_symtab_find(symtab, UINT64_MAX));
	vmop_symtab_destroy(symtab);
	vmop_symtab_destroy(NULL);
}

static void a_symbol_reaches_over_its_length(void **state)
{
	(void)state;
	const struct vmop_symbol symbols[] = {
		{300, 0, "open_end", 't'},
		{100, 50, "first", 'T'},
		{200, 0, "to_next", 'T'},
	};
	struct vmop_symtab *symtab = adopt(symbols, 3);
	assert_string_equal(name_at(symtab, 99), "-");
	assert_string_equal(name_at(symtab, 100), "first");
	assert_string_equal(name_at(symtab, 149), "first");
	assert_string_equal(name_at(symtab, 150), "-");
	assert_string_equal(name_at(symtab, 200), "to_next");
	assert_string_equal(name_at(symtab, 299), "to_next");
	assert_string_equal(name_at(symtab, 300), "open_end");
	assert_string_equal(name_at(symtab, UINT64_MAX - 1), "open_end");
	vmop_symtab_destroy(symtab);
}

static void nested_and_overlapping_symbols_are_found(void **state)
{
	(void)state;
	const struct vmop_symbol symbols[] = {
		{100, 1000, "outer", 'T'},	 {200, 100, "inner", 't'},
		{220, 10, "innermost", 't'},	 {250, 200, "across", 't'},
		{2000, UINT64_MAX, "huge", 't'}, {2010, 5, "late", 't'},
	};
	struct vmop_symtab *symtab = adopt(symbols, 6);
	assert_string_equal(name_at(symtab, 150), "outer");
	assert_string_equal(name_at(symtab, 210), "inner");
	assert_string_equal(name_at(symtab, 225), "innermost");
	assert_string_equal(name_at(symtab, 235), "inner");
	assert_string_equal(name_at(symtab, 260), "across");
	assert_string_equal(name_at(symtab, 449), "across");
	assert_string_equal(name_at(symtab, 450), "outer");
	assert_string_equal(name_at(symtab, 1100), "-");
	assert_string_equal(name_at(symtab, 2012), "late");
	assert_string_equal(name_at(symtab, 2015), "huge");
	assert_string_equal(name_at(symtab, UINT64_MAX - 1), "huge");
	vmop_symtab_destroy(symtab);
}

/* The order of aliases that symtab.h defines, for each step and any order of the input. */
static void the_best_alias_is_shown(void **state)
{
	(void)state;
	const struct vmop_symbol symbols[] = {
		{100, 8, "sized_local", 't'}, {100, 0, "global_without_size", 'T'},
		{200, 8, "a_local", 't'},     {200, 8, "b_weak", 'W'},
		{200, 8, "c_global", 'T'},    {300, 8, "__a", 'T'},
		{300, 8, "b", 'T'},	      {300, 8, "c", 'T'},
		{300, 64, "longer", 't'},
	};
	struct vmop_symbol turned[9];
	for (size_t i = 0; i < 9; i++)
		turned[i] = symbols[8 - i];
	const struct vmop_symbol *const orders[] = {symbols, turned};
	for (size_t order = 0; order < 2; order++) {
		struct vmop_symtab *symtab = adopt(orders[order], 9);
		assert_string_equal(name_at(symtab, 100), "sized_local");
		assert_string_equal(name_at(symtab, 150), "global_without_size");
		assert_string_equal(name_at(symtab, 207), "c_global");
		assert_string_equal(name_at(symtab, 208), "-");
		assert_string_equal(name_at(symtab, 300), "b");
		assert_string_equal(name_at(symtab, 308), "longer");
		size_t n;
		const struct vmop_symbol *all = vmop_symtab_symbols(symtab, &n);
		assert_int_equal(n, 9);
		assert_string_equal(all[2].name, "c_global");
		assert_string_equal(all[3].name, "b_weak");
		assert_string_equal(all[4].name, "a_local");
		assert_string_equal(all[5].name, "b");
		assert_string_equal(all[6].name, "c");
		assert_string_equal(all[7].name, "__a");
		vmop_symtab_destroy(symtab);
	}
}

/* The reference for find: check all symbols. n is small. */
static bool holds(const struct vmop_symbol *symbols, size_t n, uint64_t offset)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t end = symbols[i].offset + symbols[i].len_bytes;
		if (symbols[i].offset <= offset && offset < end)
			return true;
	}
	return false;
}

/*
 * A run is a range, or part of a range, in which every offset gives the same symbol and the same
 * run.
 */
static void check_runs(const struct vmop_symtab *symtab, uint64_t last)
{
	for (uint64_t offset = 0; offset <= last; offset++) {
		struct vmop_symtab_run run = vmop_symtab_find_run(symtab, offset);
		assert_in_range(offset, run.start, run.end - 1);
		for (uint64_t other = 0; other <= last; other++) {
			struct vmop_symtab_run its = vmop_symtab_find_run(symtab, other);
			bool is_inside = other >= run.start && other < run.end;
			assert_int_equal(its.start == run.start && its.end == run.end, is_inside);
			assert_true(!is_inside || its.symbol == run.symbol);
		}
	}
	struct vmop_symtab_run run = vmop_symtab_find_run(symtab, UINT64_MAX);
	assert_null(run.symbol);
	assert_int_equal(run.end, UINT64_MAX);
}

static void any_table_is_answered_as_by_looking_at_all(void **state)
{
	(void)state;
	unsigned seed = 1;
	for (int round = 0; round < 2000; round++) {
		struct vmop_symbol symbols[12];
		size_t n = 1 + (size_t)rand_r(&seed) % 12;
		for (size_t i = 0; i < n; i++)
			symbols[i] = (struct vmop_symbol){
				.offset = (uint64_t)rand_r(&seed) % 40,
				.len_bytes = 1 + (uint64_t)rand_r(&seed) % 20,
				.name = "x",
				.type = "tTW"[rand_r(&seed) % 3],
			};
		struct vmop_symtab *symtab = adopt(symbols, n);
		for (uint64_t offset = 0; offset < 64; offset++) {
			const struct vmop_symbol *found = vmop_symtab_find(symtab, offset);
			assert_int_equal(found != NULL, holds(symbols, n, offset));
			if (found)
				assert_true(found->offset <= offset &&
					    offset - found->offset < found->len_bytes);
		}
		if (round < 100)
			check_runs(symtab, 63);
		vmop_symtab_destroy(symtab);
	}
}

static void a_symbol_without_name_is_refused(void **state)
{
	(void)state;
	struct vmop_symbol *symbols = calloc(1, sizeof(*symbols));
	struct vmop_symtab *symtab;
	struct vmop_error *err = vmop_symtab_adopt(symbols, 1, &symtab);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_CORRUPT);
	vmop_error_destroy(err);
}

static const struct vmop_symbol *by_name(const struct vmop_symtab *symtab, const char *name)
{
	size_t n;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(symbols[i].name, name) == 0)
			return &symbols[i];
	}
	return NULL;
}

static struct vmop_symtab *read_target(unsigned flags)
{
	int fd = open(TARGET, O_RDONLY);
	assert_true(fd >= 0);
	struct vmop_symtab *symtab;
	assert_null(vmop_symtab_read_elf(fd, TARGET, flags, &symtab));
	close(fd);
	return symtab;
}

static void each_kind_of_symbol_of_a_program_is_seen(void **state)
{
	(void)state;
	struct vmop_symtab *symtab = read_target(0);
	static const struct {
		const char *name;
		char type;
	} wanted[] = {
		{"main", 'T'},
		{"target_global", 'T'},
		{"target_alias", 'T'},
		{"target_local", 't'},
		{"target_weak", 'W'},
		{"target_weak_alias", 'W'},
		{"target_ifunc", 'i'},
		{"target_asm", 'T'},
		{"target_sized", 'T'},
		{"_start", 'T'},
		{"_RNvCs1234_7mycrate3foo", 'T'},
	};
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const struct vmop_symbol *symbol = by_name(symtab, wanted[i].name);
		assert_non_null(symbol);
		assert_int_equal(symbol->type, wanted[i].type);
		assert_true(symbol->len_bytes > 0);
	}
	assert_null(by_name(symtab, "target_data"));
	assert_null(by_name(symtab, "target_label"));
	assert_null(by_name(symtab, "$x.1"));
	/* A function without a size ends where the next one begins. */
	const struct vmop_symbol *sized = by_name(symtab, "target_sized");
	assert_string_equal(name_at(symtab, sized->offset - 1), "target_asm");
	assert_string_equal(name_at(symtab, by_name(symtab, "target_global")->offset),
			    "target_alias");
	vmop_symtab_destroy(symtab);
}

/* The bytes at the function's offset in the file must be its known code. */
static void offsets_are_those_of_the_file(void **state)
{
	(void)state;
	struct vmop_symtab *symtab = read_target(0);
	const struct vmop_symbol *symbol = by_name(symtab, "target_sized");
	assert_non_null(symbol);
	unsigned char code[8];
	int fd = open(TARGET, O_RDONLY);
	assert_int_equal(pread(fd, code, sizeof(code), (off_t)symbol->offset), sizeof(code));
	close(fd);
	/* nop is 90 on x86, 1f 20 03 d5 on arm64. */
	assert_true(code[0] == 0x90 || code[0] == 0x1f);
	for (size_t i = 4; i < 8; i++)
		assert_int_equal(code[i], code[i - 4]);
	vmop_symtab_destroy(symtab);
}

static const char *const targets[] = {TARGET, TARGET "-fixed", TARGET "-static"};

static struct vmop_symtab *read_addresses(const char *path)
{
	int fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	struct vmop_symtab *symtab;
	assert_null(vmop_symtab_read_elf(fd, path, VMOP_SYMTAB_ADDRESSES, &symtab));
	close(fd);
	return symtab;
}

static bool has_symbol(const struct vmop_symtab *symtab, uint64_t offset, const char *name,
		       char type)
{
	size_t n;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	for (size_t i = 0; i < n; i++) {
		if (symbols[i].offset == offset && (!type || symbols[i].type == type) &&
		    strcmp(symbols[i].name, name) == 0)
			return true;
	}
	return false;
}

/*
 * Return true for symbols that nm(1) lists as code and that are not functions: data, inner labels,
 * a section's end.
 */
static bool is_no_function(const char *name)
{
	static const char *const others[] = {"target_label", "data_start", "_etext",
					     "etext",	     "__etext",	   "_nl_current_used"};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (strcmp(name, others[i]) == 0)
			return true;
	}
	return name[0] == '$';
}

/* nm(1) is the reference: all its functions, at the same addresses, and no others. */
static void compare_with_nm(const char *path)
{
	char command[512], line[512], name[400], type;
	uint64_t address;
	size_t known = 0, n;
	snprintf(command, sizeof(command), "nm -f posix '%s' | sort -u", path);
	FILE *nm = popen(command, "r");
	assert_non_null(nm);
	struct vmop_symtab *symtab = read_addresses(path);
	while (fgets(line, sizeof(line), nm)) {
		if (sscanf(line, "%399s %c %" SCNx64, name, &type, &address) != 3 ||
		    !strchr("tTwWi", type) || is_no_function(name))
			continue;
		name[strcspn(name, "@")] = '\0';
		known++;
		if (!has_symbol(symtab, address, name, type))
			fail_msg("%s: %s %c at %" PRIx64 " is missing", path, name, type, address);
	}
	assert_int_equal(pclose(nm), 0);
	vmop_symtab_symbols(symtab, &n);
	assert_int_equal(n, known);
	vmop_symtab_destroy(symtab);
}

static void functions_are_those_of_nm(void **state)
{
	(void)state;
	if (system("command -v nm >/dev/null") != 0)
		skip();
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		compare_with_nm(targets[i]);
}

/*
 * Convert an address: this distinguishes addresses from offsets in a program at a fixed address and
 * in a PIE.
 */
static uint64_t offset_of(const char *path, uint64_t address)
{
	char command[512], line[512];
	uint64_t offset, at, size, found = UINT64_MAX;
	snprintf(command, sizeof(command), "readelf -lW '%s' 2>/dev/null", path);
	FILE *readelf = popen(command, "r");
	assert_non_null(readelf);
	while (fgets(line, sizeof(line), readelf)) {
		if (sscanf(line, " LOAD %" SCNx64 " %" SCNx64 " %*s %" SCNx64, &offset, &at,
			   &size) == 3 &&
		    address >= at && address - at < size)
			found = address - at + offset;
	}
	pclose(readelf);
	return found;
}

/* objdump(1) is the reference for the names of PLT stubs. */
static void stubs_are_those_of_objdump(void **state)
{
	(void)state;
	if (system("command -v objdump >/dev/null && command -v readelf >/dev/null") != 0)
		skip();
	size_t stubs = 0;
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		char command[512], line[512], name[400];
		uint64_t address;
		snprintf(command, sizeof(command), "objdump -d '%s' | grep '@plt>:$' | tr -d '<>:'",
			 targets[i]);
		FILE *objdump = popen(command, "r");
		assert_non_null(objdump);
		int fd = open(targets[i], O_RDONLY);
		struct vmop_symtab *symtab;
		assert_null(vmop_symtab_read_elf(fd, targets[i], 0, &symtab));
		close(fd);
		while (fgets(line, sizeof(line), objdump)) {
			assert_int_equal(sscanf(line, "%" SCNx64 " %399s", &address, name), 2);
			uint64_t offset = offset_of(targets[i], address);
			if (!has_symbol(symtab, offset, name, 't'))
				fail_msg("%s: %s at %" PRIx64 " is missing", targets[i], name,
					 address);
			assert_string_equal(name_at(symtab, offset + 1), name);
			stubs++;
		}
		pclose(objdump);
		vmop_symtab_destroy(symtab);
	}
	assert_true(stubs >= 8);
}

/* Output of clang --target=aarch64-linux-gnu and lld; "bti" with -z force-bti. */
static void stubs_of_arm64_have_names(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		uint64_t puts_offset, strlen_offset;
	} files[] = {
		{VMOP_TEST_SRCDIR "/fuzz/corpus/elf/arm64", 0x420, 0x430},
		{VMOP_TEST_SRCDIR "/fuzz/corpus/elf/arm64-bti", 0x4b0, 0x4c8},
	};
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int fd = open(files[i].path, O_RDONLY);
		assert_true(fd >= 0);
		struct vmop_symtab *symtab;
		assert_null(vmop_symtab_read_elf(fd, files[i].path, 0, &symtab));
		close(fd);
		assert_true(has_symbol(symtab, files[i].puts_offset, "puts@plt", 't'));
		assert_true(has_symbol(symtab, files[i].strlen_offset, "strlen@plt", 't'));
		assert_string_equal(name_at(symtab, files[i].puts_offset - 1), "[plt]");
		assert_string_equal(name_at(symtab, files[i].strlen_offset - 1), "puts@plt");
		assert_string_equal(name_at(symtab, files[i].strlen_offset + 15), "strlen@plt");
		vmop_symtab_destroy(symtab);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_table_holds_nothing),
		cmocka_unit_test(a_symbol_reaches_over_its_length),
		cmocka_unit_test(nested_and_overlapping_symbols_are_found),
		cmocka_unit_test(the_best_alias_is_shown),
		cmocka_unit_test(any_table_is_answered_as_by_looking_at_all),
		cmocka_unit_test(a_symbol_without_name_is_refused),
		cmocka_unit_test(each_kind_of_symbol_of_a_program_is_seen),
		cmocka_unit_test(offsets_are_those_of_the_file),
		cmocka_unit_test(functions_are_those_of_nm),
		cmocka_unit_test(stubs_are_those_of_objdump),
		cmocka_unit_test(stubs_of_arm64_have_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
