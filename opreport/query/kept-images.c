// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/kept-images.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"

static int compare_runs(const void *a, const void *b)
{
	const struct vmop_kept_run *x = a, *y = b;
	return (x->start > y->start) - (x->start < y->start);
}

static bool add_name(struct vmop_kept_images *images, const char *name, uint32_t *ret)
{
	size_t bytes = strlen(name) + 1;
	if (images->names_len_bytes + bytes > VMOP_KEPT_FILE_MAX_BYTES ||
	    !vmop_array_reserve(images->names, images->names_capacity,
				images->names_len_bytes + bytes))
		return false;
	*ret = (uint32_t)images->names_len_bytes;
	memcpy(images->names + images->names_len_bytes, name, bytes);
	images->names_len_bytes += bytes;
	return true;
}

/* Add the name of a run's symbol, and the shown one. */
static bool add_names(struct vmop_kept_images *images, const struct vmop_symbol *symbol,
		      struct vmop_symbols *symbols, struct vmop_kept_run *run)
{
	const char *shown = vmop_symbols_name(symbols, symbol);
	if (!add_name(images, symbol->name, &run->name))
		return false;
	run->shown = run->name;
	return !strcmp(shown, symbol->name) || add_name(images, shown, &run->shown);
}

/* Add the runs of a source's cells. */
static bool add_runs(struct vmop_kept_images *images, const struct vmop_kept_source *source,
		     struct vmop_symbols *symbols)
{
	if (!vmop_array_reserve(images->runs, images->runs_capacity,
				images->n_runs + source->n_cells))
		return false;
	for (size_t i = 0; i < source->n_cells; i++) {
		struct vmop_symtab_run run =
			vmop_symtab_find_run(source->symtab, source->cells[i].offset);
		struct vmop_kept_run *kept = &images->runs[images->n_runs++];
		*kept = (struct vmop_kept_run){
			.start = run.start, .end = run.end, .index = VMOP_SYMTAB_NO_INDEX};
		if (!run.symbol)
			continue;
		kept->offset = run.symbol->offset;
		kept->len_bytes = run.symbol->len_bytes;
		kept->index = vmop_symtab_index_of(source->symtab, run.symbol);
		kept->type = (unsigned char)run.symbol->type;
		if (!add_names(images, run.symbol, symbols, kept))
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

/* Sort the runs from `first` on, and drop those that several sources have. */
static void sort_runs(struct vmop_kept_images *images, size_t first)
{
	struct vmop_kept_run *runs = images->runs + first;
	size_t n = images->n_runs - first, kept = 0;
	if (n) /* of none, runs can be NULL */
		qsort(runs, n, sizeof(*runs), compare_runs);
	for (size_t i = 0; i < n; i++)
		if (!kept || runs[kept - 1].start != runs[i].start)
			runs[kept++] = runs[i];
	images->n_runs = first + kept;
}

/* Add the image of the n sources, which all have it. */
static bool add_image(struct vmop_kept_images *images, const struct vmop_kept_source *sources,
		      size_t n, struct vmop_symbols *symbols)
{
	const struct vmop_symtab *symtab = sources[0].symtab;
	size_t first_run = images->n_runs;
	if (!vmop_array_reserve(images->items, images->capacity, images->n + 1))
		return false;
	for (size_t i = 0; i < n && symtab; i++)
		if (!add_runs(images, &sources[i], symbols))
			return false;
	sort_runs(images, first_run);
	if (!find_firsts(images->runs + first_run, images->n_runs - first_run))
		return false;
	images->items[images->n++] = (struct vmop_kept_image){
		.image = sources[0].image,
		.n_runs = (uint32_t)(images->n_runs - first_run),
		.identity = symtab ? vmop_symtab_identity(symtab) : VMOP_KEPT_NO_SYMBOLS,
	};
	return true;
}

static int compare_sources(const void *a, const void *b)
{
	const struct vmop_kept_source *x = a, *y = b;
	return (x->image.number > y->image.number) - (x->image.number < y->image.number);
}

bool vmop_kept_images_make(struct vmop_kept_images *images, struct vmop_kept_source *sources,
			   size_t n, struct vmop_symbols *symbols)
{
	qsort(sources, n, sizeof(*sources), compare_sources);
	for (size_t i = 0, end; i < n; i = end) {
		end = i + 1;
		while (end < n && vmop_image_id_equals(sources[end].image, sources[i].image))
			end++;
		if (!sources[i].by_offset && !add_image(images, sources + i, end - i, symbols))
			return false;
	}
	return true;
}

void vmop_kept_images_deinit(struct vmop_kept_images *images)
{
	free(images->items);
	free(images->runs);
	free(images->names);
}
