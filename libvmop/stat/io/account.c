// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/io/account.h"

#include <stdlib.h>
#include <string.h>

#include "hv-interface/appio-calls.h"
#include "libutil/array.h"

void vmop_stat_io_account_deinit(struct vmop_stat_io_account *account)
{
	free(account->tasks);
	free(account->items);
	*account = (struct vmop_stat_io_account){0};
}

void vmop_stat_io_account_clear(struct vmop_stat_io_account *account)
{
	account->n_tasks = account->n_items = 0;
}

const struct vmop_appio_task *vmop_stat_io_account_task(const struct vmop_stat_io_account *account,
							uint32_t number)
{
	return number >= 1 && number <= account->n_tasks ? &account->tasks[number - 1] : NULL;
}

enum vmop_stat_io_sum vmop_stat_io_sum_of(const struct vmop_appio_key *key)
{
	const struct vmop_appio_call *call = vmop_appio_call(key->call);
	switch (call ? call->class : VMOP_APPIO_NONE) {
	case VMOP_APPIO_SEEK:
		return VMOP_STAT_IO_SEEKS;
	case VMOP_APPIO_SELECT:
		return VMOP_STAT_IO_SELECTS;
	case VMOP_APPIO_OPEN:
		return VMOP_STAT_IO_OPENS;
	case VMOP_APPIO_CLOSE:
		return VMOP_STAT_IO_CLOSES;
	case VMOP_APPIO_URING:
		return VMOP_STAT_IO_URINGS;
	default:
		return key->direction == VMOP_APPIO_OUT ? VMOP_STAT_IO_WRITES : VMOP_STAT_IO_READS;
	}
}

void vmop_stat_io_account_totals(const struct vmop_stat_io_account *account,
				 struct vmop_stat_io_totals *ret)
{
	*ret = (struct vmop_stat_io_totals){0};
	for (size_t i = 0; i < account->n_items; i++) {
		const struct vmop_stat_io_item *item = &account->items[i];
		vmop_appio_counts_add(&ret->sums[vmop_stat_io_sum_of(&item->key)],
				      &item->entry.counts);
	}
	for (size_t i = 0; i < account->n_tasks; i++) {
		const struct vmop_appio_task *task = &account->tasks[i];
		if (task->open_peak > ret->open_peak)
			ret->open_peak = task->open_peak;
		ret->file_faults += task->file_faults;
		ret->major_faults += task->major_faults;
	}
}

/* ---- groups ------------------------------------------------------------------------------- */

struct grouping {
	const struct vmop_stat_io_account *account;
	enum vmop_stat_io_by by;
};

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static uint32_t pid_of(const struct vmop_stat_io_account *account, uint32_t number)
{
	const struct vmop_appio_task *task = vmop_stat_io_account_task(account, number);
	return task ? task->pid : 0;
}

/* Threads of one process share its descriptors. */
static int compare_descriptors(const struct vmop_stat_io_account *account,
			       const struct vmop_appio_key *a, const struct vmop_appio_key *b)
{
	int order = compare_u64(pid_of(account, a->task), pid_of(account, b->task));
	if (!order)
		order = (a->fd > b->fd) - (a->fd < b->fd);
	if (!order)
		order = compare_u64(a->inode, b->inode);
	return order ? order : (int)a->kind - b->kind;
}

static int compare_groups(const void *a_item, const void *b_item, void *data)
{
	const struct grouping *grouping = data;
	const struct vmop_appio_key *a = &((const struct vmop_stat_io_item *)a_item)->key;
	const struct vmop_appio_key *b = &((const struct vmop_stat_io_item *)b_item)->key;
	int order = 0;
	switch (grouping->by) {
	case VMOP_STAT_IO_BY_KIND:
		order = (int)a->kind - b->kind;
		break;
	case VMOP_STAT_IO_BY_PROCESS:
		order = compare_u64(pid_of(grouping->account, a->task),
				    pid_of(grouping->account, b->task));
		break;
	case VMOP_STAT_IO_BY_THREAD:
		order = compare_u64(a->task, b->task);
		break;
	case VMOP_STAT_IO_BY_DESCRIPTOR:
		order = compare_descriptors(grouping->account, a, b);
		break;
	case VMOP_STAT_IO_BY_CALL:
		order = (int)a->call - b->call;
		break;
	}
	return order ? order : (int)a->direction - b->direction;
}

static int compare_sizes(const void *a_item, const void *b_item)
{
	const struct vmop_stat_io_item *a = a_item, *b = b_item;
	int order = compare_u64(b->entry.counts.bytes, a->entry.counts.bytes);
	if (!order)
		order = compare_u64(b->entry.counts.calls, a->entry.counts.calls);
	if (!order)
		order = compare_u64(a->key.task, b->key.task);
	if (!order)
		order = (a->key.fd > b->key.fd) - (a->key.fd < b->key.fd);
	return order ? order : memcmp(&a->key, &b->key, sizeof(a->key));
}

struct vmop_error *vmop_stat_io_account_group(struct vmop_stat_io_account *account,
					      enum vmop_stat_io_by by,
					      struct vmop_stat_io_item **ret, size_t *ret_n)
{
	struct grouping grouping = {account, by};
	struct vmop_stat_io_item *groups = calloc(account->n_items + 1, sizeof(*groups));
	size_t n = 0;
	*ret = NULL;
	*ret_n = 0;
	if (!groups)
		return &vmop_error_no_memory;
	if (account->n_items) /* without items the array is NULL, which qsort_r does not allow */
		qsort_r(account->items, account->n_items, sizeof(*account->items), compare_groups,
			&grouping);
	for (size_t i = 0; i < account->n_items; i++) {
		const struct vmop_stat_io_item *item = &account->items[i];
		if (by != VMOP_STAT_IO_BY_CALL &&
		    vmop_stat_io_sum_of(&item->key) > VMOP_STAT_IO_WRITES)
			continue;
		if (n && compare_groups(&groups[n - 1], item, &grouping) == 0)
			vmop_appio_counts_add(&groups[n - 1].entry.counts, &item->entry.counts);
		else
			groups[n++] = *item;
	}
	qsort(groups, n, sizeof(*groups), compare_sizes);
	*ret = groups;
	*ret_n = n;
	return NULL;
}

/* ---- taking in ---------------------------------------------------------------------------- */

struct vmop_error *vmop_stat_io_account_put_task(void *data, uint32_t number,
						 const struct vmop_appio_task *task)
{
	struct vmop_stat_io_account *account = data;
	if (number != account->n_tasks + 1)
		return vmop_error_new(VMOP_ERROR_CORRUPT, "threads are not in their order");
	if (!vmop_array_reserve(account->tasks, account->max_tasks, account->n_tasks + 1))
		return &vmop_error_no_memory;
	account->tasks[account->n_tasks++] = *task;
	return NULL;
}

struct vmop_error *vmop_stat_io_account_put_entry(void *data, const struct vmop_appio_key *key,
						  const struct vmop_appio_entry *entry)
{
	struct vmop_stat_io_account *account = data;
	if (!vmop_array_reserve(account->items, account->max_items, account->n_items + 1))
		return &vmop_error_no_memory;
	account->items[account->n_items++] = (struct vmop_stat_io_item){*key, *entry};
	return NULL;
}
