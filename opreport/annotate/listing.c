// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/annotate/listing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/escape.h"
#include "libutil/plural.h"
#include "opreport/arrange/rows.h"
#include "opreport/output/line-width.h"

enum {
	INDENT_COLUMNS = 2,
	SAMPLES_COLUMNS = 8,
	PERCENT_COLUMNS = 7,
	TAB_COLUMNS = 8,
	LEAST_COLUMNS = 40, /* of which source or instructions have some 20 */
	TEXT_MAX_BYTES = 4096
};

#define COLOUR_HOT "\033[1;31m"
#define COLOUR_WARM "\033[33m"
#define COLOUR_TITLE "\033[1m"
#define COLOUR_OFF "\033[0m"

/* ---- text ------------------------------------------------------------------- */

char *vmop_listing_plain(const char *text)
{
	enum vmop_charset charset = vmop_escape_locale();
	size_t left = strlen(text), columns = 0, len;
	char *plain = NULL;
	FILE *out = open_memstream(&plain, &len);
	if (!out)
		return NULL;
	bool is_cut = left > TEXT_MAX_BYTES;
	if (is_cut)
		left = TEXT_MAX_BYTES;
	for (size_t n; left; text += n, left -= n, columns++) {
		uint32_t character;
		n = vmop_escape_decode(text, left, &character);
		if (character == '\t') {
			size_t blanks = TAB_COLUMNS - columns % TAB_COLUMNS;
			fprintf(out, "%*s", (int)blanks, "");
			columns += blanks - 1;
		} else if (character == '\\') {
			fputc('\\', out);
		} else if (character != '\r' || left > 1) {
			vmop_escape_print(text, n, charset, out);
		}
	}
	if (is_cut)
		fputs("...", out);
	if (!fclose(out))
		return plain;
	free(plain);
	return NULL;
}

/* The arguments of all functions that print. */
struct printing {
	const struct vmop_annotation *annotation;
	const struct vmop_block *block;
	const struct vmop_listing_options *options;
	FILE *out;
};

/* Print a line, cut to the width, in a colour or NULL. A terminal of few columns breaks its lines:
 * nothing could be read in what would be left of them. */
static struct vmop_error *print_line(const struct printing *printing, const char *colour,
				     const char *line)
{
	size_t width = printing->options->width_columns;
	_cleanup_free_ char *cut = NULL;
	if (width && width < LEAST_COLUMNS)
		width = LEAST_COLUMNS;
	if (width && vmop_fit_width(line) > width) {
		line = cut = vmop_fit_shorten(line, width);
		if (!cut)
			return &vmop_error_no_memory;
	}
	bool is_coloured = colour && printing->options->has_colours;
	fprintf(printing->out, "%s%s%s\n", is_coloured ? colour : "", line,
		is_coloured ? COLOUR_OFF : "");
	return NULL;
}

/* A line that is put together in memory. */
struct line {
	FILE *out;
	char *text;
	size_t len;
};

static struct vmop_error *line_begin(struct line *line)
{
	*line = (struct line){0};
	line->out = open_memstream(&line->text, &line->len);
	return line->out ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *line_print(struct line *line, const struct printing *printing,
				     const char *colour)
{
	int failed = fclose(line->out);
	struct vmop_error *err =
		failed ? &vmop_error_no_memory : print_line(printing, colour, line->text);
	free(line->text);
	return err;
}

/* ---- headings --------------------------------------------------------------- */

static void put_escaped(struct line *line, const char *text)
{
	vmop_escape_print(text, strlen(text), vmop_escape_locale(), line->out);
}

static void put_title(struct line *line, const struct printing *printing)
{
	const struct vmop_annotation *annotation = printing->annotation;
	const struct vmop_block *block = printing->block;
	struct vmop_result *result = annotation->result;
	if (!block->row) {
		put_escaped(line, annotation->places->sources->files[block->file].path);
		return;
	}
	if (!block->is_image) {
		put_escaped(line, vmop_result_name_of(result, block->row->symbol));
		fputs(" in ", line->out);
	}
	put_escaped(line, vmop_image_base_name(vmop_row_image(result, block->row)->name));
	if (!vmop_row_domain(result, block->row)->is_host) {
		fputs(" of ", line->out);
		put_escaped(line, vmop_row_domain(result, block->row)->name);
	}
}

/* Write "12 samples, 3.40 %", for several events "12 samples, 3.40 % of cycles; ...". */
static void put_sums(FILE *out, const struct printing *printing)
{
	const struct vmop_result *result = printing->annotation->result;
	for (size_t e = 0; e < result->n_events; e++) {
		struct vmop_count count = printing->block->counts[e];
		fprintf(out, "%s%" PRIu64 " sample%s, %.2f %%", e ? "; " : "", count.samples,
			vmop_plural(count.samples), vmop_share_percent(count, result->base[e]));
		if (result->n_events > 1)
			fprintf(out, " of %s", vmop_result_event(result, e)->label);
	}
}

/* Print an indented text, wrapped rather than cut: it can name a remedy. */
static struct vmop_error *print_wrapped(const struct printing *printing, const char *text)
{
	_cleanup_free_ char *escaped = NULL;
	if (!text)
		return NULL;
	escaped = vmop_escape(text, vmop_escape_locale());
	if (!escaped)
		return &vmop_error_no_memory;
	size_t width = printing->options->width_columns;
	fputs("  ", printing->out);
	vmop_fit_print(escaped, width > INDENT_COLUMNS ? width - INDENT_COLUMNS : width,
		       printing->out);
	return NULL;
}

/* Print the title; of several events, the sums take lines of their own. */
static struct vmop_error *print_title(const struct printing *printing)
{
	bool has_several = printing->annotation->result->n_events > 1;
	_cleanup_free_ char *sums = NULL;
	struct line line;
	size_t len;
	FILE *out = open_memstream(&sums, &len);
	if (!out)
		return &vmop_error_no_memory;
	put_sums(out, printing);
	if (fclose(out))
		return &vmop_error_no_memory;
	struct vmop_error *err = line_begin(&line);
	if (err)
		return err;
	put_title(&line, printing);
	if (!has_several)
		fprintf(line.out, ": %s", sums);
	err = line_print(&line, printing, COLOUR_TITLE);
	return err || !has_several ? err : print_wrapped(printing, sums);
}

static struct vmop_error *print_columns(const struct printing *printing)
{
	const struct vmop_result *result = printing->annotation->result;
	struct line line;
	struct vmop_error *err = line_begin(&line);
	if (err)
		return err;
	fputc(' ', line.out);
	if (result->n_events == 1)
		fprintf(line.out, "%*s%*s", SAMPLES_COLUMNS, "samples", PERCENT_COLUMNS, "%");
	for (size_t e = 0; result->n_events > 1 && e < result->n_events; e++) {
		const char *label = vmop_result_event(result, e)->label;
		size_t width = SAMPLES_COLUMNS + PERCENT_COLUMNS;
		_cleanup_free_ char *escaped = vmop_escape(label, vmop_escape_locale());
		_cleanup_free_ char *cut = escaped ? vmop_fit_shorten(escaped, width - 1) : NULL;
		size_t shown = cut ? vmop_fit_width(cut) : width;
		fprintf(line.out, "%*s%s", (int)(width - shown), "", cut ? cut : "");
	}
	bool is_code = printing->block->n_notes &&
		       printing->annotation
			       ->notes[printing->block->first_note + printing->block->n_notes - 1]
			       .is_code;
	fprintf(line.out, "  %s", is_code ? "       address" : "  line");
	return line_print(&line, printing, NULL);
}

/* ---- notes ------------------------------------------------------------------ */

/* Return the greatest share of a note's events, in percent. */
static double heat(const struct vmop_result *result, const struct vmop_count *counts)
{
	double most = 0;
	for (size_t e = 0; counts && e < result->n_events; e++) {
		double percent = vmop_share_percent(counts[e], result->base[e]);
		if (percent > most)
			most = percent;
	}
	return most;
}

static void put_counts(struct line *line, const struct vmop_result *result,
		       const struct vmop_count *counts)
{
	fputc(heat(result, counts) >= VMOP_HOT_PERCENT ? '>' : ' ', line->out);
	for (size_t e = 0; e < result->n_events; e++) {
		if (counts && counts[e].samples)
			fprintf(line->out, "%*" PRIu64 "%*.2f", SAMPLES_COLUMNS, counts[e].samples,
				PERCENT_COLUMNS, vmop_share_percent(counts[e], result->base[e]));
		else
			fprintf(line->out, "%*s", SAMPLES_COLUMNS + PERCENT_COLUMNS, "");
	}
}

static struct vmop_error *put_text(struct line *line, const char *text)
{
	_cleanup_free_ char *plain = vmop_listing_plain(text);
	if (!plain)
		return &vmop_error_no_memory;
	fputs(plain, line->out);
	return NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static struct vmop_error *put_note(struct line *line, const struct printing *printing,
				   const struct vmop_note *note, const struct vmop_note *before)
{
	const struct vmop_sources *sources = printing->annotation->places->sources;
	struct vmop_error *err = NULL;
	if (note->is_code) {
		fprintf(line->out, "  %s%12" PRIx64 "  ", printing->options->is_mixed ? "  " : "",
			note->address);
		err = put_text(line, note->text ? note->text : "(no code)");
		if (!err && note->inlined && (!before || before->inlined != note->inlined)) {
			fputs("  ; inlined: ", line->out);
			err = put_text(line, note->inlined);
		}
		return err;
	}
	if (printing->options->is_mixed || printing->block->row) {
		fputs("  ", line->out);
		put_escaped(line, base_name(sources->files[note->file].path));
		fprintf(line->out, ":%u  ", note->line);
	} else {
		fprintf(line->out, "%8u  ", note->line);
	}
	return note->text ? put_text(line, note->text) : NULL;
}

static struct vmop_error *print_note(const struct printing *printing, const struct vmop_note *note,
				     const struct vmop_note *before)
{
	const struct vmop_result *result = printing->annotation->result;
	double percent = heat(result, note->counts);
	struct line line;
	struct vmop_error *err = line_begin(&line);
	if (err)
		return err;
	put_counts(&line, result, note->counts);
	err = put_note(&line, printing, note, before);
	const char *colour = percent >= VMOP_HOT_PERCENT    ? COLOUR_HOT
			     : percent >= VMOP_WARM_PERCENT ? COLOUR_WARM
							    : NULL;
	struct vmop_error *failed = line_print(&line, printing, colour);
	return err ? err : failed;
}

static bool has_samples(const struct vmop_result *result, const struct vmop_note *note)
{
	for (size_t e = 0; note->counts && e < result->n_events; e++)
		if (note->counts[e].samples)
			return true;
	return false;
}

static struct vmop_error *print_gap(const struct printing *printing, size_t n, bool is_code)
{
	char text[80];
	snprintf(text, sizeof(text), "        ... %zu %s%s without samples", n,
		 is_code ? "instruction" : "line", vmop_plural(n));
	return print_line(printing, NULL, text);
}

/* Print the notes near those with samples, and the number of the others. */
static struct vmop_error *print_notes(const struct printing *printing)
{
	const struct vmop_annotation *annotation = printing->annotation;
	const struct vmop_note *notes = annotation->notes + printing->block->first_note;
	size_t n = printing->block->n_notes, hidden = 0, next_hot = 0;
	uint64_t since_hot = UINT64_MAX, context = printing->options->context;
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < n && !err; i++) {
		if (next_hot < i)
			next_hot = i;
		while (next_hot < n && !has_samples(annotation->result, &notes[next_hot]))
			next_hot++;
		bool is_hot = next_hot == i;
		since_hot = is_hot ? 0 : since_hot == UINT64_MAX ? UINT64_MAX : since_hot + 1;
		bool is_near = context == UINT64_MAX || since_hot <= context ||
			       (next_hot < n && next_hot - i <= context);
		if (!is_near) {
			hidden++;
			continue;
		}
		if (hidden)
			err = print_gap(printing, hidden, notes[i - 1].is_code);
		hidden = 0;
		if (!err)
			err = print_note(printing, &notes[i], i ? &notes[i - 1] : NULL);
	}
	return err || !hidden ? err : print_gap(printing, hidden, notes[n - 1].is_code);
}

struct vmop_error *vmop_listing_print(const struct vmop_annotation *annotation,
				      const struct vmop_block *block,
				      const struct vmop_listing_options *options, FILE *out)
{
	const struct printing printing = {annotation, block, options, out};
	struct vmop_error *err = print_title(&printing);
	if (!err)
		err = print_wrapped(&printing, block->functions);
	if (!err)
		err = print_wrapped(&printing, block->remark);
	if (!err && block->n_notes)
		err = print_columns(&printing);
	return err ? err : print_notes(&printing);
}
