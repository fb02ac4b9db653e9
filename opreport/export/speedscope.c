// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Profiles for speedscope (speedscope.app), in its own format: file-format-schema.json of the npm
 * package speedscope.  Each event is a profile of the kind "evented": a function is opened where
 * its weight begins and closed where it ends, so the file grows with the nodes of the call tree and
 * not with the lengths of all stacks.  The horizontal axis is weight, not time.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "opreport/export/json-writer.h"
#include "opreport/stacks/call-path.h"
#include "opreport/stacks/tree-output.h"

struct scope {
	struct vmop_call_tree *tree;
	struct vmop_json_writer writer;
	size_t event;
	bool by_samples; /* the event has no weights */
	uint64_t at;	 /* the sum of weights up to the present node */
	size_t n_open;
	uint32_t open[VMOP_CALL_PATH_MAX]; /* frames */
};

static uint64_t value_of(const struct scope *scope, const struct vmop_count *count)
{
	return scope->by_samples ? count->samples : count->weight_events;
}

static void put_frames(struct scope *scope)
{
	struct vmop_call_tree *tree = scope->tree;
	struct vmop_json_writer *writer = &scope->writer;
	vmop_json_writer_name(writer, "shared");
	vmop_json_writer_begin(writer, '{');
	vmop_json_writer_name(writer, "frames");
	vmop_json_writer_begin(writer, '[');
	for (size_t i = 0; i < tree->frames.n; i++) {
		struct vmop_frame *frame = &tree->frames.items[i];
		vmop_json_writer_begin(writer, '{');
		vmop_json_writer_text_member(writer, "name", vmop_frame_name(tree->result, frame));
		if (vmop_frame_is_code(frame))
			vmop_json_writer_text_member(writer, "file",
						     vmop_frame_image(tree->result, frame)->name);
		vmop_json_writer_end(writer, '}');
	}
	vmop_json_writer_end(writer, ']');
	vmop_json_writer_end(writer, '}');
}

static void put_event(struct scope *scope, const char *type, uint32_t frame)
{
	struct vmop_json_writer *writer = &scope->writer;
	vmop_json_writer_begin(writer, '{');
	vmop_json_writer_text_member(writer, "type", type);
	vmop_json_writer_number_member(writer, "frame", frame);
	vmop_json_writer_number_member(writer, "at", scope->at);
	vmop_json_writer_end(writer, '}');
}

/* Close the open frames at `depth` and below. */
static void close_frames(struct scope *scope, size_t depth)
{
	while (scope->n_open > depth)
		put_event(scope, "C", scope->open[--scope->n_open]);
}

static void put_events(struct scope *scope)
{
	struct vmop_call_tree *tree = scope->tree;
	size_t depth = 0;
	for (uint32_t node = vmop_call_tree_next(tree, 0, &depth); node;
	     node = vmop_call_tree_next(tree, node, &depth)) {
		if (!value_of(scope, &vmop_call_tree_total(tree, node)[scope->event]))
			continue;
		if (depth <= VMOP_CALL_PATH_MAX) {
			close_frames(scope, depth - 1);
			scope->open[scope->n_open++] = tree->nodes[node].frame;
			put_event(scope, "O", tree->nodes[node].frame);
		}
		scope->at += value_of(scope, &vmop_call_tree_self(tree, node)[scope->event]);
	}
	close_frames(scope, 0);
}

static void put_profile(struct scope *scope, size_t event)
{
	struct vmop_json_writer *writer = &scope->writer;
	const struct vmop_event_item *item = vmop_result_event(scope->tree->result, event);
	const struct vmop_count *all = &vmop_call_tree_total(scope->tree, 0)[event];
	scope->event = event;
	scope->at = 0;
	scope->by_samples = !all->weight_events;
	bool is_time = !scope->by_samples && !strcmp(item->unit, "ns");
	vmop_json_writer_begin(writer, '{');
	vmop_json_writer_text_member(writer, "type", "evented");
	vmop_json_writer_text_member(writer, "name", item->label);
	vmop_json_writer_text_member(writer, "unit", is_time ? "nanoseconds" : "none");
	vmop_json_writer_number_member(writer, "startValue", 0);
	vmop_json_writer_number_member(writer, "endValue", value_of(scope, all));
	vmop_json_writer_name(writer, "events");
	vmop_json_writer_begin(writer, '[');
	put_events(scope);
	vmop_json_writer_end(writer, ']');
	vmop_json_writer_end(writer, '}');
}

static struct vmop_error *speedscope_print(struct vmop_call_tree *tree,
					   const struct vmop_tree_output_options *options,
					   FILE *out)
{
	struct scope *scope = calloc(1, sizeof(*scope));
	if (!scope)
		return &vmop_error_no_memory;
	struct vmop_json_writer *writer = &scope->writer;
	scope->tree = tree;
	vmop_json_writer_init(writer, out);
	vmop_json_writer_begin(writer, '{');
	vmop_json_writer_text_member(writer, "$schema",
				     "https://www.speedscope.app/file-format-schema.json");
	vmop_json_writer_text_member(writer, "exporter", "vmopreport " PACKAGE_VERSION);
	vmop_json_writer_text_member(writer, "name", options->n_lines ? options->lines[0] : "vmop");
	vmop_json_writer_number_member(writer, "activeProfileIndex", 0);
	put_frames(scope);
	vmop_json_writer_name(writer, "profiles");
	vmop_json_writer_begin(writer, '[');
	for (size_t e = 0; e < tree->n_events; e++)
		put_profile(scope, e);
	vmop_json_writer_end(writer, ']');
	vmop_json_writer_end(writer, '}');
	struct vmop_error *err = vmop_json_writer_finish(writer);
	free(scope);
	return err;
}

const struct vmop_tree_output vmop_tree_output_speedscope = {
	.name = "speedscope",
	.tree = {.groups = VMOP_BY_DOMAIN | VMOP_BY_TASK, .without_stacks = true},
	.merge = VMOP_MERGE_TGID,
	.print = speedscope_print,
};
