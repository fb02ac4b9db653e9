// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Profiles for pprof (github.com/google/pprof) and the viewers that read its files.
 *
 * A pprof sample is a stack with a number of samples and a weight for one event, and the labels
 * domain, cgroup, task, pid, event and mode.  A location is a frame, a mapping an image, a function
 * a symbol.  A location also has a line for each function that is inlined there.  vmop's words,
 * such as "[copy too small]", are functions without an image.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "opreport/stacks/inline-map.h"
#include "opreport/stacks/profile-sample.h"
#include "opreport/stacks/profile-writer.h"
#include "opreport/stacks/tree-output.h"

enum { LABEL_DOMAIN, LABEL_CGROUP, LABEL_TASK, LABEL_PID, LABEL_EVENT, LABEL_MODE, N_LABELS };
enum { NO_MODE = VMOP_MODE_USER + 1 };

/* Two tags with lengths, and four fields. */
#define LABEL_MAX_BYTES (2 * 2 + 4 * (1 + VMOP_VARINT64_MAX_BYTES))

/* A function is found by its image and symbol; 0 in function: free. */
struct function_key {
	const struct vmop_symbol *symbol;
	uint32_t image, function;
};

struct profile {
	struct vmop_call_tree *tree;
	const struct vmop_inline_map *inlines; /* NULL: none */
	struct vmop_profile_writer *writer;
	struct function_key *buckets; /* n_buckets, a power of two, twice the functions */
	size_t n_buckets;
	uint32_t n_functions;
	uint8_t *modes_of; /* by frame: 1 + the index of its mode; 0: it has no location yet */
	uint64_t *limits;  /* by image: the end of its mapping; 0: it has no frame */
	int64_t keys[N_LABELS];
	int64_t events[VMOP_COLUMNS_MAX]; /* the string of each slot's name */
	int64_t modes[NO_MODE + 1];	  /* by enum vmop_mode; NO_MODE: 0 */
	struct vmop_profile_path path;	  /* to the present node */
	Vmop__Pprof__Label labels[N_LABELS];
	/* The labels packed: first the groups', if has_group_labels, then the others. */
	uint8_t packed_labels[N_LABELS * LABEL_MAX_BYTES];
	size_t group_labels_len, labels_len;
	size_t packed_event; /* whose label is packed; SIZE_MAX: none */
	bool has_group_labels;
};

static int64_t text(struct profile *profile, const char *text)
{
	return vmop_profile_writer_text(profile->writer, text);
}

/* ---- functions and locations ------------------------------------------------------ */

static struct function_key *find_function(struct profile *profile,
					  const struct function_key *wanted)
{
	size_t mask = profile->n_buckets - 1;
	uint64_t hash = ((uint64_t)(uintptr_t)wanted->symbol ^ (uint64_t)wanted->image << 40) *
			UINT64_C(0x9e3779b97f4a7c15);
	size_t at = (size_t)(hash >> 32) & mask;
	while (profile->buckets[at].function && (profile->buckets[at].symbol != wanted->symbol ||
						 profile->buckets[at].image != wanted->image))
		at = (at + 1) & mask;
	return &profile->buckets[at];
}

/* Write a function.  Returns its id. */
static uint32_t put_function(struct profile *profile, const char *name, const char *system_name,
			     const char *file)
{
	Vmop__Pprof__Profile piece = VMOP__PPROF__PROFILE__INIT;
	Vmop__Pprof__Function function = VMOP__PPROF__FUNCTION__INIT, *items = &function;
	function.id = ++profile->n_functions;
	function.name = text(profile, name);
	function.system_name = text(profile, system_name);
	function.filename = text(profile, file);
	piece.n_function = 1;
	piece.function = &items;
	vmop_profile_writer_put(profile->writer, &piece);
	return profile->n_functions;
}

/* Return the id of the frame's function, which is written if it is new. */
static uint32_t function_of(struct profile *profile, struct vmop_frame *frame)
{
	struct vmop_result *result = profile->tree->result;
	struct function_key key = {.symbol = frame->key.symbol, .image = frame->key.image};
	struct function_key *known =
		vmop_frame_is_code(frame) ? find_function(profile, &key) : NULL;
	if (known && known->function)
		return known->function;
	const char *name = vmop_frame_name(result, frame);
	if (!known)
		return put_function(profile, name, name, "");
	bool has_symbol = key.symbol && key.symbol->name;
	key.function = put_function(profile, name, has_symbol ? key.symbol->name : name, "");
	*known = key;
	return known->function;
}

/* Return the id of an inlined function, which is written if it is new. */
static uint32_t inlined_function(struct profile *profile, const struct vmop_inlined *inlined,
				 uint32_t image)
{
	struct function_key key = {.symbol = &inlined->symbol, .image = image};
	struct function_key *known = find_function(profile, &key);
	if (!known->function) {
		key.function = put_function(profile, inlined->name, inlined->mangled_name, "");
		*known = key;
	}
	return known->function;
}

/* Set lines to the functions of a frame, the inlined ones first.  Returns their number. */
static size_t lines_of(struct profile *profile, uint32_t number,
		       Vmop__Pprof__Line lines[VMOP_INLINES_MAX + 1])
{
	struct vmop_frame *frame = &profile->tree->frames.items[number];
	const struct vmop_inline_map *map = profile->inlines;
	size_t n = map ? map->chains[number].n : 0;
	for (size_t i = 0; i <= n; i++)
		vmop__pprof__line__init(&lines[i]);
	for (size_t i = 0; i < n; i++)
		lines[i].function_id = inlined_function(
			profile, map->functions[map->chains[number].first + i], frame->key.image);
	lines[n].function_id = function_of(profile, frame);
	return n + 1;
}

static uint64_t address_of(const struct profile *profile, const struct vmop_frame *frame)
{
	const struct vmop_image_item *image =
		vmop_catalog_image(&profile->tree->result->catalog, frame->text_image);
	return image->base + frame->key.offset;
}

/* Return the id of a frame's location. */
static uint64_t id_of(uint32_t number)
{
	return (uint64_t)number + 1;
}

/* Return the index of the frame's mode in profile->modes. */
static uint8_t mode_of(const struct vmop_frame *frame)
{
	bool has_mode = vmop_frame_is_code(frame) && frame->key.mode < NO_MODE;
	return has_mode ? (uint8_t)frame->key.mode : NO_MODE;
}

/* Write the location of a frame, and its function. */
static void put_location(struct profile *profile, uint32_t number)
{
	struct vmop_frame *frame = &profile->tree->frames.items[number];
	Vmop__Pprof__Profile piece = VMOP__PPROF__PROFILE__INIT;
	Vmop__Pprof__Location location = VMOP__PPROF__LOCATION__INIT, *items = &location;
	Vmop__Pprof__Line lines[VMOP_INLINES_MAX + 1], *line_items[VMOP_INLINES_MAX + 1];
	location.id = id_of(number);
	profile->modes_of[number] = 1 + mode_of(frame);
	if (vmop_frame_is_code(frame)) {
		uint64_t *limit = &profile->limits[frame->text_image];
		location.mapping_id = (uint64_t)frame->text_image + 1;
		location.address = address_of(profile, frame);
		if (*limit <= location.address)
			*limit = location.address + 1 ? location.address + 1 : UINT64_MAX;
	}
	location.n_line = lines_of(profile, number, lines);
	for (size_t i = 0; i < location.n_line; i++)
		line_items[i] = &lines[i];
	location.line = line_items;
	piece.n_location = 1;
	piece.location = &items;
	vmop_profile_writer_put(profile->writer, &piece);
}

/* ---- mappings ------------------------------------------------------------------------ */

static void put_mapping(struct profile *profile, size_t index)
{
	const struct vmop_image_item *image =
		vmop_catalog_image(&profile->tree->result->catalog, index);
	Vmop__Pprof__Profile piece = VMOP__PPROF__PROFILE__INIT;
	Vmop__Pprof__Mapping mapping = VMOP__PPROF__MAPPING__INIT, *items = &mapping;
	char hex[2 * sizeof(image->build_id) + 1] = "";
	for (size_t i = 0; i < image->build_id_len_bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", image->build_id[i]);
	mapping.id = index + 1;
	mapping.memory_start = image->base;
	mapping.memory_limit = image->base + image->len_bytes;
	if (mapping.memory_limit < profile->limits[index])
		mapping.memory_limit = profile->limits[index];
	mapping.filename = text(profile, image->name);
	mapping.build_id = text(profile, hex);
	mapping.has_functions = true;
	piece.n_mapping = 1;
	piece.mapping = &items;
	vmop_profile_writer_put(profile->writer, &piece);
}

static void put_mappings(struct profile *profile)
{
	for (size_t i = 0; i < profile->tree->result->catalog.images.n; i++)
		if (profile->limits[i])
			put_mapping(profile, i);
}

/* ---- samples -------------------------------------------------------------------------- */

/* Pack a label as a field of a sample.  Returns its end. */
static uint8_t *put_label(const Vmop__Pprof__Label *label, uint8_t *at)
{
	Vmop__Pprof__Sample sample = VMOP__PPROF__SAMPLE__INIT;
	Vmop__Pprof__Label copy = *label, *items = &copy;
	if (!label->str && !label->num)
		return at;
	sample.n_label = 1;
	sample.label = &items;
	return at + vmop__pprof__sample__pack(&sample, at);
}

/* Pack the labels of the present groups, once for all of their samples. */
static void pack_group_labels(struct profile *profile)
{
	uint8_t *at = profile->packed_labels;
	for (size_t i = LABEL_DOMAIN; i <= LABEL_PID; i++)
		at = put_label(&profile->labels[i], at);
	profile->group_labels_len = (size_t)(at - profile->packed_labels);
	profile->packed_event = SIZE_MAX;
}

/* Pack the other labels behind these.  Nearly all samples have those of the previous one. */
static void pack_other_labels(struct profile *profile, size_t event, int64_t mode)
{
	if (profile->packed_event == event && profile->labels[LABEL_MODE].str == mode)
		return;
	profile->packed_event = event;
	profile->labels[LABEL_EVENT].str = profile->events[event];
	profile->labels[LABEL_MODE].str = mode;
	uint8_t *at = profile->packed_labels + profile->group_labels_len;
	at = put_label(&profile->labels[LABEL_EVENT], at);
	at = put_label(&profile->labels[LABEL_MODE], at);
	profile->labels_len = (size_t)(at - profile->packed_labels);
}

static void put_sample(struct profile *profile, size_t event, const struct vmop_count *count)
{
	int64_t values[2 * VMOP_COLUMNS_MAX];
	size_t n_values = 2 * profile->tree->n_events;
	memset(values, 0, n_values * sizeof(*values));
	values[2 * event] = (int64_t)count->samples;
	values[2 * event + 1] = (int64_t)count->weight_events;
	const struct vmop_profile_values rest = {
		.values = values,
		.n_values = n_values,
		.labels = profile->packed_labels,
		.labels_len_bytes = profile->labels_len,
	};
	vmop_profile_writer_put_sample(profile->writer, &profile->path, &rest);
}

/* Set the labels that a group stands for. */
static void enter_group(struct profile *profile, struct vmop_frame *frame)
{
	struct vmop_result *result = profile->tree->result;
	int64_t name = text(profile, vmop_frame_name(result, frame));
	profile->has_group_labels = false;
	if (frame->key.kind == VMOP_FRAME_DOMAIN)
		profile->labels[LABEL_DOMAIN].str = name;
	if (frame->key.kind == VMOP_FRAME_CGROUP)
		profile->labels[LABEL_CGROUP].str = name;
	if (frame->key.kind != VMOP_FRAME_TASK)
		return;
	uint32_t pid = UINT32_MAX; /* unknown, or not one process */
	if (frame->key.value)
		pid = vmop_catalog_task(&result->catalog, frame->key.value - 1)->pid;
	profile->labels[LABEL_TASK].str = name;
	profile->labels[LABEL_PID].num = pid == UINT32_MAX ? 0 : pid;
}

static void forget_group(struct profile *profile)
{
	for (size_t i = LABEL_DOMAIN; i <= LABEL_PID; i++)
		profile->labels[i].str = profile->labels[i].num = 0;
	profile->has_group_labels = false;
}

static void put_samples_of(struct profile *profile, uint32_t node)
{
	const struct vmop_count *self = vmop_call_tree_self(profile->tree, node);
	int64_t mode = profile->modes[profile->modes_of[profile->tree->nodes[node].frame] - 1];
	if (!profile->has_group_labels)
		pack_group_labels(profile);
	profile->has_group_labels = true;
	for (size_t e = 0; e < profile->tree->n_events; e++) {
		if (!self[e].samples)
			continue;
		pack_other_labels(profile, e, mode);
		put_sample(profile, e, &self[e]);
	}
}

/* Write the samples, and before each the locations that its stack is the first to have. */
static void put_tree(struct profile *profile)
{
	struct vmop_call_tree *tree = profile->tree;
	size_t depth = 0, groups = 0; /* groups: on the present path */
	for (uint32_t node = vmop_call_tree_next(tree, 0, &depth); node;
	     node = vmop_call_tree_next(tree, node, &depth)) {
		uint32_t number = tree->nodes[node].frame;
		struct vmop_frame *frame = &tree->frames.items[number];
		/* A look at each node's frame would miss the CPU's caches. */
		bool is_known = profile->modes_of[number];
		if (!is_known && vmop_frame_is_group(frame)) {
			enter_group(profile, frame);
			groups = depth;
			continue;
		}
		if (depth == 1) { /* left-out samples have no group */
			groups = 0;
			forget_group(profile);
		}
		if (depth - groups > VMOP_CALL_PATH_MAX)
			continue;
		if (!is_known)
			put_location(profile, number);
		vmop_profile_path_enter(&profile->path, depth - groups - 1, id_of(number));
		put_samples_of(profile, node);
	}
}

/* ---- head ------------------------------------------------------------------------------- */

/* Write the types of values: for each event "samples" and its weight. */
static void put_types(struct profile *profile)
{
	size_t n_events = profile->tree->n_events;
	Vmop__Pprof__Profile piece = VMOP__PPROF__PROFILE__INIT;
	Vmop__Pprof__ValueType types[2 * VMOP_COLUMNS_MAX], *items[2 * VMOP_COLUMNS_MAX];
	for (size_t e = 0; e < n_events; e++) {
		const struct vmop_event_item *event = vmop_result_event(profile->tree->result, e);
		_cleanup_free_ char *samples = NULL;
		if (n_events > 1 && asprintf(&samples, "%s.samples", event->label) < 0)
			samples = NULL;
		for (size_t i = 0; i < 2; i++) {
			vmop__pprof__value_type__init(&types[2 * e + i]);
			items[2 * e + i] = &types[2 * e + i];
		}
		profile->events[e] = text(profile, event->label);
		types[2 * e].type = text(profile, samples ? samples : "samples");
		types[2 * e].unit = text(profile, "count");
		types[2 * e + 1].type = profile->events[e];
		types[2 * e + 1].unit = text(profile, !strcmp(event->unit, "ns") ? "nanoseconds"
						      : *event->unit		 ? event->unit
										 : "count");
	}
	piece.n_sample_type = 2 * n_events;
	piece.sample_type = items;
	piece.default_sample_type = profile->events[0];
	piece.period_type = &types[1];
	piece.period = (int64_t)vmop_result_event(profile->tree->result, 0)->period_events;
	vmop_profile_writer_put(profile->writer, &piece);
}

static void put_comments(struct profile *profile, const struct vmop_tree_output_options *options)
{
	const struct vmop_catalog *catalog = &profile->tree->result->catalog;
	Vmop__Pprof__Profile piece = VMOP__PPROF__PROFILE__INIT;
	piece.time_nanos = (int64_t)catalog->start_ns;
	if (catalog->end_ns > catalog->start_ns)
		piece.duration_nanos = (int64_t)(catalog->end_ns - catalog->start_ns);
	vmop_profile_writer_put(profile->writer, &piece);
	for (size_t i = 0; i < options->n_lines; i++) {
		Vmop__Pprof__Profile line = VMOP__PPROF__PROFILE__INIT;
		int64_t comment = text(profile, options->lines[i]);
		line.n_comment = 1;
		line.comment = &comment;
		vmop_profile_writer_put(profile->writer, &line);
	}
}

static void put_words(struct profile *profile)
{
	static const char *const keys[N_LABELS] = {"domain", "cgroup", "task",
						   "pid",    "event",  "mode"};
	static const char *const modes[NO_MODE] = {"unknown", "hypervisor", "kernel", "user"};
	for (size_t i = 0; i < N_LABELS; i++)
		profile->keys[i] = text(profile, keys[i]);
	for (size_t i = 0; i < NO_MODE; i++)
		profile->modes[i] = text(profile, modes[i]);
	for (size_t i = 0; i < N_LABELS; i++) {
		vmop__pprof__label__init(&profile->labels[i]);
		profile->labels[i].key = profile->keys[i];
	}
}

static struct vmop_error *profile_init(struct profile *profile, struct vmop_call_tree *tree,
				       const struct vmop_inline_map *inlines, FILE *out)
{
	size_t n_functions = tree->frames.n + (inlines ? inlines->n_functions : 0);
	profile->tree = tree;
	profile->inlines = inlines;
	profile->n_buckets = 2;
	while (profile->n_buckets < 2 * n_functions)
		profile->n_buckets *= 2;
	profile->buckets = calloc(profile->n_buckets, sizeof(*profile->buckets));
	profile->modes_of = calloc(tree->frames.n, sizeof(*profile->modes_of));
	profile->limits = calloc(tree->result->catalog.images.n, sizeof(*profile->limits));
	if (!profile->buckets || !profile->modes_of || !profile->limits)
		return &vmop_error_no_memory;
	return vmop_profile_writer_create(out, &profile->writer);
}

static void profile_destroy(struct profile *profile)
{
	vmop_profile_writer_destroy(profile->writer);
	free(profile->buckets);
	free(profile->modes_of);
	free(profile->limits);
	free(profile);
}

static struct vmop_error *pprof_print(struct vmop_call_tree *tree,
				      const struct vmop_tree_output_options *options, FILE *out)
{
	if (isatty(fileno(out)))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--format=pprof is not for terminals; use -o FILE");
	struct profile *profile = calloc(1, sizeof(*profile));
	if (!profile)
		return &vmop_error_no_memory;
	struct vmop_error *err = profile_init(profile, tree, options->inlines, out);
	if (!err) {
		put_words(profile);
		put_types(profile);
		put_comments(profile, options);
		put_tree(profile);
		put_mappings(profile);
		err = vmop_profile_writer_finish(profile->writer);
	}
	profile_destroy(profile);
	return err;
}

const struct vmop_tree_output vmop_tree_output_pprof = {
	.name = "pprof",
	.tree = {.groups = VMOP_BY_DOMAIN | VMOP_BY_CGROUP | VMOP_BY_TASK,
		 .by_offset = true,
		 .by_mode = true},
	.has_own_groups = true, /* labels */
	.has_inlines = true,
	.print = pprof_print,
};
