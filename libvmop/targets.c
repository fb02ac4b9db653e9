// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/targets.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/parse.h"

void vmop_targets_deinit(struct vmop_targets *targets)
{
	free(targets->tids);
	*targets = (struct vmop_targets){0};
}

static void targets_cleanup(struct vmop_targets *targets)
{
	vmop_targets_deinit(targets);
}

static int by_number(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
	return (x > y) - (x < y);
}

struct vmop_error *vmop_targets_read(pid_t pid, struct vmop_targets *ret)
{
	_cleanup_(targets_cleanup) struct vmop_targets targets = {0};
	char path[64] = "/proc/self/task";
	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	_cleanup_closedir_ DIR *dir = opendir(path);
	if (!dir && errno == ENOENT)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "there is no process %d", (int)pid);
	if (!dir)
		return vmop_error_os(errno, "%s", path);
	const struct dirent *entry;
	while ((entry = readdir(dir))) {
		uint64_t tid;
		if (!vmop_parse_u64(entry->d_name, 10, &tid))
			continue;
		if (targets.n == VMOP_TARGETS_MAX)
			return vmop_error_new(VMOP_ERROR_LIMIT,
					      "process %d has more than %d threads", (int)pid,
					      VMOP_TARGETS_MAX);
		if (!vmop_array_reserve(targets.tids, targets.capacity, targets.n + 1))
			return &vmop_error_no_memory;
		targets.tids[targets.n++] = (pid_t)tid;
	}
	if (targets.n == 0)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "process %d has ended", (int)pid);
	qsort(targets.tids, targets.n, sizeof(*targets.tids), by_number);
	*ret = targets;
	targets = (struct vmop_targets){0};
	return NULL;
}

bool vmop_targets_equal(const struct vmop_targets *a, const struct vmop_targets *b)
{
	return a->n == b->n && memcmp(a->tids, b->tids, a->n * sizeof(*a->tids)) == 0;
}
