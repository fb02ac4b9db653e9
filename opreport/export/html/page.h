// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The parts that all HTML pages of vmop have in common: head, style sheet, escapes.  A page is one
 * file.  Its Content-Security-Policy lets it load nothing: it works without a network, and no
 * name in it can send data away.
 *
 * Data stand in a script element of type application/json (export/json-writer.h escapes <).
 * Scripts set texts as text, never as markup.
 */
#ifndef VMOP_OPREPORT_EXPORT_HTML_PAGE_H
#define VMOP_OPREPORT_EXPORT_HTML_PAGE_H

#include <stddef.h>
#include <stdio.h>

/*
 * Begin a page: everything up to the content of <main>.  styles[0..n_styles) are further style
 * sheets, which are trusted.  title is raw.
 */
void vmop_page_begin(FILE *out, const char *title, const char *const *styles, size_t n_styles);

/* End it, with scripts[0..n_scripts), which are trusted. */
void vmop_page_end(FILE *out, const char *const *scripts, size_t n_scripts);

/*
 * Print raw text as content of an element or of an attribute in double quotes: escaped as
 * everywhere (libutil/escape.h), cut to VMOP_PAGE_TEXT_MAX_BYTES, then escaped for HTML.
 */
void vmop_page_text(FILE *out, const char *text);
#define VMOP_PAGE_TEXT_MAX_BYTES 4096

/* Begin and end a block of data that scripts read by its id; the caller prints JSON between. */
void vmop_page_begin_data(FILE *out, const char *id);
void vmop_page_end_data(FILE *out);

#endif
