// SPDX-License-Identifier: GPL-2.0-or-later
/* If memory runs out, HASH_ADD leaves the element's tbl NULL instead of ending the program. */
#define HASH_NONFATAL_OOM 1
#include "opreport/query/kept-sums.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <uthash.h>
#include <xxhash.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "opreport/query/kept-file.h"
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
	struct vmop_symtab_known *known; /* its runs */

	struct vmop_query_walk *walk;
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

/* ---- what the sums are of -------------------------------------------------------- */

/* A file that was changed lately could be changed again without another time. */
#define SETTLED_S 3

/* Set state->session, and the file's facts if the session has ended. Return false: not known. */
static bool identify(const struct vmop_query_walk *walk, const struct vmop_db *db,
		     struct vmop_kept_state *state)
{
	const struct vmop_session_facts *facts = &walk->result->catalog.sessions[walk->session];
	const struct stat *file = vmop_db_snapshot_file(db);
	if (!file || !facts->start_ns)
		return false;
	const uint64_t numbers[] = {file->st_dev, file->st_ino, facts->start_ns};
	XXH128_hash_t hash = XXH3_128bits(numbers, sizeof(numbers));
	const char *const texts[] = {facts->hostname, facts->kernel, facts->machine, facts->vmop};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		hash = XXH3_128bits_withSeed(texts[i], strlen(texts[i]), hash.low64 ^ hash.high64);
	state->session[0] = hash.low64;
	state->session[1] = hash.high64;
	if (!facts->is_finished)
		return true;
	state->file_len_bytes = (uint64_t)file->st_size;
	state->mtime_ns =
		(uint64_t)file->st_mtim.tv_sec * VMOP_NS_PER_S + (uint64_t)file->st_mtim.tv_nsec;
	state->ctime_ns =
		(uint64_t)file->st_ctim.tv_sec * VMOP_NS_PER_S + (uint64_t)file->st_ctim.tv_nsec;
	return true;
}

static bool is_settled(const struct vmop_kept_state *state)
{
	uint64_t last_ns = state->mtime_ns > state->ctime_ns ? state->mtime_ns : state->ctime_ns;
	return last_ns + SETTLED_S * VMOP_NS_PER_S < (uint64_t)time(NULL) * VMOP_NS_PER_S;
}

static void name_file(const struct vmop_kept_state *state, char ret[40])
{
	snprintf(ret, 40, "sums-%016" PRIx64 "%016" PRIx64, state->session[0], state->session[1]);
}

struct spans {
	struct vmop_kept_state all, kept; /* kept: within [first, last] */
	uint32_t first, last;
	bool is_good;
};

static void widen(struct vmop_kept_state *span, const struct vmop_db_interval *interval)
{
	uint64_t end_ns = interval->start_ns + interval->len_ns;
	bool is_first = !span->last;
	if (is_first || interval->id < span->first)
		span->first = interval->id;
	if (interval->id > span->last)
		span->last = interval->id;
	if (is_first || interval->start_ns < span->start_ns)
		span->start_ns = interval->start_ns;
	if (end_ns > span->end_ns)
		span->end_ns = end_ns;
}

static struct vmop_error *add_interval(void *arg, const struct vmop_db_interval *interval)
{
	struct spans *spans = arg;
	/* A greater id is a summary's. */
	spans->is_good &= interval->id > 0 && interval->id <= INT32_MAX;
	widen(&spans->all, interval);
	if (interval->id <= spans->last)
		widen(&spans->kept, interval);
	return NULL;
}

/* Set the span of sums->now, and forget the file unless its span is still one of intervals. */
static struct vmop_error *compare_spans(struct vmop_kept_sums *sums, struct vmop_db *db)
{
	const struct vmop_kept_state *kept = &sums->file.state;
	struct spans spans = {.last = sums->mapped ? kept->last : 0, .is_good = true};
	struct vmop_error *err = vmop_db_each_interval(db, add_interval, &spans);
	if (err)
		return err;
	sums->now.first = spans.all.first;
	sums->now.last = spans.all.last;
	sums->now.start_ns = spans.all.start_ns;
	sums->now.end_ns = spans.all.end_ns;
	if (!spans.is_good || !spans.all.last)
		sums->now.session[0] = sums->now.session[1] = 0;
	if (!spans.is_good || spans.kept.first != kept->first ||
	    spans.kept.start_ns != kept->start_ns || spans.kept.end_ns != kept->end_ns)
		forget_file(sums);
	return NULL;
}

static bool is_same_file(const struct vmop_kept_state *kept, const struct vmop_kept_state *now)
{
	if (memcmp(kept->session, now->session, sizeof(kept->session)) != 0)
		return false;
	return !kept->file_len_bytes ||
	       (kept->file_len_bytes == now->file_len_bytes && kept->mtime_ns == now->mtime_ns &&
		kept->ctime_ns == now->ctime_ns);
}

/* Map the kept file, if there is one of this session. */
static void map_file(struct vmop_kept_sums *sums)
{
	char name[40];
	name_file(&sums->now, name);
	sums->mapped =
		(void *)vmop_resolver_map(vmop_symbols_resolver(sums->walk->result->symbols), name,
					  VMOP_KEPT_FILE_MAX_BYTES, &sums->mapped_len_bytes);
	if (sums->mapped &&
	    (!vmop_kept_file_parse(sums->mapped, sums->mapped_len_bytes, &sums->file) ||
	     !is_same_file(&sums->file.state, &sums->now)))
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
		sums->file = (struct vmop_kept_file){.state = sums->file.state};
	return NULL;
}

/* ---- add up ---------------------------------------------------------------------- */

/* Return the key of a place: all tasks but a host's idle one are one. */
static struct vmop_db_chunk_key place_key(const struct vmop_query_walk *walk,
					  const struct vmop_db_chunk_key *key)
{
	const struct vmop_catalog *catalog = &walk->result->catalog;
	size_t task = vmop_catalog_find_task(catalog, walk->session, key->task);
	struct vmop_db_chunk_key place;
	memset(&place, 0, sizeof(place)); /* its padding, too */
	place.event = key->event;
	place.domain = key->domain;
	place.billed = key->billed;
	place.bill = key->bill;
	place.mode = key->mode;
	place.certainty = key->certainty;
	place.vcpu = key->vcpu;
	place.cpu = key->cpu;
	if (vmop_catalog_task(catalog, task)->is_idle)
		place.task = key->task;
	place.image = key->image;
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

/* Set sums->last to the place of a piece. */
static struct vmop_error *find_last(struct vmop_kept_sums *sums,
				    const struct vmop_db_chunk_key *key)
{
	if (sums->last && !memcmp(&sums->last_key, key, offsetof(struct vmop_db_chunk_key, stack)))
		return NULL;
	if (sums->last && !vmop_image_id_equals(sums->last_key.image, key->image))
		vmop_run_memo_clear(&sums->memo);
	memcpy(&sums->last_key, key, sizeof(*key)); /* with its padding */
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

/* The parts of a file that are made from the sums. */
struct making {
	struct vmop_kept_image *images;
	struct vmop_kept_run *runs;
	char *names;
	size_t n_images, images_capacity, n_runs, runs_capacity, len_bytes, names_capacity;
};

static void making_deinit(struct making *making)
{
	free(making->images);
	free(making->runs);
	free(making->names);
}

static int compare_runs(const void *a, const void *b)
{
	const struct vmop_kept_run *x = a, *y = b;
	return (x->start > y->start) - (x->start < y->start);
}

static bool add_name(struct making *making, const char *name, uint32_t *ret)
{
	size_t bytes = strlen(name) + 1;
	if (making->len_bytes + bytes > VMOP_KEPT_FILE_MAX_BYTES ||
	    !vmop_array_reserve(making->names, making->names_capacity, making->len_bytes + bytes))
		return false;
	*ret = (uint32_t)making->len_bytes;
	memcpy(making->names + making->len_bytes, name, bytes);
	making->len_bytes += bytes;
	return true;
}

/* Add the runs of a place's cells. */
static bool add_runs(struct making *making, const struct place *place,
		     const struct vmop_db_cell *cells, size_t n)
{
	if (!vmop_array_reserve(making->runs, making->runs_capacity, making->n_runs + n))
		return false;
	for (size_t i = 0; i < n; i++) {
		struct vmop_symtab_run run = vmop_symtab_find_run(place->symtab, cells[i].offset);
		struct vmop_kept_run *kept = &making->runs[making->n_runs++];
		*kept = (struct vmop_kept_run){
			.start = run.start, .end = run.end, .index = VMOP_SYMTAB_NO_INDEX};
		if (!run.symbol)
			continue;
		kept->offset = run.symbol->offset;
		kept->len_bytes = run.symbol->len_bytes;
		kept->index = vmop_symtab_index_of(place->symtab, run.symbol);
		kept->type = (unsigned char)run.symbol->type;
		if (!add_name(making, run.symbol->name, &kept->name))
			return false;
	}
	return true;
}

/* A run by its symbol's index, to find the first run of each symbol. */
struct run_of {
	uint32_t index, run;
};

static int compare_indexes(const void *a, const void *b)
{
	const struct run_of *x = a, *y = b;
	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	return (x->run > y->run) - (x->run < y->run);
}

/* Set `first` of the n runs of an image. Return false without memory. */
static bool find_firsts(struct vmop_kept_run *runs, size_t n)
{
	_cleanup_free_ struct run_of *by_index = malloc((n + 1) * sizeof(*by_index));
	if (!by_index)
		return false;
	for (size_t i = 0; i < n; i++)
		by_index[i] = (struct run_of){runs[i].index, (uint32_t)i};
	qsort(by_index, n, sizeof(*by_index), compare_indexes);
	for (size_t i = 0; i < n; i++) {
		bool is_further = i && by_index[i - 1].index == by_index[i].index;
		runs[by_index[i].run].first =
			is_further ? runs[by_index[i - 1].run].first : by_index[i].run;
	}
	return true;
}

/* Sort the runs from `first` on, and drop those that several places have. */
static void sort_runs(struct making *making, size_t first)
{
	struct vmop_kept_run *runs = making->runs + first;
	size_t n = making->n_runs - first, kept = 0;
	qsort(runs, n, sizeof(*runs), compare_runs);
	for (size_t i = 0; i < n; i++)
		if (!kept || runs[kept - 1].start != runs[i].start)
			runs[kept++] = runs[i];
	making->n_runs = first + kept;
}

/* Add the image of places[first] with the runs of all its places. */
static bool add_image(struct making *making, const struct vmop_kept_sums *sums, size_t first,
		      const struct vmop_db_cell *const *cells, const struct vmop_kept_place *places)
{
	const struct place *of = sums->places[first];
	struct vmop_image_id id = of->key.image;
	size_t first_run = making->n_runs;
	if (!vmop_array_reserve(making->images, making->images_capacity, making->n_images + 1))
		return false;
	for (size_t i = first; i < sums->n_places && of->symtab; i++)
		if (vmop_image_id_equals(sums->places[i]->key.image, id) &&
		    !add_runs(making, sums->places[i], cells[i], places[i].n_cells))
			return false;
	sort_runs(making, first_run);
	if (!find_firsts(making->runs + first_run, making->n_runs - first_run))
		return false;
	making->images[making->n_images++] = (struct vmop_kept_image){
		.image = id,
		.n_runs = (uint32_t)(making->n_runs - first_run),
		.identity = of->symtab ? vmop_symtab_identity(of->symtab) : VMOP_KEPT_NO_SYMBOLS,
	};
	return true;
}

static bool has_image(const struct making *making, struct vmop_image_id id)
{
	for (size_t i = 0; i < making->n_images; i++)
		if (vmop_image_id_equals(making->images[i].image, id))
			return true;
	return false;
}

/* Make the images with their runs and names. */
static bool make_images(struct making *making, const struct vmop_kept_sums *sums,
			const struct vmop_kept_place *places, const struct vmop_db_cell *cells)
{
	_cleanup_free_ const struct vmop_db_cell **of_place =
		calloc(sums->n_places + 1, sizeof(*of_place));
	if (!of_place)
		return false;
	for (size_t i = 0; i < sums->n_places; cells += places[i++].n_cells)
		of_place[i] = cells;
	for (size_t i = 0; i < sums->n_places; i++)
		if (!sums->places[i]->by_offset && !has_image(making, sums->places[i]->key.image) &&
		    !add_image(making, sums, i, of_place, places))
			return false;
	return true;
}

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

static bool is_worth_keeping(const struct vmop_kept_sums *sums)
{
	bool has_ended = sums->now.file_len_bytes != 0;
	if (!(sums->now.session[0] | sums->now.session[1]) || sums->tally.left_out ||
	    vmop_symbols_n_left_out(sums->walk->result->symbols))
		return false;
	if (has_ended && !is_settled(&sums->now))
		return false;
	/* From then on, a change of the session shows in its file's times. */
	if (sums->file.n_cells && has_ended && !sums->file.state.file_len_bytes)
		return true;
	return sums->n_read_cells >= VMOP_KEPT_MIN_CELLS &&
	       sums->n_read_cells >= sums->file.n_cells / 4;
}

/* Keep the sums. Failures are ignored, except for the lack of memory in a symbol table. */
static struct vmop_error *keep(struct vmop_kept_sums *sums)
{
	_cleanup_(making_deinit) struct making making = {0};
	_cleanup_free_ struct vmop_kept_place *places = NULL;
	_cleanup_free_ struct vmop_db_cell *cells = NULL;
	size_t len_bytes;
	char name[40];
	struct vmop_error *err = add_file(sums);
	if (!err && sums->tally.left_out)
		return NULL;
	if (!err)
		err = list_cells(sums, &places, &cells);
	if (err || !sort_cells(sums, places, cells) || !make_images(&making, sums, places, cells))
		return err;
	const struct vmop_kept_file file = {
		.state = sums->now,
		.places = places,
		.images = making.images,
		.runs = making.runs,
		.cells = cells,
		.names = making.names,
		.n_places = sums->n_places,
		.n_images = making.n_images,
		.n_runs = making.n_runs,
		.n_cells = sums->tally.n,
		.names_len_bytes = making.len_bytes,
	};
	_cleanup_free_ void *bytes = vmop_kept_file_make(&file, &len_bytes);
	name_file(&sums->now, name);
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
	if (identify(sums->walk, db, &sums->now))
		map_file(sums);
	struct vmop_error *err = compare_spans(sums, db);
	return err ? err : compare_tables(sums, filter);
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
