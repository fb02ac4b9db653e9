// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/query.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "opreport/query/event-slots.h"
#include "opreport/query/kept-sums.h"
#include "opreport/query/omission.h"
#include "opreport/query/resolve.h"
#include "opreport/query/take.h"
#include "opreport/query/unify.h"

/* Add a total to the base for percents of the whole session; only events are selected. */
static struct vmop_error *take_base(void *arg, const struct vmop_db_total *total)
{
	const struct vmop_query_walk *walk = arg;
	struct vmop_result *result = walk->result;
	const struct vmop_catalog *catalog = &result->catalog;
	size_t index = vmop_catalog_find_event(catalog, walk->session, total->key.event);
	const struct vmop_event_item *event = vmop_catalog_event(catalog, index);
	if (event->slot != VMOP_NO_SLOT)
		vmop_count_add(&result->base[event->slot], total->samples,
			       vmop_query_scaled(total->weight_events, event->scale));
	return NULL;
}

/* ---- totals ---------------------------------------------------------------- */

#define IMAGE_WEIGHTS_MAX_BYTES ((size_t)128 << 20)

static struct vmop_error *allocate_totals(const struct vmop_query *query,
					  struct vmop_result *result)
{
	size_t n = result->n_events, n_images = result->catalog.images.n;
	result->selected = calloc(n, sizeof(*result->selected));
	result->base = calloc(n, sizeof(*result->base));
	result->image_samples = calloc(n_images, sizeof(*result->image_samples));
	if (!result->selected || !result->base || !result->image_samples)
		return &vmop_error_no_memory;
	if (query->threshold_percent <= 0 ||
	    n_images * n * sizeof(*result->image_weights) > IMAGE_WEIGHTS_MAX_BYTES)
		return NULL;
	result->image_weights = calloc(n_images * n, sizeof(*result->image_weights));
	return result->image_weights ? NULL : &vmop_error_no_memory;
}

/* Return bits VMOP_DB_MERGE_* for what the store may sum. */
static unsigned mergeable(const struct vmop_query *query, const struct vmop_session_choice *choice)
{
	unsigned merge = VMOP_DB_MERGE_STACKS;
	if (!(query->dimensions & (VMOP_BY_CPU | VMOP_BY_VCPU)))
		merge |= VMOP_DB_MERGE_CPUS;
	if (!(query->dimensions & (VMOP_BY_TASK | VMOP_BY_CGROUP)) && !query->exclude_idle &&
	    !query->exclude_dependent && choice->filter_is_complete)
		merge |= VMOP_DB_MERGE_TASKS;
	return merge;
}

/* Return the id of a session's idle task, whose samples the store keeps separate, or 0. */
static struct vmop_task_row_id find_idle_task(const struct vmop_catalog *catalog, size_t session)
{
	const struct vmop_table_part *part = &catalog->tasks.parts[session];
	for (size_t i = part->first; i < part->end; i++) {
		const struct vmop_task_item *task = vmop_catalog_task(catalog, i);
		if (task->is_idle && task->selected)
			return task->id;
	}
	return (struct vmop_task_row_id){0};
}

/*
 * Return whether samples can be summed by symbol as they are read.  Details need addresses; a
 * threshold needs the totals of images first; scaled weights are rounded once for each address.  A
 * sink needs the stacks, and takes details along.
 */
static bool wants_symbols_alone(const struct vmop_query_walk *walk)
{
	const struct vmop_query *query = walk->query;
	const struct vmop_catalog *catalog = &walk->result->catalog;
	bool is_scaled = false;
	for (size_t i = 0; i < catalog->events.n; i++)
		is_scaled = is_scaled || vmop_catalog_event(catalog, i)->scale != 1;
	return query->sink || ((query->dimensions & VMOP_BY_SYMBOL) && !query->details &&
			       query->threshold_percent <= 0 && !is_scaled);
}

/* Walk over pieces, or over kept sums of them. */
static struct vmop_error *walk_pieces(struct vmop_query_walk *walk, struct vmop_db *db,
				      const struct vmop_db_filter *filter)
{
	bool is_done = false;
	struct vmop_error *err = NULL;
	if (vmop_kept_sums_suit(walk, filter))
		err = vmop_kept_sums_walk(walk, db, filter, &is_done);
	return err || is_done ? err : vmop_db_each_piece(db, filter, vmop_query_take_piece, walk);
}

static struct vmop_error *walk_session(struct vmop_query_walk *walk, struct vmop_db *db)
{
	const struct vmop_session_choice *choice = &walk->result->choice.sessions[walk->session];
	struct vmop_db_filter apart = choice->filter;
	const struct vmop_db_filter *filter = &apart;
	bool by_symbol = walk->query->dimensions & VMOP_BY_SYMBOL;
	unsigned merge = mergeable(walk->query, choice);
	bool in_pieces = wants_symbols_alone(walk) || (walk->query->dimensions & VMOP_BY_TIME);
	walk->last.is_known = false;
	if (choice->is_empty)
		return NULL;
	apart.needs_no_times = !walk->query->sink && !(walk->query->dimensions & VMOP_BY_TIME);
	walk->is_by_image = apart.needs_no_times;
	apart.task_apart = find_idle_task(&walk->result->catalog, walk->session);
	walk->merges_tasks = by_symbol && !in_pieces && (merge & VMOP_DB_MERGE_TASKS);
	const struct vmop_sample_sink *sink = walk->query->sink;
	struct vmop_error *err =
		sink ? sink->begin(sink->arg, walk->result, walk->session, db) : NULL;
	if (err)
		return err;
	vmop_progress_begin(&walk->progress, "reading samples", 0);
	bool by_interval = (walk->query->dimensions & VMOP_BY_TIME) && !by_symbol && !sink;
	err = by_interval ? vmop_db_each_interval_total(db, filter, vmop_query_take_interval, walk)
	      : in_pieces ? walk_pieces(walk, db, filter)
	      : by_symbol ? vmop_db_each_sum(db, filter, merge, vmop_query_take_sum, walk)
			  : vmop_db_each_total(db, filter, vmop_query_take_total, walk);
	if (err && err->code == VMOP_ERROR_LIMIT) { /* too many addresses, and none was read */
		vmop_error_destroy(err);
		walk->merges_tasks = false;
		walk->result->left_out.details |= walk->query->details;
		err = vmop_db_each_piece(db, filter, vmop_query_take_piece, walk);
	}
	vmop_progress_end(&walk->progress);
	walk->merges_tasks = false;
	return err;
}

static struct vmop_error *find_base_of(struct vmop_query_walk *walk, struct vmop_db *db)
{
	const struct vmop_db_filter *selected =
		&walk->result->choice.sessions[walk->session].filter;
	const struct vmop_db_filter filter = {.omissions = selected->omissions,
					      .n_omissions = selected->n_omissions};
	return vmop_db_each_total(db, &filter, take_base, walk);
}

/* Call of(walk, db) for each session. */
static struct vmop_error *
each_session(struct vmop_query_walk *walk, const struct vmop_session_input *sessions,
	     struct vmop_error *(*of)(struct vmop_query_walk *walk, struct vmop_db *db))
{
	const struct vmop_catalog *catalog = &walk->result->catalog;
	for (size_t s = 0; s < catalog->n_sessions; s++) {
		walk->session = s;
		struct vmop_error *err = of(walk, sessions[s].db);
		if (err)
			return vmop_catalog_blame(err, catalog, s);
	}
	return NULL;
}

static struct vmop_error *find_base(struct vmop_query_walk *walk,
				    const struct vmop_session_input *sessions)
{
	struct vmop_result *result = walk->result;
	if (walk->query->of_whole_session && !result->choice.is_everything)
		return each_session(walk, sessions, find_base_of);
	memcpy(result->base, result->selected, result->n_events * sizeof(*result->base));
	return NULL;
}

/* Add a chunk to the base of its slot. */
static struct vmop_error *take_time_base(void *arg, const struct vmop_db_interval *interval,
					 const struct vmop_db_total *total)
{
	const struct vmop_query_walk *walk = arg;
	struct vmop_result *result = walk->result;
	const struct vmop_catalog *catalog = &result->catalog;
	size_t index = vmop_catalog_find_event(catalog, walk->session, total->key.event);
	const struct vmop_event_item *event = vmop_catalog_event(catalog, index);
	uint32_t slot = vmop_time_slots_find(&result->times, walk->session, interval);
	if (event->slot != VMOP_NO_SLOT && slot != VMOP_NO_TIME_SLOT)
		vmop_count_add(&result->time_base[slot * result->n_events + event->slot],
			       total->samples,
			       vmop_query_scaled(total->weight_events, event->scale));
	return NULL;
}

static struct vmop_error *find_time_base_of(struct vmop_query_walk *walk, struct vmop_db *db)
{
	const struct vmop_db_filter *selected =
		&walk->result->choice.sessions[walk->session].filter;
	const struct vmop_db_filter filter = {.from_ns = selected->from_ns,
					      .to_ns = selected->to_ns,
					      .omissions = selected->omissions,
					      .n_omissions = selected->n_omissions};
	return vmop_db_each_interval_total(db, &filter, take_time_base, walk);
}

static struct vmop_error *find_time_base(struct vmop_query_walk *walk,
					 const struct vmop_session_input *sessions)
{
	struct vmop_result *result = walk->result;
	if (!walk->query->by_step)
		return NULL;
	result->time_base =
		calloc(result->times.n * result->n_events + 1, sizeof(*result->time_base));
	return result->time_base ? each_session(walk, sessions, find_time_base_of)
				 : &vmop_error_no_memory;
}

/* ---- omitted samples ------------------------------------------------------ */

static struct vmop_error *take_omitted(void *arg, const struct vmop_db_total *total)
{
	const struct vmop_query_walk *walk = arg;
	const struct vmop_catalog *catalog = &walk->result->catalog;
	size_t index = vmop_catalog_find_domain(catalog, walk->session, total->key.domain);
	walk->omitted[vmop_catalog_domain(catalog, index)->row] += total->samples;
	return NULL;
}

static struct vmop_error *add_omitted(struct vmop_result *result, struct vmop_omitted omitted)
{
	if (!vmop_array_reserve(result->omitted, result->omitted_capacity, result->n_omitted + 1))
		return &vmop_error_no_memory;
	result->omitted[result->n_omitted++] = omitted;
	return NULL;
}

static struct vmop_error *find_omitted(struct vmop_query_walk *walk, struct vmop_db *db)
{
	struct vmop_result *result = walk->result;
	const struct vmop_session_choice *choice = &result->choice.sessions[walk->session];
	struct vmop_db_filter filter = choice->filter;
	if (!filter.n_omissions || choice->is_empty)
		return NULL;
	filter.only_omitted = true;
	size_t n = result->catalog.domains.n;
	_cleanup_free_ uint64_t *by_domain = calloc(n, sizeof(*by_domain));
	if (!by_domain)
		return &vmop_error_no_memory;
	walk->omitted = by_domain;
	struct vmop_error *err = vmop_db_each_total(db, &filter, take_omitted, walk);
	for (size_t i = 0; i < n && !err; i++) {
		if (by_domain[i])
			err = add_omitted(result, (struct vmop_omitted){.session = walk->session,
									.domain = i,
									.samples = by_domain[i]});
	}
	return err;
}

static bool needs_tasks(const struct vmop_query *query, const struct vmop_spec *spec)
{
	return (query->dimensions & (VMOP_BY_TASK | VMOP_BY_CGROUP)) || query->exclude_dependent ||
	       spec->tasks.n || spec->tgids.n || spec->tids.n;
}

/* Drop the losses of sessions that are copies of others, and so left out altogether. */
static void drop_losses(struct vmop_result *result)
{
	struct vmop_catalog *catalog = &result->catalog;
	bool is_copy[VMOP_SESSIONS_MAX];
	size_t n = 0;
	for (size_t s = 0; s < catalog->n_sessions; s++)
		is_copy[s] = vmop_omissions_cover(catalog, s, &result->choice.sessions[s].filter);
	for (size_t i = 0; i < catalog->n_losses; i++)
		if (!is_copy[catalog->losses[i].session])
			catalog->losses[n++] = catalog->losses[i];
	catalog->n_losses = n;
}

static struct vmop_error *prepare(const struct vmop_query *query, const struct vmop_spec *spec,
				  const struct vmop_session_input *sessions, size_t n_sessions,
				  struct vmop_result *result)
{
	struct vmop_error *err = NULL;
	for (size_t s = 0; s < n_sessions && !err; s++)
		err = vmop_db_begin_snapshot(sessions[s].db);
	if (!err)
		err = vmop_catalog_load(&result->catalog, sessions, n_sessions, query->merge,
					needs_tasks(query, spec));
	if (!err && (query->dimensions & VMOP_BY_CGROUP))
		err = vmop_catalog_unify_cgroups(&result->catalog);
	if (!err)
		err = vmop_choice_init(&result->choice, &result->catalog, spec,
				       query->accounting == VMOP_ACCOUNTING_DOMAIN);
	if (!err)
		drop_losses(result);
	if (query->exclude_idle || query->exclude_dependent ||
	    (query->sink && query->sink->is_filter))
		result->choice.is_everything = false;
	if (!err)
		err = vmop_result_assign_slots(result, query->merge);
	if (!err && query->by_step)
		err = vmop_time_slots_init_steps(&result->times, sessions, &result->catalog,
						 &result->choice, query->time_step_s);
	else if (!err && (query->dimensions & VMOP_BY_TIME))
		err = vmop_time_slots_init(&result->times, sessions, n_sessions,
					   result->choice.from_ns, result->choice.to_ns,
					   query->time_slots);
	result->left_out.items = result->catalog.n_items_left_out;
	return err ? err : allocate_totals(query, result);
}

static uint64_t total_samples(const struct vmop_result *result)
{
	uint64_t samples = 0;
	for (size_t e = 0; e < result->n_events; e++)
		samples += result->selected[e].samples;
	return samples;
}

static struct vmop_error *nothing_selected(const struct vmop_spec *spec,
					   const struct vmop_choice *choice)
{
	const char *why = choice->is_everything ? "the session holds no samples yet"
			  : spec->cpus.n || spec->vcpus.n
				  ? "no samples of the session match; cpu: and vcpu: need one "
				    "recorded with --separate=cpu"
				  : "no samples of the session match";
	return vmop_error_new(VMOP_ERROR_NOT_FOUND, "%s", why);
}

/* Count the samples that had no room in the tallies, and the images without symbols. */
static void count_left_out(struct vmop_result *result)
{
	const struct vmop_tally *const tallies[] = {&result->cells, &result->rows_tally};
	for (size_t i = 0; i < sizeof(tallies) / sizeof(*tallies); i++) {
		for (size_t slot = 0; tallies[i]->left_out && slot < tallies[i]->n_slots; slot++)
			result->left_out.samples += tallies[i]->left_out[slot].samples;
	}
	if (result->symbols)
		result->left_out.images = vmop_symbols_n_left_out(result->symbols);
}

struct vmop_error *vmop_query_run(const struct vmop_query *query, const struct vmop_spec *spec,
				  const struct vmop_session_input *sessions, size_t n_sessions,
				  struct vmop_result *ret)
{
	*ret = (struct vmop_result){.n_parts = query->by_part ? VMOP_N_PARTS : 1,
				    .dimensions = query->dimensions};
	struct vmop_error *err = prepare(query, spec, sessions, n_sessions, ret);
	if (err)
		return err;
	vmop_tally_init(&ret->cells, ret->n_events * ret->n_parts);
	vmop_tally_init(&ret->rows_tally, ret->n_events * ret->n_parts);
	struct vmop_query_walk walk = {
		.query = query, .result = ret, .certainties = spec->certainties};
	struct vmop_resolver_options resolver = query->resolver;
	if (spec->archive)
		resolver.answers = vmop_archive_answers(spec->archive);
	if ((query->dimensions & VMOP_BY_SYMBOL) || query->sink)
		err = vmop_symbols_create(&resolver, &ret->catalog, sessions, &ret->symbols);
	if (err)
		return err;
	err = each_session(&walk, sessions, walk_session);
	vmop_run_memo_deinit(&walk.memo);
	if (err)
		return err;
	if (!total_samples(ret))
		return nothing_selected(spec, &ret->choice);
	err = find_base(&walk, sessions);
	if (!err)
		err = find_time_base(&walk, sessions);
	if (!err)
		err = each_session(&walk, sessions, find_omitted);
	if (!err && (query->dimensions & VMOP_BY_SYMBOL))
		err = vmop_result_resolve(query, ret);
	if (err)
		return err;
	if (!total_samples(ret)) /* all were idle */
		return nothing_selected(spec, &ret->choice);
	count_left_out(ret);
	return vmop_result_make_rows(ret);
}
