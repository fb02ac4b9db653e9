// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory of a synthetic guest's process, of whose vDSO only some pages are in its page table.
 */
#include <cmocka.h>
#include <string.h>

#include "libguest/memory/memory.h"
#include "tests/unit/libguest/opened.h"

enum { PAGE = VMOP_GUEST_PAGE_BYTES, N_PAGES = 3, PRESENT = 7 };

#define TABLES_GPA UINT64_C(0xe00000) /* levels 3 to 1; the root is the synthetic guest's */
#define VDSO_GPA UINT64_C(0xd00000)
#define VDSO UINT64_C(0x7ffd12345000)
#define VDSO_END (VDSO + N_PAGES * PAGE)

static void put_entry(uint64_t table, uint64_t address, int level, uint64_t entry)
{
	uint64_t index = address >> (3 + 9 * level) & 511;
	memcpy(made.ram + table + 8 * index, &entry, sizeof(entry));
}

/* Map or unmap a page of the vDSO for the process. */
static void set_present(unsigned page, bool is_present)
{
	uint64_t address = VDSO + (uint64_t)page * PAGE, gpa = VDSO_GPA + (uint64_t)page * PAGE;
	uint64_t table = SYNTHETIC_USER_PGD_GPA;
	for (int level = 4; level > 1; level--) {
		uint64_t next = TABLES_GPA + (uint64_t)(4 - level) * PAGE;
		put_entry(table, address, level, next | PRESENT);
		table = next;
	}
	put_entry(table, address, 1, is_present ? gpa | PRESENT : 0);
}

static int setup(void **state)
{
	const struct synthetic_options options = {0};
	(void)state;
	open_found(&options);
	for (unsigned page = 0; page < N_PAGES; page++) {
		memset(made.ram + VDSO_GPA + page * PAGE, 'a' + (int)page, PAGE);
		set_present(page, false);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close_guest();
	return 0;
}

/* Check that the whole image is read, also from one page into the next. */
static void expect_image(void)
{
	char buf[N_PAGES * PAGE];
	assert_true(vmop_guest_read_vdso(guest, SYNTHETIC_USER_PGD_GPA, VDSO, VDSO_END, 0, buf,
					 sizeof(buf)));
	assert_memory_equal(buf, made.ram + VDSO_GPA, sizeof(buf));
	assert_true(vmop_guest_read_vdso(guest, SYNTHETIC_USER_PGD_GPA, VDSO, VDSO_END,
					 2 * PAGE - 2, buf, 4));
	assert_memory_equal(buf, "bbcc", 4);
}

static void one_page_leads_to_the_whole_vdso(void **state)
{
	char buf[4];
	(void)state;
	assert_false(
		vmop_guest_read_vdso(guest, SYNTHETIC_USER_PGD_GPA, VDSO, VDSO_END, 0, buf, 4));
	for (unsigned page = 0; page < N_PAGES; page++) {
		set_present(page, true);
		expect_image();
		set_present(page, false);
	}
	/* The ordinary reader has the process's own pages only. */
	set_present(1, true);
	assert_true(vmop_guest_read_user(guest, SYNTHETIC_USER_PGD_GPA, VDSO + PAGE, buf, 4));
	assert_memory_equal(buf, "bbbb", 4);
	assert_false(vmop_guest_read_user(guest, SYNTHETIC_USER_PGD_GPA, VDSO, buf, 4));
}

static void no_byte_outside_of_the_mapping_is_read(void **state)
{
	static const struct {
		uint64_t start, end, offset;
	} wrong[] = {
		{VDSO, VDSO_END, N_PAGES * PAGE - 3},
		{VDSO, VDSO_END, N_PAGES * PAGE + 1},
		{VDSO, VDSO_END, UINT64_MAX},
		{VDSO, VDSO_END, UINT64_MAX - 3},
		{VDSO_END, VDSO, 0},
		{VDSO, VDSO, 0},
		{VDSO, UINT64_MAX, 0},
		{SYNTHETIC_TEXT, SYNTHETIC_TEXT + PAGE, 0},
	};
	char buf[4];
	(void)state;
	for (unsigned page = 0; page < N_PAGES; page++)
		set_present(page, true);
	expect_image();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_false(vmop_guest_read_vdso(guest, SYNTHETIC_USER_PGD_GPA, wrong[i].start,
						  wrong[i].end, wrong[i].offset, buf, sizeof(buf)));
}

/* A page table may name any address, as that of the last page before the end of the guest's RAM. */
static void pages_beyond_the_memory_are_not_read(void **state)
{
	uint64_t last = SYNTHETIC_RAM_BYTES - PAGE;
	char buf[4];
	(void)state;
	put_entry(TABLES_GPA + 2 * PAGE, VDSO, 1, last | PRESENT);
	assert_true(vmop_guest_read_vdso(guest, SYNTHETIC_USER_PGD_GPA, VDSO, VDSO_END, 0, buf, 4));
	assert_false(
		vmop_guest_read_vdso(guest, SYNTHETIC_USER_PGD_GPA, VDSO, VDSO_END, PAGE, buf, 4));
	/* The image would begin before the guest's memory. */
	put_entry(TABLES_GPA + 2 * PAGE, VDSO, 1, 0);
	put_entry(TABLES_GPA + 2 * PAGE, VDSO + PAGE, 1, PRESENT);
	assert_false(
		vmop_guest_read_vdso(guest, SYNTHETIC_USER_PGD_GPA, VDSO, VDSO_END, 0, buf, 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_page_leads_to_the_whole_vdso, setup, teardown),
		cmocka_unit_test_setup_teardown(no_byte_outside_of_the_mapping_is_read, setup,
						teardown),
		cmocka_unit_test_setup_teardown(pages_beyond_the_memory_are_not_read, setup,
						teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
