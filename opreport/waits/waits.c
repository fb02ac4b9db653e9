// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/waits/waits.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libsym/symtab.h"
#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/label.h"
#include "opreport/arrange/losses.h"
#include "opreport/arrange/session.h"
#include "opreport/query/choice.h"

#define NO_WAITS                                                                                   \
	"the session has no time of vCPUs: 'vmopcontrol --waits' records it from the next start "  \
	"on"

/* One session while it is read. */
struct loading {
	struct vmop_waits_facts_of *ret;
	const struct vmop_spec *spec;
	struct vmop_db *db;
	size_t session;
	struct vmop_db_culprit *culprits; /* ascending by id; their names are in the arena */
	size_t n_culprits, culprits_capacity;
	struct vmop_symtab *symtab; /* of this image; NULL: none */
	struct vmop_image_id image;
};

/* ---- culprits --------------------------------------------------------------------------- */

static const char *culprit_name(struct loading *loading, const struct vmop_db_culprit *culprit)
{
	struct vmop_catalog *catalog = &loading->ret->catalog;
	size_t domain;
	switch (culprit->kind) {
	case VMOP_CULPRIT_GUEST:
		domain = vmop_catalog_find_domain(catalog, loading->session, culprit->domain);
		return vmop_catalog_domain(catalog, vmop_catalog_domain(catalog, domain)->row)
			->name;
	case VMOP_CULPRIT_IDLE:
		return "[idle]";
	case VMOP_CULPRIT_OTHERS:
		return "[others]";
	default:
		return vmop_arena_name(&catalog->arena, culprit->name);
	}
}

static struct vmop_error *add_culprit(void *arg, const struct vmop_db_culprit *culprit)
{
	struct loading *loading = arg;
	const char *name = culprit_name(loading, culprit);
	if (!name || !vmop_array_reserve(loading->culprits, loading->culprits_capacity,
					 loading->n_culprits + 1))
		return &vmop_error_no_memory;
	if (loading->n_culprits >= VMOP_ITEMS_MAX)
		return vmop_error_new(VMOP_ERROR_LIMIT, "too many culprits");
	loading->culprits[loading->n_culprits] = *culprit;
	loading->culprits[loading->n_culprits++].name = name;
	return NULL;
}

static int compare_id(const void *a, const void *b)
{
	uint64_t id = *(const uint64_t *)a;
	const struct vmop_db_culprit *culprit = b;
	return id < culprit->id ? -1 : id > culprit->id;
}

static void set_culprit(const struct loading *loading, uint64_t id, struct vmop_waits_fact *fact)
{
	const struct vmop_db_culprit *culprit =
		loading->n_culprits ? bsearch(&id, loading->culprits, loading->n_culprits,
					      sizeof(*loading->culprits), compare_id)
				    : NULL;
	fact->kind = culprit ? culprit->kind : VMOP_CULPRIT_OTHERS;
	fact->culprit = culprit ? culprit->name : "[others]";
}

/* ---- rows ------------------------------------------------------------------------------- */

/* Set *ret to the row of a session's domain. False: the spec does not select it. */
static bool find_domain(const struct loading *loading, struct vmop_domain_id id, uint32_t *ret)
{
	const struct vmop_catalog *catalog = &loading->ret->catalog;
	size_t at = vmop_catalog_find_domain(catalog, loading->session, id);
	const struct vmop_domain_item *domain = vmop_catalog_domain(catalog, at);
	*ret = domain->row;
	return at && (domain->selected || !loading->spec->domains.n);
}

static struct vmop_error *add_fact(void *arg, const struct vmop_db_wait *wait)
{
	struct loading *loading = arg;
	struct vmop_waits_facts_of *ret = loading->ret;
	struct vmop_waits_fact fact = {
		.vcpu = wait->vcpu,
		.state = wait->state,
		.culprit = "",
		.cause = wait->state == VMOP_WAIT_EXIT ? wait->cause : 0,
		.count = wait->count,
		.time_ns = wait->time_ns,
	};
	if (!find_domain(loading, wait->domain, &fact.domain) ||
	    (loading->spec->vcpus.n && !vmop_numbers_match(&loading->spec->vcpus, wait->vcpu)))
		return NULL;
	if (wait->state == VMOP_WAIT_WAITING)
		set_culprit(loading, wait->cause, &fact);
	if (!vmop_array_reserve(ret->facts, ret->facts_capacity, ret->n_facts + 1))
		return &vmop_error_no_memory;
	ret->facts[ret->n_facts++] = fact;
	return NULL;
}

/* Load the symbols of an image in place of the last one's. */
static struct vmop_error *load_symbols(struct loading *loading, struct vmop_image_id image)
{
	struct vmop_symbol *symbols = NULL;
	size_t n = 0;
	if (loading->image.number == image.number)
		return NULL;
	vmop_symtab_destroy(loading->symtab);
	loading->symtab = NULL;
	loading->image = image;
	struct vmop_error *err = vmop_db_get_symbols(loading->db, image, &symbols, &n);
	if (err || !symbols)
		return err;
	return vmop_symtab_adopt(symbols, n, &loading->symtab);
}

static const char *place_name(const struct vmop_db_exit_place *place)
{
	switch (place->image.number ? UINT64_MAX : place->offset) {
	case VMOP_DB_EXIT_USER:
		return "[user code]";
	case VMOP_DB_EXIT_ELSEWHERE:
		return "[elsewhere]";
	default:
		return "[unknown code]";
	}
}

static struct vmop_error *add_function(void *arg, const struct vmop_db_exit_place *place)
{
	struct loading *loading = arg;
	struct vmop_waits_facts_of *ret = loading->ret;
	struct vmop_waits_function function = {
		.cause = place->cause, .name = place_name(place), .count = place->count};
	if (!find_domain(loading, place->domain, &function.domain))
		return NULL;
	struct vmop_error *err = place->image.number ? load_symbols(loading, place->image) : NULL;
	const struct vmop_symbol *symbol =
		place->image.number && loading->symtab
			? vmop_symtab_find(loading->symtab, place->offset)
			: NULL;
	if (!err && symbol)
		function.name = vmop_arena_name(&ret->catalog.arena, symbol->name);
	if (!err && (!function.name || !vmop_array_reserve(ret->functions, ret->functions_capacity,
							   ret->n_functions + 1)))
		err = &vmop_error_no_memory;
	if (!err)
		ret->functions[ret->n_functions++] = function;
	return err;
}

static struct vmop_error *load_session(struct loading *loading)
{
	struct vmop_waits_facts_of *ret = loading->ret;
	_cleanup_free_ char *no_exits = NULL;
	struct vmop_error *err = vmop_db_each_culprit(loading->db, add_culprit, loading);
	if (!err)
		err = vmop_db_each_wait_in(loading->db, ret->from_ns, ret->to_ns, add_fact,
					   loading);
	if (!err)
		err = vmop_db_each_exit_place_in(loading->db, ret->from_ns, ret->to_ns,
						 add_function, loading);
	if (!err)
		err = vmop_db_get_info(loading->db, "no_exits", &no_exits);
	if (!err && no_exits)
		ret->no_exits = vmop_arena_name(&ret->catalog.arena, no_exits);
	vmop_symtab_destroy(loading->symtab);
	free(loading->culprits);
	return err ? vmop_catalog_blame(err, &ret->catalog, loading->session) : NULL;
}

/* ---- sums ------------------------------------------------------------------------------- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_key(const void *a, const void *b)
{
	const struct vmop_waits_fact *x = a, *y = b;
	int order = compare_u64(x->domain, y->domain);
	order = order ? order : compare_u64(x->vcpu, y->vcpu);
	order = order ? order : compare_u64(x->state, y->state);
	order = order ? order : compare_u64(x->kind, y->kind);
	order = order ? order : strcmp(x->culprit, y->culprit);
	return order ? order : compare_u64(x->cause, y->cause);
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void merge_facts(struct vmop_waits_facts_of *ret)
{
	size_t n = 0;
	if (ret->n_facts)
		qsort(ret->facts, ret->n_facts, sizeof(*ret->facts), by_key);
	for (size_t i = 0; i < ret->n_facts; i++) {
		struct vmop_waits_fact *last = n ? &ret->facts[n - 1] : NULL;
		if (last && by_key(last, &ret->facts[i]) == 0) {
			last->count = add(last->count, ret->facts[i].count);
			last->time_ns = add(last->time_ns, ret->facts[i].time_ns);
		} else {
			ret->facts[n++] = ret->facts[i];
		}
	}
	ret->n_facts = n;
}

static int by_name(const void *a, const void *b)
{
	const struct vmop_waits_function *x = a, *y = b;
	int order = compare_u64(x->domain, y->domain);
	order = order ? order : compare_u64(x->cause, y->cause);
	return order ? order : strcmp(x->name, y->name);
}

static int by_count(const void *a, const void *b)
{
	const struct vmop_waits_function *x = a, *y = b;
	int order = compare_u64(x->domain, y->domain);
	order = order ? order : compare_u64(x->cause, y->cause);
	order = order ? order : compare_u64(y->count, x->count);
	return order ? order : strcmp(x->name, y->name);
}

static void merge_functions(struct vmop_waits_facts_of *ret)
{
	size_t n = 0;
	if (!ret->n_functions)
		return;
	qsort(ret->functions, ret->n_functions, sizeof(*ret->functions), by_name);
	for (size_t i = 0; i < ret->n_functions; i++) {
		struct vmop_waits_function *last = n ? &ret->functions[n - 1] : NULL;
		if (last && by_name(last, &ret->functions[i]) == 0)
			last->count = add(last->count, ret->functions[i].count);
		else
			ret->functions[n++] = ret->functions[i];
	}
	ret->n_functions = n;
	qsort(ret->functions, n, sizeof(*ret->functions), by_count);
}

/* ---- loading ------------------------------------------------------------------------------ */

struct vmop_error *vmop_waits_check_spec(const struct vmop_spec *spec)
{
	const struct {
		bool is_wrong;
		const char *tag;
	} wrong[] = {
		{spec->events.n, "event:"}, {spec->images.n, "image:"},
		{spec->tasks.n, "task:"},   {spec->stacks.n, "stack:"},
		{spec->cpus.n, "cpu:"},	    {spec->tgids.n, "tgid:"},
		{spec->tids.n, "tid:"},	    {spec->certainties, "certainty:"},
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (wrong[i].is_wrong)
			return vmop_error_new(VMOP_ERROR_USAGE,
					      "the time of vCPUs has no %s (session:, domain:, "
					      "vcpu: and time: select it)",
					      wrong[i].tag);
	return NULL;
}

static struct vmop_error *select_time(const struct vmop_spec *spec, struct vmop_waits_facts_of *ret)
{
	/* vcpu: selects rows here, for which samples need not be separated. */
	struct vmop_spec without = *spec;
	struct vmop_choice choice = {0};
	without.vcpus = (struct vmop_numbers){0};
	struct vmop_error *err = vmop_choice_init(&choice, &ret->catalog, &without, false);
	ret->from_ns = choice.from_ns;
	ret->to_ns = choice.to_ns;
	vmop_choice_deinit(&choice);
	return err;
}

static struct vmop_error *load(const struct vmop_spec *spec, struct vmop_sessions *sessions,
			       struct vmop_waits_facts_of *ret)
{
	struct vmop_error *err = vmop_waits_check_spec(spec);
	if (!err)
		err = vmop_sessions_open(spec, sessions);
	for (size_t i = 0; i < sessions->n && !err; i++)
		err = vmop_db_begin_snapshot(sessions->items[i].db);
	if (!err)
		err = vmop_catalog_load(&ret->catalog, sessions->items, sessions->n, 0, false);
	if (!err)
		err = select_time(spec, ret);
	if (!err)
		err = vmop_losses_describe(&ret->catalog, ret->from_ns || ret->to_ns,
					   &ret->catalog.arena, &ret->losses);
	for (size_t i = 0; i < sessions->n && !err; i++) {
		struct loading loading = {
			.ret = ret, .spec = spec, .db = sessions->items[i].db, .session = i};
		err = load_session(&loading);
	}
	return err;
}

struct vmop_error *vmop_waits_load(const struct vmop_spec *spec, struct vmop_waits_facts_of *ret)
{
	struct vmop_sessions sessions = {0};
	*ret = (struct vmop_waits_facts_of){0};
	struct vmop_error *err = load(spec, &sessions, ret);
	vmop_sessions_deinit(&sessions);
	if (err)
		return err;
	merge_facts(ret);
	merge_functions(ret);
	return ret->n_facts ? NULL : vmop_waits_none(spec);
}

struct vmop_error *vmop_waits_none(const struct vmop_spec *spec)
{
	bool is_all = !spec->domains.n && !spec->vcpus.n && !spec->time.is_set;
	return vmop_error_new(VMOP_ERROR_NOT_FOUND, "%s",
			      is_all ? NO_WAITS : "no time of vCPUs matches");
}

void vmop_waits_merge_vcpus(struct vmop_waits_facts_of *facts)
{
	for (size_t i = 0; i < facts->n_facts; i++)
		facts->facts[i].vcpu = 0;
	merge_facts(facts);
}

void vmop_waits_facts_deinit(struct vmop_waits_facts_of *facts)
{
	free(facts->facts);
	free(facts->functions);
	vmop_catalog_deinit(&facts->catalog);
}

/* ---- the gate ------------------------------------------------------------------------------ */

struct vmop_error *vmop_waits_steal_percent(const struct vmop_spec *spec, const char *glob,
					    double *ret)
{
	_cleanup_(vmop_waits_facts_deinit) struct vmop_waits_facts_of facts = {0};
	double whole_ns = 0, steal_ns = 0;
	struct vmop_error *err = vmop_waits_load(spec, &facts);
	for (size_t i = 0; i < facts.n_facts && !err; i++) {
		const struct vmop_waits_fact *fact = &facts.facts[i];
		const char *name = vmop_catalog_domain(&facts.catalog, fact->domain)->name;
		if (strcmp(glob, name) != 0 && fnmatch(glob, name, 0) != 0)
			continue;
		whole_ns += (double)vmop_waits_whole_ns(fact);
		if (fact->state == VMOP_WAIT_WAITING || fact->state == VMOP_WAIT_QUOTA)
			steal_ns += (double)fact->time_ns;
	}
	if (!err && whole_ns <= 0)
		err = vmop_error_new(VMOP_ERROR_NOT_FOUND, "no guest '%s' has time of vCPUs", glob);
	*ret = whole_ns > 0 ? 100 * steal_ns / whole_ns : 0;
	return err;
}
