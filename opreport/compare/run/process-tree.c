// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/run/process-tree.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"

static struct vmop_error *add(struct vmop_process_tree *tree, pid_t pid)
{
	for (size_t i = 0; i < tree->n; i++)
		if (tree->pids[i] == pid)
			return NULL;
	if (tree->n == VMOP_PROCESS_TREE_MAX)
		return NULL;
	if (!vmop_array_reserve(tree->pids, tree->capacity, tree->n + 1) ||
	    !vmop_array_reserve(tree->are_gone, tree->gone_capacity, tree->n + 1))
		return &vmop_error_no_memory;
	tree->pids[tree->n] = pid;
	tree->are_gone[tree->n++] = false;
	return NULL;
}

struct vmop_error *vmop_process_tree_init(struct vmop_process_tree *tree, pid_t root)
{
	*tree = (struct vmop_process_tree){0};
	return add(tree, root);
}

void vmop_process_tree_deinit(struct vmop_process_tree *tree)
{
	free(tree->pids);
	free(tree->are_gone);
	*tree = (struct vmop_process_tree){0};
}

/* Add the children of one thread. */
static struct vmop_error *add_children(struct vmop_process_tree *tree, pid_t pid, const char *tid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)pid, tid);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	struct vmop_error *err = NULL;
	int child;
	while (file && !err && fscanf(file, "%d", &child) == 1)
		err = add(tree, child);
	return err;
}

/* Add the children of all threads of a process.  Set *ret_is_gone if there is no such process. */
static struct vmop_error *look_at(struct vmop_process_tree *tree, pid_t pid, bool *ret_is_gone)
{
	char path[40];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	_cleanup_closedir_ DIR *dir = opendir(path);
	struct vmop_error *err = NULL;
	*ret_is_gone = !dir;
	for (struct dirent *entry; dir && !err && (entry = readdir(dir));)
		if (entry->d_name[0] != '.')
			err = add_children(tree, pid, entry->d_name);
	return err;
}

struct vmop_error *vmop_process_tree_look(struct vmop_process_tree *tree)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < tree->n && !err; i++) { /* n grows */
		bool is_gone = false;
		if (tree->are_gone[i])
			continue;
		err = look_at(tree, tree->pids[i], &is_gone);
		tree->are_gone[i] = is_gone;
	}
	return err;
}

void vmop_process_tree_kill(const struct vmop_process_tree *tree, pid_t group, int signal)
{
	for (size_t i = 0; i < tree->n; i++)
		if (!tree->are_gone[i] && getpgid(tree->pids[i]) == group)
			kill(tree->pids[i], signal);
}

char *vmop_process_tree_spec(const struct vmop_process_tree *tree)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return NULL;
	for (size_t i = 0; i < tree->n; i++)
		fprintf(out, "%s%d", i ? "," : "tgid:", (int)tree->pids[i]);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
