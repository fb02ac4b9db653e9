// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/export/html/page.h"

#include "libutil/escape.h"
#include "libutil/markup.h"
#include "opreport/export/html/html-files.h"

void vmop_page_text(FILE *out, const char *text)
{
	char escaped[VMOP_PAGE_TEXT_MAX_BYTES];
	bool is_whole = vmop_escape_into(escaped, sizeof(escaped), text, VMOP_CHARSET_UTF8);
	vmop_markup_print(escaped, out);
	if (!is_whole)
		fputs("...", out);
}

void vmop_page_begin(FILE *out, const char *title, const char *const *styles, size_t n_styles)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; "
	      "form-action 'none'\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
	      out);
	vmop_page_text(out, title);
	fprintf(out, "</title>\n<style>\n%s", html_page_css);
	for (size_t i = 0; i < n_styles; i++)
		fputs(styles[i], out);
	fputs("</style>\n</head>\n<body>\n<main>\n<h1>", out);
	vmop_page_text(out, title);
	fputs("</h1>\n", out);
}

void vmop_page_end(FILE *out, const char *const *scripts, size_t n_scripts)
{
	fputs("</main>\n", out);
	for (size_t i = 0; i < n_scripts; i++)
		fprintf(out, "<script>\n%s</script>\n", scripts[i]);
	fputs("</body>\n</html>\n", out);
}

void vmop_page_begin_data(FILE *out, const char *id)
{
	fprintf(out, "<script type=\"application/json\" id=\"%s\">\n", id);
}

void vmop_page_end_data(FILE *out)
{
	fputs("</script>\n", out);
}
