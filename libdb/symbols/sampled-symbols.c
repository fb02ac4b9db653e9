// SPDX-License-Identifier: GPL-2.0-or-later
#include "libdb/symbols/sampled-symbols.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "libdb/symbols/symbols.h"
#include "libutil/cleanup.h"

/* Ids of images are dense.  Symbols of an image with a greater one are refused. */
#define IMAGES_MAX 65536
/* Symbols around one offset that are looked at: libsym/symtab.c follows no further nesting. */
#define NEIGHBOURS 64
#define PAGE_SYMBOLS 512
#define ALWAYS_MAX 8

/*
 * A book: an image's symbols in pages of about PAGE_SYMBOLS, so that only pages with sampled code
 * are unpacked.  Symbols at one offset are in one page.  A book is in memory and in the daemon's
 * run directory, never in a session, so its numbers are the machine's.  It consists of this head,
 * n_pages of struct page_head, and the pages, as symbols.h packs them.
 */
struct book_head {
	uint32_t magic, n_pages, n_always;
	uint32_t reserved;
	uint64_t always[ALWAYS_MAX]; /* offsets of symbols that are stored in any case */
};
struct page_head {
	uint64_t first; /* the offset of its first symbol */
	uint32_t n, len_bytes;
};
_Static_assert(sizeof(struct book_head) == 16 + 8 * ALWAYS_MAX && sizeof(struct page_head) == 16,
	       "no padding");
#define BOOK_MAGIC UINT32_C(0x6b6f6f62)

struct page {
	uint64_t first;
	const uint8_t *blob;
	uint32_t len_bytes, n;
	struct vmop_symbol *symbols; /* n of them, ascending, one block; NULL: still packed */
	bool *is_marked;	     /* n of them */
	bool is_damaged;
};

struct vmop_sampled_image {
	uint8_t *book;
	struct page *pages;
	uint32_t n_pages;
	bool is_dirty; /* has marks that no committed row has */
};

static void image_destroy(struct vmop_sampled_image *image)
{
	if (!image)
		return;
	for (uint32_t i = 0; image->pages && i < image->n_pages; i++) {
		free(image->pages[i].symbols);
		free(image->pages[i].is_marked);
	}
	free(image->pages);
	free(image->book);
	free(image);
}

void vmop_sampled_symbols_deinit(struct vmop_sampled_symbols *sampled)
{
	for (size_t i = 0; i < sampled->n; i++)
		image_destroy(sampled->by_id[i]);
	free(sampled->by_id);
	*sampled = (struct vmop_sampled_symbols){0};
}

/* ---- making a book ------------------------------------------------------------- */

static int by_offset(const void *a, const void *b)
{
	const struct vmop_symbol *x = a, *y = b;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void find_always(const struct vmop_symbol *symbols, size_t n, const char *const *names,
			struct book_head *head)
{
	for (; *names && head->n_always < ALWAYS_MAX; names++)
		for (size_t i = 0; i < n; i++)
			/* Most symbols are not worth a call. */
			if (symbols[i].name[0] == (*names)[0] && !strcmp(symbols[i].name, *names)) {
				head->always[head->n_always++] = symbols[i].offset;
				break;
			}
}

/* Return the end of the page that begins at the symbol `first`. */
static size_t page_end(const struct vmop_symbol *symbols, size_t n, size_t first)
{
	size_t end = first + PAGE_SYMBOLS;
	while (end < n && symbols[end].offset == symbols[end - 1].offset)
		end++;
	return end < n ? end : n;
}

/* A book that is being written. */
struct writing {
	struct book_head head;
	struct page_head *pages;
	uint8_t *blobs;
	size_t blobs_bytes;
};

static struct vmop_error *add_page(struct writing *writing, const struct vmop_symbol *symbols,
				   size_t n)
{
	_cleanup_free_ uint8_t *blob = NULL;
	size_t len_bytes;
	struct vmop_error *err = vmop_symbols_pack(symbols, n, &blob, &len_bytes);
	if (err)
		return err;
	uint8_t *grown = realloc(writing->blobs, writing->blobs_bytes + len_bytes);
	if (!grown)
		return &vmop_error_no_memory;
	memcpy(grown + writing->blobs_bytes, blob, len_bytes);
	writing->blobs = grown;
	writing->blobs_bytes += len_bytes;
	writing->pages[writing->head.n_pages++] = (struct page_head){
		.first = symbols[0].offset, .n = (uint32_t)n, .len_bytes = (uint32_t)len_bytes};
	return NULL;
}

static struct vmop_error *join(const struct writing *writing, void **ret, size_t *ret_len_bytes)
{
	size_t heads_bytes = writing->head.n_pages * sizeof(struct page_head);
	*ret_len_bytes = sizeof(writing->head) + heads_bytes + writing->blobs_bytes;
	uint8_t *p = malloc(*ret_len_bytes);
	if (!p)
		return &vmop_error_no_memory;
	*ret = p;
	memcpy(p, &writing->head, sizeof(writing->head));
	memcpy(p + sizeof(writing->head), writing->pages, heads_bytes);
	memcpy(p + sizeof(writing->head) + heads_bytes, writing->blobs, writing->blobs_bytes);
	return NULL;
}

struct vmop_error *vmop_sampled_symbols_make_book(const struct vmop_symbol *symbols, size_t n,
						  const char *const *always, void **ret,
						  size_t *ret_len_bytes)
{
	if (n < 1 || n > VMOP_SYMBOLS_MAX)
		return vmop_error_new(VMOP_ERROR_LIMIT, "%zu symbols: from 1 to %u can be stored",
				      n, VMOP_SYMBOLS_MAX);
	struct writing writing = {.head.magic = BOOK_MAGIC};
	_cleanup_free_ struct vmop_symbol *sorted = malloc(n * sizeof(*sorted));
	_cleanup_free_ struct page_head *pages = calloc(n / PAGE_SYMBOLS + 1, sizeof(*pages));
	if (!sorted || !pages)
		return &vmop_error_no_memory;
	memcpy(sorted, symbols, n * sizeof(*sorted));
	for (size_t i = 1; i < n; i++)
		if (sorted[i].offset < sorted[i - 1].offset) {
			qsort(sorted, n, sizeof(*sorted), by_offset);
			break;
		}
	find_always(sorted, n, always, &writing.head);
	writing.pages = pages;
	struct vmop_error *err = NULL;
	for (size_t first = 0, end; !err && first < n; first = end) {
		end = page_end(sorted, n, first);
		err = add_page(&writing, sorted + first, end - first);
	}
	if (!err)
		err = join(&writing, ret, ret_len_bytes);
	free(writing.blobs);
	return err;
}

/* ---- opening a book ------------------------------------------------------------- */

static struct vmop_error *corrupt(void)
{
	return vmop_error_new(VMOP_ERROR_CORRUPT, "packed symbols are damaged");
}

struct vmop_error *vmop_sampled_symbols_check_book(const void *packed, size_t len_bytes)
{
	struct book_head head;
	struct page_head page;
	const uint8_t *p = packed;
	if (len_bytes < sizeof(head))
		return corrupt();
	memcpy(&head, p, sizeof(head));
	size_t left = len_bytes - sizeof(head);
	p += sizeof(head);
	if (head.magic != BOOK_MAGIC || !head.n_pages || head.n_always > ALWAYS_MAX ||
	    head.n_pages > left / sizeof(page))
		return corrupt();
	left -= head.n_pages * sizeof(page);
	for (uint32_t i = 0; i < head.n_pages; i++) {
		uint64_t before = page.first;
		memcpy(&page, p + i * sizeof(page), sizeof(page));
		if (!page.n || page.len_bytes > left || (i && page.first <= before))
			return corrupt();
		left -= page.len_bytes;
	}
	return left ? corrupt() : NULL;
}

/* Make image of its book, which is valid. */
static bool open_book(struct vmop_sampled_image *image)
{
	struct book_head head;
	memcpy(&head, image->book, sizeof(head));
	const uint8_t *heads = image->book + sizeof(head);
	const uint8_t *blob = heads + head.n_pages * sizeof(struct page_head);
	image->pages = calloc(head.n_pages, sizeof(*image->pages));
	if (!image->pages)
		return false;
	image->n_pages = head.n_pages;
	for (uint32_t i = 0; i < head.n_pages; i++) {
		struct page_head page;
		memcpy(&page, heads + i * sizeof(page), sizeof(page));
		image->pages[i] = (struct page){.first = page.first,
						.blob = blob,
						.len_bytes = page.len_bytes,
						.n = page.n};
		blob += page.len_bytes;
	}
	for (uint32_t i = 0; i < head.n_always; i++)
		vmop_sampled_symbols_mark_image(image, head.always[i]);
	return true;
}

/* Unpack a page unless it was. False: it can't be. */
static bool unpack_page(struct page *page)
{
	if (page->symbols || page->is_damaged)
		return page->symbols;
	size_t n;
	struct vmop_error *err =
		vmop_symbols_unpack(page->blob, page->len_bytes, &page->symbols, &n);
	page->is_marked = err || n != page->n ? NULL : calloc(n, sizeof(bool));
	if (!page->is_marked) {
		vmop_error_destroy(err);
		free(page->symbols);
		page->symbols = NULL;
		page->is_damaged = true;
	}
	return page->symbols;
}

/* Make room for the pointer of an image. */
static bool make_room(struct vmop_sampled_symbols *sampled, uint32_t id)
{
	if (id < sampled->n)
		return true;
	size_t n = id + 16u;
	struct vmop_sampled_image **grown = realloc(sampled->by_id, n * sizeof(*grown));
	if (!grown)
		return false;
	memset(grown + sampled->n, 0, (n - sampled->n) * sizeof(*grown));
	sampled->by_id = grown;
	sampled->n = n;
	return true;
}

static struct vmop_error *add_image(struct vmop_sampled_symbols *sampled, uint32_t id,
				    const void *packed, size_t len_bytes)
{
	struct vmop_error *err = vmop_sampled_symbols_check_book(packed, len_bytes);
	if (err)
		return err;
	struct vmop_sampled_image *image = calloc(1, sizeof(*image));
	if (image)
		image->book = malloc(len_bytes);
	if (image && image->book) {
		memcpy(image->book, packed, len_bytes);
		if (make_room(sampled, id) && open_book(image)) {
			sampled->by_id[id] = image;
			return NULL;
		}
	}
	image_destroy(image);
	return &vmop_error_no_memory;
}

struct vmop_error *vmop_sampled_symbols_add(struct vmop_sampled_symbols *sampled,
					    struct vmop_image_id image, const void *packed,
					    size_t len_bytes)
{
	if (image.number >= IMAGES_MAX)
		return vmop_error_new(VMOP_ERROR_LIMIT, "too many images");
	/* The same symbols may come twice: the first interval was rolled back, or the row changed.
	 */
	if (image.number < sampled->n && sampled->by_id[image.number])
		return NULL;
	return add_image(sampled, image.number, packed, len_bytes);
}

/* ---- marking ---------------------------------------------------------------------- */

/* Return the end of a symbol, exclusive. One without a length ends at the next offset. */
static uint64_t end_of(const struct vmop_sampled_image *image, uint32_t p, size_t i)
{
	const struct page *page = &image->pages[p];
	const struct vmop_symbol *symbol = &page->symbols[i];
	uint64_t end;
	if (symbol->len_bytes)
		return __builtin_add_overflow(symbol->offset, symbol->len_bytes, &end) ? UINT64_MAX
										       : end;
	while (++i < page->n)
		if (page->symbols[i].offset > symbol->offset)
			return page->symbols[i].offset;
	return p + 1 < image->n_pages ? page[1].first : UINT64_MAX;
}

/* Return the index behind the last symbol of the page that begins at or before offset. */
static size_t find_behind(const struct page *page, uint64_t offset)
{
	size_t low = 0, high = page->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (page->symbols[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Readers choose among all symbols that contain the offset, so all of them are marked: aliases, and
 * symbols around others.  Return whether there is one.
 */
static bool mark_in_page(struct vmop_sampled_image *image, uint32_t p, uint64_t offset)
{
	struct page *page = &image->pages[p];
	if (!unpack_page(page))
		return false;
	bool is_found = false;
	size_t behind = find_behind(page, offset);
	uint64_t innermost = behind ? page->symbols[behind - 1].offset : 0;
	for (size_t steps = 0; behind-- > 0 && steps < NEIGHBOURS; steps++) {
		const struct vmop_symbol *symbol = &page->symbols[behind];
		/* One without a length ends before the next. */
		if (!symbol->len_bytes && symbol->offset != innermost)
			continue;
		if (!page->is_marked[behind]) {
			uint64_t end = end_of(image, p, behind);
			if (end <= offset && end != UINT64_MAX)
				continue;
			page->is_marked[behind] = image->is_dirty = true;
		}
		is_found = true;
	}
	return is_found;
}

void vmop_sampled_symbols_mark_image(struct vmop_sampled_image *image, uint64_t offset)
{
	uint32_t low = 0, high = image->n_pages;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (image->pages[middle].first <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	/* A symbol of the page before may be around this page's symbols. */
	if (low > 0 && !mark_in_page(image, low - 1, offset) && low > 1)
		mark_in_page(image, low - 2, offset);
}

/* ---- writing ---------------------------------------------------------------------- */

/* Copy the marked symbols.  Each gets its length, for the symbol behind it may be missing. */
static size_t copy_marked(const struct vmop_sampled_image *image, struct vmop_symbol *ret)
{
	size_t n = 0;
	for (uint32_t p = 0; p < image->n_pages; p++) {
		const struct page *page = &image->pages[p];
		for (size_t i = 0; page->symbols && i < page->n; i++) {
			if (!page->is_marked[i])
				continue;
			if (ret) {
				uint64_t end = end_of(image, p, i);
				ret[n] = page->symbols[i];
				if (end != UINT64_MAX)
					ret[n].len_bytes = end - ret[n].offset;
			}
			n++;
		}
	}
	return n;
}

bool vmop_sampled_symbols_is_dirty(const struct vmop_sampled_symbols *sampled, uint32_t id)
{
	return sampled->by_id[id] && sampled->by_id[id]->is_dirty;
}

struct vmop_error *vmop_sampled_symbols_pack(const struct vmop_sampled_symbols *sampled,
					     uint32_t id, uint8_t **ret, size_t *ret_len_bytes,
					     size_t *ret_n)
{
	const struct vmop_sampled_image *image = sampled->by_id[id];
	*ret_n = copy_marked(image, NULL);
	_cleanup_free_ struct vmop_symbol *marked = calloc(*ret_n + 1, sizeof(*marked));
	if (!marked)
		return &vmop_error_no_memory;
	copy_marked(image, marked);
	return vmop_symbols_pack_sampled(marked, *ret_n, ret, ret_len_bytes);
}

void vmop_sampled_symbols_commit(struct vmop_sampled_symbols *sampled)
{
	for (size_t i = 0; i < sampled->n; i++)
		if (sampled->by_id[i])
			sampled->by_id[i]->is_dirty = false;
}
