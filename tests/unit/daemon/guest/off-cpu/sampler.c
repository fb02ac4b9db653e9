// SPDX-License-Identifier: GPL-2.0-or-later
/* Rounds over the threads of a synthetic guest, which run and wait between them. */
#include "daemon/guest/off-cpu/sampler.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/guest/stacks/orc-tables.h"
#include "libutil/clock.h"
#include "tests/unit/libguest/opened.h"

#define PERIOD_NS (VMOP_NS_PER_S / 10)
#define BEGIN_NS (1000 * VMOP_NS_PER_S)
/* In the last function, __schedule (synthetic_options.function), and in others. */
#define IN_SCHEDULE (SYNTHETIC_TEXT + 70)
#define IN_WAIT (SYNTHETIC_TEXT + 160)
#define IN_CALLER (SYNTHETIC_TEXT + 320)

static struct vmop_blocked_sampler *sampler;
static struct vmop_guest_orc_tables *tables;
static struct vmop_guest_snapshot *snapshot;
static struct vmop_blocked_batch *batch;
static uint64_t now_ns;

static uint64_t member(uint64_t object, enum vmop_layout_field field)
{
	return synthetic_member(&made, object, field);
}

static void set(uint64_t object, enum vmop_layout_field field, uint64_t value)
{
	synthetic_put_u64(&made, member(object, field), value);
}

static uint64_t get(uint64_t object, enum vmop_layout_field field)
{
	return synthetic_get_u64(&made, member(object, field));
}

static void begin_with(unsigned states)
{
	const struct vmop_off_cpu options = {.hz = 10, .states = states};
	open_found(&(struct synthetic_options){
		.kallsyms = SYNTHETIC_ALL_RELATIVE, .stacks = true, .function = "__schedule"});
	assert_null(vmop_guest_orc_tables_read(guest, &tables));
	assert_null(vmop_guest_snapshot_processes(guest, 0, &snapshot));
	assert_null(vmop_blocked_sampler_create(guest, &options, &sampler));
	now_ns = BEGIN_NS;
}

static int begin(void **state)
{
	(void)state;
	begin_with(VMOP_OFF_CPU_DEFAULT_STATES);
	return 0;
}

static int end(void **state)
{
	(void)state;
	vmop_blocked_sampler_destroy(sampler);
	vmop_blocked_batch_destroy(batch);
	vmop_guest_orc_tables_unref(tables);
	vmop_guest_snapshot_free(snapshot);
	close_guest();
	batch = NULL;
	return 0;
}

/* Make a round after some time, and return the totals. */
static struct vmop_blocked_facts round_after(uint64_t ns)
{
	struct vmop_blocked_facts facts;
	now_ns += ns;
	assert_null(vmop_blocked_sampler_round(sampler, tables, snapshot, 500, now_ns));
	vmop_blocked_sampler_publish(sampler, &batch);
	vmop_blocked_sampler_facts(sampler, &facts);
	return facts;
}

/* A thread runs, and gives up the CPU again. */
static void run_thread(uint64_t task)
{
	set(task, VMOP_LAYOUT_TASK_SWITCHES, get(task, VMOP_LAYOUT_TASK_SWITCHES) + 1);
	set(made.run_queue, VMOP_LAYOUT_RQ_SWITCHES,
	    get(made.run_queue, VMOP_LAYOUT_RQ_SWITCHES) + 2);
}

/* Let the thread of task wait in __schedule, called from IN_CALLER. */
static void call_schedule(uint64_t task)
{
	uint64_t sp = get(task, VMOP_LAYOUT_TASK_SP), frame = sp + 256;
	set(sp, VMOP_LAYOUT_SWITCH_FRAME_PC, IN_SCHEDULE);
	set(sp, VMOP_LAYOUT_SWITCH_FRAME_BP, frame);
	synthetic_put_u64(&made, frame, 0);
	synthetic_put_u64(&made, frame + 8, IN_CALLER);
}

/* Return the time of process pid with that innermost frame; 0: none. */
static struct vmop_blocked_time time_of(uint32_t pid, uint64_t frame)
{
	struct vmop_blocked_time sum = {0};
	for (size_t i = 0; batch && i < vmop_blocked_batch_n(batch); i++) {
		struct vmop_blocked_thread thread;
		struct vmop_blocked_time time;
		vmop_blocked_batch_get(batch, i, &thread, &time);
		if (thread.pid != pid || thread.frames[0] != frame)
			continue;
		sum.n_samples += time.n_samples;
		sum.ns += time.ns;
	}
	return sum;
}

static void waiting_threads_have_the_whole_time(void **state)
{
	(void)state;
	struct vmop_blocked_facts facts = round_after(0);
	assert_int_equal(facts.n_threads, 2);
	assert_int_equal(facts.n_counted, 1); /* the other one is a kernel thread */
	assert_int_equal(facts.n_new, 2);
	facts = round_after(PERIOD_NS);
	facts = round_after(PERIOD_NS / 2 * 3);
	assert_int_equal(facts.n_rounds, 3);
	assert_int_equal(facts.n_reused, 2); /* nothing ran */
	assert_int_equal(vmop_blocked_batch_n(batch), 1);
	assert_int_equal(time_of(2, IN_WAIT - 1).n_samples, 3);
	assert_int_equal(time_of(2, IN_WAIT - 1).ns, PERIOD_NS * 7 / 2);
}

static void a_thread_that_ran_is_read_anew(void **state)
{
	(void)state;
	round_after(0);
	run_thread(made.task[2]);
	call_schedule(made.task[2]);
	struct vmop_blocked_facts facts = round_after(PERIOD_NS);
	assert_int_equal(facts.n_reused, 0);
	assert_int_equal(facts.n_threads, 2);
	assert_int_equal(facts.n_new, 1);
	assert_int_equal(vmop_blocked_batch_n(batch), 2);
	/* Without the scheduler's own frame. */
	assert_int_equal(time_of(2, IN_CALLER - 1).n_samples, 1);
	/* The same stack again is the same entry. */
	run_thread(made.task[2]);
	round_after(PERIOD_NS);
	assert_int_equal(vmop_blocked_batch_n(batch), 2);
	assert_int_equal(time_of(2, IN_CALLER - 1).n_samples, 2);
}

static void running_and_ready_threads_are_not_blocked(void **state)
{
	(void)state;
	set(made.task[1], VMOP_LAYOUT_TASK_STATE, 0);
	set(made.task[2], VMOP_LAYOUT_TASK_ON_CPU, 1);
	struct vmop_blocked_facts facts = round_after(0);
	assert_int_equal(facts.n_threads, 2);
	assert_int_equal(facts.n_running, 1);
	assert_int_equal(facts.n_counted, 0);
	assert_int_equal(vmop_blocked_batch_n(batch), 0);
	/* One of them blocks, uninterruptibly. */
	set(made.task[2], VMOP_LAYOUT_TASK_ON_CPU, 0);
	set(made.task[2], VMOP_LAYOUT_TASK_STATE, 2);
	run_thread(made.task[2]);
	facts = round_after(PERIOD_NS);
	assert_int_equal(facts.n_counted, 1);
	assert_int_equal(time_of(2, IN_WAIT - 1).n_samples, 1);
	/* It is woken, but does not run yet. */
	set(made.task[2], VMOP_LAYOUT_TASK_STATE, 0);
	set(made.run_queue, VMOP_LAYOUT_RQ_SWITCHES, 99);
	facts = round_after(PERIOD_NS);
	assert_int_equal(facts.n_counted, 0);
	assert_int_equal(time_of(2, IN_WAIT - 1).n_samples, 1);
}

static void kernel_threads_count_by_choice(void **state)
{
	(void)state;
	static const struct {
		unsigned states;
		uint64_t state;
		bool is_counted;
	} cases[] = {
		{VMOP_OFF_CPU_DEFAULT_STATES, 1, false},
		{VMOP_OFF_CPU_DEFAULT_STATES, 2, true},
		{VMOP_OFF_CPU_DEFAULT_STATES, 0x402, false}, /* TASK_IDLE */
		{VMOP_OFF_CPU_KERNEL_SLEEPING, 1, true},
		{VMOP_OFF_CPU_KERNEL_SLEEPING, 2, false},
		{VMOP_OFF_CPU_IDLE, 0x402, true},
		{VMOP_OFF_CPU_READY, 0, true},
		{VMOP_OFF_CPU_STOPPED, 4, true},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin_with(cases[i].states);
		set(made.task[2], VMOP_LAYOUT_TASK_MM, 0);
		set(made.task[2], VMOP_LAYOUT_TASK_STATE, cases[i].state);
		round_after(0);
		assert_int_equal(time_of(2, IN_WAIT - 1).n_samples, cases[i].is_counted);
		end(NULL);
	}
}

static void late_rounds_are_counted(void **state)
{
	(void)state;
	round_after(0);
	struct vmop_blocked_facts facts = round_after(10 * PERIOD_NS);
	assert_int_equal(facts.n_missed, 9);
	/* The one that came stands for all of the time. */
	assert_int_equal(time_of(2, IN_WAIT - 1).n_samples, 2);
	assert_int_equal(time_of(2, IN_WAIT - 1).ns, 11 * PERIOD_NS);
	uint64_t due_ns = vmop_blocked_sampler_due_ns(sampler);
	assert_true(due_ns >= now_ns + PERIOD_NS && due_ns < now_ns + PERIOD_NS / 2 * 3);
}

/* Each round reads the threads anew, and the rounds may take a thousandth of a CPU. */
static void rounds_keep_to_their_share_of_the_cpu(void **state)
{
	(void)state;
	struct vmop_blocked_facts facts = {0};
	while (facts.cpu_ns < 600 * VMOP_NS_PER_MS) { /* with a share of 0 nothing is earned */
		now_ns += PERIOD_NS;
		run_thread(made.task[2]);
		assert_null(vmop_blocked_sampler_round(sampler, tables, snapshot, 0, now_ns));
		vmop_blocked_sampler_facts(sampler, &facts);
	}
	assert_int_equal(facts.n_missed, 0);
	now_ns += PERIOD_NS;
	/* This is 100 ms above the savings, which take 100 s to earn. */
	assert_null(vmop_blocked_sampler_round(sampler, tables, snapshot, 1, now_ns));
	uint64_t due_ns = vmop_blocked_sampler_due_ns(sampler);
	assert_true(due_ns > now_ns + 50 * VMOP_NS_PER_S);
	now_ns = due_ns;
	facts = round_after(0);
	assert_true(facts.n_missed > 400);
}

static void a_taken_batch_is_replaced(void **state)
{
	(void)state;
	round_after(0);
	vmop_blocked_batch_destroy(batch);
	batch = NULL;
	round_after(PERIOD_NS);
	assert_int_equal(vmop_blocked_batch_n(batch), 1);
	assert_int_equal(time_of(2, IN_WAIT - 1).n_samples, 1);
}

static void unlisted_processes_are_asked_for(void **state)
{
	(void)state;
	uint64_t sp = get(made.task[2], VMOP_LAYOUT_TASK_SP);
	/* Its stack begins with the registers of user code. */
	set(sp, VMOP_LAYOUT_SWITCH_FRAME_BP, (sp + 512 - 21 * 8) | 1);
	synthetic_put_u64(&made, sp + 512 - 21 * 8 + 16 * 8, 0x401000); /* rip */
	synthetic_put_u64(&made, sp + 512 - 21 * 8 + 17 * 8, 0x33);	/* cs */
	synthetic_put_u64(&made, sp + 512 - 21 * 8 + 19 * 8, 0x7000);	/* rsp */
	round_after(0);
	assert_false(vmop_blocked_sampler_wants_list(sampler));
	set(made.task[2], VMOP_LAYOUT_TASK_TGID, 77);
	struct vmop_blocked_facts facts = round_after(PERIOD_NS);
	assert_int_equal(facts.n_reused, 1); /* no thread ran, so none was read */
	run_thread(made.task[2]);
	round_after(PERIOD_NS);
	assert_true(vmop_blocked_sampler_wants_list(sampler));
	assert_int_equal(time_of(77, IN_WAIT - 1).n_samples, 1);
	/* It is tried anew, although nothing ran, but not for ever. */
	for (int i = 0; i < 30; i++)
		facts = round_after(PERIOD_NS);
	assert_false(vmop_blocked_sampler_wants_list(sampler));
	assert_true(facts.n_reused > 1 && facts.n_reused < 30);
}

static void lies_are_bounded(void **state)
{
	(void)state;
	/* A list of threads that leads back to its first node, not to its head. */
	uint64_t node = member(made.task[2], VMOP_LAYOUT_TASK_THREAD_NODE);
	synthetic_put_u64(&made, node, node);
	struct vmop_error *err = vmop_blocked_sampler_round(sampler, tables, snapshot, 500, now_ns);
	struct vmop_blocked_facts facts;
	vmop_blocked_sampler_publish(sampler, &batch);
	vmop_blocked_sampler_facts(sampler, &facts);
	vmop_error_destroy(err);
	assert_true(facts.n_threads > 2);
	assert_true(!batch || vmop_blocked_batch_n(batch) <= 1);
	/* A frame pointer that leads around. */
	synthetic_put_u64(
		&made, node,
		member(get(made.task[2], VMOP_LAYOUT_TASK_SIGNAL), VMOP_LAYOUT_SIGNAL_THREADS));
	uint64_t sp = get(made.task[2], VMOP_LAYOUT_TASK_SP), frame = sp + 256;
	set(sp, VMOP_LAYOUT_SWITCH_FRAME_BP, frame);
	synthetic_put_u64(&made, frame, frame);
	synthetic_put_u64(&made, frame + 8, IN_CALLER);
	run_thread(made.task[2]);
	facts = round_after(PERIOD_NS);
	assert_int_equal(facts.n_counted, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(waiting_threads_have_the_whole_time, begin, end),
		cmocka_unit_test_setup_teardown(a_thread_that_ran_is_read_anew, begin, end),
		cmocka_unit_test_setup_teardown(running_and_ready_threads_are_not_blocked, begin,
						end),
		cmocka_unit_test(kernel_threads_count_by_choice),
		cmocka_unit_test_setup_teardown(late_rounds_are_counted, begin, end),
		cmocka_unit_test_setup_teardown(rounds_keep_to_their_share_of_the_cpu, begin, end),
		cmocka_unit_test_setup_teardown(a_taken_batch_is_replaced, begin, end),
		cmocka_unit_test_setup_teardown(unlisted_processes_are_asked_for, begin, end),
		cmocka_unit_test_setup_teardown(lies_are_bounded, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
