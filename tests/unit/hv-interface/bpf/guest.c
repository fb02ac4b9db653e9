// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The BPF program's reader of guests on this machine's own KVM, over a guest of which everything is
 * known: registers, page tables, and what a kernel would have in its memory.
 */
#include <cmocka.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "hv-interface/bpf/guest-maps.h"
#include "hv-interface/bpf/program.h"
#include "libutil/clock.h"
#include "libutil/log.h"

#ifdef __x86_64__

#include "tests/unit/hv-interface/bpf/known-guest.h"
#include "tests/unit/hv-interface/bpf/record-reader.h"

enum { PERIOD_NS = 500000, RING_PAGES = 2048, WANTED = 100, LIMIT_MS = 20000 };

#define USER_PARTS                                                                                 \
	(VMOP_GUEST_HAS_REGS | VMOP_GUEST_HAS_SP | VMOP_GUEST_HAS_PAGE_TABLE |                     \
	 VMOP_GUEST_HAS_GPA | VMOP_GUEST_HAS_CODE | VMOP_GUEST_IS_USER)

static struct vmop_bpf_program *program;
static struct vmop_guest_maps *maps;

/* What the records of this process's vCPU are checked against, and how many there were. */
struct seen {
	struct known_guest *guest;
	void (*check)(struct seen *seen, const struct vmop_guest_context *context);
	struct vmop_guest_numbers numbers;
	uint64_t contexts, states, perf_guest_samples, host_samples_after_state;
	uint64_t with_task;
	uint32_t tid_of_state[READER_CPUS_MAX]; /* 0: the CPU's last record was another */
	uint64_t gaps[VMOP_GUEST_N_GAPS];
};

static const uint8_t *window(const struct vmop_guest_context *context,
			     enum vmop_guest_window_kind kind)
{
	return (const uint8_t *)context + vmop_guest_window_offset(context, kind);
}

static uint64_t word_of_window(const struct vmop_guest_context *context,
			       enum vmop_guest_window_kind kind, uint32_t at)
{
	uint64_t word;
	memcpy(&word, window(context, kind) + at, sizeof(word));
	return word;
}

/* Check what holds for every record, whatever the guest's memory says. */
static void check_any(const struct vmop_bpf_guest *record)
{
	const struct vmop_guest_context *context = (const void *)((const uint8_t *)record + 20);
	static const uint32_t most[] = {VMOP_GUEST_UNKNOWN_SP_WINDOW_MAX,
					VMOP_GUEST_KERNEL_WINDOW_MAX, VMOP_GUEST_USER_WINDOW_MAX};
	assert_int_equal(record->event, 7);
	assert_int_equal(record->reserved, 0);
	assert_int_equal(record->period_events, PERIOD_NS);
	assert_int_equal(record->len_bytes, vmop_guest_context_bytes(context));
	assert_int_equal(context->parts & ~(uint32_t)VMOP_GUEST_ALL_PARTS, 0);
	assert_true(context->gap < VMOP_GUEST_N_GAPS);
	assert_true(context->code_bytes <= 16);
	assert_int_equal(context->vmm_pid, getpid());
	assert_int_equal(context->vcpu, 0);
	for (int kind = 0; kind < VMOP_GUEST_N_WINDOWS; kind++) {
		assert_true(context->window_bytes[kind] <= most[kind]);
		assert_int_equal(context->window_bytes[kind] % 8, 0);
		for (uint32_t at = 0; at < context->window_bytes[kind]; at += 8)
			assert_true(word_of_window(context, kind, at) != SECRET);
	}
	const uint64_t *words = (const uint64_t *)context;
	for (size_t i = 0; i < sizeof(*context) / sizeof(*words); i++)
		assert_true(words[i] != SECRET);
}

static void look(void *arg, const struct seen_record *record)
{
	struct seen *seen = arg;
	uint32_t state_tid = seen->tid_of_state[record->cpu];
	seen->tid_of_state[record->cpu] = 0;
	if (record->pid != (uint32_t)getpid())
		return;
	if (!record->guest) {
		uint16_t mode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;
		bool is_guest = mode == PERF_RECORD_MISC_GUEST_KERNEL ||
				mode == PERF_RECORD_MISC_GUEST_USER;
		seen->perf_guest_samples += is_guest;
		assert_true(!state_tid || state_tid == record->tid);
		seen->host_samples_after_state += state_tid != 0;
		return;
	}
	check_any(record->guest);
	const struct vmop_guest_context *context =
		(const void *)((const uint8_t *)record->guest + 20);
	bool is_state = record->guest->kind == VMOP_BPF_GUEST_STATE;
	assert_true(is_state || record->guest->kind == VMOP_BPF_GUEST);
	assert_int_equal(is_state, (context->parts & VMOP_GUEST_IS_EXITED) != 0);
	seen->states += is_state;
	seen->contexts += !is_state;
	seen->with_task += (context->parts & VMOP_GUEST_HAS_TASK) != 0;
	seen->gaps[context->gap]++;
	if (is_state)
		seen->tid_of_state[record->cpu] = record->tid;
	if (seen->check)
		seen->check(seen, context);
}

/* Sample the running guest until there were enough records; then check the counters. */
static void sample(struct seen *seen, void (*meanwhile)(struct seen *seen))
{
	struct record_reader reader;
	struct vmop_guest_maps_facts before, after;
	uint64_t end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + LIMIT_MS * UINT64_C(1000000);
	vmop_guest_maps_facts(maps, &before);
	record_reader_open(&reader, program, PERIOD_NS, RING_PAGES);
	while (seen->contexts + seen->states < WANTED && vmop_clock_ns(CLOCK_MONOTONIC) < end_ns) {
		if (meanwhile)
			meanwhile(seen);
		else
			usleep(20000);
		record_reader_drain(&reader, look, seen);
	}
	record_reader_stop(&reader);
	record_reader_drain(&reader, look, seen);
	vmop_guest_maps_facts(maps, &after);
	record_reader_close(&reader);
	assert_false(seen->guest->ended_early);
	assert_true(seen->contexts + seen->states >= WANTED);
	assert_int_equal(after.n_contexts - before.n_contexts, seen->contexts);
	assert_int_equal(after.n_exited - before.n_exited, seen->states);
	/* perf counts a record without room and names the number: a slow machine drains late. */
	uint64_t full = after.n_ring_full - before.n_ring_full;
	assert_true(full >= reader.n_lost);
	uint64_t kept = after.n_samples - before.n_samples - seen->contexts;
	assert_true(kept - seen->perf_guest_samples <= full);
	assert_true(seen->contexts + seen->states > full);
	printf("%s: %llu contexts, %llu states, %llu kept; %llu ns each\n", after.virtualisation,
	       (unsigned long long)seen->contexts, (unsigned long long)seen->states,
	       (unsigned long long)kept,
	       (unsigned long long)((after.cost_ns - before.cost_ns) /
				    (seen->contexts + seen->states + kept)));
}

static void start(struct seen *seen, struct known_guest *guest, int n_levels, enum known_mode mode)
{
	*seen = (struct seen){.guest = guest};
	const char *why = known_guest_init(guest, n_levels, mode);
	if (why) {
		printf("skipped: %s\n", why);
		known_guest_deinit(guest);
		skip();
	}
	known_guest_numbers(guest, &seen->numbers);
}

static void go(struct seen *seen)
{
	assert_null(known_guest_start(seen->guest));
	usleep(50000); /* it reaches its loop */
}

static void put(const struct seen *seen)
{
	assert_true(vmop_guest_maps_put(maps, (uint32_t)getpid(), &seen->numbers));
}

static void finish(struct seen *seen)
{
	vmop_guest_maps_remove(maps, (uint32_t)getpid());
	known_guest_deinit(seen->guest);
}

static void check_registers(const struct seen *seen, const struct vmop_guest_context *context)
{
	uint64_t past = context->regs[16] - CODE_ADDRESS;
	assert_true(past == 0 || past == 3);
	for (int i = 1; i < 16; i++)
		assert_true(context->regs[i] == seen->guest->regs[i]);
	assert_true(context->page_table == seen->guest->root);
}

static void check_code(const struct seen *seen, const struct vmop_guest_context *context)
{
	uint64_t past = context->regs[16] - CODE_ADDRESS;
	assert_true(context->gpa == seen->guest->code_gpa + past);
	assert_int_equal(context->code_bytes, CODE_BYTES - past);
	assert_memory_equal(context->code, known_guest_at(seen->guest, context->gpa),
			    context->code_bytes);
}

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
	struct known_guest guest;
	struct seen seen;
	(void)state;
	start(&seen, &guest, 4, KNOWN_USER);
	seen.check = check_unknown;
	go(&seen);
	sample(&seen, NULL);
	assert_int_equal(seen.states, 0); /* nobody asked for stacks */
	finish(&seen);
}

static void check_task(const struct seen *seen, const struct vmop_guest_context *context)
{
	assert_true(context->parts & VMOP_GUEST_HAS_TASK);
	assert_true(context->task == seen->guest->task);
	assert_int_equal(context->pid, TASK_TGID);
	assert_int_equal(context->tid, TASK_PID);
	assert_true(context->start_time_ns == TASK_START_TIME);
	assert_memory_equal(context->comm, TASK_COMM, sizeof(TASK_COMM));
}

static void check_file(const struct seen *seen, const struct vmop_guest_context *context)
{
	assert_true(context->parts & VMOP_GUEST_HAS_PAGE);
	assert_true(context->parts & VMOP_GUEST_HAS_INODE);
	assert_true(context->mapping == seen->guest->mapping);
	assert_int_equal(context->index, FILE_INDEX);
	assert_true(context->inode == seen->guest->inode);
	assert_true(context->superblock == seen->guest->superblock);
	assert_true(context->inode_number == FILE_INODE);
	assert_int_equal(context->inode_generation, FILE_GENERATION);
}

/* Check a window whose words are their own addresses. */
static void check_window(const struct vmop_guest_context *context, enum vmop_guest_window_kind kind,
			 uint64_t address, uint32_t bytes)
{
	assert_int_equal(context->window_bytes[kind], bytes);
	if (bytes)
		assert_true(context->window_address[kind] == address);
	for (uint32_t at = 0; at < bytes; at += 8)
		assert_true(word_of_window(context, kind, at) == address + at);
}

static void check_known(struct seen *seen, const struct vmop_guest_context *context)
{
	uint32_t parts =
		USER_PARTS | VMOP_GUEST_HAS_TASK | VMOP_GUEST_HAS_PAGE | VMOP_GUEST_HAS_INODE;
	assert_int_equal(context->parts & ~(uint32_t)VMOP_GUEST_IS_EXITED, parts);
	assert_int_equal(context->gap, VMOP_GUEST_GAP_NONE);
	assert_int_equal(context->n_gap_parts, 0);
	assert_true(context->generation == seen->numbers.generation);
	check_registers(seen, context);
	check_code(seen, context);
	check_task(seen, context);
	check_file(seen, context);
	check_window(context, VMOP_GUEST_KERNEL_WINDOW, 0, 0);
	check_window(context, VMOP_GUEST_TASK_WINDOW, 0, 0);
	uint32_t wanted = seen->numbers.user_window_bytes, there = USER_STACK_END - USER_SP;
	check_window(context, VMOP_GUEST_USER_WINDOW, USER_SP, wanted < there ? wanted : there);
}

static void known_with(int n_levels, uint32_t user_window_bytes, bool has_direct_map)
{
	struct known_guest guest;
	struct seen seen;
	start(&seen, &guest, n_levels, KNOWN_USER);
	seen.check = check_known;
	seen.numbers.user_window_bytes = user_window_bytes;
	if (!has_direct_map)
		seen.numbers.direct_map = seen.numbers.direct_map_bytes = 0;
	put(&seen);
	go(&seen);
	sample(&seen, NULL);
	assert_true(user_window_bytes || !seen.states);
	finish(&seen);
}

static void a_known_kernel_has_task_page_and_file(void **state)
{
	(void)state;
	known_with(4, 0, true);
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
	struct known_guest guest;
	struct seen seen;
	(void)state;
	start(&seen, &guest, 4, KNOWN_KERNEL);
	seen.check = check_kernel;
	seen.numbers.kernel_window_bytes = VMOP_GUEST_KERNEL_WINDOW_MAX;
	seen.numbers.user_window_bytes = VMOP_GUEST_USER_WINDOW_MAX;
	put(&seen);
	go(&seen);
	sample(&seen, NULL);
	finish(&seen);
}

#endif

int main(void)
{
#ifdef __x86_64__
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_guest_of_an_unknown_kernel_has_registers_and_code),
		cmocka_unit_test(a_known_kernel_has_task_page_and_file),
		cmocka_unit_test(the_kernels_tables_serve_without_a_direct_map),
		cmocka_unit_test(the_users_stack_is_copied_over_its_pages),
		cmocka_unit_test(the_users_stack_ends_at_an_absent_page),
		cmocka_unit_test(tables_of_five_levels_are_walked),
		cmocka_unit_test(kernel_code_has_the_stacks_and_the_users_registers),
	};
	struct vmop_bpf_request request = {.wants_guests = true};
	if (access("/dev/kvm", R_OK | W_OK) < 0) {
		puts("skipped: /dev/kvm can't be opened");
		return 77;
	}
	/* The verifier's reason, in a machine that is not reached otherwise. */
	if (getenv("VMOP_TEST_VERBOSE"))
		vmop_log_init("guest", VMOP_LOG_DEBUG);
	if (vmop_bpf_program_load(&request, &program))
		return 1;
	if (!program) {
		printf("skipped: no contexts of guests, because %s\n", request.no_guests->message);
		return 77;
	}
	maps = vmop_bpf_program_guest_maps(program);
	int status = cmocka_run_group_tests(tests, NULL, NULL);
	vmop_bpf_program_destroy(program);
	return status;
#else
	puts("skipped: the guest is written for x86-64");
	return 77;
#endif
}
