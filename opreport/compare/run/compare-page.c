// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/run/compare-page.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "opreport/compare/comparison-sheet.h"
#include "opreport/export/html/page.h"

/*
 * Rows that grew or shrank have a colour beside the word.  A narrow screen shows the numbers that
 * fit beside the names; the chart keeps a size at which it can be read, and scrolls.
 */
static const char style[] = "main { max-width: 1200px; }\n"
			    "figure { margin: 14px 0; overflow-x: auto; background: #fff; }\n"
			    "figure svg { display: block; width: 100%; max-width: 1067px; "
			    "min-width: 640px; height: auto; }\n"
			    "table { width: auto; font-size: .93em; }\n"
			    "td.name { min-width: 10em; }\n"
			    "td .where { display: none; color: var(--soft); }\n"
			    "tr.more td, tr.new td { background: rgba(213, 94, 0, .14); }\n"
			    "tr.less td, tr.gone td { background: rgba(0, 114, 178, .14); }\n"
			    "tr.noise td { color: var(--soft); }\n"
			    "@media (max-width: 700px) {\n"
			    "\t.wide { display: none; }\n"
			    "\ttd .where { display: block; }\n"
			    "\ttd.name { min-width: 7em; }\n"
			    "\ttd.number { white-space: normal; }\n"
			    "}\n";

static void put_element(const char *before, const char *text, const char *after, FILE *out)
{
	fputs(before, out);
	vmop_page_text(out, text);
	fputs(after, out);
}

/* Return whether a column has numbers; the others have names, the last one a function's. */
static bool is_numeric(const struct vmop_column *column)
{
	return !column->is_elastic;
}

/*
 * Return the class of a column with numbers.  A narrow screen leaves out the numbers of samples,
 * the difference and the word for it: the ratio and its interval are there.
 */
static const char *class_of_numbers(const struct vmop_column *column)
{
	const char *heading = column->heading + strspn(column->heading, " ");
	bool is_wide = !*heading || !strncmp(heading, "in ", 3) || strstr(heading, " - ");
	return is_wide ? "number wide" : "number";
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

static const char *text_of(const struct vmop_value *value)
{
	return value->is_empty ? "" : value->text + strspn(value->text, " ");
}

/* Print the names of a row: first the last one, under which a narrow screen shows the others. */
static void put_names(const struct vmop_sheet *sheet, const struct vmop_value *values, FILE *out)
{
	size_t last = sheet->n_columns - 1;
	put_element("<td class=\"name\">", text_of(&values[last]), "", out);
	for (size_t c = 0; c < last; c++)
		if (!is_numeric(&sheet->columns[c]))
			put_element("<span class=\"where\">", text_of(&values[c]), "</span>", out);
	fputs("</td>", out);
	for (size_t c = 0; c < last; c++)
		if (!is_numeric(&sheet->columns[c]))
			put_element("<td class=\"name wide\">", text_of(&values[c]), "</td>", out);
}

static void put_row(const struct vmop_sheet *sheet, const struct vmop_value *values, FILE *out)
{
	fprintf(out, "<tr class=\"%s\">", class_of(sheet, values));
	put_names(sheet, values, out);
	for (size_t c = 0; c < sheet->n_columns; c++) {
		if (!is_numeric(&sheet->columns[c]))
			continue;
		fprintf(out, "<td class=\"%s\">", class_of_numbers(&sheet->columns[c]));
		put_element("", text_of(&values[c]), "</td>", out);
	}
	fputs("</tr>\n", out);
}

static void put_headings(const struct vmop_sheet *sheet, FILE *out)
{
	size_t last = sheet->n_columns - 1;
	put_element("<th scope=\"col\">", sheet->columns[last].heading, "</th>", out);
	for (size_t c = 0; c < last; c++)
		if (!is_numeric(&sheet->columns[c]))
			put_element("<th scope=\"col\" class=\"wide\">", sheet->columns[c].heading,
				    "</th>", out);
	for (size_t c = 0; c < last; c++) {
		const char *heading = sheet->columns[c].heading;
		if (!is_numeric(&sheet->columns[c]))
			continue;
		fprintf(out, "<th scope=\"col\" class=\"%s\">",
			class_of_numbers(&sheet->columns[c]));
		put_element("", heading + strspn(heading, " "), "</th>", out);
	}
}

static struct vmop_error *put_table(const struct vmop_sheet *sheet, FILE *out)
{
	_cleanup_free_ struct vmop_value *values = calloc(sheet->n_columns, sizeof(*values));
	if (!values)
		return &vmop_error_no_memory;
	fputs("<div class=\"scroll\"><table>\n<thead><tr>", out);
	put_headings(sheet, out);
	fputs("</tr></thead>\n<tbody>\n", out);
	for (size_t row = 0; row < sheet->n_rows; row++) {
		vmop_sheet_values(sheet, row, VMOP_NO_DETAIL, values);
		put_row(sheet, values, out);
	}
	fputs("</tbody></table></div>\n", out);
	return NULL;
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
		.is_wide = true,
	};
	struct vmop_comparison_sheet *made = NULL;
	struct vmop_error *err = vmop_comparison_sheet_create(&options, page->comparison, &made);
	if (err)
		return err;
	const struct vmop_sheet *sheet = vmop_comparison_sheet_of(made);
	for (size_t i = 0; i < sheet->n_lines; i++)
		put_element("<p>", sheet->lines[i], "</p>\n", out);
	if (page->svg && other == 1) /* without its XML declaration */
		fprintf(out, "<figure>\n%s\n</figure>\n",
			strstr(page->svg, "<svg") ? strstr(page->svg, "<svg") : "");
	err = put_table(sheet, out);
	vmop_comparison_sheet_destroy(made);
	return err;
}

struct vmop_error *vmop_compare_page_print(const struct vmop_compare_page *page, FILE *out)
{
	static const char *const styles[] = {style};
	struct vmop_error *err = NULL;
	vmop_page_begin(out, page->title, styles, 1);
	for (size_t other = 1; other < page->comparison->n_sides && !err; other++)
		if (page->comparison->events[page->event].slots[other] != SIZE_MAX)
			err = put_side(page, other, out);
	for (size_t i = 0; i < page->n_links; i++) {
		put_element(i ? ", <a href=\"" : "<p>Files: <a href=\"", page->links[i], "\">",
			    out);
		put_element("", page->links[i], "</a>", out);
	}
	fputs(page->n_links ? "</p>\n" : "", out);
	vmop_page_end(out, NULL, 0);
	return err;
}
