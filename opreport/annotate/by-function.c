// SPDX-License-Identifier: GPL-2.0-or-later
/* Make a block for each function. */
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/progress.h"
#include "opreport/annotate/annotation.h"
#include "opreport/annotate/open-fields.h"
#include "opreport/query/idle.h"

/* The most bytes of a function that are disassembled. */
enum { FUNCTION_MAX_BYTES = 1 << 20 };

/* Shown around the samples of code whose function is not known, or has no end. */
enum { UNKNOWN_END_BYTES = 256 };

struct making {
	struct vmop_annotation *annotation;
	const struct vmop_annotation_options *options;
	struct vmop_disassembler *disassemblers[VMOP_MACHINE_ARM64 + 1];
	/* The function that is being made. */
	const struct vmop_row *row;
	struct vmop_code_bytes code;
	uint64_t start;		     /* offset of code in the image */
	size_t next_detail;	     /* in the row */
	struct vmop_code_place last; /* of the instruction before */
	struct vmop_count *run;	     /* the counts of the last source line */
};

/* ---- lines of a function ---------------------------------------------------- */

struct line_hit {
	struct vmop_code_place place;
	const struct vmop_count *counts;
};

static int compare_texts(const char *a, const char *b)
{
	return !a || !b ? !!a - !!b : strcmp(a, b);
}

static int compare_lines(const void *a, const void *b)
{
	const struct line_hit *x = a, *y = b;
	if (x->place.file != y->place.file)
		return x->place.file < y->place.file ? -1 : 1;
	if (x->place.line != y->place.line)
		return x->place.line < y->place.line ? -1 : 1;
	return compare_texts(x->place.inlined, y->place.inlined);
}

static struct vmop_error *add_line(struct vmop_annotation *annotation, const struct line_hit *hits,
				   size_t n)
{
	struct vmop_sources *sources = annotation->places->sources;
	const struct vmop_code_place *place = &hits->place;
	struct vmop_count *counts;
	struct vmop_error *err = vmop_sources_load(sources, place->file);
	if (!err)
		err = vmop_annotation_new_counts(annotation, &counts);
	for (size_t i = 0; i < n && !err; i++)
		vmop_annotation_add_counts(annotation, counts, hits[i].counts);
	if (err)
		return err;
	return vmop_annotation_add_note(
		annotation,
		&(const struct vmop_note){
			.text = vmop_source_line(&sources->files[place->file], place->line),
			.file = place->file,
			.line = place->line,
			.inlined = place->inlined,
			.counts = counts});
}

static struct vmop_error *add_lines(struct making *making)
{
	struct vmop_annotation *annotation = making->annotation;
	const struct vmop_row *row = making->row;
	_cleanup_free_ struct line_hit *hits = calloc(row->n_details + 1, sizeof(*hits));
	struct vmop_error *err = NULL;
	if (!hits)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < row->n_details; i++)
		hits[i] = (struct line_hit){
			annotation->places->details[row->first_detail + i],
			annotation->result->details[row->first_detail + i].counts};
	qsort(hits, row->n_details, sizeof(*hits), compare_lines);
	for (size_t i = 0, end; i < row->n_details && !err; i = end) {
		for (end = i + 1; end < row->n_details && !compare_lines(&hits[i], &hits[end]);)
			end++;
		const struct vmop_source_file *file =
			&annotation->places->sources->files[hits[i].place.file];
		if (vmop_annotation_shows(making->options, file))
			err = add_line(annotation, &hits[i], end - i);
	}
	return err;
}

/* ---- instructions of a function --------------------------------------------- */

static const struct vmop_detail *detail_of(const struct making *making, size_t index)
{
	return &making->annotation->result->details[making->row->first_detail + index];
}

static uint64_t offset_of(const struct making *making, size_t index)
{
	return vmop_code_place_offset(making->annotation->result, making->row,
				      detail_of(making, index)->address);
}

/* Set the range of the row's code: that of its symbol or, without one, around its samples. */
static struct vmop_error *find_range(const struct making *making, uint64_t *ret_start,
				     uint64_t *ret_end)
{
	const struct vmop_row *row = making->row;
	const struct vmop_symtab *symtab = NULL;
	const char *why;
	uint64_t first = offset_of(making, 0);
	uint64_t last = offset_of(making, row->n_details - 1);
	*ret_start = first;
	if (__builtin_add_overflow(last, 16, ret_end))
		*ret_end = UINT64_MAX;
	if (!row->symbol || row->symbol == &vmop_idle_symbol)
		return NULL;
	struct vmop_error *err = vmop_symbols_of(making->annotation->result->symbols,
						 vmop_code_place_image(row), &symtab, &why);
	if (err || !symtab)
		return err;
	struct vmop_symtab_run run = vmop_symtab_find_run(symtab, first);
	*ret_start = run.start;
	*ret_end = run.end;
	if (run.end - run.start > FUNCTION_MAX_BYTES && !run.symbol->len_bytes &&
	    __builtin_add_overflow(last, UNKNOWN_END_BYTES, ret_end))
		*ret_end = UINT64_MAX;
	return NULL;
}

/* Add the counts of the details before an offset. NULL: none. */
static struct vmop_error *take_details(struct making *making, uint64_t end, struct vmop_count **ret)
{
	struct vmop_error *err = NULL;
	*ret = NULL;
	for (; making->next_detail < making->row->n_details && !err; making->next_detail++) {
		if (offset_of(making, making->next_detail) >= end)
			break;
		if (!*ret)
			err = vmop_annotation_new_counts(making->annotation, ret);
		if (!err)
			vmop_annotation_add_counts(making->annotation, *ret,
						   detail_of(making, making->next_detail)->counts);
	}
	return err;
}

/* Add the source line of an instruction, unless the one before has the same. */
static struct vmop_error *add_source_line(struct making *making,
					  const struct vmop_code_place *place)
{
	struct vmop_annotation *annotation = making->annotation;
	struct vmop_sources *sources = annotation->places->sources;
	bool is_same =
		making->run && place->file == making->last.file && place->line == making->last.line;
	making->last = *place;
	if (is_same || !making->options->source)
		return NULL;
	struct vmop_error *err = vmop_sources_load(sources, place->file);
	if (!err)
		err = vmop_annotation_new_counts(annotation, &making->run);
	if (err || !place->file)
		return err;
	return vmop_annotation_add_note(
		annotation,
		&(const struct vmop_note){
			.text = vmop_source_line(&sources->files[place->file], place->line),
			.file = place->file,
			.line = place->line,
			.counts = making->run});
}

/* Add an instruction, or a sampled address without one, with the samples before `end`. */
static struct vmop_error *add_code(struct making *making, uint64_t offset, uint64_t end,
				   const char *text)
{
	struct vmop_annotation *annotation = making->annotation;
	struct vmop_note note = {.is_code = true,
				 .address = vmop_row_image(annotation->result, making->row)->base +
					    offset};
	struct vmop_count *counts;
	struct vmop_code_place place;
	struct vmop_error *err =
		vmop_code_places_find(annotation->places, making->row, offset, &place);
	if (!err)
		err = add_source_line(making, &place);
	if (!err && text)
		err = vmop_annotation_text(annotation, &note.text, "%s", text);
	if (!err)
		err = take_details(making, end, &counts);
	if (err)
		return err;
	if (counts && making->run)
		vmop_annotation_add_counts(annotation, making->run, counts);
	note.counts = counts;
	note.file = place.file;
	note.line = place.line;
	note.inlined = place.inlined;
	return vmop_annotation_add_note(annotation, &note);
}

/* Add the sampled addresses before an offset, where no bytes are known. */
static struct vmop_error *add_addresses(struct making *making, uint64_t end)
{
	struct vmop_error *err = NULL;
	while (making->next_detail < making->row->n_details && !err) {
		uint64_t offset = offset_of(making, making->next_detail);
		if (offset >= end)
			break;
		err = add_code(making, offset, offset + 1, NULL);
	}
	return err;
}

static struct vmop_error *find_disassembler(struct making *making, struct vmop_disassembler **ret)
{
	struct vmop_disassembler **have = &making->disassemblers[making->code.machine];
	struct vmop_error *err = NULL;
	if (!*have)
		err = vmop_disassembler_create(making->code.machine, making->options->syntax, have);
	*ret = *have;
	return err;
}

/* Return the number of bytes from `at` on that are known, or that are not. */
static size_t stretch(const struct vmop_code_bytes *code, size_t at)
{
	size_t end = at;
	while (end < code->len_bytes && code->is_known[end] == code->is_known[at])
		end++;
	return end - at;
}

/* Add an instruction, with the name of what its first open field refers to. */
static struct vmop_error *add_instruction(struct making *making,
					  const struct vmop_instruction *instruction, uint64_t base)
{
	const struct vmop_code_bytes *code = &making->code;
	uint64_t offset = instruction->address - base, end = offset + instruction->len_bytes;
	const char *text = instruction->text;
	struct vmop_code_field field;
	struct vmop_error *err = NULL;
	if (code->n_open &&
	    vmop_code_images_field(making->annotation->places->images,
				   vmop_code_place_image(making->row), offset, end, &field) &&
	    code->is_open[field.offset - making->start])
		err = vmop_open_field_text(making->annotation, instruction, &field, base, &text);
	return err ? err : add_code(making, offset, end, text);
}

static struct vmop_error *disassemble(struct making *making, struct vmop_disassembler *with)
{
	const struct vmop_code_bytes *code = &making->code;
	uint64_t base = vmop_row_image(making->annotation->result, making->row)->base;
	struct vmop_error *err = add_addresses(making, making->start);
	for (size_t at = 0, end; at < code->len_bytes && !err; at = end) {
		struct vmop_instruction instruction;
		end = at + stretch(code, at);
		while (code->is_known[at] && at < end && !err) {
			vmop_disassembler_next(with, code->bytes + at, end - at,
					       base + making->start + at, &instruction);
			at += instruction.len_bytes;
			err = add_instruction(making, &instruction, base);
		}
		if (!err)
			err = add_addresses(making, making->start + end);
	}
	return err ? err : add_addresses(making, UINT64_MAX);
}

/* Return where the known bytes come from, or NULL: only from a file that is complete. */
static const char *origin_of(const struct vmop_code_bytes *code)
{
	if (!code->n_stored && code->n_open)
		return "the code of the module's file: names stand for addresses that the kernel "
		       "filled in, and the kernel may have patched other code";
	if (!code->n_stored)
		return NULL;
	if (code->has_changed)
		return "the code was replaced while it was recorded: this is the last version, and "
		       "samples may be of earlier ones";
	if (!code->has_file)
		return "the code as it was in memory, stored with the samples";
	return code->n_differing ? "the code as it was in memory, which differs from the file's"
				 : "the code as it was in memory, the same as in the file";
}

static struct vmop_error *remark_on_code(struct making *making)
{
	struct vmop_annotation *annotation = making->annotation;
	struct vmop_block *block = &annotation->blocks[annotation->n_blocks - 1];
	const struct vmop_code_bytes *code = &making->code;
	const char *origin = code->n_known ? origin_of(code) : NULL;
	const char *missing = code->n_known ? "some code is not known" : "no code";
	block->remark = origin;
	if (code->n_known == code->len_bytes)
		return NULL;
	return vmop_annotation_text(annotation, &block->remark, "%s%s%s: %s", origin ? origin : "",
				    origin ? "; " : "", missing, code->why ? code->why : "unknown");
}

static struct vmop_error *add_instructions(struct making *making)
{
	struct vmop_annotation *annotation = making->annotation;
	struct vmop_disassembler *with;
	uint64_t end;
	making->next_detail = 0;
	making->run = NULL;
	struct vmop_error *err = find_range(making, &making->start, &end);
	uint64_t len_bytes = end - making->start;
	if (len_bytes > FUNCTION_MAX_BYTES)
		len_bytes = FUNCTION_MAX_BYTES;
	if (!err)
		err = vmop_code_images_read(annotation->places->images,
					    vmop_code_place_image(making->row), making->start,
					    (size_t)len_bytes, &making->code);
	if (err)
		return err;
	if (making->code.machine == VMOP_MACHINE_OTHER && making->code.n_known) {
		making->code.n_known = 0;
		making->code.why = "code is disassembled for x86-64 and arm64 only";
	}
	err = remark_on_code(making);
	if (!err && making->code.n_known)
		err = find_disassembler(making, &with);
	if (!err)
		err = making->code.n_known ? disassemble(making, with)
					   : add_addresses(making, UINT64_MAX);
	vmop_code_bytes_deinit(&making->code);
	return err;
}

/* ---- all functions ---------------------------------------------------------- */

static struct vmop_error *add_function(struct making *making, const struct vmop_row *row)
{
	struct vmop_block *block;
	struct vmop_error *err = vmop_annotation_add_block(making->annotation, &block);
	if (err)
		return err;
	block->row = making->row = row;
	block->counts = row->counts;
	if (!row->n_details)
		return NULL;
	return making->options->assembly ? add_instructions(making) : add_lines(making);
}

struct vmop_error *vmop_annotation_by_function(struct vmop_annotation *annotation,
					       struct vmop_code_places *places,
					       const struct vmop_annotation_options *options)
{
	struct making making = {.annotation = annotation, .options = options};
	struct vmop_result *result = places->result;
	struct vmop_progress progress;
	struct vmop_error *err = NULL;
	*annotation = (struct vmop_annotation){.result = result, .places = places};
	vmop_progress_begin(&progress, "annotating functions", result->n_rows);
	for (size_t i = 0; i < result->n_rows && !err; i++) {
		err = add_function(&making, &result->rows[i]);
		vmop_progress_step(&progress, i + 1);
	}
	vmop_progress_end(&progress);
	for (size_t i = 0; i <= VMOP_MACHINE_ARM64; i++)
		vmop_disassembler_destroy(making.disassemblers[i]);
	return err;
}
