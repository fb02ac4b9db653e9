// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libsym/jit/jitdump.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"

#define PID 42
#define CODE 64 /* bytes of each function, unless a test has its own */

struct header {
	uint32_t magic, version, total_size, elf_mach, pad1, pid;
	uint64_t timestamp, flags;
};

static const struct header good = {
	.magic = 0x4a695444, .version = 1, .total_size = 40, .elf_mach = 62, .pid = PID};

static int file = -1;
static struct vmop_jitdump *dump;
static uint64_t written; /* bytes in the file */

static void append(const void *bytes, size_t len)
{
	assert_int_equal(write(file, bytes, len), (ssize_t)len);
	written += len;
}

static void begin(const struct header *header)
{
	file = memfd_create("jitdump", MFD_CLOEXEC);
	assert_true(file >= 0);
	written = 0;
	append(header, sizeof(*header));
	assert_null(vmop_jitdump_create(&dump));
}

static int begin_good(void **state)
{
	(void)state;
	begin(&good);
	return 0;
}

static int end(void **state)
{
	(void)state;
	close(file);
	vmop_jitdump_destroy(dump);
	dump = NULL;
	return 0;
}

/* Put a load into record. Return its length. */
static size_t make_load(char *record, uint64_t time_ns, uint64_t address, uint64_t index,
			const char *name)
{
	const uint32_t words[] = {0, (uint32_t)(56 + strlen(name) + 1 + CODE)};
	const uint32_t pids[] = {PID, PID};
	const uint64_t fields[] = {address, address, CODE, index};
	memcpy(record, words, 8);
	memcpy(record + 8, &time_ns, 8);
	memcpy(record + 16, pids, 8);
	memcpy(record + 24, fields, 32);
	memcpy(record + 56, name, strlen(name) + 1);
	memset(record + 56 + strlen(name) + 1, 0xcc, CODE);
	return words[1];
}

/* Append a load. Return the position of its code. */
static uint64_t load(uint64_t time_ns, uint64_t address, uint64_t index, const char *name)
{
	char record[8192];
	append(record, make_load(record, time_ns, address, index, name));
	return written - CODE;
}

static void move(uint64_t time_ns, uint64_t from, uint64_t to, uint64_t index)
{
	const uint32_t words[] = {1, 64}, pids[] = {PID, PID};
	const uint64_t fields[] = {to, from, to, CODE, index};
	append(words, 8);
	append(&time_ns, 8);
	append(pids, 8);
	append(fields, 40);
}

/* Append a record of another type, with len_bytes behind its header. */
static void other(uint32_t id, size_t len_bytes)
{
	const uint32_t words[] = {id, (uint32_t)(16 + len_bytes)};
	const uint64_t time_ns = 1;
	_cleanup_free_ char *rest = calloc(1, len_bytes + 1);
	assert_non_null(rest);
	append(words, 8);
	append(&time_ns, 8);
	append(rest, len_bytes);
}

static struct vmop_error *advance(struct vmop_jitdump_query *queries, size_t n)
{
	const struct vmop_jitdump_input input = {.fd = file, .path = "dump", .pid = PID};
	return vmop_jitdump_advance(dump, &input, queries, n);
}

static void assert_fails(const char *reason)
{
	struct vmop_error *err = advance(NULL, 0);
	assert_non_null(err);
	assert_non_null(strstr(err->message, reason));
	vmop_error_destroy(err);
	assert_null(advance(NULL, 0)); /* once */
}

/* Return the code_offset at an address and time, or 0. */
static uint64_t ask(uint64_t time_ns, uint64_t address)
{
	struct vmop_jitdump_query query = {.time_ns = time_ns, .address = address};
	assert_null(advance(&query, 1));
	return query.is_found ? query.code_offset : 0;
}

static void functions_are_found_by_address(void **state)
{
	(void)state;
	uint64_t a = load(10, 0x1000, 1, "a"), b = load(20, 0x2000, 2, "b");
	assert_int_equal(ask(30, 0x1000), a);
	assert_int_equal(ask(30, 0x1000 + CODE - 1), a + CODE - 1);
	assert_int_equal(ask(30, 0x1000 + CODE), 0);
	assert_int_equal(ask(30, 0x2004), b + 4);
	assert_int_equal(ask(30, 0xfff), 0);
}

static void a_sample_has_the_function_of_its_time(void **state)
{
	(void)state;
	uint64_t a = load(10, 0x1000, 1, "a"), b = load(20, 0x1000, 2, "b");
	uint64_t c = load(30, 0x1000, 3, "c");
	struct vmop_jitdump_query queries[] = {
		{.time_ns = 9, .address = 0x1000},  {.time_ns = 10, .address = 0x1000},
		{.time_ns = 19, .address = 0x1010}, {.time_ns = 20, .address = 0x1010},
		{.time_ns = 29, .address = 0x1000}, {.time_ns = 31, .address = 0x1000},
	};
	assert_null(advance(queries, 6));
	assert_false(queries[0].is_found);
	assert_int_equal(queries[1].code_offset, a);
	assert_int_equal(queries[2].code_offset, a + 0x10);
	assert_int_equal(queries[3].code_offset, b + 0x10);
	assert_int_equal(queries[4].code_offset, b);
	assert_int_equal(queries[5].code_offset, c);
}

static void records_may_be_out_of_order(void **state)
{
	(void)state;
	uint64_t b = load(20, 0x1000, 2, "b"), a = load(10, 0x1000, 1, "a");
	assert_int_equal(ask(15, 0x1000), a);
	assert_int_equal(ask(25, 0x1000), b);
}

static void later_records_wait_for_later_samples(void **state)
{
	(void)state;
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC) - 1000;
	uint64_t a = load(now_ns - 500, 0x1000, 1, "a"), b = load(now_ns, 0x1000, 2, "b");
	assert_int_equal(ask(now_ns - 300, 0x1000), a);
	assert_int_equal(ask(now_ns - 100, 0x1000), a);
	assert_int_equal(ask(now_ns, 0x1000), b);
}

static void a_move_keeps_the_function(void **state)
{
	(void)state;
	uint64_t a = load(10, 0x1000, 1, "a");
	move(20, 0x1000, 0x3000, 1);
	move(30, 0x3000, 0x5000, 9); /* of another function */
	move(30, 0x7000, 0x8000, 1); /* of an unknown one */
	assert_int_equal(ask(15, 0x1001), a + 1);
	assert_int_equal(ask(25, 0x1001), 0);
	assert_int_equal(ask(25, 0x3001), a + 1);
	assert_int_equal(ask(35, 0x5000), 0);
	assert_int_equal(ask(35, 0x8000), 0);
}

static void new_code_ends_what_it_overlaps(void **state)
{
	(void)state;
	uint64_t a = load(10, 0x1000, 1, "a");
	load(10, 0x1050, 2, "b");
	uint64_t c = load(20, 0x1020, 3, "c");
	assert_int_equal(ask(30, 0x101f), a + 0x1f);
	assert_int_equal(ask(30, 0x1020), c);
	assert_int_equal(ask(30, 0x105f), c + 0x3f);
	assert_int_equal(ask(30, 0x1060), 0); /* the rest of b was overwritten */
}

static void a_record_is_read_when_it_is_complete(void **state)
{
	char record[256];
	(void)state;
	size_t len = make_load(record, 10, 0x1000, 1, "a");
	for (size_t i = 0; i < len; i++) {
		append(record + i, 1);
		assert_int_equal(ask(20, 0x1000), i + 1 < len ? 0 : written - CODE);
	}
	uint64_t b = load(20, 0x2000, 2, "b");
	assert_int_equal(ask(30, 0x2000), b);
}

static void other_records_are_skipped(void **state)
{
	(void)state;
	other(2, 24);
	other(4, 200000);
	other(3, 0);
	other(77, 5);
	other(0, 3);	       /* a load that is too short */
	load(10, 0, 1, "low"); /* at address 0 */
	load(10, UINT64_MAX - 10, 1, "wraps");
	load(10, 0x2000, 1, ""); /* without a name */
	uint64_t a = load(10, 0x1000, 1, "a");
	assert_int_equal(ask(20, 0x1000), a);
	assert_int_equal(ask(20, UINT64_MAX - 1), 0);
	assert_int_equal(ask(20, 0x2000), 0);
}

static const char *name_at(const struct vmop_symtab *symtab, uint64_t offset)
{
	const struct vmop_symbol *symbol = vmop_symtab_find(symtab, offset);
	return symbol ? symbol->name : "-";
}

static void the_names_are_those_that_answered(void **state)
{
	struct vmop_symtab *symtab;
	size_t n;
	(void)state;
	uint64_t a = load(10, 0x1000, 1, "a"), b = load(20, 0x1000, 2, "void b(int)");
	load(20, 0x2000, 3, "c");
	ask(15, 0x1000);
	ask(25, 0x1001);
	ask(25, 0x1002);
	assert_null(vmop_jitdump_answered(dump, &symtab));
	vmop_symtab_symbols(symtab, &n);
	assert_int_equal(n, 2);
	assert_string_equal(name_at(symtab, a), "a");
	assert_string_equal(name_at(symtab, a + CODE - 1), "a");
	assert_string_equal(name_at(symtab, a + CODE), "-");
	assert_string_equal(name_at(symtab, b + 1), "void b(int)");
	vmop_symtab_destroy(symtab);
}

static void an_address_has_the_first_function_since_the_first_sample(void **state)
{
	struct vmop_symtab *symtab;
	(void)state;
	load(10, 0x1000, 1, "before");
	load(20, 0x1000, 2, "at_first");
	ask(25, 0x9000);
	load(30, 0x1000, 3, "later");
	load(30, 0x2000, 4, "new");
	load(40, 0x2020, 5, "too_late");
	load(40, 0x1fe0, 6, "up_to_it");
	ask(50, 0x9000);
	assert_null(vmop_jitdump_by_address(dump, &symtab));
	assert_string_equal(name_at(symtab, 0x1000), "at_first");
	assert_string_equal(name_at(symtab, 0x2030), "new");
	assert_string_equal(name_at(symtab, 0x1fff), "up_to_it");
	assert_string_equal(name_at(symtab, 0x2000), "new");
	assert_string_equal(name_at(symtab, 0x2050), "-");
	vmop_symtab_destroy(symtab);
}

static void records_that_wait_name_addresses(void **state)
{
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC) - 1000;
	struct vmop_symtab *symtab;
	(void)state;
	ask(now_ns, 0x1000);
	load(now_ns + 1, 0x1000, 1, "first");
	load(now_ns + 2, 0x1000, 2, "second");
	assert_null(advance(NULL, 0));
	assert_null(vmop_jitdump_by_address(dump, &symtab));
	assert_string_equal(name_at(symtab, 0x1000), "first");
	vmop_symtab_destroy(symtab);
}

static void a_child_has_its_parents_code_up_to_the_fork(void **state)
{
	const struct vmop_jitdump_input input = {
		.fd = file, .path = "dump", .pid = PID + 1, .process_start_ns = 15};
	struct vmop_jitdump_query query = {.time_ns = 30, .address = 0x1000};
	(void)state;
	uint64_t a = load(10, 0x1000, 1, "a");
	load(20, 0x1000, 2, "of_the_parent");
	assert_null(vmop_jitdump_advance(dump, &input, &query, 1));
	assert_true(query.is_found);
	assert_int_equal(query.code_offset, a);
}

static void other_files_are_refused(void **state)
{
	static const struct {
		uint32_t magic, version, total_size, flags;
		const char *reason;
	} headers[] = {
		{0x4454694a, 1, 40, 0, "other byte order"},
		{0x464c457f, 1, 40, 0, "not a jitdump"},
		{0x4a695444, 3, 40, 0, "of version 3"},
		{0x4a695444, 1, 40, 1, "not of CLOCK_MONOTONIC"},
		{0x4a695444, 1, 39, 0, "a header of 39 bytes"},
		{0x4a695444, 1, UINT32_MAX, 0, "a header of 4294967295 bytes"},
	};
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		struct header header = good;
		header.magic = headers[i].magic;
		header.version = headers[i].version;
		header.total_size = headers[i].total_size;
		header.flags = headers[i].flags;
		begin(&header);
		load(10, 0x1000, 1, "a");
		assert_fails(headers[i].reason);
		end(state);
	}
}

static void times_of_another_clock_are_refused(void **state)
{
	(void)state;
	load(UINT64_MAX / 2, 0x1000, 1, "a");
	assert_fails("not of CLOCK_MONOTONIC");
}

static void a_malformed_record_ends_the_names(void **state)
{
	(void)state;
	const uint32_t words[] = {0, 15, 0, 0};
	uint64_t a = load(10, 0x1000, 1, "a");
	append(words, sizeof(words));
	load(10, 0x2000, 1, "b");
	assert_fails("malformed record at byte");
	assert_int_equal(ask(20, 0x1000), a);
	assert_int_equal(ask(20, 0x2000), 0);
}

static void a_file_that_shrinks_is_refused(void **state)
{
	(void)state;
	load(10, 0x1000, 1, "a");
	ask(20, 0x1000);
	assert_int_equal(ftruncate(file, 41), 0);
	assert_fails("became shorter");
}

/* A gigantic record is skipped if it is there, and waited for if it is not. */
static void a_giant_record_costs_nothing(void **state)
{
	(void)state;
	const uint32_t words[] = {2, UINT32_MAX};
	append(words, 8);
	assert_int_equal(ask(20, 0x1000), 0);
	written += UINT32_MAX - 8;
	assert_int_equal(lseek(file, (off_t)written, SEEK_SET), (off_t)written);
	uint64_t a = load(10, 0x1000, 1, "a");
	assert_int_equal(ask(20, 0x1000), a);
}

static void names_and_their_number_are_bounded(void **state)
{
	struct vmop_jitdump_facts facts;
	static char name[6000];
	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	uint64_t time_ns = vmop_clock_ns(CLOCK_MONOTONIC) - 2;
	for (uint64_t i = 0; i < 10000; i++)
		load(time_ns, 0x10000 + i * CODE, i, name);
	ask(time_ns + 1, 0x1000);
	vmop_jitdump_facts(dump, &facts);
	assert_true(facts.is_full);
	assert_true(facts.n_functions > 5000 && facts.n_functions < 10000);
	assert_true(facts.memory_bytes < 2 * VMOP_JITDUMP_MAX_BYTES);
	assert_int_not_equal(ask(time_ns + 1, 0x10000), 0);
	/* A function without room still takes the place of the one that was there. */
	load(time_ns, 0x10000, 0, "new");
	assert_int_equal(ask(time_ns + 1, 0x10000), 0);
}

static void replaced_code_gives_its_room_back(void **state)
{
	struct vmop_jitdump_facts facts;
	(void)state;
	for (uint64_t i = 0; i < VMOP_JITDUMP_MAX_FUNCTIONS + 1000; i++)
		load(i + 1, 0x1000 + i % 16 * CODE, i, "f");
	assert_int_equal(ask(VMOP_JITDUMP_MAX_FUNCTIONS + 2000, 0x1000 + 16 * CODE), 0);
	vmop_jitdump_facts(dump, &facts);
	assert_false(facts.is_full);
	assert_int_equal(facts.n_functions, 16);
	assert_int_equal(facts.n_answered, 0);
}

static void a_flood_of_records_is_read_in_steps(void **state)
{
	struct vmop_jitdump_facts facts;
	size_t n = 0;
	(void)state;
	static uint32_t flood[4 * 65536];
	for (size_t i = 0; i < 65536; i++)
		flood[4 * i] = 3, flood[4 * i + 1] = 16;
	for (size_t i = 0; i < 2 * VMOP_JITDUMP_STEP_RECORDS / 65536; i++)
		append(flood, sizeof(flood));
	uint64_t a = load(10, 0x1000, 1, "a");
	struct vmop_jitdump_query query = {.time_ns = 20, .address = 0x1000};
	do {
		n++;
		assert_null(advance(&query, 1));
		vmop_jitdump_facts(dump, &facts);
		assert_int_equal(query.is_found, !facts.is_behind);
	} while (facts.is_behind);
	assert_true(n > 1);
	assert_int_equal(query.code_offset, a);
}

#define test(name) cmocka_unit_test_setup_teardown(name, begin_good, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(functions_are_found_by_address),
		test(a_sample_has_the_function_of_its_time),
		test(records_may_be_out_of_order),
		test(later_records_wait_for_later_samples),
		test(a_move_keeps_the_function),
		test(new_code_ends_what_it_overlaps),
		test(a_record_is_read_when_it_is_complete),
		test(other_records_are_skipped),
		test(the_names_are_those_that_answered),
		test(an_address_has_the_first_function_since_the_first_sample),
		test(records_that_wait_name_addresses),
		test(a_child_has_its_parents_code_up_to_the_fork),
		cmocka_unit_test(other_files_are_refused),
		test(times_of_another_clock_are_refused),
		test(a_malformed_record_ends_the_names),
		test(a_file_that_shrinks_is_refused),
		test(a_giant_record_costs_nothing),
		test(names_and_their_number_are_bounded),
		test(replaced_code_gives_its_room_back),
		test(a_flood_of_records_is_read_in_steps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
