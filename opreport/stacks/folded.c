// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Folded stacks, as flamegraph.pl of the FlameGraph project and many viewers read them.  A line is
 *	DOMAIN;TASK;FRAME;...;FRAME SAMPLES
 * outermost first.  Kernel frames end in "_[k]", the hypervisor's in "_[h]", a guest's in "_[g]",
 *and inlined functions in "_[i]".  Names are escaped (libutil/escape.h), with ';' as "\x3b"; a name
 *that itself ends like a mark has its last bracket as "\x5d".  With several events, each stack
 *begins with its event.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/escape.h"
#include "libutil/log.h"
#include "opreport/query/arena.h"
#include "opreport/stacks/call-path.h"
#include "opreport/stacks/inline-map.h"
#include "opreport/stacks/tree-output.h"

/* The bound of the lines together: deep stacks of long names are costly.  More are left out. */
#define OUTPUT_MAX_BYTES ((uint64_t)2 << 30)

/* The bytes of a frame's escaped name, with its mark. */
#define NAME_MAX_BYTES 1024
#define MARK_MAX_BYTES 8

/* The bound of names that are escaped once; more are escaped for each line. */
#define SHOWN_MAX_BYTES ((size_t)64 << 20)

#define OUT_BYTES ((size_t)1 << 18)
#define COUNT_MAX_BYTES 24

/* A frame's escaped name with its mark; NULL: not made yet. */
struct shown {
	const char *text;
	size_t len_bytes;
};

struct folder {
	struct vmop_call_tree *tree;
	FILE *out;
	struct shown *shown; /* by frame */
	struct vmop_arena arena;
	char *line; /* the path to the present node, each name behind a ';' */
	size_t capacity;
	size_t ends[VMOP_CALL_PATH_MAX + 1]; /* by depth: the bytes of line up to there */
	uint64_t written_bytes, left_out_samples;
	size_t n_waiting;
	char waiting[OUT_BYTES]; /* lines on their way to out: fwrite costs more than most lines */
};

/* ---- names ------------------------------------------------------------------ */

static const char *mark_of(const struct vmop_frame *frame)
{
	if (vmop_inlined_of_frame(frame))
		return "_[i]";
	switch (frame->key.kind) {
	case VMOP_FRAME_KERNEL:
		return "_[k]";
	case VMOP_FRAME_HYPERVISOR:
		return "_[h]";
	case VMOP_FRAME_GUEST_USER:
	case VMOP_FRAME_GUEST_KERNEL:
		return "_[g]";
	default:
		return "";
	}
}

/* Return the name without the mark of another format. */
static const char *name_of(struct vmop_result *result, struct vmop_frame *frame)
{
	const struct vmop_inlined *inlined = vmop_inlined_of_frame(frame);
	return inlined ? inlined->name : vmop_frame_name(result, frame);
}

/* Return whether the text ends like a mark: "_[x]". */
static bool ends_like_a_mark(const char *text, size_t len)
{
	return len >= 4 && text[len - 1] == ']' && text[len - 3] == '[' && text[len - 4] == '_';
}

/*
 * Write the name's escaped form to ret, cut at size_bytes.  Returns its length.
 */
static size_t put_name(char *ret, size_t size_bytes, const char *name, bool is_code)
{
	char escaped[NAME_MAX_BYTES];
	size_t len = 0, last;
	bool is_whole = vmop_escape_into(escaped, sizeof(escaped), name, VMOP_CHARSET_UTF8);
	for (const char *at = escaped; *at && len + 8 < size_bytes; at++) {
		if (*at == ';') {
			memcpy(ret + len, "\\x3b", 4);
			len += 4;
		} else {
			ret[len++] = *at;
		}
	}
	last = len;
	if (!is_whole) {
		memcpy(ret + len, "...", 3);
		len += 3;
	} else if (is_code && ends_like_a_mark(ret, len)) {
		memcpy(ret + last - 1, "\\x5d", 4);
		len += 3;
	}
	return len;
}

/* Append a name and its mark behind the line's first `begin` bytes.  *ret_end: where they end. */
static struct vmop_error *append(struct folder *folder, size_t begin, const char *name,
				 bool is_code, const char *mark, size_t *ret_end)
{
	size_t room = 4 * NAME_MAX_BYTES + 16, mark_len = strlen(mark), end = begin;
	if (!vmop_array_reserve(folder->line, folder->capacity, begin + room + MARK_MAX_BYTES))
		return &vmop_error_no_memory;
	if (begin)
		folder->line[end++] = ';';
	end += put_name(folder->line + end, room - 1, name, is_code);
	memcpy(folder->line + end, mark, mark_len);
	*ret_end = end + mark_len;
	return NULL;
}

/* Append a frame behind the line's first `begin` bytes, which are not 0 below the root. */
static struct vmop_error *append_frame(struct folder *folder, size_t begin, uint32_t number,
				       size_t *ret_end)
{
	struct vmop_frame *frame = &folder->tree->frames.items[number];
	struct shown *shown = &folder->shown[number];
	size_t first = begin + (begin > 0);
	if (shown->text) {
		*ret_end = first + shown->len_bytes;
		if (!vmop_array_reserve(folder->line, folder->capacity, *ret_end + 1))
			return &vmop_error_no_memory;
		if (begin)
			folder->line[begin] = ';';
		memcpy(folder->line + first, shown->text, shown->len_bytes);
		return NULL;
	}
	struct vmop_error *err = append(folder, begin, name_of(folder->tree->result, frame),
					vmop_frame_is_code(frame), mark_of(frame), ret_end);
	if (err || folder->arena.used_bytes > SHOWN_MAX_BYTES)
		return err;
	size_t len_bytes = *ret_end - first;
	char *text = vmop_arena_alloc(&folder->arena, len_bytes + 1);
	if (!text)
		return &vmop_error_no_memory;
	*shown = (struct shown){memcpy(text, folder->line + first, len_bytes), len_bytes};
	return NULL;
}

/* ---- lines ------------------------------------------------------------------ */

static void write_waiting(struct folder *folder)
{
	fwrite(folder->waiting, 1, folder->n_waiting, folder->out);
	folder->n_waiting = 0;
}

/* Write " SAMPLES\n" to the end of ret.  Returns where it begins. */
static const char *put_count(char ret[static COUNT_MAX_BYTES], uint64_t samples)
{
	char *at = ret + COUNT_MAX_BYTES;
	*--at = '\n';
	do {
		*--at = (char)('0' + samples % 10);
		samples /= 10;
	} while (samples);
	*--at = ' ';
	return at;
}

static void put_line(struct folder *folder, size_t len_bytes, uint64_t samples)
{
	char buf[COUNT_MAX_BYTES];
	const char *count = put_count(buf, samples);
	size_t count_len = (size_t)(buf + sizeof(buf) - count);
	if (folder->written_bytes + len_bytes > OUTPUT_MAX_BYTES) {
		folder->left_out_samples += samples;
		return;
	}
	folder->written_bytes += len_bytes + count_len;
	if (len_bytes + count_len > OUT_BYTES - folder->n_waiting)
		write_waiting(folder);
	if (len_bytes + count_len > OUT_BYTES) {
		fwrite(folder->line, 1, len_bytes, folder->out);
		len_bytes = 0;
	}
	memcpy(folder->waiting + folder->n_waiting, folder->line, len_bytes);
	memcpy(folder->waiting + folder->n_waiting + len_bytes, count, count_len);
	folder->n_waiting += len_bytes + count_len;
}

/* Print the lines of an event.  The line already has ends[0] bytes. */
static struct vmop_error *fold_event(struct folder *folder, size_t event)
{
	struct vmop_call_tree *tree = folder->tree;
	struct vmop_error *err = NULL;
	size_t depth = 0;
	for (uint32_t node = vmop_call_tree_next(tree, 0, &depth); node && !err;
	     node = vmop_call_tree_next(tree, node, &depth)) {
		if (depth > VMOP_CALL_PATH_MAX)
			continue;
		err = append_frame(folder, folder->ends[depth - 1], tree->nodes[node].frame,
				   &folder->ends[depth]);
		uint64_t samples = vmop_call_tree_self(tree, node)[event].samples;
		if (!err && samples)
			put_line(folder, folder->ends[depth], samples);
	}
	return err;
}

static struct vmop_error *folded_print(struct vmop_call_tree *tree,
				       const struct vmop_tree_output_options *options, FILE *out)
{
	(void)options;
	struct folder *folder = calloc(1, sizeof(*folder));
	if (!folder)
		return &vmop_error_no_memory;
	folder->tree = tree;
	folder->out = out;
	folder->shown = calloc(tree->frames.n, sizeof(*folder->shown));
	struct vmop_error *err = folder->shown ? NULL : &vmop_error_no_memory;
	for (size_t e = 0; e < tree->n_events && !err; e++) {
		if (tree->n_events > 1)
			err = append(folder, 0, vmop_result_event(tree->result, e)->label, false,
				     "", &folder->ends[0]);
		if (!err)
			err = fold_event(folder, e);
	}
	write_waiting(folder);
	if (folder->left_out_samples) {
		static const char left_out[] = "[left out]";
		fprintf(out, "%s %" PRIu64 "\n", left_out, folder->left_out_samples);
		vmop_log_warning("the folded stacks of %" PRIu64 " samples are left out",
				 folder->left_out_samples);
	}
	vmop_arena_deinit(&folder->arena);
	free(folder->shown);
	free(folder->line);
	free(folder);
	return err;
}

const struct vmop_tree_output vmop_tree_output_folded = {
	.name = "folded",
	.tree = {.groups = VMOP_BY_DOMAIN | VMOP_BY_TASK},
	.merge = VMOP_MERGE_TGID,
	.print = folded_print,
};
