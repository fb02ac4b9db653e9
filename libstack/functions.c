// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/functions.h"

#include <string.h>

#include "libstack/budget.h"
#include "libstack/cfi.h"
#include "libstack/cie-cache.h"
#include "libstack/fde-index.h"
#include "libstack/image.h"

/* Digits of the radix sort. Two rounds sort a program of up to 4 MiB. */
enum { DIGIT_BITS = 11, N_DIGITS = 1 << DIGIT_BITS };

void vmop_cfi_functions_deinit(struct vmop_cfi_functions *functions, struct vmop_cfi_budget *budget)
{
	vmop_cfi_budget_free(budget, functions->items, functions->capacity,
			     sizeof(*functions->items));
	*functions = (struct vmop_cfi_functions){0};
}

/* Convert an FDE's addresses to offsets of the file. False: the file does not contain the start. */
static bool place_function(const struct vmop_cfi_image *image, const struct vmop_cfi_fde *fde,
			   struct vmop_cfi_function *ret)
{
	const struct vmop_cfi_segment *segment =
		vmop_cfi_image_segment(image, fde->function_address);
	if (!segment)
		return false;
	uint64_t skipped = fde->function_address - segment->address;
	uint64_t len_bytes = segment->len_bytes - skipped;
	if (len_bytes > fde->function_bytes)
		len_bytes = fde->function_bytes;
	ret->start = segment->offset + skipped;
	ret->len_bytes = len_bytes < UINT32_MAX ? (uint32_t)len_bytes : UINT32_MAX;
	return true;
}

/* Read the next record that is not missing, and skip holes. False: there are no more. */
static bool next_record(struct vmop_cfi_functions *functions,
			const struct vmop_cfi_section *section, const struct vmop_fde_index *index,
			size_t *offset, struct vmop_cfi_record *ret)
{
	for (;;) {
		if (vmop_cfi_next_record(section, offset, ret)) {
			if (!ret->is_missing)
				return ret->offset <= INT32_MAX;
			functions->is_partial = true;
			continue;
		}
		if (*offset >= section->len_bytes || !vmop_cfi_is_missing(section, *offset))
			return false;
		functions->is_partial = true;
		if (!vmop_fde_index_next(index, *offset, offset))
			return false;
	}
}

struct vmop_error *
vmop_cfi_functions_add(struct vmop_cfi_functions *functions, const struct vmop_cfi_image *image,
		       const struct vmop_cfi_section *section, const struct vmop_fde_index *index,
		       struct vmop_cie_cache *cache, struct vmop_cfi_budget *budget)
{
	struct vmop_cfi_record record;
	size_t offset = 0;
	while (next_record(functions, section, index, &offset, &record)) {
		if (!vmop_cfi_budget_work(budget, 16))
			return vmop_cfi_budget_error(budget);
		if (record.is_cie)
			continue;
		struct vmop_cfi_fde fde;
		struct vmop_cfi_function function = {.is_debug_frame = section->is_debug_frame};
		const struct vmop_cached_cie *cached =
			vmop_cie_cache_get(cache, section, record.cie_offset, budget);
		functions->is_partial |= !cached && section->n_holes > 0;
		if (!cached || !vmop_cfi_read_fde(section, &record, &cached->cie, &fde) ||
		    !place_function(image, &fde, &function))
			continue;
		function.record = (uint32_t)record.offset & INT32_MAX;
		if (!vmop_cfi_budget_reserve(budget, functions->items, functions->capacity,
					     functions->n))
			return vmop_cfi_budget_error(budget);
		functions->items[functions->n++] = function;
	}
	return NULL;
}

/* Sort stably by one digit of the starts. */
static void sort_by_digit(const struct vmop_cfi_function *from, struct vmop_cfi_function *to,
			  size_t n, unsigned shift)
{
	size_t at[N_DIGITS] = {0}, sum = 0;
	for (size_t i = 0; i < n; i++)
		at[from[i].start >> shift & (N_DIGITS - 1)]++;
	for (size_t digit = 0; digit < N_DIGITS; digit++) {
		size_t n_here = at[digit];
		at[digit] = sum;
		sum += n_here;
	}
	for (size_t i = 0; i < n; i++)
		to[at[from[i].start >> shift & (N_DIGITS - 1)]++] = from[i];
}

/* Return how many low bits the starts have, or 0 if they are sorted. */
static unsigned bits_to_sort(const struct vmop_cfi_functions *functions)
{
	uint64_t all = 0;
	bool is_sorted = true;
	for (size_t i = 0; i < functions->n; i++) {
		all |= functions->items[i].start;
		is_sorted &= i == 0 || functions->items[i - 1].start <= functions->items[i].start;
	}
	return is_sorted || all == 0 ? 0 : 64 - (unsigned)__builtin_clzll(all);
}

/* A radix sort (Knuth, volume 3, algorithm 5.2.5 R): no order of the input makes it slow. */
static struct vmop_error *sort(struct vmop_cfi_functions *functions, struct vmop_cfi_budget *budget)
{
	unsigned n_bits = bits_to_sort(functions);
	if (n_bits == 0)
		return NULL;
	struct vmop_cfi_function *other = vmop_cfi_budget_resize(
		budget, NULL, 0, functions->capacity, sizeof(*functions->items));
	if (!other)
		return vmop_cfi_budget_error(budget);
	for (unsigned shift = 0; shift < n_bits; shift += DIGIT_BITS) {
		struct vmop_cfi_function *sorted = other;
		sort_by_digit(functions->items, sorted, functions->n, shift);
		other = functions->items;
		functions->items = sorted;
	}
	vmop_cfi_budget_free(budget, other, functions->capacity, sizeof(*functions->items));
	return vmop_cfi_budget_check_time(budget) ? NULL : vmop_cfi_budget_error(budget);
}

static void resolve_overlaps(struct vmop_cfi_functions *functions)
{
	size_t n_kept = 0;
	uint64_t eh_frame_end = 0;
	for (size_t i = 0; i < functions->n; i++) {
		struct vmop_cfi_function function = functions->items[i];
		struct vmop_cfi_function *last = n_kept ? &functions->items[n_kept - 1] : NULL;
		uint64_t end = function.start + function.len_bytes;
		if ((last && last->start == function.start) ||
		    (function.is_debug_frame && function.start < eh_frame_end))
			continue;
		if (!function.is_debug_frame && end > eh_frame_end)
			eh_frame_end = end;
		if (last && function.start - last->start < last->len_bytes)
			last->len_bytes = (uint32_t)(function.start - last->start);
		functions->items[n_kept++] = function;
	}
	functions->n = n_kept;
}

struct vmop_error *vmop_cfi_functions_arrange(struct vmop_cfi_functions *functions,
					      struct vmop_cfi_budget *budget)
{
	struct vmop_error *err = sort(functions, budget);
	if (!err)
		resolve_overlaps(functions);
	return err;
}
