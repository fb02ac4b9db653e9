// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The BPF program of application I/O on this kernel: a child's calls, those of its threads' and
 * children's, and nothing of this process. What each call counts is the matter of
 * tests/integration/stat-io-exact.sh.
 */
#include "hv-interface/bpf/appio.h"

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hv-interface/appio-calls.h"

struct sums {
	uint32_t n_tasks;
	uint64_t reads, writes, bytes; /* of /dev/null and /dev/zero */
	bool has_name;
};

static struct vmop_error *put_task(void *data, uint32_t number, const struct vmop_appio_task *task)
{
	struct sums *sums = data;
	assert_int_equal(number, sums->n_tasks + 1);
	assert_int_not_equal(task->pid, 0);
	sums->n_tasks++;
	return NULL;
}

static struct vmop_error *put_entry(void *data, const struct vmop_appio_key *key,
				    const struct vmop_appio_entry *entry)
{
	struct sums *sums = data;
	if (key->kind != VMOP_APPIO_KIND_DEVICE)
		return NULL;
	assert_in_range(key->task, 1, sums->n_tasks);
	*(key->direction == VMOP_APPIO_OUT ? &sums->writes : &sums->reads) += entry->counts.calls;
	sums->bytes += entry->counts.bytes;
	sums->has_name |= strcmp(entry->name, "zero") == 0;
	return NULL;
}

static void transfer(int n)
{
	char bytes[100] = "";
	int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
	for (int i = 0; i < n; i++) {
		if (read(zero, bytes, 100) != 100 || write(null, bytes, 10) != 10)
			_exit(2);
	}
	close(zero);
	close(null);
}

/* Make a process that waits for the end of a pipe, and transfers then. */
static pid_t make_child(int *ret_go_fd)
{
	int go[2];
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		char byte;
		close(go[1]);
		if (read(go[0], &byte, 1) != 0)
			_exit(2);
		transfer(50);
		pid_t child = fork();
		if (child == 0) {
			transfer(7);
			_exit(0);
		}
		waitpid(child, NULL, 0);
		_exit(0);
	}
	close(go[0]);
	*ret_go_fd = go[1];
	return pid;
}

static void a_running_process_and_its_children(void **state)
{
	(void)state;
	struct vmop_appio *appio;
	struct vmop_error *err = vmop_appio_create(true, &appio);
	if (err) {
		print_message("skipped: %s\n", err->message);
		vmop_error_destroy(err);
		skip();
		return;
	}
	int go_fd;
	pid_t pid = make_child(&go_fd), other = fork();
	if (other == 0) {
		transfer(1000);
		_exit(0);
	}
	assert_null(vmop_appio_adopt(appio, pid, false));
	close(go_fd);
	transfer(10);
	waitpid(pid, NULL, 0);
	waitpid(other, NULL, 0);
	struct sums sums = {0};
	struct vmop_appio_facts facts;
	const struct vmop_appio_sink sink = {&sums, put_task, put_entry};
	assert_null(vmop_appio_read(appio, &sink, &facts));
	assert_int_equal(sums.n_tasks, 2);
	assert_int_equal(facts.n_tasks, 2);
	assert_int_equal(sums.reads, 57);
	assert_int_equal(sums.writes, 57);
	assert_int_equal(sums.bytes, 57 * 110);
	assert_true(sums.has_name);
	assert_int_equal(facts.n_left_out + facts.n_missed + facts.n_lost_tasks, 0);
	vmop_appio_destroy(appio);
}

static void a_process_that_is_gone(void **state)
{
	(void)state;
	struct vmop_appio *appio;
	struct vmop_error *err = vmop_appio_create(false, &appio);
	if (err) {
		vmop_error_destroy(err);
		skip();
		return;
	}
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	err = vmop_appio_adopt(appio, pid, false);
	assert_non_null(err);
	vmop_error_destroy(err);
	vmop_appio_destroy(appio);
	vmop_appio_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_running_process_and_its_children),
		cmocka_unit_test(a_process_that_is_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
