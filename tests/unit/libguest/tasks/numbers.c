// SPDX-License-Identifier: GPL-2.0-or-later
/* The numbers for samples of a synthetic guest. */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/libguest/opened.h"

static struct vmop_guest_numbers numbers;

static void find(const struct synthetic_options *options)
{
	open_found(options);
	struct vmop_error *err = vmop_guest_sample_numbers(guest, &numbers);
	if (err)
		fail_msg("%s", err->message);
}

static uint32_t offset(enum vmop_layout_field field)
{
	return (uint32_t)made.layout.value[field];
}

static void offsets_and_addresses(void **state)
{
	(void)state;
	find(&(struct synthetic_options){.kallsyms = SYNTHETIC_ALL_RELATIVE});
	assert_int_equal(numbers.kernel_page_table_gpa, made.root_gpa);
	assert_int_equal(numbers.direct_map, UINT64_C(0xffff888000000000));
	assert_int_equal(numbers.direct_map_gpa, 0);
	assert_int_equal(numbers.direct_map_bytes, SYNTHETIC_RAM_BYTES);
	assert_int_equal(numbers.vmemmap, SYNTHETIC_VMEMMAP);
	assert_int_equal(numbers.per_cpu_offsets, made.per_cpu_offsets);
	assert_int_equal(numbers.current_in_per_cpu, made.current_task);
	assert_int_equal(numbers.n_cpus, 1);
	assert_int_equal(numbers.page_shift, 12);
	assert_int_equal(numbers.page_bytes, offset(VMOP_LAYOUT_PAGE_SIZE));
	assert_int_equal(numbers.page_mapping, offset(VMOP_LAYOUT_PAGE_MAPPING));
	assert_int_equal(numbers.page_index, offset(VMOP_LAYOUT_PAGE_INDEX));
	assert_int_equal(numbers.mapping_host, offset(VMOP_LAYOUT_MAPPING_HOST));
	assert_int_equal(numbers.inode_number, offset(VMOP_LAYOUT_INODE_NUMBER));
	assert_int_equal(numbers.inode_superblock, offset(VMOP_LAYOUT_INODE_SUPER));
	assert_int_equal(numbers.inode_generation, offset(VMOP_LAYOUT_INODE_GENERATION));
	assert_int_equal(numbers.task_pid, offset(VMOP_LAYOUT_TASK_PID));
	assert_int_equal(numbers.task_tgid, offset(VMOP_LAYOUT_TASK_TGID));
	assert_int_equal(numbers.task_group_leader, offset(VMOP_LAYOUT_TASK_LEADER));
	assert_int_equal(numbers.task_comm, offset(VMOP_LAYOUT_TASK_COMM));
	assert_int_equal(numbers.task_start_time, offset(VMOP_LAYOUT_TASK_START));
	assert_int_equal(numbers.task_stack, offset(VMOP_LAYOUT_TASK_STACK));
	assert_int_equal(numbers.task_mm, offset(VMOP_LAYOUT_TASK_MM));
	assert_int_equal(numbers.mm_pgd, offset(VMOP_LAYOUT_MM_PGD));
	assert_int_equal(numbers.stack_bytes, 16384);
	assert_int_equal(numbers.entry_regs_end, 0);
	assert_int_equal(numbers.generation, 0);
	assert_int_equal(numbers.kernel_window_bytes | numbers.user_window_bytes, 0);
	close_guest();
}

/* compound_head is an address, and compound_info a mask where huge pages share page structs. */
static void words_of_tail_pages(void **state)
{
	(void)state;
	find(&(struct synthetic_options){.kallsyms = SYNTHETIC_BEFORE_NAMES,
					 .vma_list = true,
					 .function = "hugetlb_vmemmap_optimize_folios"});
	assert_int_equal(numbers.page_compound_head, offset(VMOP_LAYOUT_PAGE_COMPOUND_HEAD));
	assert_int_equal(numbers.page_compound_is_mask, 0);
	close_guest();
	find(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX});
	assert_int_equal(numbers.page_compound_head, offset(VMOP_LAYOUT_PAGE_COMPOUND_INFO));
	assert_int_equal(numbers.page_compound_is_mask, 0);
	close_guest();
	find(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX,
					 .function = "hugetlb_vmemmap_optimize_folios"});
	assert_int_equal(numbers.page_compound_is_mask, 1);
	close_guest();
}

static void the_same_without_symbols(void **state)
{
	(void)state;
	find(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX,
					 .function = "asm_fred_entrypoint_user"});
	assert_int_equal(numbers.entry_regs_end, 16);
	struct vmop_guest_numbers before = numbers;
	vmop_guest_drop_symbols(guest);
	assert_null(vmop_guest_sample_numbers(guest, &numbers));
	assert_memory_equal(&before, &numbers, sizeof(before));
	close_guest();
}

static void stacks_of_kernels_with_kasan(void **state)
{
	(void)state;
	find(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX,
					 .function = "__asan_loadN"});
	assert_int_equal(numbers.stack_bytes, 32768);
	close_guest();
}

/* The map of all RAM of five levels lies elsewhere, and the made guest has none there. */
static void a_direct_map_that_is_not_there(void **state)
{
	(void)state;
	find(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX, .five_levels = true});
	assert_int_equal(numbers.direct_map, 0);
	assert_int_equal(numbers.direct_map_bytes, 0);
	assert_int_equal(numbers.vmemmap, SYNTHETIC_VMEMMAP); /* a variable has it */
	close_guest();
}

/* RAM of arm64 begins elsewhere: the struct page of gpa 0 lies before the array. */
static void arm64(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		find(&(struct synthetic_options){.arm64 = true,
						 .ram_start = i ? UINT64_C(2) << 30 : 0,
						 .kallsyms = SYNTHETIC_ALL_RELATIVE});
		uint64_t frame = made.ram_start >> 12;
		assert_int_equal(numbers.vmemmap + frame * numbers.page_bytes, SYNTHETIC_VMEMMAP);
		assert_int_equal(numbers.page_shift, 12);
		assert_int_equal(numbers.kernel_va_bits, 48);
		assert_int_equal(numbers.user_va_bits, 48);
		assert_int_equal(numbers.entry_regs_end, 336 - 272);
		assert_int_equal(numbers.stack_bytes, 16384);
		assert_int_equal(numbers.kernel_page_table_gpa, made.root_gpa + made.ram_start);
		close_guest();
	}
}

static void without_offsets(void **state)
{
	(void)state;
	open_found(&(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX, .no_btf = true});
	struct vmop_error *err = vmop_guest_sample_numbers(guest, &numbers);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_NOT_FOUND);
	vmop_error_destroy(err);
	close_guest();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_and_addresses),
		cmocka_unit_test(words_of_tail_pages),
		cmocka_unit_test(the_same_without_symbols),
		cmocka_unit_test(stacks_of_kernels_with_kasan),
		cmocka_unit_test(a_direct_map_that_is_not_there),
		cmocka_unit_test(arm64),
		cmocka_unit_test(without_offsets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
