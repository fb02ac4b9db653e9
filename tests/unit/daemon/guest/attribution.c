// SPDX-License-Identifier: GPL-2.0-or-later
/* The rules of guest/attribution.h, on synthetic processes and readings. */
#include "daemon/guest/attribution.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libguest/tasks/snapshot-build.h"

#define MS_NS 1000000ull
#define NOW_NS (100000 * MS_NS) /* the sample's time */
#define STATIC 0x401000ull	/* the address of programs that are not position independent */
#define LIBRARY 0x7f0000001000ull
#define NOWHERE 0x600000000000ull

/* A program and its mapping.  Its page table is at pid * 4096 in generation 0. */
struct program {
	uint32_t pid;
	const char *path;
	uint64_t address;
	unsigned generation; /* how many programs pid executed before */
};

static uint64_t pgd_of(const struct program *program)
{
	return (program->pid + 1000ull * program->generation) * 4096;
}

static struct vmop_guest_tasks *list(const struct program *programs, size_t n)
{
	struct vmop_guest_snapshot *snapshot;
	uint32_t none, path;
	assert_null(vmop_guest_snapshot_new(&snapshot));
	assert_null(vmop_guest_snapshot_text(snapshot, "", &none));
	for (size_t i = 0; i < n; i++) {
		struct vmop_guest_vma vma = {.start = programs[i].address & ~0xfffull,
					     .end = (programs[i].address & ~0xfffull) + 0x2000,
					     .vm_flags = 5};
		struct vmop_guest_process process = {.pid = programs[i].pid,
						     .pgd_gpa = pgd_of(&programs[i])};
		snprintf(process.comm, sizeof(process.comm), "p%u", process.pid);
		assert_null(vmop_guest_snapshot_text(snapshot, programs[i].path, &path));
		assert_null(vmop_guest_snapshot_add(snapshot, &process, none, &vma, &path, 1));
	}
	const struct vmop_paging kernel = {.arch = VMOP_PAGING_X86_64, .levels = 4};
	assert_null(vmop_guest_snapshot_finish(snapshot, 0, &kernel, false));
	return vmop_guest_tasks_create(snapshot, 1);
}

/* The view of a guest with two vCPUs. */
static struct vmop_guest_vcpu_readings readings[2];
static struct vmop_guest_view view;
static struct vmop_guest_attributor attributor;

static int forget(void **state)
{
	(void)state;
	vmop_guest_tasks_unref(view.tasks);
	vmop_guest_tasks_unref(view.tasks_before);
	memset(readings, 0, sizeof(readings));
	view = (struct vmop_guest_view){.vcpus = readings, .n_vcpus = 2};
	return 0;
}

#define LIST(...)                                                                                  \
	list((const struct program[]){__VA_ARGS__},                                                \
	     sizeof((const struct program[]){__VA_ARGS__}) / sizeof(struct program))

static void add_reading(uint32_t vcpu, int at_ms, const struct program *program)
{
	readings[vcpu].at[readings[vcpu].n++ % VMOP_GUEST_READINGS] = (struct vmop_guest_reading){
		.time_ns = (uint64_t)((int64_t)NOW_NS + at_ms * (int64_t)MS_NS),
		.pid = program ? program->pid : 0,
		.pgd_gpa = program ? pgd_of(program) : 0,
		.is_kernel_thread = !program,
	};
}

static struct vmop_guest_verdict user(uint64_t address)
{
	vmop_guest_attributor_set_view(&attributor, &view);
	return vmop_guest_attribute_user(&attributor, 0, NOW_NS, address);
}

static struct vmop_guest_verdict kernel(void)
{
	vmop_guest_attributor_set_view(&attributor, &view);
	return vmop_guest_attribute_kernel(&attributor, 0, NOW_NS);
}

/* Check that the verdict has this process, its file, and this certainty. */
static void is(struct vmop_guest_verdict verdict, const struct program *program,
	       enum vmop_certainty certainty)
{
	assert_int_equal(verdict.certainty, certainty);
	assert_false(verdict.is_contested);
	assert_non_null(verdict.process);
	assert_int_equal(verdict.process->pid, program->pid);
	assert_non_null(verdict.vma);
	assert_string_equal(verdict.vma->path, program->path);
}

static void has_no_process(struct vmop_guest_verdict verdict)
{
	assert_int_equal(verdict.certainty, VMOP_CERTAIN_EXACT);
	assert_null(verdict.process);
	assert_null(verdict.vma);
	assert_false(verdict.is_contested);
}

static const struct program hot = {7, "/bin/hot", STATIC, 0};
static const struct program shell = {1, "/bin/shell", STATIC, 0};
static const struct program dynamic = {9, "/lib/work", LIBRARY, 0};

static void two_readings_that_agree_are_exact(void **state)
{
	(void)state;
	view.tasks = LIST(shell, dynamic);
	add_reading(0, -20, &dynamic);
	is(user(LIBRARY), &dynamic, VMOP_CERTAIN_LIKELY); /* no reading after it yet */
	add_reading(0, 20, &dynamic);
	is(user(LIBRARY), &dynamic, VMOP_CERTAIN_EXACT);
	is(user(LIBRARY + 0x1fff), &dynamic, VMOP_CERTAIN_EXACT);
	has_no_process(user(LIBRARY + 0x2000)); /* after its mapping */
}

static void an_address_of_one_process_is_likely_its(void **state)
{
	(void)state;
	view.tasks = LIST(shell, dynamic);
	is(user(LIBRARY), &dynamic, VMOP_CERTAIN_LIKELY); /* nothing was seen */
	add_reading(0, -20, &shell);
	add_reading(0, 20, &shell);
	is(user(LIBRARY), &dynamic, VMOP_CERTAIN_LIKELY); /* it ran in between */
	add_reading(0, 30, NULL);
	is(user(LIBRARY), &dynamic, VMOP_CERTAIN_LIKELY);
}

static void a_shared_address_is_likely_of_the_seen_process(void **state)
{
	(void)state;
	view.tasks = LIST(shell, hot);
	add_reading(0, -20, &hot);
	add_reading(0, 30, &hot);
	is(user(STATIC), &hot, VMOP_CERTAIN_LIKELY);
	/* The task changes between two readings: the nearer one counts. */
	forget(NULL);
	view.tasks = LIST(shell, hot);
	add_reading(0, -20, &hot);
	add_reading(0, 10, &shell);
	is(user(STATIC), &shell, VMOP_CERTAIN_LIKELY);
}

static void the_most_seen_of_several_is_chosen(void **state)
{
	(void)state;
	view.tasks = LIST(shell, hot, dynamic);
	add_reading(0, -3000, &shell);
	add_reading(0, -2000, &hot);
	add_reading(0, -1000, &hot);
	is(user(STATIC), &hot, VMOP_CERTAIN_AMBIGUOUS);
	add_reading(0, -10, &dynamic); /* the seen process does not map it */
	is(user(STATIC), &hot, VMOP_CERTAIN_AMBIGUOUS);
	add_reading(0, 900, &shell); /* as often, and later */
	is(user(STATIC), &shell, VMOP_CERTAIN_AMBIGUOUS);
	/* None on this vCPU, one on another. */
	memset(&readings[0], 0, sizeof(readings[0]));
	add_reading(1, -700, &hot);
	is(user(STATIC), &hot, VMOP_CERTAIN_AMBIGUOUS);
}

static void all_readings_of_a_full_ring_count(void **state)
{
	(void)state;
	view.tasks = LIST(shell, hot);
	for (int i = 0; i < 3 * VMOP_GUEST_READINGS / 2; i++)
		add_reading(0, -20000 + i, i < VMOP_GUEST_READINGS ? &shell : &hot);
	is(user(STATIC), &hot, VMOP_CERTAIN_AMBIGUOUS); /* 32 to 32, and later */
	add_reading(0, -500, &hot);			/* replaces a reading of the shell */
	is(user(STATIC), &hot, VMOP_CERTAIN_AMBIGUOUS);
}

static void none_of_several_was_seen(void **state)
{
	(void)state;
	static const struct program again = {8, "/bin/hot", STATIC, 0};
	view.tasks = LIST(hot, again);
	struct vmop_guest_verdict verdict = user(STATIC);
	assert_null(verdict.process); /* the file is known, the process is not */
	assert_non_null(verdict.vma);
	assert_string_equal(verdict.vma->path, "/bin/hot");
	assert_int_equal(verdict.certainty, VMOP_CERTAIN_LIKELY);

	forget(NULL);
	view.tasks = LIST(hot, again, shell);
	verdict = user(STATIC);
	assert_null(verdict.process);
	assert_null(verdict.vma);
	assert_true(verdict.is_contested);
	assert_int_equal(verdict.certainty, VMOP_CERTAIN_AMBIGUOUS);
}

/* Memory without a file is never the same file, even under one name. */
static void anonymous_code_is_never_shared(void **state)
{
	(void)state;
	static const struct program jit = {20, "//anon", NOWHERE, 0},
				    other = {21, "//anon", NOWHERE, 0};
	view.tasks = LIST(jit, other);
	assert_true(user(NOWHERE).is_contested);
	add_reading(0, 100, &other);
	is(user(NOWHERE), &other, VMOP_CERTAIN_LIKELY);
}

static void a_program_that_was_executed_is_not_the_one_before(void **state)
{
	(void)state;
	static const struct program after = {7, "/bin/after", LIBRARY, 1};
	view.tasks_before = LIST(shell, hot);
	view.tasks = LIST(shell, after);
	add_reading(0, -20, &hot);
	add_reading(0, 30, &after);
	/* The readings do not agree, although the pid is the same. */
	is(user(STATIC), &hot, VMOP_CERTAIN_LIKELY);
	is(user(LIBRARY), &after, VMOP_CERTAIN_LIKELY);
	add_reading(0, 40, &after);
	vmop_guest_attributor_set_view(&attributor, &view);
	is(vmop_guest_attribute_user(&attributor, 0, NOW_NS + 35 * MS_NS, LIBRARY), &after,
	   VMOP_CERTAIN_EXACT);
}

static void a_process_that_is_gone_is_in_the_list_before(void **state)
{
	(void)state;
	view.tasks_before = LIST(shell, hot, dynamic);
	view.tasks = LIST(shell);
	add_reading(0, -20, &dynamic);
	add_reading(0, 20, &dynamic);
	is(user(LIBRARY), &dynamic, VMOP_CERTAIN_EXACT);
	is(user(STATIC), &shell, VMOP_CERTAIN_LIKELY);
	forget(NULL);
	view.tasks_before = LIST(shell, hot);
	view.tasks = LIST(shell);
	add_reading(0, -20, &hot);
	add_reading(0, 20, &hot);
	is(user(STATIC), &hot, VMOP_CERTAIN_LIKELY); /* the shell maps it, too */
	assert_int_equal(kernel().process->pid, hot.pid);
}

static void a_process_that_no_list_has(void **state)
{
	(void)state;
	static const struct program brief = {30, "/bin/brief", STATIC, 0};
	view.tasks = LIST(shell);
	has_no_process(user(NOWHERE)); /* no process maps it */
	add_reading(0, -20, &brief);
	is(user(STATIC), &shell, VMOP_CERTAIN_AMBIGUOUS);
	add_reading(0, 20, &brief);
	has_no_process(user(STATIC));
	has_no_process(kernel());
	/* It is listed now. */
	vmop_guest_tasks_unref(view.tasks);
	view.tasks = LIST(shell, brief);
	is(user(STATIC), &brief, VMOP_CERTAIN_LIKELY);
}

static void without_lists_or_a_vcpu_there_is_no_guess(void **state)
{
	(void)state;
	has_no_process(user(STATIC));
	has_no_process(kernel());
	vmop_guest_attributor_set_view(&attributor, NULL);
	has_no_process(vmop_guest_attribute_user(&attributor, 0, NOW_NS, STATIC));
	has_no_process(vmop_guest_attribute_kernel(&attributor, 0, NOW_NS));
	view.tasks = LIST(shell, hot);
	add_reading(1, -10, &hot);
	vmop_guest_attributor_set_view(&attributor, &view);
	is(vmop_guest_attribute_user(&attributor, -1, NOW_NS, STATIC), &hot,
	   VMOP_CERTAIN_AMBIGUOUS);
	is(vmop_guest_attribute_user(&attributor, 77, NOW_NS, STATIC), &hot,
	   VMOP_CERTAIN_AMBIGUOUS);
	has_no_process(vmop_guest_attribute_kernel(&attributor, -1, NOW_NS));
}

static void kernel_samples_are_of_the_task_that_is_seen(void **state)
{
	(void)state;
	view.tasks = LIST(shell, hot);
	add_reading(0, -20, &hot);
	assert_int_equal(kernel().process->pid, hot.pid);
	assert_int_equal(kernel().certainty, VMOP_CERTAIN_AMBIGUOUS);
	add_reading(0, 10, &hot);
	assert_int_equal(kernel().process->pid, hot.pid);
	assert_int_equal(kernel().certainty, VMOP_CERTAIN_LIKELY);
	forget(NULL);
	view.tasks = LIST(shell, hot);
	add_reading(0, -20, &hot);
	add_reading(0, 10, NULL);
	assert_true(kernel().is_idle); /* the nearer one */
	assert_null(kernel().process);
	assert_int_equal(kernel().certainty, VMOP_CERTAIN_AMBIGUOUS);
	forget(NULL);
	view.tasks = LIST(hot);
	add_reading(0, -900, &hot); /* too long ago */
	has_no_process(kernel());
}

/* More pages than the cache has, on both vCPUs: the cache changes no verdict. */
static void cached_pages_do_not_mix(void **state)
{
	(void)state;
	struct program many[2 * VMOP_GUEST_ATTRIBUTOR_PAGES];
	size_t n = sizeof(many) / sizeof(many[0]);
	for (size_t i = 0; i < n; i++)
		many[i] = (struct program){100 + (uint32_t)i, i % 2 ? "/bin/odd" : "/bin/even",
					   STATIC + 0x2000 * (i / 2), 0};
	view.tasks = list(many, n);
	for (uint32_t i = 0; i < VMOP_GUEST_READINGS; i++) {
		add_reading(0, -900, &many[2 * i]);
		add_reading(1, -900, &many[2 * i + 1]);
	}
	vmop_guest_attributor_set_view(&attributor, &view);
	for (unsigned round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 2 * VMOP_GUEST_READINGS; i++)
			is(vmop_guest_attribute_user(&attributor, (int32_t)(i % 2), NOW_NS,
						     many[i].address),
			   &many[i], VMOP_CERTAIN_AMBIGUOUS);
	for (size_t i = 2 * VMOP_GUEST_READINGS; i < n; i++)
		assert_true(vmop_guest_attribute_user(&attributor, 0, NOW_NS, many[i].address)
				    .is_contested);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(two_readings_that_agree_are_exact, forget),
		cmocka_unit_test_setup(an_address_of_one_process_is_likely_its, forget),
		cmocka_unit_test_setup(a_shared_address_is_likely_of_the_seen_process, forget),
		cmocka_unit_test_setup(the_most_seen_of_several_is_chosen, forget),
		cmocka_unit_test_setup(all_readings_of_a_full_ring_count, forget),
		cmocka_unit_test_setup(none_of_several_was_seen, forget),
		cmocka_unit_test_setup(anonymous_code_is_never_shared, forget),
		cmocka_unit_test_setup(a_program_that_was_executed_is_not_the_one_before, forget),
		cmocka_unit_test_setup(a_process_that_is_gone_is_in_the_list_before, forget),
		cmocka_unit_test_setup(a_process_that_no_list_has, forget),
		cmocka_unit_test_setup(without_lists_or_a_vcpu_there_is_no_guess, forget),
		cmocka_unit_test_setup(kernel_samples_are_of_the_task_that_is_seen, forget),
		cmocka_unit_test_setup(cached_pages_do_not_mix, forget),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	forget(NULL);
	return failed;
}
