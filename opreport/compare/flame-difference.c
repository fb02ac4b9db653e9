// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/flame-difference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "opreport/compare/figure.h"
#include "opreport/compare/routine.h"

/* ---- names ------------------------------------------------------------------------ */

/* The name of a frame, before equal names get one number. */
struct named {
	const char *image, *name;
	size_t side;
	size_t frame;
};

static int compare_named(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = strcmp(x->image, y->image);
	return order ? order : strcmp(x->name, y->name);
}

/* Name a frame: code by its image and function, words and groups by their text. */
static struct vmop_error *name_frame(struct vmop_flame_difference *difference,
				     struct vmop_call_tree *tree, size_t frame, struct named *ret)
{
	struct vmop_frame *of = &tree->frames.items[frame];
	bool is_code = vmop_frame_is_code(of);
	ret->image = is_code ? vmop_routine_image(vmop_frame_image(tree->result, of)) : "";
	ret->name = is_code ? vmop_routine_function(&difference->arena,
						    vmop_frame_symbol_name(tree->result, of))
			    : vmop_frame_name(tree->result, of);
	return ret->name ? NULL : &vmop_error_no_memory;
}

/* Set ids[side][frame]: equal names of both trees have one number. */
static struct vmop_error *number_frames(struct vmop_flame_difference *difference,
					struct vmop_call_tree *trees[2], uint32_t *ids[2])
{
	size_t n = 0, n_all = trees[0]->frames.n + trees[1]->frames.n;
	_cleanup_free_ struct named *named = calloc(n_all + 1, sizeof(*named));
	if (!named)
		return &vmop_error_no_memory;
	for (size_t side = 0; side < 2; side++) {
		ids[side] = calloc(trees[side]->frames.n + 1, sizeof(**ids));
		if (!ids[side])
			return &vmop_error_no_memory;
		for (size_t frame = 0; frame < trees[side]->frames.n; frame++) {
			named[n] = (struct named){.side = side, .frame = frame};
			struct vmop_error *err =
				name_frame(difference, trees[side], frame, &named[n++]);
			if (err)
				return err;
		}
	}
	qsort(named, n, sizeof(*named), compare_named);
	uint32_t id = 0;
	for (size_t i = 0; i < n; i++) {
		id += i && compare_named(&named[i - 1], &named[i]) != 0;
		ids[named[i].side][named[i].frame] = id;
	}
	return NULL;
}

/* ---- paths ------------------------------------------------------------------------ */

/* The group of the root's path, whose number is 0: no path has this number. */
#define ABOVE_ROOT (UINT32_MAX - 1)

/* Add the nodes of a side's tree to the paths, and set path_of[node]. */
static struct vmop_error *add_tree(struct vmop_flame_difference *difference, size_t side,
				   const struct vmop_call_tree *tree, const uint32_t *ids,
				   size_t *path_of)
{
	size_t slot = difference->comparison->events[difference->event].slots[side];
	for (uint32_t node = 0; node < tree->n_nodes; node++) {
		struct vmop_count total = vmop_call_tree_total(tree, node)[slot], *counts;
		size_t above = node ? path_of[tree->nodes[node].parent] : ABOVE_ROOT;
		bool has_room = above < VMOP_NO_GROUP;
		struct vmop_error *err = vmop_tally_at(
			&difference->paths, has_room ? (uint32_t)above : VMOP_NO_GROUP,
			node ? ids[tree->nodes[node].frame] : 0, &counts, &path_of[node]);
		if (err)
			return err;
		vmop_count_add(&counts[side], total.samples, total.weight_events);
	}
	return NULL;
}

static uint64_t samples_at(const struct vmop_flame_difference *difference, size_t path, size_t side)
{
	return path == VMOP_TALLY_LEFT_OUT
		       ? 0
		       : vmop_tally_counts(&difference->paths, path)[side].samples;
}

/* Sum the first tree's nodes that are the beginning of a stack that the second one lacks. */
static void sum_gone(struct vmop_flame_difference *difference, const struct vmop_call_tree *tree,
		     const size_t *path_of)
{
	size_t slot = difference->comparison->events[difference->event].slots[0];
	for (uint32_t node = 1; node < tree->n_nodes; node++) {
		bool has = samples_at(difference, path_of[node], 1);
		bool has_above = samples_at(difference, path_of[tree->nodes[node].parent], 1);
		struct vmop_count total = vmop_call_tree_total(tree, node)[slot];
		if (!has && has_above)
			vmop_count_add(&difference->gone, total.samples, total.weight_events);
	}
}

/* ---- tints ------------------------------------------------------------------------ */

struct vmop_difference vmop_flame_difference_of(const struct vmop_flame_difference *difference,
						uint32_t node)
{
	size_t path = difference->path_of[node];
	if (path == VMOP_TALLY_LEFT_OUT)
		return (struct vmop_difference){.change = VMOP_CHANGE_NOISE};
	return vmop_difference_of(difference->comparison,
				  vmop_tally_counts(&difference->paths, path), difference->event,
				  1);
}

/* Return 1 to 4: less than a quarter, a half, twice, or more. */
static size_t strength_of(double ratio)
{
	double factor = ratio < 1 ? 1 / ratio : ratio; /* can be infinite */
	return factor < 1.25 ? 1 : factor < 1.5 ? 2 : factor < 2 ? 3 : 4;
}

static struct vmop_flame_tint tint(void *arg, uint32_t node, char *ret_line, size_t line_bytes)
{
	static const char *const more[] = {"z", "m1", "m2", "m3", "m4"};
	static const char *const less[] = {"z", "l1", "l2", "l3", "l4"};
	const struct vmop_flame_difference *difference = arg;
	struct vmop_difference of = vmop_flame_difference_of(difference, node);
	char change[VMOP_FIGURE_BYTES], ratio[VMOP_FIGURE_BYTES];
	bool is_percent = difference->comparison->per.kind == VMOP_PER_SAMPLES;
	vmop_figure_interval(of.difference, is_percent, true, change);
	vmop_figure_interval(of.ratio, false, false, ratio);
	snprintf(ret_line, line_bytes, "%s: B - A %s%s, B / A %s (99 %%)",
		 vmop_change_word(of.change), change, is_percent ? " %" : "", ratio);
	switch (of.change) {
	case VMOP_CHANGE_MORE:
	case VMOP_CHANGE_NEW:
		return (struct vmop_flame_tint){more[strength_of(of.ratio.value)], "+ "};
	case VMOP_CHANGE_LESS:
	case VMOP_CHANGE_GONE:
		return (struct vmop_flame_tint){less[strength_of(of.ratio.value)], "- "};
	default:
		return (struct vmop_flame_tint){"z", ""};
	}
}

static const struct vmop_flame_legend legend[] = {
	{"m1", "+ more in B"},	{"m2", "by 1.25"}, {"m3", "by 1.5"}, {"m4", "by 2, or new"},
	{"l1", "- less in B"},	{"l2", "by 1.25"}, {"l3", "by 1.5"}, {"l4", "by 2"},
	{"z", "no difference"}, {NULL, NULL},
};

/* ---- both ------------------------------------------------------------------------- */

static struct vmop_error *join(struct vmop_flame_difference *difference,
			       struct vmop_call_tree *trees[2], uint32_t *ids[2])
{
	_cleanup_free_ size_t *first = calloc(trees[0]->n_nodes, sizeof(*first));
	difference->path_of = calloc(trees[1]->n_nodes, sizeof(*difference->path_of));
	if (!first || !difference->path_of)
		return &vmop_error_no_memory;
	struct vmop_error *err = number_frames(difference, trees, ids);
	if (!err)
		err = add_tree(difference, 0, trees[0], ids[0], first);
	if (!err)
		err = add_tree(difference, 1, trees[1], ids[1], difference->path_of);
	if (!err)
		sum_gone(difference, trees[0], first);
	return err;
}

struct vmop_error *vmop_flame_difference_init(struct vmop_flame_difference *ret,
					      const struct vmop_comparison *comparison,
					      size_t event, struct vmop_call_tree *trees[2])
{
	uint32_t *ids[2] = {NULL, NULL};
	*ret = (struct vmop_flame_difference){
		.comparison = comparison,
		.event = event,
		.tints = {.legend = legend, .of = tint, .arg = ret},
	};
	vmop_tally_init(&ret->paths, 2);
	struct vmop_error *err = join(ret, trees, ids);
	free(ids[0]);
	free(ids[1]);
	if (err)
		return err;
	ret->tints.title = vmop_arena_format(
		&ret->arena, "Flame graph of %.60s in B (%.60s), coloured by its difference from A",
		comparison->events[event].label, comparison->sides[1].label);
	return ret->tints.title ? NULL : &vmop_error_no_memory;
}

void vmop_flame_difference_deinit(struct vmop_flame_difference *difference)
{
	vmop_tally_deinit(&difference->paths);
	free(difference->path_of);
	vmop_arena_deinit(&difference->arena);
	*difference = (struct vmop_flame_difference){0};
}
