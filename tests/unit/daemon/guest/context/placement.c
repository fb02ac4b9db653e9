// SPDX-License-Identifier: GPL-2.0-or-later
/* The places of user samples with a context, row by row of the table in placement.h. */
#include "daemon/guest/context/placement.h"

#include <cmocka.h>
#include <string.h>

#define ADDRESS UINT64_C(0x7f0000002345)
#define FILE_OFFSET UINT64_C(0x3345)

static const struct vmop_guest_vma program = {
	.start = UINT64_C(0x7f0000001000),
	.end = UINT64_C(0x7f0000009000),
	.file_offset_bytes = 0x2000,
	.path = "/usr/bin/program",
	.vm_flags = 4,
	.build_id_len_bytes = 4,
	.build_id = {1, 2, 3, 4},
};

static char program_path[] = "/usr/bin/program", layer_path[] = "/var/lib/layer/program";
static struct vmop_image image = {.kind = VMOP_IMAGE_FILE, .name = program_path};
static struct vmop_guest_code_page page;

static struct vmop_guest_code_facts facts;

static int begin(void **state)
{
	(void)state;
	image.build_id = (struct vmop_build_id){.len_bytes = 0};
	page = (struct vmop_guest_code_page){
		.has_entry = true, .state = VMOP_GUEST_PAGE_FOUND, .image = &image};
	facts = (struct vmop_guest_code_facts){
		.parts = VMOP_GUEST_HAS_PAGE | VMOP_GUEST_HAS_INODE | VMOP_GUEST_HAS_GPA,
		.mapping = UINT64_C(0xffff888000001000),
		.address = ADDRESS,
		.file_offset_bytes = FILE_OFFSET,
		.page = &page,
	};
	return 0;
}

static void check(enum vmop_guest_place place, enum vmop_certainty certainty)
{
	struct vmop_guest_placement found = vmop_guest_place(&facts);
	assert_int_equal(found.place, place);
	assert_int_equal(found.certainty, certainty);
}

static void a_mapping_of_the_same_file_proves_the_page(void **state)
{
	(void)state;
	facts.vma = &program;
	check(VMOP_GUEST_PLACE_MAPPING, VMOP_CERTAIN_EXACT);
}

static void a_file_of_a_container_is_known_by_its_build_id(void **state)
{
	struct vmop_image other = {.kind = VMOP_IMAGE_FILE, .name = layer_path};
	(void)state;
	facts.vma = &program;
	page.image = &other;
	check(VMOP_GUEST_PLACE_FILE, VMOP_CERTAIN_LIKELY);
	other.build_id = (struct vmop_build_id){.len_bytes = 4, .bytes = {1, 2, 3, 4}};
	check(VMOP_GUEST_PLACE_MAPPING, VMOP_CERTAIN_EXACT);
	other.build_id.bytes[3] = 5;
	check(VMOP_GUEST_PLACE_FILE, VMOP_CERTAIN_LIKELY);
}

static void the_same_file_at_another_offset_is_no_proof(void **state)
{
	(void)state;
	facts.vma = &program;
	facts.file_offset_bytes += 0x1000;
	check(VMOP_GUEST_PLACE_FILE, VMOP_CERTAIN_LIKELY);
}

static void code_bytes_prove_a_file(void **state)
{
	(void)state;
	check(VMOP_GUEST_PLACE_FILE, VMOP_CERTAIN_LIKELY);
	page.is_verified = true;
	check(VMOP_GUEST_PLACE_FILE, VMOP_CERTAIN_EXACT);
}

static void a_file_that_is_gone_is_named_so(void **state)
{
	(void)state;
	page.state = VMOP_GUEST_PAGE_LOST;
	check(VMOP_GUEST_PLACE_LOST_FILE, VMOP_CERTAIN_AMBIGUOUS);
	page.state = VMOP_GUEST_PAGE_PENDING;
	check(VMOP_GUEST_PLACE_LOST_FILE, VMOP_CERTAIN_AMBIGUOUS);
	facts.page = NULL;
	check(VMOP_GUEST_PLACE_LOST_FILE, VMOP_CERTAIN_AMBIGUOUS);
	facts.vma = &program;
	check(VMOP_GUEST_PLACE_MAPPING, VMOP_CERTAIN_LIKELY);
}

static void anonymous_memory_is_generated_code(void **state)
{
	static const struct vmop_guest_vma heap = {
		.start = ADDRESS - 0x1000, .end = ADDRESS + 0x1000, .path = "//anon"};
	(void)state;
	facts.page = NULL;
	facts.mapping |= VMOP_GUEST_MAPPING_ANON;
	check(VMOP_GUEST_PLACE_GENERATED, VMOP_CERTAIN_EXACT);
	facts.vma = &heap;
	check(VMOP_GUEST_PLACE_GENERATED, VMOP_CERTAIN_EXACT);
	facts.vma = &program; /* a private copy of the page, or another mapping since */
	check(VMOP_GUEST_PLACE_MAPPING, VMOP_CERTAIN_LIKELY);
}

static void a_page_of_the_kernels_image_is_the_vdso(void **state)
{
	(void)state;
	facts.page = NULL;
	facts.mapping = 0;
	facts.is_in_kernel_image = true;
	check(VMOP_GUEST_PLACE_VDSO, VMOP_CERTAIN_EXACT);
	facts.parts = 0; /* without an address this proves nothing */
	check(VMOP_GUEST_PLACE_UNKNOWN, VMOP_CERTAIN_AMBIGUOUS);
}

static void without_a_page_the_mapping_counts(void **state)
{
	(void)state;
	facts.page = NULL;
	facts.parts = 0;
	facts.vma = &program;
	check(VMOP_GUEST_PLACE_MAPPING, VMOP_CERTAIN_EXACT);
	facts.parts = VMOP_GUEST_HAS_PAGE;
	facts.mapping = 0;
	check(VMOP_GUEST_PLACE_MAPPING, VMOP_CERTAIN_EXACT);
	facts.vma = NULL;
	check(VMOP_GUEST_PLACE_UNKNOWN, VMOP_CERTAIN_AMBIGUOUS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_mapping_of_the_same_file_proves_the_page, begin),
		cmocka_unit_test_setup(a_file_of_a_container_is_known_by_its_build_id, begin),
		cmocka_unit_test_setup(the_same_file_at_another_offset_is_no_proof, begin),
		cmocka_unit_test_setup(code_bytes_prove_a_file, begin),
		cmocka_unit_test_setup(a_file_that_is_gone_is_named_so, begin),
		cmocka_unit_test_setup(anonymous_memory_is_generated_code, begin),
		cmocka_unit_test_setup(a_page_of_the_kernels_image_is_the_vdso, begin),
		cmocka_unit_test_setup(without_a_page_the_mapping_counts, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
