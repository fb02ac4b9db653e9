// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The pages of files that a guest ran code in, and the image of each: a cache, so that the guest's
 * memory is read once for many samples in a page.
 *
 * A page is wanted at its first sample, and found or not by the watching thread soon after. It is
 * the answer for all samples that have the same identity (page-key.h): a page that is freed and
 * used for another file has another one. An inode has an entry too, as a page with an index that no
 * file reaches.
 *
 * All functions belong to the sampling thread.
 */
#ifndef VMOP_DAEMON_GUEST_CONTEXT_FILES_H
#define VMOP_DAEMON_GUEST_CONTEXT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/guest/context/page-key.h"
#include "daemon/host/image.h"

/* Pages at first, and at most. Samples in further pages have no file until pages are dropped. */
#define VMOP_GUEST_FILES_FIRST 512u
#define VMOP_GUEST_FILES_MAX 65536u

enum vmop_guest_code_page_state {
	VMOP_GUEST_PAGE_NEW = 0, /* not requested yet, or the request was refused */
	VMOP_GUEST_PAGE_PENDING,
	VMOP_GUEST_PAGE_FOUND,
	VMOP_GUEST_PAGE_LOST, /* the file was gone when it was looked for */
};

struct vmop_guest_code_page {
	struct vmop_guest_page_key key;
	enum vmop_guest_code_page_state state;
	bool is_verified;		/* the page had the code that was sampled */
	bool has_entry;			/* this slot of the table is in use */
	uint32_t used_in, requested_in; /* numbers of intervals, from 1; 0: none */
	struct vmop_image *image;	/* FOUND: its file, referenced */
};

/* Zeroed: without room. */
struct vmop_guest_files {
	struct vmop_guest_code_page *slots; /* a hash table with linear probing */
	uint32_t n, n_slots;		    /* n_slots is a power of two */
	uint32_t interval;		    /* number of the present one */
	uint64_t n_refused;		    /* look-ups without room */
};

/* Make room for the first pages. False: out of memory. */
bool vmop_guest_files_init(struct vmop_guest_files *files);
void vmop_guest_files_deinit(struct vmop_guest_files *files, struct vmop_images *images);

/*
 * Return the page, as NEW if it was not there; NULL: no room. Valid until the next
 * vmop_guest_files_next_interval. On the per-sample path.
 */
struct vmop_guest_code_page *vmop_guest_files_get(struct vmop_guest_files *files,
						  const struct vmop_guest_page_key *key);

/* Return the page, or NULL: it is not there. */
struct vmop_guest_code_page *vmop_guest_files_find(const struct vmop_guest_files *files,
						   const struct vmop_guest_page_key *key);

/*
 * Note the file of an inode that was found with one of its pages, which key is of. Later pages of
 * the same inode have this file, also if the guest has deleted it meanwhile.
 */
void vmop_guest_files_note_inode(struct vmop_guest_files *files, struct vmop_images *images,
				 const struct vmop_guest_page_key *key, struct vmop_image *image,
				 bool is_verified);
/* Return that of the page's inode, or NULL: no page of it was found. */
const struct vmop_guest_code_page *
vmop_guest_files_find_inode(const struct vmop_guest_files *files,
			    const struct vmop_guest_page_key *key);

/* Note that the file of a page was found. Takes over the reference to image. */
void vmop_guest_files_found(struct vmop_guest_code_page *page, struct vmop_images *images,
			    struct vmop_image *image, bool is_verified);

/*
 * Begin the next interval. Makes room if the table is nearly full: drops pages that had no sample
 * in the last two intervals, and grows up to the limit.
 */
void vmop_guest_files_next_interval(struct vmop_guest_files *files, struct vmop_images *images);

#endif
