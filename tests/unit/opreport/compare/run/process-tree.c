// SPDX-License-Identifier: GPL-2.0-or-later
/* Test that the processes of a command are found, and only those are killed. */
#include "opreport/compare/run/process-tree.h"

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/ok.h"

/* Start sh(1) with a command in a process group of its own. */
static pid_t start(const char *command)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		setpgid(0, 0);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	setpgid(pid, pid);
	return pid;
}

/* Look until the tree has n processes. The test's time limit ends an endless wait. */
static void look_until(struct vmop_process_tree *tree, size_t n)
{
	static const struct timespec moment = {.tv_nsec = 10000000};
	while (tree->n < n) {
		assert_ok(vmop_process_tree_look(tree));
		nanosleep(&moment, NULL);
	}
}

static void children_of_children(void **state)
{
	(void)state;
	struct vmop_process_tree tree;
	if (access("/proc/self/task/self/children", F_OK) < 0 &&
	    access("/proc/thread-self/children", F_OK) < 0)
		skip();
	pid_t root = start("sleep 100 & (sleep 100 & exec sleep 100); :");
	assert_ok(vmop_process_tree_init(&tree, root));
	look_until(&tree, 4);
	assert_int_equal(tree.pids[0], root);
	assert_int_equal(tree.n, 4);
	char *spec = vmop_process_tree_spec(&tree);
	assert_non_null(spec);
	assert_memory_equal(spec, "tgid:", 5);
	assert_int_equal(atoi(spec + 5), root);
	free(spec);
	vmop_process_tree_kill(&tree, getpgrp(), SIGKILL); /* another group */
	assert_int_equal(waitpid(root, NULL, WNOHANG), 0);
	vmop_process_tree_kill(&tree, root, SIGKILL);
	int status;
	assert_int_equal(waitpid(root, &status, 0), root);
	assert_true(WIFSIGNALED(status));
	assert_ok(vmop_process_tree_look(&tree)); /* all are gone */
	assert_int_equal(tree.n, 4);
	vmop_process_tree_deinit(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(children_of_children)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
