// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/hv-interface/bpf/guest-samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/perf_event.h>

#include "libutil/clock.h"
#include "libutil/log.h"

#ifdef __x86_64__

enum { PERIOD_NS = 500000, RING_PAGES = 2048, WANTED = 100, LIMIT_MS = 20000 };

struct vmop_bpf_program *program;
struct vmop_guest_maps *maps;

/* The running test has these; its end stops them, even where it fails. */
struct known_guest guest;
static struct record_reader reader;
static bool has_guest, has_reader;

static const uint8_t *window(const struct vmop_guest_context *context,
			     enum vmop_guest_window_kind kind)
{
	return (const uint8_t *)context + vmop_guest_window_offset(context, kind);
}

uint64_t word_of_window(const struct vmop_guest_context *context, enum vmop_guest_window_kind kind,
			uint32_t at)
{
	uint64_t word;
	memcpy(&word, window(context, kind) + at, sizeof(word));
	return word;
}

/* Check the facts that hold for every record, whatever the guest's memory has. */
static void check_any(const struct vmop_bpf_guest *record)
{
	const struct vmop_guest_context *context = (const void *)((const uint8_t *)record + 20);
	static const uint32_t most[] = {VMOP_GUEST_UNKNOWN_SP_WINDOW_MAX,
					VMOP_GUEST_KERNEL_WINDOW_MAX, VMOP_GUEST_USER_WINDOW_MAX};
	assert_int_equal(record->event, READER_EVENT);
	assert_int_equal(record->reserved, 0);
	assert_int_equal(record->period_events, PERIOD_NS);
	assert_int_equal(record->len_bytes, vmop_guest_context_bytes(context));
	assert_int_equal(context->parts & ~(uint32_t)VMOP_GUEST_ALL_PARTS, 0);
	assert_true(context->gap < VMOP_GUEST_N_GAPS);
	assert_true(context->code_bytes <= 16);
	assert_int_equal(context->vmm_pid, getpid());
	assert_int_equal(context->vcpu, KNOWN_VCPU);
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

/* Count a record by its kind. Return whether it is of this process. */
static bool count(struct seen *seen, const struct seen_record *record)
{
	uint16_t mode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	if (!record->guest)
		seen->all_perf_guest_samples += mode == PERF_RECORD_MISC_GUEST_KERNEL ||
						mode == PERF_RECORD_MISC_GUEST_USER;
	else if (record->guest->kind == VMOP_BPF_GUEST_STATE)
		seen->all_states++;
	else
		seen->all_contexts++;
	return record->pid == (uint32_t)getpid();
}

static void look(void *arg, const struct seen_record *record)
{
	struct seen *seen = arg;
	uint32_t state_tid = seen->tid_of_state[record->cpu];
	seen->tid_of_state[record->cpu] = 0;
	if (!count(seen, record))
		return;
	if (!record->guest) {
		assert_true(!state_tid || state_tid == record->tid);
		seen->host_samples_after_state += state_tid != 0;
		seen->vmm_samples_after_state +=
			state_tid &&
			(record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER;
		return;
	}
	check_any(record->guest);
	seen->cpus |= UINT64_C(1) << record->cpu % 64;
	const struct vmop_guest_context *context =
		(const void *)((const uint8_t *)record->guest + 20);
	bool is_state = record->guest->kind == VMOP_BPF_GUEST_STATE;
	assert_true(is_state || record->guest->kind == VMOP_BPF_GUEST);
	assert_int_equal(is_state, (context->parts & VMOP_GUEST_IS_EXITED) != 0);
	seen->states += is_state;
	seen->contexts += !is_state;
	seen->switching += (context->parts & VMOP_GUEST_IS_SWITCHING) != 0;
	seen->with_task += (context->parts & VMOP_GUEST_HAS_TASK) != 0;
	seen->gaps[context->gap]++;
	if (is_state)
		seen->tid_of_state[record->cpu] = record->tid;
	if (seen->check)
		seen->check(seen, context);
}

/* Check the program's counters since the one before against the records. */
static void check_facts(const struct seen *seen, const struct vmop_guest_maps_facts *before)
{
	struct vmop_guest_maps_facts after;
	vmop_guest_maps_facts(maps, &after);
	uint64_t contexts = after.n_contexts - before->n_contexts;
	uint64_t states = after.n_exited - before->n_exited;
	assert_int_equal(contexts, seen->all_contexts);
	assert_int_equal(states, seen->all_states);
	/* perf counts a record without room and names the number: a slow machine drains late. */
	uint64_t full = after.n_ring_full - before->n_ring_full;
	assert_true(full >= reader.n_lost);
	assert_true(after.n_switching - before->n_switching >= seen->switching);
	uint64_t kept = after.n_samples - before->n_samples - contexts;
	assert_true(kept - seen->all_perf_guest_samples <= full);
	assert_true(contexts + states > full);
	printf("%s: %llu contexts, %llu states, %llu kept; %llu ns each\n", after.virtualisation,
	       (unsigned long long)contexts, (unsigned long long)states, (unsigned long long)kept,
	       (unsigned long long)((after.cost_ns - before->cost_ns) /
				    (contexts + states + kept)));
}

/* Sample the running guest until there were enough records; then check the counters. */
void sample(struct seen *seen, void (*meanwhile)(struct seen *seen))
{
	struct vmop_guest_maps_facts before;
	uint64_t end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + LIMIT_MS * UINT64_C(1000000);
	seen->contexts = seen->states = seen->switching = 0;
	seen->all_contexts = seen->all_states = seen->all_perf_guest_samples = 0;
	vmop_guest_maps_facts(maps, &before);
	has_reader = true;
	assert_true(record_reader_open(&reader, program, PERIOD_NS, RING_PAGES));
	while (seen->contexts + seen->states < WANTED && vmop_clock_ns(CLOCK_MONOTONIC) < end_ns) {
		if (meanwhile)
			meanwhile(seen);
		else
			usleep(20000);
		record_reader_drain(&reader, look, seen);
	}
	record_reader_stop(&reader);
	record_reader_drain(&reader, look, seen);
	record_reader_close(&reader);
	has_reader = false;
	assert_false(guest.ended_early);
	assert_int_equal(reader.n_malformed, 0);
	assert_true(seen->contexts + seen->states >= WANTED);
	check_facts(seen, &before);
}

int clean(void **state)
{
	(void)state;
	if (has_reader)
		record_reader_close(&reader);
	if (has_guest)
		known_guest_deinit(&guest);
	has_reader = has_guest = false;
	vmop_guest_maps_remove(maps, (uint32_t)getpid());
	return 0;
}

/* Take the guest that was made, unless it was not for the reason `why`. */
static void take(struct seen *seen, const char *why)
{
	*seen = (struct seen){.guest = &guest};
	has_guest = true;
	if (why) {
		printf("skipped: %s\n", why);
		skip();
	}
	known_guest_numbers(&guest, &seen->numbers);
}

void start(struct seen *seen, int n_levels, enum known_mode mode)
{
	take(seen, known_guest_init(&guest, n_levels, mode));
}

void start_last(struct seen *seen, uint32_t n_others)
{
	take(seen, known_guest_init_last(&guest, n_others));
}

void go(struct seen *seen)
{
	assert_null(known_guest_start(seen->guest));
	usleep(50000); /* it reaches its loop */
}

void put(const struct seen *seen)
{
	assert_true(vmop_guest_maps_put(maps, (uint32_t)getpid(), &seen->numbers));
}

void check_registers(const struct seen *seen, const struct vmop_guest_context *context)
{
	uint64_t past = context->regs[16] - CODE_ADDRESS;
	assert_true(past == 0 || past == 3);
	for (int i = 1; i < 16; i++)
		assert_true(context->regs[i] == seen->guest->regs[i]);
	assert_true(context->page_table == seen->guest->root);
}

void check_code(const struct seen *seen, const struct vmop_guest_context *context)
{
	uint64_t past = context->regs[16] - CODE_ADDRESS;
	assert_true(context->gpa == seen->guest->code_gpa + past);
	assert_int_equal(context->code_bytes, CODE_BYTES - past);
	assert_memory_equal(context->code, known_guest_at(seen->guest, context->gpa),
			    context->code_bytes);
}

void check_task(const struct seen *seen, const struct vmop_guest_context *context)
{
	assert_true(context->parts & VMOP_GUEST_HAS_TASK);
	assert_true(context->task == seen->guest->task);
	assert_int_equal(context->pid, TASK_TGID);
	assert_int_equal(context->tid, TASK_PID);
	assert_true(context->start_time_ns == TASK_START_TIME);
	assert_memory_equal(context->comm, TASK_COMM, sizeof(TASK_COMM));
}

void check_file(const struct seen *seen, const struct vmop_guest_context *context)
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
void check_window(const struct vmop_guest_context *context, enum vmop_guest_window_kind kind,
		  uint64_t address, uint32_t bytes)
{
	assert_int_equal(context->window_bytes[kind], bytes);
	if (bytes)
		assert_true(context->window_address[kind] == address);
	for (uint32_t at = 0; at < bytes; at += 8)
		assert_true(word_of_window(context, kind, at) == address + at);
}

void check_known(struct seen *seen, const struct vmop_guest_context *context)
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

int begin_guest_tests(void)
{
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
	return 0;
}

void end_guest_tests(void)
{
	vmop_bpf_program_destroy(program);
}

#endif
