// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/identity.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "opreport/output/time-text.h"

/* Return domain 0 of a session, or NULL if its file lacks it. */
static struct vmop_domain_item *host_of(const struct vmop_catalog *catalog, size_t session)
{
	size_t index = vmop_catalog_find_domain(catalog, session, VMOP_DOMAIN_ID_HOST);
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

/* The context in which domains without a UUID are compared. */
struct place {
	const struct vmop_catalog *catalog;
	uint32_t *machines; /* by session: see find_machines */
};

/*
 * Compare domains without a UUID: guests by host and name, hypervisors by machine only, since a
 * machine has one and its guests' sessions can name it differently.
 */
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
	return vmop_domain_id_is_host(domain->id);
}

/*
 * Make the domains list[0..n), of one UUID, one domain.  If all are hosts, compare host names too:
 * some firmware gives all machines of a model the same UUID.
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

/* list has room for all domains. */
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

/* Unify hosts by host name where one of them has no UUID. */
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

/* Set *ret, by session, to the row of the physical machine below all nested guests. */
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

/*
 * The time by which lives of one guest can seem to overlap: vmopd looks once a second for VMMs that
 * started or ended unnoticed.
 */
#define LIVES_OVERLAP_NS UINT64_C(2000000000)

/* The latest end of the lives with one VMM pid. */
struct last_life {
	uint32_t session, vmm_pid;
	uint64_t end_ns;
};

static bool is_same_life(const struct last_life *last, const struct vmop_domain_item *item)
{
	return last->vmm_pid == item->vmm_pid && last->session != item->session;
}

/* Return whether two items of list ran at the same time.  list ascends by first_seen_ns. */
static bool has_overlap(struct vmop_domain_item *const *list, size_t n)
{
	struct last_life last = {0},
			 other = {0}; /* the latest end, and the latest end with another pid */
	for (size_t i = 0; i < n; i++) {
		const struct vmop_domain_item *item = list[i];
		uint64_t start_ns = item->first_seen_ns + LIVES_OVERLAP_NS;
		if ((start_ns < last.end_ns && !is_same_life(&last, item)) ||
		    (start_ns < other.end_ns && !is_same_life(&other, item)))
			return true;
		if (item->end_ns < last.end_ns)
			continue;
		if (last.vmm_pid != item->vmm_pid)
			other = last;
		last = (struct last_life){item->session, item->vmm_pid, item->end_ns};
	}
	return false;
}

static int compare_pids(const void *a, const void *b)
{
	const struct vmop_domain_item *x = *(void *const *)a, *y = *(void *const *)b;
	return compare_items(x, y, (x->vmm_pid > y->vmm_pid) - (x->vmm_pid < y->vmm_pid));
}

static int compare_starts(const void *a, const void *b)
{
	const struct vmop_domain_item *x = *(void *const *)a, *y = *(void *const *)b;
	return compare_items(x, y,
			     (x->first_seen_ns > y->first_seen_ns) -
				     (x->first_seen_ns < y->first_seen_ns));
}

/* Unify list[0..n), domains of one name on one host, by pid if their lives overlap. */
static void unify_namesakes(const struct vmop_catalog *catalog, struct vmop_domain_item **list,
			    size_t n)
{
	const struct vmop_domain_item *first = list[0];
	qsort(list, n, sizeof(*list), compare_starts);
	if (first->kind == VMOP_DOMAIN_HYPERVISOR || !has_overlap(list, n)) {
		for (size_t i = 0; i < n; i++)
			set_row(catalog, list[i], first);
		return;
	}
	qsort(list, n, sizeof(*list), compare_pids);
	for (size_t i = 0, of_pid = 0; i < n; i++) {
		if (!list[i]->vmm_pid || list[i]->vmm_pid != list[of_pid]->vmm_pid)
			of_pid = i;
		set_row(catalog, list[i], list[of_pid]);
	}
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
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1;
		     end < n && compare_places(&place, list[first], list[end]) == 0;)
			end++;
		unify_namesakes(catalog, list + first, end - first);
	}
	return NULL;
}

/* ---- its name ------------------------------------------------------------- */

/*
 * Name guests as their host's session names them.  Name hosts "host", or by host name if there are
 * several.
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
	for (size_t i = catalog->domains.n; i-- > 1;) { /* so that the first item's name prevails */
		struct vmop_domain_item *domain = vmop_catalog_domain(catalog, i);
		struct vmop_domain_item *row = row_of(catalog, domain);
		if (is_host_item(domain))
			continue;
		row->is_host = false;
		row->name = domain->own_name;
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

static struct vmop_error *rename_domain(struct vmop_catalog *catalog,
					struct vmop_domain_item *domain, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static struct vmop_error *rename_domain(struct vmop_catalog *catalog,
					struct vmop_domain_item *domain, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	domain->name = vmop_arena_vformat(&catalog->arena, format, args);
	va_end(args);
	return domain->name ? NULL : &vmop_error_no_memory;
}

/* The depth of nested guests in a name. A damaged file can claim more, or a circle. */
#define NESTED_MAX 4

/*
 * Return the item that names the guest in which a guest ran, or NULL: it ran on a host. naming: by
 * row, the index of the item that names the guest; 0: the row is no guest.
 */
static const struct vmop_domain_item *outer_of(const struct vmop_catalog *catalog,
					       const uint32_t *naming,
					       const struct vmop_domain_item *guest)
{
	const struct vmop_domain_item *host = host_of(catalog, guest->session);
	if (!host || row_of(catalog, host)->is_host || !naming[host->row])
		return NULL;
	return vmop_catalog_domain(catalog, naming[host->row]);
}

/* Put the names of the guests in which a guest ran before its own: "web1/inner". */
static struct vmop_error *name_nested(struct vmop_catalog *catalog, const uint32_t *naming,
				      struct vmop_domain_item *row)
{
	const char *names[NESTED_MAX]; /* innermost first */
	size_t n = 0;
	const struct vmop_domain_item *guest = vmop_catalog_domain(catalog, naming[row->row]);
	for (; guest && n < NESTED_MAX; guest = outer_of(catalog, naming, guest))
		names[n++] = guest->own_name;
	struct vmop_error *err = NULL;
	const char *name = names[--n];
	while (n && !err) {
		err = rename_domain(catalog, row, "%s/%s", name, names[--n]);
		name = row->name;
	}
	return err;
}

/* Name the guests that active guests ran themselves, as their own sessions have them. */
static struct vmop_error *name_all_nested(struct vmop_catalog *catalog)
{
	_cleanup_free_ uint32_t *naming = calloc(catalog->domains.n, sizeof(*naming));
	struct vmop_error *err = naming ? NULL : &vmop_error_no_memory;
	for (size_t i = catalog->domains.n; i-- > 1 && !err;) {
		const struct vmop_domain_item *domain = vmop_catalog_domain(catalog, i);
		if (!is_host_item(domain) && domain->kind != VMOP_DOMAIN_HYPERVISOR &&
		    strcmp(domain->own_name, VMOP_DOMAIN_SOME_NAME) != 0)
			naming[domain->row] = (uint32_t)i;
	}
	for (size_t i = 1; i < catalog->domains.n && !err; i++)
		if (naming[i])
			err = name_nested(catalog, naming, vmop_catalog_domain(catalog, i));
	return err;
}

static int compare_shown(const void *a, const void *b)
{
	const struct vmop_domain_item *x = *(void *const *)a, *y = *(void *const *)b;
	return compare_items(x, y, strcmp(x->name, y->name));
}

static bool are_of_different_sessions(struct vmop_domain_item *const *list, size_t n)
{
	for (size_t i = 1; i < n; i++) { /* list is in the table's order */
		if (list[i]->session == list[i - 1]->session)
			return false;
	}
	return true;
}

static bool have_different_pids(struct vmop_domain_item *const *list, size_t n)
{
	uint32_t least = 0;
	for (size_t i = 0; i < n; i++) {
		if (list[i]->vmm_pid <= least)
			return false;
		least = list[i]->vmm_pid;
	}
	return true;
}

/* Append to each of several domains of one name its session's name, its VMM's pid, or its id. */
static struct vmop_error *name_apart(struct vmop_catalog *catalog, struct vmop_domain_item **list,
				     size_t n)
{
	const char *name = list[0]->name;
	bool by_session = are_of_different_sessions(list, n);
	if (!by_session)
		qsort(list, n, sizeof(*list), compare_pids);
	bool by_pid = have_different_pids(list, n);
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < n && !err; i++) {
		struct vmop_domain_item *domain = list[i];
		if (by_session)
			err = rename_domain(catalog, domain, "%s (%s)", name,
					    catalog->sessions[domain->session].name);
		else if (by_pid)
			err = rename_domain(catalog, domain, "%s (pid %" PRIu32 ")", name,
					    domain->vmm_pid);
		else if (catalog->n_sessions == 1)
			err = rename_domain(catalog, domain, "%s (domain %" PRIu32 ")", name,
					    domain->id.number);
		else
			err = rename_domain(catalog, domain, "%s (domain %" PRIu32 " of %s)", name,
					    domain->id.number,
					    catalog->sessions[domain->session].name);
	}
	return err;
}

static struct vmop_error *tell_apart(struct vmop_catalog *catalog, struct vmop_domain_item **list)
{
	size_t n = 0;
	for (size_t i = 1; i < catalog->domains.n; i++) {
		if (vmop_catalog_domain(catalog, i)->row == i)
			list[n++] = vmop_catalog_domain(catalog, i);
	}
	qsort(list, n, sizeof(*list), compare_shown);
	struct vmop_error *err = NULL;
	for (size_t first = 0, end; first < n && !err; first = end) {
		const char *name = list[first]->name;
		for (end = first + 1; end < n && !strcmp(list[end]->name, name);)
			end++;
		if (end - first > 1)
			err = name_apart(catalog, list + first, end - first);
	}
	return err;
}

/* ---- its lives ------------------------------------------------------------ */

/* Return whether item is a guest: nothing else has lives. */
static bool has_lives(const struct vmop_catalog *catalog, const struct vmop_domain_item *item)
{
	const struct vmop_domain_item *row = row_of(catalog, item);
	return !row->is_host && row->kind != VMOP_DOMAIN_HYPERVISOR &&
	       row->kind != VMOP_DOMAIN_HOST;
}

/* Order by domain, then pid (0 last), then time. */
static int compare_lives(const void *a, const void *b)
{
	const struct vmop_domain_item *x = *(void *const *)a, *y = *(void *const *)b;
	int order = (x->row > y->row) - (x->row < y->row);
	if (!order)
		order = (x->vmm_pid < y->vmm_pid) - (x->vmm_pid > y->vmm_pid);
	if (!order)
		order = (x->first_seen_ns > y->first_seen_ns) -
			(x->first_seen_ns < y->first_seen_ns);
	return compare_items(x, y, order);
}

static bool overlap(const struct vmop_domain_item *a, const struct vmop_domain_item *b)
{
	return a->first_seen_ns < b->end_ns && b->first_seen_ns < a->end_ns;
}

/* Return whether item, which follows life in the order of compare_lives, is part of that life. */
static bool is_of_life(const struct vmop_domain_item *life, const struct vmop_domain_item *item)
{
	if (item->session == life->session)
		return false; /* a session has one item for each life */
	if (!item->vmm_pid)
		return overlap(life, item);
	return item->vmm_pid == life->vmm_pid &&
	       !(life->has_ended && life->end_ns <= item->first_seen_ns);
}

static struct vmop_error *name_life(struct vmop_catalog *catalog, struct vmop_domain_item *life)
{
	char start[40], end[40], name[80];
	vmop_format_time(life->first_seen_ns, start, sizeof(start));
	vmop_format_time(catalog->end_ns, end, sizeof(end));
	size_t date_len = strcspn(start, " ");
	bool is_same_day = start[date_len] && !strncmp(start, end, date_len + 1);
	const char *shown = is_same_day ? start + date_len + 1 : start;
	if (life->vmm_pid)
		snprintf(name, sizeof(name), "%s pid %" PRIu32, shown, life->vmm_pid);
	else
		snprintf(name, sizeof(name), "%s", shown);
	life->life_name = vmop_arena_text(&catalog->arena, name);
	return life->life_name ? NULL : &vmop_error_no_memory;
}

/* Earlier lives that an item is compared with.  Most domains have one life. */
#define LIVES_LOOKED_AT 16

/* list has room for all domains. */
static struct vmop_error *find_lives(struct vmop_catalog *catalog, struct vmop_domain_item **list)
{
	struct vmop_error *err = NULL;
	size_t n = 0;
	for (size_t i = 0; i < catalog->domains.n; i++) {
		struct vmop_domain_item *item = vmop_catalog_domain(catalog, i);
		item->life = item->row;
		if (has_lives(catalog, item))
			list[n++] = item;
	}
	qsort(list, n, sizeof(*list), compare_lives);
	for (size_t i = 0; i < n && !err; i++) {
		struct vmop_domain_item *life = list[i];
		for (size_t back = 1; back <= i && back <= LIVES_LOOKED_AT; back++) {
			struct vmop_domain_item *before =
				vmop_catalog_domain(catalog, list[i - back]->life);
			if (list[i - back]->row == life->row && is_of_life(before, life)) {
				life = before;
				break;
			}
		}
		list[i]->life = (uint32_t)(life - vmop_catalog_domain(catalog, 0));
		row_of(catalog, life)->n_lives += life == list[i];
		if (life == list[i])
			err = name_life(catalog, life);
	}
	return err;
}

/* Set is_unsampled of rows: a domain that one session could not sample may have its own session. */
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

static struct vmop_error *unify(struct vmop_catalog *catalog, struct vmop_domain_item **list)
{
	unify_by_uuid(catalog, list);
	unify_hosts(catalog);
	struct vmop_error *err = unify_by_name(catalog, list);
	if (err)
		return err;
	choose_names(catalog);
	if (catalog->n_sessions > 1)
		err = name_all_nested(catalog);
	if (!err)
		err = tell_apart(catalog, list);
	for (size_t i = 1; i < catalog->domains.n && !err; i++) {
		struct vmop_domain_item *domain = vmop_catalog_domain(catalog, i);
		domain->name = row_of(catalog, domain)->name;
		domain->is_host = row_of(catalog, domain)->is_host;
		domain->uuid = *domain->uuid ? domain->uuid : row_of(catalog, domain)->uuid;
	}
	return err ? err : find_lives(catalog, list);
}

struct vmop_error *vmop_domains_unify(struct vmop_catalog *catalog)
{
	_cleanup_free_ struct vmop_domain_item **list =
		calloc(catalog->domains.n, sizeof(struct vmop_domain_item *));
	if (!list)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < catalog->domains.n; i++) {
		struct vmop_domain_item *domain = vmop_catalog_domain(catalog, i);
		domain->row = (uint32_t)i;
		domain->is_host = i && is_host_item(domain);
	}
	struct vmop_error *err = unify(catalog, list);
	if (!err)
		find_unsampled(catalog);
	return err;
}
