// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The BPF program's reader of guests on this machine's own KVM, over a guest of which everything is
 * known: registers, page tables, and what a kernel would have in its memory.
 */
#include <cmocka.h>
#include <linux/kvm.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "hv-interface/bpf/guest-maps.h"
#include "hv-interface/bpf/program.h"
#include "libutil/clock.h"
#include "libutil/log.h"

#ifdef __x86_64__

#include "tests/unit/hv-interface/bpf/guest-samples.h"

static void check_unknown(struct seen *seen, const struct vmop_guest_context *context)
{
	assert_int_equal(context->parts, USER_PARTS);
	assert_int_equal(context->gap, VMOP_GUEST_GAP_UNKNOWN_KERNEL);
	assert_int_equal(context->n_gap_parts, 2); /* the task and the page */
	assert_true(context->generation == 0);
	check_registers(seen, context);
	check_code(seen, context);
}

static void a_guest_of_an_unknown_kernel_has_registers_and_code(void **state)
{
	struct seen seen;
	(void)state;
	start(&seen, 4, KNOWN_USER);
	seen.check = check_unknown;
	go(&seen);
	sample(&seen, NULL);
	assert_int_equal(seen.states, 0); /* stacks were not requested */
}

static void known_with(int n_levels, uint32_t user_window_bytes, bool has_direct_map)
{
	struct seen seen;
	start(&seen, n_levels, KNOWN_USER);
	seen.check = check_known;
	seen.numbers.user_window_bytes = user_window_bytes;
	if (!has_direct_map)
		seen.numbers.direct_map = seen.numbers.direct_map_bytes = 0;
	put(&seen);
	go(&seen);
	sample(&seen, NULL);
	assert_true(user_window_bytes || !seen.states);
}

static void a_known_kernel_has_task_page_and_file(void **state)
{
	(void)state;
	known_with(4, 0, true);
}

static void a_task_may_be_its_own_leader(void **state)
{
	struct seen seen;
	(void)state;
	start(&seen, 4, KNOWN_USER);
	seen.check = check_known;
	known_guest_make_single_thread(&guest);
	put(&seen);
	go(&seen);
	sample(&seen, NULL);
}

/* A kernel may be built with its members in any order: then they are not copied at once. */
static void members_far_apart_are_read_one_by_one(void **state)
{
	struct seen seen;
	uint64_t start_time = TASK_START_TIME;
	uint32_t generation = FILE_GENERATION;
	(void)state;
	start(&seen, 4, KNOWN_USER);
	seen.check = check_known;
	uint64_t page =
		*known_guest_entry(&guest, guest.kernel_root, KNOWN_LEADER_PAGE - 4096) & ~0xfffull;
	uint64_t leader = KNOWN_LEADER_PAGE - 8 - seen.numbers.task_comm;
	seen.numbers.task_start_time = 0;
	memcpy(known_guest_at(&guest, page + leader % 4096), &start_time, sizeof(start_time));
	seen.numbers.inode_generation += 2048;
	memcpy(known_guest_at(&guest, guest.inode - DIRECT_MAP + seen.numbers.inode_generation),
	       &generation, sizeof(generation));
	put(&seen);
	go(&seen);
	sample(&seen, NULL);
}

static void change_mapping(struct seen *seen)
{
	static bool is_in_inode;
	is_in_inode = !is_in_inode;
	known_guest_set_mapping(seen->guest, is_in_inode);
	usleep(2000);
}

static void check_either_mapping(struct seen *seen, const struct vmop_guest_context *context)
{
	struct vmop_guest_context changed = *context;
	seen->elsewhere += context->mapping != seen->guest->mapping;
	changed.mapping = seen->guest->mapping;
	check_file(seen, &changed);
}

/* A guess of the inode by the last file's is checked. */
static void a_mapping_may_be_outside_of_its_inode(void **state)
{
	struct seen seen;
	(void)state;
	start(&seen, 4, KNOWN_USER);
	seen.check = check_either_mapping;
	put(&seen);
	go(&seen);
	for (int i = 0; i < 5; i++)
		sample(&seen, change_mapping);
	assert_in_range(seen.elsewhere, 1, UINT32_MAX);
}

static void the_kernels_tables_serve_without_a_direct_map(void **state)
{
	(void)state;
	known_with(4, 0, false);
}

static void the_users_stack_is_copied_over_its_pages(void **state)
{
	(void)state;
	known_with(4, 4096, true);
}

static void the_users_stack_ends_at_an_absent_page(void **state)
{
	(void)state;
	known_with(4, VMOP_GUEST_USER_WINDOW_MAX, true);
}

static void tables_of_five_levels_are_walked(void **state)
{
	(void)state;
	known_with(5, 4096, false);
}

/* The vCPU's code at level 0 is emulated on some machines: then only states come. */
static void check_kernel(struct seen *seen, const struct vmop_guest_context *context)
{
	uint32_t parts = (USER_PARTS & ~(uint32_t)VMOP_GUEST_IS_USER) | VMOP_GUEST_HAS_TASK |
			 VMOP_GUEST_HAS_USER_REGS;
	assert_int_equal(context->parts & ~(uint32_t)VMOP_GUEST_IS_EXITED, parts);
	check_registers(seen, context);
	check_code(seen, context);
	check_task(seen, context);
	assert_true(context->user_regs[16] == ENTRY_RIP_VALUE);
	assert_true(context->user_regs[7] == USER_SP);
	uint64_t regs = KERNEL_STACK + KERNEL_STACK_BYTES - ENTRY_REGS_END - (uint64_t)21 * 8;
	assert_true(context->user_regs[15] == regs); /* the first word */
	check_window(context, VMOP_GUEST_KERNEL_WINDOW, seen->guest->regs[7], 0x1000);
	check_window(context, VMOP_GUEST_TASK_WINDOW, 0, 0);
	check_window(context, VMOP_GUEST_USER_WINDOW, USER_SP, 0x3128);
}

static void kernel_code_has_the_stacks_and_the_users_registers(void **state)
{
	struct seen seen;
	(void)state;
	start(&seen, 4, KNOWN_KERNEL);
	seen.check = check_kernel;
	seen.numbers.kernel_window_bytes = VMOP_GUEST_KERNEL_WINDOW_MAX;
	seen.numbers.user_window_bytes = VMOP_GUEST_USER_WINDOW_MAX;
	put(&seen);
	go(&seen);
	sample(&seen, NULL);
}

static void set_word(uint64_t gpa, uint64_t word)
{
	memcpy(known_guest_at(&guest, gpa), &word, sizeof(word));
}

/* Make a page table that has the user's stack and no more. */
static uint64_t make_other_root(void)
{
	uint64_t root = known_guest_new_table(&guest);
	for (int i = 0; i < USER_STACK_PAGES; i++)
		known_guest_map(&guest, root, USER_STACK_END - (uint64_t)(i + 1) * 4096,
				known_guest_user_stack_gpa(i), 1);
	return root;
}

static uint64_t other_root;

/* The user's window is that of the task, whatever the vCPU's table is. */
static void check_switching(struct seen *seen, const struct vmop_guest_context *context)
{
	uint32_t parts = (USER_PARTS & ~(uint32_t)VMOP_GUEST_IS_USER) | VMOP_GUEST_HAS_TASK |
			 VMOP_GUEST_HAS_USER_REGS | VMOP_GUEST_IS_SWITCHING;
	assert_int_equal(context->parts & ~(uint32_t)VMOP_GUEST_IS_EXITED, parts);
	assert_int_equal(context->gap, VMOP_GUEST_GAP_NONE);
	assert_true(context->page_table == other_root);
	check_code(seen, context);
	check_task(seen, context);
	check_window(context, VMOP_GUEST_USER_WINDOW, USER_SP, 0x3128);
}

static void kernel_code_between_two_tasks_is_marked(void **state)
{
	struct seen seen;
	(void)state;
	start(&seen, 4, KNOWN_KERNEL);
	seen.check = check_switching;
	seen.numbers.user_window_bytes = VMOP_GUEST_USER_WINDOW_MAX;
	other_root = make_other_root();
	set_word(guest.mm_pgd_gpa, DIRECT_MAP + other_root);
	/* The vCPU's own table has nothing there: the task's is used. */
	*known_guest_entry(&guest, guest.root, USER_SP) = 0;
	put(&seen);
	go(&seen);
	sample(&seen, NULL);
}

/* Where a register has the base of a kernel's data, code without it is no kernel's. */
static void check_boot(struct seen *seen, const struct vmop_guest_context *context)
{
	assert_int_equal(context->parts & ~(uint32_t)VMOP_GUEST_IS_EXITED,
			 USER_PARTS & ~(uint32_t)VMOP_GUEST_IS_USER);
	assert_int_equal(context->gap, VMOP_GUEST_GAP_BOOT);
	check_registers(seen, context);
	check_code(seen, context);
}

static void code_after_a_reset_has_no_task(void **state)
{
	struct seen seen;
	struct kvm_sregs sregs;
	(void)state;
	if (access("/sys/module/kvm_amd", F_OK) != 0) {
		printf("skipped: not SVM, whose control block has the register\n");
		skip();
	}
	start(&seen, 4, KNOWN_KERNEL);
	assert_int_equal(ioctl(guest.vcpu, KVM_GET_SREGS, &sregs), 0);
	sregs.gs.base = 0;
	assert_int_equal(ioctl(guest.vcpu, KVM_SET_SREGS, &sregs), 0);
	seen.check = check_boot;
	put(&seen);
	go(&seen);
	sample(&seen, NULL);
}

/* A kernel thread runs with any page table. */
static void check_kernel_thread(struct seen *seen, const struct vmop_guest_context *context)
{
	assert_int_equal(context->parts & VMOP_GUEST_IS_SWITCHING, 0);
	assert_true(context->page_table == seen->guest->root);
	check_task(seen, context);
}

static void kernel_threads_have_any_page_table(void **state)
{
	struct seen seen;
	(void)state;
	start(&seen, 4, KNOWN_KERNEL);
	seen.check = check_kernel_thread;
	seen.numbers.kernel_window_bytes = 4096;
	set_word(guest.task_mm_gpa, 0);
	put(&seen);
	go(&seen);
	sample(&seen, NULL);
}

/* The task that was found is not the one that runs: all but the task is there. */
static void check_other_task(struct seen *seen, const struct vmop_guest_context *context)
{
	assert_int_equal(context->parts, USER_PARTS | VMOP_GUEST_HAS_PAGE | VMOP_GUEST_HAS_INODE);
	assert_int_equal(context->gap, VMOP_GUEST_GAP_OTHER_TASK);
	assert_int_equal(context->n_gap_parts, 1);
	check_registers(seen, context);
	check_code(seen, context);
	check_file(seen, context);
}

static void the_task_of_another_cpu_is_no_task(void **state)
{
	struct seen seen;
	(void)state;
	for (int has_mm = 0; has_mm < 2; has_mm++) {
		start(&seen, 4, KNOWN_USER);
		seen.check = check_other_task;
		if (has_mm)
			set_word(guest.mm_pgd_gpa, DIRECT_MAP + make_other_root());
		else
			set_word(guest.task_mm_gpa, 0);
		put(&seen);
		go(&seen);
		sample(&seen, NULL);
		clean(state);
	}
}

/* With page-table isolation, the two tables of a process are neighbours. */
static void the_users_half_of_a_pair_is_the_tasks(void **state)
{
	struct seen seen;
	(void)state;
	start(&seen, 4, KNOWN_USER);
	seen.check = check_known;
	set_word(guest.mm_pgd_gpa, DIRECT_MAP + (guest.root ^ 0x1000));
	put(&seen);
	go(&seen);
	sample(&seen, NULL);
}

/* Where the kernel's code has the user's stack pointer, the user's window is from there. */
static void check_entry(struct seen *seen, const struct vmop_guest_context *context)
{
	check_registers(seen, context);
	check_task(seen, context);
	check_window(context, VMOP_GUEST_KERNEL_WINDOW, 0, 0);
	assert_int_equal(context->window_bytes[VMOP_GUEST_TASK_WINDOW], 4096);
	check_window(context, VMOP_GUEST_USER_WINDOW, USER_SP, 2048);
}

static void the_entry_has_the_users_stack(void **state)
{
	struct seen seen;
	(void)state;
	start(&seen, 4, KNOWN_ENTRY);
	seen.check = check_entry;
	seen.numbers.kernel_window_bytes = 4096;
	seen.numbers.user_window_bytes = 2048;
	put(&seen);
	go(&seen);
	sample(&seen, NULL);
}

/* Without the two registers, the page table is the task's, and the first window its stack. */
static void check_withheld(struct seen *seen, const struct vmop_guest_context *context)
{
	bool is_user = context->parts & VMOP_GUEST_IS_USER;
	assert_int_equal(context->parts & VMOP_GUEST_HAS_SP, 0);
	assert_int_equal(context->gap, VMOP_GUEST_GAP_NONE);
	assert_true(context->regs[7] == 0);
	assert_true(context->page_table == guest.root);
	check_code(seen, context);
	check_task(seen, context);
	if (is_user)
		check_file(seen, context);
	check_window(context, VMOP_GUEST_KERNEL_WINDOW, 0, 0);
	check_window(context, VMOP_GUEST_USER_WINDOW, 0, 0);
}

static void check_withheld_in_kernel(struct seen *seen, const struct vmop_guest_context *context)
{
	assert_int_equal(context->parts & VMOP_GUEST_HAS_SP, 0);
	assert_true(context->page_table == guest.root);
	check_code(seen, context);
	check_task(seen, context);
	assert_true(context->user_regs[16] == ENTRY_RIP_VALUE);
	assert_int_equal(context->window_bytes[VMOP_GUEST_KERNEL_WINDOW], KERNEL_STACK_BYTES);
	assert_true(context->window_address[VMOP_GUEST_KERNEL_WINDOW] == KERNEL_STACK);
	assert_true(word_of_window(context, VMOP_GUEST_KERNEL_WINDOW, 8) == KERNEL_STACK + 8);
	check_window(context, VMOP_GUEST_TASK_WINDOW, IRQ_STACK_END - 4096, 4096);
	check_window(context, VMOP_GUEST_USER_WINDOW, USER_SP, 4096);
}

static void registers_that_vmx_has_not_are_replaced(void **state)
{
	struct vmop_bpf_request request = {.wants_guests = true, .withholds_registers = true};
	struct vmop_bpf_program *usual = program;
	struct seen seen;
	(void)state;
	assert_null(vmop_bpf_program_load(&request, &program));
	assert_non_null(program);
	maps = vmop_bpf_program_guest_maps(program);
	for (enum known_mode mode = KNOWN_USER; mode <= KNOWN_KERNEL; mode++) {
		start(&seen, 4, mode);
		seen.check = mode == KNOWN_USER ? check_withheld : check_withheld_in_kernel;
		seen.numbers.kernel_window_bytes = 4096;
		seen.numbers.user_window_bytes = 4096;
		/* The kernel's own code is in the kernel's table. */
		known_guest_map(&guest, guest.kernel_root, CODE_PAGE,
				guest.code_gpa & ~UINT64_C(4095), 1);
		put(&seen);
		go(&seen);
		sample(&seen, NULL);
		clean(state);
	}
	vmop_bpf_program_destroy(program);
	program = usual;
	maps = vmop_bpf_program_guest_maps(program);
}

static void kick(struct seen *seen)
{
	known_guest_kick(seen->guest);
	usleep(5000);
}

static void the_vmms_own_work_has_the_guests_state(void **state)
{
	struct seen seen;
	(void)state;
	start(&seen, 4, KNOWN_USER);
	seen.check = check_known;
	seen.numbers.user_window_bytes = 4096;
	guest.vmm_work = 2000000;
	put(&seen);
	go(&seen);
	for (int i = 0; i < 5; i++)
		sample(&seen, kick);
	printf("%llu samples of the VMM's work have a state\n",
	       (unsigned long long)seen.vmm_samples_after_state);
	assert_true(seen.vmm_samples_after_state > 0);
}

/* Tables that the guest made to harm: what the walk ends with. */
struct hostile {
	const char *name;
	uint64_t entry; /* in every place of a table, 0: that table's own address */
	enum vmop_guest_gap gap;
};

static const struct hostile *hostile_now;

static void check_hostile(struct seen *seen, const struct vmop_guest_context *context)
{
	assert_int_equal(context->parts & USER_PARTS, USER_PARTS);
	assert_int_equal(context->parts & VMOP_GUEST_HAS_TASK, 0);
	assert_int_equal(context->gap, hostile_now->gap);
	/* A table that maps itself is memory like any other: what it has is taken for a page. */
	if (hostile_now->entry)
		assert_int_equal(context->n_gap_parts, 2);
	check_registers(seen, context);
	check_code(seen, context);
}

static void hostile_tables_cost_parts_only(void **state)
{
	static const struct hostile all[] = {
		{"its own address", 0, VMOP_GUEST_GAP_NO_TASK},
		{"absent", 2, VMOP_GUEST_GAP_NOT_MAPPED},
		{"no RAM", UINT64_C(0x70000000000) | 7, VMOP_GUEST_GAP_NO_SLOT},
		{"the page behind the RAM", LOW_BYTES | 7, VMOP_GUEST_GAP_NO_SLOT},
		{"the page before the RAM", (HIGH_GPA - 4096) | 7, VMOP_GUEST_GAP_NO_SLOT},
		{"large pages without end", UINT64_C(0xffffffffff000) | 0x87,
		 VMOP_GUEST_GAP_NO_SLOT},
	};
	struct seen seen;
	(void)state;
	start(&seen, 4, KNOWN_USER);
	seen.check = check_hostile;
	uint64_t root = known_guest_new_table(&guest);
	seen.numbers.kernel_page_table_gpa = root;
	seen.numbers.direct_map_bytes = 0;
	go(&seen);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		hostile_now = &all[i];
		for (int entry = 0; entry < 512; entry++)
			((uint64_t *)known_guest_at(&guest, root))[entry] =
				all[i].entry ? all[i].entry : root | 7;
		put(&seen);
		sample(&seen, NULL);
	}
}

/* The user's stack goes on outside RAM: the copy ends there. */
static void check_end_of_ram(struct seen *seen, const struct vmop_guest_context *context)
{
	(void)seen;
	uint32_t there = 4096 - USER_SP % 4096;
	check_window(context, VMOP_GUEST_USER_WINDOW, USER_SP, there);
}

static void a_window_ends_with_the_memory(void **state)
{
	struct seen seen;
	(void)state;
	start(&seen, 4, KNOWN_USER);
	seen.check = check_end_of_ram;
	seen.numbers.user_window_bytes = VMOP_GUEST_USER_WINDOW_MAX;
	*known_guest_entry(&guest, guest.root, USER_SP + 4096) = LOW_BYTES | 7;
	put(&seen);
	go(&seen);
	sample(&seen, NULL);
}

/* A generator that needs no seed from outside: each run is the same. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Put other nonsense into the numbers for every look at the rings. */
static void put_nonsense(struct seen *seen)
{
	static uint64_t random = 88172645463325252u;
	struct vmop_guest_numbers numbers;
	known_guest_numbers(seen->guest, &numbers);
	for (int changes = 0; changes < 4; changes++) {
		size_t at = next_random(&random) % (sizeof(numbers) / 4) * 4;
		uint32_t word = (uint32_t)next_random(&random);
		memcpy((uint8_t *)&numbers + at, &word, sizeof(word));
	}
	numbers.kernel_window_bytes = (uint32_t)next_random(&random);
	numbers.user_window_bytes = (uint32_t)next_random(&random);
	seen->numbers = numbers;
	put(seen);
	usleep(3000);
}

static void nonsense(enum known_mode mode)
{
	struct seen seen;
	start(&seen, 4, mode);
	go(&seen);
	for (int i = 0; i < 5; i++) {
		sample(&seen, put_nonsense);
	}
}

static void nonsense_in_the_numbers_costs_parts_only(void **state)
{
	(void)state;
	nonsense(KNOWN_USER);
}

static void nonsense_is_harmless_in_kernel_code_too(void **state)
{
	(void)state;
	nonsense(KNOWN_KERNEL);
}

#endif

int main(void)
{
#ifdef __x86_64__
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_guest_of_an_unknown_kernel_has_registers_and_code,
					  clean),
		cmocka_unit_test_teardown(a_known_kernel_has_task_page_and_file, clean),
		cmocka_unit_test_teardown(a_task_may_be_its_own_leader, clean),
		cmocka_unit_test_teardown(members_far_apart_are_read_one_by_one, clean),
		cmocka_unit_test_teardown(a_mapping_may_be_outside_of_its_inode, clean),
		cmocka_unit_test_teardown(the_kernels_tables_serve_without_a_direct_map, clean),
		cmocka_unit_test_teardown(the_users_stack_is_copied_over_its_pages, clean),
		cmocka_unit_test_teardown(the_users_stack_ends_at_an_absent_page, clean),
		cmocka_unit_test_teardown(tables_of_five_levels_are_walked, clean),
		cmocka_unit_test_teardown(kernel_code_has_the_stacks_and_the_users_registers,
					  clean),
		cmocka_unit_test_teardown(the_entry_has_the_users_stack, clean),
		cmocka_unit_test_teardown(kernel_code_between_two_tasks_is_marked, clean),
		cmocka_unit_test_teardown(code_after_a_reset_has_no_task, clean),
		cmocka_unit_test_teardown(kernel_threads_have_any_page_table, clean),
		cmocka_unit_test_teardown(the_task_of_another_cpu_is_no_task, clean),
		cmocka_unit_test_teardown(the_users_half_of_a_pair_is_the_tasks, clean),
		cmocka_unit_test_teardown(registers_that_vmx_has_not_are_replaced, clean),
		cmocka_unit_test_teardown(the_vmms_own_work_has_the_guests_state, clean),
		cmocka_unit_test_teardown(hostile_tables_cost_parts_only, clean),
		cmocka_unit_test_teardown(a_window_ends_with_the_memory, clean),
		cmocka_unit_test_teardown(nonsense_in_the_numbers_costs_parts_only, clean),
		cmocka_unit_test_teardown(nonsense_is_harmless_in_kernel_code_too, clean),
	};
	int status = begin_guest_tests();
	if (status)
		return status;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	end_guest_tests();
	return status;
#else
	puts("skipped: the guest is written for x86-64");
	return 77;
#endif
}
