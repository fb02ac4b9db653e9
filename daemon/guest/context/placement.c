// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/context/placement.h"

#include <string.h>

static bool is_file(const struct vmop_guest_vma *vma)
{
	return vma && vmop_guest_vma_is_file(vma);
}

/* Return whether a mapping of the process has the page's file at the same offset. */
static bool agrees(const struct vmop_guest_code_facts *facts)
{
	const struct vmop_guest_vma *vma = facts->vma;
	const struct vmop_image *image = facts->page->image;
	if (!is_file(vma) ||
	    facts->address - vma->start + vma->file_offset_bytes != facts->file_offset_bytes)
		return false;
	bool has_same_id = vma->build_id_len_bytes &&
			   vma->build_id_len_bytes == image->build_id.len_bytes &&
			   !memcmp(vma->build_id, image->build_id.bytes, vma->build_id_len_bytes);
	return has_same_id || !strcmp(vma->path, image->name);
}

static struct vmop_guest_placement at(enum vmop_guest_place place, enum vmop_certainty certainty)
{
	return (struct vmop_guest_placement){.place = place, .certainty = certainty};
}

static struct vmop_guest_placement place_file(const struct vmop_guest_code_facts *facts)
{
	const struct vmop_guest_code_page *page = facts->page;
	if (page && page->state == VMOP_GUEST_PAGE_FOUND) {
		if (agrees(facts))
			return at(VMOP_GUEST_PLACE_MAPPING, VMOP_CERTAIN_EXACT);
		return at(VMOP_GUEST_PLACE_FILE,
			  page->is_verified ? VMOP_CERTAIN_EXACT : VMOP_CERTAIN_LIKELY);
	}
	if (is_file(facts->vma))
		return at(VMOP_GUEST_PLACE_MAPPING, VMOP_CERTAIN_LIKELY);
	return at(VMOP_GUEST_PLACE_LOST_FILE, VMOP_CERTAIN_AMBIGUOUS);
}

struct vmop_guest_placement vmop_guest_place(const struct vmop_guest_code_facts *facts)
{
	bool has_page = facts->parts & VMOP_GUEST_HAS_PAGE;
	if (has_page && facts->mapping & VMOP_GUEST_MAPPING_ANON)
		return is_file(facts->vma) ? at(VMOP_GUEST_PLACE_MAPPING, VMOP_CERTAIN_LIKELY)
					   : at(VMOP_GUEST_PLACE_GENERATED, VMOP_CERTAIN_EXACT);
	if (has_page && facts->mapping)
		return place_file(facts);
	if (facts->parts & VMOP_GUEST_HAS_GPA && facts->is_in_kernel_image)
		return at(VMOP_GUEST_PLACE_VDSO, VMOP_CERTAIN_EXACT);
	if (facts->vma)
		return at(VMOP_GUEST_PLACE_MAPPING, VMOP_CERTAIN_EXACT);
	return at(VMOP_GUEST_PLACE_UNKNOWN, VMOP_CERTAIN_AMBIGUOUS);
}
