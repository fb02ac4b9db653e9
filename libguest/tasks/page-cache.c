// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/tasks/page-cache.h"

#include <string.h>

#include "libguest/kernel/kernel.h"
#include "libguest/kernel/layout.h"
#include "libguest/memory/memory.h"
#include "libutil/error.h"

#define CHUNK_BITS 6 /* XA_CHUNK_SHIFT without CONFIG_BASE_SMALL */
#define CHUNK_MASK 63
#define MAX_FOLIO_PAGES (UINT64_C(1) << 18) /* 1 GiB of 4 KiB */
#define MAX_FRAMES (UINT64_C(1) << 40)	    /* 52 bits of addresses */
#define BATCH_PAGES 64			    /* that are found, copied, and found once more */
#define NO_PAGE UINT64_MAX

/* include/linux/xarray.h: entries with the low bits 2 belong to the tree itself */
static bool is_node(uint64_t entry)
{
	return (entry & 3) == 2 && entry > 4096;
}

static bool is_sibling(uint64_t entry)
{
	return (entry & 3) == 2 && entry >> 2 < 64;
}

static uint64_t at(const struct vmop_layout *layout, uint64_t base, enum vmop_layout_field field)
{
	return base + vmop_layout_value(layout, field);
}

/* Return the entry at index; 0: none. The shift must fall from level to level, so the loop ends. */
static uint64_t load_entry(struct vmop_guest_space *space, const struct vmop_layout *layout,
			   uint64_t head, uint64_t index)
{
	uint64_t entry = head;
	unsigned int above = 64;
	while (is_node(entry)) {
		uint64_t node = entry - 2;
		uint64_t slots = at(layout, node, VMOP_LAYOUT_XA_NODE_SLOTS);
		unsigned int shift =
			vmop_guest_space_u8(space, at(layout, node, VMOP_LAYOUT_XA_NODE_SHIFT));
		if (space->fault || shift >= above || shift > 60 ||
		    (above == 64 && shift + CHUNK_BITS < 64 && index >> (shift + CHUNK_BITS)))
			return 0;
		above = shift;
		entry = vmop_guest_space_u64(space, slots + 8 * ((index >> shift) & CHUNK_MASK));
		if (is_sibling(entry))
			entry = vmop_guest_space_u64(space, slots + 8 * (entry >> 2));
	}
	if (above == 64 && index)
		return 0; /* a single entry has index 0 */
	return entry & 3 ? 0 : entry;
}

/* Find the frame of a struct page. */
static bool frame_of(struct vmop_guest_kernel *kernel, uint64_t page, uint64_t page_bytes,
		     uint64_t *ret)
{
	uint64_t first = vmop_guest_kernel_page_structs(kernel);
	*ret = (page - first) / page_bytes;
	return first && *ret < MAX_FRAMES && (page - first) % page_bytes == 0;
}

/* The pages of a file. */
struct pages {
	struct vmop_guest_kernel *kernel;
	const struct vmop_layout *layout;
	uint64_t mapping, head;
};

/* Read the root of the tree as it is now. */
static void begin_pages(struct pages *pages)
{
	struct vmop_guest_space *space = &pages->kernel->space;
	pages->head = vmop_guest_space_u64(
		space, at(pages->layout, pages->mapping, VMOP_LAYOUT_MAPPING_HEAD));
}

/*
 * Find the frame of page number index of a file. Return false when the guest does not hold it in
 * memory.
 */
static bool find_page(const struct pages *pages, uint64_t index, uint64_t *ret_gpa)
{
	struct vmop_guest_kernel *kernel = pages->kernel;
	const struct vmop_layout *layout = pages->layout;
	struct vmop_guest_space *space = &kernel->space;
	uint64_t page = load_entry(space, layout, pages->head, index);
	uint64_t page_bytes = vmop_layout_value(layout, VMOP_LAYOUT_PAGE_SIZE), frame;
	if (!page || space->fault || !frame_of(kernel, page, page_bytes, &frame))
		return false;
	if (vmop_layout_has(layout, VMOP_LAYOUT_PAGE_MAPPING) &&
	    vmop_guest_space_u64(space, at(layout, page, VMOP_LAYOUT_PAGE_MAPPING)) !=
		    pages->mapping)
		return false;
	enum vmop_layout_field field = vmop_layout_has(layout, VMOP_LAYOUT_FOLIO_INDEX)
					       ? VMOP_LAYOUT_FOLIO_INDEX
					       : VMOP_LAYOUT_PAGE_INDEX;
	uint64_t first = vmop_guest_space_u64(space, at(layout, page, field));
	if (space->fault || index < first || index - first >= MAX_FOLIO_PAGES)
		return false;
	uint64_t page_size = vmop_paging_page_bytes(&space->paging);
	frame += index - first;
	return frame <= UINT64_MAX / page_size &&
	       vmop_guest_kernel_locate(kernel, frame * page_size, ret_gpa);
}

static struct vmop_error *unknown_layout(void)
{
	return vmop_error_new(VMOP_ERROR_NOT_FOUND,
			      "the layout of the page cache of the guest's kernel is unknown");
}

static struct vmop_error *no_file(void)
{
	return vmop_error_new(VMOP_ERROR_NOT_FOUND, "the guest has no such file open");
}

struct vmop_error *vmop_guest_page_cache_of_file(struct vmop_guest_kernel *kernel,
						 const struct vmop_layout *layout, uint64_t file,
						 uint64_t *ret)
{
	struct vmop_guest_space *space = &kernel->space;
	if (!vmop_layout_has(layout, VMOP_LAYOUT_FILE_MAPPING))
		return unknown_layout();
	*ret = vmop_guest_space_u64(space, at(layout, file, VMOP_LAYOUT_FILE_MAPPING));
	if (vmop_guest_space_take_fault(space) || !vmop_guest_space_is_kernel(space, file))
		return no_file();
	return NULL;
}

static struct vmop_error *check(const struct vmop_guest_kernel *kernel,
				const struct vmop_layout *layout, uint64_t mapping)
{
	if (!vmop_layout_has_page_cache(layout))
		return unknown_layout();
	return vmop_guest_space_is_kernel(&kernel->space, mapping) ? NULL : no_file();
}

/* A piece of a file: up to BATCH_PAGES pages, with the places of those that were copied. */
struct batch {
	uint64_t offset, page_bytes;
	uint8_t *out;
	size_t len_bytes;
	uint64_t gpas[BATCH_PAGES]; /* NO_PAGE: the bytes are zeros */
};

/* Return how many bytes of the batch are in the page of its byte number done. */
static size_t chunk_at(const struct batch *batch, size_t done)
{
	uint64_t left = batch->page_bytes - (batch->offset + done) % batch->page_bytes;
	return left < batch->len_bytes - done ? (size_t)left : batch->len_bytes - done;
}

/* Copy the pages that there are. A fault of the space, or the end of the budget, ends the batch. */
static void copy_batch(struct pages *pages, struct batch *batch)
{
	struct vmop_guest_space *space = &pages->kernel->space;
	size_t done = 0, chunk;
	begin_pages(pages);
	for (size_t i = 0; i < BATCH_PAGES && done < batch->len_bytes && !space->fault; i++) {
		uint64_t offset = batch->offset + done;
		uint64_t *gpa = &batch->gpas[i];
		if (offset < batch->offset || !vmop_guest_budget_step(space->budget))
			break;
		chunk = chunk_at(batch, done);
		if (!find_page(pages, offset / batch->page_bytes, gpa) ||
		    !vmop_guest_memory_read(space->memory, *gpa + offset % batch->page_bytes,
					    batch->out + done, chunk)) {
			memset(batch->out + done, 0, chunk);
			*gpa = NO_PAGE;
		}
		done += chunk;
	}
	batch->len_bytes = done;
}

/*
 * Find the copied pages once more: the guest may have freed one meanwhile, and its frame may have
 * had another file's content when it was copied. The bytes of such pages become zeros. Return the
 * number of bytes before the first page that is missing.
 */
static size_t check_batch(struct pages *pages, const struct batch *batch)
{
	size_t n_whole = 0, chunk;
	bool is_whole = true;
	vmop_guest_memory_forget(pages->kernel->space.memory);
	begin_pages(pages);
	for (size_t done = 0, i = 0; done < batch->len_bytes; done += chunk, i++) {
		uint64_t gpa;
		chunk = chunk_at(batch, done);
		bool is_same = batch->gpas[i] != NO_PAGE &&
			       find_page(pages, (batch->offset + done) / batch->page_bytes, &gpa) &&
			       gpa == batch->gpas[i];
		if (!is_same)
			memset(batch->out + done, 0, chunk);
		is_whole = is_whole && is_same;
		n_whole += is_whole ? chunk : 0;
	}
	return n_whole;
}

struct vmop_error *vmop_guest_page_cache_read(struct vmop_guest_kernel *kernel,
					      const struct vmop_layout *layout, uint64_t mapping,
					      uint64_t offset, void *buf, size_t len_bytes,
					      size_t *ret_read)
{
	struct vmop_guest_space *space = &kernel->space;
	struct pages pages = {.kernel = kernel, .layout = layout, .mapping = mapping};
	memset(buf, 0, len_bytes);
	*ret_read = 0;
	struct vmop_error *err = check(kernel, layout, mapping);
	if (err)
		return err;
	bool is_over = false;
	for (size_t done = 0; done < len_bytes && !is_over;) {
		struct batch batch = {
			.offset = offset + done,
			.page_bytes = vmop_paging_page_bytes(&space->paging),
			.out = (uint8_t *)buf + done,
			.len_bytes = len_bytes - done,
		};
		copy_batch(&pages, &batch);
		is_over = vmop_guest_space_take_fault(space) || !batch.len_bytes;
		size_t n_whole = check_batch(&pages, &batch);
		is_over = vmop_guest_space_take_fault(space) || is_over;
		*ret_read += *ret_read == done ? n_whole : 0;
		done += batch.len_bytes;
	}
	return NULL;
}

struct vmop_error *vmop_guest_page_cache_size(struct vmop_guest_kernel *kernel,
					      const struct vmop_layout *layout, uint64_t mapping,
					      uint64_t *ret)
{
	struct vmop_guest_space *space = &kernel->space;
	struct vmop_error *err = check(kernel, layout, mapping);
	if (err)
		return err;
	uint64_t inode =
		vmop_layout_has(layout, VMOP_LAYOUT_MAPPING_HOST)
			? vmop_guest_space_u64(space, at(layout, mapping, VMOP_LAYOUT_MAPPING_HOST))
			: 0;
	*ret = inode && vmop_layout_has(layout, VMOP_LAYOUT_INODE_SIZE)
		       ? vmop_guest_space_u64(space, at(layout, inode, VMOP_LAYOUT_INODE_SIZE))
		       : 0;
	if (vmop_guest_space_take_fault(space) || !inode || *ret > INT64_MAX)
		return no_file();
	return NULL;
}
