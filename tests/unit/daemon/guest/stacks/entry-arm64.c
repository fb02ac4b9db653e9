// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples in the first and the last instructions of arm64's kernel, where the registers that are
 * stored at the end of the task's stack may be those of an earlier entry. Stacks of real kernels:
 * the rig arm64:stacks-vhe.
 */
#include "daemon/guest/stacks/sample-unwinder.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/guest/stacks/orc-tables.h"
#include "libutil/error.h"
#include "tests/unit/daemon/guest/stacks/tables-at-once.h"

#if defined(__aarch64__)

enum { FP = 29, LINK = 30, SP = 31, PC = 32, ENTRY_PC = 22, EXIT_PC = 21, WINDOW_BYTES = 256 };

#define TEXT UINT64_C(0xffffffc008000000)
#define STACK UINT64_C(0xffffffc00a000000)
#define USER_PC UINT64_C(0xaaaa00001000)

struct world {
	struct vmop_guest_sample_unwinder *unwinder;
	struct vmop_guest_orc_tables tables;
	struct vmop_guest_view view;
	struct vmop_guest_callers callers;
	struct {
		struct vmop_guest_context context;
		uint64_t window[WINDOW_BYTES / 8];
	} sample;
};

/* Make a sample in the kernel, of a task whose user code had the registers 0x1000, 0x1001, ... */
static int begin(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct vmop_guest_context *context = &world->sample.context;
	tables_at_once = (struct tables_at_once){0};
	assert_null(vmop_guest_sample_unwinder_create(NULL, NULL, (struct vmop_domain_id){1},
						      &world->unwinder));
	world->tables = (struct vmop_guest_orc_tables){
		.refs = 1, .is_arm64 = true, .records = {.va_bits = 39}};
	world->view.orc = &world->tables;
	context->parts = VMOP_GUEST_HAS_REGS | VMOP_GUEST_HAS_USER_REGS;
	for (uint64_t i = 0; i < VMOP_GUEST_REGS; i++)
		context->user_regs[i] = 0x1000 + i;
	context->user_regs[PC] = USER_PC;
	memcpy(context->regs, context->user_regs, sizeof(context->regs));
	context->regs[PC] = TEXT;
	context->regs[SP] = 0;
	*state = world;
	return 0;
}

static int end(void **state)
{
	struct world *world = *state;
	vmop_guest_sample_unwinder_destroy(world->unwinder);
	free(world);
	return 0;
}

/* Set the stack's frame records: that of a caller of the sampled function, or none, then the last.
 */
static void put_records(struct world *world, bool has_caller)
{
	struct vmop_guest_context *context = &world->sample.context;
	context->window_address[VMOP_GUEST_KERNEL_WINDOW] = STACK;
	context->window_bytes[VMOP_GUEST_KERNEL_WINDOW] = WINDOW_BYTES;
	world->sample.window[0] = has_caller ? STACK + 64 : 0;
	world->sample.window[1] = has_caller ? TEXT + 64 : 0;
	context->regs[FP] = STACK;
	for (int i = 0; i < FP; i++)
		context->regs[i] = TEXT;
}

/*
 * Unwind the sample, whose process is not known: the first frame of user code shows that the stack
 * goes on there.
 */
static void expect(struct world *world, bool goes_on, size_t n_kernel_frames)
{
	struct vmop_guest_callers *callers = &world->callers;
	vmop_guest_sample_unwinder_unwind(world->unwinder, &world->view, NULL,
					  &world->sample.context, callers);
	assert_int_equal(callers->n, n_kernel_frames + goes_on);
	assert_int_equal(callers->end, goes_on ? VMOP_STACK_UNREADABLE : VMOP_STACK_NOT_RECORDED);
	if (goes_on)
		assert_true(vmop_guest_frame_address(callers->frames[callers->n - 1]) == USER_PC);
}

static void the_last_instructions_have_the_users_registers(void **state)
{
	struct world *world = *state;
	expect(world, true, 0);
	world->sample.context.regs[LINK] = TEXT;
	expect(world, true, 0);
}

/* Other registers than the stored ones are those of a new entry, whose address is not stored. */
static void the_first_instructions_have_no_caller(void **state)
{
	struct world *world = *state;
	for (int i = 0; i <= FP; i++) {
		world->sample.context.regs[i] ^= 1;
		expect(world, false, 0);
		world->sample.context.regs[i] ^= 1;
	}
	memset(world->sample.context.regs, 0, FP * sizeof(uint64_t));
	expect(world, false, 0);
}

static void the_address_in_a_register_shows_the_entry(void **state)
{
	struct world *world = *state;
	put_records(world, false);
	expect(world, false, 0);
	world->sample.context.regs[ENTRY_PC] = USER_PC;
	expect(world, true, 0);
	world->sample.context.regs[ENTRY_PC] = USER_PC + 4;
	expect(world, false, 0);
	world->sample.context.regs[EXIT_PC] = USER_PC;
	expect(world, true, 0);
}

static void after_a_call_the_registers_are_stored(void **state)
{
	struct world *world = *state;
	put_records(world, true);
	expect(world, true, 1);
}

static void a_kernel_thread_ends_in_the_kernel(void **state)
{
	struct world *world = *state;
	put_records(world, true);
	world->sample.context.user_regs[PC] = 0;
	vmop_guest_sample_unwinder_unwind(world->unwinder, &world->view, NULL,
					  &world->sample.context, &world->callers);
	assert_int_equal(world->callers.n, 1);
	assert_int_equal(world->callers.end, VMOP_STACK_COMPLETE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_last_instructions_have_the_users_registers,
						begin, end),
		cmocka_unit_test_setup_teardown(the_first_instructions_have_no_caller, begin, end),
		cmocka_unit_test_setup_teardown(the_address_in_a_register_shows_the_entry, begin,
						end),
		cmocka_unit_test_setup_teardown(after_a_call_the_registers_are_stored, begin, end),
		cmocka_unit_test_setup_teardown(a_kernel_thread_ends_in_the_kernel, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 77;
}

#endif
