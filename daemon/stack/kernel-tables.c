// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/stack/kernel-tables.h"

#include <pthread.h>
#include <stdlib.h>

#include <utlist.h>

#include "daemon/stack/flat-table.h"
#include "libutil/log.h"
#include "libutil/thread.h"

/* A request to copy a table, or to remove one. */
struct request {
	uint32_t number;
	struct vmop_image_slot image;
	const struct vmop_cfi_table *table; /* NULL: remove */
	bool is_there;			    /* the result of a copy */
	struct request *prev, *next;
};

struct vmop_kernel_tables {
	struct vmop_unwind_maps *maps;
	uint32_t max_tables;
	bool has_leftovers;
	uint32_t *free, n_free;	      /* numbers of no table */
	uint32_t *removed, n_removed; /* numbers that mappings may still have */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	/* Protected by the lock. */
	struct request *queue, *done;
	bool is_ending;
};

/* ---- the thread ------------------------------------------------------------ */

static bool put(struct vmop_kernel_tables *tables, const struct request *request)
{
	struct vmop_flat_table flat;
	struct vmop_error *err = vmop_flat_table_init(&flat, request->table);
	if (err) {
		vmop_error_destroy(err);
		return false;
	}
	bool is_there = vmop_unwind_maps_put_table(tables->maps, request->number, &flat.content);
	vmop_flat_table_deinit(&flat);
	return is_there;
}

static void run_request(struct vmop_kernel_tables *tables, struct request *request)
{
	if (request->table)
		request->is_there = put(tables, request);
	else
		vmop_unwind_maps_remove_table(tables->maps, request->number);
}

static bool is_ending(struct vmop_kernel_tables *tables)
{
	pthread_mutex_lock(&tables->lock);
	bool is_ending = tables->is_ending;
	pthread_mutex_unlock(&tables->lock);
	return is_ending;
}

static void *run(void *arg)
{
	struct vmop_kernel_tables *tables = arg;
	for (uint32_t i = 0; tables->has_leftovers && i < tables->max_tables; i++) {
		if (is_ending(tables))
			return NULL;
		vmop_unwind_maps_remove_table(tables->maps, i);
	}
	pthread_mutex_lock(&tables->lock);
	while (!tables->is_ending) {
		struct request *request = tables->queue;
		if (!request) {
			pthread_cond_wait(&tables->wake, &tables->lock);
			continue;
		}
		DL_DELETE(tables->queue, request);
		pthread_mutex_unlock(&tables->lock);
		run_request(tables, request);
		pthread_mutex_lock(&tables->lock);
		DL_APPEND(tables->done, request);
	}
	pthread_mutex_unlock(&tables->lock);
	return NULL;
}

/* ---- the owner ------------------------------------------------------------- */

static struct vmop_error *make_numbers(struct vmop_kernel_tables *tables)
{
	tables->free = calloc(tables->max_tables + 1, sizeof(*tables->free));
	tables->removed = calloc(tables->max_tables + 1, sizeof(*tables->removed));
	if (!tables->free || !tables->removed)
		return &vmop_error_no_memory;
	for (uint32_t i = tables->max_tables; i; i--)
		tables->free[tables->n_free++] = i - 1;
	return NULL;
}

static void free_tables(struct vmop_kernel_tables *tables)
{
	pthread_mutex_destroy(&tables->lock);
	pthread_cond_destroy(&tables->wake);
	free(tables->free);
	free(tables->removed);
	free(tables);
}

struct vmop_error *vmop_kernel_tables_create(struct vmop_unwind_maps *maps,
					     struct vmop_kernel_tables **ret)
{
	struct vmop_unwind_maps_facts facts;
	struct vmop_kernel_tables *tables = calloc(1, sizeof(*tables));
	if (!tables)
		return &vmop_error_no_memory;
	vmop_unwind_maps_facts(maps, &facts);
	tables->maps = maps;
	tables->max_tables = facts.max_tables;
	tables->has_leftovers = facts.n_tables > 0;
	pthread_mutex_init(&tables->lock, NULL);
	pthread_cond_init(&tables->wake, NULL);
	struct vmop_error *err = make_numbers(tables);
	if (!err)
		err = vmop_thread_begin(&tables->thread, "vmopd-bpf", run, tables);
	if (err) {
		free_tables(tables);
		return err;
	}
	*ret = tables;
	return NULL;
}

static void free_requests(struct request *requests)
{
	struct request *request, *next;
	DL_FOREACH_SAFE(requests, request, next)
	free(request);
}

void vmop_kernel_tables_destroy(struct vmop_kernel_tables *tables)
{
	if (!tables)
		return;
	pthread_mutex_lock(&tables->lock);
	tables->is_ending = true;
	pthread_cond_signal(&tables->wake);
	pthread_mutex_unlock(&tables->lock);
	pthread_join(tables->thread, NULL);
	free_requests(tables->queue);
	free_requests(tables->done);
	free_tables(tables);
}

static bool submit(struct vmop_kernel_tables *tables, const struct request *content)
{
	struct request *request = malloc(sizeof(*request));
	if (!request)
		return false;
	*request = *content;
	pthread_mutex_lock(&tables->lock);
	DL_APPEND(tables->queue, request);
	pthread_cond_signal(&tables->wake);
	pthread_mutex_unlock(&tables->lock);
	return true;
}

bool vmop_kernel_tables_put(struct vmop_kernel_tables *tables, struct vmop_image_slot image,
			    const struct vmop_cfi_table *table)
{
	if (!tables->n_free)
		return false;
	const struct request request = {
		.number = tables->free[tables->n_free - 1], .image = image, .table = table};
	bool is_submitted = submit(tables, &request);
	tables->n_free -= is_submitted;
	return is_submitted;
}

void vmop_kernel_tables_remove(struct vmop_kernel_tables *tables, uint32_t number)
{
	/* Without memory the table stays until another one takes its number. */
	submit(tables, &(struct request){.number = number});
	tables->removed[tables->n_removed++] = number;
}

void vmop_kernel_tables_forgotten(struct vmop_kernel_tables *tables)
{
	while (tables->n_removed)
		tables->free[tables->n_free++] = tables->removed[--tables->n_removed];
}

void vmop_kernel_tables_collect(struct vmop_kernel_tables *tables,
				void (*done)(void *arg, struct vmop_image_slot image,
					     uint32_t number),
				void *arg)
{
	struct request *request, *next;
	pthread_mutex_lock(&tables->lock);
	struct request *requests = tables->done;
	tables->done = NULL;
	pthread_mutex_unlock(&tables->lock);
	DL_FOREACH_SAFE(requests, request, next)
	{
		if (request->table && !request->is_there)
			tables->free[tables->n_free++] = request->number;
		if (request->table)
			done(arg, request->image,
			     request->is_there ? request->number : VMOP_UNWIND_NOT_YET);
		free(request);
	}
}
