// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "libutil/dirs/run-dir.h"

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
		char c = vmop_run_lock(VMOP_RUN_PID, 0, &lock, &holder) == NULL && lock >= 0;
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
	assert_null(vmop_run_lock(VMOP_RUN_PID, 0, &lock, &holder));
	assert_int_equal(lock, -1);
	assert_int_equal(holder, child);
	pid_t seen;
	assert_null(vmop_run_holder(VMOP_RUN_PID, &seen));
	assert_int_equal(seen, child);
	/* A killed process leaves its file, but the lock is free. */
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_null(vmop_run_lock(VMOP_RUN_PID, 0, &lock, &holder));
	assert_true(lock >= 0);
	_cleanup_free_ char *path = vmop_run_path(VMOP_RUN_PID), *text = NULL;
	assert_null(vmop_io_read_file(path, 100, &text, NULL));
	assert_int_equal(atoi(text), getpid());
	close(lock);
	assert_null(vmop_run_holder(VMOP_RUN_PID, &seen));
	assert_int_equal(seen, 0);
	/* A file without a pid is taken over. */
	assert_null(vmop_io_write_file_atomic(path, "garbage garbage garbage garbage", 31, 0644));
	assert_null(vmop_run_lock(VMOP_RUN_PID, 0, &lock, &holder));
	assert_true(lock >= 0);
	int other; /* another open file of this process is locked out as well */
	assert_null(vmop_run_lock(VMOP_RUN_PID, 0, &other, &holder));
	assert_int_equal(other, -1);
	assert_int_equal(holder, getpid());
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
	struct vmop_error *err = vmop_run_lock(VMOP_RUN_PID, 0, &lock, &holder);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "/nonexistent/vmop"));
	vmop_error_destroy(err);
	struct vmop_dir run_dir;
	err = vmop_run_dir_make(&run_dir);
	assert_non_null(err);
	vmop_error_destroy(err);
	/* Without a directory no daemon runs. That is not an error. */
	assert_null(vmop_run_dir_open(&run_dir));
	assert_int_equal(run_dir.fd, -1);
	pid_t holder_there;
	assert_null(vmop_run_holder(VMOP_RUN_PID, &holder_there));
	assert_int_equal(holder_there, 0);
	setenv("VMOP_RUNDIR", dir, 1);
}

/* A lock that is released during the wait is taken. It leaves no file when it is released. */
static void waits_for_it(void **state)
{
	(void)state;
	int ready[2], lock;
	pid_t holder;
	char c;
	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		if (vmop_run_lock(VMOP_RUN_START, 0, &lock, &holder) || lock < 0 ||
		    write(ready[1], "r", 1) != 1)
			_exit(1);
		usleep(200000);
		vmop_run_unlock(VMOP_RUN_START, lock);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_null(vmop_run_lock(VMOP_RUN_START, 60000, &lock, &holder));
	assert_true(lock >= 0);
	vmop_run_unlock(VMOP_RUN_START, lock);
	_cleanup_free_ char *path = vmop_run_path(VMOP_RUN_START);
	assert_int_equal(access(path, F_OK), -1);
	waitpid(child, NULL, 0);
	close(ready[0]);
	close(ready[1]);
}

/* Only a process that may write the file can lock it. */
static void no_other_user_can_lock_it(void **state)
{
	(void)state;
	int lock;
	pid_t holder;
	struct stat st;
	assert_null(vmop_run_lock(VMOP_RUN_PID, 0, &lock, &holder));
	assert_true(lock >= 0);
	assert_int_equal(fstat(lock, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	vmop_run_unlock(VMOP_RUN_PID, lock);
}

static void refused(const char *what)
{
	int lock;
	pid_t holder;
	struct vmop_error *err = vmop_run_lock(VMOP_RUN_PID, 0, &lock, &holder);
	assert_non_null(err);
	assert_non_null(strstr(err->message, what));
	vmop_error_destroy(err);
}

/* Directories that another user can change, and files of another user. */
static void hostile_directory(void **state)
{
	(void)state;
	_cleanup_free_ char *pid_file = vmop_run_path(VMOP_RUN_PID);
	assert_int_equal(chmod(dir, 0777), 0);
	refused("other users may write");
	assert_int_equal(chmod(dir, 01777), 0);
	refused("other users may write");
	assert_int_equal(chmod(dir, 0700), 0);
	assert_int_equal(symlink("/etc/hostname", pid_file), 0);
	refused(pid_file);
	assert_int_equal(unlink(pid_file), 0);
	assert_int_equal(mkfifo(pid_file, 0600), 0);
	refused("not a regular file");
	assert_int_equal(unlink(pid_file), 0);
	if (geteuid() != 0)
		return;
	assert_int_equal(close(open(pid_file, O_CREAT | O_WRONLY, 0600)), 0);
	assert_int_equal(chown(pid_file, 65534, 65534), 0);
	refused("uid 65534");
	assert_int_equal(unlink(pid_file), 0);
	assert_int_equal(chown(dir, 65534, 65534), 0);
	refused("another user (uid 65534)");
	assert_int_equal(chown(dir, 0, 0), 0);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	setenv("VMOP_RUNDIR", dir, 1);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_holder),	     cmocka_unit_test(no_directory),
		cmocka_unit_test(waits_for_it),	     cmocka_unit_test(no_other_user_can_lock_it),
		cmocka_unit_test(hostile_directory),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	return rmdir(dir) < 0 || failed;
}
