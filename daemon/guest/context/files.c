// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/context/files.h"

#include <stdlib.h>
#include <string.h>

/* The intervals after which a page without samples may be dropped. */
#define UNUSED_INTERVALS 2
/* The most slots that a look-up compares: a guest can choose keys that collide. */
#define MAX_PROBES 128

bool vmop_guest_files_init(struct vmop_guest_files *files)
{
	*files = (struct vmop_guest_files){.interval = 1};
	files->slots = calloc(VMOP_GUEST_FILES_FIRST, sizeof(*files->slots));
	if (files->slots)
		files->n_slots = VMOP_GUEST_FILES_FIRST;
	return files->slots;
}

void vmop_guest_files_deinit(struct vmop_guest_files *files, struct vmop_images *images)
{
	for (uint32_t i = 0; i < files->n_slots; i++)
		vmop_image_unref(images, files->slots[i].image);
	free(files->slots);
	*files = (struct vmop_guest_files){0};
}

/* The finaliser of MurmurHash3 (A. Appleby): every bit of the input moves half of the output's. */
static uint64_t mix(uint64_t word)
{
	word ^= word >> 33;
	word *= UINT64_C(0xff51afd7ed558ccd);
	word ^= word >> 33;
	word *= UINT64_C(0xc4ceb9fe1a85ec53);
	return word ^ word >> 33;
}

static uint32_t first_slot(const struct vmop_guest_files *files,
			   const struct vmop_guest_page_key *key)
{
	return (uint32_t)mix(key->mapping + mix(key->index + key->generation)) &
	       (files->n_slots - 1);
}

/* Return the page's slot, or else the free slot where it belongs. NULL: no slot is free. */
static struct vmop_guest_code_page *slot_of(const struct vmop_guest_files *files,
					    const struct vmop_guest_page_key *key)
{
	if (!files->n_slots)
		return NULL;
	uint32_t at = first_slot(files, key);
	for (unsigned i = 0; i < MAX_PROBES; i++) {
		struct vmop_guest_code_page *page = &files->slots[at];
		if (!page->has_entry || !memcmp(&page->key, key, sizeof(*key)))
			return page;
		at = (at + 1) & (files->n_slots - 1);
	}
	return NULL;
}

struct vmop_guest_code_page *vmop_guest_files_find(const struct vmop_guest_files *files,
						   const struct vmop_guest_page_key *key)
{
	struct vmop_guest_code_page *page = slot_of(files, key);
	return page && page->has_entry ? page : NULL;
}

static bool is_full(const struct vmop_guest_files *files)
{
	return files->n >= files->n_slots / 4 * 3;
}

struct vmop_guest_code_page *vmop_guest_files_get(struct vmop_guest_files *files,
						  const struct vmop_guest_page_key *key)
{
	struct vmop_guest_code_page *page = slot_of(files, key);
	if (!page || (!page->has_entry && is_full(files))) {
		files->n_refused++;
		return NULL;
	}
	if (!page->has_entry) {
		*page = (struct vmop_guest_code_page){.key = *key, .has_entry = true};
		files->n++;
	}
	page->used_in = files->interval;
	return page;
}

void vmop_guest_files_found(struct vmop_guest_code_page *page, struct vmop_images *images,
			    struct vmop_image *image, bool is_verified)
{
	vmop_image_unref(images, page->image);
	page->image = image;
	page->state = VMOP_GUEST_PAGE_FOUND;
	page->is_verified = is_verified;
}

static struct vmop_guest_page_key inode_key(const struct vmop_guest_page_key *page)
{
	struct vmop_guest_page_key key = *page;
	key.index = UINT64_MAX;
	return key;
}

void vmop_guest_files_note_inode(struct vmop_guest_files *files, struct vmop_images *images,
				 const struct vmop_guest_page_key *key, struct vmop_image *image,
				 bool is_verified)
{
	const struct vmop_guest_page_key of_inode = inode_key(key);
	struct vmop_guest_code_page *entry = vmop_guest_files_get(files, &of_inode);
	if (entry)
		vmop_guest_files_found(entry, images, vmop_image_ref(image),
				       is_verified ||
					       (entry->is_verified && entry->image == image));
}

const struct vmop_guest_code_page *
vmop_guest_files_find_inode(const struct vmop_guest_files *files,
			    const struct vmop_guest_page_key *key)
{
	const struct vmop_guest_page_key of_inode = inode_key(key);
	const struct vmop_guest_code_page *entry = vmop_guest_files_find(files, &of_inode);
	return entry && entry->state == VMOP_GUEST_PAGE_FOUND ? entry : NULL;
}

static bool is_unused(const struct vmop_guest_files *files, const struct vmop_guest_code_page *page)
{
	return files->interval - page->used_in > UNUSED_INTERVALS;
}

/* Move the pages that stay to a table of n_slots. Without memory, all stays as it is. */
static void rebuild(struct vmop_guest_files *files, struct vmop_images *images, uint32_t n_slots)
{
	struct vmop_guest_files to = *files;
	to.slots = calloc(n_slots, sizeof(*to.slots));
	if (!to.slots)
		return;
	to.n_slots = n_slots;
	to.n = 0;
	for (uint32_t i = 0; i < files->n_slots; i++) {
		struct vmop_guest_code_page *page = &files->slots[i];
		if (!page->has_entry)
			continue;
		struct vmop_guest_code_page *slot =
			is_unused(files, page) ? NULL : slot_of(&to, &page->key);
		if (!slot) {
			vmop_image_unref(images, page->image);
			continue;
		}
		*slot = *page;
		to.n++;
	}
	free(files->slots);
	*files = to;
}

void vmop_guest_files_next_interval(struct vmop_guest_files *files, struct vmop_images *images)
{
	files->interval++;
	if (files->n < files->n_slots / 2)
		return;
	uint32_t n_used = 0;
	for (uint32_t i = 0; i < files->n_slots; i++)
		n_used += files->slots[i].has_entry && !is_unused(files, &files->slots[i]);
	bool grows = n_used >= files->n_slots / 2 && files->n_slots < VMOP_GUEST_FILES_MAX;
	if (grows || n_used < files->n)
		rebuild(files, images, grows ? files->n_slots * 2 : files->n_slots);
}
