// SPDX-License-Identifier: GPL-2.0-or-later
/* Mappings of processes in the kernel, in whose place maps of the test stand. */
#include "daemon/stack/kernel-spaces.h"

#include <cmocka.h>
#include <string.h>

#include "tests/unit/daemon/stack/unwind-maps-double.h"
#include "tests/unit/ok.h"

enum { IMAGES_MAX = 64, SECOND_NS = 1000000000 };

struct rig {
	struct vmop_images images;
	struct vmop_tasks tasks;
	struct vmop_processes processes;
	struct vmop_image *vdso;
	struct vmop_stack_tables *tables;
	struct vmop_unwind_maps maps;
	struct vmop_kernel_spaces *spaces;
	uint64_t now_ns;
};

static void begin(struct rig *rig)
{
	*rig = (struct rig){.maps = DOUBLE_NEW, .now_ns = SECOND_NS};
	assert_ok(vmop_images_init(&rig->images, IMAGES_MAX));
	rig->tasks = (struct vmop_tasks){.next_id = 1, .images = &rig->images};
	assert_ok(vmop_processes_init(&rig->processes, NULL, &rig->images, &rig->tasks, false));
	rig->vdso = vmop_images_named(&rig->images, VMOP_DOMAIN_ID_HOST, VMOP_IMAGE_VDSO, "[vdso]",
				      0, 0);
	assert_ok(vmop_stack_tables_create(
		&rig->images, rig->vdso, NULL,
		&(struct vmop_stack_tables_limits){.max_bytes = 1 << 20, .max_images = IMAGES_MAX},
		&rig->tables));
	assert_ok(vmop_stack_tables_copy_to(rig->tables, &rig->maps));
	assert_ok(
		vmop_kernel_spaces_create(&rig->maps, &rig->processes, rig->tables, &rig->spaces));
}

static void end(struct rig *rig)
{
	vmop_kernel_spaces_destroy(rig->spaces);
	for (size_t i = 0; i < DOUBLE_PROCESSES; i++)
		assert_int_equal(rig->maps.processes[i].pid, 0); /* nothing is left behind */
	vmop_stack_tables_destroy(rig->tables);
	vmop_image_unref(&rig->images, rig->vdso);
	vmop_processes_deinit(&rig->processes);
	vmop_tasks_deinit(&rig->tasks);
	vmop_images_deinit(&rig->images);
}

static struct vmop_process *map(struct rig *rig, uint32_t pid, uint64_t start, const char *path)
{
	const struct vmop_mmap_record record = {.pid = pid,
						.tid = pid,
						.start = start,
						.len_bytes = 0x1000,
						.inode = 1,
						.path = path};
	return vmop_processes_mmap(&rig->processes, ++rig->now_ns, &record);
}

static void advance(struct rig *rig, uint64_t ns)
{
	rig->now_ns += ns;
	vmop_kernel_spaces_advance(rig->spaces, rig->now_ns);
}

/* A copied sample of process, and the drain's end. Return the generation that the kernel has. */
static uint64_t copied(struct rig *rig, struct vmop_process *process)
{
	vmop_kernel_spaces_copied(rig->spaces, process, 0);
	advance(rig, SECOND_NS);
	const struct double_process *there = double_process(&rig->maps, process->pid);
	return there ? there->generation : 0;
}

static bool believes(struct rig *rig, struct vmop_process *process, uint64_t generation)
{
	return vmop_kernel_spaces_believe(rig->spaces, process, generation);
}

static void a_copied_stack_brings_the_mappings(void **state)
{
	struct rig rig;
	(void)state;
	begin(&rig);
	struct vmop_process *process = map(&rig, 7, 0x1000, "/a");
	map(&rig, 7, 0x3000, "//anon");
	advance(&rig, 0);
	assert_null(double_process(&rig.maps, 7)); /* no sample: no cost */
	uint64_t generation = copied(&rig, process);
	const struct double_process *there = double_process(&rig.maps, 7);
	assert_int_equal(there->n, 2);
	assert_int_equal(there->mappings[0].start, 0x1000);
	assert_int_equal(there->mappings[0].end, 0x2000);
	assert_int_equal(there->mappings[0].offset, 0);
	assert_int_equal(there->mappings[0].table, VMOP_UNWIND_NOT_YET);
	assert_int_equal(there->mappings[1].offset, 0x3000);
	assert_int_equal(there->mappings[1].table, VMOP_UNWIND_NO_TABLE);
	assert_true(believes(&rig, process, generation));
	assert_false(believes(&rig, process, generation + 1));
	assert_false(believes(&rig, process, generation - 1));
	/* Nothing is new. */
	assert_int_equal(copied(&rig, process), generation);
	end(&rig);
}

static void a_mapping_in_a_free_range_keeps_the_others_true(void **state)
{
	struct rig rig;
	(void)state;
	begin(&rig);
	struct vmop_process *process = map(&rig, 7, 0x1000, "/a");
	uint64_t first = copied(&rig, process);
	map(&rig, 7, 0x3000, "/b");
	assert_true(believes(&rig, process, first));
	uint64_t second = copied(&rig, process);
	assert_int_not_equal(second, first);
	assert_int_equal(double_process(&rig.maps, 7)->n, 2);
	/* Both are true: samples by the first one may still come. */
	assert_true(believes(&rig, process, first));
	assert_true(believes(&rig, process, second));
	/* The same mapping once more, as of a JIT compiler that changes permissions. */
	map(&rig, 7, 0x1000, "/a");
	assert_true(believes(&rig, process, first));
	assert_int_equal(copied(&rig, process), second);
	end(&rig);
}

static void a_replaced_mapping_makes_stacks_untrue(void **state)
{
	struct rig rig;
	(void)state;
	begin(&rig);
	struct vmop_process *process = map(&rig, 7, 0x1000, "/a");
	uint64_t first = copied(&rig, process);
	map(&rig, 7, 0x1000, "/b");
	assert_false(believes(&rig, process, first));
	advance(&rig, SECOND_NS); /* the disbelief asks for the new mappings */
	uint64_t second = double_process(&rig.maps, 7)->generation;
	assert_int_not_equal(second, first);
	assert_true(believes(&rig, process, second));
	assert_false(believes(&rig, process, first));
	end(&rig);
}

static void execve_makes_stacks_untrue(void **state)
{
	struct rig rig;
	(void)state;
	begin(&rig);
	struct vmop_process *process = map(&rig, 7, 0x1000, "/a");
	uint64_t first = copied(&rig, process);
	const struct vmop_comm_record comm = {.pid = 7, .tid = 7, .is_exec = true, .comm = "b"};
	vmop_processes_comm(&rig.processes, ++rig.now_ns, &comm);
	vmop_kernel_spaces_gone(rig.spaces, process);
	assert_null(double_process(&rig.maps, 7));
	assert_false(believes(&rig, process, first));
	/* The same program at the same place: its stacks of before are still another program's. */
	map(&rig, 7, 0x1000, "/a");
	assert_false(believes(&rig, process, first));
	advance(&rig, SECOND_NS);
	assert_true(believes(&rig, process, double_process(&rig.maps, 7)->generation));
	end(&rig);
}

static void a_pid_that_is_used_again_has_no_past(void **state)
{
	struct rig rig;
	(void)state;
	begin(&rig);
	map(&rig, 6, 0x1000, "/a");
	struct vmop_process *process = map(&rig, 7, 0x1000, "/a");
	uint64_t first = copied(&rig, process);
	/* Its exit record was lost. */
	const struct vmop_task_record fork = {.pid = 7, .tid = 7, .parent_pid = 6};
	process = vmop_processes_fork(&rig.processes, ++rig.now_ns, &fork);
	assert_non_null(process->regions);
	assert_false(believes(&rig, process, first));
	advance(&rig, SECOND_NS);
	uint64_t second = double_process(&rig.maps, 7)->generation;
	assert_true(second > first);
	/* The end of the first one does not take the second one's mappings away. */
	vmop_kernel_spaces_stored(rig.spaces);
	assert_non_null(double_process(&rig.maps, 7));
	assert_true(believes(&rig, process, second));
	const struct vmop_task_record exit = {.pid = 7, .tid = 7, .parent_pid = 6};
	vmop_processes_exit(&rig.processes, ++rig.now_ns, &exit);
	vmop_kernel_spaces_gone(rig.spaces, process);
	assert_null(double_process(&rig.maps, 7));
	end(&rig);
}

static void updates_are_limited(void **state)
{
	struct rig rig;
	struct vmop_kernel_spaces_facts facts;
	(void)state;
	begin(&rig);
	struct vmop_process *process = map(&rig, 7, 0x1000, "/a");
	copied(&rig, process);
	/* It maps, and is sampled, each ms of a second. */
	for (unsigned i = 0; i < 1000; i++) {
		map(&rig, 7, 0x10000 + i % 200 * 0x2000, (i / 200 + i) % 2 ? "/b" : "/c");
		vmop_kernel_spaces_copied(rig.spaces, process, 0);
		advance(&rig, SECOND_NS / 1000);
	}
	vmop_kernel_spaces_facts(rig.spaces, &facts);
	assert_in_range(facts.n_updates, 8, 12);
	end(&rig);
}

static void a_process_without_samples_makes_room(void **state)
{
	struct rig rig;
	struct vmop_process *process[DOUBLE_PROCESSES + 2];
	struct vmop_kernel_spaces_facts facts;
	(void)state;
	begin(&rig);
	for (uint32_t i = 0; i < DOUBLE_PROCESSES + 1; i++) {
		process[i] = map(&rig, 10 + i, 0x1000, "/a");
		assert_int_equal(copied(&rig, process[i]) != 0, i < DOUBLE_PROCESSES);
	}
	vmop_kernel_spaces_facts(rig.spaces, &facts);
	assert_int_equal(facts.n_refused, 1); /* all were sampled in this interval */
	vmop_kernel_spaces_stored(rig.spaces);
	for (uint32_t i = 1; i < DOUBLE_PROCESSES; i++)
		copied(&rig, process[i]);
	assert_true(copied(&rig, process[DOUBLE_PROCESSES]) != 0);
	assert_null(double_process(&rig.maps, 10));
	end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copied_stack_brings_the_mappings),
		cmocka_unit_test(a_mapping_in_a_free_range_keeps_the_others_true),
		cmocka_unit_test(a_replaced_mapping_makes_stacks_untrue),
		cmocka_unit_test(execve_makes_stacks_untrue),
		cmocka_unit_test(a_pid_that_is_used_again_has_no_past),
		cmocka_unit_test(updates_are_limited),
		cmocka_unit_test(a_process_without_samples_makes_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
