// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/export/html/section.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "opreport/export/html/histogram.h"
#include "opreport/export/html/rows.h"
#include "opreport/stacks/call-path.h"
#include "opreport/stacks/flame-layout.h"

/* Domains with bills of their own; the others are one. */
#define DOMAINS_MAX 12

/* Bytes of a row or box as written, without its texts and times. */
#define ITEM_BYTES 64
#define EXTENT_BYTES 20
#define MAX_ROWS 3000

struct section {
	struct vmop_call_tree *tree;
	const struct vmop_page_section_options *options;
	struct vmop_page_texts *texts;
	struct vmop_json_writer *writer;
	const struct vmop_event_item *event;
	struct vmop_flame_layout boxes;
	uint32_t *parents;	 /* by box */
	struct vmop_count *owns; /* by box: in no box below it */
	struct vmop_page_rows rows;
	uint32_t domains[DOMAINS_MAX]; /* n_domains: catalog indexes; the last may be `others` */
	size_t n_domains, n_others;
	struct vmop_histogram box_times, row_times, bill_times;
	uint64_t span_ns;
	struct vmop_time_extents extents;
	uint64_t unit, sample_weight; /* see vmop_histogram_write; sample_weight: if unit is 0 */
};

/* ---- boxes ------------------------------------------------------------------------- */

static const char *box_name(struct section *section, uint32_t node)
{
	if (!node)
		return "all";
	return vmop_frame_name(section->tree->result, vmop_call_tree_frame(section->tree, node));
}

/* Return the path of the frame's image, or "". */
static const char *image_of(const struct section *section, const struct vmop_frame *frame)
{
	return vmop_frame_is_code(frame) ? vmop_frame_image(section->tree->result, frame)->name
					 : "";
}

static size_t len_of(const char *text)
{
	return strnlen(text, VMOP_PAGE_TEXTS_LEN_MAX) + 3;
}

static size_t box_cost(void *arg, uint32_t node)
{
	return len_of(box_name(arg, node)) + ITEM_BYTES;
}

static struct vmop_error *lay_out(struct section *section)
{
	const struct vmop_flame_layout_options options = {
		.event = section->options->event,
		.min_width = section->options->min_width,
		.cost = box_cost,
		.arg = section,
		.max_bytes = section->options->max_bytes / 3,
	};
	struct vmop_error *err = vmop_flame_layout_init(&section->boxes, section->tree, &options);
	if (err)
		return err;
	section->parents = calloc(section->boxes.n + 1, sizeof(*section->parents));
	section->owns = calloc(section->boxes.n + 1, sizeof(*section->owns));
	if (!section->parents || !section->owns)
		return &vmop_error_no_memory;
	uint32_t path[VMOP_CALL_PATH_MAX + 2] = {0};
	for (size_t i = 0; i < section->boxes.n; i++) {
		size_t depth = section->boxes.boxes[i].depth;
		section->parents[i] = depth ? path[depth - 1] : 0;
		path[depth] = (uint32_t)i;
		section->owns[i] = section->boxes.boxes[i].count;
		if (depth)
			vmop_count_subtract(&section->owns[path[depth - 1]], section->owns[i]);
	}
	return NULL;
}

/* Set box_of[node] to the box that shows a node's own samples: its own, or one that sums it up. */
static struct vmop_error *find_boxes(const struct section *section, uint32_t *box_of)
{
	const struct vmop_call_tree *tree = section->tree;
	const struct vmop_flame_layout *boxes = &section->boxes;
	_cleanup_free_ uint32_t *summed = calloc(boxes->n + 1, sizeof(*summed));
	if (!summed)
		return &vmop_error_no_memory;
	memset(box_of, 0xff, tree->n_nodes * sizeof(*box_of));
	for (size_t i = 0; i < boxes->n; i++) {
		if (boxes->boxes[i].n_summed)
			summed[section->parents[i]] = (uint32_t)i;
		else
			box_of[boxes->boxes[i].node] = (uint32_t)i;
	}
	for (size_t node = 1; node < tree->n_nodes; node++) {
		uint32_t above = box_of[tree->nodes[node].parent];
		if (box_of[node] == VMOP_NO_FRAME)
			box_of[node] = summed[above] ? summed[above] : above;
	}
	return NULL;
}

/* ---- rows -------------------------------------------------------------------------- */

static struct vmop_frame *row_frame(const struct section *section, size_t i)
{
	return &section->tree->frames.items[section->rows.items[i].frame];
}

/* Keep the rows that fit. */
static struct vmop_error *make_rows(struct section *section)
{
	struct vmop_result *result = section->tree->result;
	size_t bytes = 0, n = 0;
	struct vmop_error *err = vmop_page_rows_init(&section->rows, section->tree,
						     section->options->event, MAX_ROWS);
	if (err)
		return err;
	for (; n < section->rows.n_kept && bytes < section->options->max_bytes / 3; n++) {
		struct vmop_frame *frame = row_frame(section, n);
		bytes += ITEM_BYTES + len_of(vmop_frame_symbol_name(result, frame)) +
			 len_of(image_of(section, frame));
	}
	vmop_page_rows_cut(&section->rows, section->tree->n_nodes, n);
	return NULL;
}

/* ---- bills ------------------------------------------------------------------------- */

/* A domain and its weight. */
struct billed {
	uint32_t domain;
	struct vmop_count count;
};

static int compare_billed(const void *a, const void *b)
{
	const struct billed *x = a, *y = b;
	if (x->count.weight_events != y->count.weight_events)
		return x->count.weight_events < y->count.weight_events ? 1 : -1;
	if (x->count.samples != y->count.samples)
		return x->count.samples < y->count.samples ? 1 : -1;
	return (x->domain > y->domain) - (x->domain < y->domain);
}

/* Set rank_of[domain] to the number of the domain's bill. */
static struct vmop_error *rank_domains(struct section *section, uint32_t *rank_of)
{
	const struct vmop_time_counts *bills = &section->tree->bills;
	size_t n_domains = section->tree->result->catalog.domains.n, n = 0;
	_cleanup_free_ struct billed *billed = calloc(n_domains + 1, sizeof(*billed));
	if (!billed)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < bills->n; i++) {
		const struct vmop_time_count *item = &bills->items[i];
		uint32_t domain = item->key / VMOP_N_PARTS;
		if (item->slot != section->options->event)
			continue;
		if (!n || billed[n - 1].domain != domain) /* keys ascend */
			billed[n++] = (struct billed){.domain = domain};
		vmop_count_add(&billed[n - 1].count, item->count.samples,
			       item->count.weight_events);
	}
	if (n > 1)
		qsort(billed, n, sizeof(*billed), compare_billed);
	section->n_domains = n < DOMAINS_MAX ? n : DOMAINS_MAX;
	section->n_others = n > DOMAINS_MAX ? n - DOMAINS_MAX + 1 : 0;
	for (size_t i = 0; i < n; i++) {
		rank_of[billed[i].domain] = (uint32_t)(i < DOMAINS_MAX ? i : DOMAINS_MAX - 1);
		if (i < DOMAINS_MAX)
			section->domains[i] = billed[i].domain;
	}
	return NULL;
}

/* Return the span of a bill's item among the spans of the nodes, which can be longer. */
static size_t find_span(const struct section *section, const struct vmop_time_count *item)
{
	const struct vmop_time_counts *times = &section->tree->times;
	uint64_t span = item->span * section->tree->bills.len_ns / times->len_ns;
	return span < times->n_spans ? (size_t)span : times->n_spans - 1;
}

static struct vmop_error *count_bills(struct section *section)
{
	const struct vmop_time_counts *bills = &section->tree->bills;
	_cleanup_free_ uint32_t *rank_of =
		calloc(section->tree->result->catalog.domains.n + 1, sizeof(*rank_of));
	struct vmop_error *err = rank_of ? rank_domains(section, rank_of) : &vmop_error_no_memory;
	if (!err)
		err = vmop_histogram_init(&section->bill_times, section->n_domains * VMOP_N_PARTS,
					  section->tree->times.n_spans);
	for (size_t i = 0; i < bills->n && !err; i++) {
		const struct vmop_time_count *item = &bills->items[i];
		if (item->slot == section->options->event)
			vmop_histogram_add(&section->bill_times,
					   rank_of[item->key / VMOP_N_PARTS] * VMOP_N_PARTS +
						   item->key % VMOP_N_PARTS,
					   find_span(section, item), item->count);
	}
	return err;
}

/* ---- times ------------------------------------------------------------------------- */

static struct vmop_error *count_times(struct section *section)
{
	const struct vmop_call_tree *tree = section->tree;
	const struct vmop_time_counts *times = &tree->times;
	_cleanup_free_ uint32_t *box_of = calloc(tree->n_nodes, sizeof(*box_of));
	struct vmop_error *err = box_of ? find_boxes(section, box_of) : &vmop_error_no_memory;
	if (!err)
		err = vmop_histogram_init(&section->box_times, section->boxes.n, times->n_spans);
	if (!err)
		err = vmop_histogram_init(&section->row_times, section->rows.n_kept,
					  times->n_spans);
	for (size_t i = 0; i < times->n && !err; i++) {
		const struct vmop_time_count *item = &times->items[i];
		uint32_t row = section->rows.row_of[item->key];
		if (item->slot != section->options->event)
			continue;
		vmop_histogram_add(&section->box_times, box_of[item->key], item->span, item->count);
		if (row != VMOP_NO_FRAME)
			vmop_histogram_add(&section->row_times, row, item->span, item->count);
	}
	return err;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* Find the unit of the weights, and whether each sample has the same weight. */
static void find_unit(struct section *section)
{
	const struct vmop_time_counts *times = &section->tree->times;
	bool is_fixed = true;
	for (size_t i = 0; i < times->n; i++) {
		const struct vmop_count *count = &times->items[i].count;
		if (times->items[i].slot != section->options->event || !count->samples)
			continue;
		if (!section->sample_weight)
			section->sample_weight = count->weight_events / count->samples;
		is_fixed &= count->weight_events == section->sample_weight * count->samples;
		section->unit = common_divisor(section->unit, count->weight_events);
	}
	if (is_fixed)
		section->unit = 0;
	else if (!section->unit)
		section->unit = 1;
}

/* Add the texts of boxes and rows.  *ret_bytes: what these take as written, without times. */
static struct vmop_error *add_texts(struct section *section, size_t *ret_bytes)
{
	struct vmop_result *result = section->tree->result;
	size_t before = section->texts->bytes;
	struct vmop_error *err = NULL;
	uint32_t number;
	for (size_t i = 0; i < section->boxes.n && !err; i++)
		if (!section->boxes.boxes[i].n_summed)
			err = vmop_page_texts_add(section->texts,
						  box_name(section, section->boxes.boxes[i].node),
						  &number);
	for (size_t i = 0; i < section->rows.n_kept && !err; i++) {
		struct vmop_frame *frame = row_frame(section, i);
		err = vmop_page_texts_add(section->texts, vmop_frame_symbol_name(result, frame),
					  &number);
		if (!err)
			err = vmop_page_texts_add(section->texts, image_of(section, frame),
						  &number);
	}
	*ret_bytes = section->texts->bytes - before +
		     ITEM_BYTES * (section->boxes.n + section->rows.n_kept);
	return err;
}

/* Make the spans longer until the times fit beside other_bytes. */
static void fit_times(struct section *section, size_t other_bytes)
{
	size_t all_bytes = section->options->max_bytes, least_bytes = all_bytes / 3;
	size_t max_bytes =
		other_bytes < all_bytes - least_bytes ? all_bytes - other_bytes : least_bytes;
	section->span_ns = section->tree->times.len_ns;
	section->extents = section->tree->times.extents;
	while (section->row_times.n_spans > 1 &&
	       vmop_histogram_bytes(&section->box_times, section->unit) +
			       vmop_histogram_bytes(&section->row_times, section->unit) +
			       vmop_histogram_bytes(&section->bill_times, section->unit) >
		       max_bytes) {
		vmop_time_extents_halve(&section->extents, section->row_times.n_spans);
		vmop_histogram_halve(&section->box_times);
		vmop_histogram_halve(&section->row_times);
		vmop_histogram_halve(&section->bill_times);
		section->span_ns *= 2;
	}
	vmop_time_extents_part(&section->extents, section->row_times.n_spans,
			       section->tree->times.start_ns, section->span_ns);
}

/* ---- writing ----------------------------------------------------------------------- */

static struct vmop_error *write_text(struct section *section, const char *text)
{
	uint32_t number = 0;
	struct vmop_error *err = vmop_page_texts_add(section->texts, text, &number);
	vmop_json_writer_number(section->writer, number);
	return err;
}

static void write_count(struct section *section, const struct vmop_count *count)
{
	vmop_json_writer_number(section->writer, count->samples);
	vmop_json_writer_number(section->writer, count->weight_events);
}

/* [parent, name, image, kind, samples, weight, times]; kind -1: small frames, image their number */
static struct vmop_error *write_box(struct section *section, size_t i)
{
	const struct vmop_flame_box *box = &section->boxes.boxes[i];
	const struct vmop_frame *frame =
		box->node ? vmop_call_tree_frame(section->tree, box->node) : NULL;
	struct vmop_json_writer *writer = section->writer;
	struct vmop_error *err = NULL;
	vmop_json_writer_begin(writer, '[');
	vmop_json_writer_number(writer, section->parents[i]);
	if (box->n_summed) {
		err = write_text(section, "");
		vmop_json_writer_number(writer, box->n_summed);
		vmop_json_writer_real(writer, -1);
	} else {
		err = write_text(section, box_name(section, box->node));
		if (!err)
			err = write_text(section, frame ? image_of(section, frame) : "");
		vmop_json_writer_number(writer, frame ? frame->key.kind : VMOP_FRAME_SESSION);
	}
	write_count(section, &section->owns[i]);
	vmop_histogram_write(&section->box_times, i, section->unit, writer);
	vmop_json_writer_end(writer, ']');
	return err;
}

/* [domain, symbol, image, kind, samples, weight, total samples, total weight, times] */
static struct vmop_error *write_row(struct section *section, size_t i)
{
	struct vmop_result *result = section->tree->result;
	const struct vmop_page_row *row = &section->rows.items[i];
	struct vmop_frame *frame = row_frame(section, i);
	const char *domain =
		row->domain == VMOP_NO_FRAME
			? ""
			: vmop_frame_name(result, &section->tree->frames.items[row->domain]);
	vmop_json_writer_begin(section->writer, '[');
	struct vmop_error *err = write_text(section, domain);
	if (!err)
		err = write_text(section, vmop_frame_symbol_name(result, frame));
	if (!err)
		err = write_text(section, image_of(section, frame));
	vmop_json_writer_number(section->writer, frame->key.kind);
	write_count(section, &row->self);
	write_count(section, &row->total);
	vmop_histogram_write(&section->row_times, i, section->unit, section->writer);
	vmop_json_writer_end(section->writer, ']');
	return err;
}

/* [domain, times of each part of its bill] */
static struct vmop_error *write_bill(struct section *section, size_t i)
{
	char others[48];
	const char *name =
		vmop_catalog_domain(&section->tree->result->catalog, section->domains[i])->name;
	if (section->n_others && i == DOMAINS_MAX - 1) {
		snprintf(others, sizeof(others), "%zu other domains", section->n_others);
		name = others;
	}
	vmop_json_writer_begin(section->writer, '[');
	struct vmop_error *err = write_text(section, name);
	for (size_t part = 0; part < VMOP_N_PARTS; part++)
		vmop_histogram_write(&section->bill_times, i * VMOP_N_PARTS + part, section->unit,
				     section->writer);
	vmop_json_writer_end(section->writer, ']');
	return err;
}

static struct vmop_error *write_list(struct section *section, const char *name, size_t n,
				     struct vmop_error *(*write)(struct section *section, size_t i))
{
	struct vmop_error *err = NULL;
	vmop_json_writer_name(section->writer, name);
	vmop_json_writer_begin(section->writer, '[');
	for (size_t i = 0; i < n && !err; i++)
		err = write(section, i);
	vmop_json_writer_end(section->writer, ']');
	return err;
}

/* [from, to, from, to, ...] by span, in ms since the first span's start */
static void write_extents(struct section *section)
{
	uint64_t start_ns = section->tree->times.start_ns;
	vmop_json_writer_name(section->writer, "extents_ms");
	vmop_json_writer_begin(section->writer, '[');
	for (size_t i = 0; i < section->row_times.n_spans; i++) {
		const struct vmop_time_extent *extent = &section->extents.spans[i];
		vmop_json_writer_number(section->writer,
					vmop_clock_between_ns(start_ns, extent->from_ns) /
						VMOP_NS_PER_MS);
		vmop_json_writer_number(section->writer,
					vmop_clock_between_ns(start_ns, extent->to_ns) /
						VMOP_NS_PER_MS);
	}
	vmop_json_writer_end(section->writer, ']');
}

static struct vmop_error *write_section(struct section *section)
{
	struct vmop_json_writer *writer = section->writer;
	const struct vmop_count *all =
		&vmop_call_tree_total(section->tree, 0)[section->options->event];
	vmop_json_writer_begin(writer, '{');
	vmop_json_writer_text_member(writer, "label", section->event->label);
	vmop_json_writer_text_member(writer, "unit", section->event->unit);
	vmop_json_writer_text_member(writer, "note", section->event->note);
	vmop_json_writer_number_member(writer, "samples", all->samples);
	vmop_json_writer_number_member(writer, "weight", all->weight_events);
	vmop_json_writer_number_member(writer, "spans", section->row_times.n_spans);
	vmop_json_writer_number_member(writer, "span_s", section->span_ns / VMOP_NS_PER_S);
	write_extents(section);
	vmop_json_writer_number_member(writer, "weight_unit", section->unit);
	vmop_json_writer_number_member(writer, "sample_weight", section->sample_weight);
	vmop_json_writer_number_member(writer, "n_rows", section->rows.n);
	vmop_json_writer_number_member(writer, "rest_samples", section->rows.rest.samples);
	vmop_json_writer_number_member(writer, "rest_weight", section->rows.rest.weight_events);
	vmop_json_writer_number_member(writer, "n_hidden_frames", section->boxes.n_hidden);
	struct vmop_error *err = write_list(section, "bills", section->n_domains, write_bill);
	if (!err)
		err = write_list(section, "rows", section->rows.n_kept, write_row);
	if (!err)
		err = write_list(section, "boxes", section->boxes.n, write_box);
	vmop_json_writer_end(writer, '}');
	return err;
}

struct vmop_error *vmop_page_section_write(struct vmop_call_tree *tree,
					   const struct vmop_page_section_options *options,
					   struct vmop_page_texts *texts,
					   struct vmop_json_writer *writer)
{
	struct section section = {
		.tree = tree,
		.options = options,
		.texts = texts,
		.writer = writer,
		.event = vmop_result_event(tree->result, options->event),
	};
	struct vmop_error *err = lay_out(&section);
	if (!err)
		err = make_rows(&section);
	if (!err)
		err = count_bills(&section);
	if (!err)
		err = count_times(&section);
	size_t other_bytes = 0;
	if (!err)
		err = add_texts(&section, &other_bytes);
	if (!err) {
		find_unit(&section);
		fit_times(&section, other_bytes + EXTENT_BYTES * section.row_times.n_spans);
		err = write_section(&section);
	}
	vmop_flame_layout_deinit(&section.boxes);
	vmop_page_rows_deinit(&section.rows);
	vmop_histogram_deinit(&section.box_times);
	vmop_histogram_deinit(&section.row_times);
	vmop_histogram_deinit(&section.bill_times);
	free(section.parents);
	free(section.owns);
	return err;
}
