// SPDX-License-Identifier: GPL-2.0-or-later
/* The threads of a synthetic guest, with the registers and stacks of those that wait. */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/libguest/opened.h"

static struct vmop_guest_thread seen[4];
static size_t n_seen, torn;

static bool see(const struct vmop_guest_thread *thread, void *arg)
{
	(void)arg;
	assert_true(n_seen < 4);
	seen[n_seen++] = *thread; /* its stack is valid only during the call */
	return true;
}

static void read_threads(void)
{
	n_seen = 0;
	assert_null(vmop_guest_each_thread(guest, see, NULL, &torn));
}

static void open_stacks(bool is_arm64)
{
	open_found(&(struct synthetic_options){
		.kallsyms = SYNTHETIC_ALL_RELATIVE, .stacks = true, .arm64 = is_arm64});
}

static uint64_t member(uint64_t object, enum vmop_layout_field field)
{
	return synthetic_member(&made, object, field);
}

static void set(uint64_t object, enum vmop_layout_field field, uint64_t value)
{
	synthetic_put_u64(&made, member(object, field), value);
}

static uint64_t stack_of(uint64_t task)
{
	return synthetic_get_u64(&made, member(task, VMOP_LAYOUT_TASK_STACK));
}

static void waiting_threads(void **state)
{
	(void)state;
	for (int arm64 = 0; arm64 < 2; arm64++) {
		open_stacks(arm64);
		read_threads();
		assert_int_equal(n_seen, 2); /* the first task idles */
		assert_int_equal(torn, 0);
		const struct vmop_guest_thread *worker = &seen[1];
		uint32_t frame =
			arm64 ? 0 : (uint32_t)made.layout.value[VMOP_LAYOUT_SWITCH_FRAME_BYTES];
		assert_string_equal(worker->comm, "worker");
		assert_int_equal(worker->pid, 2);
		assert_int_equal(worker->tid, 2);
		assert_int_equal(worker->state, 'S');
		assert_int_equal(worker->switches, 7);
		assert_int_equal(worker->task, made.task[2]);
		assert_int_equal(worker->sp, stack_of(made.task[2]) + 16384 - 512 + frame);
		assert_int_equal(worker->stack_bytes, 512 - frame);
		assert_int_equal(worker->pc, SYNTHETIC_TEXT + 160);
		assert_true(vmop_guest_thread_waits(guest, worker->task, 7));
		assert_false(vmop_guest_thread_waits(guest, worker->task, 6));
		close_guest();
	}
}

/* The numbers of a thread's task_struct, or none if one of the offsets is missing. */
static void accounts(void **state)
{
	static const enum vmop_layout_field fields[] = {
		VMOP_LAYOUT_TASK_RUN_NS, VMOP_LAYOUT_TASK_WAIT_NS, VMOP_LAYOUT_TASK_RUNS,
		VMOP_LAYOUT_TASK_USER_NS, VMOP_LAYOUT_TASK_SYSTEM_NS};
	bool has_all = true;
	(void)state;
	open_stacks(false);
	for (size_t i = 0; i < 5; i++) {
		has_all &= vmop_layout_has(&made.layout, fields[i]);
		if (vmop_layout_has(&made.layout, fields[i]))
			set(made.task[2], fields[i], 1000 + i);
	}
	read_threads();
	const struct vmop_guest_account *account = &seen[1].account;
	assert_int_equal(account->is_known, has_all);
	if (has_all) {
		assert_int_equal(account->run_ns, 1000);
		assert_int_equal(account->wait_ns, 1001);
		assert_int_equal(account->n_runs, 1002);
		assert_int_equal(account->user_ns, 1003);
		assert_int_equal(account->system_ns, 1004);
	} else {
		print_message("# this kernel keeps no account of runs\n");
		assert_int_equal(account->run_ns, 0);
	}
	close_guest();
}

static void running_and_ended_threads(void **state)
{
	(void)state;
	open_stacks(false);
	set(made.task[1], VMOP_LAYOUT_TASK_ON_CPU, 1);
	set(made.task[2], VMOP_LAYOUT_TASK_EXIT_STATE, 0x20);
	read_threads();
	assert_int_equal(n_seen, 2);
	assert_true(seen[0].is_running);
	assert_int_equal(seen[0].stack_bytes, 0);
	assert_int_equal(seen[1].state, 'Z');
	assert_int_equal(seen[1].stack_bytes, 0);
	assert_false(vmop_guest_thread_waits(guest, made.task[1], 7));
	close_guest();
}

static void stacks_elsewhere_are_torn(void **state)
{
	const uint64_t elsewhere[] = {0,
				      stack_of(made.task[2]) - 8,
				      stack_of(made.task[2]) + 16384,
				      stack_of(made.task[2]) + 16384 - 8,
				      UINT64_MAX,
				      0x7ffc00000000};
	(void)state;
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
		set(made.task[2], VMOP_LAYOUT_TASK_SP, elsewhere[i]);
		read_threads();
		assert_int_equal(n_seen, 2);
		assert_int_equal(torn, 1);
		assert_true(seen[1].is_torn);
		assert_int_equal(seen[1].stack_bytes, 0);
		assert_int_equal(vmop_guest_last_cost(guest).retries, 2);
	}
}

static void hostile_lists(void **state)
{
	(void)state;
	open_stacks(false);
	uint64_t node = member(made.task[2], VMOP_LAYOUT_TASK_THREAD_NODE);
	synthetic_put_u64(&made, node, UINT64_C(0x7ffc00000000));
	read_threads();
	assert_int_equal(n_seen, 2);
	assert_true(torn > 0);
	set(made.task[2], VMOP_LAYOUT_TASK_SIGNAL, 0); /* it has exited */
	read_threads();
	assert_int_equal(n_seen, 1);
	close_guest();
}

static bool count(const struct vmop_guest_thread *thread, void *arg)
{
	size_t *n = arg;
	(void)thread;
	return ++*n < 100;
}

/* A visitor can end a list that never ends; without it the budget does. */
static void circles_end(void **state)
{
	size_t n = 0;
	(void)state;
	open_stacks(false);
	uint64_t node = member(made.task[2], VMOP_LAYOUT_TASK_THREAD_NODE);
	synthetic_put_u64(&made, node, node);
	assert_null(vmop_guest_each_thread(guest, count, &n, NULL));
	assert_int_equal(n, 100);
	close_guest();
}

static int open_for_stacks(void **state)
{
	(void)state;
	open_stacks(false);
	return 0;
}

static int close_after(void **state)
{
	(void)state;
	close_guest();
	return 0;
}

/* ---- threads that are read again and again ------------------------------------------ */

static bool knows_worker(const struct vmop_guest_thread *thread, void *arg)
{
	(void)arg;
	return thread->task == made.task[2] && thread->pid == 2 && thread->tid == 2 &&
	       thread->switches == 7;
}

static void read_new_waits(void)
{
	n_seen = 0;
	assert_null(vmop_guest_each_new_wait(guest, knows_worker, see, NULL, &torn));
	assert_int_equal(n_seen, 2);
}

static void known_threads_are_not_read(void **state)
{
	(void)state;
	open_stacks(false);
	read_new_waits();
	assert_false(seen[0].is_known);
	assert_non_null(seen[0].stack);
	assert_true(seen[1].is_known);
	assert_int_equal(seen[1].state, 'S');
	assert_null(seen[1].stack);
	/* It runs, and later waits again. */
	set(made.task[2], VMOP_LAYOUT_TASK_ON_CPU, 1);
	read_new_waits();
	assert_false(seen[1].is_known);
	assert_true(seen[1].is_running);
	set(made.task[2], VMOP_LAYOUT_TASK_ON_CPU, 0);
	set(made.task[2], VMOP_LAYOUT_TASK_FORCED_SWITCHES, 1);
	read_new_waits();
	assert_false(seen[1].is_known);
	assert_int_equal(seen[1].switches, 8);
	assert_non_null(seen[1].stack);
	close_guest();
}

static void switches_of_all_cpus(void **state)
{
	(void)state;
	uint64_t switches;
	open_stacks(false);
	set(made.run_queue, VMOP_LAYOUT_RQ_SWITCHES, 4711);
	assert_true(vmop_guest_switches(guest, &switches));
	assert_int_equal(switches, 4711);
	synthetic_put_u64(&made, made.per_cpu_offsets, UINT64_C(1) << 40); /* where nothing is */
	assert_false(vmop_guest_switches(guest, &switches));
	close_guest();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waiting_threads),
		cmocka_unit_test(accounts),
		cmocka_unit_test(running_and_ended_threads),
		cmocka_unit_test_setup_teardown(stacks_elsewhere_are_torn, open_for_stacks,
						close_after),
		cmocka_unit_test(hostile_lists),
		cmocka_unit_test(circles_end),
		cmocka_unit_test(known_threads_are_not_read),
		cmocka_unit_test(switches_of_all_cpus),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
