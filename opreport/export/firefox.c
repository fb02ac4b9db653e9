// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Profiles for the Firefox Profiler (profiler.firefox.com), in its processed format.
 *
 * Format: github.com/firefox-devtools/profiler, src/types/profile.js at version 48 of the processed
 * format (docs-developer/CHANGELOG-formats.md); the viewer upgrades older versions.
 *
 * A thread is a task and an event.  Its stacks are the nodes of the call tree below the task, and
 * its samples are the counts of a stack in a span of time, with their weight.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "opreport/export/json-writer.h"
#include "opreport/stacks/call-path.h"
#include "opreport/stacks/tree-output.h"

#define FORMAT_VERSION 48
#define GECKO_VERSION 30
#define NS_PER_MS 1e6
#define NONE UINT32_MAX

/* A stack of a thread. */
struct stack {
	uint32_t node, prefix, frame; /* prefix: a stack, or NONE; frame: local number */
};

/* Samples of a stack in a span. */
struct sample {
	uint32_t stack;
	uint16_t span;
	struct vmop_count count;
};

struct firefox {
	struct vmop_call_tree *tree;
	struct vmop_json_writer writer;
	uint32_t *first_times; /* by node, n_nodes + 1: its items in tree->times */
	/* The rest belongs to the present thread. */
	size_t event;
	uint32_t *local_of; /* by frame: its local number + 1; 0: none */
	uint32_t *frames;   /* n_frames: by local number */
	size_t n_frames, frames_capacity;
	struct stack *stacks; /* n_stacks, callers first */
	size_t n_stacks, stacks_capacity;
	struct sample *samples; /* n_samples */
	size_t n_samples, samples_capacity;
};

/* The categories colour the viewer's stacks. */
static const struct {
	const char *name, *color;
} categories[] = {
	{"Other", "grey"},	  {"User", "yellow"},	    {"Kernel", "blue"},
	{"Hypervisor", "purple"}, {"Guest user", "orange"}, {"Guest kernel", "green"},
};
enum { OTHER, USER, KERNEL, HYPERVISOR, GUEST_USER, GUEST_KERNEL, N_CATEGORIES };

static unsigned category_of(const struct firefox *firefox, uint32_t local)
{
	switch (firefox->tree->frames.items[firefox->frames[local]].key.kind) {
	case VMOP_FRAME_USER:
		return USER;
	case VMOP_FRAME_KERNEL:
		return KERNEL;
	case VMOP_FRAME_HYPERVISOR:
		return HYPERVISOR;
	case VMOP_FRAME_GUEST_USER:
		return GUEST_USER;
	case VMOP_FRAME_GUEST_KERNEL:
		return GUEST_KERNEL;
	default:
		return OTHER;
	}
}

/* ---- collecting a thread ---------------------------------------------------------- */

static struct vmop_error *add_frame(struct firefox *firefox, uint32_t number, uint32_t *ret)
{
	uint32_t *local = &firefox->local_of[number];
	if (!*local) {
		if (!vmop_array_reserve(firefox->frames, firefox->frames_capacity,
					firefox->n_frames + 1))
			return &vmop_error_no_memory;
		firefox->frames[firefox->n_frames++] = number;
		*local = (uint32_t)firefox->n_frames;
	}
	*ret = *local - 1;
	return NULL;
}

static struct vmop_error *add_sample(struct firefox *firefox, uint32_t stack, uint16_t span,
				     struct vmop_count count)
{
	if (!vmop_array_reserve(firefox->samples, firefox->samples_capacity,
				firefox->n_samples + 1))
		return &vmop_error_no_memory;
	firefox->samples[firefox->n_samples++] =
		(struct sample){.stack = stack, .span = span, .count = count};
	return NULL;
}

/* Add the samples of a stack.  What has no time counts in the first span. */
static struct vmop_error *add_samples(struct firefox *firefox, uint32_t stack)
{
	const struct vmop_call_tree *tree = firefox->tree;
	uint32_t node = firefox->stacks[stack].node;
	struct vmop_count left = vmop_call_tree_self(tree, node)[firefox->event];
	struct vmop_error *err = NULL;
	for (uint32_t i = firefox->first_times[node]; i < firefox->first_times[node + 1] && !err;
	     i++) {
		const struct vmop_time_count *item = &tree->times.items[i];
		if (item->slot != firefox->event)
			continue;
		err = add_sample(firefox, stack, item->span, item->count);
		vmop_count_subtract(&left, item->count);
	}
	return err || !left.samples ? err : add_sample(firefox, stack, 0, left);
}

/* Add the nodes below `top` that have samples of the event, and top itself if it is no group. */
static struct vmop_error *add_stacks(struct firefox *firefox, uint32_t top)
{
	const struct vmop_call_tree *tree = firefox->tree;
	struct vmop_error *err = NULL;
	uint32_t stack_of[VMOP_CALL_PATH_MAX + 1] = {NONE}; /* by depth below top */
	size_t depth = 0;
	uint32_t node = top;
	if (vmop_frame_is_group(vmop_call_tree_frame(tree, top)))
		node = vmop_call_tree_next(tree, node, &depth);
	/* Behind the last node below top, depth is 0, or has wrapped around. */
	for (; node && !err && (node == top || depth > 0) && depth <= VMOP_CALL_PATH_MAX;
	     node = vmop_call_tree_next(tree, node, &depth)) {
		uint32_t frame;
		if (!vmop_call_tree_total(tree, node)[firefox->event].samples)
			continue;
		err = add_frame(firefox, tree->nodes[node].frame, &frame);
		if (!err && !vmop_array_reserve(firefox->stacks, firefox->stacks_capacity,
						firefox->n_stacks + 1))
			err = &vmop_error_no_memory;
		if (err)
			break;
		firefox->stacks[firefox->n_stacks] =
			(struct stack){node, depth ? stack_of[depth - 1] : NONE, frame};
		stack_of[depth] = (uint32_t)firefox->n_stacks;
		err = add_samples(firefox, (uint32_t)firefox->n_stacks++);
	}
	return err;
}

static int compare_samples(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;
	if (x->span != y->span)
		return x->span < y->span ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

/* Forget the thread before. */
static void clear_thread(struct firefox *firefox)
{
	for (size_t i = 0; i < firefox->n_frames; i++)
		firefox->local_of[firefox->frames[i]] = 0;
	firefox->n_frames = firefox->n_stacks = firefox->n_samples = 0;
}

/* ---- tables ----------------------------------------------------------------------- */

/* Write a column of n equal values, or of null if value is NONE. */
static void put_constant(struct firefox *firefox, const char *name, size_t n, uint32_t value)
{
	struct vmop_json_writer *writer = &firefox->writer;
	vmop_json_writer_name(writer, name);
	vmop_json_writer_begin(writer, '[');
	for (size_t i = 0; i < n; i++)
		if (value == NONE)
			vmop_json_writer_null(writer);
		else
			vmop_json_writer_number(writer, value);
	vmop_json_writer_end(writer, ']');
}

/* Write a column of n values of false. */
static void put_falses(struct firefox *firefox, const char *name, size_t n)
{
	struct vmop_json_writer *writer = &firefox->writer;
	vmop_json_writer_name(writer, name);
	vmop_json_writer_begin(writer, '[');
	for (size_t i = 0; i < n; i++)
		vmop_json_writer_bool(writer, false);
	vmop_json_writer_end(writer, ']');
}

/* Write a column of n numbers that value() returns; NONE is null. */
static void put_column(struct firefox *firefox, const char *name, size_t n,
		       uint32_t (*value)(const struct firefox *firefox, size_t i))
{
	struct vmop_json_writer *writer = &firefox->writer;
	vmop_json_writer_name(writer, name);
	vmop_json_writer_begin(writer, '[');
	for (size_t i = 0; i < n; i++) {
		uint32_t number = value(firefox, i);
		if (number == NONE)
			vmop_json_writer_null(writer);
		else
			vmop_json_writer_number(writer, number);
	}
	vmop_json_writer_end(writer, ']');
}

static void begin_table(struct firefox *firefox, const char *name, size_t n)
{
	vmop_json_writer_name(&firefox->writer, name);
	vmop_json_writer_begin(&firefox->writer, '{');
	vmop_json_writer_number_member(&firefox->writer, "length", n);
}

static void end_table(struct firefox *firefox)
{
	vmop_json_writer_end(&firefox->writer, '}');
}

static uint32_t index_itself(const struct firefox *firefox, size_t i)
{
	(void)firefox;
	return (uint32_t)i;
}

static uint32_t frame_category(const struct firefox *firefox, size_t i)
{
	return category_of(firefox, (uint32_t)i);
}

static uint32_t stack_category(const struct firefox *firefox, size_t i)
{
	return category_of(firefox, firefox->stacks[i].frame);
}

static uint32_t stack_frame(const struct firefox *firefox, size_t i)
{
	return firefox->stacks[i].frame;
}

static uint32_t stack_prefix(const struct firefox *firefox, size_t i)
{
	return firefox->stacks[i].prefix;
}

/* Text 2 * i is the name of the frame i, text 2 * i + 1 that of its image. */
static uint32_t function_name(const struct firefox *firefox, size_t i)
{
	(void)firefox;
	return (uint32_t)(2 * i);
}

static uint32_t resource_name(const struct firefox *firefox, size_t i)
{
	(void)firefox;
	return (uint32_t)(2 * i + 1);
}

/* A frame is a function, and a function has a resource of its own: its image. */
static void put_functions(struct firefox *firefox)
{
	size_t n = firefox->n_frames;
	begin_table(firefox, "frameTable", n);
	vmop_json_writer_name(&firefox->writer, "address");
	vmop_json_writer_begin(&firefox->writer, '[');
	for (size_t i = 0; i < n; i++)
		vmop_json_writer_real(&firefox->writer, -1);
	vmop_json_writer_end(&firefox->writer, ']');
	put_constant(firefox, "inlineDepth", n, 0);
	put_column(firefox, "category", n, frame_category);
	put_constant(firefox, "subcategory", n, 0);
	put_column(firefox, "func", n, index_itself);
	static const char *const empty[] = {"nativeSymbol", "innerWindowID", "implementation",
					    "line", "column"};
	for (size_t i = 0; i < sizeof(empty) / sizeof(*empty); i++)
		put_constant(firefox, empty[i], n, NONE);
	end_table(firefox);
	begin_table(firefox, "funcTable", n);
	put_column(firefox, "name", n, function_name);
	put_falses(firefox, "isJS", n);
	put_falses(firefox, "relevantForJS", n);
	put_column(firefox, "resource", n, index_itself);
	put_constant(firefox, "fileName", n, NONE);
	put_constant(firefox, "lineNumber", n, NONE);
	put_constant(firefox, "columnNumber", n, NONE);
	end_table(firefox);
	begin_table(firefox, "resourceTable", n);
	put_constant(firefox, "lib", n, NONE);
	put_column(firefox, "name", n, resource_name);
	put_constant(firefox, "host", n, NONE);
	put_constant(firefox, "type", n, 1); /* a library */
	end_table(firefox);
}

static void put_texts(struct firefox *firefox)
{
	struct vmop_result *result = firefox->tree->result;
	vmop_json_writer_name(&firefox->writer, "stringArray");
	vmop_json_writer_begin(&firefox->writer, '[');
	for (size_t i = 0; i < firefox->n_frames; i++) {
		struct vmop_frame *frame = &firefox->tree->frames.items[firefox->frames[i]];
		const char *image =
			vmop_frame_is_code(frame) ? vmop_frame_image(result, frame)->name : "vmop";
		vmop_json_writer_text(&firefox->writer, vmop_frame_name(result, frame));
		vmop_json_writer_text(&firefox->writer, image);
	}
	vmop_json_writer_end(&firefox->writer, ']');
}

static void put_stacks(struct firefox *firefox)
{
	size_t n = firefox->n_stacks;
	begin_table(firefox, "stackTable", n);
	put_column(firefox, "prefix", n, stack_prefix);
	put_column(firefox, "frame", n, stack_frame);
	put_column(firefox, "category", n, stack_category);
	put_constant(firefox, "subcategory", n, 0);
	end_table(firefox);
}

static uint32_t sample_stack(const struct firefox *firefox, size_t i)
{
	return firefox->samples[i].stack;
}

/* Return the middle of a span, in ms after the session's start. */
static double time_of(const struct firefox *firefox, uint16_t span)
{
	const struct vmop_time_counts *times = &firefox->tree->times;
	double after_ns = (double)(times->start_ns - firefox->tree->result->catalog.start_ns);
	return (after_ns + ((double)span + 0.5) * (double)times->len_ns) / NS_PER_MS;
}

static void put_samples(struct firefox *firefox)
{
	const struct vmop_event_item *event =
		vmop_result_event(firefox->tree->result, firefox->event);
	struct vmop_json_writer *writer = &firefox->writer;
	bool is_time = !strcmp(event->unit, "ns");
	size_t n = firefox->n_samples;
	begin_table(firefox, "samples", n);
	vmop_json_writer_text_member(writer, "weightType", is_time ? "tracing-ms" : "samples");
	put_column(firefox, "stack", n, sample_stack);
	vmop_json_writer_name(writer, "time");
	vmop_json_writer_begin(writer, '[');
	for (size_t i = 0; i < n; i++)
		vmop_json_writer_real(writer, time_of(firefox, firefox->samples[i].span));
	vmop_json_writer_end(writer, ']');
	vmop_json_writer_name(writer, "weight");
	vmop_json_writer_begin(writer, '[');
	for (size_t i = 0; i < n; i++) {
		const struct vmop_count *count = &firefox->samples[i].count;
		if (is_time)
			vmop_json_writer_real(writer, (double)count->weight_events / NS_PER_MS);
		else
			vmop_json_writer_number(writer, count->weight_events ? count->weight_events
									     : count->samples);
	}
	vmop_json_writer_end(writer, ']');
	end_table(firefox);
}

/* Write the tables that are always empty. */
static void put_empty_tables(struct firefox *firefox)
{
	static const char *const markers[] = {"data",	 "name",  "startTime",
					      "endTime", "phase", "category"};
	static const char *const symbols[] = {"libIndex", "address", "name", "functionSize"};
	begin_table(firefox, "markers", 0);
	for (size_t i = 0; i < sizeof(markers) / sizeof(*markers); i++)
		put_constant(firefox, markers[i], 0, NONE);
	end_table(firefox);
	begin_table(firefox, "nativeSymbols", 0);
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		put_constant(firefox, symbols[i], 0, NONE);
	end_table(firefox);
}

/* ---- threads ---------------------------------------------------------------------- */

/* Write what a thread begins with; group is its task's node, or another one. */
static void put_thread_head(struct firefox *firefox, uint32_t domain, uint32_t group)
{
	struct vmop_call_tree *tree = firefox->tree;
	struct vmop_json_writer *writer = &firefox->writer;
	struct vmop_frame *frame = vmop_call_tree_frame(tree, group);
	const struct vmop_event_item *event = vmop_result_event(tree->result, firefox->event);
	char id[64];
	unsigned pid = 0;
	if (frame->key.kind == VMOP_FRAME_TASK && frame->key.value)
		pid = vmop_catalog_task(&tree->result->catalog, frame->key.value - 1)->pid;
	if (pid == UINT32_MAX)
		pid = 0;
	vmop_json_writer_text_member(writer, "processType", "default");
	_cleanup_free_ char *name = NULL;
	const char *task = vmop_frame_name(tree->result, frame);
	if (tree->n_events > 1 && asprintf(&name, "%s, %s", task, event->label) < 0)
		name = NULL;
	vmop_json_writer_text_member(writer, "name", name ? name : task);
	vmop_json_writer_text_member(
		writer, "processName",
		vmop_frame_name(tree->result, vmop_call_tree_frame(tree, domain)));
	/* Pids of two domains can be equal, and the viewer shows one of two equal threads. */
	snprintf(id, sizeof(id), "%u.%u", pid, domain);
	vmop_json_writer_text_member(writer, "pid", id);
	snprintf(id, sizeof(id), "%u.%zu", group, firefox->event);
	vmop_json_writer_text_member(writer, "tid", id);
	vmop_json_writer_name(writer, "isMainThread");
	vmop_json_writer_bool(writer, true);
	vmop_json_writer_number_member(writer, "processStartupTime", 0);
	vmop_json_writer_name(writer, "processShutdownTime");
	vmop_json_writer_null(writer);
	vmop_json_writer_number_member(writer, "registerTime", 0);
	vmop_json_writer_name(writer, "unregisterTime");
	vmop_json_writer_null(writer);
	put_constant(firefox, "pausedRanges", 0, NONE);
}

static struct vmop_error *put_thread(struct firefox *firefox, uint32_t domain, uint32_t top)
{
	clear_thread(firefox);
	struct vmop_error *err = add_stacks(firefox, top);
	if (err || !firefox->n_samples)
		return err;
	qsort(firefox->samples, firefox->n_samples, sizeof(*firefox->samples), compare_samples);
	vmop_json_writer_begin(&firefox->writer, '{');
	put_thread_head(firefox, domain, top);
	put_functions(firefox);
	put_stacks(firefox);
	put_samples(firefox);
	put_texts(firefox);
	put_empty_tables(firefox);
	vmop_json_writer_end(&firefox->writer, '}');
	return NULL;
}

/* Write the threads of an event: of each task, or of what stands in a task's place. */
static struct vmop_error *put_threads(struct firefox *firefox, size_t event)
{
	const struct vmop_call_tree *tree = firefox->tree;
	struct vmop_error *err = NULL;
	firefox->event = event;
	for (uint32_t domain = tree->nodes[0].first_child; domain && !err;
	     domain = tree->nodes[domain].next_sibling) {
		uint32_t task = tree->nodes[domain].first_child;
		if (!task || !vmop_frame_is_group(vmop_call_tree_frame(tree, task))) {
			err = put_thread(firefox, domain, domain);
			continue;
		}
		for (; task && !err; task = tree->nodes[task].next_sibling)
			err = put_thread(firefox, domain, task);
	}
	return err;
}

/* ---- the document ------------------------------------------------------------------ */

static void put_categories(struct firefox *firefox)
{
	struct vmop_json_writer *writer = &firefox->writer;
	_Static_assert(sizeof(categories) / sizeof(*categories) == N_CATEGORIES, "one each");
	vmop_json_writer_name(writer, "categories");
	vmop_json_writer_begin(writer, '[');
	for (size_t i = 0; i < N_CATEGORIES; i++) {
		vmop_json_writer_begin(writer, '{');
		vmop_json_writer_text_member(writer, "name", categories[i].name);
		vmop_json_writer_text_member(writer, "color", categories[i].color);
		vmop_json_writer_name(writer, "subcategories");
		vmop_json_writer_begin(writer, '[');
		vmop_json_writer_text(writer, "Other");
		vmop_json_writer_end(writer, ']');
		vmop_json_writer_end(writer, '}');
	}
	vmop_json_writer_end(writer, ']');
}

static void put_flag(struct firefox *firefox, const char *name)
{
	vmop_json_writer_name(&firefox->writer, name);
	vmop_json_writer_bool(&firefox->writer, true);
}

static void put_meta(struct firefox *firefox, const struct vmop_tree_output_options *options)
{
	static const char *const extensions[] = {"id", "name", "baseURL"};
	const struct vmop_catalog *catalog = &firefox->tree->result->catalog;
	struct vmop_json_writer *writer = &firefox->writer;
	vmop_json_writer_name(writer, "meta");
	vmop_json_writer_begin(writer, '{');
	vmop_json_writer_name(writer, "interval");
	vmop_json_writer_real(writer, (double)firefox->tree->times.len_ns / NS_PER_MS);
	vmop_json_writer_name(writer, "startTime");
	vmop_json_writer_number(writer, catalog->start_ns / 1000000);
	vmop_json_writer_number_member(writer, "processType", 0);
	vmop_json_writer_text_member(writer, "product",
				     options->n_lines ? options->lines[0] : "vmop");
	vmop_json_writer_text_member(writer, "importedFrom", "vmopreport " PACKAGE_VERSION);
	vmop_json_writer_number_member(writer, "stackwalk", 1);
	vmop_json_writer_number_member(writer, "version", GECKO_VERSION);
	vmop_json_writer_number_member(writer, "preprocessedProfileVersion", FORMAT_VERSION);
	vmop_json_writer_name(writer, "debug");
	vmop_json_writer_bool(writer, false);
	put_flag(firefox, "symbolicated");
	put_flag(firefox, "usesOnlyOneStackType");
	put_flag(firefox, "doesNotUseFrameImplementation");
	put_flag(firefox, "sourceCodeIsNotOnSearchfox");
	put_constant(firefox, "markerSchema", 0, NONE);
	put_categories(firefox);
	begin_table(firefox, "extensions", 0);
	for (size_t i = 0; i < sizeof(extensions) / sizeof(*extensions); i++)
		put_constant(firefox, extensions[i], 0, NONE);
	end_table(firefox);
	vmop_json_writer_end(writer, '}');
}

/* Sort the tree's times, and find the first one of each node. */
static struct vmop_error *find_times(struct firefox *firefox)
{
	struct vmop_call_tree *tree = firefox->tree;
	size_t i = 0;
	firefox->first_times = calloc(tree->n_nodes + 1, sizeof(*firefox->first_times));
	if (!firefox->first_times)
		return &vmop_error_no_memory;
	vmop_time_counts_sort(&tree->times);
	for (size_t node = 0; node <= tree->n_nodes; node++) {
		while (i < tree->times.n && tree->times.items[i].key < node)
			i++;
		firefox->first_times[node] = (uint32_t)i;
	}
	return NULL;
}

static struct vmop_error *put_document(struct firefox *firefox,
				       const struct vmop_tree_output_options *options)
{
	struct vmop_json_writer *writer = &firefox->writer;
	struct vmop_error *err = NULL;
	vmop_json_writer_begin(writer, '{');
	put_meta(firefox, options);
	put_constant(firefox, "libs", 0, NONE);
	put_constant(firefox, "pages", 0, NONE);
	vmop_json_writer_name(writer, "threads");
	vmop_json_writer_begin(writer, '[');
	for (size_t e = 0; e < firefox->tree->n_events && !err; e++)
		err = put_threads(firefox, e);
	vmop_json_writer_end(writer, ']');
	vmop_json_writer_end(writer, '}');
	return err ? err : vmop_json_writer_finish(writer);
}

static struct vmop_error *firefox_print(struct vmop_call_tree *tree,
					const struct vmop_tree_output_options *options, FILE *out)
{
	struct firefox firefox = {.tree = tree};
	vmop_json_writer_init(&firefox.writer, out);
	firefox.local_of = calloc(tree->frames.n, sizeof(*firefox.local_of));
	struct vmop_error *err = firefox.local_of ? find_times(&firefox) : &vmop_error_no_memory;
	if (!err)
		err = put_document(&firefox, options);
	free(firefox.first_times);
	free(firefox.local_of);
	free(firefox.frames);
	free(firefox.stacks);
	free(firefox.samples);
	return err;
}

const struct vmop_tree_output vmop_tree_output_firefox = {
	.name = "firefox",
	.tree = {.groups = VMOP_BY_DOMAIN | VMOP_BY_TASK, .without_stacks = true, .by_time = true},
	.has_own_groups = true, /* threads */
	.print = firefox_print,
};
