// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/catalog.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/label.h"
#include "libutil/parse.h"
#include "opreport/query/identity.h"

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

/* Sets *field to an arena copy, shortened if it is very long; false when memory runs out. */
static bool keep(struct vmop_catalog *catalog, const char **field, const char *text)
{
	*field = vmop_arena_name(&catalog->arena, text);
	return *field != NULL;
}

/* The same as a label: a name that could be taken for one of vmop's own words is in quotes. */
static bool keep_label(struct vmop_catalog *catalog, const char **field, enum vmop_label kind,
		       const char *name)
{
	if (!name || !vmop_label_is_quoted(kind, name))
		return keep(catalog, field, name);
	_cleanup_free_ char *label = vmop_label(kind, name);
	return label && keep(catalog, field, label);
}

/* Whether there is no room for another item, which is counted then. */
static bool is_full(const struct loader *loader, const struct vmop_table *table)
{
	bool is_full = table->n >= VMOP_ITEMS_MAX;
	loader->catalog->n_items_left_out += is_full;
	return is_full;
}

static struct vmop_error *add_event(void *arg, const struct vmop_db_event *event)
{
	const struct loader *loader = arg;
	struct vmop_catalog *catalog = loader->catalog;
	if (catalog->events.n >= VMOP_EVENTS_MAX) {
		catalog->n_events_left_out++;
		return NULL;
	}
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
	if (is_full(loader, &catalog->domains))
		return NULL;
	struct vmop_domain_item *item = table_add(&catalog->domains);
	if (!item)
		return &vmop_error_no_memory;
	item->id = domain->id;
	item->session = loader->session;
	item->kind = domain->kind;
	bool ok = keep(catalog, &item->uuid, domain->uuid);
	bool is_own = domain->id == VMOP_DOMAIN_ID_HOST || domain->kind == VMOP_DOMAIN_HYPERVISOR ||
		      (domain->kind == VMOP_DOMAIN_UNSAMPLED && ok && !*item->uuid &&
		       !strcmp(domain->name, VMOP_DOMAIN_SOME_NAME));
	ok = ok && (is_own ? keep(catalog, &item->name, domain->name)
			   : keep_label(catalog, &item->name, VMOP_LABEL_DOMAIN, domain->name));
	item->own_name = domain->id == VMOP_DOMAIN_ID_HOST ? "" : item->name;
	item->vmm_pid = domain->vmm_pid;
	item->first_seen_ns = domain->first_seen_ns;
	item->end_ns = domain->last_seen_ns;
	item->has_ended = domain->last_seen_ns > 0;
	if (!item->end_ns)
		item->end_ns = catalog->sessions[loader->session].end_ns;
	item->life_name = "";
	return ok ? NULL : &vmop_error_no_memory;
}

/* Return the word that vmop shows in place of a task's name; NULL: it has a name. */
static const char *own_comm(const struct vmop_task_item *item, const struct vmop_db_task *task,
			    bool is_unexplained)
{
	bool is_of_guest = task->domain != VMOP_DOMAIN_ID_HOST;
	if (is_unexplained)
		return task->comm;
	if (item->is_idle || (is_of_guest && !task->pid && !strcmp(task->comm, "[idle]")))
		return "[idle]";
	return *task->comm ? NULL : "[exited]";
}

static struct vmop_error *add_task(void *arg, const struct vmop_db_task *task)
{
	const struct loader *loader = arg;
	struct vmop_catalog *catalog = loader->catalog;
	if (is_full(loader, &catalog->tasks))
		return NULL;
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
	const char *own = own_comm(item, task, catalog->tasks.n == 1);
	bool ok = own ? keep(catalog, &item->comm, own)
		      : keep_label(catalog, &item->comm, VMOP_LABEL_NAME, task->comm);
	ok = ok && keep_label(catalog, &item->cgroup, VMOP_LABEL_NAME, task->cgroup);
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

const char *vmop_image_base_name(const char *name)
{
	const char *slash = *name == '/' ? strrchr(name, '/') : NULL;
	bool is_clear = slash && slash[1] && !vmop_label_is_quoted(VMOP_LABEL_NAME, slash + 1);
	return is_clear ? slash + 1 : name;
}

static bool keep_image_name(struct vmop_catalog *catalog, struct vmop_image_item *item,
			    const char *name)
{
	switch (item->kind) {
	case VMOP_IMAGE_FILE:
		return keep_label(catalog, &item->name, VMOP_LABEL_NAME, name);
	case VMOP_IMAGE_MODULE:
		return keep_label(catalog, &item->name, VMOP_LABEL_MODULE, name);
	default: /* vmop's own names */
		return keep(catalog, &item->name, name);
	}
}

static struct vmop_error *add_image(void *arg, const struct vmop_db_image *image)
{
	const struct loader *loader = arg;
	struct vmop_catalog *catalog = loader->catalog;
	if (is_full(loader, &catalog->images))
		return NULL;
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
	bool ok = keep_image_name(catalog, item, image->name) &&
		  keep(catalog, &item->root, image->root);
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
	if (catalog->n_losses >= VMOP_ITEMS_MAX) {
		catalog->n_items_left_out++;
		return NULL;
	}
	if (catalog->n_losses == catalog->losses_capacity) {
		size_t capacity = catalog->losses_capacity ? catalog->losses_capacity * 2 : 64;
		void *losses = reallocarray(catalog->losses, capacity, sizeof(*catalog->losses));
		if (!losses)
			return &vmop_error_no_memory;
		catalog->losses = losses;
		catalog->losses_capacity = capacity;
	}
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

/* Reads "event-ID-WHAT" into *ret_id. Returns WHAT, or NULL where name is not one of those. */
static const char *parse_event_info(const char *name, uint32_t *ret_id)
{
	static const char prefix[] = "event-";
	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return NULL;
	const char *digits = name + sizeof(prefix) - 1;
	size_t n = strspn(digits, "0123456789");
	char number[16] = "";
	uint64_t id;
	if (!n || n >= sizeof(number) || digits[n] != '-')
		return NULL;
	memcpy(number, digits, n);
	if (!vmop_parse_u64(number, 10, &id) || id > UINT32_MAX)
		return NULL;
	*ret_id = (uint32_t)id;
	return digits + n + 1;
}

static struct vmop_error *add_event_info(void *arg, const struct vmop_db_info *info)
{
	const struct loader *loader = arg;
	struct vmop_catalog *catalog = loader->catalog;
	uint32_t id;
	const char *what = parse_event_info(info->name, &id);
	size_t index = what ? vmop_table_index(&catalog->events, loader->session, id) : 0;
	if (!index)
		return NULL;
	struct vmop_event_item *event = vmop_catalog_event(catalog, index);
	if (!strcmp(what, "asked"))
		return keep(catalog, &event->asked, info->value) ? NULL : &vmop_error_no_memory;
	if (!strcmp(what, "enabled_ns"))
		vmop_parse_u64(info->value, 10, &event->enabled_ns);
	if (!strcmp(what, "running_ns"))
		vmop_parse_u64(info->value, 10, &event->running_ns);
	return NULL;
}

/* What the event table has no columns for. */
static struct vmop_error *load_event_infos(struct loader *loader)
{
	const struct vmop_table_part *part = &loader->catalog->events.parts[loader->session];
	for (size_t i = part->first; i < part->end; i++) {
		struct vmop_event_item *event = vmop_catalog_event(loader->catalog, i);
		event->running_ns = UINT64_MAX; /* not known so far */
	}
	struct vmop_error *err = vmop_db_each_info(loader->db, add_event_info, loader);
	for (size_t i = part->first; i < part->end; i++) {
		struct vmop_event_item *event = vmop_catalog_event(loader->catalog, i);
		if (event->running_ns > event->enabled_ns)
			event->enabled_ns = event->running_ns = 0;
		if (event->running_ns) /* one that never counted has nothing to scale */
			event->scale = (double)event->enabled_ns / (double)event->running_ns;
	}
	return err;
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

static int event_name_order(const void *a, const void *b)
{
	const struct vmop_event_item *x = a, *y = b;
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

static int text_order(const void *a, const void *b)
{
	const struct vmop_image_item *x = a, *y = b;
	RETURN_IF_DIFFERENT(x->domain, y->domain);
	return strcmp(x->name, y->name);
}

/* The images of hypervisors' text, in text_order; *ret is the caller's. */
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

/* An active domain's session has addresses of the hypervisor, dom0's knows where its text lies. */
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
	struct vmop_error *err =
		unify(&catalog->images, image_order, offsetof(struct vmop_image_item, row));
	if (!err)
		err = find_texts(catalog);
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
		err = unify(&catalog->events, event_name_order,
			    offsetof(struct vmop_event_item, name_row));
	if (!err)
		err = unify_images(catalog);
	return err ? err : unify_tasks(catalog, merge);
}

struct vmop_error *vmop_catalog_load_facts(struct vmop_catalog *catalog,
					   const struct vmop_session_input *input)
{
	struct loader loader = {.catalog = catalog, .db = input->db};
	struct vmop_error *err = init(catalog, 1);
	if (!err && !keep(catalog, &catalog->sessions[0].name, input->name))
		err = &vmop_error_no_memory;
	return err ? err : load_facts(&loader);
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
