// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/stack-reader.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "opreport/query/idle.h"
#include "opreport/query/resolve.h"
#include "opreport/query/take.h"
#include "opreport/stacks/code-memo.h"
#include "opreport/stacks/stack-memo.h"

/* Functions that were sampled lately, by a hash: most samples are in few of them. */
#define LEAVES 16384

struct leaf {
	const struct vmop_symbol *symbol; /* NULL: unused */
	size_t image;
	uint32_t frame;
	uint8_t mode;
	bool is_idle;
};

/* A stack's place below the first group that it was looked up for. */
struct first_place {
	uint32_t group_node;
	struct vmop_stack_place place; /* node 0: not known */
};

struct vmop_stack_reader {
	const struct vmop_query *query;
	struct vmop_call_tree_options options;
	struct vmop_stack_filter filter;
	bool is_filtered;
	struct vmop_sample_sink sink;
	struct vmop_result *result; /* set by the first session */
	struct vmop_call_tree tree;
	uint32_t *kernels;	/* of the domains, see vmop_result_find_kernels; NULL: not found */
	uint8_t *frame_matches; /* by frame: enum vmop_stack_match of it, + MATCHES_KNOWN */
	size_t frame_capacity;
	uint8_t *path_matches; /* by node: of it and the nodes above */
	size_t path_capacity;
	uint32_t *group_nodes; /* by group's number: node of its stacks + 1; 0: not known */
	size_t group_capacity;
	struct vmop_code_memo leaf_frames; /* in trees by offset, by leaf_code() */
	bool has_stacks;		   /* some session has */
	/* The rest belongs to the session that is being read. */
	size_t session;
	struct vmop_db_stacks *stacks; /* NULL: none */
	struct vmop_code_memo callers; /* by the session's number of the image */
	/*
	 * By stack id: nearly all stacks belong to one group, and a walk goes through them in
	 * ascending order, so this is faster than the memo, which has all others.
	 */
	struct first_place *places;
	struct vmop_stack_memo memo;
	struct leaf leaves[LEAVES];
};

#define MATCHES_KNOWN 0x80

/* ---- frames ---------------------------------------------------------------- */

/* Return the kind of code in an image; mode is of the sample, UNKNOWN for a caller. */
static enum vmop_frame_kind kind_of(const struct vmop_result *result,
				    const struct vmop_image_item *image, enum vmop_mode mode)
{
	bool is_host = vmop_catalog_domain(&result->catalog, image->domain)->is_host;
	switch (image->kind) {
	case VMOP_IMAGE_KERNEL:
	case VMOP_IMAGE_MODULE:
	case VMOP_IMAGE_BPF:
	case VMOP_IMAGE_TRAMPOLINE:
		return is_host ? VMOP_FRAME_KERNEL : VMOP_FRAME_GUEST_KERNEL;
	case VMOP_IMAGE_GUEST_KERNEL:
		return VMOP_FRAME_GUEST_KERNEL;
	case VMOP_IMAGE_GUEST_USER:
		return VMOP_FRAME_GUEST_USER;
	case VMOP_IMAGE_HYPERVISOR:
		return VMOP_FRAME_HYPERVISOR;
	case VMOP_IMAGE_NONE:
		break;
	default:
		return is_host ? VMOP_FRAME_USER : VMOP_FRAME_GUEST_USER;
	}
	switch (mode) {
	case VMOP_MODE_HYPERVISOR:
		return VMOP_FRAME_HYPERVISOR;
	case VMOP_MODE_KERNEL:
		return is_host ? VMOP_FRAME_KERNEL : VMOP_FRAME_GUEST_KERNEL;
	case VMOP_MODE_USER:
		return is_host ? VMOP_FRAME_USER : VMOP_FRAME_GUEST_USER;
	default:
		return VMOP_FRAME_OTHER;
	}
}

static enum vmop_mode mode_of_kind(enum vmop_frame_kind kind)
{
	switch (kind) {
	case VMOP_FRAME_USER:
	case VMOP_FRAME_GUEST_USER:
		return VMOP_MODE_USER;
	case VMOP_FRAME_KERNEL:
	case VMOP_FRAME_GUEST_KERNEL:
		return VMOP_MODE_KERNEL;
	case VMOP_FRAME_HYPERVISOR:
		return VMOP_MODE_HYPERVISOR;
	default:
		return VMOP_MODE_UNKNOWN;
	}
}

/* Code whose frame is looked up. */
struct code {
	size_t image;			  /* catalog index: where the offset counts from */
	uint64_t offset;		  /* in it */
	enum vmop_mode mode;		  /* of the sample; UNKNOWN for a caller */
	const struct vmop_symbol *symbol; /* NULL: none */
	bool is_idle;
};

/* Set *ret to the catalog index under which idle functions of the image are shown. */
static struct vmop_error *idle_image(struct vmop_stack_reader *reader,
				     const struct vmop_image_item *item, uint32_t *ret)
{
	struct vmop_error *err = NULL;
	*ret = item->row;
	if (item->kind != VMOP_IMAGE_MODULE)
		return NULL;
	if (!reader->kernels)
		err = vmop_result_find_kernels(reader->result, &reader->kernels);
	if (!err && reader->kernels[item->domain])
		*ret = reader->kernels[item->domain];
	return err;
}

static struct vmop_error *intern_code(struct vmop_stack_reader *reader, const struct code *code,
				      uint32_t *ret)
{
	struct vmop_result *result = reader->result;
	const struct vmop_image_item *item = vmop_catalog_image(&result->catalog, code->image);
	const struct vmop_symbol *symbol = code->symbol;
	enum vmop_frame_kind kind = kind_of(result, item, code->mode);
	uint32_t image = item->row;
	struct vmop_error *err = NULL;
	if (code->is_idle) {
		symbol = &vmop_idle_symbol;
		err = idle_image(reader, item, &image);
	} else if (symbol && vmop_catalog_image(&result->catalog, item->row)->is_shared) {
		err = vmop_symbols_unify(result->symbols, item->row, &symbol);
	}
	if (err)
		return err;
	const struct vmop_frame_key key = {
		.kind = kind,
		.image = image,
		.mode = !reader->options.by_mode ? 0
			: code->mode		 ? code->mode
						 : mode_of_kind(kind),
		.symbol = symbol,
		.offset = reader->options.by_offset ? code->offset : 0,
	};
	return vmop_frames_intern(&reader->tree.frames, &key, (uint32_t)code->image, ret);
}

/* Return whether the sample's function is shown as idle; as resolve.c decides for rows. */
static bool is_idle(const struct vmop_stack_reader *reader, const struct vmop_sample_run *run,
		    const struct vmop_symbol *symbol)
{
	const struct vmop_query *query = reader->query;
	if (!(query->dimensions & VMOP_BY_SYMBOL) ||
	    (query->idle_functions && !query->exclude_idle))
		return false;
	if (symbol)
		return vmop_symbols_is_idle(reader->result->symbols, run->image, run->symtab,
					    symbol);
	return run->group && (run->group->mode & VMOP_GROUP_IDLE);
}

/* Set *ret to the frame of a stack's node in the session. */
static struct vmop_error *find_caller(struct vmop_stack_reader *reader,
				      const struct vmop_db_stack_node *node, uint32_t *ret)
{
	struct vmop_result *result = reader->result;
	const struct vmop_catalog *catalog = &result->catalog;
	if (vmop_code_memo_find(&reader->callers, node->image.number, node->offset, ret))
		return NULL;
	size_t index = vmop_catalog_find_image(catalog, reader->session, node->image);
	const struct vmop_image_item *image = vmop_catalog_image(catalog, index);
	struct code code = {.image = image->text};
	code.offset = node->offset - (vmop_catalog_image(catalog, image->text)->base - image->base);
	const struct vmop_symtab *symtab;
	const char *why;
	struct vmop_error *err = vmop_symbols_of(result->symbols, code.image, &symtab, &why);
	if (err)
		return err;
	code.symbol = symtab ? vmop_symtab_find(symtab, code.offset) : NULL;
	err = intern_code(reader, &code, ret);
	if (!err && *ret != VMOP_NO_FRAME)
		err = vmop_code_memo_put(&reader->callers, node->image.number, node->offset, *ret);
	return err;
}

/* ---- the filter ------------------------------------------------------------ */

/* Set *ret to the lists of the filter that the frame matches. */
static struct vmop_error *match_frame(struct vmop_stack_reader *reader, uint32_t frame,
				      uint8_t *ret)
{
	size_t before = reader->frame_capacity;
	*ret = 0;
	if (frame == VMOP_NO_FRAME)
		return NULL;
	if (!vmop_array_reserve(reader->frame_matches, reader->frame_capacity, frame + 1))
		return &vmop_error_no_memory;
	memset(reader->frame_matches + before, 0, reader->frame_capacity - before);
	uint8_t *known = &reader->frame_matches[frame];
	if (!*known)
		*known = MATCHES_KNOWN | vmop_stack_filter_match(&reader->filter, reader->result,
								 &reader->tree.frames.items[frame]);
	*ret = *known & (uint8_t)~MATCHES_KNOWN;
	return NULL;
}

/* Store the matches of a node: of its frame and of the nodes above. */
static struct vmop_error *match_path(struct vmop_stack_reader *reader, uint32_t node,
				     uint32_t parent, uint32_t frame)
{
	uint8_t own;
	struct vmop_error *err = match_frame(reader, frame, &own);
	size_t before = reader->path_capacity;
	if (err || node == reader->tree.left_out_node)
		return err;
	if (!vmop_array_reserve(reader->path_matches, reader->path_capacity, node + 1))
		return &vmop_error_no_memory;
	memset(reader->path_matches + before, 0, reader->path_capacity - before);
	reader->path_matches[node] = own | reader->path_matches[parent];
	return NULL;
}

/* Set *ret_wanted to whether samples of that function, called from node, pass the filter. */
static struct vmop_error *pass_filter(struct vmop_stack_reader *reader, uint32_t node,
				      uint32_t leaf, bool *ret_wanted)
{
	uint8_t own, callers = node < reader->path_capacity ? reader->path_matches[node] : 0;
	struct vmop_error *err = match_frame(reader, leaf, &own);
	*ret_wanted = !err && vmop_stack_filter_passes(&reader->filter, callers, own);
	return err;
}

/* ---- from stacks to nodes -------------------------------------------------- */

/* Set *ret to the child of parent with a frame, and store what it matches. */
static struct vmop_error *descend(struct vmop_stack_reader *reader, uint32_t parent, uint32_t frame,
				  uint32_t *ret)
{
	struct vmop_error *err = vmop_call_tree_child(&reader->tree, parent, frame, ret);
	if (!err && reader->is_filtered)
		err = match_path(reader, *ret, parent, frame);
	return err;
}

static struct vmop_error *descend_to_word(struct vmop_stack_reader *reader, uint32_t parent,
					  enum vmop_frame_kind kind, uint32_t value, uint32_t *ret)
{
	const struct vmop_frame_key key = {.kind = kind, .value = value};
	uint32_t frame;
	struct vmop_error *err = vmop_frames_intern(&reader->tree.frames, &key, 0, &frame);
	return err ? err : descend(reader, parent, frame, ret);
}

/* Set *ret to the node below which the stacks of the group are. */
static struct vmop_error *make_group_node(struct vmop_stack_reader *reader,
					  const struct vmop_group *group, uint32_t *ret)
{
	const struct {
		unsigned dimension;
		enum vmop_frame_kind kind;
		uint32_t value;
	} levels[] = {
		{VMOP_BY_SESSION, VMOP_FRAME_SESSION, group->session},
		{VMOP_BY_DOMAIN, VMOP_FRAME_DOMAIN, group->domain},
		{VMOP_BY_CGROUP, VMOP_FRAME_CGROUP, group->cgroup},
		{VMOP_BY_TASK, VMOP_FRAME_TASK, group->task},
		{VMOP_BY_CPU, VMOP_FRAME_CPU, group->cpu},
		{VMOP_BY_VCPU, VMOP_FRAME_VCPU, group->vcpu},
		{VMOP_BY_CERTAINTY, VMOP_FRAME_CERTAINTY, group->certainty},
	};
	struct vmop_error *err = NULL;
	*ret = 0;
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels) && !err; i++)
		if (reader->options.groups & levels[i].dimension)
			err = descend_to_word(reader, *ret, levels[i].kind, levels[i].value, ret);
	return err;
}

/* Do the same, but only once for each group. */
static struct vmop_error *find_group_node(struct vmop_stack_reader *reader,
					  const struct vmop_group *group, uint32_t *ret)
{
	size_t number = (size_t)(group - reader->result->groups.items);
	size_t before = reader->group_capacity;
	if (number < before && reader->group_nodes[number]) {
		*ret = reader->group_nodes[number] - 1;
		return NULL;
	}
	if (!vmop_array_reserve(reader->group_nodes, reader->group_capacity, number + 1))
		return &vmop_error_no_memory;
	memset(reader->group_nodes + before, 0,
	       (reader->group_capacity - before) * sizeof(*reader->group_nodes));
	struct vmop_error *err = make_group_node(reader, group, ret);
	if (!err)
		reader->group_nodes[number] = *ret + 1;
	return err;
}

/* Set *ret to the outermost node of stacks that end so, below their group's. */
static struct vmop_error *begin_stack(struct vmop_stack_reader *reader, uint32_t group_node,
				      uint16_t end, struct vmop_stack_place *ret)
{
	*ret = (struct vmop_stack_place){.node = group_node, .end = end};
	if (end == VMOP_STACK_COMPLETE)
		return NULL;
	enum vmop_frame_kind kind =
		end == VMOP_STACK_END_DAMAGED ? VMOP_FRAME_DAMAGED : VMOP_FRAME_END;
	return descend_to_word(reader, group_node, kind, kind == VMOP_FRAME_END ? end : 0,
			       &ret->node);
}

/* Return the end that a node without a parent marks. */
static uint16_t end_of(const struct vmop_db_stack_node *mark)
{
	if (mark->image.number)
		return VMOP_STACK_END_DAMAGED;
	return mark->offset < VMOP_N_STACK_ENDS ? (uint16_t)mark->offset : VMOP_STACK_END_UNKNOWN;
}

/* Return the stack's entry in reader->places, or NULL if it belongs to another group. */
static struct vmop_stack_place *place_at(const struct vmop_stack_reader *reader,
					 uint32_t group_node, struct vmop_stack_id stack)
{
	if (stack.number > vmop_db_stacks_last(reader->stacks))
		return NULL;
	struct first_place *first = &reader->places[stack.number];
	if (!first->place.node)
		first->group_node = group_node;
	return first->group_node == group_node ? &first->place : NULL;
}

/* Set *ret to the stack's place if it was stored; false: it was not. */
static bool find_known(const struct vmop_stack_reader *reader, uint32_t group_node,
		       struct vmop_stack_id stack, struct vmop_stack_place *ret)
{
	const struct vmop_stack_place *place = place_at(reader, group_node, stack);
	if (!place)
		return vmop_stack_memo_find(&reader->memo, group_node, stack.number, ret);
	*ret = *place;
	return place->node != 0;
}

/* Store the place of a stack that find_known does not find. */
static struct vmop_error *store_known(struct vmop_stack_reader *reader, uint32_t group_node,
				      struct vmop_stack_id stack, struct vmop_stack_place place)
{
	struct vmop_stack_place *at = place_at(reader, group_node, stack);
	if (!at)
		return vmop_stack_memo_put(&reader->memo, group_node, stack.number, place);
	*at = place;
	return NULL;
}

/*
 * Set *ret to the place of the stack's innermost frame below a group's node.  Follows the callers
 * up to one whose place is known, or to the end mark, and comes back down.
 */
static struct vmop_error *find_place(struct vmop_stack_reader *reader, uint32_t group_node,
				     struct vmop_stack_id stack, struct vmop_stack_place *ret)
{
	struct vmop_db_stack_node followed[VMOP_STACK_FOLLOWED_MAX];
	size_t n = 0;
	uint16_t end = VMOP_STACK_END_DAMAGED;
	bool is_known = false;
	for (struct vmop_stack_id id = stack; n < VMOP_STACK_FOLLOWED_MAX; n++) {
		is_known = find_known(reader, group_node, id, ret);
		if (is_known || !reader->stacks ||
		    !vmop_db_stacks_node(reader->stacks, id, &followed[n]))
			break;
		if (!followed[n].parent.number) {
			end = end_of(&followed[n]);
			break;
		}
		id = followed[n].parent;
	}
	if (is_known && ret->depth + n > VMOP_STACK_FOLLOWED_MAX)
		is_known = false; /* too deep */
	struct vmop_error *err = is_known ? NULL : begin_stack(reader, group_node, end, ret);
	while (n-- > 0 && !err) {
		uint32_t frame;
		err = find_caller(reader, &followed[n], &frame);
		if (!err)
			err = descend(reader, ret->node, frame, &ret->node);
		ret->depth++;
		if (!err)
			err = store_known(reader, group_node, followed[n].id, *ret);
	}
	return err;
}

/* ---- the sink -------------------------------------------------------------- */

/* Begin the tree's counts by time, for the time that the specs choose. */
static void begin_times(struct vmop_call_tree *tree)
{
	const struct vmop_result *result = tree->result;
	uint64_t from_ns = result->catalog.start_ns, to_ns = result->catalog.end_ns;
	if (result->choice.from_ns > from_ns)
		from_ns = result->choice.from_ns;
	if (result->choice.to_ns && result->choice.to_ns < to_ns)
		to_ns = result->choice.to_ns;
	vmop_time_counts_init(&tree->times, from_ns, to_ns, tree->n_events);
	vmop_time_counts_init(&tree->bills, from_ns, to_ns, tree->n_events);
}

static struct vmop_error *begin_session(void *arg, struct vmop_result *result, size_t session,
					struct vmop_db *db)
{
	struct vmop_stack_reader *reader = arg;
	struct vmop_error *err = NULL;
	if (!reader->result) {
		reader->result = result;
		err = vmop_call_tree_init(&reader->tree, result, &reader->options);
		begin_times(&reader->tree);
	}
	result->stacks.are_read = true;
	reader->session = session;
	vmop_stack_memo_clear(&reader->memo);
	vmop_code_memo_deinit(&reader->callers);
	free(reader->places);
	reader->places = NULL;
	vmop_db_stacks_destroy(reader->stacks);
	reader->stacks = NULL;
	if (!err)
		err = vmop_db_load_stacks(db, VMOP_STACKS_MAX_BYTES, &reader->stacks);
	if (err || !reader->stacks)
		return err;
	reader->has_stacks = true;
	size_t n = (size_t)vmop_db_stacks_last(reader->stacks) + 1;
	reader->places = calloc(n, sizeof(*reader->places));
	return reader->places ? NULL : &vmop_error_no_memory;
}

/* Count the samples by their stack's end. */
static void count_end(struct vmop_stack_reader *reader, uint32_t stack, uint16_t end,
		      uint64_t samples)
{
	struct vmop_stack_facts *facts = &reader->result->stacks;
	if (!stack)
		facts->none += samples;
	else if (end == VMOP_STACK_END_DAMAGED)
		facts->damaged += samples;
	else
		facts->ends[end] += samples;
}

/* Return whether the reader's frames of a function are those of its symbol, at any offset. */
static bool is_by_symbol(const struct vmop_stack_reader *reader, const struct vmop_sample_run *run)
{
	return run->symbol && !reader->options.by_offset;
}

/* Return the number in leaf_frames of an image with that mode.  Catalogs have few enough images. */
static uint32_t leaf_code(const struct code *code)
{
	_Static_assert(VMOP_ITEMS_MAX << 3 <= UINT32_MAX && VMOP_MODE_USER < 4, "three bits");
	return (uint32_t)code->image << 3 | (code->mode & 3u) << 1 | code->is_idle;
}

/* Set *ret to the frame of a sampled place of code, in a tree by offset. */
static struct vmop_error *intern_leaf(struct vmop_stack_reader *reader, const struct code *code,
				      uint32_t *ret)
{
	if (vmop_code_memo_find(&reader->leaf_frames, leaf_code(code), code->offset, ret))
		return NULL;
	struct vmop_error *err = intern_code(reader, code, ret);
	if (err || *ret == VMOP_NO_FRAME)
		return err;
	return vmop_code_memo_put(&reader->leaf_frames, leaf_code(code), code->offset, *ret);
}

/* Set *ret to the sampled function: its frame, and whether it is shown as idle. */
static struct vmop_error *find_leaf(struct vmop_stack_reader *reader,
				    const struct vmop_sample_run *run, struct leaf *ret)
{
	size_t hash = ((uintptr_t)run->symbol >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	struct leaf *known = &reader->leaves[hash % LEAVES];
	bool by_symbol = is_by_symbol(reader, run);
	if (by_symbol && known->symbol == run->symbol && known->image == run->image &&
	    known->mode == run->key->mode) {
		*ret = *known;
		return NULL;
	}
	struct code code = {.image = run->image,
			    .offset = run->offset,
			    .mode = run->key->mode,
			    .symbol = run->symbol,
			    .is_idle = is_idle(reader, run, run->symbol)};
	*ret = (struct leaf){.symbol = run->symbol,
			     .image = run->image,
			     .mode = run->key->mode,
			     .is_idle = code.is_idle};
	if (reader->options.by_offset)
		return intern_leaf(reader, &code, &ret->frame);
	struct vmop_error *err = intern_code(reader, &code, &ret->frame);
	if (!err && by_symbol)
		*known = *ret;
	return err;
}

/* Count a run by time: by its node, and by the bill that it is on. */
static struct vmop_error *count_time(struct vmop_stack_reader *reader, uint32_t node,
				     const struct vmop_sample_run *run)
{
	struct vmop_call_tree *tree = &reader->tree;
	const struct vmop_catalog *catalog = &reader->result->catalog;
	size_t domain =
		vmop_query_domain(VMOP_ACCOUNTING_DOMAIN, catalog, reader->session, run->key);
	uint32_t bill = vmop_bill_key(vmop_catalog_domain(catalog, domain)->row,
				      vmop_query_part(VMOP_ACCOUNTING_DOMAIN, run->key));
	struct vmop_error *err =
		vmop_time_counts_add(&tree->times, node, run->event, run->interval_start_ns,
				     run->interval_len_ns, run->count);
	return err ? err
		   : vmop_time_counts_add(&tree->bills, bill, run->event, run->interval_start_ns,
					  run->interval_len_ns, run->count);
}

static struct vmop_error *take_run(void *arg, const struct vmop_sample_run *run, bool *ret_wanted)
{
	struct vmop_stack_reader *reader = arg;
	const struct vmop_stack_id stack = run->key->stack;
	struct vmop_stack_place place = {.node = reader->tree.left_out_node};
	struct leaf leaf;
	uint32_t node;
	struct vmop_error *err = find_leaf(reader, run, &leaf);
	if (!err && run->group)
		err = find_group_node(reader, run->group, &place.node);
	if (!err && stack.number && place.node != reader->tree.left_out_node)
		err = find_place(reader, place.node, stack, &place);
	if (!err && reader->is_filtered)
		err = pass_filter(reader, place.node, leaf.frame, ret_wanted);
	if (err || !*ret_wanted || (leaf.is_idle && reader->query->exclude_idle))
		return err;
	count_end(reader, stack.number, place.end, run->count.samples);
	err = vmop_call_tree_child(&reader->tree, place.node, leaf.frame, &node);
	if (err)
		return err;
	if (node == reader->tree.left_out_node)
		reader->result->left_out.stacks += run->count.samples;
	vmop_call_tree_add(&reader->tree, node, run->event, run->count.samples,
			   run->count.weight_events);
	return reader->options.by_time ? count_time(reader, node, run) : NULL;
}

/* ---- life ------------------------------------------------------------------ */

struct vmop_error *vmop_stack_reader_create(const struct vmop_query *query,
					    const struct vmop_call_tree_options *options,
					    const struct vmop_stack_filter *filter,
					    struct vmop_stack_reader **ret)
{
	struct vmop_stack_reader *reader = calloc(1, sizeof(*reader));
	if (!reader)
		return &vmop_error_no_memory;
	reader->query = query;
	reader->options = *options;
	reader->filter = *filter;
	reader->is_filtered = !vmop_stack_filter_is_empty(filter);
	reader->sink = (struct vmop_sample_sink){.by_offset = options->by_offset,
						 .is_filter = reader->is_filtered,
						 .begin = begin_session,
						 .take = take_run,
						 .arg = reader};
	*ret = reader;
	return NULL;
}

void vmop_stack_reader_destroy(struct vmop_stack_reader *reader)
{
	if (!reader)
		return;
	vmop_call_tree_deinit(&reader->tree);
	vmop_stack_memo_deinit(&reader->memo);
	vmop_db_stacks_destroy(reader->stacks);
	vmop_code_memo_deinit(&reader->callers);
	vmop_code_memo_deinit(&reader->leaf_frames);
	free(reader->places);
	free(reader->kernels);
	free(reader->frame_matches);
	free(reader->path_matches);
	free(reader->group_nodes);
	free(reader);
}

const struct vmop_sample_sink *vmop_stack_reader_sink(struct vmop_stack_reader *reader)
{
	return &reader->sink;
}

struct vmop_error *vmop_stack_reader_finish(struct vmop_stack_reader *reader,
					    struct vmop_error *err, struct vmop_call_tree **ret)
{
	*ret = &reader->tree;
	if ((!err || err->code == VMOP_ERROR_NOT_FOUND) && reader->result && !reader->has_stacks &&
	    !reader->options.without_stacks) {
		vmop_error_destroy(err);
		return vmop_error_new(
			VMOP_ERROR_NOT_FOUND, "no call stacks in %s; record with --callgraph",
			reader->result->catalog.n_sessions > 1 ? "these sessions" : "this session");
	}
	return err ? err : vmop_call_tree_finish(&reader->tree);
}
