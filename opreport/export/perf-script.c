// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Text as perf-script(1) prints it, for the scripts and viewers that read it.  A block is a stack:
 *	COMM PID/TID SECONDS: PERIOD EVENT:
 *		ADDRESS FUNCTION (IMAGE)	the sampled function
 *		...				its callers, and an empty line behind them
 * perf has a block for each sample.  Here a block has all samples with its stack, and PERIOD is
 * their weight.  SECONDS counts the weights of the blocks before and half of its own, as ns:
 *viewers such as speedscope take the weights from there.  Blanks in COMM, EVENT and IMAGE are '_',
 *as stackcollapse-perf.pl writes them; names are escaped (libutil/escape.h), with ';' as "\x3b".
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/escape.h"
#include "libutil/log.h"
#include "opreport/query/idle.h"
#include "opreport/stacks/call-path.h"
#include "opreport/stacks/inline-map.h"
#include "opreport/stacks/tree-output.h"

/* The bound of the blocks together: deep stacks of long names are costly.  More are left out. */
#define OUTPUT_MAX_BYTES ((uint64_t)2 << 30)

#define NAME_MAX_BYTES 4096
#define NS_PER_S UINT64_C(1000000000)

struct script {
	struct vmop_call_tree *tree;
	FILE *out;
	char **lines; /* by frame: its line; NULL: not made yet */
	char comm[3 * NAME_MAX_BYTES];
	char domain[NAME_MAX_BYTES + 2];
	char event[NAME_MAX_BYTES];
	uint32_t pid, tid;
	uint64_t at_ns, written_bytes, left_out_samples;
	uint32_t path[VMOP_CALL_PATH_MAX + 1]; /* by depth: frames */
};

/* Write the name's escaped form to ret.  is_word: blanks would end it. */
static void put_name(char *ret, size_t ret_bytes, const char *name, bool is_word)
{
	char escaped[NAME_MAX_BYTES / 4];
	size_t len = 0;
	bool is_whole = vmop_escape_into(escaped, sizeof(escaped), name, VMOP_CHARSET_UTF8);
	for (const char *at = escaped; *at && len + 8 < ret_bytes; at++) {
		if (*at == ';') {
			memcpy(ret + len, "\\x3b", 4);
			len += 4;
		} else {
			ret[len++] = is_word && *at == ' ' ? '_' : *at;
		}
	}
	memcpy(ret + len, is_whole ? "" : "...", is_whole ? 1 : 4);
}

/* Return the address of the frame's function, or of its image. */
static uint64_t address_of(const struct script *script, const struct vmop_frame *frame)
{
	const struct vmop_image_item *image = vmop_frame_image(script->tree->result, frame);
	const struct vmop_symbol *symbol = frame->key.symbol;
	if (!symbol || symbol == &vmop_idle_symbol || vmop_inlined_of_frame(frame))
		return image->base;
	return image->base + symbol->offset;
}

/* Return the line of a frame, or NULL without memory. */
static const char *line_of(struct script *script, uint32_t number)
{
	struct vmop_frame *frame = &script->tree->frames.items[number];
	struct vmop_result *result = script->tree->result;
	char name[NAME_MAX_BYTES], image[NAME_MAX_BYTES] = "vmop";
	char **line = &script->lines[number];
	bool is_code = vmop_frame_is_code(frame);
	if (*line)
		return *line;
	put_name(name, sizeof(name), vmop_frame_name(result, frame), false);
	if (is_code)
		put_name(image, sizeof(image), vmop_frame_image(result, frame)->name, true);
	if (asprintf(line, "%24" PRIx64 " %s (%s)\n", is_code ? address_of(script, frame) : 0,
		     *name ? name : "[unknown]", *image ? image : "[unknown]") < 0)
		*line = NULL;
	return *line;
}

/* Set what a block begins with to the group's.  A guest's commands have its name before them. */
static void enter_group(struct script *script, struct vmop_frame *frame)
{
	struct vmop_result *result = script->tree->result;
	bool is_host = vmop_frame_domain(result, frame)->is_host;
	char name[NAME_MAX_BYTES];
	put_name(name, sizeof(name), vmop_frame_name(result, frame), true);
	if (frame->key.kind == VMOP_FRAME_DOMAIN) {
		snprintf(script->domain, sizeof(script->domain), "%s%s", is_host ? "" : name,
			 is_host ? "" : ":");
		snprintf(script->comm, sizeof(script->comm), "%s", name);
		script->pid = script->tid = 0;
	}
	if (frame->key.kind != VMOP_FRAME_TASK)
		return;
	const struct vmop_task_item *task =
		vmop_catalog_task(&result->catalog, frame->key.value ? frame->key.value - 1 : 0);
	script->pid = task->pid == UINT32_MAX ? 0 : task->pid;
	script->tid = task->tid ? task->tid : script->pid;
	/* A line that begins with '#' is a comment. */
	snprintf(script->comm, sizeof(script->comm), "%s%s%s",
		 *name == '#' && !*script->domain ? "_" : "", script->domain,
		 *name ? name : "[unknown]");
}

/* Print a block at a time for the frames [first, end) of the path. */
static struct vmop_error *put_block(struct script *script, size_t first, size_t end, uint64_t at_ns,
				    uint64_t period)
{
	int n = fprintf(script->out,
			"%-16s %" PRIu32 "/%" PRIu32 " %" PRIu64 ".%09" PRIu64 ": %" PRIu64
			" %s: \n",
			script->comm, script->pid, script->tid, at_ns / NS_PER_S, at_ns % NS_PER_S,
			period, script->event);
	script->written_bytes += n > 0 ? (uint64_t)n : 0;
	for (size_t i = end; i-- > first;) {
		const char *line = line_of(script, script->path[i]);
		if (!line)
			return &vmop_error_no_memory;
		size_t len = strlen(line);
		fwrite(line, 1, len, script->out);
		script->written_bytes += len;
	}
	fputc('\n', script->out);
	return NULL;
}

/* Print the blocks of a stack: where its weight begins, and where it ends. */
static struct vmop_error *put_stack(struct script *script, size_t first, size_t end,
				    const struct vmop_count *count)
{
	uint64_t period = count->weight_events ? count->weight_events : count->samples;
	uint64_t start_ns = script->at_ns;
	struct vmop_error *err = NULL;
	if (script->written_bytes > OUTPUT_MAX_BYTES) {
		script->left_out_samples += count->samples;
		return NULL;
	}
	script->at_ns += period;
	if (period > 1)
		err = put_block(script, first, end, start_ns, period / 2);
	return err ? err : put_block(script, first, end, script->at_ns, period - period / 2);
}

/* Print the blocks of an event.  The scripts read those of the first event. */
static struct vmop_error *put_event(struct script *script, size_t event)
{
	struct vmop_call_tree *tree = script->tree;
	struct vmop_error *err = NULL;
	size_t depth = 0, groups = 0;
	script->at_ns = 0;
	put_name(script->event, sizeof(script->event),
		 vmop_result_event(tree->result, event)->label, true);
	for (uint32_t node = vmop_call_tree_next(tree, 0, &depth); node && !err;
	     node = vmop_call_tree_next(tree, node, &depth)) {
		struct vmop_frame *frame = vmop_call_tree_frame(tree, node);
		if (vmop_frame_is_group(frame)) {
			enter_group(script, frame);
			groups = depth;
		} else if (depth == 1) { /* left-out samples have no group */
			snprintf(script->comm, sizeof(script->comm), "[left_out]");
			script->pid = script->tid = 0;
			groups = 0;
		}
		if (depth > VMOP_CALL_PATH_MAX)
			continue;
		script->path[depth - 1] = tree->nodes[node].frame;
		const struct vmop_count *self = &vmop_call_tree_self(tree, node)[event];
		if (self->samples && depth > groups)
			err = put_stack(script, groups, depth, self);
	}
	return err;
}

static struct vmop_error *perf_script_print(struct vmop_call_tree *tree,
					    const struct vmop_tree_output_options *options,
					    FILE *out)
{
	(void)options;
	struct script *script = calloc(1, sizeof(*script));
	if (!script)
		return &vmop_error_no_memory;
	script->tree = tree;
	script->out = out;
	script->lines = calloc(tree->frames.n, sizeof(*script->lines));
	struct vmop_error *err = script->lines ? NULL : &vmop_error_no_memory;
	for (size_t e = 0; e < tree->n_events && !err; e++)
		err = put_event(script, e);
	if (script->left_out_samples)
		vmop_log_warning("the stacks of %" PRIu64 " samples are left out",
				 script->left_out_samples);
	for (size_t i = 0; script->lines && i < tree->frames.n; i++)
		free(script->lines[i]);
	free(script->lines);
	free(script);
	return err;
}

const struct vmop_tree_output vmop_tree_output_perf_script = {
	.name = "perf-script",
	.tree = {.groups = VMOP_BY_DOMAIN | VMOP_BY_TASK, .without_stacks = true},
	.has_own_groups = true, /* the first line of a block */
	.print = perf_script_print,
};
