// SPDX-License-Identifier: GPL-2.0-or-later
/* If memory runs out, HASH_ADD leaves the element's tbl NULL instead of ending the program. */
#define HASH_NONFATAL_OOM 1
#include "opreport/query/kept-sums.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <uthash.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "opreport/query/kept-file.h"
#include "opreport/query/kept-images.h"
#include "opreport/query/kept-state.h"
#include "opreport/query/run-memo.h"
#include "opreport/query/take.h"

/* A place while its cells are added up. */
struct place {
	struct vmop_db_chunk_key key; /* hashed as bytes */
	uint32_t number;
	bool by_offset;
	const struct vmop_symtab *symtab; /* unless by offset; NULL: no symbols */
	UT_hash_handle hh;
};

struct vmop_kept_sums {
	struct vmop_kept_sums *next; /* of another session */
	void *mapped;		     /* the file; NULL: none that is valid */
	size_t mapped_len_bytes;
	struct vmop_kept_file file;
	struct vmop_symtab_known *known; /* its runs; NULL: none */
	bool has_shown_names;		 /* in the form of this report */

	struct vmop_query_walk *walk;
	bool is_settled;	    /* vmop_kept_state_is_settled(&now), while it is read */
	struct vmop_kept_state now; /* of all intervals; session {0, 0}: they are not to be kept */
	struct place *by_key, *last;
	struct place **places;
	size_t n_places, places_capacity;
	struct vmop_db_chunk_key last_key; /* as the store has it; of `last` */
	struct vmop_run_memo memo;	   /* of tally */
	struct vmop_tally tally;	   /* by place and offset: of cells from the session */
	uint64_t n_read_cells;
};

static void free_sums(struct vmop_kept_sums *sums)
{
	struct place *place, *next;
	HASH_ITER (hh, sums->by_key, place, next) {
		HASH_DEL(sums->by_key, place);
		free(place);
	}
	free(sums->places);
	sums->places = NULL;
	sums->n_places = 0;
	vmop_run_memo_deinit(&sums->memo);
	vmop_tally_deinit(&sums->tally);
}

static void forget_file(struct vmop_kept_sums *sums)
{
	if (sums->mapped)
		munmap(sums->mapped, sums->mapped_len_bytes);
	sums->mapped = NULL;
	sums->file = (struct vmop_kept_file){0};
}

void vmop_kept_sums_destroy(struct vmop_kept_sums *sums)
{
	while (sums) {
		struct vmop_kept_sums *next = sums->next;
		free_sums(sums);
		forget_file(sums);
		free(sums->known);
		free(sums);
		sums = next;
	}
}

const char *vmop_kept_sums_name(const struct vmop_kept_sums *sums, const struct vmop_symbol *symbol)
{
	for (; sums; sums = sums->next) {
		uintptr_t at = (uintptr_t)symbol - (uintptr_t)sums->known;
		size_t i = at / sizeof(*sums->known);
		if (sums->known && sums->has_shown_names && i < sums->file.n_runs)
			return sums->file.names + sums->file.runs[i].shown;
	}
	return NULL;
}

bool vmop_kept_sums_suit(const struct vmop_query_walk *walk, const struct vmop_db_filter *filter)
{
	const struct vmop_query *query = walk->query;
	const unsigned finer = VMOP_BY_TIME | VMOP_BY_TASK | VMOP_BY_CGROUP;
	const struct vmop_choice *choice = &walk->result->choice;
	return (query->dimensions & VMOP_BY_SYMBOL) && !(query->dimensions & finer) &&
	       !query->sink && !query->details && !query->exclude_dependent &&
	       choice->sessions[walk->session].filter_is_complete && !filter->from_ns &&
	       !filter->to_ns && !filter->n_tasks && !filter->n_omissions &&
	       walk->result->symbols &&
	       vmop_resolver_has_cache(vmop_symbols_resolver(walk->result->symbols));
}

/* ---- the file -------------------------------------------------------------------- */

/* Map the kept file, if there is one of this session. */
static void map_file(struct vmop_kept_sums *sums)
{
	char name[VMOP_KEPT_NAME_BYTES];
	vmop_kept_state_name(&sums->now, name);
	sums->mapped =
		(void *)vmop_resolver_map(vmop_symbols_resolver(sums->walk->result->symbols), name,
					  VMOP_KEPT_FILE_MAX_BYTES, &sums->mapped_len_bytes);
	if (sums->mapped &&
	    (!vmop_kept_file_parse(sums->mapped, sums->mapped_len_bytes, &sums->file) ||
	     !vmop_kept_state_is_same_file(&sums->file.state, &sums->now)))
		forget_file(sums);
}

/* ---- symbol tables --------------------------------------------------------------- */

/*
 * Set *ret to the table of an image whose cells may be added up by its runs, and *ret_by_offset to
 * true if there is no such table: it may change, or the addresses count from another image.
 */
static struct vmop_error *table_of(const struct vmop_kept_sums *sums, struct vmop_image_id id,
				   const struct vmop_symtab **ret, bool *ret_by_offset)
{
	struct vmop_result *result = sums->walk->result;
	const struct vmop_catalog *catalog = &result->catalog;
	size_t index = vmop_catalog_find_image(catalog, sums->walk->session, id);
	const char *why;
	*ret = NULL;
	*ret_by_offset = true;
	if (!index || vmop_catalog_image(catalog, index)->text != index)
		return NULL;
	struct vmop_error *err = vmop_symbols_of(result->symbols, index, ret, &why);
	*ret_by_offset = err || (*ret && !vmop_symtab_identity(*ret));
	return err;
}

static bool is_selected(const struct vmop_db_filter *filter, struct vmop_image_id image)
{
	size_t i = 0;
	while (i < filter->n_images && !vmop_image_id_equals(filter->images[i], image))
		i++;
	return i < filter->n_images || !filter->n_images;
}

/* Make sums->known of the file's runs. */
static bool make_known(struct vmop_kept_sums *sums)
{
	const struct vmop_kept_file *file = &sums->file;
	sums->known = malloc((file->n_runs + 1) * sizeof(*sums->known));
	for (size_t i = 0; i < file->n_runs && sums->known; i++) {
		const struct vmop_kept_run *run = &file->runs[i];
		sums->known[i] = (struct vmop_symtab_known){
			.start = run->start,
			.end = run->end,
			.index = run->index,
			.first = run->first,
			.symbol = {.offset = run->offset,
				   .len_bytes = run->len_bytes,
				   .name = run->index == VMOP_SYMTAB_NO_INDEX
						   ? NULL
						   : file->names + run->name,
				   .type = (char)run->type},
		};
	}
	return sums->known != NULL;
}

/* Forget the file if an image has other symbols now. Otherwise give the tables their runs. */
static struct vmop_error *compare_tables(struct vmop_kept_sums *sums,
					 const struct vmop_db_filter *filter)
{
	const struct vmop_kept_file *file = &sums->file;
	bool is_same = true;
	if (sums->mapped && !make_known(sums))
		return &vmop_error_no_memory;
	sums->has_shown_names = file->demangle == sums->walk->query->resolver.demangle;
	for (size_t i = 0, run = 0; i < file->n_images && is_same; i++) {
		const struct vmop_kept_image *image = &file->images[i];
		const struct vmop_symtab *symtab;
		bool by_offset;
		if (is_selected(filter, image->image)) {
			struct vmop_error *err = table_of(sums, image->image, &symtab, &by_offset);
			if (err)
				return err;
			uint64_t identity =
				symtab ? vmop_symtab_identity(symtab) : VMOP_KEPT_NO_SYMBOLS;
			is_same = !by_offset && identity == image->identity;
			if (is_same && symtab)
				vmop_symtab_set_known(symtab, sums->known + run, image->n_runs);
		}
		run += image->n_runs;
	}
	/* The runs of images that were the same stay right, and mapped. */
	if (!is_same)
		sums->file.n_places = sums->file.n_cells = 0;
	return NULL;
}

/* ---- add up ---------------------------------------------------------------------- */

/* Return the key of a place: all tasks but a host's idle one are one. */
static struct vmop_db_chunk_key place_key(const struct vmop_query_walk *walk,
					  const struct vmop_db_chunk_key *key)
{
	const struct vmop_catalog *catalog = &walk->result->catalog;
	size_t task = vmop_catalog_find_task(catalog, walk->session, key->task);
	struct vmop_db_chunk_key place = vmop_db_place_of(key);
	if (vmop_catalog_task(catalog, task)->is_idle)
		place.task = key->task;
	return place;
}

static struct vmop_error *add_place(struct vmop_kept_sums *sums,
				    const struct vmop_db_chunk_key *key, struct place **ret)
{
	struct place *place = calloc(1, sizeof(*place));
	if (!place)
		return &vmop_error_no_memory;
	memcpy(&place->key, key, sizeof(*key)); /* with its padding */
	place->number = (uint32_t)sums->n_places;
	struct vmop_error *err = table_of(sums, key->image, &place->symtab, &place->by_offset);
	if (!err && !vmop_array_reserve(sums->places, sums->places_capacity, sums->n_places + 1))
		err = &vmop_error_no_memory;
	if (!err) {
		HASH_ADD(hh, sums->by_key, key, sizeof(place->key), place);
		err = place->hh.tbl ? NULL : &vmop_error_no_memory;
	}
	if (err) {
		free(place);
		return err;
	}
	sums->places[sums->n_places++] = *ret = place;
	return NULL;
}

static struct vmop_error *find_place(struct vmop_kept_sums *sums,
				     const struct vmop_db_chunk_key *key, struct place **ret)
{
	const struct vmop_db_chunk_key of_place = place_key(sums->walk, key);
	HASH_FIND(hh, sums->by_key, &of_place, sizeof(of_place), *ret);
	return *ret ? NULL : add_place(sums, &of_place, ret);
}

/* Return whether two keys differ in their stacks at most. Their padding is not compared. */
static bool is_same_key(const struct vmop_db_chunk_key *a, const struct vmop_db_chunk_key *b)
{
	return vmop_image_id_equals(a->image, b->image) &&
	       vmop_task_row_id_equals(a->task, b->task) &&
	       vmop_event_id_equals(a->event, b->event) &&
	       vmop_domain_id_equals(a->domain, b->domain) &&
	       vmop_domain_id_equals(a->billed, b->billed) && a->bill == b->bill &&
	       a->mode == b->mode && a->certainty == b->certainty && a->vcpu == b->vcpu &&
	       a->cpu == b->cpu;
}

/* Set sums->last to the place of a piece. */
static struct vmop_error *find_last(struct vmop_kept_sums *sums,
				    const struct vmop_db_chunk_key *key)
{
	if (sums->last && is_same_key(&sums->last_key, key))
		return NULL;
	if (sums->last && !vmop_image_id_equals(sums->last_key.image, key->image))
		vmop_run_memo_clear(&sums->memo);
	sums->last_key = *key;
	return find_place(sums, key, &sums->last);
}

/* Add the cells from cells[0] on that are in one run of the place's table. Set *ret_n to their
 * number. */
static struct vmop_error *add_run(struct vmop_kept_sums *sums, const struct place *place,
				  const struct vmop_db_cell *cells, size_t n, size_t *ret_n)
{
	uint64_t offset = cells[0].offset, samples = 0, weight_events = 0;
	const struct vmop_run *known =
		place->by_offset ? NULL : vmop_run_memo_find(&sums->memo, place->number, offset);
	struct vmop_run run = {.start = offset, .end = offset + 1, .group = place->number};
	if (known) {
		run = *known;
	} else if (!place->by_offset) {
		struct vmop_symtab_run found = {.end = UINT64_MAX};
		if (place->symtab)
			found = vmop_symtab_find_run(place->symtab, offset);
		run.start = found.start;
		run.end = found.end;
	}
	size_t i = 0;
	do {
		samples += cells[i].samples;
		weight_events += cells[i].weight_events;
	} while (++i < n && cells[i].offset - run.start < run.end - run.start);
	*ret_n = i;
	struct vmop_count *count = sums->tally.counts + run.cell;
	if (!known) {
		size_t cell;
		struct vmop_error *err =
			vmop_tally_at(&sums->tally, place->number, run.start, &count, &cell);
		if (err)
			return err;
		run.cell = (uint32_t)cell;
		if (!place->by_offset && cell != VMOP_TALLY_LEFT_OUT)
			vmop_run_memo_put(&sums->memo, offset, &run);
	}
	vmop_count_add(count, samples, weight_events);
	return NULL;
}

static struct vmop_error *add_piece(void *arg, const struct vmop_db_chunk *piece)
{
	struct vmop_kept_sums *sums = arg;
	struct vmop_error *err = find_last(sums, &piece->key);
	for (size_t i = 0, n; !err && i < piece->n_cells; i += n)
		err = add_run(sums, sums->last, piece->cells + i, piece->n_cells - i, &n);
	sums->n_read_cells += piece->n_cells;
	vmop_progress_step(&sums->walk->progress, sums->n_read_cells);
	return err;
}

/* Add the cells of the file to those that were read. */
static struct vmop_error *add_file(struct vmop_kept_sums *sums)
{
	const struct vmop_kept_file *file = &sums->file;
	const struct vmop_db_cell *cells = file->cells;
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < file->n_places && !err; i++) {
		struct place *place;
		err = find_place(sums, &file->places[i].key, &place);
		for (size_t c = 0; c < file->places[i].n_cells && !err; c++, cells++) {
			struct vmop_count *count;
			err = vmop_tally_at(&sums->tally, place->number, cells->offset, &count,
					    NULL);
			if (!err)
				vmop_count_add(count, cells->samples, cells->weight_events);
		}
	}
	return err;
}

/* ---- pass ------------------------------------------------------------------------ */

/* Set *ret to the cells of the tally by place, and *ret_places to the places. */
static struct vmop_error *list_cells(const struct vmop_kept_sums *sums,
				     struct vmop_kept_place **ret_places, struct vmop_db_cell **ret)
{
	const struct vmop_tally *tally = &sums->tally;
	_cleanup_free_ size_t *next = calloc(sums->n_places + 1, sizeof(*next));
	*ret_places = calloc(sums->n_places + 1, sizeof(**ret_places));
	*ret = calloc(tally->n + 1, sizeof(**ret));
	if (!next || !*ret_places || !*ret)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < tally->n; i++)
		(*ret_places)[tally->keys[i].group].n_cells++;
	for (size_t i = 0; i < sums->n_places; i++) {
		memcpy(&(*ret_places)[i].key, &sums->places[i]->key, sizeof(sums->places[i]->key));
		next[i + 1] = next[i] + (*ret_places)[i].n_cells;
	}
	for (size_t i = 0; i < tally->n; i++)
		(*ret)[next[tally->keys[i].group]++] =
			(struct vmop_db_cell){tally->keys[i].value, tally->counts[i].samples,
					      tally->counts[i].weight_events};
	return NULL;
}

static struct vmop_error *pass(struct vmop_query_walk *walk, const struct vmop_db_filter *filter,
			       const struct vmop_kept_place *places, size_t n_places,
			       const struct vmop_db_cell *cells)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < n_places && !err; cells += places[i++].n_cells) {
		const struct vmop_db_chunk piece = {
			.key = places[i].key, .cells = cells, .n_cells = places[i].n_cells};
		if (piece.n_cells && vmop_db_filter_passes(filter, &piece.key))
			err = vmop_query_take_piece(walk, &piece);
	}
	return err;
}

/* ---- keep ------------------------------------------------------------------------ */

/* Sort the cells of each place, so that the next report looks them up in their runs' order. */
static bool sort_cells(const struct vmop_kept_sums *sums, const struct vmop_kept_place *places,
		       struct vmop_db_cell *cells)
{
	_cleanup_free_ struct vmop_db_cell *scratch =
		malloc((sums->tally.n + 1) * sizeof(*scratch));
	for (size_t i = 0; i < sums->n_places && scratch; cells += places[i++].n_cells)
		vmop_db_sort_cells(cells, scratch, places[i].n_cells);
	return scratch != NULL;
}

/* Make the images with their runs and names. */
static bool make_images(const struct vmop_kept_sums *sums, const struct vmop_kept_place *places,
			const struct vmop_db_cell *cells, struct vmop_kept_images *images)
{
	_cleanup_free_ struct vmop_kept_source *sources =
		calloc(sums->n_places + 1, sizeof(*sources));
	for (size_t i = 0; i < sums->n_places && sources; cells += places[i++].n_cells)
		sources[i] = (struct vmop_kept_source){.image = sums->places[i]->key.image,
						       .symtab = sums->places[i]->symtab,
						       .by_offset = sums->places[i]->by_offset,
						       .cells = cells,
						       .n_cells = places[i].n_cells};
	return sources &&
	       vmop_kept_images_make(images, sources, sums->n_places, sums->walk->result->symbols);
}

static bool is_worth_keeping(const struct vmop_kept_sums *sums)
{
	bool has_facts = sums->now.file_len_bytes != 0;
	if (!(sums->now.session[0] | sums->now.session[1]) || sums->tally.left_out ||
	    vmop_symbols_n_left_out(sums->walk->result->symbols))
		return false;
	if (has_facts && !sums->is_settled)
		return false;
	/* From then on, a change of the session shows in its file's times. */
	if (sums->file.n_cells && has_facts && !sums->file.state.file_len_bytes)
		return true;
	return sums->n_read_cells >= VMOP_KEPT_MIN_CELLS &&
	       sums->n_read_cells >= sums->file.n_cells / 4;
}

/* Keep the sums. Failures are ignored, except for the lack of memory in a symbol table. */
static struct vmop_error *keep(struct vmop_kept_sums *sums)
{
	_cleanup_(vmop_kept_images_deinit) struct vmop_kept_images images = {0};
	_cleanup_free_ struct vmop_kept_place *places = NULL;
	_cleanup_free_ struct vmop_db_cell *cells = NULL;
	size_t len_bytes;
	char name[VMOP_KEPT_NAME_BYTES];
	struct vmop_error *err = add_file(sums);
	if (!err && sums->tally.left_out)
		return NULL;
	if (!err)
		err = list_cells(sums, &places, &cells);
	if (err || !sort_cells(sums, places, cells) || !make_images(sums, places, cells, &images))
		return err;
	const struct vmop_kept_file file = {
		.state = sums->now,
		.places = places,
		.images = images.items,
		.runs = images.runs,
		.cells = cells,
		.names = images.names,
		.demangle = sums->walk->query->resolver.demangle,
		.n_places = sums->n_places,
		.n_images = images.n,
		.n_runs = images.n_runs,
		.n_cells = sums->tally.n,
		.names_len_bytes = images.names_len_bytes,
	};
	_cleanup_free_ void *bytes = vmop_kept_file_make(&file, &len_bytes);
	vmop_kept_state_name(&sums->now, name);
	if (bytes)
		vmop_resolver_keep(vmop_symbols_resolver(sums->walk->result->symbols), name, bytes,
				   len_bytes);
	return NULL;
}

/* ---- walk ------------------------------------------------------------------------ */

/* Return whether the walk reads all samples of the session. */
static bool is_whole(const struct vmop_db_filter *filter)
{
	return !filter->n_events && !filter->n_domains && !filter->n_billed && !filter->n_images &&
	       !filter->n_cpus && !filter->n_vcpus;
}

/* Find the file of the session's sums that is still right. */
static struct vmop_error *find_file(struct vmop_kept_sums *sums, struct vmop_db *db,
				    const struct vmop_db_filter *filter)
{
	const struct vmop_query_walk *walk = sums->walk;
	bool is_same;
	if (vmop_kept_state_identify(&walk->result->catalog.sessions[walk->session],
				     vmop_db_snapshot_file(db), &sums->now))
		map_file(sums);
	/* Before the samples are read: each change from now on has another time. */
	sums->is_settled = vmop_kept_state_is_settled(&sums->now, vmop_clock_ns(CLOCK_REALTIME));
	struct vmop_error *err =
		vmop_kept_state_read_span(db, &sums->file.state, &sums->now, &is_same);
	if (err)
		return err;
	if (!is_same)
		forget_file(sums);
	return compare_tables(sums, filter);
}

static struct vmop_error *walk_newer(struct vmop_kept_sums *sums, struct vmop_db *db,
				     const struct vmop_db_filter *filter, bool *ret_done)
{
	_cleanup_free_ struct vmop_kept_place *places = NULL;
	_cleanup_free_ struct vmop_db_cell *cells = NULL;
	const struct vmop_kept_file *file = &sums->file;
	struct vmop_db_filter newer = *filter;
	newer.after_interval = file->n_cells ? file->state.last : 0;
	struct vmop_error *err = vmop_db_each_piece(db, &newer, add_piece, sums);
	*ret_done = !err && !sums->tally.left_out;
	if (!*ret_done)
		return err;
	err = list_cells(sums, &places, &cells);
	if (!err)
		err = vmop_tally_reserve(&sums->walk->result->cells, file->n_cells + sums->tally.n);
	if (!err)
		err = pass(sums->walk, filter, file->places, file->n_places, file->cells);
	if (!err)
		err = pass(sums->walk, filter, places, sums->n_places, cells);
	return !err && is_whole(filter) && is_worth_keeping(sums) ? keep(sums) : err;
}

struct vmop_error *vmop_kept_sums_walk(struct vmop_query_walk *walk, struct vmop_db *db,
				       const struct vmop_db_filter *filter, bool *ret_done)
{
	struct vmop_kept_sums *sums = calloc(1, sizeof(*sums));
	*ret_done = false;
	if (!sums)
		return &vmop_error_no_memory;
	sums->walk = walk;
	sums->next = walk->result->kept;
	walk->result->kept = sums;
	vmop_tally_init(&sums->tally, 1);
	struct vmop_error *err = find_file(sums, db, filter);
	if (!err && (sums->file.n_cells || is_whole(filter)))
		err = walk_newer(sums, db, filter, ret_done);
	free_sums(sums);
	return err;
}
