// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks of samples: the user part is this process's own stack, with its own files; the kernel part
 * is made by hand. Stacks of real kernels: compare-samples.c and sample-live.c.
 */
#include "daemon/guest/stacks/sample-unwinder.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "daemon/guest/stacks/orc-tables.h"
#include "libstack/kernel/orc.h"
#include "libutil/error.h"
#include "tests/unit/daemon/guest/stacks/tables-at-once.h"

#if defined(__x86_64__)

enum { MAX_VMAS = 65, WINDOW_BYTES = 4096, USER_WINDOW_BYTES = 8192, IRQ_BYTES = 512 };

/* ---- this process as a guest's ----------------------------------------------------- */

static struct vmop_guest_vma vmas[MAX_VMAS];
static char paths[MAX_VMAS][256];
static uint64_t stack_end;
static struct vmop_guest_process process = {.pid = 1, .pgd_gpa = 4096, .vmas = vmas};

static void read_mappings(void)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");
	process.vma_count = 0;
	while (fgets(line, sizeof(line), maps) && process.vma_count < MAX_VMAS - 1) {
		uint32_t i = process.vma_count;
		struct vmop_guest_vma *vma = &vmas[i];
		char flags[5];
		if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %255s", &vma->start, &vma->end, flags,
			   &vma->file_offset_bytes, paths[i]) != 5)
			continue;
		if (strcmp(paths[i], "[stack]") == 0)
			stack_end = vma->end;
		if (flags[2] != 'x' || strcmp(paths[i], "[vsyscall]") == 0)
			continue;
		vma->path = paths[i];
		vma->file = paths[i][0] == '/' ? i + 1 : 0;
		process.vma_count++;
	}
	fclose(maps);
}

static enum vmop_code_state build_table(const struct vmop_guest_code_mapping *mapping,
					struct vmop_cfi_table **ret)
{
	enum vmop_code_state state = tables_at_once_build_path(paths[mapping->file - 1], ret);
	assert_int_equal(state, VMOP_CODE_HAS_TABLE);
	return state;
}

/* ---- a world ------------------------------------------------------------------------ */

#define TEXT UINT64_C(0xffffffff81000000)
#define TABLE UINT64_C(0xffffffff82000000)
#define TASK_STACK UINT64_C(0xffffc90000010000)
#define IRQ_STACK UINT64_C(0xffffc90000000000)

/* Functions of 16 bytes in the kernel. */
enum { LEAF, INTERRUPT, ENTRY, THREAD, N_FUNCTIONS };
enum { RBP = 6, RSP = 7, RIP = 16 };

struct world {
	struct vmop_guest_sample_unwinder *unwinder;
	struct vmop_guest_orc_tables tables;
	struct vmop_guest_view view;
	struct vmop_guest_callers callers;
	uint64_t user_regs[VMOP_GUEST_REGS];
	struct {
		struct vmop_guest_context context;
		uint8_t windows[IRQ_BYTES + WINDOW_BYTES + USER_WINDOW_BYTES];
	} sample;
};

static struct vmop_orc *make_orc(void)
{
	enum { CALL = 2, REGS = 3, END = 1, ORC_SP = 5 };
	static const struct vmop_orc_format format = {.type_bit = 40, .type_bits = 3};
	static const struct {
		int16_t offset;
		uint8_t type;
	} rows[N_FUNCTIONS] = {[LEAF] = {8, CALL},
			       [INTERRUPT] = {0, REGS},
			       [ENTRY] = {0, REGS},
			       [THREAD] = {0, END}};
	uint8_t ips[4 * N_FUNCTIONS], entries[6 * N_FUNCTIONS];
	for (unsigned i = 0; i < N_FUNCTIONS; i++) {
		uint64_t bits = (uint16_t)rows[i].offset | (uint64_t)ORC_SP << 32 |
				(uint64_t)rows[i].type << 40;
		int32_t relative = (int32_t)(TEXT + 16 * i - (TABLE + 4 * i));
		memcpy(ips + 4 * i, &relative, 4);
		memcpy(entries + 6 * i, &bits, 6);
	}
	const struct vmop_orc_section section = {.text_start = TEXT,
						 .text_end = TEXT + 16 * N_FUNCTIONS,
						 .ip_address = TABLE,
						 .n = N_FUNCTIONS,
						 .ips = ips,
						 .entries = entries};
	struct vmop_orc *orc;
	assert_null(vmop_orc_create(&format, &section, 1, &orc));
	return orc;
}

static int begin(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	read_mappings();
	tables_at_once = (struct tables_at_once){.build = build_table};
	assert_null(vmop_guest_sample_unwinder_create(NULL, NULL, (struct vmop_domain_id){1},
						      &world->unwinder));
	assert_int_equal(tables_at_once.n_wants_stacks, 1);
	world->tables = (struct vmop_guest_orc_tables){.refs = 1, .orc = make_orc()};
	world->view.orc = &world->tables;
	*state = world;
	return 0;
}

static int end(void **state)
{
	struct world *world = *state;
	vmop_guest_sample_unwinder_destroy(world->unwinder);
	vmop_orc_destroy(world->tables.orc);
	free(world);
	return 0;
}

/* Copy a part of this thread's own stack, with the gaps that AddressSanitizer guards. */
__attribute__((no_sanitize_address)) static void copy_own_stack(uint8_t *to, uint64_t address,
								uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		to[i] = ((const volatile uint8_t *)address)[i];
}

/* Place the windows of a context behind it. The user's is that of this process. */
static void place(struct world *world, uint64_t kernel_address, const void *kernel,
		  uint32_t kernel_bytes, uint64_t task_address, const void *task,
		  uint32_t task_bytes)
{
	struct vmop_guest_context *context = &world->sample.context;
	context->window_address[VMOP_GUEST_KERNEL_WINDOW] = kernel_address;
	context->window_bytes[VMOP_GUEST_KERNEL_WINDOW] = kernel_bytes;
	context->window_address[VMOP_GUEST_TASK_WINDOW] = task_address;
	context->window_bytes[VMOP_GUEST_TASK_WINDOW] = task_bytes;
	context->window_address[VMOP_GUEST_USER_WINDOW] = world->user_regs[RSP];
	uint64_t left = stack_end - world->user_regs[RSP];
	uint32_t bytes = left < USER_WINDOW_BYTES ? (uint32_t)left & ~7u : USER_WINDOW_BYTES;
	context->window_bytes[VMOP_GUEST_USER_WINDOW] = bytes;
	if (kernel)
		memcpy(world->sample.windows, kernel, kernel_bytes);
	if (task)
		memcpy(world->sample.windows + kernel_bytes, task, task_bytes);
	copy_own_stack(world->sample.windows + kernel_bytes + task_bytes, world->user_regs[RSP],
		       bytes);
}

static void unwind(struct world *world, const struct vmop_guest_process *of)
{
	vmop_guest_sample_unwinder_unwind(world->unwinder, &world->view, of, &world->sample.context,
					  &world->callers);
}

/* Set the user registers to those of the caller's frame. */
#define TAKE_USER_REGS(world)                                                                      \
	do {                                                                                       \
		ucontext_t context_;                                                               \
		assert_int_equal(getcontext(&context_), 0);                                        \
		(world)->user_regs[RIP] = (uint64_t)context_.uc_mcontext.gregs[REG_RIP];           \
		(world)->user_regs[RSP] = (uint64_t)context_.uc_mcontext.gregs[REG_RSP];           \
		(world)->user_regs[RBP] = (uint64_t)context_.uc_mcontext.gregs[REG_RBP];           \
	} while (0)

static uint64_t frame(const struct world *world, size_t i)
{
	return vmop_guest_frame_address(world->callers.frames[i]);
}

/* Return whether the frames from index first on have a return address, and come to an end. */
static bool has_callers_from(const struct world *world, size_t first, uint64_t return_address)
{
	for (size_t i = first; i < world->callers.n; i++)
		if (frame(world, i) == return_address)
			return world->callers.end == VMOP_STACK_COMPLETE;
	return false;
}

/* ---- tests --------------------------------------------------------------------------- */

static __attribute__((noinline)) void check_user(struct world *world)
{
	uint64_t here = (uint64_t)__builtin_return_address(0);
	struct vmop_guest_context *context = &world->sample.context;
	TAKE_USER_REGS(world);
	*context = (struct vmop_guest_context){.parts = VMOP_GUEST_HAS_REGS | VMOP_GUEST_HAS_SP |
							VMOP_GUEST_IS_USER};
	memcpy(context->regs, world->user_regs, sizeof(context->regs));
	place(world, 0, NULL, 0, 0, NULL, 0);
	unwind(world, NULL);
	assert_int_equal(world->callers.end, VMOP_STACK_UNREADABLE);
	assert_int_equal(world->callers.n, 0);
	/* The table is requested once. */
	tables_at_once.is_late = true;
	for (int i = 0; i < 3; i++) {
		unwind(world, &process);
		assert_int_equal(world->callers.end, VMOP_STACK_TABLE_LATE);
		assert_int_equal(tables_at_once.n_requested, 1);
	}
	tables_at_once.is_late = false;
	for (int i = 0; i < 10; i++)
		unwind(world, &process);
	assert_true(has_callers_from(world, 0, here));
	assert_true(frame(world, 0) == here);
	assert_false(world->callers.is_likely);
	assert_int_equal(tables_at_once.queue.n_requests, 0);
	/* Not all of the stack was captured, or nothing of it. */
	context->window_bytes[VMOP_GUEST_USER_WINDOW] = 64;
	unwind(world, &process);
	assert_int_equal(world->callers.end, VMOP_STACK_COPY_SHORT);
	context->window_bytes[VMOP_GUEST_USER_WINDOW] = 0;
	unwind(world, &process);
	assert_int_equal(world->callers.end, VMOP_STACK_NOT_RECORDED);
}

static void user_code(void **state)
{
	check_user(*state);
}

/* Generated code that calls a function, with a frame pointer and without any unwind information. */
typedef void generated_fn(void (*function)(struct world *world), struct world *world);

static generated_fn *generate(void)
{
	/* push %rbp; mov %rsp,%rbp; mov %rdi,%rax; mov %rsi,%rdi; call *%rax; pop %rbp; ret */
	static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,
				       0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(page != MAP_FAILED);
	memcpy(page, code, sizeof(code));
	uint32_t at = process.vma_count++;
	for (; at > 0 && vmas[at - 1].start > (uint64_t)page; at--)
		vmas[at] = vmas[at - 1];
	vmas[at] = (struct vmop_guest_vma){
		.start = (uint64_t)page, .end = (uint64_t)page + 4096, .path = ""};
	return (generated_fn *)(uintptr_t)page;
}

static generated_fn *generated;

static __attribute__((noinline)) void check_below_generated(struct world *world)
{
	struct vmop_guest_context *context = &world->sample.context;
	TAKE_USER_REGS(world);
	*context = (struct vmop_guest_context){.parts = VMOP_GUEST_HAS_REGS | VMOP_GUEST_HAS_SP |
							VMOP_GUEST_IS_USER};
	memcpy(context->regs, world->user_regs, sizeof(context->regs));
	place(world, 0, NULL, 0, 0, NULL, 0);
	for (int i = 0; i < 10; i++)
		unwind(world, &process);
	assert_int_equal(world->callers.end, VMOP_STACK_COMPLETE);
	assert_int_equal(frame(world, 0), (uint64_t)(uintptr_t)generated + 12);
}

static void frame_pointers_lead_through_generated_code(void **state)
{
	struct world *world = *state;
	uint64_t here = (uint64_t)__builtin_return_address(0);
	generated = generate();
	generated(check_below_generated, world);
	/* This function's own frame is behind the generated one. */
	assert_true(has_callers_from(world, 2, here));
	munmap((void *)(uintptr_t)generated, 4096);
}

/* A leaf on the stack of interrupts, which interrupted a leaf on that of a task, in a system call.
 */
static __attribute__((noinline)) void check_kernel(struct world *world)
{
	uint64_t here = (uint64_t)__builtin_return_address(0);
	struct vmop_guest_context *context = &world->sample.context;
	static uint64_t irq[IRQ_BYTES / 8], task[WINDOW_BYTES / 8];
	TAKE_USER_REGS(world);
	irq[0] = TEXT + 16 * INTERRUPT + 5;
	irq[1 + 16] = TEXT + 16 * LEAF + 3; /* struct pt_regs: ip, cs, sp */
	irq[1 + 17] = 0x10;
	irq[1 + 19] = TASK_STACK + 64;
	task[8] = TEXT + 16 * ENTRY + 5;
	task[9 + 4] = world->user_regs[RBP];
	task[9 + 16] = world->user_regs[RIP];
	task[9 + 17] = 0x33;
	task[9 + 19] = world->user_regs[RSP];
	*context = (struct vmop_guest_context){.parts = VMOP_GUEST_HAS_REGS | VMOP_GUEST_HAS_SP |
							VMOP_GUEST_HAS_USER_REGS};
	context->regs[RIP] = TEXT + 16 * LEAF + 4;
	context->regs[RSP] = IRQ_STACK;
	memcpy(context->user_regs, world->user_regs, sizeof(context->user_regs));
	place(world, IRQ_STACK, irq, sizeof(irq), TASK_STACK, task, sizeof(task));
	for (int i = 0; i < 10; i++)
		unwind(world, &process);
	assert_true(frame(world, 0) == irq[0] && frame(world, 1) == irq[17]);
	assert_false(vmop_guest_frame_is_interrupted(world->callers.frames[0]));
	assert_true(vmop_guest_frame_is_interrupted(world->callers.frames[1]));
	assert_true(frame(world, 2) == task[8]);
	assert_true(frame(world, 3) == world->user_regs[RIP]);
	assert_true(vmop_guest_frame_is_interrupted(world->callers.frames[3]));
	assert_true(has_callers_from(world, 4, here));
	/* A sample of a process that is not known yet. */
	unwind(world, NULL);
	assert_int_equal(world->callers.n, 4);
	assert_int_equal(world->callers.end, VMOP_STACK_UNREADABLE);
	/* While tasks switch, the stack is the next one's already. */
	context->user_regs[RSP] += 4096;
	unwind(world, &process);
	assert_int_equal(world->callers.n, 3);
	assert_int_equal(world->callers.end, VMOP_STACK_NOT_RECORDED);
	context->user_regs[RSP] -= 4096;
	/* Without the task's stack. */
	context->window_address[VMOP_GUEST_TASK_WINDOW] += 1 << 20;
	unwind(world, &process);
	assert_int_equal(world->callers.n, 2);
	assert_int_equal(world->callers.end, VMOP_STACK_COPY_SHORT);
}

static void an_interrupt_in_a_system_call(void **state)
{
	check_kernel(*state);
}

static void a_kernel_thread(void **state)
{
	struct world *world = *state;
	struct vmop_guest_context *context = &world->sample.context;
	uint64_t task[8] = {TEXT + 16 * THREAD + 5};
	TAKE_USER_REGS(world);
	*context = (struct vmop_guest_context){.parts = VMOP_GUEST_HAS_REGS | VMOP_GUEST_HAS_SP |
							VMOP_GUEST_HAS_USER_REGS};
	context->regs[RIP] = TEXT + 16 * LEAF + 4;
	context->regs[RSP] = TASK_STACK;
	place(world, TASK_STACK, task, sizeof(task), 0, NULL, 0);
	unwind(world, &process);
	assert_int_equal(world->callers.end, VMOP_STACK_COMPLETE);
	assert_int_equal(world->callers.n, 1);
	assert_true(frame(world, 0) == task[0]);
}

/* The first instructions of a system call run on the user's stack. */
static __attribute__((noinline)) void check_user_stack(struct world *world)
{
	enum { RCX = 2 };
	uint64_t here = (uint64_t)__builtin_return_address(0);
	struct vmop_guest_context *context = &world->sample.context;
	TAKE_USER_REGS(world);
	*context = (struct vmop_guest_context){.parts = VMOP_GUEST_HAS_REGS | VMOP_GUEST_HAS_SP |
							VMOP_GUEST_HAS_USER_REGS};
	memcpy(context->regs, world->user_regs, sizeof(context->regs));
	context->regs[RCX] = world->user_regs[RIP];
	context->regs[RIP] = TEXT + 16 * ENTRY;
	context->user_regs[RIP] = 1; /* of the system call before */
	place(world, 0, NULL, 0, 0, NULL, 0);
	for (int i = 0; i < 10; i++)
		unwind(world, &process);
	assert_true(frame(world, 0) == world->user_regs[RIP]);
	assert_true(has_callers_from(world, 1, here));
}

static void the_entry_of_a_system_call(void **state)
{
	check_user_stack(*state);
}

/* The last instructions of a system call have no caller, but the user's registers are still there.
 */
static __attribute__((noinline)) void check_exit(struct world *world)
{
	enum { RCX = 2 };
	uint64_t here = (uint64_t)__builtin_return_address(0);
	struct vmop_guest_context *context = &world->sample.context;
	const uint64_t task[8] = {0};
	TAKE_USER_REGS(world);
	*context = (struct vmop_guest_context){.parts = VMOP_GUEST_HAS_REGS | VMOP_GUEST_HAS_SP |
							VMOP_GUEST_HAS_USER_REGS};
	context->regs[RIP] = TEXT + 16 * THREAD + 4;
	context->regs[RSP] = TASK_STACK;
	memcpy(context->user_regs, world->user_regs, sizeof(context->user_regs));
	place(world, TASK_STACK, task, sizeof(task), 0, NULL, 0);
	for (int i = 0; i < 10; i++)
		unwind(world, &process);
	assert_true(frame(world, 0) == world->user_regs[RIP]);
	assert_true(has_callers_from(world, 1, here));
	/* An entry that has stored only two words: the others are of an earlier one. */
	context->regs[RSP] = TASK_STACK + sizeof(task) - 16;
	unwind(world, &process);
	assert_int_equal(world->callers.n, 0);
	assert_int_equal(world->callers.end, VMOP_STACK_NOT_RECORDED);
	context->regs[RCX] = world->user_regs[RIP]; /* an exit */
	unwind(world, &process);
	assert_true(has_callers_from(world, 1, here));
}

static void the_exit_of_a_system_call(void **state)
{
	check_exit(*state);
}

static void what_is_missing_is_named(void **state)
{
	struct world *world = *state;
	struct vmop_guest_context *context = &world->sample.context;
	const uint64_t task[8] = {TEXT + 16 * THREAD + 5};
	TAKE_USER_REGS(world);
	*context = (struct vmop_guest_context){.parts = VMOP_GUEST_HAS_TASK};
	unwind(world, &process);
	assert_int_equal(world->callers.end, VMOP_STACK_NOT_RECORDED);
	context->parts |= VMOP_GUEST_HAS_REGS | VMOP_GUEST_HAS_SP;
	context->regs[RIP] = TEXT + 16 * LEAF + 4;
	context->regs[RSP] = TASK_STACK;
	unwind(world, &process);
	assert_int_equal(world->callers.end, VMOP_STACK_NOT_RECORDED);
	place(world, TASK_STACK, task, sizeof(task), 0, NULL, 0);
	vmop_guest_sample_unwinder_unwind(world->unwinder, NULL, &process, context,
					  &world->callers);
	assert_int_equal(world->callers.end, VMOP_STACK_TABLE_LATE);
	world->view.orc = NULL;
	unwind(world, &process);
	assert_int_equal(world->callers.end, VMOP_STACK_TABLE_LATE);
	world->view.orc = &world->tables;
	world->tables.unusable = VMOP_STACK_UNREADABLE;
	unwind(world, &process);
	assert_int_equal(world->callers.end, VMOP_STACK_UNREADABLE);
	world->tables.unusable = VMOP_STACK_END_UNKNOWN;
	/* Without the stack pointer the kernel's code is needed, and requested once. */
	context->parts &= ~(uint32_t)VMOP_GUEST_HAS_SP;
	for (int i = 0; i < 2; i++) {
		unwind(world, &process);
		assert_int_equal(world->callers.end, VMOP_STACK_TABLE_LATE);
		assert_int_equal(tables_at_once.n_wants_code, 1);
	}
	world->tables.has_code = true; /* but no text: the symbols were gone */
	unwind(world, &process);
	assert_int_equal(world->callers.end, VMOP_STACK_UNREADABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(user_code, begin, end),
		cmocka_unit_test_setup_teardown(frame_pointers_lead_through_generated_code, begin,
						end),
		cmocka_unit_test_setup_teardown(an_interrupt_in_a_system_call, begin, end),
		cmocka_unit_test_setup_teardown(a_kernel_thread, begin, end),
		cmocka_unit_test_setup_teardown(the_entry_of_a_system_call, begin, end),
		cmocka_unit_test_setup_teardown(the_exit_of_a_system_call, begin, end),
		cmocka_unit_test_setup_teardown(what_is_missing_is_named, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else /* the kernel's part is x86-64's */

int main(void)
{
	return 77;
}

#endif
