// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/code/code-store.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "libutil/array.h"
#include "libutil/log.h"

/* Bytes to store. */
struct taken {
	struct vmop_code_key key;
	uint64_t time_ns; /* CLOCK_REALTIME */
	size_t len_bytes;
	uint8_t bytes[VMOP_CODE_PAGE_BYTES];
};

struct vmop_code_store {
	struct vmop_code_page *pages; /* by key */
	struct taken *taken;
	size_t n_taken, capacity;
	uint64_t left_bytes, storing_bytes; /* of the bound; of the open interval */
	bool limit_was_logged;
};

bool vmop_code_store_has_room(const struct vmop_code_store *store)
{
	return store->left_bytes > 0;
}

struct vmop_code_page *vmop_code_store_find(const struct vmop_code_store *store,
					    const struct vmop_code_key *key)
{
	struct vmop_code_page *page;
	HASH_FIND(hh, store->pages, key, sizeof(*key), page);
	return page;
}

struct vmop_code_page *vmop_code_store_get(struct vmop_code_store *store,
					   const struct vmop_code_key *key)
{
	struct vmop_code_page *page = vmop_code_store_find(store, key);
	if (page || HASH_COUNT(store->pages) >= VMOP_CODE_PAGES_MAX)
		return page;
	page = calloc(1, sizeof(*page));
	if (!page)
		return NULL;
	page->key = *key;
	HASH_ADD(hh, store->pages, key, sizeof(page->key), page);
	if (page->hh.tbl)
		return page;
	free(page); /* no memory for the table */
	return NULL;
}

void vmop_code_store_take(struct vmop_code_store *store, struct vmop_code_page *page,
			  uint64_t time_ns, const void *bytes, size_t len_bytes)
{
	uint64_t hash = XXH3_64bits(bytes, len_bytes);
	if ((page->n_versions && hash == page->hash) || !vmop_code_page_is_open(page) ||
	    !store->left_bytes || store->n_taken >= VMOP_CODE_PAGES_READ_MAX ||
	    !vmop_array_reserve(store->taken, store->capacity, store->n_taken + 1))
		return;
	struct taken *taken = &store->taken[store->n_taken++];
	taken->key = page->key;
	taken->time_ns = time_ns;
	taken->len_bytes = len_bytes;
	memcpy(taken->bytes, bytes, len_bytes);
	page->hash = hash;
	page->n_versions++;
}

struct vmop_error *vmop_code_store_put(struct vmop_code_store *store, struct vmop_db *db)
{
	struct vmop_error *err = NULL;
	store->storing_bytes = 0;
	for (size_t i = 0; i < store->n_taken && !err; i++) {
		const struct taken *taken = &store->taken[i];
		const struct vmop_db_code code = {
			.image = {(uint32_t)taken->key.image},
			.offset = taken->key.offset,
			.time_ns = taken->time_ns,
			.bytes = taken->bytes,
			.len_bytes = taken->len_bytes,
		};
		size_t stored_bytes;
		if (store->storing_bytes >= store->left_bytes)
			break;
		err = vmop_db_put_code(db, &code, &stored_bytes);
		store->storing_bytes += stored_bytes;
	}
	if (!err && store->storing_bytes >= store->left_bytes && store->n_taken)
		err = vmop_db_put_info(db, "code", "full");
	return err;
}

void vmop_code_store_stored(struct vmop_code_store *store)
{
	bool is_full = store->storing_bytes >= store->left_bytes;
	store->left_bytes -= is_full ? store->left_bytes : store->storing_bytes;
	store->storing_bytes = 0;
	store->n_taken = 0;
	if (is_full && !store->limit_was_logged) {
		store->limit_was_logged = true;
		vmop_log_info("no more code is stored: --code sets its room");
	}
}

struct vmop_error *vmop_code_store_create(uint64_t max_bytes, struct vmop_code_store **ret)
{
	struct vmop_code_store *store = calloc(1, sizeof(*store));
	if (!store)
		return &vmop_error_no_memory;
	store->left_bytes = max_bytes;
	*ret = store;
	return NULL;
}

void vmop_code_store_destroy(struct vmop_code_store *store)
{
	struct vmop_code_page *page, *next;
	if (!store)
		return;
	HASH_ITER (hh, store->pages, page, next) {
		HASH_DEL(store->pages, page);
		free(page);
	}
	free(store->taken);
	free(store);
}
