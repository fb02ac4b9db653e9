// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/run/compare-page.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/escape.h"
#include "libutil/markup.h"
#include "opreport/compare/comparison-sheet.h"

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
	"<meta name=\"viewport\" content=\"width=device-width\"/>\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"style-src 'unsafe-inline'; img-src data:\"/>\n<style>\n"
	"body { font: 14px sans-serif; margin: 1em; color: #111; background: #fff; }\n"
	"table { border-collapse: collapse; font-size: 13px; }\n"
	"th, td { padding: .2em .6em; border-bottom: 1px solid #ddd; text-align: left; }\n"
	"td { font-family: monospace; overflow-wrap: anywhere; }\n"
	"td.n { text-align: right; white-space: pre; overflow-wrap: normal; }\n"
	"tr.more td { background: #fde4dd; } tr.new td { background: #fde4dd; }\n"
	"tr.less td { background: #e3eef9; } tr.gone td { background: #e3eef9; }\n"
	"tr.noise td { color: #555; }\n"
	".wide { overflow-x: auto; } svg { max-width: 100%; height: auto; }\n"
	"</style>\n";

/* Print text for XML, escaped as everywhere. */
static struct vmop_error *put_text(const char *text, FILE *out)
{
	_cleanup_free_ char *escaped = vmop_escape(text, VMOP_CHARSET_UTF8);
	if (!escaped)
		return &vmop_error_no_memory;
	vmop_markup_print(escaped, out);
	return NULL;
}

static struct vmop_error *put_element(const char *before, const char *text, const char *after,
				      FILE *out)
{
	fputs(before, out);
	struct vmop_error *err = put_text(text, out);
	fputs(after, out);
	return err;
}

/* Return whether a column has a heading that is aligned to the right: it has numbers. */
static bool is_numeric(const struct vmop_column *column)
{
	return !column->is_elastic;
}

/* Return the class of a row, which is the word of its change. */
static const char *class_of(const struct vmop_sheet *sheet, const struct vmop_value *values)
{
	static const char *const words[] = {"noise", "more", "less", "new", "gone"};
	for (size_t c = 0; c < sheet->n_columns; c++)
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			if (!*sheet->columns[c].heading && values[c].text &&
			    !strcmp(values[c].text, words[i]))
				return words[i];
	return "";
}

static struct vmop_error *put_row(const struct vmop_sheet *sheet, const struct vmop_value *values,
				  FILE *out)
{
	struct vmop_error *err = NULL;
	fprintf(out, "<tr class=\"%s\">", class_of(sheet, values));
	for (size_t c = 0; c < sheet->n_columns && !err; c++)
		err = put_element(is_numeric(&sheet->columns[c]) ? "<td class=\"n\">" : "<td>",
				  values[c].is_empty ? "" : values[c].text, "</td>", out);
	fputs("</tr>\n", out);
	return err;
}

static struct vmop_error *put_table(const struct vmop_sheet *sheet, FILE *out)
{
	_cleanup_free_ struct vmop_value *values = calloc(sheet->n_columns, sizeof(*values));
	struct vmop_error *err = values ? NULL : &vmop_error_no_memory;
	fputs("<div class=\"wide\"><table>\n<thead><tr>", out);
	for (size_t c = 0; c < sheet->n_columns && !err; c++)
		err = put_element("<th scope=\"col\">", sheet->columns[c].heading, "</th>", out);
	fputs("</tr></thead>\n<tbody>\n", out);
	for (size_t row = 0; row < sheet->n_rows && !err; row++) {
		vmop_sheet_values(sheet, row, VMOP_NO_DETAIL, values);
		err = put_row(sheet, values, out);
	}
	fputs("</tbody></table></div>\n", out);
	return err;
}

/* Print the lines and the table of one other side. */
static struct vmop_error *put_side(const struct vmop_compare_page *page, size_t other, FILE *out)
{
	const struct vmop_comparison_sheet_options options = {
		.ordering = {.sort = VMOP_COMPARE_BY_COUNT, .top = VMOP_COMPARE_PAGE_ROWS},
		.for_people = true,
		.event = page->event,
		.other = other,
		.with_head = other == 1,
		.with_samples = true,
	};
	struct vmop_comparison_sheet *made = NULL;
	struct vmop_error *err = vmop_comparison_sheet_create(&options, page->comparison, &made);
	if (err)
		return err;
	const struct vmop_sheet *sheet = vmop_comparison_sheet_of(made);
	for (size_t i = 0; i < sheet->n_lines && !err; i++)
		err = put_element("<p>", sheet->lines[i], "</p>\n", out);
	if (!err && page->svg && other == 1) /* without its XML declaration */
		fprintf(out, "<figure>\n%s\n</figure>\n",
			strstr(page->svg, "<svg") ? strstr(page->svg, "<svg") : "");
	if (!err)
		err = put_table(sheet, out);
	vmop_comparison_sheet_destroy(made);
	return err;
}

struct vmop_error *vmop_compare_page_print(const struct vmop_compare_page *page, FILE *out)
{
	fputs(head, out);
	struct vmop_error *err = put_element("<title>", page->title, "</title>\n</head>\n", out);
	if (!err)
		err = put_element("<body>\n<h1>", page->title, "</h1>\n", out);
	for (size_t other = 1; other < page->comparison->n_sides && !err; other++)
		if (page->comparison->events[page->event].slots[other] != SIZE_MAX)
			err = put_side(page, other, out);
	for (size_t i = 0; i < page->n_links && !err; i++) {
		err = put_element(i ? ", <a href=\"" : "<p>Files: <a href=\"", page->links[i],
				  "\">", out);
		if (!err)
			err = put_element("", page->links[i], "</a>", out);
	}
	fputs(page->n_links ? "</p>\n</body>\n</html>\n" : "</body>\n</html>\n", out);
	return err;
}
