// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts of a page's items by time: a matrix of items and spans.  Spans can be merged in pairs, so
 * that the written form stays within a bound.
 */
#ifndef VMOP_OPREPORT_EXPORT_HTML_HISTOGRAM_H
#define VMOP_OPREPORT_EXPORT_HTML_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "opreport/export/json-writer.h"
#include "opreport/query/tally.h"

struct vmop_histogram {
	size_t n_items, n_spans;
	struct vmop_count *counts; /* n_items * n_spans */
};

/* Begin with zeros.  The caller deinitialises ret also after an error. */
struct vmop_error *vmop_histogram_init(struct vmop_histogram *ret, size_t n_items, size_t n_spans);
void vmop_histogram_deinit(struct vmop_histogram *histogram);

void vmop_histogram_add(struct vmop_histogram *histogram, size_t item, size_t span,
			struct vmop_count count);

/* Merge spans 0 and 1, 2 and 3, ... */
void vmop_histogram_halve(struct vmop_histogram *histogram);

/* Return the bytes that the items take when written, about. */
size_t vmop_histogram_bytes(const struct vmop_histogram *histogram, uint64_t unit);

/*
 * Write an item as an array with two numbers for each span that has samples, [span, samples, ...],
 * or three with the weight in multiples of `unit`.  unit 0: a sample's weight is always the same,
 * and is not written.
 */
void vmop_histogram_write(const struct vmop_histogram *histogram, size_t item, uint64_t unit,
			  struct vmop_json_writer *writer);

#endif
