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
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hv-interface/appio-calls.h"

enum { N_PAGES = 100 };

struct sums {
	uint32_t n_tasks;
	uint64_t reads, writes, bytes; /* of /dev/null and /dev/zero */
	uint64_t faults;
	bool has_name;
};

static struct vmop_error *put_task(void *data, uint32_t number, const struct vmop_appio_task *task)
{
	struct sums *sums = data;
	assert_int_equal(number, sums->n_tasks + 1);
	assert_int_not_equal(task->pid, 0);
	sums->n_tasks++;
	sums->faults += task->file_faults;
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

/* Touch pages of a file that are in memory. */
static void fault(void)
{
	char path[] = "/tmp/vmop-test-XXXXXX";
	int fd = mkstemp(path);
	if (fd < 0 || unlink(path) != 0 || ftruncate(fd, N_PAGES * 4096) != 0)
		_exit(3);
	volatile char *map = mmap(NULL, N_PAGES * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		_exit(3);
	for (size_t i = 0; i < N_PAGES; i++)
		map[i * 4096] = 1;
	close(fd);
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
		fault();
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
	/* Where there are none, there is a reason. */
	if (!facts.no_faults)
		assert_in_range(sums.faults, N_PAGES, N_PAGES + 500);
	print_message("faults where they are handled: %s\n", facts.no_major_faults ? "no" : "yes");
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
