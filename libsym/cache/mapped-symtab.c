// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/cache/mapped-symtab.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

/* If memory runs out, HASH_ADD leaves the element's tbl NULL instead of ending the program. */
#define HASH_NONFATAL_OOM 1
/* The keys are different indexes below 2^23: an odd factor spreads them. */
#define HASH_FUNCTION(key, len, hash)                                                              \
	do {                                                                                       \
		(hash) = *(const uint32_t *)(key)*2654435761u >> 7;                                \
	} while (0)
#include <uthash.h>

/* A symbol that was found. They are few, so they are not kept in an array of all symbols. */
struct found {
	struct vmop_symbol symbol;
	uint32_t index;
	UT_hash_handle hh;
};

struct vmop_mapped_symtab {
	char *start;
	struct vmop_mapped_layout layout;
	struct vmop_mapped_sizes sizes;
	struct vmop_image_names *image_names; /* NULL: all names are in the file */
	bool *is_checked;		      /* of each page, in the order of the hashes */
	struct found *found;		      /* by index */
	struct vmop_symbol *all;	      /* n, copies; NULL: not wanted yet */
	bool is_damaged;
	struct vmop_symtab *(*remake)(void *arg);
	void *remake_arg;
	struct vmop_symtab *whole;	       /* that remake made; NULL: none */
	const struct vmop_symtab_known *known; /* the first run of a symbol has it */
	size_t n_known, last_known;	       /* last_known: found by the last look-up */
	uint32_t *known_by_index;	       /* hash table: 1 + run; NULL: not needed yet */
	size_t n_known_slots;		       /* a power of two */
};

/* ---- layout ------------------------------------------------------------------ */

static size_t len_of(const struct vmop_mapped_sizes *sizes, enum vmop_mapped_part part)
{
	switch (part) {
	case VMOP_MAPPED_SPANS:
		return sizes->n_spans * sizeof(struct vmop_symtab_span);
	case VMOP_MAPPED_SYMBOLS:
		return sizes->n * sizeof(struct vmop_mapped_symbol);
	default:
		return sizes->names_len_bytes;
	}
}

size_t vmop_mapped_n_pages(const struct vmop_mapped_sizes *sizes, enum vmop_mapped_part part)
{
	return (len_of(sizes, part) + VMOP_MAPPED_PAGE_BYTES - 1) / VMOP_MAPPED_PAGE_BYTES;
}

struct vmop_mapped_layout vmop_mapped_lay_out(const struct vmop_mapped_sizes *sizes,
					      size_t header_bytes)
{
	size_t n_span_pages = vmop_mapped_n_pages(sizes, VMOP_MAPPED_SPANS);
	struct vmop_mapped_layout layout = {
		.firsts_at = header_bytes,
		.hashes_at = header_bytes + n_span_pages * sizeof(uint64_t),
	};
	layout.end = layout.hashes_at;
	for (unsigned part = 0; part < VMOP_MAPPED_N; part++)
		layout.end += vmop_mapped_n_pages(sizes, part) * sizeof(uint64_t);
	for (unsigned part = 0; part < VMOP_MAPPED_N; part++) {
		layout.parts_at[part] = layout.end;
		layout.end += len_of(sizes, part);
	}
	return layout;
}

uint64_t vmop_mapped_hash(const void *page, size_t len_bytes)
{
	return XXH3_64bits(page, len_bytes);
}

/* ---- memory -------------------------------------------------------------------- */

static size_t n_pages(const struct vmop_mapped_sizes *sizes)
{
	size_t n = 0;
	for (unsigned part = 0; part < VMOP_MAPPED_N; part++)
		n += vmop_mapped_n_pages(sizes, part);
	return n;
}

static void destroy(void *arg)
{
	struct vmop_mapped_symtab *mapped = arg;
	struct found *found, *next;
	HASH_ITER (hh, mapped->found, found, next) {
		HASH_DEL(mapped->found, found);
		free(found);
	}
	free(mapped->all);
	free(mapped->known_by_index);
	munmap(mapped->start, mapped->layout.end);
	vmop_image_names_destroy(mapped->image_names);
	vmop_symtab_destroy(mapped->whole);
	free(mapped->is_checked);
	free(mapped);
}

/* ---- pages ------------------------------------------------------------------- */

static void handle_damage(struct vmop_mapped_symtab *mapped);

/* Return a page of a part as it was written, or NULL if it is damaged. */
static const void *page_at(struct vmop_mapped_symtab *mapped, enum vmop_mapped_part part,
			   size_t page)
{
	size_t number = page, at = page * VMOP_MAPPED_PAGE_BYTES;
	const char *bytes = mapped->start + mapped->layout.parts_at[part] + at;
	for (unsigned before = 0; before < part; before++)
		number += vmop_mapped_n_pages(&mapped->sizes, before);
	if (mapped->is_checked[number])
		return bytes;
	const uint64_t *hashes = (const void *)(mapped->start + mapped->layout.hashes_at);
	size_t len_bytes = len_of(&mapped->sizes, part) - at;
	if (len_bytes > VMOP_MAPPED_PAGE_BYTES)
		len_bytes = VMOP_MAPPED_PAGE_BYTES;
	if (vmop_mapped_hash(bytes, len_bytes) != hashes[number]) {
		handle_damage(mapped);
		return NULL;
	}
	mapped->is_checked[number] = true;
	return bytes;
}

/* Return an item of 24 bytes of a part, or NULL. */
static const void *item_at(struct vmop_mapped_symtab *mapped, enum vmop_mapped_part part,
			   size_t index)
{
	const char *page = page_at(mapped, part, index / VMOP_MAPPED_SPANS_PER_PAGE);
	return page ? page + index % VMOP_MAPPED_SPANS_PER_PAGE * sizeof(struct vmop_symtab_span)
		    : NULL;
}

/*
 * Return whether a new table is of the same file: it has the symbols of all pages that are whole.
 * Another program can be at the path by now, and symbols that were found keep their indexes.
 */
static bool is_same(struct vmop_mapped_symtab *mapped, const struct vmop_symtab *whole)
{
	size_t n;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(whole, &n);
	if (n != mapped->sizes.n)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct vmop_mapped_symbol *stored = item_at(mapped, VMOP_MAPPED_SYMBOLS, i);
		if (stored && (stored->offset != symbols[i].offset ||
			       stored->len_bytes != symbols[i].len_bytes))
			return false;
	}
	return true;
}

/*
 * Make the table again, the first time that a damaged page is found. An image's file that has
 * changed would give the names of another program.
 */
static void handle_damage(struct vmop_mapped_symtab *mapped)
{
	if (mapped->is_damaged)
		return;
	mapped->is_damaged = true;
	if (!mapped->remake ||
	    (mapped->image_names && !vmop_image_names_are_whole(mapped->image_names)))
		return;
	mapped->whole = mapped->remake(mapped->remake_arg);
	if (!mapped->whole || is_same(mapped, mapped->whole))
		return;
	vmop_symtab_destroy(mapped->whole);
	mapped->whole = NULL;
}

/* Return the name at a position, or NULL if it is damaged. All pages up to its end are checked. */
static const char *name_at(struct vmop_mapped_symtab *mapped, size_t at)
{
	size_t len_bytes = mapped->sizes.names_len_bytes;
	const char *names = mapped->start + mapped->layout.parts_at[VMOP_MAPPED_NAMES];
	for (size_t from = at; from < len_bytes;) {
		size_t page = from / VMOP_MAPPED_PAGE_BYTES;
		size_t end = (page + 1) * VMOP_MAPPED_PAGE_BYTES;
		if (!page_at(mapped, VMOP_MAPPED_NAMES, page))
			return NULL;
		if (end > len_bytes)
			end = len_bytes;
		if (memchr(names + from, '\0', end - from))
			return names + at;
		from = end;
	}
	return NULL;
}

/* Return the name of a symbol, or NULL if it is damaged or no longer in the image's file. */
static const char *name_of(struct vmop_mapped_symtab *mapped,
			   const struct vmop_mapped_symbol *stored)
{
	if (!(stored->type & VMOP_MAPPED_IN_IMAGE))
		return name_at(mapped, stored->name);
	const char *name =
		mapped->image_names ? vmop_image_names_at(mapped->image_names, stored->name) : NULL;
	if (!name)
		handle_damage(mapped);
	return name;
}

/* ---- look-ups ---------------------------------------------------------------- */

/* Read the symbol at index from the file, or from the new table. Return false without both. */
static bool read_symbol(struct vmop_mapped_symtab *mapped, size_t index, struct vmop_symbol *ret)
{
	if (mapped->whole) {
		size_t n;
		const struct vmop_symbol *symbols = vmop_symtab_symbols(mapped->whole, &n);
		if (index < n)
			*ret = symbols[index];
		return index < n;
	}
	const struct vmop_mapped_symbol *stored = item_at(mapped, VMOP_MAPPED_SYMBOLS, index);
	const char *name = stored ? name_of(mapped, stored) : NULL;
	if (name)
		*ret = (struct vmop_symbol){
			.offset = stored->offset,
			.len_bytes = stored->len_bytes,
			.name = name,
			.type = (char)stored->type,
		};
	return name != NULL;
}

static size_t slot_of_index(const struct vmop_mapped_symtab *mapped, uint32_t index)
{
	return (index * 2654435761u >> 7) & (mapped->n_known_slots - 1);
}

/* Make the table of known runs by the indexes of their symbols. Return false without memory. */
static bool order_known(struct vmop_mapped_symtab *mapped)
{
	size_t n_slots = 16;
	while (n_slots < 2 * mapped->n_known)
		n_slots *= 2;
	mapped->known_by_index = calloc(n_slots, sizeof(*mapped->known_by_index));
	mapped->n_known_slots = n_slots;
	for (size_t i = 0; mapped->known_by_index && i < mapped->n_known; i++) {
		if (mapped->known[i].index == VMOP_SYMTAB_NO_INDEX || mapped->known[i].first != i)
			continue;
		size_t at = slot_of_index(mapped, mapped->known[i].index);
		while (mapped->known_by_index[at])
			at = (at + 1) & (n_slots - 1);
		mapped->known_by_index[at] = (uint32_t)i + 1;
	}
	return mapped->known_by_index != NULL;
}

/* Set *ret to the symbol at index that a known run has, or to NULL. Return false without memory. */
static bool find_known_symbol(struct vmop_mapped_symtab *mapped, size_t index,
			      const struct vmop_symbol **ret)
{
	*ret = NULL;
	if (!mapped->n_known)
		return true;
	if (!mapped->known_by_index && !order_known(mapped))
		return false;
	size_t at = slot_of_index(mapped, (uint32_t)index);
	for (; mapped->known_by_index[at]; at = (at + 1) & (mapped->n_known_slots - 1)) {
		const struct vmop_symtab_known *known =
			&mapped->known[mapped->known_by_index[at] - 1];
		if (known->index == index)
			*ret = &known->symbol;
	}
	return true;
}

/* Return the symbol at index, the same one each time, or NULL. */
static const struct vmop_symbol *symbol_at(struct vmop_mapped_symtab *mapped, size_t index)
{
	const struct vmop_symbol *known;
	struct found *found;
	uint32_t key = (uint32_t)index;
	if (index >= mapped->sizes.n || !find_known_symbol(mapped, index, &known))
		return NULL;
	if (known)
		return known;
	HASH_FIND(hh, mapped->found, &key, sizeof(key), found);
	if (found)
		return &found->symbol;
	found = calloc(1, sizeof(*found));
	if (!found)
		return NULL;
	found->index = key;
	if (read_symbol(mapped, index, &found->symbol)) {
		HASH_ADD(hh, mapped->found, index, sizeof(found->index), found);
		if (found->hh.tbl)
			return &found->symbol;
	}
	free(found);
	return NULL;
}

static uint32_t index_of(const void *arg, const struct vmop_symbol *symbol)
{
	const struct vmop_mapped_symtab *mapped = arg;
	const char *known = (const char *)mapped->known, *at = (const char *)symbol;
	if (mapped->n_known && at >= known && at < (const char *)(mapped->known + mapped->n_known))
		return mapped->known[(size_t)(at - known) / sizeof(*mapped->known)].index;
	return ((const struct found *)symbol)->index;
}

static struct vmop_symtab_run find_in_whole(struct vmop_mapped_symtab *mapped, uint64_t offset)
{
	struct vmop_symtab_run run = vmop_symtab_find_run(mapped->whole, offset);
	if (run.symbol)
		run.symbol = symbol_at(mapped, vmop_symtab_index_of(mapped->whole, run.symbol));
	return run;
}

/* Return the last of n sorted offsets, stride bytes apart, that is at most `offset`; n > 0. */
static size_t bisect(const void *offsets, size_t n, size_t stride, uint64_t offset)
{
	const char *first = offsets, *at = first;
	/* Choose the half without a branch, which would be mispredicted. */
	for (; n > 1; n -= n / 2) {
		uint64_t middle;
		memcpy(&middle, at + n / 2 * stride, sizeof(middle));
		at = middle <= offset ? at + n / 2 * stride : at;
	}
	return (size_t)(at - first) / stride;
}

/*
 * Find the last span at or before offset, which exists. Return its index; *ret_next is the offset
 * of the next span. Return SIZE_MAX if its page is damaged.
 */
static size_t find_span(struct vmop_mapped_symtab *mapped, uint64_t offset, uint64_t *ret_next)
{
	const uint64_t *firsts = (const void *)(mapped->start + mapped->layout.firsts_at);
	size_t n = vmop_mapped_n_pages(&mapped->sizes, VMOP_MAPPED_SPANS);
	size_t page = bisect(firsts, n, sizeof(*firsts), offset);
	const struct vmop_symtab_span *spans = page_at(mapped, VMOP_MAPPED_SPANS, page);
	if (!spans)
		return SIZE_MAX;
	size_t first = page * VMOP_MAPPED_SPANS_PER_PAGE, in_page = mapped->sizes.n_spans - first;
	if (in_page > VMOP_MAPPED_SPANS_PER_PAGE)
		in_page = VMOP_MAPPED_SPANS_PER_PAGE;
	size_t at = bisect(spans, in_page, sizeof(*spans), offset);
	if (at + 1 < in_page)
		*ret_next = spans[at + 1].offset;
	else
		*ret_next = page + 1 < n ? firsts[page + 1] : UINT64_MAX;
	return first + at;
}

/* Look offset up as vmop_symtab_find_run() does. */
static struct vmop_symtab_run find_in_file(struct vmop_mapped_symtab *mapped, uint64_t offset)
{
	const struct vmop_symtab_run none = {.start = offset, .end = offset + 1};
	struct vmop_symtab_run run = {.end = UINT64_MAX};
	const uint64_t *firsts = (const void *)(mapped->start + mapped->layout.firsts_at);
	if (mapped->sizes.n_spans == 0)
		return run;
	if (offset < firsts[0]) {
		run.end = firsts[0];
		return run;
	}
	size_t index = find_span(mapped, offset, &run.end);
	const struct vmop_symtab_span *at =
		index == SIZE_MAX ? NULL : item_at(mapped, VMOP_MAPPED_SPANS, index);
	if (!at)
		return none;
	run.start = at->offset;
	for (int steps = 0; steps < VMOP_SYMTAB_MAX_OUTWARDS; steps++) {
		if (offset < at->end) {
			run.symbol = symbol_at(mapped, at->symbol);
			run.end = at->end < run.end ? at->end : run.end;
			return run.symbol ? run : none;
		}
		run.start = at->end;
		if (at->outer >= index) /* none, or damaged */
			return run;
		index = at->outer;
		at = item_at(mapped, VMOP_MAPPED_SPANS, index);
		if (!at)
			return none;
	}
	return run;
}

static bool has_offset(const struct vmop_symtab_known *known, uint64_t offset)
{
	return offset - known->start < known->end - known->start;
}

/* Return the known run that contains offset, or NULL. */
static const struct vmop_symtab_known *find_known(struct vmop_mapped_symtab *mapped,
						  uint64_t offset)
{
	const struct vmop_symtab_known *known = mapped->known;
	if (!mapped->n_known || offset < known[0].start)
		return NULL;
	/* Kept cells are looked up in the order of the runs. */
	for (size_t i = mapped->last_known; i < mapped->last_known + 2 && i < mapped->n_known; i++)
		if (has_offset(&known[i], offset)) {
			mapped->last_known = i;
			return &known[i];
		}
	size_t at = bisect(known, mapped->n_known, sizeof(*known), offset);
	if (!has_offset(&known[at], offset))
		return NULL;
	mapped->last_known = at;
	return &known[at];
}

static struct vmop_symtab_run find_run(void *arg, uint64_t offset)
{
	struct vmop_mapped_symtab *mapped = arg;
	const struct vmop_symtab_known *known = find_known(mapped, offset);
	if (known) {
		const struct vmop_symbol *symbol = known->index == VMOP_SYMTAB_NO_INDEX
							   ? NULL
							   : &mapped->known[known->first].symbol;
		return (struct vmop_symtab_run){known->start, known->end, symbol};
	}
	if (mapped->whole)
		return find_in_whole(mapped, offset);
	struct vmop_symtab_run run = find_in_file(mapped, offset);
	return mapped->whole ? find_in_whole(mapped, offset) : run;
}

static const struct vmop_symbol *all_symbols(void *arg, size_t *ret_n)
{
	struct vmop_mapped_symtab *mapped = arg;
	*ret_n = mapped->sizes.n;
	if (mapped->all)
		return mapped->all;
	mapped->all = calloc(mapped->sizes.n + 1, sizeof(*mapped->all));
	if (!mapped->all)
		*ret_n = 0;
	if (mapped->image_names)
		vmop_image_names_read_all(mapped->image_names);
	for (size_t i = 0; i < *ret_n; i++)
		if (!read_symbol(mapped, i, &mapped->all[i]) &&
		    !read_symbol(mapped, i, &mapped->all[i])) /* again: it can be remade */
			mapped->all[i].name = "";
	return mapped->all;
}

static void set_known(void *arg, const struct vmop_symtab_known *known, size_t n)
{
	struct vmop_mapped_symtab *mapped = arg;
	if (mapped->n_known || mapped->found || mapped->all)
		return; /* a symbol that was found keeps its place */
	mapped->known = known;
	mapped->n_known = n;
}

/* ---- the table --------------------------------------------------------------- */

static const struct vmop_symtab_backing backing = {
	.find_run = find_run,
	.symbols = all_symbols,
	.index_of = index_of,
	.set_known = set_known,
	.destroy = destroy,
};

struct vmop_error *vmop_mapped_symtab_create(void *start, const struct vmop_mapped_layout *layout,
					     const struct vmop_mapped_sizes *sizes,
					     struct vmop_image_names *image_names,
					     struct vmop_symtab **ret)
{
	struct vmop_mapped_symtab *mapped = calloc(1, sizeof(*mapped));
	if (!mapped) {
		munmap(start, layout->end);
		vmop_image_names_destroy(image_names);
		return &vmop_error_no_memory;
	}
	*mapped = (struct vmop_mapped_symtab){
		.start = start,
		.layout = *layout,
		.sizes = *sizes,
		.image_names = image_names,
		.is_checked = calloc(n_pages(sizes) + 1, sizeof(bool)),
	};
	if (!mapped->is_checked) {
		destroy(mapped);
		return &vmop_error_no_memory;
	}
	return vmop_symtab_create_backed(&backing, mapped, ret);
}

struct vmop_mapped_symtab *vmop_mapped_symtab_of(const struct vmop_symtab *symtab)
{
	return symtab ? vmop_symtab_backed_by(symtab, &backing) : NULL;
}

void vmop_mapped_symtab_set_remake(struct vmop_mapped_symtab *mapped,
				   struct vmop_symtab *(*remake)(void *arg), void *arg)
{
	mapped->remake = remake;
	mapped->remake_arg = arg;
}
