// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libutil/cleanup.h"

/* The domain 0 of a session, NULL where its file lacks it. */
static struct vmop_domain_item *host_of(const struct vmop_catalog *catalog, size_t session)
{
	size_t index = vmop_table_index(&catalog->domains, session, VMOP_DOMAIN_ID_HOST);
	return index ? vmop_catalog_domain(catalog, index) : NULL;
}

static struct vmop_domain_item *row_of(const struct vmop_catalog *catalog,
				       const struct vmop_domain_item *domain)
{
	return vmop_catalog_domain(catalog, domain->row);
}

/* ---- the same domain ------------------------------------------------------ */

static int compare_items(const void *a, const void *b, int order)
{
	return order ? order : (a > b) - (a < b);
}

static int compare_uuids(const void *a, const void *b)
{
	const struct vmop_domain_item *x = *(void *const *)a, *y = *(void *const *)b;
	return compare_items(x, y, strcasecmp(x->uuid, y->uuid));
}

/* What tells those apart that have no UUID. */
struct place {
	const struct vmop_catalog *catalog;
	uint32_t *machines; /* by session: see find_machines */
};

/* By name on one host; of hypervisors a machine has one, which its guests' sessions may know. */
static int compare_places(const struct place *place, const struct vmop_domain_item *x,
			  const struct vmop_domain_item *y)
{
	bool is_hypervisor = x->kind == VMOP_DOMAIN_HYPERVISOR;
	if (is_hypervisor != (y->kind == VMOP_DOMAIN_HYPERVISOR))
		return is_hypervisor ? 1 : -1;
	uint32_t left = place->machines[x->session], right = place->machines[y->session];
	if (!is_hypervisor) {
		const struct vmop_domain_item *x_host = host_of(place->catalog, x->session);
		const struct vmop_domain_item *y_host = host_of(place->catalog, y->session);
		left = x_host ? x_host->row : 0;
		right = y_host ? y_host->row : 0;
	}
	if (left != right)
		return left < right ? -1 : 1;
	return is_hypervisor ? 0 : strcmp(x->name, y->name);
}

static int compare_in_places(const void *a, const void *b, void *place)
{
	const struct vmop_domain_item *x = *(void *const *)a, *y = *(void *const *)b;
	return compare_items(x, y, compare_places(place, x, y));
}

static void set_row(const struct vmop_catalog *catalog, struct vmop_domain_item *item,
		    const struct vmop_domain_item *first)
{
	item->row = (uint32_t)(first - (struct vmop_domain_item *)catalog->domains.items);
}

static bool is_host_item(const struct vmop_domain_item *domain)
{
	return domain->id == VMOP_DOMAIN_ID_HOST;
}

/*
 * Domains of one UUID are one domain; but hosts alone, whose firmware gives all machines of a
 * model the same (it happens), only those of one host name.
 */
static void unify_equals(const struct vmop_catalog *catalog, struct vmop_domain_item *const *list,
			 size_t n)
{
	bool has_guest = false;
	for (size_t i = 0; i < n; i++)
		has_guest = has_guest || !is_host_item(list[i]);
	for (size_t i = 0; i < n; i++) {
		size_t first = 0;
		while (!has_guest && strcmp(catalog->sessions[list[first]->session].hostname,
					    catalog->sessions[list[i]->session].hostname) != 0)
			first++;
		set_row(catalog, list[i], list[first]);
	}
}

/* list is room for all of them. */
static void unify_by_uuid(const struct vmop_catalog *catalog, struct vmop_domain_item **list)
{
	size_t n = 0;
	for (size_t i = 1; i < catalog->domains.n; i++) {
		if (*vmop_catalog_domain(catalog, i)->uuid)
			list[n++] = vmop_catalog_domain(catalog, i);
	}
	qsort(list, n, sizeof(*list), compare_uuids);
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && !strcasecmp(list[end]->uuid, list[first]->uuid);)
			end++;
		unify_equals(catalog, list + first, end - first);
	}
}

/* A host with no UUID, or of a session that knew none, by its name. */
static void unify_hosts(const struct vmop_catalog *catalog)
{
	for (size_t s = 1; s < catalog->n_sessions; s++) {
		struct vmop_domain_item *host = host_of(catalog, s);
		const char *name = catalog->sessions[s].hostname;
		for (size_t before = 0; before < s && host && *name; before++) {
			const struct vmop_domain_item *other = host_of(catalog, before);
			if (!other || strcmp(catalog->sessions[before].hostname, name) != 0 ||
			    (*host->uuid && *other->uuid))
				continue;
			host->row = other->row;
			break;
		}
	}
}

/* By session: the row of the machine at the bottom, below whatever guests of guests there are. */
static struct vmop_error *find_machines(const struct vmop_catalog *catalog, uint32_t **ret)
{
	size_t n = catalog->n_sessions;
	uint32_t *machines = calloc(n, sizeof(*machines));
	*ret = machines;
	if (!machines)
		return &vmop_error_no_memory;
	for (size_t s = 0; s < n; s++)
		machines[s] = host_of(catalog, s) ? host_of(catalog, s)->row : 0;
	for (size_t i = 1; i < catalog->domains.n; i++) {
		const struct vmop_domain_item *guest = vmop_catalog_domain(catalog, i);
		const struct vmop_domain_item *host = host_of(catalog, guest->session);
		if (guest == host || !host || guest->row == host->row)
			continue;
		for (size_t s = 0; s < n; s++) {
			if (machines[s] == guest->row)
				machines[s] = machines[guest->session];
		}
	}
	return NULL;
}

static struct vmop_error *unify_by_name(const struct vmop_catalog *catalog,
					struct vmop_domain_item **list)
{
	_cleanup_free_ uint32_t *machines = NULL;
	struct vmop_error *err = find_machines(catalog, &machines);
	struct place place = {catalog, machines};
	if (err)
		return err;
	size_t n = 0;
	for (size_t i = 1; i < catalog->domains.n; i++) {
		struct vmop_domain_item *domain = vmop_catalog_domain(catalog, i);
		if (!*domain->uuid && !is_host_item(domain))
			list[n++] = domain;
	}
	qsort_r(list, n, sizeof(*list), compare_in_places, &place);
	for (size_t i = 0, first = 0; i < n; i++) {
		if (compare_places(&place, list[first], list[i]) != 0)
			first = i;
		set_row(catalog, list[i], list[first]);
	}
	return NULL;
}

/* ---- its name ------------------------------------------------------------- */

/*
 * A guest is called as its host calls it.  Of several hosts each is called by its host
 * name, for all say "host" of themselves.
 */
static void choose_names(const struct vmop_catalog *catalog)
{
	size_t n_hosts = 0;
	for (size_t i = 0; i < catalog->domains.n; i++)
		vmop_catalog_domain(catalog, i)->is_host = false;
	for (size_t s = 0; s < catalog->n_sessions; s++) {
		if (host_of(catalog, s))
			row_of(catalog, host_of(catalog, s))->is_host = true;
	}
	for (size_t i = catalog->domains.n; i-- > 1;) { /* the first one's name is the last set */
		struct vmop_domain_item *domain = vmop_catalog_domain(catalog, i);
		struct vmop_domain_item *row = row_of(catalog, domain);
		if (is_host_item(domain))
			continue;
		row->is_host = false;
		row->name = domain->name;
		row->kind = domain->kind;
	}
	for (size_t i = 1; i < catalog->domains.n; i++)
		n_hosts += vmop_catalog_domain(catalog, i)->is_host;
	for (size_t i = 1; i < catalog->domains.n && n_hosts > 1; i++) {
		struct vmop_domain_item *domain = vmop_catalog_domain(catalog, i);
		const char *hostname = catalog->sessions[domain->session].hostname;
		if (domain->is_host && *hostname)
			domain->name = hostname;
	}
}

static int compare_shown(const void *a, const void *b)
{
	const struct vmop_domain_item *x = *(void *const *)a, *y = *(void *const *)b;
	return compare_items(x, y, strcmp(x->name, y->name));
}

/* Different domains of one name: each gets its session's behind it. */
static struct vmop_error *tell_apart(struct vmop_catalog *catalog, struct vmop_domain_item **list)
{
	size_t n = 0;
	for (size_t i = 1; i < catalog->domains.n; i++) {
		if (vmop_catalog_domain(catalog, i)->row == i)
			list[n++] = vmop_catalog_domain(catalog, i);
	}
	qsort(list, n, sizeof(*list), compare_shown);
	for (size_t first = 0, end; first < n; first = end) {
		const char *name = list[first]->name;
		for (end = first + 1; end < n && !strcmp(list[end]->name, name);)
			end++;
		for (size_t i = first; i < end && end - first > 1; i++) {
			_cleanup_free_ char *longer = NULL;
			if (asprintf(&longer, "%s (%s)", name,
				     catalog->sessions[list[i]->session].name) < 0)
				longer = NULL;
			list[i]->name = longer ? vmop_arena_text(&catalog->arena, longer) : NULL;
			if (!list[i]->name)
				return &vmop_error_no_memory;
		}
	}
	return NULL;
}

/*
 * Rows that still have one name: domains of one session, which have its ids.  No guest's label
 * ends with such a number.
 */
static struct vmop_error *number_equals(struct vmop_catalog *catalog)
{
	_cleanup_free_ struct vmop_domain_item **list =
		calloc(catalog->domains.n, sizeof(struct vmop_domain_item *));
	size_t n = 0;
	if (!list)
		return &vmop_error_no_memory;
	for (size_t i = 1; i < catalog->domains.n; i++) {
		struct vmop_domain_item *domain = vmop_catalog_domain(catalog, i);
		domain->called = row_of(catalog, domain)->name;
		if (domain->row == i)
			list[n++] = domain;
	}
	qsort(list, n, sizeof(*list), compare_shown);
	for (size_t first = 0, end; first < n; first = end) {
		const char *name = list[first]->name;
		for (end = first + 1; end < n && !strcmp(list[end]->name, name);)
			end++;
		for (size_t i = first; i < end && end - first > 1; i++) {
			_cleanup_free_ char *longer = NULL;
			if (asprintf(&longer, "%s #%u", name, list[i]->id) < 0)
				longer = NULL;
			list[i]->name = longer ? vmop_arena_text(&catalog->arena, longer) : NULL;
			if (!list[i]->name)
				return &vmop_error_no_memory;
		}
	}
	for (size_t i = 1; i < catalog->domains.n; i++)
		vmop_catalog_domain(catalog, i)->name =
			row_of(catalog, vmop_catalog_domain(catalog, i))->name;
	return NULL;
}

/* Of rows alone: a domain that one session could not sample may have one of its own. */
static void find_unsampled(struct vmop_catalog *catalog)
{
	for (size_t i = 1; i < catalog->domains.n; i++) {
		struct vmop_domain_item *domain = vmop_catalog_domain(catalog, i);
		domain->is_some = domain->kind == VMOP_DOMAIN_UNSAMPLED &&
				  !strcmp(domain->name, VMOP_DOMAIN_SOME_NAME);
		domain->is_unsampled = domain->row == i && !domain->is_some;
	}
	for (size_t i = 1; i < catalog->domains.n; i++) {
		struct vmop_domain_item *domain = vmop_catalog_domain(catalog, i);
		row_of(catalog, domain)->is_unsampled &=
			domain->kind == VMOP_DOMAIN_UNSAMPLED && !is_host_item(domain);
	}
}

static struct vmop_error *unify(struct vmop_catalog *catalog)
{
	for (size_t i = 0; i < catalog->domains.n; i++) {
		struct vmop_domain_item *domain = vmop_catalog_domain(catalog, i);
		domain->row = (uint32_t)i;
		domain->is_host = i && is_host_item(domain);
	}
	if (catalog->n_sessions == 1)
		return NULL;
	_cleanup_free_ struct vmop_domain_item **list =
		calloc(catalog->domains.n, sizeof(struct vmop_domain_item *));
	if (!list)
		return &vmop_error_no_memory;
	unify_by_uuid(catalog, list);
	unify_hosts(catalog);
	struct vmop_error *err = unify_by_name(catalog, list);
	if (err)
		return err;
	choose_names(catalog);
	err = tell_apart(catalog, list);
	for (size_t i = 1; i < catalog->domains.n && !err; i++) {
		struct vmop_domain_item *domain = vmop_catalog_domain(catalog, i);
		domain->name = row_of(catalog, domain)->name;
		domain->is_host = row_of(catalog, domain)->is_host;
		domain->uuid = *domain->uuid ? domain->uuid : row_of(catalog, domain)->uuid;
	}
	return err;
}

struct vmop_error *vmop_domains_unify(struct vmop_catalog *catalog)
{
	struct vmop_error *err = unify(catalog);
	if (!err)
		err = number_equals(catalog);
	if (!err)
		find_unsampled(catalog);
	return err;
}

/* ---- who speaks for it ---------------------------------------------------- */

/* Omissions that are being gathered for one session. */
struct gathering {
	const struct vmop_catalog *catalog;
	size_t session;
	struct vmop_db_omission *list;
	size_t n;
};

static bool has_event(const struct vmop_catalog *catalog, size_t session, const char *name)
{
	const struct vmop_table_part *part = &catalog->events.parts[session];
	for (size_t i = part->first; i < part->end; i++) {
		if (!strcmp(vmop_catalog_event(catalog, i)->name, name))
			return true;
	}
	return false;
}

/* For each event that both sessions have, what better speaks for. */
static struct vmop_error *add(struct gathering *gathering, size_t better,
			      struct vmop_db_omission omission)
{
	const struct vmop_catalog *catalog = gathering->catalog;
	const struct vmop_table_part *part = &catalog->events.parts[gathering->session];
	omission.from_ns = catalog->sessions[better].start_ns;
	omission.to_ns = catalog->sessions[better].end_ns;
	for (size_t i = part->first; i < part->end; i++) {
		if (!has_event(catalog, better, vmop_catalog_event(catalog, i)->name))
			continue;
		void *list = reallocarray(gathering->list, gathering->n + 1, sizeof(omission));
		if (!list)
			return &vmop_error_no_memory;
		gathering->list = list;
		omission.event = vmop_catalog_event(catalog, i)->id;
		gathering->list[gathering->n++] = omission;
	}
	return NULL;
}

/* The guests of the gathering's session that the session better is the own one of. */
static struct vmop_error *add_guests(struct gathering *gathering, size_t better, uint32_t row)
{
	const struct vmop_catalog *catalog = gathering->catalog;
	const struct vmop_table_part *part = &catalog->domains.parts[gathering->session];
	struct vmop_error *err = NULL;
	for (size_t i = part->first; i < part->end && !err; i++) {
		const struct vmop_domain_item *domain = vmop_catalog_domain(catalog, i);
		if (domain->row == row && !is_host_item(domain))
			err = add(gathering, better,
				  (struct vmop_db_omission){.domain = domain->id});
	}
	return err;
}

struct vmop_error *vmop_domains_omissions(const struct vmop_catalog *catalog, size_t session,
					  struct vmop_db_omission **ret, size_t *ret_n)
{
	struct gathering gathering = {.catalog = catalog, .session = session};
	const struct vmop_domain_item *self = host_of(catalog, session);
	struct vmop_error *err = NULL;
	for (size_t s = 0; s < catalog->n_sessions && !err; s++) {
		const struct vmop_domain_item *host = host_of(catalog, s);
		if (s == session || !host)
			continue;
		if (self && host->row == self->row)
			err = s < session ? add(&gathering, s,
						(struct vmop_db_omission){.every_domain = true})
					  : NULL;
		else
			err = add_guests(&gathering, s, host->row);
	}
	*ret = gathering.list;
	*ret_n = gathering.n;
	return err;
}
