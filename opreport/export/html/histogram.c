// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/export/html/histogram.h"

#include <stdlib.h>
#include <string.h>

struct vmop_error *vmop_histogram_init(struct vmop_histogram *ret, size_t n_items, size_t n_spans)
{
	*ret = (struct vmop_histogram){.n_items = n_items, .n_spans = n_spans};
	ret->counts = calloc(n_items * n_spans + 1, sizeof(*ret->counts));
	return ret->counts ? NULL : &vmop_error_no_memory;
}

void vmop_histogram_deinit(struct vmop_histogram *histogram)
{
	free(histogram->counts);
	*histogram = (struct vmop_histogram){0};
}

void vmop_histogram_add(struct vmop_histogram *histogram, size_t item, size_t span,
			struct vmop_count count)
{
	vmop_count_add(&histogram->counts[item * histogram->n_spans + span], count.samples,
		       count.weight_events);
}

void vmop_histogram_halve(struct vmop_histogram *histogram)
{
	size_t n = histogram->n_spans, half = (n + 1) / 2;
	for (size_t item = 0; item < histogram->n_items; item++) {
		for (size_t span = 0; span < half; span++) {
			/* The merged count lies before the two that it is of. */
			struct vmop_count sum = histogram->counts[item * n + 2 * span];
			if (2 * span + 1 < n) {
				const struct vmop_count *next =
					&histogram->counts[item * n + 2 * span + 1];
				vmop_count_add(&sum, next->samples, next->weight_events);
			}
			histogram->counts[item * half + span] = sum;
		}
	}
	histogram->n_spans = half;
}

static size_t digits_of(uint64_t number)
{
	size_t n = 1;
	for (; number >= 10; number /= 10)
		n++;
	return n;
}

size_t vmop_histogram_bytes(const struct vmop_histogram *histogram, uint64_t unit)
{
	size_t bytes = 0;
	for (size_t i = 0; i < histogram->n_items * histogram->n_spans; i++) {
		const struct vmop_count *count = &histogram->counts[i];
		if (!count->samples)
			continue;
		bytes += digits_of(i % histogram->n_spans) + digits_of(count->samples) + 2;
		if (unit)
			bytes += digits_of(count->weight_events / unit) + 1;
	}
	return bytes;
}

void vmop_histogram_write(const struct vmop_histogram *histogram, size_t item, uint64_t unit,
			  struct vmop_json_writer *writer)
{
	vmop_json_writer_begin(writer, '[');
	for (size_t span = 0; span < histogram->n_spans; span++) {
		const struct vmop_count *count =
			&histogram->counts[item * histogram->n_spans + span];
		if (!count->samples)
			continue;
		vmop_json_writer_number(writer, span);
		vmop_json_writer_number(writer, count->samples);
		if (unit)
			vmop_json_writer_number(writer, count->weight_events / unit);
	}
	vmop_json_writer_end(writer, ']');
}
