// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The arm64 walk, on tables written after the figures of the Arm ARM (DDI 0487, D8.3.1, VMSAv8-64
 * descriptor formats). Each granule and address size that Linux supports is tested. RAM lies at
 * 2^51, so that every bit of a 52-bit output address is used where such addresses exist.
 */
#include "libguest/memory/page-table-arm64.h"

#include "tests/unit/libguest/walk.h"

#define RAM_BYTES (16u << 20)
#define HIGH_RAM (UINT64_C(0xd) << 48) /* bits 51, 50 and 48 */
#define LOW_RAM (UINT64_C(1) << 30)
/* AF, inner shareable, read-only, nG; UXN, PXN; the contiguous hint */
#define ATTRIBUTES (UINT64_C(1) << 10 | UINT64_C(1) << 7 | UINT64_C(1) << 11 | UINT64_C(7) << 52)
#define SHAREABLE (UINT64_C(3) << 8)

/* The first bit of each level's index, from the tables of D8.2, first level first. */
static const struct geometry {
	unsigned int page_shift, va_bits, levels, shift[5];
	unsigned int blocks; /* levels that can be blocks, as bits from the last level */
	enum { PLAIN, LPA, LPA2 } format;
} geometries[] = {
	{12, 39, 3, {30, 21, 12}, 0x6, PLAIN},	      {12, 48, 4, {39, 30, 21, 12}, 0x6, PLAIN},
	{12, 52, 5, {48, 39, 30, 21, 12}, 0xe, LPA2}, {14, 36, 2, {25, 14}, 0x2, PLAIN},
	{14, 47, 3, {36, 25, 14}, 0x2, PLAIN},	      {14, 48, 4, {47, 36, 25, 14}, 0x2, PLAIN},
	{14, 52, 4, {47, 36, 25, 14}, 0x6, LPA2},     {16, 42, 2, {29, 16}, 0x2, LPA},
	{16, 48, 3, {42, 29, 16}, 0x6, LPA},	      {16, 52, 3, {42, 29, 16}, 0x6, LPA},
};
#define GEOMETRIES (sizeof(geometries) / sizeof(geometries[0]))

static uint64_t ram_start, next_table;

static int set_up(void **state)
{
	(void)state;
	make_ram(RAM_BYTES);
	return 0;
}

static uint64_t encode(const struct geometry *geometry, uint64_t gpa)
{
	switch (geometry->format) {
	case LPA: /* figure D8-15: bits 15 to 12 are 51 to 48 */
		return (gpa & UINT64_C(0xffffffff0000)) | (gpa >> 48) << 12;
	case LPA2: /* figure D8-13, D8-14: bits 9 and 8 are 51 and 50 */
		return (gpa & UINT64_C(0x3ffffffffffff)) | (gpa >> 50) << 8;
	default:
		return gpa | SHAREABLE; /* these are address bits under LPA2 */
	}
}

static uint64_t *entry(uint64_t table, uint64_t index)
{
	return (uint64_t *)(void *)(ram + (table - ram_start) + 8 * index);
}

static uint64_t new_table(const struct geometry *geometry)
{
	uint64_t table = next_table;
	next_table += UINT64_C(1) << geometry->page_shift;
	assert_true(next_table - ram_start <= RAM_BYTES / 2);
	return table;
}

/* Map address to gpa through the given number of levels, by a descriptor that ends in `how`. */
static void map(const struct geometry *geometry, uint64_t root, uint64_t address, uint64_t gpa,
		unsigned int levels_below, uint64_t how)
{
	uint64_t table = root, mask = (UINT64_C(1) << geometry->va_bits) - 1;
	for (unsigned int i = 0;; i++) {
		uint64_t above = i ? (UINT64_C(1) << geometry->shift[i - 1]) - 1 : mask;
		uint64_t *at = entry(table, (address & above) >> geometry->shift[i]);
		if (i == geometry->levels - 1 - levels_below) {
			*at = encode(geometry, gpa) | ATTRIBUTES | how;
			return;
		}
		if (!(*at & 1))
			*at = encode(geometry, new_table(geometry)) | 3;
		table = geometry->format == LPA
				? (*at & UINT64_C(0xffffffff0000)) | (*at & 0xf000) << 36
			: geometry->format == LPA2
				? (*at & UINT64_C(0x3fffffffff000)) | (*at & 0x300) << 42
				: *at & UINT64_C(0xfffffffff000);
		table &= ~((UINT64_C(1) << geometry->page_shift) - 1);
	}
}

/* Make empty tables, and RAM at the highest address that the format allows. */
static uint64_t start(const struct geometry *geometry)
{
	ram_start = geometry->format == PLAIN ? LOW_RAM : HIGH_RAM;
	memset(ram, 0, RAM_BYTES);
	next_table = ram_start;
	assert_true(vmop_guest_memory_place(memory, 0, ram_start));
	return new_table(geometry);
}

static void use(const struct geometry *geometry, uint64_t root, bool is_upper_half)
{
	struct vmop_paging paging;
	assert_true(vmop_arm64_paging(geometry->page_shift, geometry->va_bits, root, is_upper_half,
				      &paging));
	assert_int_equal(paging.levels, geometry->levels);
	vmop_guest_space_init(&space, memory, &budget, paging);
}

static void expect_hole(uint64_t address)
{
	uint64_t found;
	assert_false(vmop_guest_space_translate(&space, address, &found, NULL));
}

/* Return the address at an offset from the start of a half. */
static uint64_t in_half(const struct geometry *geometry, bool is_upper_half, uint64_t offset)
{
	return is_upper_half ? offset - (UINT64_C(1) << geometry->va_bits) : offset;
}

static void pages_in_both_halves(void **state)
{
	(void)state;
	for (size_t i = 0; i < GEOMETRIES; i++) {
		const struct geometry *geometry = &geometries[i];
		uint64_t page = UINT64_C(1) << geometry->page_shift;
		/* an address with a nonzero index at each level, and the last page of the half */
		uint64_t some = (UINT64_C(1) << geometry->va_bits) / 3 * 2 / page * page;
		uint64_t last = (UINT64_C(1) << geometry->va_bits) - page;
		for (int upper = 0; upper < 2; upper++) {
			uint64_t root = start(geometry), target = ram_start + RAM_BYTES / 2;
			uint64_t address = in_half(geometry, upper, some);
			map(geometry, root, address, target, 0, 3);
			map(geometry, root, in_half(geometry, upper, last), target + page, 0, 3);
			map(geometry, root, address + page, target, 0, 1); /* reserved there */
			use(geometry, root, upper);
			expect_at(address + 0x123, target + 0x123, page - 0x123);
			expect_at(in_half(geometry, upper, last) + 8, target + page + 8, page - 8);
			expect_hole(address + page);
			expect_hole(address - page);
			/* the other half, and addresses between the halves */
			expect_hole(address ^ UINT64_C(0x00ff) << 48);
			expect_hole(address ^ UINT64_C(0xffff) << 48);
		}
	}
}

static void tags_and_authentication_codes(void **state)
{
	(void)state;
	for (size_t i = 0; i < GEOMETRIES; i++) {
		const struct geometry *geometry = &geometries[i];
		uint64_t page = UINT64_C(1) << geometry->page_shift;
		for (int upper = 0; upper < 2; upper++) {
			uint64_t root = start(geometry), target = ram_start + RAM_BYTES / 2;
			uint64_t address = in_half(geometry, upper, 5 * page);
			map(geometry, root, address, target, 0, 3);
			use(geometry, root, upper);
			/* the top byte is ignored ... */
			expect_at(address ^ UINT64_C(0xa5) << 56, target, page);
			assert_int_equal(
				vmop_guest_space_is_kernel(&space, address ^ UINT64_C(0xff) << 56),
				upper);
			/*
			 * ... the bits below it, which hold the codes of signed pointers, are not
			 */
			if (geometry->va_bits < 52)
				expect_hole(address ^ UINT64_C(1) << geometry->va_bits);
			expect_hole(address ^ UINT64_C(1) << 54);
		}
	}
}

static void blocks_where_they_may_be(void **state)
{
	(void)state;
	for (size_t i = 0; i < GEOMETRIES; i++) {
		const struct geometry *geometry = &geometries[i];
		for (unsigned int below = 1; below < geometry->levels; below++) {
			uint64_t bytes = UINT64_C(1)
					 << geometry->shift[geometry->levels - 1 - below];
			uint64_t root = start(geometry), offset = 0x45678;
			uint64_t address = in_half(geometry, true, 0),
				 gpa = ram_start / bytes * bytes;
			map(geometry, root, address, gpa, below, 1);
			use(geometry, root, true);
			if (geometry->blocks >> below & 1)
				expect_at(address + offset, gpa + offset, bytes - offset);
			else
				expect_hole(address + offset);
		}
	}
}

static void a_kernel_with_kpti_is_told_by_its_pages(void **state)
{
	struct vmop_arm64_leaf leaf;
	const struct geometry *geometry = &geometries[1];
	(void)state;
	uint64_t root = start(geometry), address = in_half(geometry, true, 0);
	map(geometry, root, address, ram_start, 0, 3);
	use(geometry, root, true);
	assert_true(vmop_arm64_walk(&space, address, &leaf));
	assert_true(leaf.descriptor & VMOP_ARM64_NOT_GLOBAL);
}

static void hostile_tables(void **state)
{
	uint64_t value;
	(void)state;
	for (size_t i = 0; i < GEOMETRIES; i++) {
		const struct geometry *geometry = &geometries[i];
		uint64_t root = start(geometry), page = UINT64_C(1) << geometry->page_shift;
		/* tables that contain themselves: the walk ends with its levels */
		for (uint64_t j = 0; j < page / 8; j++)
			*entry(root, j) = encode(geometry, root) | 3;
		use(geometry, root, false);
		expect_at(0x3008, root + (0x3008 & (page - 1)), page - (0x3008 & (page - 1)));
		assert_true(vmop_guest_space_read(&space, 0x3008, &value, sizeof(value)));
		/* entries that point outside RAM, and a root outside RAM */
		for (uint64_t j = 0; j < page / 8; j++)
			*entry(root, j) = UINT64_MAX;
		use(geometry, root, false);
		assert_false(vmop_guest_space_read(&space, 0x3008, &value, sizeof(value)));
		assert_int_equal(value, 0);
		use(geometry, UINT64_MAX, false);
		expect_hole(0);
	}
}

static void geometries_that_no_kernel_has(void **state)
{
	struct vmop_paging paging;
	(void)state;
	assert_false(vmop_arm64_paging(0, 48, 0, true, &paging));
	assert_false(vmop_arm64_paging(13, 48, 0, true, &paging));
	assert_false(vmop_arm64_paging(12, 35, 0, true, &paging));
	assert_false(vmop_arm64_paging(12, 53, 0, true, &paging));
	assert_false(vmop_arm64_paging(16, UINT32_MAX, 0, true, &paging));
	assert_true(vmop_arm64_paging(14, 47, 0x1000, true, &paging));
	assert_int_equal(vmop_paging_page_bytes(&paging), 16384);
	struct vmop_paging user = vmop_paging_of_user(&paging, 0x2000);
	assert_false(user.is_upper_half);
	assert_int_equal(user.root_gpa, 0x2000);
	assert_int_equal(user.va_bits, 47);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_in_both_halves),
		cmocka_unit_test(tags_and_authentication_codes),
		cmocka_unit_test(blocks_where_they_may_be),
		cmocka_unit_test(a_kernel_with_kpti_is_told_by_its_pages),
		cmocka_unit_test(hostile_tables),
		cmocka_unit_test(geometries_that_no_kernel_has),
	};
	return cmocka_run_group_tests(tests, set_up, free_ram);
}
