// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Maps that keep what they are given, in place of the kernel's: the tests of the daemon's side see
 * what the kernel's program would.
 */
#ifndef VMOP_TEST_UNWIND_MAPS_DOUBLE_H
#define VMOP_TEST_UNWIND_MAPS_DOUBLE_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/bpf/unwind-maps.h"

enum { DOUBLE_TABLES = 8, DOUBLE_PROCESSES = 4, DOUBLE_MAPPINGS = 256 };

struct double_process {
	uint32_t pid; /* 0: free */
	uint64_t generation;
	struct vmop_unwind_mapping mappings[DOUBLE_MAPPINGS];
	size_t n;
};

struct vmop_unwind_maps {
	pthread_mutex_t lock;
	size_t n_rows[DOUBLE_TABLES]; /* 0: no table */
	uint64_t n_puts, n_refused;
	bool refuses_tables;
	struct double_process processes[DOUBLE_PROCESSES];
};

#define DOUBLE_NEW                                                                                 \
	{                                                                                          \
		.lock = PTHREAD_MUTEX_INITIALIZER                                                  \
	}

bool vmop_unwind_maps_put_table(struct vmop_unwind_maps *maps, uint32_t table,
				const struct vmop_unwind_table *content)
{
	pthread_mutex_lock(&maps->lock);
	bool is_taken = !maps->refuses_tables && table < DOUBLE_TABLES;
	if (is_taken)
		maps->n_rows[table] = content->n_rows;
	maps->n_refused += !is_taken;
	pthread_mutex_unlock(&maps->lock);
	return is_taken;
}

void vmop_unwind_maps_remove_table(struct vmop_unwind_maps *maps, uint32_t table)
{
	pthread_mutex_lock(&maps->lock);
	maps->n_rows[table] = 0;
	pthread_mutex_unlock(&maps->lock);
}

static struct double_process *double_process(struct vmop_unwind_maps *maps, uint32_t pid)
{
	for (size_t i = 0; i < DOUBLE_PROCESSES; i++)
		if (maps->processes[i].pid == pid)
			return &maps->processes[i];
	return NULL;
}

bool vmop_unwind_maps_put_process(struct vmop_unwind_maps *maps, uint32_t pid, uint64_t generation,
				  const struct vmop_unwind_mapping *mappings, size_t n)
{
	struct double_process *process = double_process(maps, pid);
	if (!process)
		process = double_process(maps, 0);
	if (!process || n > DOUBLE_MAPPINGS) {
		maps->n_refused++;
		return false;
	}
	*process = (struct double_process){.pid = pid, .generation = generation, .n = n};
	memcpy(process->mappings, mappings, n * sizeof(*mappings));
	maps->n_puts++;
	return true;
}

void vmop_unwind_maps_remove_process(struct vmop_unwind_maps *maps, uint32_t pid)
{
	struct double_process *process = double_process(maps, pid);
	if (process)
		process->pid = 0;
}

void vmop_unwind_maps_facts(const struct vmop_unwind_maps *maps, struct vmop_unwind_maps_facts *ret)
{
	*ret = (struct vmop_unwind_maps_facts){.max_tables = DOUBLE_TABLES,
					       .n_refused = maps->n_refused};
	for (size_t i = 0; i < DOUBLE_TABLES; i++)
		ret->n_tables += maps->n_rows[i] != 0;
	for (size_t i = 0; i < DOUBLE_PROCESSES; i++)
		ret->n_processes += maps->processes[i].pid != 0;
}

#endif
