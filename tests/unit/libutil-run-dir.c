// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "libutil/run-dir.h"

static char dir[] = "/tmp/vmop-run-XXXXXX";

static void one_holder(void **state)
{
	(void)state;
	int to_child[2], to_parent[2];
	assert_int_equal(pipe(to_child) | pipe(to_parent), 0);
	pid_t child = fork();
	if (child == 0) {
		int lock;
		pid_t holder;
		char c = vmop_run_lock(1, &lock, &holder) == NULL && lock >= 0;
		if (write(to_parent[1], &c, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	char c = 0;
	assert_int_equal(read(to_parent[0], &c, 1), 1);
	assert_int_equal(c, 1);
	int lock;
	pid_t holder;
	assert_null(vmop_run_lock(1, &lock, &holder));
	assert_int_equal(lock, -1);
	assert_int_equal(holder, child);
	/* Killed, it leaves its file; the lock is free all the same. */
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_null(vmop_run_lock(1, &lock, &holder));
	assert_true(lock >= 0);
	_cleanup_free_ char *path = vmop_run_path(VMOP_RUN_PID), *text = NULL;
	assert_null(vmop_io_read_file(path, 100, &text, NULL));
	assert_int_equal(atoi(text), getpid());
	close(lock);
	/* A file that holds no pid. */
	assert_null(vmop_io_write_file_atomic(path, "garbage garbage garbage garbage", 31, 0644));
	assert_null(vmop_run_lock(0, &lock, &holder));
	assert_true(lock >= 0);
	int other;
	assert_null(vmop_run_lock(0, &other, &holder)); /* another open file: locked out, too */
	assert_int_equal(other, -1);
	assert_int_equal(holder, 0);
	close(lock);
	unlink(path);
	for (int i = 0; i < 2; i++) {
		close(to_child[i]);
		close(to_parent[i]);
	}
}

static void no_directory(void **state)
{
	(void)state;
	int lock;
	pid_t holder;
	setenv("VMOP_RUNDIR", "/nonexistent/vmop", 1);
	struct vmop_error *err = vmop_run_lock(1, &lock, &holder);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "/nonexistent/vmop"));
	vmop_error_destroy(err);
	err = vmop_run_dir_make();
	assert_non_null(err);
	vmop_error_destroy(err);
	setenv("VMOP_RUNDIR", dir, 1);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	setenv("VMOP_RUNDIR", dir, 1);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_holder),
		cmocka_unit_test(no_directory),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	return rmdir(dir) < 0 || failed;
}
