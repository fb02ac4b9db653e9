// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/unify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "opreport/query/identity.h"

#define RETURN_IF_DIFFERENT(a, b)                                                                  \
	do {                                                                                       \
		if ((a) != (b))                                                                    \
			return (a) < (b) ? -1 : 1;                                                 \
	} while (0)

typedef int item_order(const void *a, const void *b);

/* A guest's kernel has one kind in its host's session and another in the guest's own session. */
static enum vmop_image_kind unified_kind(const struct vmop_image_item *image)
{
	return image->kind == VMOP_IMAGE_GUEST_KERNEL && image->build_id_len_bytes
		       ? VMOP_IMAGE_KERNEL
		       : image->kind;
}

static int image_order(const void *a, const void *b)
{
	const struct vmop_image_item *x = a, *y = b;
	RETURN_IF_DIFFERENT(x->domain, y->domain);
	RETURN_IF_DIFFERENT(x->build_id_len_bytes, y->build_id_len_bytes);
	RETURN_IF_DIFFERENT(unified_kind(x), unified_kind(y));
	if (x->build_id_len_bytes)
		return memcmp(x->build_id, y->build_id, x->build_id_len_bytes);
	int order = strcmp(x->name, y->name);
	return order ? order : strcmp(x->root, y->root);
}

/*
 * A pid is one process within a session.  The idle tasks of all sessions are equal.  A merged task
 * has no pid and has no equal.
 */
static int process_order(const void *a, const void *b)
{
	const struct vmop_task_item *x = a, *y = b;
	RETURN_IF_DIFFERENT(x->domain, y->domain);
	RETURN_IF_DIFFERENT(x->is_merged, y->is_merged);
	if (x->is_merged)
		RETURN_IF_DIFFERENT(x, y);
	RETURN_IF_DIFFERENT(x->pid, y->pid);
	if (!x->is_idle || !y->is_idle)
		RETURN_IF_DIFFERENT(x->session, y->session);
	return 0;
}

static int task_order(const void *a, const void *b)
{
	const struct vmop_task_item *x = a, *y = b;
	RETURN_IF_DIFFERENT(x->is_idle, y->is_idle);
	RETURN_IF_DIFFERENT(x->domain, y->domain);
	if (!x->is_idle)
		RETURN_IF_DIFFERENT(x, y);
	return 0;
}

static int command_order(const void *a, const void *b)
{
	const struct vmop_task_item *x = a, *y = b;
	RETURN_IF_DIFFERENT(x->domain, y->domain);
	return strcmp(x->comm, y->comm);
}

static int cgroup_order(const void *a, const void *b)
{
	const struct vmop_task_item *x = a, *y = b;
	RETURN_IF_DIFFERENT(x->domain, y->domain);
	return strcmp(x->cgroup, y->cgroup);
}

/* Compare pointers to items; equal items stay in the table's order. */
static int compare_items(const void *a, const void *b, void *order)
{
	const char *const *x = a, *const *y = b;
	int result = ((item_order *)order)(*x, *y);
	return result ? result : (*x > *y) - (*x < *y);
}

/*
 * Set *ret to the index, for each item of the table, of the first item that is equal to it in
 * `order`.  The caller frees *ret.
 */
static struct vmop_error *find_rows(const struct vmop_table *table, item_order *order,
				    uint32_t **ret)
{
	_cleanup_free_ char **sorted = calloc(table->n, sizeof(*sorted));
	*ret = calloc(table->n, sizeof(**ret));
	if (!sorted || !*ret)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < table->n; i++)
		sorted[i] = (char *)table->items + i * table->item_bytes;
	qsort_r(sorted, table->n, sizeof(*sorted), compare_items, order);
	const char *first = sorted[0], *items = table->items;
	for (size_t i = 0; i < table->n; i++) {
		if (order(first, sorted[i]) != 0)
			first = sorted[i];
		size_t item = (size_t)(sorted[i] - items) / table->item_bytes;
		(*ret)[item] = (uint32_t)((size_t)(first - items) / table->item_bytes);
	}
	return NULL;
}

static int event_order(const void *a, const void *b)
{
	const struct vmop_event_item *x = a, *y = b;
	RETURN_IF_DIFFERENT(x->session, y->session);
	return strcmp(x->name, y->name);
}

static int event_name_order(const void *a, const void *b)
{
	const struct vmop_event_item *x = a, *y = b;
	return strcmp(x->name, y->name);
}

static bool set_label(struct vmop_catalog *catalog, struct vmop_event_item *event,
		      const char *label)
{
	event->label = vmop_arena_name(&catalog->arena, label);
	return event->label != NULL;
}

static struct vmop_error *unify_event_names(struct vmop_catalog *catalog)
{
	_cleanup_free_ uint32_t *rows = NULL;
	struct vmop_error *err = find_rows(&catalog->events, event_name_order, &rows);
	for (size_t i = 0; i < catalog->events.n && !err; i++)
		vmop_catalog_event(catalog, i)->name_row = rows[i];
	return err;
}

/* Label events of one name, such as one event with two periods, so that columns differ. */
static struct vmop_error *label_events(struct vmop_catalog *catalog)
{
	struct vmop_table *table = &catalog->events;
	_cleanup_free_ struct vmop_event_item **sorted = calloc(table->n, sizeof(*sorted));
	if (!sorted)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < table->n; i++)
		sorted[i] = vmop_catalog_event(catalog, i);
	qsort_r(sorted, table->n, sizeof(*sorted), compare_items, event_order);
	for (size_t i = 1, nth = 1; i < table->n; i++) {
		nth = event_order(sorted[i - 1], sorted[i]) == 0 ? nth + 1 : 1;
		if (nth == 1)
			continue;
		_cleanup_free_ char *label = NULL;
		if (asprintf(&label, "%s#%zu", sorted[i]->name, nth) < 0)
			label = NULL;
		if (!label || !set_label(catalog, sorted[i], label))
			return &vmop_error_no_memory;
	}
	return NULL;
}

struct vmop_error *vmop_catalog_unify_cgroups(struct vmop_catalog *catalog)
{
	_cleanup_free_ uint32_t *rows = NULL;
	struct vmop_error *err = find_rows(&catalog->tasks, cgroup_order, &rows);
	for (size_t i = 0; i < catalog->tasks.n && !err; i++)
		vmop_catalog_task(catalog, i)->cgroup_row = rows[i];
	return err;
}

static struct vmop_error *unify_tasks(struct vmop_catalog *catalog, unsigned merge)
{
	_cleanup_free_ uint32_t *rows = NULL;
	struct vmop_error *err = NULL;
	item_order *order = merge & VMOP_MERGE_TGID   ? command_order
			    : merge & VMOP_MERGE_TID  ? process_order
			    : catalog->n_sessions > 1 ? task_order
						      : NULL;
	if (order)
		err = find_rows(&catalog->tasks, order, &rows);
	for (size_t i = 0; i < catalog->tasks.n && !err; i++)
		vmop_catalog_task(catalog, i)->row = order ? rows[i] : (uint32_t)i;
	return err;
}

/* Set the domains of tasks and images to the rows of their ids. */
static void link_domains(struct vmop_catalog *catalog)
{
	for (size_t i = 0; i < catalog->tasks.n; i++) {
		struct vmop_task_item *task = vmop_catalog_task(catalog, i);
		size_t index = vmop_catalog_find_domain(catalog, task->session, task->domain_id);
		task->domain = vmop_catalog_domain(catalog, index)->row;
	}
	for (size_t i = 0; i < catalog->images.n; i++) {
		struct vmop_image_item *image = vmop_catalog_image(catalog, i);
		size_t index = vmop_catalog_find_domain(catalog, image->session, image->domain_id);
		image->domain = vmop_catalog_domain(catalog, index)->row;
	}
}

static int text_order(const void *a, const void *b)
{
	const struct vmop_image_item *x = a, *y = b;
	RETURN_IF_DIFFERENT(x->domain, y->domain);
	return strcmp(x->name, y->name);
}

/* List the hypervisor images that have a text, in text_order.  The caller frees *ret. */
static struct vmop_error *list_texts(const struct vmop_catalog *catalog, char ***ret, size_t *ret_n)
{
	size_t n = 0;
	char **texts = calloc(catalog->images.n, sizeof(*texts));
	*ret = texts;
	if (!texts)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < catalog->images.n; i++) {
		struct vmop_image_item *image = vmop_catalog_image(catalog, i);
		if (image->kind == VMOP_IMAGE_HYPERVISOR && image->len_bytes)
			texts[n++] = (char *)image;
	}
	qsort_r(texts, n, sizeof(*texts), compare_items, text_order);
	*ret_n = n;
	return NULL;
}

/*
 * Set the text of each image.  An active guest's session has addresses in the hypervisor; only
 * dom0's session records where the hypervisor's text begins.
 */
static struct vmop_error *find_texts(struct vmop_catalog *catalog)
{
	_cleanup_free_ char **texts = NULL;
	size_t n;
	struct vmop_error *err = list_texts(catalog, &texts, &n);
	for (uint32_t i = 0; i < catalog->images.n && !err; i++) {
		struct vmop_image_item *image = vmop_catalog_image(catalog, i);
		image->text = i;
		if (image->kind != VMOP_IMAGE_HYPERVISOR || image->len_bytes)
			continue;
		size_t low = 0, high = n;
		while (low < high) {
			size_t middle = low + (high - low) / 2;
			if (text_order(texts[middle], image) < 0)
				low = middle + 1;
			else
				high = middle;
		}
		if (low == n || text_order(texts[low], image) != 0)
			continue;
		const struct vmop_image_item *text = (const void *)texts[low];
		image->text = (uint32_t)(text - vmop_catalog_image(catalog, 0));
		image->row = text->row;
	}
	return err;
}

static struct vmop_error *unify_images(struct vmop_catalog *catalog)
{
	_cleanup_free_ uint32_t *rows = NULL;
	struct vmop_error *err = find_rows(&catalog->images, image_order, &rows);
	for (size_t i = 0; i < catalog->images.n && !err; i++)
		vmop_catalog_image(catalog, i)->row = rows[i];
	if (!err)
		err = find_texts(catalog);
	for (size_t i = 0; i < catalog->images.n && !err; i++) {
		uint32_t row = vmop_catalog_image(catalog, i)->row;
		if (row != i)
			vmop_catalog_image(catalog, row)->is_shared = true;
	}
	return err;
}

struct vmop_error *vmop_catalog_unify(struct vmop_catalog *catalog, unsigned merge)
{
	struct vmop_error *err = vmop_domains_unify(catalog);
	if (err)
		return err;
	link_domains(catalog);
	err = label_events(catalog);
	if (!err)
		err = unify_event_names(catalog);
	if (!err)
		err = unify_images(catalog);
	return err ? err : unify_tasks(catalog, merge);
}
