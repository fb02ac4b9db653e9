// SPDX-License-Identifier: GPL-2.0-or-later
/* The texts of a page: each is written once, and referred to by its number. */
#ifndef VMOP_OPREPORT_EXPORT_HTML_TEXTS_H
#define VMOP_OPREPORT_EXPORT_HTML_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "opreport/export/json-writer.h"
#include "opreport/query/arena.h"

/* Longer texts are cut, and end in "...". */
#define VMOP_PAGE_TEXTS_LEN_MAX 400

struct vmop_page_texts {
	const char **items; /* n, escaped (libutil/escape.h) */
	size_t n, capacity;
	uint32_t *buckets; /* n_buckets, a power of two: number + 1, or 0 */
	size_t n_buckets;
	size_t bytes; /* of all, about as written */
	struct vmop_arena arena;
};

/* Set *ret to the number of a raw text.  A zeroed struct has no texts. */
struct vmop_error *vmop_page_texts_add(struct vmop_page_texts *texts, const char *text,
				       uint32_t *ret);

/* Write them as an array. */
void vmop_page_texts_write(const struct vmop_page_texts *texts, struct vmop_json_writer *writer);
void vmop_page_texts_deinit(struct vmop_page_texts *texts);

#endif
