// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/inline-map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* If memory runs out, HASH_ADD leaves the element's tbl NULL instead of ending the program. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/log.h"
#include "libutil/progress.h"
#include "opreport/query/idle.h"

struct vmop_inlined_entry {
	struct vmop_inlined inlined;
	UT_hash_handle hh; /* by mangled_name */
};

/* The DWARF of an image. */
struct opened {
	bool is_known;
	struct vmop_inline_index *index; /* NULL: none */
	const char *why;
	uint64_t samples; /* of its frames: one with several in a stack counts several times */
};

struct ranked {
	uint64_t samples;
	uint32_t frame;
};

struct mapping {
	struct vmop_inline_map *map;
	const struct vmop_call_tree *tree;
	struct vmop_inlines *inlines;
	struct opened *images; /* by catalog index */
	bool *are_unseen;      /* by frame */
};

/* ---- names ------------------------------------------------------------------ */

static struct vmop_error *make_entry(struct mapping *mapping, const char *mangled_name,
				     struct vmop_inlined_entry **ret)
{
	struct vmop_result *result = mapping->tree->result;
	struct vmop_arena *arena = &result->catalog.arena;
	struct vmop_inlined_entry *entry = calloc(1, sizeof(*entry));
	if (!entry)
		return &vmop_error_no_memory;
	struct vmop_inlined *inlined = &entry->inlined;
	inlined->symbol.type = VMOP_SYMBOL_INLINED;
	inlined->mangled_name = vmop_arena_text(arena, mangled_name);
	if (inlined->mangled_name) {
		inlined->symbol.name = inlined->mangled_name;
		inlined->name = vmop_result_name_of(result, &inlined->symbol);
		inlined->symbol.name = vmop_arena_format(arena, "%s (inlined)", inlined->name);
	}
	if (inlined->mangled_name && inlined->symbol.name)
		HASH_ADD_KEYPTR(hh, mapping->map->entries, inlined->mangled_name,
				strlen(inlined->mangled_name), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return &vmop_error_no_memory;
	}
	*ret = entry;
	return NULL;
}

static struct vmop_error *append(struct mapping *mapping, const char *mangled_name)
{
	struct vmop_inline_map *map = mapping->map;
	struct vmop_inlined_entry *entry;
	struct vmop_error *err = NULL;
	if (map->n_functions >= UINT32_MAX ||
	    !vmop_array_reserve(map->functions, map->capacity, map->n_functions + 1))
		return &vmop_error_no_memory;
	HASH_FIND_STR(map->entries, mangled_name, entry);
	if (!entry)
		err = make_entry(mapping, mangled_name, &entry);
	if (!err)
		map->functions[map->n_functions++] = &entry->inlined;
	return err;
}

const struct vmop_inlined *vmop_inlined_of_frame(const struct vmop_frame *frame)
{
	bool is_inlined = vmop_frame_is_code(frame) && frame->key.value == VMOP_FRAME_IS_INLINED;
	return is_inlined ? (const struct vmop_inlined *)frame->key.symbol : NULL;
}

/* ---- look-ups --------------------------------------------------------------- */

/* Return the catalog index of the file with the frame's code; 0: it is in none. */
static size_t file_of(const struct vmop_call_tree *tree, const struct vmop_frame *frame)
{
	const struct vmop_catalog *catalog = &tree->result->catalog;
	if (!vmop_frame_is_code(frame) || frame->key.symbol == &vmop_idle_symbol)
		return 0;
	const struct vmop_image_item *image = vmop_catalog_image(catalog, frame->text_image);
	return image->kind == VMOP_IMAGE_FILE ? image->row : 0;
}

static struct vmop_error *open_image(struct mapping *mapping, size_t image)
{
	struct opened *opened = &mapping->images[image];
	if (opened->is_known)
		return NULL;
	opened->is_known = true;
	return vmop_symbols_open_inlines(mapping->tree->result->symbols, image, mapping->inlines,
					 &opened->index, &opened->why);
}

static struct vmop_error *look_up(struct mapping *mapping, uint32_t number)
{
	const struct vmop_frame *frame = &mapping->tree->frames.items[number];
	struct vmop_inline_map *map = mapping->map;
	size_t image = file_of(mapping->tree, frame), n;
	const char *names[VMOP_INLINES_MAX];
	map->chains[number].first = (uint32_t)map->n_functions;
	struct vmop_error *err = open_image(mapping, image);
	const struct opened *opened = &mapping->images[image];
	if (err || (!opened->index && !vmop_inlines_are_over(mapping->inlines)))
		return err;
	if (!opened->index ||
	    !vmop_inlines_find(mapping->inlines, opened->index, frame->key.offset, names, &n)) {
		mapping->are_unseen[number] = true;
		map->n_unseen++;
		return NULL;
	}
	for (size_t i = 0; i < n && !err; i++)
		if (*names[i])
			err = append(mapping, names[i]);
	map->chains[number].n = (uint32_t)map->n_functions - map->chains[number].first;
	return err;
}

static uint64_t samples_of(const struct vmop_call_tree *tree, const struct vmop_count *counts)
{
	uint64_t sum = 0;
	for (size_t e = 0; e < tree->n_events; e++)
		sum += counts[e].samples;
	return sum;
}

static int compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

/* Set ranked to the frames in files, and map->n_addresses to their number. */
static void rank(struct mapping *mapping, struct ranked *ranked)
{
	const struct vmop_call_tree *tree = mapping->tree;
	size_t n = 0;
	for (size_t i = 0; i < tree->frames.n; i++)
		ranked[i] = (struct ranked){.frame = (uint32_t)i};
	for (uint32_t node = 1; node < tree->n_nodes; node++)
		ranked[tree->nodes[node].frame].samples +=
			samples_of(tree, vmop_call_tree_total(tree, node));
	for (size_t i = 0; i < tree->frames.n; i++) {
		size_t image = file_of(tree, &tree->frames.items[i]);
		if (!image)
			continue;
		mapping->images[image].samples += ranked[i].samples;
		ranked[n++] = ranked[i];
	}
	mapping->map->n_addresses = n;
	qsort(ranked, n, sizeof(*ranked), compare);
}

/* Count the samples with an unseen address in their stacks. */
static struct vmop_error *count_unseen(const struct mapping *mapping)
{
	const struct vmop_call_tree *tree = mapping->tree;
	_cleanup_free_ bool *is_below = calloc(tree->n_nodes, sizeof(*is_below));
	if (!is_below)
		return &vmop_error_no_memory;
	for (uint32_t node = 1; node < tree->n_nodes; node++) {
		const struct vmop_call_node *item = &tree->nodes[node];
		uint64_t samples = samples_of(tree, vmop_call_tree_self(tree, node));
		is_below[node] = is_below[item->parent] || mapping->are_unseen[item->frame];
		mapping->map->samples += samples;
		if (is_below[node])
			mapping->map->unseen_samples += samples;
	}
	return NULL;
}

static void count_images(const struct mapping *mapping)
{
	struct vmop_inline_map *map = mapping->map;
	for (size_t i = 0; i < mapping->tree->result->catalog.images.n; i++) {
		const struct opened *opened = &mapping->images[i];
		if (!opened->is_known)
			continue;
		map->n_images++;
		if (opened->index)
			continue;
		map->n_images_without++;
		if (opened->samples < map->top_samples)
			continue;
		map->top_samples = opened->samples;
		map->top_image = i;
		map->top_why = opened->why;
	}
}

static struct vmop_error *make_map(struct mapping *mapping)
{
	const struct vmop_call_tree *tree = mapping->tree;
	_cleanup_free_ struct ranked *ranked = calloc(tree->frames.n + 1, sizeof(*ranked));
	struct vmop_progress progress;
	struct vmop_error *err = NULL;
	if (!ranked)
		return &vmop_error_no_memory;
	rank(mapping, ranked);
	vmop_progress_begin(&progress, "looking for inlined functions", mapping->map->n_addresses);
	for (size_t i = 0; i < mapping->map->n_addresses && !err; i++) {
		err = look_up(mapping, ranked[i].frame);
		vmop_progress_step(&progress, i + 1);
	}
	vmop_progress_end(&progress);
	if (!err)
		err = count_unseen(mapping);
	count_images(mapping);
	return err;
}

struct vmop_error *vmop_inline_map_init(struct vmop_inline_map *ret,
					const struct vmop_call_tree *tree, uint64_t max_cpu_ns)
{
	struct mapping mapping = {.map = ret, .tree = tree};
	size_t n_images = tree->result->catalog.images.n, n_frames = tree->frames.n;
	*ret = (struct vmop_inline_map){0};
	_cleanup_free_ struct opened *images = calloc(n_images, sizeof(*images));
	_cleanup_free_ bool *are_unseen = calloc(n_frames, sizeof(*are_unseen));
	ret->chains = calloc(n_frames, sizeof(*ret->chains));
	if (!images || !are_unseen || !ret->chains)
		return &vmop_error_no_memory;
	mapping.images = images;
	mapping.are_unseen = are_unseen;
	struct vmop_error *err =
		vmop_symbols_find_inlines(tree->result->symbols, max_cpu_ns, &mapping.inlines);
	if (!err)
		err = make_map(&mapping);
	vmop_inlines_destroy(mapping.inlines);
	return err;
}

void vmop_inline_map_deinit(struct vmop_inline_map *map)
{
	struct vmop_inlined_entry *entry, *next;
	HASH_ITER (hh, map->entries, entry, next) {
		HASH_DEL(map->entries, entry);
		free(entry);
	}
	free(map->chains);
	free(map->functions);
	*map = (struct vmop_inline_map){0};
}

void vmop_inline_map_log(const struct vmop_inline_map *map, const struct vmop_result *result)
{
	if (map->n_unseen)
		vmop_log_notice("inlined functions: not looked up for %zu of %zu addresses, in the "
				"stacks of %.1f %% of the samples; --inlines=SECONDS allows more",
				map->n_unseen, map->n_addresses,
				100.0 * (double)map->unseen_samples /
					(double)(map->samples ? map->samples : 1));
	else if (map->n_images_without)
		vmop_log_notice("inlined functions: not known in %zu of %zu files, most samples in "
				"%s: %s",
				map->n_images_without, map->n_images,
				vmop_catalog_image(&result->catalog, map->top_image)->name,
				map->top_why);
}
