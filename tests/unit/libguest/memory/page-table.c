// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/memory/page-table.h"

#include "tests/unit/libguest/walk.h"

#define RAM_BYTES (4u << 20)
#define PRESENT 1u
#define LARGE 0x80u

static int set_up(void **state)
{
	(void)state;
	make_ram(RAM_BYTES);
	return 0;
}

static void entry(uint64_t table, unsigned int index, uint64_t value)
{
	memcpy(ram + table + 8 * index, &value, 8);
}

static void use(unsigned int levels, uint64_t root)
{
	vmop_guest_space_init(&space, memory, &budget,
			      (struct vmop_paging){.arch = VMOP_PAGING_X86_64,
						   .levels = levels,
						   .root_gpa = root});
}

static void expect_hole(uint64_t address, uint64_t left)
{
	uint64_t found, found_left;
	assert_false(vmop_guest_space_translate(&space, address, &found, &found_left));
	assert_int_equal(found_left, left);
}

static void every_page_size_with_four_levels(void **state)
{
	(void)state;
	entry(0x1000, 0, 0x2000 | PRESENT);
	entry(0x2000, 0, 0x3000 | PRESENT);
	entry(0x3000, 0, 0x4000 | PRESENT);
	entry(0x4000, 5, UINT64_C(0x8000000000007000) | PRESENT); /* not executable */
	entry(0x3000, 1, 0x200000 | PRESENT | LARGE);
	entry(0x2000, 1, 0 | PRESENT | LARGE);
	use(4, 0x1000 | 0xfff); /* PCID and flags as in CR3 */
	expect_at(0x5123, 0x7123, 4096 - 0x123);
	expect_at(0x212345, 0x212345, 0x200000 - 0x12345);
	expect_at(0x40000010, 0x10, 0x40000000 - 0x10);
	expect_hole(0x6000, 4096);
	expect_hole(0x400000, 0x200000);
	expect_hole(0x80000000, 0x40000000);
	expect_hole(UINT64_C(0x8000000000), UINT64_C(0x8000000000));
	expect_hole(UINT64_C(0x800000000000), 4096); /* not canonical */
}

static void five_levels(void **state)
{
	(void)state;
	entry(0x10000, 1, 0x1000 | PRESENT); /* through tables of the previous test */
	entry(0x1000, 0, 0x2000 | PRESENT);
	entry(0x2000, 1, 0 | PRESENT | LARGE);
	use(5, 0x10000);
	expect_at(UINT64_C(0x1000040000010), 0x10, 0x40000000 - 0x10);
	expect_hole(UINT64_C(0x0000040000010), UINT64_C(0x1000000000000) - 0x40000010);
	expect_hole(UINT64_C(0x0100000000000000), 4096); /* not canonical */
}

static void tables_that_map_themselves(void **state)
{
	uint64_t value;
	(void)state;
	for (unsigned int i = 0; i < 512; i++)
		entry(0x20000, i, 0x20000 | PRESENT);
	use(4, 0x20000);
	expect_at(UINT64_C(0x123456789abc), 0x20abc, 4096 - 0xabc);
	assert_true(vmop_guest_space_read(&space, 0x7ff0, &value, 8));
	/* marked large at every level, and pointing far away */
	for (unsigned int i = 0; i < 512; i++)
		entry(0x20000, i, UINT64_C(0x000ffffffffff000) | PRESENT | LARGE);
	use(4, 0x20000);
	assert_false(vmop_guest_space_read(&space, 0x1000, &value, 8));
	assert_true(vmop_guest_space_take_fault(&space));
	assert_false(space.fault);
	use(4, UINT64_C(0xffffffffff000)); /* a root outside RAM */
	assert_int_equal(vmop_guest_space_u64(&space, 0x1000), 0);
	assert_true(vmop_guest_space_take_fault(&space));
}

static void strings_and_the_edge_of_pages(void **state)
{
	char text[64];
	(void)state;
	memset(ram + 0x30000, 0, 0x4000);
	entry(0x30000, 0, 0x31000 | PRESENT);
	entry(0x31000, 0, 0x32000 | PRESENT);
	entry(0x32000, 0, 0x33000 | PRESENT);
	entry(0x33000, 0, 0x40000 | PRESENT);
	entry(0x33000, 1, 0x50000 | PRESENT);
	use(4, 0x30000);
	memcpy(ram + 0x40ffd, "abc", 3);
	memcpy(ram + 0x50000, "def\x1b\xff", 6);
	vmop_guest_space_string(&space, 0xffd, text, sizeof(text));
	assert_string_equal(text, "abcdef\x1b\xff");
	vmop_guest_space_string(&space, 0xffd, text, 5); /* cut */
	assert_string_equal(text, "abcd");
	memset(ram + 0x50000, 'x', 4096); /* no end, and nothing mapped after it */
	vmop_guest_space_string(&space, 0x1fe0, text, sizeof(text));
	assert_string_equal(text, "");
	assert_true(vmop_guest_space_take_fault(&space));
	uint8_t buf[8192] = {1};
	assert_false(vmop_guest_space_read(&space, 0x1000, buf, sizeof(buf)));
	assert_int_equal(buf[0], 0); /* no partial read */
	assert_false(vmop_guest_space_read(&space, UINT64_MAX - 3, buf,
					   8)); /* across the end of the address space */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_page_size_with_four_levels),
		cmocka_unit_test(five_levels),
		cmocka_unit_test(tables_that_map_themselves),
		cmocka_unit_test(strings_and_the_edge_of_pages),
	};
	return cmocka_run_group_tests(tests, set_up, free_ram);
}
