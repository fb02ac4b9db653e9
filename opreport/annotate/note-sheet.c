// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/annotate/note-sheet.h"

#include <stdlib.h>

#include "opreport/arrange/rows.h"

enum column_id {
	COLUMN_DOMAIN,
	COLUMN_IMAGE,
	COLUMN_SYMBOL,
	COLUMN_ADDRESS,
	COLUMN_INSTRUCTION,
	COLUMN_FILE,
	COLUMN_LINE,
	COLUMN_INLINED,
	COLUMN_SOURCE,
	N_NAME_COLUMNS,
	COLUMN_SAMPLES = N_NAME_COLUMNS,
	COLUMN_WEIGHT,
	COLUMN_PERCENT,
	N_EVENT_COLUMNS = 3,
};

/* A row of the sheet. */
struct line {
	uint32_t block, note;
};

struct vmop_note_sheet {
	struct vmop_annotation *annotation;
	struct vmop_column *columns;
	struct line *lines; /* n_rows */
	struct vmop_sheet sheet;
};

static void add_column(struct vmop_note_sheet *sheet, enum column_id id, const char *name,
		       enum vmop_value_type type, size_t event)
{
	sheet->columns[sheet->sheet.n_columns++] = (struct vmop_column){
		.name = name, .heading = name, .type = type, .id = (int)id, .event = event};
}

static struct vmop_error *add_event_columns(struct vmop_note_sheet *sheet, size_t event)
{
	static const char *const names[] = {"samples", "weight", "percent"};
	struct vmop_result *result = sheet->annotation->result;
	for (size_t i = 0; i < N_EVENT_COLUMNS; i++) {
		const char *name = names[i];
		struct vmop_error *err = NULL;
		if (result->n_events > 1)
			err = vmop_annotation_text(sheet->annotation, &name, "%s:%s", names[i],
						   vmop_result_event(result, event)->label);
		if (err)
			return err;
		add_column(sheet, COLUMN_SAMPLES + i, name,
			   COLUMN_SAMPLES + i == COLUMN_PERCENT ? VMOP_VALUE_PERCENT
								: VMOP_VALUE_COUNT,
			   event);
	}
	return NULL;
}

static struct vmop_error *add_columns(struct vmop_note_sheet *sheet, bool assembly)
{
	static const struct {
		enum column_id id;
		const char *name;
		enum vmop_value_type type;
	} names[] = {{COLUMN_DOMAIN, "domain", VMOP_VALUE_TEXT},
		     {COLUMN_IMAGE, "image", VMOP_VALUE_TEXT},
		     {COLUMN_SYMBOL, "symbol", VMOP_VALUE_TEXT},
		     {COLUMN_ADDRESS, "address", VMOP_VALUE_ADDRESS},
		     {COLUMN_INSTRUCTION, "instruction", VMOP_VALUE_TEXT},
		     {COLUMN_FILE, "file", VMOP_VALUE_TEXT},
		     {COLUMN_LINE, "line", VMOP_VALUE_COUNT},
		     {COLUMN_INLINED, "inlined", VMOP_VALUE_TEXT},
		     {COLUMN_SOURCE, "source", VMOP_VALUE_TEXT}};
	size_t n_events = sheet->annotation->result->n_events;
	struct vmop_error *err = NULL;
	sheet->columns =
		calloc(N_NAME_COLUMNS + N_EVENT_COLUMNS * n_events, sizeof(*sheet->columns));
	if (!sheet->columns)
		return &vmop_error_no_memory;
	for (size_t e = 0; e < n_events && !err; e++)
		err = add_event_columns(sheet, e);
	for (size_t i = 0; i < N_NAME_COLUMNS; i++)
		if (assembly ||
		    (names[i].id != COLUMN_ADDRESS && names[i].id != COLUMN_INSTRUCTION))
			add_column(sheet, names[i].id, names[i].name, names[i].type, 0);
	sheet->sheet.columns = sheet->columns;
	return err;
}

/* List the notes that are rows: instructions or, without them, source lines. */
static struct vmop_error *add_rows(struct vmop_note_sheet *sheet, bool assembly, uint64_t max_rows,
				   uint64_t *ret_n_left_out)
{
	const struct vmop_annotation *annotation = sheet->annotation;
	*ret_n_left_out = annotation->n_left_out;
	sheet->lines = calloc(annotation->n_notes + 1, sizeof(*sheet->lines));
	if (!sheet->lines)
		return &vmop_error_no_memory;
	for (size_t b = 0; b < annotation->n_blocks; b++) {
		const struct vmop_block *block = &annotation->blocks[b];
		for (size_t i = block->first_note; i < block->first_note + block->n_notes; i++) {
			if (annotation->notes[i].is_code != assembly)
				continue;
			if (sheet->sheet.n_rows >= max_rows)
				++*ret_n_left_out;
			else
				sheet->lines[sheet->sheet.n_rows++] =
					(struct line){(uint32_t)b, (uint32_t)i};
		}
	}
	return NULL;
}

static struct vmop_value text_value(const char *text)
{
	return (struct vmop_value){.text = text, .is_empty = !text};
}

static struct vmop_value name_value(const struct vmop_note_sheet *sheet,
				    const struct vmop_block *block, const struct vmop_note *note,
				    enum column_id id)
{
	struct vmop_result *result = sheet->annotation->result;
	const struct vmop_source_file *file =
		&sheet->annotation->places->sources->files[note->file];
	switch (id) {
	case COLUMN_DOMAIN:
		return text_value(vmop_row_domain(result, block->row)->name);
	case COLUMN_IMAGE:
		return text_value(vmop_row_image(result, block->row)->name);
	case COLUMN_SYMBOL:
		return text_value(vmop_result_name_of(result, block->row->symbol));
	case COLUMN_ADDRESS:
		return (struct vmop_value){.number = note->address};
	case COLUMN_INSTRUCTION:
		return text_value(note->text);
	case COLUMN_FILE:
		return text_value(note->file ? file->path : NULL);
	case COLUMN_LINE:
		return (struct vmop_value){.number = note->line, .is_empty = !note->file};
	case COLUMN_INLINED:
		return text_value(note->inlined);
	default:
		return text_value(vmop_source_line(file, note->line));
	}
}

static struct vmop_value event_value(const struct vmop_result *result, const struct vmop_note *note,
				     enum column_id id, size_t event)
{
	struct vmop_count count = note->counts ? note->counts[event] : (struct vmop_count){0};
	if (id == COLUMN_PERCENT)
		return (struct vmop_value){.percent =
						   vmop_share_percent(count, result->base[event])};
	return (struct vmop_value){.number = id == COLUMN_SAMPLES ? count.samples
								  : count.weight_events};
}

static void values(const struct vmop_sheet *of, size_t row, size_t detail, struct vmop_value *ret)
{
	const struct vmop_note_sheet *sheet = of->data;
	const struct vmop_annotation *annotation = sheet->annotation;
	const struct vmop_block *block = &annotation->blocks[sheet->lines[row].block];
	const struct vmop_note *note = &annotation->notes[sheet->lines[row].note];
	(void)detail;
	for (size_t c = 0; c < of->n_columns; c++) {
		const struct vmop_column *column = &of->columns[c];
		enum column_id id = (enum column_id)column->id;
		ret[c] = id < N_NAME_COLUMNS
				 ? name_value(sheet, block, note, id)
				 : event_value(annotation->result, note, id, column->event);
	}
}

struct vmop_error *vmop_note_sheet_create(struct vmop_annotation *annotation, bool assembly,
					  const struct vmop_sheet *facts, uint64_t max_rows,
					  uint64_t *ret_n_left_out, struct vmop_note_sheet **ret)
{
	struct vmop_note_sheet *sheet = calloc(1, sizeof(*sheet));
	if (!sheet)
		return &vmop_error_no_memory;
	sheet->annotation = annotation;
	sheet->sheet = (struct vmop_sheet){.lines = facts->lines,
					   .n_lines = facts->n_lines,
					   .facts = facts->facts,
					   .n_facts = facts->n_facts,
					   .values = values,
					   .data = sheet};
	struct vmop_error *err = add_columns(sheet, assembly);
	if (!err)
		err = add_rows(sheet, assembly, max_rows, ret_n_left_out);
	if (err) {
		vmop_note_sheet_destroy(sheet);
		return err;
	}
	*ret = sheet;
	return NULL;
}

void vmop_note_sheet_destroy(struct vmop_note_sheet *sheet)
{
	if (!sheet)
		return;
	free(sheet->columns);
	free(sheet->lines);
	free(sheet);
}

const struct vmop_sheet *vmop_note_sheet(const struct vmop_note_sheet *sheet)
{
	return &sheet->sheet;
}
