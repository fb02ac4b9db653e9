// SPDX-License-Identifier: GPL-2.0-or-later
/* The tasks of a guest: their identity, their executable, and when they are forgotten. */
#include "daemon/guest/tasks.h"

#include <cmocka.h>
#include <string.h>

#include "daemon/host/image.h"

static const struct vmop_domain_id guest = {1};
static const struct vmop_guest_view no_lists;

static struct vmop_images images;
static struct vmop_tasks tasks;
static struct vmop_guest_tasks_table table;

static int begin(void **state)
{
	(void)state;
	assert_null(vmop_images_init(&images, 64));
	tasks = (struct vmop_tasks){.next_id = 1, .images = &images};
	vmop_guest_tasks_table_init(&table, guest, &tasks);
	return 0;
}

static int end(void **state)
{
	(void)state;
	vmop_guest_tasks_table_deinit(&table);
	vmop_tasks_stored(&tasks, NULL); /* forgets those that wait for their row */
	vmop_tasks_deinit(&tasks);
	vmop_images_deinit(&images);
	return 0;
}

/* Return the task of a sample in a file; NULL: a kernel sample. */
static const struct vmop_task *sample(uint32_t pid, uint64_t start_ns, const char *comm,
				      const char *path)
{
	const struct vmop_build_id no_id = {.len_bytes = 0};
	struct vmop_image *file =
		path ? vmop_images_guest_file(&images, guest, path, &no_id) : NULL;
	const struct vmop_guest_task_facts facts = {.pid = pid,
						    .start_time_ns = start_ns,
						    .comm = comm,
						    .cgroup = "/box",
						    .file = file};
	struct vmop_task_id id = vmop_guest_tasks_table_id(&table, &facts);
	vmop_image_unref(&images, file);
	const struct vmop_task *task = tasks.pending;
	while (task && task->id.number != id.number)
		task = task->next;
	assert_non_null(task);
	return task;
}

static void a_process_is_its_pid_and_start(void **state)
{
	(void)state;
	uint32_t first = sample(7, 100, "a", NULL)->id.number;
	assert_int_equal(sample(7, 100, "a", NULL)->id.number, first);
	const struct vmop_task *other = sample(7, 200, "a", NULL);
	assert_int_not_equal(other->id.number, first);
	assert_int_equal(other->pid, 7);
	assert_string_equal(other->cgroup->text, "/box");
	/* It executed another program: earlier samples keep the name. */
	assert_int_not_equal(sample(7, 100, "b", NULL)->id.number, first);
}

static void the_executable_has_the_name_of_the_process(void **state)
{
	(void)state;
	assert_null(sample(7, 100, "program", NULL)->exe);
	const char *loader = "/lib64/ld-linux-x86-64.so.2";
	assert_string_equal(sample(7, 100, "program", loader)->exe->name, loader);
	assert_string_equal(sample(7, 100, "program", "/bin/other")->exe->name, "/bin/other");
	assert_string_equal(sample(7, 100, "program", "/lib/libc.so.6")->exe->name, "/bin/other");
	assert_string_equal(sample(7, 100, "program", "/bin/program")->exe->name, "/bin/program");
	assert_string_equal(sample(7, 100, "program", "/bin/other")->exe->name, "/bin/program");
	/* A name is cut after 15 characters; a removed file is marked. */
	assert_string_equal(
		sample(8, 100, "a-program-with-", "/bin/a-program-with-a-long-name")->exe->name,
		"/bin/a-program-with-a-long-name");
	assert_string_equal(sample(9, 100, "gone", "/tmp/other")->exe->name, "/tmp/other");
	assert_string_equal(sample(9, 100, "gone", "/tmp/gone (deleted)")->exe->name,
			    "/tmp/gone (deleted)");
}

static void another_program_has_another_executable(void **state)
{
	(void)state;
	sample(7, 100, "sh", "/bin/sh");
	/* Between fork and execve the name is the parent's, and so is the file. */
	assert_string_equal(sample(7, 100, "program", "/lib/libc.so.6")->exe->name, "/bin/sh");
	assert_string_equal(sample(7, 100, "program", "/bin/program")->exe->name, "/bin/program");
}

static void a_process_that_no_list_has_stays_while_it_has_samples(void **state)
{
	(void)state;
	uint32_t first = sample(7, 100, "brief", NULL)->id.number;
	vmop_guest_tasks_table_sweep(&table, &no_lists);
	vmop_guest_tasks_table_sweep(&table, &no_lists);
	assert_int_equal(sample(7, 100, "brief", NULL)->id.number, first);
	for (unsigned i = 0; i < 3; i++)
		vmop_guest_tasks_table_sweep(&table, &no_lists);
	assert_int_not_equal(sample(7, 100, "brief", NULL)->id.number, first);
	/* The idle task is in no list. */
	uint32_t idle = vmop_guest_tasks_table_idle(&table).number;
	for (unsigned i = 0; i < 4; i++)
		vmop_guest_tasks_table_sweep(&table, &no_lists);
	assert_int_equal(vmop_guest_tasks_table_idle(&table).number, idle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_process_is_its_pid_and_start, begin, end),
		cmocka_unit_test_setup_teardown(the_executable_has_the_name_of_the_process, begin,
						end),
		cmocka_unit_test_setup_teardown(another_program_has_another_executable, begin, end),
		cmocka_unit_test_setup_teardown(
			a_process_that_no_list_has_stays_while_it_has_samples, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
