// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The BPF program in the machine's own kernel, over call paths that are known to the instruction:
 * functions in assembler, with the unwind table written by hand beside them.
 */
#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hv-interface/bpf/layout.h"
#include "hv-interface/bpf/maps.h"
#include "hv-interface/perf/perf.h"
#include "hv-interface/source.h"
#include "libutil/clock.h"

/*
 * One page of code in four blocks of 1 KiB. known_start calls known_outer, which calls
 * known_middle, which calls known_leaf, which calls the kernel for ever. known_handler spins.
 * chain_start(n) calls n nested functions with frame pointers, of which the last one spins.
 */
extern char known_page[], known_start[], known_start_calls[], known_outer[],
	known_outer_has_frame[], known_outer_calls[], known_middle[], known_middle_has_frame[],
	known_middle_calls[], known_leaf[], known_leaf_end[], known_handler[], known_handler_end[],
	chain_start[], chain_start_calls[], chain_link_calls[], known_page_end[];

/* A local label's address would be lost on arm64, where it comes from the global offset table. */
#define GLOBAL(name) ".globl " #name "\n.hidden " #name "\n"
__asm__(GLOBAL(known_page) GLOBAL(known_start) GLOBAL(known_start_calls) GLOBAL(known_outer)
		GLOBAL(known_outer_has_frame) GLOBAL(known_outer_calls) GLOBAL(known_middle)
			GLOBAL(known_middle_has_frame) GLOBAL(known_middle_calls) GLOBAL(known_leaf)
				GLOBAL(known_leaf_end) GLOBAL(known_handler)
					GLOBAL(known_handler_end) GLOBAL(chain_start)
						GLOBAL(chain_start_calls) GLOBAL(chain_link_calls)
							GLOBAL(known_page_end));

#if defined(__x86_64__)
enum { FP = 6, SP = 7 };
__asm__(".pushsection .text\n"
	".p2align 12\n"
	"known_page:\n"
	".skip 64\n"
	"known_start:\n"
	"	call known_outer\n"
	"known_start_calls:\n"
	"	ud2\n"
	"known_outer:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $48, %rsp\n"
	"known_outer_has_frame:\n"
	"	call known_middle\n"
	"known_outer_calls:\n"
	"	ud2\n"
	".org known_page + 0x7f0\n" /* its rule goes on in another block */
	"known_middle:\n"
	"	sub $56, %rsp\n"
	"known_middle_has_frame:\n"
	".skip 32, 0x90\n"
	"	call known_leaf\n"
	"known_middle_calls:\n"
	"	ud2\n"
	"known_leaf:\n"
	"	mov $110, %eax\n" /* getppid */
	"	syscall\n"
	"known_leaf_returns:\n"
	"	jmp known_leaf\n"
	"known_leaf_end:\n"
	"known_handler:\n"
	"	jmp known_handler\n"
	"known_handler_end:\n"
	"	nop\n"
	".org known_page + 0xc00\n"
	"chain_start:\n"
	"	xor %ebp, %ebp\n"
	"	call chain_link\n"
	"chain_start_calls:\n"
	"	ud2\n"
	"chain_link:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	dec %edi\n"
	"2:	jz 2b\n"
	"	call chain_link\n"
	"chain_link_calls:\n"
	"	ud2\n"
	".p2align 12\n"
	"known_page_end:\n"
	".popsection\n");
/* The functions' frames: see struct vmop_unwind_rule. */
static const struct vmop_unwind_rule outer_rule =
					     {
						     .kind = VMOP_UNWIND_REGISTER,
						     .cfa_register = FP,
						     .cfa_offset = 16,
						     .fp_saved = VMOP_UNWIND_AT_CFA,
						     .fp_offset = -16,
						     .ra_saved = VMOP_UNWIND_AT_CFA,
						     .ra_offset = -8,
},
				     middle_rule =
					     {
						     .kind = VMOP_UNWIND_REGISTER,
						     .cfa_register = SP,
						     .cfa_offset = 64,
						     .fp_saved = VMOP_UNWIND_AT_CFA,
						     .fp_offset =
							     -72, /* below the stack pointer, as in
								     an epilogue: it is unchanged */
						     .ra_saved = VMOP_UNWIND_AT_CFA,
						     .ra_offset = -8,
},
				     leaf_rule = {
					     .kind = VMOP_UNWIND_REGISTER,
					     .cfa_register = SP,
					     .cfa_offset = 8,
					     .ra_saved = VMOP_UNWIND_AT_CFA,
					     .ra_offset = -8,
};
#elif defined(__aarch64__)
enum { FP = 29, SP = 31 };
__asm__(".pushsection .text\n"
	".p2align 12\n"
	"known_page:\n"
	".skip 64\n"
	"known_start:\n"
	"	bl known_outer\n"
	"known_start_calls:\n"
	"	udf #0\n"
	"known_outer:\n"
	"	stp x29, x30, [sp, #-48]!\n"
	"	mov x29, sp\n"
	"	sub sp, sp, #64\n"
	"known_outer_has_frame:\n"
	"	bl known_middle\n"
	"known_outer_calls:\n"
	"	udf #0\n"
	".org known_page + 0x7f0\n"
	"known_middle:\n"
	"	sub sp, sp, #64\n"
	"	str x30, [sp, #56]\n"
	"known_middle_has_frame:\n"
	".rept 8\n"
	"	nop\n"
	".endr\n"
	"	bl known_leaf\n"
	"known_middle_calls:\n"
	"	udf #0\n"
	"known_leaf:\n"
	"	mov x8, #173\n" /* getppid */
	"	svc #0\n"
	"known_leaf_returns:\n"
	"	b known_leaf\n"
	"known_leaf_end:\n"
	"known_handler:\n"
	"	b known_handler\n"
	"known_handler_end:\n"
	"	nop\n"
	".org known_page + 0xc00\n"
	"chain_start:\n"
	"	mov x29, xzr\n"
	"	bl chain_link\n"
	"chain_start_calls:\n"
	"	udf #0\n"
	"chain_link:\n"
	"	stp x29, x30, [sp, #-32]!\n"
	"	mov x29, sp\n"
	"	subs w0, w0, #1\n"
	"2:	b.eq 2b\n"
	"	bl chain_link\n"
	"chain_link_calls:\n"
	"	udf #0\n"
	".p2align 12\n"
	"known_page_end:\n"
	".popsection\n");
static const struct vmop_unwind_rule outer_rule =
					     {
						     .kind = VMOP_UNWIND_REGISTER,
						     .cfa_register = FP,
						     .cfa_offset = 48,
						     .fp_saved = VMOP_UNWIND_AT_CFA,
						     .fp_offset = -48,
						     .ra_saved = VMOP_UNWIND_AT_CFA,
						     .ra_offset = -40,
},
				     middle_rule =
					     {
						     .kind = VMOP_UNWIND_REGISTER,
						     .cfa_register = SP,
						     .cfa_offset = 64,
						     .fp_saved = VMOP_UNWIND_SAME,
						     .ra_saved = VMOP_UNWIND_AT_CFA,
						     .ra_offset = -8,
},
				     leaf_rule = {
					     .kind = VMOP_UNWIND_REGISTER,
					     .cfa_register = SP,
					     .cfa_offset = 0,
					     .ra_saved = VMOP_UNWIND_SAME,
};
#endif

enum {
	TABLE = 3,
	TRAMPOLINE_TABLE = 4095, /* the last one */
	SAMPLE_MS = 300,
	CHAIN = 20,
	BLOCK_BYTES = 1 << VMOP_UNWIND_BLOCK_BITS,
	N_BLOCKS = 4,
	SETTLE_NS = 2000000,
};
#define PAGE_OFFSET (UINT64_C(5) << 20) /* of known_page, in the table's terms */
#define GENERATION UINT64_C(0x123456789a)

enum { COPY_RULE, END_RULE, OUTER_RULE, MIDDLE_RULE, LEAF_RULE, N_RULES };

/* Memory shared with the children. */
static struct {
	uint64_t trampoline; /* the address to which a signal handler returns */
} * shared;

static uint64_t address_of(const char *label)
{
	return (uint64_t)(uintptr_t)label;
}

/* Put the table of known_page. */
static bool put_table(struct vmop_unwind_maps *maps, uint32_t number)
{
	const struct vmop_unwind_rule rules[N_RULES] = {
		[END_RULE] = {.kind = VMOP_UNWIND_END},
		[OUTER_RULE] = outer_rule,
		[MIDDLE_RULE] = middle_rule,
		[LEAF_RULE] = leaf_rule,
	};
	const struct {
		const char *from;
		uint32_t rule;
	} spans[] = {
		{known_start, END_RULE},
		{known_outer, COPY_RULE},
		{known_outer_has_frame, OUTER_RULE},
		{known_outer_calls, COPY_RULE},
		{known_middle_has_frame, MIDDLE_RULE},
		{known_middle_calls, COPY_RULE},
		{known_leaf, LEAF_RULE},
		{known_handler_end, COPY_RULE},
	};
	enum { N_ROWS = sizeof(spans) / sizeof(spans[0]) };
	uint32_t rows[N_ROWS], blocks[N_BLOCKS + 1] = {0};
	for (size_t i = 0; i < N_ROWS; i++) {
		uint32_t offset = (uint32_t)(spans[i].from - known_page);
		rows[i] = offset % BLOCK_BYTES << VMOP_UNWIND_RULE_BITS | spans[i].rule;
		for (size_t block = offset / BLOCK_BYTES; block < N_BLOCKS; block++)
			blocks[block + 1]++;
	}
	const struct vmop_unwind_table table = {
		.first_block = PAGE_OFFSET / BLOCK_BYTES,
		.n_blocks = N_BLOCKS,
		.n_rows = N_ROWS,
		.n_rules = N_RULES,
		.blocks = blocks,
		.rows = rows,
		.rules = rules,
	};
	return vmop_unwind_maps_put_table(maps, number, &table);
}

/* Put a table by which all code of the trampoline's page is one. */
static bool put_trampoline_table(struct vmop_unwind_maps *maps)
{
	const struct vmop_unwind_rule rule = {.kind = VMOP_UNWIND_SIGNAL};
	const uint32_t row = 0, blocks[N_BLOCKS + 1] = {0, 1, 1, 1, 1};
	const struct vmop_unwind_table table = {
		.first_block = 0,
		.n_blocks = N_BLOCKS,
		.n_rows = 1,
		.n_rules = 1,
		.blocks = blocks,
		.rows = &row,
		.rules = &rule,
	};
	return vmop_unwind_maps_put_table(maps, TRAMPOLINE_TABLE, &table);
}

static bool put_process(struct vmop_unwind_maps *maps, pid_t pid, uint32_t table)
{
	uint64_t trampoline = shared->trampoline & ~UINT64_C(4095);
	struct vmop_unwind_mapping mappings[] = {
		{address_of(known_page), address_of(known_page_end), PAGE_OFFSET, table, 0},
		{trampoline, trampoline + 4096, 0, TRAMPOLINE_TABLE, 0},
	};
	if (trampoline < address_of(known_page)) {
		struct vmop_unwind_mapping first = mappings[1];
		mappings[1] = mappings[0];
		mappings[0] = first;
	}
	return vmop_unwind_maps_put_process(maps, (uint32_t)pid, GENERATION, mappings, 2);
}

/* End with the parent, and at a fault, which cmocka would take for one of the test's. */
static void become_child(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGILL, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
}

/* Start a child that runs function(argument), which does not return. */
static pid_t child_in(const char *function, unsigned argument)
{
	pid_t child = fork();
	assert_true(child >= 0);
	if (child > 0)
		return child;
	become_child();
	((void (*)(unsigned))(uintptr_t)function)(argument);
	_exit(1);
}

static void learn_trampoline(int signal)
{
	(void)signal;
	shared->trampoline = (uint64_t)(uintptr_t)__builtin_return_address(0);
}

static struct vmop_source *open_source(void)
{
	struct vmop_event_request request;
	struct vmop_source *source;
	const char *note;
	assert_null(vmop_event_request_parse("cpu-clock:1000Hz", &request));
	const struct vmop_source_setup setup = {
		.events = &request,
		.n_events = 1,
		.stacks = {.mode = VMOP_STACKS_BPF,
			   .user_stack_bytes = VMOP_USER_STACK_BYTES,
			   .max_frames = VMOP_STACK_FRAMES_MAX},
	};
	struct vmop_error *err = vmop_source_open(&vmop_source_perf_ops, &setup, &source);
	vmop_event_request_deinit(&request);
	if (err) {
		printf("skipped: %s\n", err->message);
		exit(77);
	}
	if (vmop_source_stacks(source, &note)->mode != VMOP_STACKS_BPF) {
		printf("skipped: %s\n", note);
		exit(77);
	}
	return source;
}

/* The stack of which a child's samples have a part, innermost first. */
struct expected {
	uint64_t frames[VMOP_STACK_FRAMES_MAX + 1]; /* the leaf, and its callers */
	size_t n;
	enum vmop_stack_end end;
};

struct seen {
	pid_t pid;
	const struct expected *expected;
	uint64_t all, unwound, of_child, unwound_of_child, in_kernel, others;
	uint64_t of_guests; /* of a guest that another program runs on this machine */
};

/* Check the stack of a sample in the child's known code: every caller, and the end. */
static void check_frames(const struct vmop_stack_capture *stack, struct seen *seen)
{
	const struct expected *expected = seen->expected;
	uint64_t leaf = stack->user_frames[0];
	assert_true(stack->user_generation == GENERATION);
	assert_null(stack->user_regs);
	if (leaf - expected->frames[0] > 16) {
		seen->others++; /* on its way to the leaf */
		return;
	}
	/* The limit is one of callers, and code interrupted in the kernel has one more. */
	size_t n =
		expected->n - (expected->end == VMOP_STACK_DEPTH_LIMIT && stack->n_kernel_frames);
	assert_int_equal(stack->n_user_frames, n);
	assert_int_equal(stack->user_end, expected->end);
	for (size_t i = 1; i < n; i++) {
		uint64_t frame = stack->user_frames[i];
		if (frame & VMOP_USER_FRAME_INTERRUPTED && expected->frames[i] >> 63)
			assert_in_range(frame - expected->frames[i], 0, 16);
		else
			assert_true(frame == expected->frames[i]);
	}
}

static void look(void *arg, const struct vmop_record *record,
		 const struct vmop_stack_capture *stack)
{
	struct seen *seen = arg;
	const struct vmop_sample *sample = &record->sample;
	if (record->type != VMOP_RECORD_SAMPLE)
		return;
	if (sample->flags & VMOP_SAMPLE_GUEST) {
		seen->of_guests++;
		return;
	}
	assert_non_null(stack);
	bool is_unwound = stack->user_generation != 0;
	seen->all++;
	seen->unwound += is_unwound;
	assert_true(sample->weight_events == 1000000);
	if (sample->pid != (uint32_t)seen->pid) {
		assert_false(is_unwound);
		return;
	}
	seen->of_child++;
	seen->unwound_of_child += is_unwound;
	if (!is_unwound)
		return;
	if (sample->flags & VMOP_SAMPLE_USER) {
		assert_true(stack->user_frames[0] == sample->ip);
	} else {
		assert_true(stack->n_kernel_frames > 0 && stack->kernel_frames[0] == sample->ip);
		seen->in_kernel++;
	}
	check_frames(stack, seen);
}

/* Sample for a while, end the child, and return its counts. */
static struct seen sample(struct vmop_source *source, pid_t pid, const struct expected *expected)
{
	struct seen seen = {.pid = pid, .expected = expected};
	const struct vmop_sink sink = {look, &seen};
	struct vmop_source_stats stats;
	struct vmop_unwind_maps_facts facts;
	uint64_t end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + SAMPLE_MS * UINT64_C(1000000);
	assert_null(vmop_source_start(source));
	while (vmop_clock_ns(CLOCK_MONOTONIC) < end_ns || seen.of_child < 50) {
		struct pollfd ready = {.fd = vmop_source_poll_fd(source), .events = POLLIN};
		poll(&ready, 1, 20);
		assert_null(vmop_source_drain(source, vmop_clock_ns(CLOCK_MONOTONIC) - SETTLE_NS,
					      &sink, NULL));
	}
	assert_null(vmop_source_stop(source));
	assert_null(vmop_source_drain(source, UINT64_MAX, &sink, NULL));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	vmop_source_stats(source, &stats);
	assert_int_equal(stats.malformed_records, 0);
	assert_int_equal(stats.lost_records, 0);
	/* No sample twice, and none lost. */
	vmop_unwind_maps_facts(vmop_source_unwind_maps(source), &facts);
	assert_int_equal(facts.n_unwound, seen.unwound);
	assert_int_equal(facts.n_unwound + facts.n_copied, seen.all + seen.of_guests);
	return seen;
}

/* Let the child get out of the functions that the maps do not have. */
static void settle(void)
{
	usleep(20000);
}

static const struct expected *known_path(void)
{
	static struct expected path = {.n = 4, .end = VMOP_STACK_COMPLETE};
	path.frames[0] = address_of(known_leaf);
	path.frames[1] = address_of(known_middle_calls);
	path.frames[2] = address_of(known_outer_calls);
	path.frames[3] = address_of(known_start_calls);
	return &path;
}

static void a_known_path_is_unwound(void **state)
{
	(void)state;
	struct vmop_source *source = open_source();
	struct vmop_unwind_maps *maps = vmop_source_unwind_maps(source);
	pid_t child = child_in(known_start, 0);
	settle();
	assert_true(put_table(maps, TABLE));
	assert_true(put_process(maps, child, TABLE));
	struct seen seen = sample(source, child, known_path());
	vmop_source_close(source);
	assert_int_equal(seen.unwound_of_child, seen.of_child);
	assert_in_range(seen.in_kernel, 5, seen.of_child);
	assert_int_equal(seen.others, 0);
}

static void a_chain_of_frame_pointers_is_followed(void **state)
{
	(void)state;
	struct expected path = {.n = CHAIN + 1, .end = VMOP_STACK_COMPLETE};
	path.frames[0] = address_of(chain_link_calls) - 16;
	for (size_t i = 1; i < CHAIN; i++)
		path.frames[i] = address_of(chain_link_calls);
	path.frames[CHAIN] = address_of(chain_start_calls);
	struct vmop_source *source = open_source();
	pid_t child = child_in(chain_start, CHAIN);
	settle();
	assert_true(put_process(vmop_source_unwind_maps(source), child, VMOP_UNWIND_NO_TABLE));
	struct seen seen = sample(source, child, &path);
	vmop_source_close(source);
	assert_int_equal(seen.unwound_of_child, seen.of_child);
}

static void a_deep_stack_ends_at_the_limit(void **state)
{
	(void)state;
	struct expected path = {.n = VMOP_STACK_FRAMES_MAX + 1, .end = VMOP_STACK_DEPTH_LIMIT};
	path.frames[0] = address_of(chain_link_calls) - 16;
	for (size_t i = 1; i <= VMOP_STACK_FRAMES_MAX; i++)
		path.frames[i] = address_of(chain_link_calls);
	struct vmop_source *source = open_source();
	pid_t child = child_in(chain_start, 1000);
	settle();
	assert_true(put_process(vmop_source_unwind_maps(source), child, VMOP_UNWIND_NO_TABLE));
	struct seen seen = sample(source, child, &path);
	vmop_source_close(source);
	assert_int_equal(seen.unwound_of_child, seen.of_child);
}

/* Start a child whose handler of a signal spins, perhaps on another stack. */
static pid_t child_in_handler(bool has_other_stack)
{
	pid_t child = fork();
	assert_true(child >= 0);
	if (child > 0)
		return child;
	become_child();
	struct sigaction action = {.sa_flags = has_other_stack ? SA_ONSTACK : 0};
	action.sa_handler = (void (*)(int))(uintptr_t)known_handler;
	const stack_t other = {.ss_sp = malloc(65536), .ss_size = 65536};
	const struct itimerval soon = {.it_value = {.tv_usec = 10000}};
	sigaction(SIGALRM, &action, NULL);
	if (has_other_stack)
		sigaltstack(&other, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	((void (*)(void))(uintptr_t)known_start)();
	_exit(1);
}

static void a_signal_handlers_stack_goes_on(void **state)
{
	(void)state;
	struct expected path = {.n = 6, .end = VMOP_STACK_COMPLETE};
	path.frames[0] = address_of(known_handler);
	path.frames[1] = shared->trampoline;
	path.frames[2] = address_of(known_leaf) | VMOP_USER_FRAME_INTERRUPTED;
	for (size_t i = 1; i < 4; i++)
		path.frames[i + 2] = known_path()->frames[i];
	for (int has_other_stack = 0; has_other_stack < 2; has_other_stack++) {
		struct vmop_source *source = open_source();
		struct vmop_unwind_maps *maps = vmop_source_unwind_maps(source);
		pid_t child = child_in_handler(has_other_stack);
		usleep(50000);
		assert_true(put_table(maps, TABLE) && put_trampoline_table(maps));
		assert_true(put_process(maps, child, TABLE));
		struct seen seen = sample(source, child, &path);
		vmop_source_close(source);
		assert_int_equal(seen.unwound_of_child, seen.of_child);
		assert_int_equal(seen.others, 0);
	}
}

/* Whatever is missing, perf's own sample with the copy stays. */
static void what_is_missing_is_copied(void **state)
{
	(void)state;
	struct vmop_source *source = open_source();
	struct vmop_unwind_maps *maps = vmop_source_unwind_maps(source);
	pid_t child = child_in(known_start, 0);
	settle();
	assert_true(put_table(maps, TABLE));
	assert_true(put_process(maps, child, TABLE + 1)); /* an absent table */
	struct seen seen = sample(source, child, known_path());
	assert_int_equal(seen.unwound, 0);
	vmop_source_close(source);
}

static void maps_count_what_they_have(void **state)
{
	(void)state;
	struct vmop_source *source = open_source();
	struct vmop_unwind_maps *maps = vmop_source_unwind_maps(source);
	struct vmop_unwind_maps_facts facts;
	assert_true(put_table(maps, TABLE) && put_table(maps, TABLE) && put_table(maps, 0));
	assert_true(put_process(maps, 1, TABLE) && put_process(maps, 1, 0));
	assert_true(put_process(maps, 2, TABLE));
	vmop_unwind_maps_facts(maps, &facts);
	assert_int_equal(facts.n_tables, 2);
	assert_int_equal(facts.table_bytes, 2 * 3 * 4096);
	assert_int_equal(facts.n_processes, 2);
	assert_int_equal(facts.n_mappings, 4);
	assert_int_equal(facts.n_refused, 0);
	assert_false(put_table(maps, facts.max_tables));
	vmop_unwind_maps_remove_table(maps, TABLE);
	vmop_unwind_maps_remove_table(maps, TABLE);
	vmop_unwind_maps_remove_process(maps, 2);
	vmop_unwind_maps_remove_process(maps, 2);
	vmop_unwind_maps_facts(maps, &facts);
	assert_int_equal(facts.n_tables, 1);
	assert_int_equal(facts.n_processes, 1);
	assert_int_equal(facts.n_mappings, 2);
	assert_int_equal(facts.n_refused, 1);
	vmop_source_close(source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_count_what_they_have),
		cmocka_unit_test(a_known_path_is_unwound),
		cmocka_unit_test(a_chain_of_frame_pointers_is_followed),
		cmocka_unit_test(a_deep_stack_ends_at_the_limit),
		cmocka_unit_test(a_signal_handlers_stack_goes_on),
		cmocka_unit_test(what_is_missing_is_copied),
	};
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 1;
	signal(SIGUSR1, learn_trampoline);
	raise(SIGUSR1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
