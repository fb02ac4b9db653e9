// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading the maps of the BPF program of run times: the tasks that live, and those that ended. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Without memory, HASH_ADD leaves an element's tbl NULL instead of ending the program. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "hv-interface/bpf/run-time-open.h"
#include "libutil/array.h"
#include "libutil/cleanup.h"

struct node_key {
	uint64_t task, start_ns;
};

struct vmop_run_time_node {
	UT_hash_handle hh;
	struct node_key key;
	unsigned generation; /* the read that found it */
	bool has_ended;
	struct vmop_run_time_entry entry;
};

struct vmop_error *vmop_run_time_table_init(struct vmop_run_time *run_time)
{
	struct vmop_run_time_table *table = &run_time->table;
	table->keys = calloc(run_time->max_tasks, sizeof(*table->keys));
	table->entries = calloc(run_time->max_tasks, sizeof(*table->entries));
	table->cpus = calloc(run_time->n_cpus, sizeof(*table->cpus));
	return table->keys && table->entries && table->cpus ? NULL : &vmop_error_no_memory;
}

static void remove_node(struct vmop_run_time_table *table, struct vmop_run_time_node *node)
{
	HASH_DEL(table->nodes, node);
	free(node);
}

void vmop_run_time_table_deinit(struct vmop_run_time_table *table)
{
	struct vmop_run_time_node *node, *next;
	HASH_ITER (hh, table->nodes, node, next)
		remove_node(table, node);
	free(table->tasks);
	free(table->keys);
	free(table->entries);
	free(table->cpus);
}

/* ---- sums --------------------------------------------------------------------------------- */

/* Divide the virtual time as the kernel's cputime_adjust() does: without ticks all is the user's.
 */
static struct vmop_run_time_sums sums_of(const struct vmop_run_time_sums *amounts, uint64_t open_ns)
{
	struct vmop_run_time_sums ret = {
		.run_ns = amounts->run_ns,
		.steal_ns =
			amounts->steal_ns < amounts->run_ns ? amounts->steal_ns : amounts->run_ns,
		.virtual_ns = amounts->virtual_ns + open_ns,
		.n_runs = amounts->n_runs,
	};
	uint64_t ticks_ns = amounts->user_ns + amounts->system_ns;
	if (ticks_ns)
		ret.system_ns = (uint64_t)((unsigned __int128)ret.virtual_ns * amounts->system_ns /
					   ticks_ns);
	ret.user_ns = ret.virtual_ns - ret.system_ns;
	return ret;
}

/* ---- the table ---------------------------------------------------------------------------- */

static struct vmop_run_time_node *put(struct vmop_run_time_table *table, uint64_t task,
				      const struct vmop_run_time_entry *entry)
{
	const struct node_key key = {.task = task, .start_ns = entry->start_ns};
	struct vmop_run_time_node *node;
	HASH_FIND(hh, table->nodes, &key, sizeof(key), node);
	if (!node) {
		node = calloc(1, sizeof(*node));
		if (!node)
			return NULL;
		node->key = key;
		HASH_ADD(hh, table->nodes, key, sizeof(node->key), node);
		if (!node->hh.tbl) {
			free(node);
			return NULL;
		}
	}
	if (node->has_ended) /* the map was read before the record */
		return node;
	node->generation = table->generation;
	node->entry = *entry;
	return node;
}

int vmop_run_time_take_record(void *context, void *bytes, size_t len_bytes)
{
	struct vmop_run_time *run_time = context;
	struct vmop_run_time_table *table = &run_time->table;
	struct vmop_run_time_record record;
	if (len_bytes < sizeof(record))
		return 0;
	memcpy(&record, bytes, sizeof(record));
	struct vmop_run_time_node *node = put(table, record.task, &record.entry);
	if (!node) {
		run_time->err = &vmop_error_no_memory;
		return 0;
	}
	node->has_ended = true;
	if (++table->n_ended <= VMOP_RUN_TIME_MAX_ENDED)
		return 0;
	vmop_run_time_sums_add(&table->unlisted, &record.entry.amounts);
	table->facts.n_unlisted++;
	table->n_ended--;
	remove_node(table, node);
	return 0;
}

/* Add what the CPUs have of tasks that no one listed. Returns the amounts of all CPUs. */
static struct vmop_run_time_sums read_cpus(struct vmop_run_time *run_time,
					   uint64_t *ret_n_unrecorded)
{
	struct vmop_run_time_sums ret = {0};
	const uint32_t zero = 0;
	*ret_n_unrecorded = 0;
	run_time->table.facts.n_refused = 0;
	if (bpf_map_lookup_elem(run_time->cpus_fd, &zero, run_time->table.cpus) != 0)
		return ret;
	for (uint32_t i = 0; i < run_time->n_cpus; i++) {
		const struct vmop_run_time_cpu *cpu = &run_time->table.cpus[i];
		vmop_run_time_sums_add(&ret, &cpu->unrecorded);
		*ret_n_unrecorded += cpu->n_unrecorded;
		run_time->table.facts.n_refused += cpu->n_refused;
	}
	return ret;
}

static struct vmop_error *read_living(struct vmop_run_time *run_time)
{
	struct vmop_run_time_table *table = &run_time->table;
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	uint32_t n = run_time->max_tasks, position;
	if (bpf_map_lookup_batch(run_time->tasks_fd, NULL, &position, table->keys, table->entries,
				 &n, &opts) != 0 &&
	    errno != ENOENT)
		return vmop_error_os(errno, "the times of tasks");
	for (uint32_t i = 0; i < n; i++)
		if (!put(table, table->keys[i], &table->entries[i]))
			return &vmop_error_no_memory;
	return NULL;
}

static int by_task(const void *a, const void *b)
{
	const struct vmop_run_time_task *x = a, *y = b;
	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Make the list, without the tasks that ended while the ring had no room. */
static struct vmop_error *list(struct vmop_run_time_table *table)
{
	struct vmop_run_time_node *node, *next;
	table->n_tasks = 0;
	if (!vmop_array_reserve(table->tasks, table->capacity, HASH_COUNT(table->nodes) + 1))
		return &vmop_error_no_memory;
	HASH_ITER (hh, table->nodes, node, next) {
		if (!node->has_ended && node->generation != table->generation) {
			remove_node(table, node);
			continue;
		}
		struct vmop_run_time_task *task = &table->tasks[table->n_tasks++];
		*task = (struct vmop_run_time_task){
			.start_ns = node->key.start_ns,
			.tid = (pid_t)node->entry.tid,
			.tgid = (pid_t)node->entry.tgid,
			.has_ended = node->has_ended,
			.sums = sums_of(&node->entry.amounts, node->entry.open_ns),
		};
		memcpy(task->comm, node->entry.comm, sizeof(node->entry.comm));
		vmop_run_time_sums_add(&table->facts.total, &task->sums);
	}
	qsort(table->tasks, table->n_tasks, sizeof(*table->tasks), by_task);
	return NULL;
}

struct vmop_error *vmop_run_time_read(struct vmop_run_time *run_time)
{
	struct vmop_run_time_table *table = &run_time->table;
	uint64_t n_unrecorded;
	table->generation++;
	/* In this order no task is missed or counted twice, whenever it ends. */
	struct vmop_run_time_sums unlisted = read_cpus(run_time, &n_unrecorded);
	vmop_run_time_settle(run_time);
	struct vmop_error *err = read_living(run_time);
	if (!err && ring_buffer__consume(run_time->ring) < 0)
		err = vmop_error_new(VMOP_ERROR_CANT, "the records of ended tasks");
	if (!err)
		err = vmop_steal(&run_time->err);
	if (err)
		return err;
	vmop_run_time_sums_add(&unlisted, &table->unlisted);
	table->facts.total = sums_of(&unlisted, 0);
	err = list(table);
	table->facts.n_tasks = table->n_tasks + table->facts.n_unlisted + n_unrecorded;
	return err;
}

const struct vmop_run_time_task *vmop_run_time_tasks(const struct vmop_run_time *run_time,
						     size_t *ret_n)
{
	*ret_n = run_time->table.n_tasks;
	return run_time->table.tasks;
}

void vmop_run_time_facts(const struct vmop_run_time *run_time, struct vmop_run_time_facts *ret)
{
	*ret = run_time->table.facts;
	ret->n_unlisted = ret->n_tasks - run_time->table.n_tasks;
}
