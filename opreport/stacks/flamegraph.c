// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Flame graph: one SVG file that needs nothing else.  The root is on top and callees hang below
 * their callers, so that the beginning of a deep graph is in sight.  Without a script it shows the
 * boxes, their names and tooltips; flamegraph.js adds search and zoom, flamegraph.css the colours.
 * Widths are shares of the first event's weight.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/plural.h"
#include "opreport/query/query.h"
#include "opreport/stacks/flame-layout.h"
#include "opreport/stacks/flame-tint.h"
#include "opreport/stacks/flamegraph-files.h"
#include "opreport/stacks/svg-text.h"
#include "opreport/stacks/tree-output.h"

/* Sizes in pixels.  flamegraph.js measures the boxes, and lays them out for the window's width. */
#define PICTURE_WIDTH 1200
#define BOX_HEIGHT 17
#define LINE_HEIGHT 17
#define MARGIN 10
#define LEGEND_SQUARE 12

/* Monospaced fonts of 12 pixels have characters of 7.2; see flamegraph.css. */
#define COLUMN_WIDTH 7.3
#define LINE_COLUMNS ((size_t)((PICTURE_WIDTH - 2 * MARGIN) / COLUMN_WIDTH))
#define LINES_MAX 24

/* Narrower boxes are summed up: they are no more than a tenth of a pixel. */
#define MIN_BOX_WIDTH 0.1

/* Wider boxes have a gap between them. */
#define WIDE_BOX_WIDTH 4

/* The bound of the boxes: with the rest, a file stays below 2 MB. */
#define BOXES_MAX_BYTES ((size_t)1700000)
#define BOX_OVERHEAD_BYTES 330
#define NAME_COLUMNS 200
#define SHADES 4

struct graph {
	struct vmop_call_tree *tree;
	const struct vmop_tree_output_options *options;
	const struct vmop_event_item *event;
	struct vmop_flame_layout layout;
	FILE *out;
	unsigned y; /* of the next line */
};

/* ---- kinds of boxes ------------------------------------------------------------ */

/* A class of flamegraph.css, and its name in the legend; NULL: it has none. */
struct box_class {
	const char *class, *name;
	bool has_shades;
};

static const struct box_class *class_of(enum vmop_frame_kind kind)
{
	static const struct box_class classes[VMOP_N_FRAME_KINDS] = {
		[VMOP_FRAME_USER] = {"u", "user", true},
		[VMOP_FRAME_KERNEL] = {"k", "kernel", true},
		[VMOP_FRAME_HYPERVISOR] = {"h", "hypervisor", true},
		[VMOP_FRAME_GUEST_USER] = {"gu", "guest user", true},
		[VMOP_FRAME_GUEST_KERNEL] = {"gk", "guest kernel", true},
		[VMOP_FRAME_OTHER] = {"o", "mode unknown", true},
		[VMOP_FRAME_END] = {"e", "stack incomplete", false},
	};
	static const struct box_class damaged = {"e", NULL, false}, group = {"d", NULL, false};
	if (kind == VMOP_FRAME_DAMAGED || kind == VMOP_FRAME_LEFT_OUT)
		return &damaged;
	return kind < VMOP_N_FRAME_KINDS && classes[kind].class ? &classes[kind] : &group;
}

/* Return a shade that a name keeps in every graph: FNV-1a. */
static unsigned shade_of(const char *name)
{
	uint32_t hash = 2166136261;
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619;
	return (hash >> 16) % SHADES;
}

static const char *name_of(struct graph *graph, uint32_t node)
{
	if (!node)
		return "all";
	return vmop_frame_name(graph->tree->result, vmop_call_tree_frame(graph->tree, node));
}

static const struct vmop_image_item *image_of(const struct graph *graph, uint32_t node)
{
	const struct vmop_frame *frame = node ? vmop_call_tree_frame(graph->tree, node) : NULL;
	return frame && vmop_frame_is_code(frame) ? vmop_frame_image(graph->tree->result, frame)
						  : NULL;
}

/* ---- boxes ---------------------------------------------------------------------- */

static size_t cost(void *arg, uint32_t node)
{
	struct graph *graph = arg;
	const struct vmop_image_item *image = image_of(graph, node);
	struct vmop_svg_text text;
	vmop_svg_text_set(&text, name_of(graph, node), NAME_COLUMNS);
	size_t len = 2 * vmop_svg_text_len(&text);
	if (image) {
		vmop_svg_text_set(&text, image->name, NAME_COLUMNS);
		len += vmop_svg_text_len(&text);
	}
	return len + BOX_OVERHEAD_BYTES;
}

/* Return the share that the widths show. */
static double percent_of(const struct graph *graph, struct vmop_count count)
{
	const struct vmop_count *all = vmop_call_tree_total(graph->tree, 0);
	if (all->weight_events)
		return 100 * (double)count.weight_events / (double)all->weight_events;
	return all->samples ? 100 * (double)count.samples / (double)all->samples : 0;
}

static void put_counts(const struct graph *graph, const char *what, struct vmop_count count)
{
	const char *unit = graph->event->unit;
	struct vmop_svg_text text;
	fprintf(graph->out, "\n%s%" PRIu64 " sample%s, %.2f %%", what, count.samples,
		vmop_plural(count.samples), percent_of(graph, count));
	if (!count.weight_events)
		return;
	vmop_svg_text_set(&text, *unit ? unit : graph->event->label, 40);
	fprintf(graph->out, ", %" PRIu64 " ", count.weight_events);
	vmop_svg_text_print(&text, graph->out);
}

/* Print the tooltip.  Its first line is the name, which flamegraph.js takes from there. */
static void put_tooltip(struct graph *graph, const struct vmop_flame_box *box,
			const struct vmop_svg_text *name, const char *tint_line)
{
	const struct vmop_image_item *image = box->n_summed ? NULL : image_of(graph, box->node);
	struct vmop_svg_text text;
	fputs("<title>", graph->out);
	vmop_svg_text_print(name, graph->out);
	if (image) {
		vmop_svg_text_set(&text, image->name, NAME_COLUMNS);
		fputs("\n", graph->out);
		vmop_svg_text_print(&text, graph->out);
	}
	put_counts(graph, "", box->count);
	const struct vmop_count *self = vmop_call_tree_self(graph->tree, box->node);
	if (!box->n_summed && self->samples && self->samples != box->count.samples)
		put_counts(graph, "in itself: ", *self);
	if (*tint_line) {
		vmop_svg_text_set(&text, tint_line, NAME_COLUMNS);
		fputs("\n", graph->out);
		vmop_svg_text_print(&text, graph->out);
	}
	fputs("</title>", graph->out);
}

/* Print a text element.  The width of characters outside ASCII depends on the font: fix it. */
static void put_text(const struct graph *graph, double x, double y, const char *class,
		     const struct vmop_svg_text *text)
{
	fprintf(graph->out, "<text x=\"%.1f\" y=\"%.1f\"%s", x, y, class);
	if (!text->is_ascii)
		fprintf(graph->out, " textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\"",
			(double)text->columns * COLUMN_WIDTH);
	fputc('>', graph->out);
	vmop_svg_text_print(text, graph->out);
	fputs("</text>", graph->out);
}

/* Print the part of the name that fits into the box. */
static void put_label(const struct graph *graph, const char *name, double x, double y, double width)
{
	struct vmop_svg_text text;
	double columns = (width - 6) / COLUMN_WIDTH;
	if (columns < 3)
		return;
	vmop_svg_text_set(&text, name, (size_t)columns);
	put_text(graph, x + 3, y + 12.5, "", &text);
}

/* Print the start of a box, of its class. */
static void begin_box(const struct graph *graph, const struct vmop_flame_box *box,
		      const char *shown, const struct vmop_flame_tint *tint, const char *wide)
{
	enum vmop_frame_kind kind = box->node
					    ? vmop_call_tree_frame(graph->tree, box->node)->key.kind
					    : VMOP_FRAME_SESSION;
	const struct box_class *class = class_of(kind);
	if (box->n_summed)
		fprintf(graph->out, "<g class=\"s%s\">", wide);
	else if (tint->class)
		fprintf(graph->out, "<g class=\"%s%s\">", tint->class, wide);
	else if (class->has_shades)
		fprintf(graph->out, "<g class=\"%s c%u%s\">", class->class, shade_of(shown), wide);
	else
		fprintf(graph->out, "<g class=\"%s%s\">", class->class, wide);
}

/* Set name to the box's name as shown, and return the tint of the box and its tooltip's line. */
static struct vmop_flame_tint name_box(struct graph *graph, const struct vmop_flame_box *box,
				       char *name, size_t name_bytes, char *line, size_t line_bytes)
{
	const struct vmop_flame_tints *tints = graph->options->tints;
	struct vmop_flame_tint tint = {.sign = ""};
	*line = '\0';
	if (box->n_summed) {
		snprintf(name, name_bytes, "[%" PRIu32 " small frames]", box->n_summed);
		return tint;
	}
	if (tints)
		tint = tints->of(tints->arg, box->node, line, line_bytes);
	snprintf(name, name_bytes, "%s%s", tint.sign, name_of(graph, box->node));
	return tint;
}

static void put_box(struct graph *graph, const struct vmop_flame_box *box)
{
	double width = box->width * (PICTURE_WIDTH - 2 * MARGIN);
	double x = MARGIN + box->left * (PICTURE_WIDTH - 2 * MARGIN);
	double y = graph->y + (double)box->depth * BOX_HEIGHT;
	char shown[1024], line[200];
	struct vmop_svg_text name;
	struct vmop_flame_tint tint =
		name_box(graph, box, shown, sizeof(shown), line, sizeof(line));
	vmop_svg_text_set(&name, shown, NAME_COLUMNS);
	begin_box(graph, box, shown, &tint, width >= WIDE_BOX_WIDTH ? " w" : "");
	put_tooltip(graph, box, &name, line);
	fprintf(graph->out, "<rect x=\"%.4f\" y=\"%.0f\" width=\"%.4f\" height=\"%d\" rx=\"1\"/>",
		x, y, width, BOX_HEIGHT - 1);
	put_label(graph, shown, x, y, width);
	fputs("</g>\n", graph->out);
}

/* ---- around the boxes ------------------------------------------------------------- */

static void put_line(struct graph *graph, const char *class, const char *line)
{
	struct vmop_svg_text text;
	vmop_svg_text_set(&text, line, LINE_COLUMNS);
	put_text(graph, MARGIN, graph->y + 12.0, class, &text);
	fputc('\n', graph->out);
	graph->y += LINE_HEIGHT;
}

static void put_lines(struct graph *graph)
{
	const struct vmop_tree_output_options *options = graph->options;
	char text[160];
	for (size_t i = 0; i < options->n_lines && i < LINES_MAX; i++)
		put_line(graph, "", options->lines[i]);
	if (options->n_lines > LINES_MAX) {
		snprintf(text, sizeof(text), "and %zu more lines: see --tree=callers",
			 options->n_lines - LINES_MAX);
		put_line(graph, "", text);
	}
	snprintf(text, sizeof(text), "widths: %s of %.100s%s%s%s%s",
		 vmop_call_tree_total(graph->tree, 0)->weight_events ? "weight" : "samples",
		 graph->event->label, *graph->event->unit ? " (" : "", graph->event->unit,
		 *graph->event->unit ? ")" : "",
		 graph->tree->n_events > 1 ? "; event:NAME chooses another event" : "");
	put_line(graph, "", text);
	if (!graph->layout.n_hidden)
		return;
	snprintf(text, sizeof(text), "%zu frames are too small to show and are summed up",
		 graph->layout.n_hidden);
	put_line(graph, "", text);
}

/* Print a square and its meaning at *x, and move it. */
static void put_legend_entry(const struct graph *graph, const char *class, const char *meaning,
			     double *x)
{
	struct vmop_svg_text text;
	fprintf(graph->out,
		"<g class=\"%s\"><rect x=\"%.1f\" y=\"%u\" width=\"%d\" height=\"%d\"/>", class, *x,
		graph->y + 2, LEGEND_SQUARE, LEGEND_SQUARE);
	vmop_svg_text_set(&text, meaning, NAME_COLUMNS);
	put_text(graph, *x + LEGEND_SQUARE + 5, graph->y + 12.0, "", &text);
	fputs("</g>", graph->out);
	*x += LEGEND_SQUARE + 24 + (double)text.columns * COLUMN_WIDTH;
}

/* Print a square and a name for each kind of frame that the tree has, or the tints' legend. */
static void put_legend(struct graph *graph)
{
	const struct vmop_flame_tints *tints = graph->options->tints;
	bool has[VMOP_N_FRAME_KINDS] = {false};
	double x = MARGIN;
	for (size_t i = 0; i < graph->layout.n; i++)
		if (graph->layout.boxes[i].node)
			has[vmop_call_tree_frame(graph->tree, graph->layout.boxes[i].node)
				    ->key.kind] = true;
	fputs("<g id=\"legend\">", graph->out);
	for (enum vmop_frame_kind kind = 0; kind < VMOP_N_FRAME_KINDS && !tints; kind++) {
		const struct box_class *class = class_of(kind);
		char shaded[16];
		snprintf(shaded, sizeof(shaded), "%s c1", class->class);
		if (class->name && has[kind])
			put_legend_entry(graph, shaded, class->name, &x);
	}
	for (size_t i = 0; tints && tints->legend[i].class; i++)
		put_legend_entry(graph, tints->legend[i].class, tints->legend[i].meaning, &x);
	fputs("</g>\n", graph->out);
	graph->y += LINE_HEIGHT;
}

/* Return how many lines put_lines, put_legend and the line for messages take. */
static unsigned count_lines(const struct graph *graph)
{
	size_t n = graph->options->n_lines;
	return (unsigned)(n > LINES_MAX ? LINES_MAX + 1 : n) + 1 + (graph->layout.n_hidden > 0) + 2;
}

static void put_head(struct graph *graph)
{
	struct vmop_svg_text title;
	char text[160];
	unsigned height = 3 * MARGIN + (1 + count_lines(graph)) * LINE_HEIGHT +
			  (unsigned)(graph->layout.max_depth + 1) * BOX_HEIGHT;
	if (graph->options->tints)
		snprintf(text, sizeof(text), "%s", graph->options->tints->title);
	else
		snprintf(text, sizeof(text), "Flame graph of %.100s", graph->event->label);
	vmop_svg_text_set(&title, text, LINE_COLUMNS);
	fprintf(graph->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
		"viewBox=\"0 0 %d %u\">\n<title>",
		PICTURE_WIDTH, height, PICTURE_WIDTH, height);
	vmop_svg_text_print(&title, graph->out);
	fprintf(graph->out, "</title>\n<style><![CDATA[\n%s]]></style>\n", flamegraph_css);
	fputs("<rect id=\"paper\" width=\"100%\" height=\"100%\"/>\n<g id=\"head\">\n", graph->out);
	graph->y = MARGIN;
	put_line(graph, " class=\"title\"", text);
	put_lines(graph);
	put_legend(graph);
	fprintf(graph->out, "</g>\n<text id=\"message\" x=\"%d\" y=\"%u\"></text>\n", MARGIN,
		graph->y + 12);
	graph->y += LINE_HEIGHT + MARGIN;
}

static struct vmop_error *flamegraph_print(struct vmop_call_tree *tree,
					   const struct vmop_tree_output_options *options,
					   FILE *out)
{
	struct graph graph = {
		.tree = tree,
		.options = options,
		.event = vmop_result_event(tree->result, 0),
		.out = out,
	};
	double min_width = MIN_BOX_WIDTH / (PICTURE_WIDTH - 2 * MARGIN);
	double threshold = options->threshold_percent / 100;
	const struct vmop_flame_layout_options layout = {
		.min_width = threshold > min_width ? threshold : min_width,
		.cost = cost,
		.arg = &graph,
		.max_bytes = BOXES_MAX_BYTES,
	};
	struct vmop_error *err = vmop_flame_layout_init(&graph.layout, tree, &layout);
	if (!err) {
		put_head(&graph);
		fputs("<g id=\"frames\">\n", out);
		for (size_t i = 0; i < graph.layout.n; i++)
			put_box(&graph, &graph.layout.boxes[i]);
		fprintf(out, "</g>\n<script><![CDATA[\n%s]]></script>\n</svg>\n", flamegraph_js);
	}
	vmop_flame_layout_deinit(&graph.layout);
	return err;
}

const struct vmop_tree_output vmop_tree_output_flamegraph = {
	.name = "flamegraph",
	.tree = {.groups = VMOP_BY_DOMAIN | VMOP_BY_TASK},
	.merge = VMOP_MERGE_TGID,
	.print = flamegraph_print,
};
