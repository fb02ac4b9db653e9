// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/query.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/progress.h"
#include "opreport/query/event-slots.h"
#include "opreport/query/idle.h"
#include "opreport/query/resolve.h"
#include "opreport/query/unify.h"

/* Where the samples of one chunk key are added. */
struct place {
	uint32_t group;
	size_t slot;	      /* in a row's counts */
	size_t event;	      /* in totals */
	size_t image;	      /* catalog index */
	uint64_t shift_bytes; /* offset of a cell minus offset in that image */
	double scale;	      /* factor for weights */
	uint8_t mode;	      /* enum vmop_mode */
	uint8_t certainty;
	bool is_idle;
};

/* The place of the piece before: the pieces of one row differ in their stacks only. */
struct last_piece {
	struct vmop_db_chunk_key key;
	struct place place;
	const struct vmop_symtab *symtab;
	bool is_known, is_wanted;
};

/* A walk over a session's chunks or totals. */
struct walk {
	const struct vmop_query *query;
	struct vmop_result *result;
	size_t session;	   /* index of the session that is being read */
	bool merges_tasks; /* the store summed all tasks except the idle one */
	struct vmop_progress progress;
	uint64_t done;
	uint64_t *omitted;	/* by domain; used by find_omitted */
	unsigned certainties;	/* selected, as bits 1 << enum vmop_certainty; 0: all */
	struct last_piece last; /* in a walk over pieces */
};

/*
 * Return the estimated weight of an event that counted part of the time.  The result is rounded,
 * and at most 2^63 (a damaged session can exceed it).
 */
static uint64_t scaled(uint64_t weight_events, double scale)
{
	if (scale == 1)
		return weight_events;
	double value = (double)weight_events * scale + 0.5;
	return value < 0x1p63 ? (uint64_t)value : UINT64_C(1) << 63;
}

static uint32_t part_of(const struct vmop_query *query, const struct vmop_db_chunk_key *key)
{
	if (query->accounting == VMOP_ACCOUNTING_DOMAIN) {
		if (key->bill == VMOP_BILL_HYPERVISOR)
			return VMOP_PART_HYPERVISOR;
		if (key->bill == VMOP_BILL_VMM)
			return VMOP_PART_VMM;
	}
	switch (key->mode) {
	case VMOP_MODE_USER:
		return VMOP_PART_USER;
	case VMOP_MODE_KERNEL:
		return VMOP_PART_KERNEL;
	case VMOP_MODE_HYPERVISOR:
		return VMOP_PART_HYPERVISOR;
	default:
		return VMOP_PART_OTHER;
	}
}

/* Return 1 + the index of the key's domain, for a group. */
static uint32_t domain_field(const struct walk *walk, const struct vmop_db_chunk_key *key)
{
	bool by_bill = walk->query->accounting == VMOP_ACCOUNTING_DOMAIN;
	struct vmop_domain_id id =
		by_bill && key->bill != VMOP_BILL_SELF ? key->billed : key->domain;
	const struct vmop_catalog *catalog = &walk->result->catalog;
	size_t index = vmop_catalog_find_domain(catalog, walk->session, id);
	const struct vmop_domain_item *domain = vmop_catalog_domain(catalog, index);
	return (walk->query->dimensions & VMOP_BY_LIFE ? domain->life : domain->row) + 1;
}

static bool is_dependent(const struct vmop_catalog *catalog, const struct vmop_task_item *task,
			 const struct vmop_image_item *image)
{
	if (!task->exe_image.number)
		return true;
	size_t exe = vmop_catalog_find_image(catalog, task->session, task->exe_image);
	return !exe || vmop_catalog_image(catalog, exe)->row != image->row;
}

/* Return whether the samples pass the conditions that the store's filter cannot check. */
static bool is_wanted(const struct walk *walk, const struct vmop_task_item *task,
		      const struct vmop_image_item *image)
{
	const struct vmop_query *query = walk->query;
	const struct vmop_catalog *catalog = &walk->result->catalog;
	if (walk->merges_tasks) /* the store's filter has checked the tasks */
		return image->selected;
	return task->selected && image->selected && !(query->exclude_idle && task->is_idle) &&
	       !(query->exclude_dependent && is_dependent(catalog, task, image));
}

/* Set *ret to the place of the key's samples; or *ret_wanted to false to skip them. */
static struct vmop_error *place_of(const struct walk *walk, const struct vmop_db_chunk_key *key,
				   struct place *ret, bool *ret_wanted)
{
	struct vmop_result *result = walk->result;
	const struct vmop_catalog *catalog = &result->catalog;
	unsigned dimensions = walk->query->dimensions;
	size_t session = walk->session;
	size_t task_index = vmop_catalog_find_task(catalog, session, key->task);
	const struct vmop_task_item *task = vmop_catalog_task(catalog, task_index);
	ret->image = vmop_catalog_find_image(catalog, session, key->image);
	const struct vmop_image_item *image = vmop_catalog_image(catalog, ret->image);
	const struct vmop_event_item *event =
		vmop_catalog_event(catalog, vmop_catalog_find_event(catalog, session, key->event));
	ret->certainty =
		key->certainty < VMOP_N_CERTAINTIES ? key->certainty : VMOP_CERTAIN_AMBIGUOUS;
	*ret_wanted = event->slot != VMOP_NO_SLOT && is_wanted(walk, task, image) &&
		      (!walk->certainties || walk->certainties & 1u << ret->certainty);
	if (!*ret_wanted)
		return NULL;
	ret->shift_bytes = vmop_catalog_image(catalog, image->text)->base - image->base;
	ret->image = image->text;
	struct vmop_group group = {0};
	if (dimensions & VMOP_BY_DOMAIN)
		group.domain = domain_field(walk, key);
	if (dimensions & VMOP_BY_SYMBOL) /* the row follows when symbols are looked up */
		group.image = (uint32_t)ret->image + 1;
	else if (dimensions & VMOP_BY_IMAGE)
		group.image = image->row + 1;
	if (dimensions & VMOP_BY_TASK)
		group.task = task->row + 1;
	if (dimensions & VMOP_BY_CGROUP)
		group.cgroup = task->cgroup_row + 1;
	if (dimensions & VMOP_BY_CPU)
		group.cpu = (uint32_t)key->cpu + 2;
	if (dimensions & VMOP_BY_VCPU)
		group.vcpu = (uint32_t)key->vcpu + 2;
	if (dimensions & (VMOP_BY_MODE | VMOP_BY_SYMBOL)) /* likewise */
		group.mode = (uint16_t)(key->mode + 1);
	if ((dimensions & VMOP_BY_SYMBOL) && task->is_idle)
		group.mode |= VMOP_GROUP_IDLE;
	if (dimensions & VMOP_BY_CERTAINTY)
		group.certainty = (uint16_t)(ret->certainty + 1);
	if (dimensions & VMOP_BY_SESSION)
		group.session = (uint32_t)session + 1;
	ret->mode = key->mode;
	ret->scale = event->scale;
	ret->event = event->slot;
	ret->slot = event->slot * result->n_parts +
		    (walk->query->by_part ? part_of(walk->query, key) : 0);
	ret->is_idle = task->is_idle;
	return vmop_groups_intern(&result->groups, &group, &ret->group);
}

static void add_totals(struct vmop_result *result, const struct place *place, uint64_t samples,
		       uint64_t weight_events)
{
	size_t row_image = vmop_catalog_image(&result->catalog, place->image)->row;
	vmop_count_add(&result->selected[place->event], samples, weight_events);
	result->image_samples[row_image] += samples;
	if (result->image_weights)
		result->image_weights[row_image * result->n_events + place->event] += weight_events;
	result->certain[place->certainty] += samples;
	if (place->is_idle && place->event == 0)
		vmop_count_add(&result->idle, samples, weight_events);
}

static struct vmop_error *take_sum(void *arg, const struct vmop_db_sum *sum)
{
	struct walk *walk = arg;
	struct vmop_result *result = walk->result;
	struct place place;
	bool wanted;
	struct vmop_error *err = place_of(walk, &sum->key, &place, &wanted);
	if (err || !wanted)
		return err;
	uint64_t samples = 0, weight_events = 0;
	for (size_t i = 0; i < sum->n_cells; i++) {
		const struct vmop_db_cell *cell = &sum->cells[i];
		struct vmop_count *counts;
		err = vmop_tally_at(&result->cells, place.group, cell->offset - place.shift_bytes,
				    &counts, NULL);
		if (err)
			return err;
		uint64_t cell_events = scaled(cell->weight_events, place.scale);
		vmop_count_add(&counts[place.slot], cell->samples, cell_events);
		samples += cell->samples;
		weight_events += cell_events;
	}
	add_totals(result, &place, samples, weight_events);
	walk->done += samples;
	vmop_progress_step(&walk->progress, walk->done);
	return NULL;
}

/* A piece while its runs are taken. */
struct taking {
	struct walk *walk;
	struct place place;
	const struct vmop_symtab *symtab;
	const struct vmop_db_chunk *piece;
	size_t at;	       /* the next cell */
	struct vmop_count all; /* taken, scaled */
};

/* Sum the cells of the next run, whose range in the image is *run, and advance behind them. */
static struct vmop_count sum_run(struct taking *taking, struct vmop_symtab_run *run)
{
	const struct vmop_db_chunk *piece = taking->piece;
	uint64_t shift_bytes = taking->place.shift_bytes;
	uint64_t offset = piece->cells[taking->at].offset - shift_bytes;
	struct vmop_count sum = {0};
	do {
		const struct vmop_db_cell *cell = &piece->cells[taking->at];
		vmop_count_add(&sum, cell->samples, cell->weight_events);
		if (++taking->at == piece->n_cells)
			break;
		offset = piece->cells[taking->at].offset - shift_bytes;
	} while (offset - run->start < run->end - run->start);
	sum.weight_events = scaled(sum.weight_events, taking->place.scale);
	return sum;
}

/* Hand a run to the query's sink, and set *ret_wanted to what it decides. */
static struct vmop_error *sink_run(const struct taking *taking, uint64_t offset,
				   const struct vmop_symbol *symbol, struct vmop_count sum,
				   bool *ret_wanted)
{
	const struct vmop_sample_sink *sink = taking->walk->query->sink;
	const struct place *place = &taking->place;
	const struct vmop_groups *groups = &taking->walk->result->groups;
	const struct vmop_sample_run run = {
		.key = &taking->piece->key,
		.group = place->group == VMOP_NO_GROUP ? NULL : &groups->items[place->group],
		.image = place->image,
		.offset = offset,
		.symtab = taking->symtab,
		.symbol = symbol,
		.event = place->event,
		.count = sum,
	};
	return sink->take(sink->arg, &run, ret_wanted);
}

/* Take the cells of the piece from taking->at on that have one symbol. */
static struct vmop_error *take_run(struct taking *taking)
{
	const struct vmop_query *query = taking->walk->query;
	struct vmop_result *result = taking->walk->result;
	uint64_t offset = taking->piece->cells[taking->at].offset - taking->place.shift_bytes;
	struct vmop_symtab_run run = {.end = UINT64_MAX};
	if (taking->symtab)
		run = vmop_symtab_find_run(taking->symtab, offset);
	uint64_t start = query->details ? offset : run.start;
	if (query->details || (query->sink && query->sink->by_offset)) {
		run.start = offset;
		run.end = offset + 1;
	}
	struct vmop_count sum = sum_run(taking, &run);
	bool wanted = true;
	struct vmop_error *err = NULL;
	if (query->sink)
		err = sink_run(taking, offset, run.symbol, sum, &wanted);
	if (err || !wanted)
		return err;
	vmop_count_add(&taking->all, sum.samples, sum.weight_events);
	if (!(query->dimensions & VMOP_BY_SYMBOL))
		return NULL;
	struct vmop_count *counts;
	err = vmop_tally_at(&result->cells, taking->place.group, start, &counts, NULL);
	if (!err)
		vmop_count_add(&counts[taking->place.slot], sum.samples, sum.weight_events);
	return err;
}

/* Add the taken samples of a piece to their row, in a query that is not by symbol. */
static struct vmop_error *add_to_row(const struct taking *taking)
{
	const struct place *place = &taking->place;
	struct vmop_count *counts;
	size_t row;
	struct vmop_error *err = vmop_result_row_at(taking->walk->result, place->group, 0,
						    place->mode, &counts, &row);
	if (!err)
		vmop_count_add(&counts[place->slot], taking->all.samples,
			       taking->all.weight_events);
	return err;
}

/* Set walk->last for a piece with that key. */
static struct vmop_error *find_last(struct walk *walk, const struct vmop_db_chunk_key *key)
{
	struct last_piece *last = &walk->last;
	if (last->is_known && !memcmp(&last->key, key, offsetof(struct vmop_db_chunk_key, stack)))
		return NULL;
	const char *why;
	*last = (struct last_piece){.is_known = true};
	memcpy(&last->key, key, sizeof(*key)); /* with its padding */
	struct vmop_error *err = place_of(walk, key, &last->place, &last->is_wanted);
	if (!err && last->is_wanted)
		err = vmop_symbols_of(walk->result->symbols, last->place.image, &last->symtab,
				      &why);
	return err;
}

/*
 * Sum cells by symbol as they are read, as if all samples of a symbol had one address.  100 million
 * samples of a thousand symbols then take a thousand cells, which fit a CPU cache; summing them by
 * address first took more than half of a report's time.
 */
static struct vmop_error *take_piece(void *arg, const struct vmop_db_chunk *piece)
{
	struct walk *walk = arg;
	struct vmop_result *result = walk->result;
	const struct last_piece *last = &walk->last;
	struct vmop_error *err = find_last(walk, &piece->key);
	if (err || !last->is_wanted)
		return err;
	struct taking taking = {
		.walk = walk, .piece = piece, .place = last->place, .symtab = last->symtab};
	while (taking.at < piece->n_cells) {
		err = take_run(&taking);
		if (err)
			return err;
	}
	if (!(walk->query->dimensions & VMOP_BY_SYMBOL) && taking.all.samples)
		err = add_to_row(&taking);
	add_totals(result, &taking.place, taking.all.samples, taking.all.weight_events);
	walk->done += taking.all.samples;
	vmop_progress_step(&walk->progress, walk->done);
	return err;
}

static struct vmop_error *take_total(void *arg, const struct vmop_db_total *total)
{
	struct walk *walk = arg;
	struct place place;
	bool wanted;
	struct vmop_error *err = place_of(walk, &total->key, &place, &wanted);
	if (err || !wanted)
		return err;
	struct vmop_count *counts;
	size_t row;
	err = vmop_result_row_at(walk->result, place.group, 0, place.mode, &counts, &row);
	if (err)
		return err;
	uint64_t weight_events = scaled(total->weight_events, place.scale);
	vmop_count_add(&counts[place.slot], total->samples, weight_events);
	add_totals(walk->result, &place, total->samples, weight_events);
	walk->done += total->samples;
	vmop_progress_step(&walk->progress, walk->done);
	return NULL;
}

/* Add a total to the base for percents of the whole session; only events are selected. */
static struct vmop_error *take_base(void *arg, const struct vmop_db_total *total)
{
	const struct walk *walk = arg;
	struct vmop_result *result = walk->result;
	const struct vmop_catalog *catalog = &result->catalog;
	size_t index = vmop_catalog_find_event(catalog, walk->session, total->key.event);
	const struct vmop_event_item *event = vmop_catalog_event(catalog, index);
	if (event->slot != VMOP_NO_SLOT)
		vmop_count_add(&result->base[event->slot], total->samples,
			       scaled(total->weight_events, event->scale));
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
static bool wants_symbols_alone(const struct walk *walk)
{
	const struct vmop_query *query = walk->query;
	const struct vmop_catalog *catalog = &walk->result->catalog;
	bool is_scaled = false;
	for (size_t i = 0; i < catalog->events.n; i++)
		is_scaled = is_scaled || vmop_catalog_event(catalog, i)->scale != 1;
	return query->sink || ((query->dimensions & VMOP_BY_SYMBOL) && !query->details &&
			       query->threshold_percent <= 0 && !is_scaled);
}

static struct vmop_error *walk_session(struct walk *walk, struct vmop_db *db)
{
	const struct vmop_session_choice *choice = &walk->result->choice.sessions[walk->session];
	struct vmop_db_filter apart = choice->filter;
	const struct vmop_db_filter *filter = &apart;
	bool by_symbol = walk->query->dimensions & VMOP_BY_SYMBOL;
	unsigned merge = mergeable(walk->query, choice);
	bool in_pieces = wants_symbols_alone(walk);
	walk->last.is_known = false;
	if (choice->is_empty)
		return NULL;
	apart.task_apart = find_idle_task(&walk->result->catalog, walk->session);
	walk->merges_tasks = by_symbol && !in_pieces && (merge & VMOP_DB_MERGE_TASKS);
	const struct vmop_sample_sink *sink = walk->query->sink;
	struct vmop_error *err =
		sink ? sink->begin(sink->arg, walk->result, walk->session, db) : NULL;
	if (err)
		return err;
	vmop_progress_begin(&walk->progress, "reading samples", 0);
	err = in_pieces	  ? vmop_db_each_piece(db, filter, take_piece, walk)
	      : by_symbol ? vmop_db_each_sum(db, filter, merge, take_sum, walk)
			  : vmop_db_each_total(db, filter, take_total, walk);
	if (err && err->code == VMOP_ERROR_LIMIT) { /* too many addresses, and none was read */
		vmop_error_destroy(err);
		walk->merges_tasks = false;
		walk->result->left_out.details |= walk->query->details;
		err = vmop_db_each_piece(db, filter, take_piece, walk);
	}
	vmop_progress_end(&walk->progress);
	walk->merges_tasks = false;
	return err;
}

static struct vmop_error *find_base_of(struct walk *walk, struct vmop_db *db)
{
	const struct vmop_db_filter *selected =
		&walk->result->choice.sessions[walk->session].filter;
	const struct vmop_db_filter filter = {.omissions = selected->omissions,
					      .n_omissions = selected->n_omissions};
	return vmop_db_each_total(db, &filter, take_base, walk);
}

/* Call of(walk, db) for each session. */
static struct vmop_error *each_session(struct walk *walk, const struct vmop_session_input *sessions,
				       struct vmop_error *(*of)(struct walk *walk,
								struct vmop_db *db))
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

static struct vmop_error *find_base(struct walk *walk, const struct vmop_session_input *sessions)
{
	struct vmop_result *result = walk->result;
	if (walk->query->of_whole_session && !result->choice.is_everything)
		return each_session(walk, sessions, find_base_of);
	memcpy(result->base, result->selected, result->n_events * sizeof(*result->base));
	return NULL;
}

/* ---- omitted samples ------------------------------------------------------ */

static struct vmop_error *take_omitted(void *arg, const struct vmop_db_total *total)
{
	const struct walk *walk = arg;
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

static struct vmop_error *find_omitted(struct walk *walk, struct vmop_db *db)
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
	if (query->exclude_idle || query->exclude_dependent ||
	    (query->sink && query->sink->is_filter))
		result->choice.is_everything = false;
	if (!err)
		err = vmop_result_assign_slots(result, query->merge);
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
	struct walk walk = {.query = query, .result = ret, .certainties = spec->certainties};
	if ((query->dimensions & VMOP_BY_SYMBOL) || query->sink)
		err = vmop_symbols_create(&query->resolver, &ret->catalog, sessions, &ret->symbols);
	if (err)
		return err;
	err = each_session(&walk, sessions, walk_session);
	if (err)
		return err;
	if (!total_samples(ret))
		return nothing_selected(spec, &ret->choice);
	err = find_base(&walk, sessions);
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
