// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/inclusive.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "opreport/query/resolve.h"
#include "opreport/stacks/call-path.h"

struct vmop_call_tree_options vmop_inclusive_tree(unsigned dimensions)
{
	return (struct vmop_call_tree_options){
		.groups = dimensions &
			  (VMOP_BY_SESSION | VMOP_BY_DOMAIN | VMOP_BY_CGROUP | VMOP_BY_TASK |
			   VMOP_BY_CPU | VMOP_BY_VCPU | VMOP_BY_CERTAINTY),
		.by_mode = true,
	};
}

struct adding {
	struct vmop_result *result;
	const struct vmop_call_tree *tree;
	struct vmop_group group; /* of the groups above the present node */
	struct vmop_call_path path;
	size_t capacity; /* counts in result->below */
};

/* Set the group's field that the frame is a value of. */
static void set_field(struct vmop_group *group, const struct vmop_frame_key *key)
{
	switch (key->kind) {
	case VMOP_FRAME_SESSION:
		group->session = key->value;
		break;
	case VMOP_FRAME_DOMAIN:
		group->domain = key->value;
		break;
	case VMOP_FRAME_CGROUP:
		group->cgroup = key->value;
		break;
	case VMOP_FRAME_TASK:
		group->task = key->value;
		break;
	case VMOP_FRAME_CPU:
		group->cpu = key->value;
		break;
	case VMOP_FRAME_VCPU:
		group->vcpu = key->value;
		break;
	default:
		group->certainty = (uint16_t)key->value;
	}
}

/* Set *ret to the row of code in the present groups, or to VMOP_NO_ITEM if there is no room. */
static struct vmop_error *find_row(struct adding *adding, const struct vmop_frame_key *key,
				   uint32_t *ret)
{
	struct vmop_result *result = adding->result;
	struct vmop_group group = adding->group;
	const struct vmop_symbol *symbol = NULL;
	if (result->dimensions & VMOP_BY_IMAGE)
		group.image = key->image + 1;
	if (result->dimensions & VMOP_BY_MODE)
		group.mode = (uint16_t)(key->mode + 1);
	if (result->dimensions & VMOP_BY_SYMBOL)
		symbol = key->symbol;
	uint32_t number;
	struct vmop_count *counts;
	size_t row;
	*ret = VMOP_NO_ITEM;
	struct vmop_error *err = vmop_groups_intern(&result->groups, &group, &number);
	if (!err)
		err = vmop_result_row_at(result, number, (uintptr_t)symbol, (uint8_t)key->mode,
					 &counts, &row);
	if (!err && row < VMOP_NO_ITEM)
		*ret = (uint32_t)row;
	return err;
}

/* Make room in result->below for all rows. */
static struct vmop_error *reserve(struct adding *adding)
{
	struct vmop_result *result = adding->result;
	size_t before = adding->capacity;
	if (!vmop_array_reserve(result->below, adding->capacity,
				(result->rows_tally.n + 1) * result->n_events))
		return &vmop_error_no_memory;
	memset(result->below + before, 0, (adding->capacity - before) * sizeof(*result->below));
	return NULL;
}

static struct vmop_error *add_node(struct adding *adding, uint32_t node, size_t depth)
{
	struct vmop_result *result = adding->result;
	const struct vmop_frame *frame = vmop_call_tree_frame(adding->tree, node);
	uint32_t row = VMOP_NO_ITEM;
	bool is_first = false;
	struct vmop_error *err = NULL;
	if (vmop_frame_is_group(frame))
		set_field(&adding->group, &frame->key);
	else if (vmop_frame_is_code(frame))
		err = find_row(adding, &frame->key, &row);
	if (!err)
		err = vmop_call_path_enter(&adding->path, depth - 1, row, &is_first);
	if (!err && is_first)
		err = reserve(adding);
	if (err || !is_first)
		return err;
	const struct vmop_count *total = vmop_call_tree_total(adding->tree, node);
	for (size_t e = 0; e < result->n_events; e++)
		vmop_count_add(&result->below[row * result->n_events + e], total[e].samples,
			       total[e].weight_events);
	return NULL;
}

struct vmop_error *vmop_inclusive_add(struct vmop_result *result, const struct vmop_call_tree *tree)
{
	struct adding adding = {.result = result, .tree = tree};
	size_t depth = 0;
	struct vmop_error *err = NULL;
	for (uint32_t node = 0; !err && (node = vmop_call_tree_next(tree, node, &depth));) {
		/* The groups of samples that were left out are not known. */
		if (node != tree->left_out_node)
			err = add_node(&adding, node, depth);
	}
	if (!err)
		err = reserve(&adding);
	vmop_call_path_deinit(&adding.path);
	return err ? err : vmop_result_make_rows(result);
}
