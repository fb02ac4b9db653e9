// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The code of a session that cannot be read later: bytes of sampled pages of generated code, of the
 * host's kernel and of guests. Other units read the bytes: daemon/host/jit/code-pages.h,
 * kernel-code.h, and daemon/guest/context/code.h. This one bounds their number and their room in
 * the file, and stores a page when it is new or has changed.
 *
 * The bytes are hostile, and are stored as they are. All functions belong to the sampling thread.
 */
#ifndef VMOP_DAEMON_HOST_CODE_STORE_H
#define VMOP_DAEMON_HOST_CODE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Without memory, HASH_ADD leaves the element's tbl NULL: look-ups do not find it. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "libdb/db.h"

#define VMOP_CODE_PAGE_BYTES VMOP_DB_CODE_MAX_BYTES

/* Pages of a session, pages that are taken for one interval, and versions of a page. */
#define VMOP_CODE_PAGES_MAX 65536
#define VMOP_CODE_PAGES_READ_MAX 1024
#define VMOP_CODE_PAGE_VERSIONS_MAX 16

struct vmop_code_key {
	uint64_t offset; /* in the image, of the page's first byte */
	uint64_t image;	 /* id; 64 bits, so that the key has no padding */
};

/* A page with samples. The unit that reads its bytes owns all members but the first four. */
struct vmop_code_page {
	struct vmop_code_key key;
	UT_hash_handle hh;
	uint64_t hash; /* of the bytes that were taken last */
	unsigned n_versions;

	bool is_wanted;	    /* by the next read */
	bool is_pending;    /* it is being read */
	uint32_t n_samples; /* since the last read, where a page must have several */
	uint32_t pid;	    /* of a process of the host; 0: another place */
	uint64_t process_start_ns;
	struct vmop_code_page *next_wanted;
};

struct vmop_code_store;

/* max_bytes: of all pages, as the session file holds them. */
struct vmop_error *vmop_code_store_create(uint64_t max_bytes, struct vmop_code_store **ret);
void vmop_code_store_destroy(struct vmop_code_store *store); /* NULL is allowed */

/* Return whether there is room for more code in the file. */
bool vmop_code_store_has_room(const struct vmop_code_store *store);

/* Return the page of a key, or NULL: it has none. */
struct vmop_code_page *vmop_code_store_find(const struct vmop_code_store *store,
					    const struct vmop_code_key *key);
/* Do the same, but add a missing page. NULL: no room. */
struct vmop_code_page *vmop_code_store_get(struct vmop_code_store *store,
					   const struct vmop_code_key *key);

/* Return whether a page may have one more version. */
static inline bool vmop_code_page_is_open(const struct vmop_code_page *page)
{
	return page->n_versions < VMOP_CODE_PAGE_VERSIONS_MAX;
}

/*
 * Keep a copy of a page's bytes for the file, unless they are those that were taken last. time_ns:
 * CLOCK_REALTIME, of the read. len_bytes: 1 to VMOP_CODE_PAGE_BYTES.
 */
void vmop_code_store_take(struct vmop_code_store *store, struct vmop_code_page *page,
			  uint64_t time_ns, const void *bytes, size_t len_bytes);

/*
 * Put the pages that were taken. Call it in the transaction of an interval, and
 * vmop_code_store_stored after its commit; otherwise they are put again.
 */
struct vmop_error *vmop_code_store_put(struct vmop_code_store *store, struct vmop_db *db);
void vmop_code_store_stored(struct vmop_code_store *store);

#endif
