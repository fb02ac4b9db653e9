// SPDX-License-Identifier: GPL-2.0-or-later
/* Make a block for each source file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "opreport/annotate/annotation.h"
#include "opreport/arrange/rows.h"

/* Functions that the line above a file names. */
enum { FUNCTIONS_NAMED = 4 };

/* A sampled address in its file. */
struct hit {
	uint32_t file, line, row;
	const struct vmop_count *counts;
};

/* The counts of a file, and its hits: [first, end). */
struct file_sum {
	uint32_t file;
	size_t first, end;
	struct vmop_count *counts;
};

struct making {
	struct vmop_annotation *annotation;
	const struct vmop_annotation_options *options;
	struct hit *hits;
	size_t n_hits;
	struct file_sum *files;
	size_t n_files;
};

static int compare_hits(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static int compare_rows(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;
	return (x->row > y->row) - (x->row < y->row);
}

/* Descending by the first event's weight; samples without a file are last. */
static int compare_files(const void *a, const void *b, void *arg)
{
	const struct file_sum *x = a, *y = b;
	size_t n_events = *(const size_t *)arg;
	if (!x->file != !y->file)
		return !x->file - !y->file;
	for (size_t e = 0; e < n_events; e++)
		if (x->counts[e].weight_events != y->counts[e].weight_events)
			return x->counts[e].weight_events < y->counts[e].weight_events ? 1 : -1;
	return (x->file > y->file) - (x->file < y->file);
}

static struct vmop_error *list_hits(struct making *making)
{
	const struct vmop_result *result = making->annotation->result;
	making->hits = calloc(result->n_details + 1, sizeof(*making->hits));
	if (!making->hits)
		return &vmop_error_no_memory;
	for (size_t r = 0; r < result->n_rows; r++) {
		const struct vmop_row *row = &result->rows[r];
		for (size_t d = row->first_detail; d < row->first_detail + row->n_details; d++) {
			const struct vmop_code_place *place =
				&making->annotation->places->details[d];
			making->hits[making->n_hits++] = (struct hit){
				place->file, place->line, (uint32_t)r, result->details[d].counts};
		}
	}
	qsort(making->hits, making->n_hits, sizeof(*making->hits), compare_hits);
	return NULL;
}

static struct vmop_error *list_files(struct making *making)
{
	struct vmop_annotation *annotation = making->annotation;
	struct vmop_error *err = NULL;
	making->files = calloc(making->n_hits + 1, sizeof(*making->files));
	if (!making->files)
		return &vmop_error_no_memory;
	for (size_t i = 0, end; i < making->n_hits && !err; i = end) {
		struct file_sum *sum = &making->files[making->n_files];
		*sum = (struct file_sum){.file = making->hits[i].file, .first = i};
		err = vmop_annotation_new_counts(annotation, &sum->counts);
		for (end = i; end < making->n_hits && making->hits[end].file == sum->file; end++)
			if (!err)
				vmop_annotation_add_counts(annotation, sum->counts,
							   making->hits[end].counts);
		sum->end = end;
		making->n_files += vmop_annotation_shows(
			making->options, &annotation->places->sources->files[sum->file]);
	}
	size_t n_events = annotation->result->n_events;
	qsort_r(making->files, making->n_files, sizeof(*making->files), compare_files, &n_events);
	return err;
}

/* ---- the functions of a file ------------------------------------------------ */

struct function {
	uint32_t row;
	struct vmop_count count; /* of the first event */
};

static int compare_functions(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	if (x->count.weight_events != y->count.weight_events)
		return x->count.weight_events < y->count.weight_events ? 1 : -1;
	return (x->row > y->row) - (x->row < y->row);
}

/* Write "multiply 80.00 %, main 7.12 %, and 3 more". */
static struct vmop_error *name_functions(struct making *making, const struct function *functions,
					 size_t n, const char **ret)
{
	struct vmop_result *result = making->annotation->result;
	_cleanup_free_ char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < n && i < FUNCTIONS_NAMED; i++)
		fprintf(out, "%s%s %.2f %%", i ? ", " : "",
			vmop_result_symbol_name(result, &result->rows[functions[i].row]),
			vmop_share_percent(functions[i].count, result->base[0]));
	if (n > FUNCTIONS_NAMED)
		fprintf(out, ", and %zu more", n - FUNCTIONS_NAMED);
	if (fclose(out))
		return &vmop_error_no_memory;
	return vmop_annotation_text(making->annotation, ret, "%s", text);
}

static struct vmop_error *find_functions(struct making *making, const struct file_sum *sum,
					 const char **ret)
{
	size_t n_hits = sum->end - sum->first, n = 0;
	_cleanup_free_ struct hit *hits = calloc(n_hits, sizeof(*hits));
	_cleanup_free_ struct function *functions = calloc(n_hits, sizeof(*functions));
	if (!hits || !functions)
		return &vmop_error_no_memory;
	memcpy(hits, making->hits + sum->first, n_hits * sizeof(*hits));
	qsort(hits, n_hits, sizeof(*hits), compare_rows);
	for (size_t i = 0; i < n_hits; i++) {
		if (!i || hits[i].row != hits[i - 1].row)
			functions[n++].row = hits[i].row;
		vmop_count_add(&functions[n - 1].count, hits[i].counts[0].samples,
			       hits[i].counts[0].weight_events);
	}
	qsort(functions, n, sizeof(*functions), compare_functions);
	return name_functions(making, functions, n, ret);
}

/* ---- blocks ----------------------------------------------------------------- */

/* Add the lines up to `line`, which have no samples. */
static struct vmop_error *add_cold_lines(struct making *making, uint32_t number, uint32_t first,
					 uint32_t end)
{
	const struct vmop_source_file *file = &making->annotation->places->sources->files[number];
	struct vmop_error *err = NULL;
	for (uint32_t line = first; line < end && line <= file->n_lines && !err; line++)
		err = vmop_annotation_add_note(
			making->annotation,
			&(const struct vmop_note){.text = vmop_source_line(file, line),
						  .file = number,
						  .line = line});
	return err;
}

/* Add hits[*at] and those of the same line as one note. */
static struct vmop_error *add_hot_line(struct making *making, const struct file_sum *sum,
				       size_t *at)
{
	struct vmop_annotation *annotation = making->annotation;
	const struct hit *first = &making->hits[*at];
	struct vmop_count *counts;
	struct vmop_error *err = vmop_annotation_new_counts(annotation, &counts);
	for (; !err && *at < sum->end && making->hits[*at].line == first->line; ++*at)
		vmop_annotation_add_counts(annotation, counts, making->hits[*at].counts);
	if (err)
		return err;
	const struct vmop_source_file *file = &annotation->places->sources->files[sum->file];
	return vmop_annotation_add_note(
		annotation, &(const struct vmop_note){.text = vmop_source_line(file, first->line),
						      .file = sum->file,
						      .line = first->line,
						      .counts = counts});
}

static struct vmop_error *add_lines(struct making *making, const struct file_sum *sum)
{
	uint32_t next = 1;
	struct vmop_error *err = NULL;
	for (size_t at = sum->first; at < sum->end && !err;) {
		uint32_t line = making->hits[at].line;
		err = add_cold_lines(making, sum->file, next, line);
		if (!err)
			err = add_hot_line(making, sum, &at);
		next = line + 1;
	}
	return err ? err : add_cold_lines(making, sum->file, next, UINT32_MAX);
}

static struct vmop_error *remark(struct making *making, const struct file_sum *sum,
				 struct vmop_block *block)
{
	const struct vmop_source_file *file =
		&making->annotation->places->sources->files[sum->file];
	if (file->why)
		return vmop_annotation_text(making->annotation, &block->remark, "no source: %s",
					    file->why);
	uint32_t last = making->hits[sum->end - 1].line;
	if (last > file->n_lines)
		return vmop_annotation_text(making->annotation, &block->remark,
					    "another version: the program has samples in line "
					    "%u, the file ends at line %zu",
					    last, file->n_lines);
	if (file->is_newer)
		block->remark = "the file was changed after the recording began: lines may differ";
	return NULL;
}

static struct vmop_error *add_file(struct making *making, const struct file_sum *sum)
{
	struct vmop_annotation *annotation = making->annotation;
	struct vmop_block *block;
	struct vmop_error *err = vmop_sources_load(annotation->places->sources, sum->file);
	if (!err)
		err = vmop_annotation_add_block(annotation, &block);
	if (err)
		return err;
	block->file = sum->file;
	block->counts = sum->counts;
	err = find_functions(making, sum, &block->functions);
	if (!err)
		err = remark(making, sum, block);
	return err ? err : add_lines(making, sum);
}

static size_t image_of(const struct vmop_result *result, const struct hit *hit)
{
	return vmop_code_place_image(&result->rows[hit->row]);
}

static int compare_images(const void *a, const void *b, void *arg)
{
	const struct vmop_result *result = arg;
	size_t x = image_of(result, a), y = image_of(result, b);
	return x != y ? (x > y) - (x < y) : compare_rows(a, b);
}

/* Add a block for hits in one image whose lines are not known. */
static struct vmop_error *add_image(struct making *making, const struct file_sum *sum)
{
	struct vmop_annotation *annotation = making->annotation;
	size_t row = making->hits[sum->first].row;
	struct vmop_block *block;
	struct vmop_error *err = vmop_annotation_add_block(annotation, &block);
	if (err)
		return err;
	block->row = &annotation->result->rows[row];
	block->is_image = true;
	block->counts = sum->counts;
	const char *why = vmop_code_images_no_lines(annotation->places->images,
						    vmop_code_place_image(block->row));
	err = vmop_annotation_text(annotation, &block->remark, "no source lines: %s",
				   why ? why : "its line table has none for these samples");
	return err ? err : find_functions(making, sum, &block->functions);
}

/* Add a block for each image with samples whose line is not known, the heaviest first. */
static struct vmop_error *add_without_lines(struct making *making, const struct file_sum *sum)
{
	struct vmop_annotation *annotation = making->annotation;
	struct vmop_result *result = annotation->result;
	size_t n = 0, n_hits = sum->end - sum->first, n_events = result->n_events;
	_cleanup_free_ struct file_sum *images = calloc(n_hits, sizeof(*images));
	struct vmop_error *err = NULL;
	if (!images)
		return &vmop_error_no_memory;
	qsort_r(making->hits + sum->first, n_hits, sizeof(*making->hits), compare_images, result);
	for (size_t i = sum->first; i < sum->end && !err; i++) {
		const struct hit *hit = &making->hits[i];
		if (i == sum->first || image_of(result, hit) != image_of(result, hit - 1)) {
			images[n++].first = i;
			err = vmop_annotation_new_counts(annotation, &images[n - 1].counts);
		}
		images[n - 1].end = i + 1;
		if (!err)
			vmop_annotation_add_counts(annotation, images[n - 1].counts, hit->counts);
	}
	if (!err)
		qsort_r(images, n, sizeof(*images), compare_files, &n_events);
	for (size_t i = 0; i < n && !err; i++)
		err = add_image(making, &images[i]);
	return err;
}

static struct vmop_error *make(struct making *making)
{
	struct vmop_error *err = list_hits(making);
	if (!err)
		err = list_files(making);
	for (size_t i = 0; i < making->n_files && !err; i++) {
		const struct file_sum *sum = &making->files[i];
		err = sum->file ? add_file(making, sum) : add_without_lines(making, sum);
	}
	return err;
}

struct vmop_error *vmop_annotation_by_file(struct vmop_annotation *annotation,
					   struct vmop_code_places *places,
					   const struct vmop_annotation_options *options)
{
	struct making making = {.annotation = annotation, .options = options};
	*annotation = (struct vmop_annotation){.result = places->result, .places = places};
	struct vmop_error *err = make(&making);
	free(making.hits);
	free(making.files);
	return err;
}
