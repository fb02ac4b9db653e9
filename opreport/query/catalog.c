// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/catalog.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/label.h"
#include "libutil/parse.h"
#include "opreport/query/guest-clock.h"
#include "opreport/query/unify.h"

/* ---- tables by id -------------------------------------------------------- */

/* Append a zeroed item and return it, or NULL without memory. */
static void *table_add(struct vmop_table *table)
{
	void *items =
		vmop_array_grow(table->items, &table->capacity, table->n + 1, table->item_bytes);
	if (!items)
		return NULL;
	table->items = items;
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

/* Sort and index the items that were added from part->first on. */
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

/* Return the index of a session's id, or 0 if the session does not define it. */
static size_t find(const struct vmop_table *table, size_t session, uint32_t id)
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

size_t vmop_catalog_find_event(const struct vmop_catalog *catalog, size_t session,
			       struct vmop_event_id id)
{
	return find(&catalog->events, session, id.number);
}

size_t vmop_catalog_find_domain(const struct vmop_catalog *catalog, size_t session,
				struct vmop_domain_id id)
{
	return find(&catalog->domains, session, id.number);
}

size_t vmop_catalog_find_task(const struct vmop_catalog *catalog, size_t session,
			      struct vmop_task_row_id id)
{
	return find(&catalog->tasks, session, id.number);
}

size_t vmop_catalog_find_image(const struct vmop_catalog *catalog, size_t session,
			       struct vmop_image_id id)
{
	return find(&catalog->images, session, id.number);
}

/* ---- loading ------------------------------------------------------------- */

/* The session that is being loaded. */
struct loader {
	struct vmop_catalog *catalog;
	uint32_t session;
	struct vmop_db *db;
};

/* Set *field to a copy in the arena, shortened if very long.  Return false without memory. */
static bool keep(struct vmop_catalog *catalog, const char **field, const char *text)
{
	*field = vmop_arena_name(&catalog->arena, text);
	return *field != NULL;
}

/* Likewise, but quote a name that could be mistaken for one of vmop's own words. */
static bool keep_label(struct vmop_catalog *catalog, const char **field, enum vmop_label kind,
		       const char *name)
{
	if (!name || !vmop_label_is_quoted(kind, name))
		return keep(catalog, field, name);
	_cleanup_free_ char *label = vmop_label(kind, name);
	return label && keep(catalog, field, label);
}

/* Return whether the table is full, and then count the item as left out. */
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
	bool is_own = vmop_domain_id_is_host(domain->id) ||
		      domain->kind == VMOP_DOMAIN_HYPERVISOR ||
		      (domain->kind == VMOP_DOMAIN_UNSAMPLED && ok && !*item->uuid &&
		       !strcmp(domain->name, VMOP_DOMAIN_SOME_NAME));
	ok = ok && (is_own ? keep(catalog, &item->name, domain->name)
			   : keep_label(catalog, &item->name, VMOP_LABEL_DOMAIN, domain->name));
	item->own_name = vmop_domain_id_is_host(domain->id) ? "" : item->name;
	item->vmm_pid = domain->vmm_pid;
	item->first_seen_ns = domain->first_seen_ns;
	item->end_ns = domain->last_seen_ns;
	item->has_ended = domain->last_seen_ns > 0;
	if (!item->end_ns)
		item->end_ns = catalog->sessions[loader->session].end_ns;
	item->life_name = "";
	item->context_note = "";
	return ok ? NULL : &vmop_error_no_memory;
}

/* Return vmop's own word for a task without a name, or NULL if it has a name. */
static const char *own_comm(const struct vmop_task_item *item, const struct vmop_db_task *task,
			    bool is_unexplained)
{
	bool is_of_guest = !vmop_domain_id_is_host(task->domain);
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
	item->domain_id = task->domain;
	item->pid = task->pid;
	item->tid = task->tid;
	item->start_time_ns = task->start_time_ns;
	item->exe_image = task->exe_image;
	item->is_merged = task->merged > 0 && task->merged <= INT64_MAX;
	item->n_processes = item->is_merged ? task->merged : 1;
	item->is_idle = !item->is_merged && vmop_domain_id_is_host(task->domain) && task->pid == 0;
	const char *own = own_comm(item, task, catalog->tasks.n == 1);
	bool ok = own ? keep(catalog, &item->comm, own)
		      : keep_label(catalog, &item->comm, VMOP_LABEL_NAME, task->comm);
	ok = ok && keep_label(catalog, &item->cgroup, VMOP_LABEL_NAME, task->cgroup);
	return ok ? NULL : &vmop_error_no_memory;
}

/* Ends a walk early; never returned to a caller. */
static struct vmop_error seen_enough = {.code = VMOP_ERROR_NOT_FOUND};

static struct vmop_error *add_idle_task(void *arg, const struct vmop_db_task *task)
{
	if (task->pid != 0 || task->merged || !vmop_domain_id_is_host(task->domain))
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
	item->domain_id = image->domain;
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

/* Keep an interval, to compare it with those of other sessions. */
static bool keep_interval(struct vmop_session_facts *facts, struct vmop_span span)
{
	if (facts->n_intervals >= VMOP_ITEMS_MAX) {
		struct vmop_span *last = &facts->intervals[facts->n_intervals - 1];
		last->to_ns = span.to_ns > last->to_ns ? span.to_ns : last->to_ns;
		return true;
	}
	if (!vmop_array_reserve(facts->intervals, facts->intervals_capacity,
				facts->n_intervals + 1))
		return false;
	facts->intervals[facts->n_intervals++] = span;
	return true;
}

static struct vmop_error *add_interval(void *arg, const struct vmop_db_interval *interval)
{
	const struct loader *loader = arg;
	struct vmop_session_facts *facts = &loader->catalog->sessions[loader->session];
	struct vmop_span span = {interval->start_ns, interval->start_ns + interval->len_ns};
	if (!facts->start_ns || span.from_ns < facts->start_ns)
		facts->start_ns = span.from_ns;
	if (span.to_ns > facts->end_ns)
		facts->end_ns = span.to_ns;
	bool is_kept = loader->catalog->n_sessions < 2 || keep_interval(facts, span);
	return is_kept ? NULL : &vmop_error_no_memory;
}

static int compare_spans(const void *a, const void *b)
{
	const struct vmop_span *x = a, *y = b;
	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

static struct vmop_error *add_detail(void *arg, const struct vmop_db_detail *detail)
{
	struct vmop_session_facts *facts = arg;
	if (facts->n_details < VMOP_DETAIL_SPANS_MAX)
		facts->details[facts->n_details++] = (struct vmop_detail_span){
			detail->start_ns, detail->end_ns, detail->longest_ns};
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
	if (!vmop_array_reserve(catalog->losses, catalog->losses_capacity, catalog->n_losses + 1))
		return &vmop_error_no_memory;
	struct vmop_loss_item *item = &catalog->losses[catalog->n_losses++];
	*item = (struct vmop_loss_item){
		.session = loader->session,
		.domain = vmop_catalog_find_domain(catalog, loader->session, loss->domain),
		.event = vmop_catalog_find_event(catalog, loader->session, loss->event),
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

/* Set *ret to the time in a fact's value. Return false, and leave it unchanged, without one. */
static bool parse_time(const struct vmop_db *db, const char *value, uint64_t *ret)
{
	uint64_t time_ns;
	if (!vmop_parse_u64(value, 10, &time_ns))
		return false;
	*ret = vmop_db_time(db, time_ns);
	return true;
}

static struct vmop_error *load_facts(struct loader *loader)
{
	struct vmop_session_facts *facts = &loader->catalog->sessions[loader->session];
	const char *start = "", *end = "", *dropped = "";
	const struct {
		const char *name;
		const char **field;
	} infos[] = {{"vmop", &facts->vmop},
		     {"hostname", &facts->hostname},
		     {"kernel", &facts->kernel},
		     {"machine", &facts->machine},
		     {"cpus", &facts->cpus},
		     {"kernel_symbols", &facts->kernel_symbols},
		     {"guest_context", &facts->guest_context},
		     {"start_ns", &start},
		     {"end_ns", &end},
		     {"dropped_until_ns", &dropped}};
	for (size_t i = 0; i < sizeof(infos) / sizeof(*infos); i++) {
		struct vmop_error *err = load_info(loader, infos[i].name, infos[i].field);
		if (err)
			return err;
	}
	struct vmop_error *err = vmop_db_each_interval(loader->db, add_interval, loader);
	if (!err)
		err = vmop_db_each_detail(loader->db, add_detail, facts);
	if (err)
		return err;
	if (facts->n_intervals > 1)
		qsort(facts->intervals, facts->n_intervals, sizeof(*facts->intervals),
		      compare_spans);
	parse_time(loader->db, dropped, &facts->dropped_until_ns);
	parse_time(loader->db, start, &facts->start_ns);
	facts->is_finished = parse_time(loader->db, end, &facts->end_ns);
	if (facts->end_ns < facts->start_ns)
		facts->end_ns = facts->start_ns;
	return NULL;
}

/*
 * Set *ret_id to ID if name is "TABLE-ID-WHAT". Return WHAT, or NULL if the name has another form.
 */
static const char *parse_item_info(const char *name, const char *table, uint32_t *ret_id)
{
	size_t len = strlen(table);
	if (strncmp(name, table, len) != 0 || name[len] != '-')
		return NULL;
	const char *digits = name + len + 1;
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

static struct vmop_error *add_domain_info(const struct loader *loader,
					  const struct vmop_db_info *info)
{
	struct vmop_catalog *catalog = loader->catalog;
	struct vmop_domain_id id;
	const char *what = parse_item_info(info->name, "domain", &id.number);
	if (!what || strcmp(what, "context") != 0)
		return NULL;
	size_t index = vmop_catalog_find_domain(catalog, loader->session, id);
	if (!index)
		return NULL;
	struct vmop_domain_item *domain = vmop_catalog_domain(catalog, index);
	return keep(catalog, &domain->context_note, info->value) ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *add_event_info(const struct loader *loader,
					 const struct vmop_db_info *info)
{
	struct vmop_catalog *catalog = loader->catalog;
	struct vmop_event_id id;
	const char *what = parse_item_info(info->name, "event", &id.number);
	size_t index = what ? vmop_catalog_find_event(catalog, loader->session, id) : 0;
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

static struct vmop_error *add_item_info(void *arg, const struct vmop_db_info *info)
{
	struct vmop_error *err = add_event_info(arg, info);
	return err ? err : add_domain_info(arg, info);
}

/* Load the facts of events and domains that their tables have no columns for. */
static struct vmop_error *load_item_infos(struct loader *loader)
{
	const struct vmop_table_part *part = &loader->catalog->events.parts[loader->session];
	for (size_t i = part->first; i < part->end; i++) {
		struct vmop_event_item *event = vmop_catalog_event(loader->catalog, i);
		event->running_ns = UINT64_MAX; /* not known yet */
	}
	struct vmop_error *err = vmop_db_each_info(loader->db, add_item_info, loader);
	for (size_t i = part->first; i < part->end; i++) {
		struct vmop_event_item *event = vmop_catalog_event(loader->catalog, i);
		if (event->running_ns > event->enabled_ns)
			event->enabled_ns = event->running_ns = 0;
		if (event->running_ns) /* an event that never counted has nothing to scale */
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

/* Add item 0 to every table: it stands for undefined ids. */
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
		err = load_item_infos(loader);
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

/* ---- the catalog ---------------------------------------------------------- */

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

static struct vmop_error *set_clocks(const struct vmop_session_input *inputs, size_t n)
{
	_cleanup_free_ struct vmop_db **dbs = calloc(n + 1, sizeof(*dbs));
	for (size_t i = 0; i < n && dbs; i++)
		dbs[i] = inputs[i].db;
	struct vmop_error *err = dbs ? vmop_guest_clocks_set(dbs, n) : &vmop_error_no_memory;
	if (!err || err->code == VMOP_ERROR_NO_MEMORY)
		return err;
	vmop_error_destroy(err); /* the session is read once more, and the error gets its name */
	return NULL;
}

/* Return whether another session has the machine as an active guest. */
static bool is_guests(const struct vmop_catalog *catalog, size_t session, uint32_t row)
{
	for (size_t i = 1; i < catalog->domains.n; i++) {
		const struct vmop_domain_item *domain = vmop_catalog_domain(catalog, i);
		if (domain->session != session && domain->row == row &&
		    domain->kind == VMOP_DOMAIN_ACTIVE)
			return true;
	}
	return false;
}

/* Set the facts about the guests whose own sessions are read, and about their clocks. */
static void find_guests(struct vmop_catalog *catalog, const struct vmop_session_input *inputs)
{
	for (size_t s = 0; s < catalog->n_sessions; s++) {
		struct vmop_session_facts *facts = &catalog->sessions[s];
		size_t index = vmop_catalog_find_domain(catalog, s, VMOP_DOMAIN_ID_HOST);
		uint32_t row = index ? vmop_catalog_domain(catalog, index)->row : 0;
		facts->guest = row && is_guests(catalog, s, row) ? row : 0;
		facts->has_clock = vmop_db_has_clock(inputs[s].db, &facts->ahead_ns);
	}
}

struct vmop_error *vmop_catalog_load(struct vmop_catalog *catalog,
				     const struct vmop_session_input *inputs, size_t n_inputs,
				     unsigned merge, bool with_tasks)
{
	struct vmop_error *err = init(catalog, n_inputs);
	if (!err)
		err = set_clocks(inputs, n_inputs);
	for (size_t i = 0; i < n_inputs && !err; i++)
		err = load_session(catalog, i, &inputs[i], with_tasks);
	if (err)
		return err;
	if (catalog->n_losses)
		qsort(catalog->losses, catalog->n_losses, sizeof(*catalog->losses), compare_losses);
	err = vmop_catalog_unify(catalog, merge);
	if (!err)
		find_guests(catalog, inputs);
	return err;
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
	for (size_t s = 0; catalog->sessions && s < catalog->n_sessions; s++)
		free(catalog->sessions[s].intervals);
	free(catalog->sessions);
	free(catalog->losses);
	vmop_arena_deinit(&catalog->arena);
	*catalog = (struct vmop_catalog){0};
}
