// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/take.h"

#include <string.h>

#include "opreport/query/resolve.h"

uint64_t vmop_query_scaled(uint64_t weight_events, double scale)
{
	if (scale == 1)
		return weight_events;
	double value = (double)weight_events * scale + 0.5;
	return value < 0x1p63 ? (uint64_t)value : UINT64_C(1) << 63;
}

enum vmop_part vmop_query_part(enum vmop_accounting accounting, const struct vmop_db_chunk_key *key)
{
	if (accounting == VMOP_ACCOUNTING_DOMAIN) {
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

size_t vmop_query_domain(enum vmop_accounting accounting, const struct vmop_catalog *catalog,
			 size_t session, const struct vmop_db_chunk_key *key)
{
	bool by_bill = accounting == VMOP_ACCOUNTING_DOMAIN;
	struct vmop_domain_id id =
		by_bill && key->bill != VMOP_BILL_SELF ? key->billed : key->domain;
	return vmop_catalog_find_domain(catalog, session, id);
}

/* Return 1 + the index of the key's domain, for a group. */
static uint32_t domain_field(const struct vmop_query_walk *walk,
			     const struct vmop_db_chunk_key *key)
{
	const struct vmop_catalog *catalog = &walk->result->catalog;
	size_t index = vmop_query_domain(walk->query->accounting, catalog, walk->session, key);
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
static bool is_wanted(const struct vmop_query_walk *walk, const struct vmop_task_item *task,
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
static struct vmop_error *place_of(const struct vmop_query_walk *walk,
				   const struct vmop_db_chunk_key *key,
				   struct vmop_query_place *ret, bool *ret_wanted)
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
	if (dimensions & VMOP_BY_TIME) /* VMOP_NO_TIME_SLOT: 0 */
		group.time = walk->time_slot + 1;
	ret->mode = key->mode;
	ret->scale = event->scale;
	ret->event = event->slot;
	ret->slot = event->slot * result->n_parts +
		    (walk->query->by_part ? vmop_query_part(walk->query->accounting, key) : 0);
	ret->is_idle = task->is_idle;
	return vmop_groups_intern(&result->groups, &group, &ret->group);
}

static void add_totals(struct vmop_result *result, const struct vmop_query_place *place,
		       uint64_t samples, uint64_t weight_events)
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

struct vmop_error *vmop_query_take_sum(void *arg, const struct vmop_db_sum *sum)
{
	struct vmop_query_walk *walk = arg;
	struct vmop_result *result = walk->result;
	struct vmop_query_place place;
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
		uint64_t cell_events = vmop_query_scaled(cell->weight_events, place.scale);
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
	struct vmop_query_walk *walk;
	struct vmop_query_place place;
	const struct vmop_symtab *symtab;
	const struct vmop_db_chunk *piece;
	size_t at;	       /* the next cell */
	struct vmop_count all; /* taken, scaled */
	bool has_memo;
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
	sum.weight_events = vmop_query_scaled(sum.weight_events, taking->place.scale);
	return sum;
}

/* Hand a run to the query's sink, and set *ret_wanted to what it decides. */
static struct vmop_error *sink_run(const struct taking *taking, uint64_t offset,
				   const struct vmop_symbol *symbol, struct vmop_count sum,
				   bool *ret_wanted)
{
	const struct vmop_sample_sink *sink = taking->walk->query->sink;
	const struct vmop_query_place *place = &taking->place;
	const struct vmop_groups *groups = &taking->walk->result->groups;
	const struct vmop_sample_run run = {
		.key = &taking->piece->key,
		.group = place->group == VMOP_NO_GROUP ? NULL : &groups->items[place->group],
		.image = place->image,
		.offset = offset,
		.symtab = taking->symtab,
		.symbol = symbol,
		.event = place->event,
		.interval_start_ns = taking->piece->interval->start_ns,
		.interval_len_ns = taking->piece->interval->len_ns,
		.count = sum,
	};
	return sink->take(sink->arg, &run, ret_wanted);
}

/*
 * Return whether the cells of runs are looked up in the memo: they have no other receiver. Pieces
 * of kept sums, which are of no interval, have each run once.
 */
static bool has_memo(const struct taking *taking)
{
	const struct vmop_query *query = taking->walk->query;
	return (query->dimensions & VMOP_BY_SYMBOL) && !query->details && !query->sink &&
	       taking->piece->interval && taking->place.group != VMOP_NO_GROUP;
}

/* Take the next run as take_run does, if its cell is known. */
static bool take_known_run(struct taking *taking)
{
	struct vmop_query_walk *walk = taking->walk;
	uint64_t offset = taking->piece->cells[taking->at].offset - taking->place.shift_bytes;
	const struct vmop_run *known = vmop_run_memo_find(&walk->memo, taking->place.group, offset);
	if (!known)
		return false;
	struct vmop_tally *cells = &walk->result->cells;
	struct vmop_count *counts = cells->counts + known->cell * cells->n_slots;
	struct vmop_symtab_run run = {.start = known->start, .end = known->end};
	struct vmop_count sum = sum_run(taking, &run);
	vmop_count_add(&taking->all, sum.samples, sum.weight_events);
	vmop_count_add(&counts[taking->place.slot], sum.samples, sum.weight_events);
	return true;
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
	size_t cell;
	err = vmop_tally_at(&result->cells, taking->place.group, start, &counts, &cell);
	if (err)
		return err;
	vmop_count_add(&counts[taking->place.slot], sum.samples, sum.weight_events);
	if (taking->has_memo && cell != VMOP_TALLY_LEFT_OUT) {
		const struct vmop_run known = {.start = run.start,
					       .end = run.end,
					       .group = taking->place.group,
					       .cell = (uint32_t)cell};
		vmop_run_memo_put(&taking->walk->memo, offset, &known);
	}
	return NULL;
}

/* Add the taken samples of a piece to their row, in a query that is not by symbol. */
static struct vmop_error *add_to_row(const struct taking *taking)
{
	const struct vmop_query_place *place = &taking->place;
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
static struct vmop_error *find_last(struct vmop_query_walk *walk,
				    const struct vmop_db_chunk_key *key)
{
	struct vmop_query_last_piece *last = &walk->last;
	if (last->is_known && last->time_slot == walk->time_slot &&
	    !memcmp(&last->key, key, offsetof(struct vmop_db_chunk_key, stack)))
		return NULL;
	const char *why;
	if (walk->is_by_image && key->image.number != last->key.image.number)
		vmop_run_memo_clear(&walk->memo);
	*last = (struct vmop_query_last_piece){.is_known = true, .time_slot = walk->time_slot};
	memcpy(&last->key, key, sizeof(*key)); /* with its padding */
	struct vmop_error *err = place_of(walk, key, &last->place, &last->is_wanted);
	if (!err && last->is_wanted && walk->result->symbols)
		err = vmop_symbols_of(walk->result->symbols, last->place.image, &last->symtab,
				      &why);
	return err;
}

struct vmop_error *vmop_query_take_piece(void *arg, const struct vmop_db_chunk *piece)
{
	struct vmop_query_walk *walk = arg;
	struct vmop_result *result = walk->result;
	const struct vmop_query_last_piece *last = &walk->last;
	if (walk->query->dimensions & VMOP_BY_TIME)
		walk->time_slot =
			vmop_time_slots_find(&result->times, walk->session, piece->interval);
	struct vmop_error *err = find_last(walk, &piece->key);
	if (err || !last->is_wanted)
		return err;
	struct taking taking = {
		.walk = walk, .piece = piece, .place = last->place, .symtab = last->symtab};
	taking.has_memo = has_memo(&taking);
	while (taking.at < piece->n_cells) {
		if (taking.has_memo && take_known_run(&taking))
			continue;
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

struct vmop_error *vmop_query_take_total(void *arg, const struct vmop_db_total *total)
{
	struct vmop_query_walk *walk = arg;
	struct vmop_query_place place;
	bool wanted;
	struct vmop_error *err = place_of(walk, &total->key, &place, &wanted);
	if (err || !wanted)
		return err;
	struct vmop_count *counts;
	size_t row;
	err = vmop_result_row_at(walk->result, place.group, 0, place.mode, &counts, &row);
	if (err)
		return err;
	uint64_t weight_events = vmop_query_scaled(total->weight_events, place.scale);
	vmop_count_add(&counts[place.slot], total->samples, weight_events);
	add_totals(walk->result, &place, total->samples, weight_events);
	walk->done += total->samples;
	vmop_progress_step(&walk->progress, walk->done);
	return NULL;
}

struct vmop_error *vmop_query_take_interval(void *arg, const struct vmop_db_interval *interval,
					    const struct vmop_db_total *total)
{
	struct vmop_query_walk *walk = arg;
	walk->time_slot = vmop_time_slots_find(&walk->result->times, walk->session, interval);
	return vmop_query_take_total(arg, total);
}
