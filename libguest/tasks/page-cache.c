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
	return base + (uint64_t)(uint32_t)layout->value[field];
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

/*
 * Find the frame of page number index of a mapping. Return false when the guest does not hold it in
 * memory.
 */
static bool find_page(struct vmop_guest_kernel *kernel, const struct vmop_layout *layout,
		      uint64_t head, uint64_t index, uint64_t *ret_gpa)
{
	struct vmop_guest_space *space = &kernel->space;
	uint64_t page = load_entry(space, layout, head, index);
	uint64_t page_bytes = (uint32_t)layout->value[VMOP_LAYOUT_PAGE_SIZE], frame;
	if (!page || space->fault || !frame_of(kernel, page, page_bytes, &frame))
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

struct vmop_error *vmop_guest_page_cache_read(struct vmop_guest_kernel *kernel,
					      const struct vmop_layout *layout, uint64_t mapping,
					      uint64_t offset, void *buf, size_t len_bytes,
					      size_t *ret_read)
{
	struct vmop_guest_space *space = &kernel->space;
	memset(buf, 0, len_bytes);
	*ret_read = 0;
	struct vmop_error *err = check(kernel, layout, mapping);
	if (err)
		return err;
	uint64_t head = vmop_guest_space_u64(space, at(layout, mapping, VMOP_LAYOUT_MAPPING_HEAD));
	uint64_t page_bytes = vmop_paging_page_bytes(&space->paging);
	bool whole = true;
	for (size_t done = 0; done < len_bytes && !space->fault;) {
		uint64_t gpa, in_page = (offset + done) % page_bytes;
		size_t chunk = page_bytes - in_page < len_bytes - done ? page_bytes - in_page
								       : len_bytes - done;
		uint8_t *out = (uint8_t *)buf + done;
		if (offset + done < offset || !vmop_guest_budget_step(space->budget))
			break;
		if (!find_page(kernel, layout, head, (offset + done) / page_bytes, &gpa)) {
			whole = false;
		} else if (!vmop_guest_memory_read(space->memory, gpa + in_page, out, chunk)) {
			memset(out, 0, chunk);
			whole = false;
		}
		if (whole)
			*ret_read += chunk;
		done += chunk;
	}
	vmop_guest_space_take_fault(space);
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
