// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/catalog.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/parse.h"
#include "opreport/identity.h"

/* ---- tables by id -------------------------------------------------------- */

/* A zeroed item at the end. */
static void *table_add(struct vmop_table *table)
{
	if (table->n == table->capacity) {
		size_t capacity = table->capacity ? table->capacity * 2 : 64;
		void *items = reallocarray(table->items, capacity, table->item_bytes);
		if (!items)
			return NULL;
		table->items = items;
		table->capacity = capacity;
	}
	void *item = (char *)table->items + table->n * table->item_bytes;
	memset(item, 0, table->item_bytes);
	table->n++;
	return item;
}

static uint32_t id_at(const struct vmop_table *table, size_t i)
{
	uint32_t id;
	memcpy(&id, (const char *)table->items + i * table->item_bytes, sizeof(id));
	return id;
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t left, right;
	memcpy(&left, a, sizeof(left));
	memcpy(&right, b, sizeof(right));
	return (left > right) - (left < right);
}

/* Sorts what was added since the part's first; then vmop_table_index answers for its session. */
static struct vmop_error *table_index(struct vmop_table *table, struct vmop_table_part *part)
{
	part->end = table->n;
	size_t n = part->end - part->first;
	if (!n)
		return NULL;
	bool is_sorted = true;
	for (size_t i = part->first + 1; i < part->end && is_sorted; i++)
		is_sorted = id_at(table, i - 1) < id_at(table, i);
	if (!is_sorted)
		qsort((char *)table->items + part->first * table->item_bytes, n, table->item_bytes,
		      compare_ids);
	size_t max_id = id_at(table, part->end - 1);
	if (max_id >= n * 4 + 1024)
		return NULL;
	part->by_id = calloc(max_id + 1, sizeof(*part->by_id));
	if (!part->by_id)
		return &vmop_error_no_memory;
	part->n_by_id = max_id + 1;
	for (size_t i = part->first; i < part->end; i++)
		part->by_id[id_at(table, i)] = (uint32_t)i;
	return NULL;
}

size_t vmop_table_index(const struct vmop_table *table, size_t session, uint32_t id)
{
	const struct vmop_table_part *part = &table->parts[session];
	if (part->by_id)
		return id < part->n_by_id ? part->by_id[id] : 0;
	size_t low = part->first, high = part->end;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (id_at(table, middle) < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < part->end && id_at(table, low) == id ? low : 0;
}

/* ---- loading ------------------------------------------------------------- */

/* One session that is being loaded. */
struct loader {
	struct vmop_catalog *catalog;
	uint32_t session;
	struct vmop_db *db;
};

/* Sets *field to an arena copy; false when memory runs out. */
static bool keep(struct vmop_catalog *catalog, const char **field, const char *text)
{
	*field = vmop_arena_text(&catalog->arena, text);
	return *field != NULL;
}

static struct vmop_error *add_event(void *arg, const struct vmop_db_event *event)
{
	const struct loader *loader = arg;
	struct vmop_catalog *catalog = loader->catalog;
	struct vmop_event_item *item = table_add(&catalog->events);
	if (!item)
		return &vmop_error_no_memory;
	item->id = event->id;
	item->session = loader->session;
	item->period_events = event->period_events;
	item->frequency_hz = event->frequency_hz;
	item->scale = 1;
	item->asked = "";
	bool ok = keep(catalog, &item->name, event->name) &&
		  keep(catalog, &item->source, event->source) &&
		  keep(catalog, &item->unit, event->unit) &&
		  keep(catalog, &item->note, event->note);
	item->label = item->name;
	return ok ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *add_domain(void *arg, const struct vmop_db_domain *domain)
{
	const struct loader *loader = arg;
	struct vmop_catalog *catalog = loader->catalog;
	struct vmop_domain_item *item = table_add(&catalog->domains);
	if (!item)
		return &vmop_error_no_memory;
	item->id = domain->id;
	item->session = loader->session;
	item->kind = domain->kind;
	bool ok = keep(catalog, &item->name, domain->name) &&
		  keep(catalog, &item->uuid, domain->uuid);
	return ok ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *add_task(void *arg, const struct vmop_db_task *task)
{
	const struct loader *loader = arg;
	struct vmop_catalog *catalog = loader->catalog;
	struct vmop_task_item *item = table_add(&catalog->tasks);
	if (!item)
		return &vmop_error_no_memory;
	item->id = task->id;
	item->session = loader->session;
	item->domain = task->domain;
	item->pid = task->pid;
	item->tid = task->tid;
	item->start_time_ns = task->start_time_ns;
	item->exe_image = task->exe_image;
	item->is_merged = task->merged > 0 && task->merged <= INT64_MAX;
	item->n_processes = item->is_merged ? task->merged : 1;
	item->is_idle = !item->is_merged && task->domain == VMOP_DOMAIN_ID_HOST && task->pid == 0;
	bool ok = keep(catalog, &item->comm, item->is_idle ? "[idle]" : task->comm) &&
		  keep(catalog, &item->cgroup, task->cgroup);
	return ok ? NULL : &vmop_error_no_memory;
}

/* Ends a walk early; never seen outside. */
static struct vmop_error seen_enough = {.code = VMOP_ERROR_NOT_FOUND};

static struct vmop_error *add_idle_task(void *arg, const struct vmop_db_task *task)
{
	if (task->pid != 0 || task->merged || task->domain != VMOP_DOMAIN_ID_HOST)
		return NULL;
	struct vmop_error *err = add_task(arg, task);
	return err ? err : &seen_enough;
}

static struct vmop_error *add_image(void *arg, const struct vmop_db_image *image)
{
	const struct loader *loader = arg;
	struct vmop_catalog *catalog = loader->catalog;
	struct vmop_image_item *item = table_add(&catalog->images);
	if (!item)
		return &vmop_error_no_memory;
	item->id = image->id;
	item->session = loader->session;
	item->kind = image->kind;
	item->domain = image->domain;
	item->base = image->base;
	item->len_bytes = image->len_bytes;
	if (image->build_id_len_bytes <= sizeof(item->build_id)) {
		item->build_id_len_bytes = image->build_id_len_bytes;
		memcpy(item->build_id, image->build_id, image->build_id_len_bytes);
	}
	bool ok =
		keep(catalog, &item->name, image->name) && keep(catalog, &item->root, image->root);
	return ok ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *add_interval(void *arg, const struct vmop_db_interval *interval)
{
	const struct loader *loader = arg;
	struct vmop_session_facts *facts = &loader->catalog->sessions[loader->session];
	if (!facts->start_ns || interval->start_ns < facts->start_ns)
		facts->start_ns = interval->start_ns;
	if (interval->start_ns + interval->len_ns > facts->end_ns)
		facts->end_ns = interval->start_ns + interval->len_ns;
	return NULL;
}

static struct vmop_error *add_loss(void *arg, const struct vmop_db_loss *loss)
{
	const struct loader *loader = arg;
	struct vmop_catalog *catalog = loader->catalog;
	void *losses =
		reallocarray(catalog->losses, catalog->n_losses + 1, sizeof(*catalog->losses));
	if (!losses)
		return &vmop_error_no_memory;
	catalog->losses = losses;
	struct vmop_loss_item *item = &catalog->losses[catalog->n_losses++];
	*item = (struct vmop_loss_item){
		.session = loader->session,
		.domain = vmop_table_index(&catalog->domains, loader->session, loss->domain),
		.event = vmop_table_index(&catalog->events, loader->session, loss->event),
		.count = loss->count,
	};
	return keep(catalog, &item->name, loss->name) ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *load_info(const struct loader *loader, const char *name, const char **ret)
{
	_cleanup_free_ char *value = NULL;
	struct vmop_error *err = vmop_db_get_info(loader->db, name, &value);
	if (err)
		return err;
	return keep(loader->catalog, ret, value) ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *load_facts(struct loader *loader)
{
	struct vmop_session_facts *facts = &loader->catalog->sessions[loader->session];
	const char *start = "", *end = "";
	const struct {
		const char *name;
		const char **field;
	} infos[] = {{"vmop", &facts->vmop},	 {"hostname", &facts->hostname},
		     {"kernel", &facts->kernel}, {"machine", &facts->machine},
		     {"cpus", &facts->cpus},	 {"kernel_symbols", &facts->kernel_symbols},
		     {"start_ns", &start},	 {"end_ns", &end}};
	for (size_t i = 0; i < sizeof(infos) / sizeof(*infos); i++) {
		struct vmop_error *err = load_info(loader, infos[i].name, infos[i].field);
		if (err)
			return err;
	}
	struct vmop_error *err = vmop_db_each_interval(loader->db, add_interval, loader);
	if (err)
		return err;
	vmop_parse_u64(start, 10, &facts->start_ns);
	facts->is_finished = vmop_parse_u64(end, 10, &facts->end_ns);
	if (facts->end_ns < facts->start_ns)
		facts->end_ns = facts->start_ns;
	return NULL;
}

/* The info pair "event-ID-WHAT"; *ret stays as it is where there is none. */
static struct vmop_error *load_event_info(const struct loader *loader,
					  const struct vmop_event_item *event, const char *what,
					  const char **ret)
{
	char name[48];
	snprintf(name, sizeof(name), "event-%" PRIu32 "-%s", event->id, what);
	return load_info(loader, name, ret);
}

/* What the event table has no columns for. */
static struct vmop_error *load_event_infos(const struct loader *loader)
{
	const struct vmop_table_part *part = &loader->catalog->events.parts[loader->session];
	for (size_t i = part->first; i < part->end; i++) {
		struct vmop_event_item *event = vmop_catalog_event(loader->catalog, i);
		const char *enabled = "", *running = "";
		uint64_t enabled_ns, running_ns;
		struct vmop_error *err = load_event_info(loader, event, "asked", &event->asked);
		if (!err)
			err = load_event_info(loader, event, "enabled_ns", &enabled);
		if (!err)
			err = load_event_info(loader, event, "running_ns", &running);
		if (err)
			return err;
		if (!vmop_parse_u64(enabled, 10, &enabled_ns) ||
		    !vmop_parse_u64(running, 10, &running_ns) || running_ns > enabled_ns)
			continue;
		event->enabled_ns = enabled_ns;
		event->running_ns = running_ns;
		if (running_ns) /* one that never counted has nothing to scale */
			event->scale = (double)enabled_ns / (double)running_ns;
	}
	return NULL;
}

static int compare_losses(const void *a, const void *b)
{
	const struct vmop_loss_item *x = a, *y = b;
	int order = strcmp(x->name, y->name);
	if (!order)
		order = (x->session > y->session) - (x->session < y->session);
	if (!order)
		order = (x->domain > y->domain) - (x->domain < y->domain);
	return order ? order : (x->event > y->event) - (x->event < y->event);
}

/* Item 0 of every table. */
static struct vmop_error *add_unexplained(struct vmop_catalog *catalog)
{
	static const struct vmop_db_event event = {.name = "[unknown]"};
	static const struct vmop_db_domain domain = {.name = "[unknown]"};
	static const struct vmop_db_task task = {.pid = UINT32_MAX, .comm = "[none]"};
	static const struct vmop_db_image image = {.name = "[unknown]"};
	struct loader loader = {.catalog = catalog};
	struct vmop_error *err = add_event(&loader, &event);
	if (!err)
		err = add_domain(&loader, &domain);
	if (!err)
		err = add_task(&loader, &task);
	return err ? err : add_image(&loader, &image);
}

static struct vmop_error *load_tasks(struct loader *loader, bool with_tasks)
{
	struct vmop_error *err =
		vmop_db_each_task(loader->db, with_tasks ? add_task : add_idle_task, loader);
	return err == &seen_enough ? NULL : err;
}

static struct vmop_error *load_tables(struct loader *loader, bool with_tasks)
{
	struct vmop_catalog *catalog = loader->catalog;
	struct vmop_table *const tables[] = {&catalog->events, &catalog->domains, &catalog->tasks,
					     &catalog->images};
	const size_t n_tables = sizeof(tables) / sizeof(*tables);
	for (size_t i = 0; i < n_tables; i++)
		tables[i]->parts[loader->session].first = tables[i]->n;
	struct vmop_error *err = vmop_db_each_event(loader->db, add_event, loader);
	if (!err)
		err = vmop_db_each_domain(loader->db, add_domain, loader);
	if (!err)
		err = load_tasks(loader, with_tasks);
	if (!err)
		err = vmop_db_each_image(loader->db, add_image, loader);
	for (size_t i = 0; i < n_tables && !err; i++)
		err = table_index(tables[i], &tables[i]->parts[loader->session]);
	if (!err)
		err = load_event_infos(loader);
	return err ? err : vmop_db_each_loss(loader->db, add_loss, loader);
}

static struct vmop_error *load_session(struct vmop_catalog *catalog, size_t session,
				       const struct vmop_session_input *input, bool with_tasks)
{
	struct loader loader = {.catalog = catalog, .session = (uint32_t)session, .db = input->db};
	struct vmop_session_facts *facts = &catalog->sessions[session];
	if (!keep(catalog, &facts->name, input->name))
		return &vmop_error_no_memory;
	struct vmop_error *err = load_facts(&loader);
	if (!err)
		err = load_tables(&loader, with_tasks);
	if (err)
		return vmop_catalog_blame(err, catalog, session);
	if (!session || facts->start_ns < catalog->start_ns)
		catalog->start_ns = facts->start_ns;
	if (facts->end_ns > catalog->end_ns)
		catalog->end_ns = facts->end_ns;
	return NULL;
}

/* ---- what stands for what ------------------------------------------------ */

#define RETURN_IF_DIFFERENT(a, b)                                                                  \
	do {                                                                                       \
		if ((a) != (b))                                                                    \
			return (a) < (b) ? -1 : 1;                                                 \
	} while (0)

typedef int item_order(const void *a, const void *b);

/* A guest's kernel is the same image to its host and, in a session of its own, to itself. */
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
 * A pid is one process within a session; being idle is the same in all of them. Rows of several
 * processes have no pid.
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

/* Equal items in the table's order, so that the first of them stands for all. */
static int compare_items(const void *a, const void *b, void *order)
{
	const char *const *x = a, *const *y = b;
	int result = ((item_order *)order)(*x, *y);
	return result ? result : (*x > *y) - (*x < *y);
}

/* Writes to the uint32_t at row_offset of every item the index of the one that stands for it. */
static struct vmop_error *unify(struct vmop_table *table, item_order *order, size_t row_offset)
{
	_cleanup_free_ char **sorted = calloc(table->n, sizeof(*sorted));
	if (!sorted)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < table->n; i++)
		sorted[i] = (char *)table->items + i * table->item_bytes;
	qsort_r(sorted, table->n, sizeof(*sorted), compare_items, order);
	const char *first = sorted[0];
	for (size_t i = 0; i < table->n; i++) {
		if (order(first, sorted[i]) != 0)
			first = sorted[i];
		uint32_t row = (uint32_t)((first - (char *)table->items) / table->item_bytes);
		memcpy(sorted[i] + row_offset, &row, sizeof(row));
	}
	return NULL;
}

static int event_order(const void *a, const void *b)
{
	const struct vmop_event_item *x = a, *y = b;
	RETURN_IF_DIFFERENT(x->session, y->session);
	return strcmp(x->name, y->name);
}

/* Events of one name, such as one with two periods, must not share a column's name. */
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
		if (!label || !keep(catalog, &sorted[i]->label, label))
			return &vmop_error_no_memory;
	}
	return NULL;
}

struct vmop_error *vmop_catalog_unify_cgroups(struct vmop_catalog *catalog)
{
	return unify(&catalog->tasks, cgroup_order, offsetof(struct vmop_task_item, cgroup_row));
}

static struct vmop_error *unify_tasks(struct vmop_catalog *catalog, unsigned merge)
{
	size_t row_offset = offsetof(struct vmop_task_item, row);
	if (merge & VMOP_MERGE_TGID)
		return unify(&catalog->tasks, command_order, row_offset);
	if (merge & VMOP_MERGE_TID)
		return unify(&catalog->tasks, process_order, row_offset);
	if (catalog->n_sessions > 1)
		return unify(&catalog->tasks, task_order, row_offset);
	for (size_t i = 0; i < catalog->tasks.n; i++)
		vmop_catalog_task(catalog, i)->row = (uint32_t)i;
	return NULL;
}

/* From ids to what stands for them, once domains have been told apart. */
static void link_domains(struct vmop_catalog *catalog)
{
	for (size_t i = 0; i < catalog->tasks.n; i++) {
		struct vmop_task_item *task = vmop_catalog_task(catalog, i);
		size_t index = vmop_table_index(&catalog->domains, task->session, task->domain);
		task->domain = vmop_catalog_domain(catalog, index)->row;
	}
	for (size_t i = 0; i < catalog->images.n; i++) {
		struct vmop_image_item *image = vmop_catalog_image(catalog, i);
		size_t index = vmop_table_index(&catalog->domains, image->session, image->domain);
		image->domain = vmop_catalog_domain(catalog, index)->row;
	}
}

static bool is_text_of(const struct vmop_image_item *text, const struct vmop_image_item *image)
{
	return text->kind == VMOP_IMAGE_HYPERVISOR && text->len_bytes &&
	       text->domain == image->domain && !strcmp(text->name, image->name);
}

/* An active domain's session has addresses of the hypervisor, dom0's knows where its text lies. */
static void find_texts(struct vmop_catalog *catalog)
{
	for (uint32_t i = 0; i < catalog->images.n; i++) {
		struct vmop_image_item *image = vmop_catalog_image(catalog, i);
		image->text = i;
		if (image->kind != VMOP_IMAGE_HYPERVISOR || image->len_bytes)
			continue;
		for (uint32_t j = 0; j < catalog->images.n && image->text == i; j++) {
			const struct vmop_image_item *text = vmop_catalog_image(catalog, j);
			if (!is_text_of(text, image))
				continue;
			image->text = j;
			image->row = text->row;
		}
	}
}

static struct vmop_error *unify_images(struct vmop_catalog *catalog)
{
	struct vmop_error *err =
		unify(&catalog->images, image_order, offsetof(struct vmop_image_item, row));
	if (!err)
		find_texts(catalog);
	for (size_t i = 0; i < catalog->images.n && !err; i++) {
		uint32_t row = vmop_catalog_image(catalog, i)->row;
		if (row != i)
			vmop_catalog_image(catalog, row)->is_shared = true;
	}
	return err;
}

static struct vmop_error *init(struct vmop_catalog *catalog, size_t n_sessions)
{
	*catalog = (struct vmop_catalog){
		.events.item_bytes = sizeof(struct vmop_event_item),
		.domains.item_bytes = sizeof(struct vmop_domain_item),
		.tasks.item_bytes = sizeof(struct vmop_task_item),
		.images.item_bytes = sizeof(struct vmop_image_item),
		.n_sessions = n_sessions,
	};
	struct vmop_table *const tables[] = {&catalog->events, &catalog->domains, &catalog->tasks,
					     &catalog->images};
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		tables[i]->parts = calloc(n_sessions, sizeof(*tables[i]->parts));
		if (!tables[i]->parts)
			return &vmop_error_no_memory;
	}
	catalog->sessions = calloc(n_sessions, sizeof(*catalog->sessions));
	return catalog->sessions ? add_unexplained(catalog) : &vmop_error_no_memory;
}

struct vmop_error *vmop_catalog_load(struct vmop_catalog *catalog,
				     const struct vmop_session_input *inputs, size_t n_inputs,
				     unsigned merge, bool with_tasks)
{
	struct vmop_error *err = init(catalog, n_inputs);
	for (size_t i = 0; i < n_inputs && !err; i++)
		err = load_session(catalog, i, &inputs[i], with_tasks);
	if (err)
		return err;
	if (catalog->n_losses)
		qsort(catalog->losses, catalog->n_losses, sizeof(*catalog->losses), compare_losses);
	err = vmop_domains_unify(catalog);
	if (err)
		return err;
	link_domains(catalog);
	err = label_events(catalog);
	if (!err)
		err = unify_images(catalog);
	return err ? err : unify_tasks(catalog, merge);
}

struct vmop_error *vmop_catalog_blame(struct vmop_error *err, const struct vmop_catalog *catalog,
				      size_t session)
{
	return catalog->n_sessions > 1
		       ? vmop_error_prefix(err, "session %s", catalog->sessions[session].name)
		       : err;
}

void vmop_catalog_deinit(struct vmop_catalog *catalog)
{
	struct vmop_table *const tables[] = {&catalog->events, &catalog->domains, &catalog->tasks,
					     &catalog->images};
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		for (size_t s = 0; tables[i]->parts && s < catalog->n_sessions; s++)
			free(tables[i]->parts[s].by_id);
		free(tables[i]->parts);
		free(tables[i]->items);
	}
	free(catalog->sessions);
	free(catalog->losses);
	vmop_arena_deinit(&catalog->arena);
	*catalog = (struct vmop_catalog){0};
}
