// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/resolver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* If memory runs out, HASH_ADD leaves the element's tbl NULL instead of ending the program. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "libsym/cache/cache-file.h"
#include "libsym/cache/cache-trim.h"
#include "libsym/cache/mapped-symtab.h"
#include "libsym/cache/name-cache.h"
#include "libsym/cache/symbol-cache.h"
#include "libsym/elf/elf-symbols.h"
#include "libsym/elf/plt.h"
#include "libsym/file-finder.h"
#include "libsym/kernel-image.h"
#include "libsym/name-table.h"
#include "libutil/cleanup.h"
#include "libutil/dirs/safe-dir.h"

/* The symbols found for an image, or the reason why there are none. */
struct entry {
	UT_hash_handle hh;
	struct vmop_symtab *symtab;
	const char *reason;
	bool is_partial; /* has no symbols of a .symtab */
	bool is_foreign; /* another user could have made a file that was read */
	bool is_cached;	 /* symtab comes from the cache */
	bool is_remake;	 /* symtab takes the place of a damaged one of the cache */
	struct vmop_symbol_cache_key
		cache_key; /* where symtab belongs in the cache; empty: nowhere */
	/* To make a table again that is damaged in the cache: */
	struct vmop_resolver *resolver;
	struct vmop_image_ref ref;
	char *path, *root; /* of ref */
	char key[];
};

struct vmop_resolver {
	struct vmop_file_finder finder;
	struct vmop_name_table names;
	struct vmop_symbol_cache cache;
	struct entry *entries;
};

struct vmop_error *vmop_resolver_create(const struct vmop_resolver_options *options,
					struct vmop_resolver **ret)
{
	struct vmop_resolver *resolver = calloc(1, sizeof(*resolver));
	if (!resolver)
		return &vmop_error_no_memory;
	struct vmop_error *err = vmop_file_finder_init(&resolver->finder, options);
	if (err) {
		free(resolver);
		return err;
	}
	resolver->names.demangle = options->demangle;
	/* A cache has what other files of these build-ids had, and keeps nothing of an archive. */
	vmop_symbol_cache_init(&resolver->cache, options->answers ? NULL : options->cache_path);
	resolver->names.cache =
		vmop_name_cache_open(resolver->cache.dir_fd, resolver->names.demangle);
	*ret = resolver;
	return NULL;
}

static void destroy_entry(struct entry *entry)
{
	vmop_symtab_destroy(entry->symtab);
	free(entry->path);
	free(entry->root);
	free(entry);
}

void vmop_resolver_destroy(struct vmop_resolver *resolver)
{
	struct entry *entry, *next;
	if (!resolver)
		return;
	HASH_ITER (hh, resolver->entries, entry, next) {
		HASH_DEL(resolver->entries, entry);
		destroy_entry(entry);
	}
	vmop_file_finder_deinit(&resolver->finder);
	vmop_name_cache_close(resolver->names.cache); /* it writes names of the table */
	vmop_symbol_cache_deinit(&resolver->cache);
	vmop_name_table_deinit(&resolver->names);
	free(resolver);
}

/* The collection of one image's symbols. */
struct collecting {
	const struct vmop_image_file *image; /* NULL: only debug files were found */
	bool addresses;
	bool debug_without_image; /* a debug file was found, but its offsets are unknown */
	bool debug_too_costly;	  /* a debug file was found, but was too large to verify */
	bool is_partial;	  /* there is no .symtab */
	bool has_foreign;	  /* another user could have made a file that was read */
	struct vmop_symtab_builder builder;
};

/* Return whether another user could have made the file. */
static bool is_foreign(const struct vmop_image_file *file)
{
	struct stat st;
	return fstat(file->fd, &st) || !vmop_uid_is_trusted(st.st_uid) ||
	       vmop_others_may_write(&st);
}

static struct vmop_error *use_debug_file(void *arg, const struct vmop_image_file *file, bool *done)
{
	struct collecting *collecting = arg;
	/*
	 * objcopy(1) --only-keep-debug empties the segments of a file: nothing in it has an offset,
	 * so offsets need the program.
	 */
	const struct vmop_elf_file *layout = collecting->image ? collecting->image->elf : file->elf;
	if (collecting->addresses)
		layout = NULL;
	struct vmop_error *err =
		vmop_elf_symbols_add(file->elf, SHT_SYMTAB, layout, &collecting->builder);
	collecting->builder.place.len_bytes = 0; /* the cache's key is of the image */
	*done = collecting->builder.n > 0;
	collecting->has_foreign |= *done && is_foreign(file);
	collecting->debug_without_image |= !*done && !collecting->image;
	return err;
}

static struct vmop_error *collect(const struct vmop_resolver *resolver,
				  const struct vmop_image_ref *ref, struct collecting *collecting)
{
	const struct vmop_elf_file *elf = collecting->image ? collecting->image->elf : NULL;
	const struct vmop_elf_file *layout = collecting->addresses ? NULL : elf;
	struct vmop_symtab_builder *builder = &collecting->builder;
	struct vmop_error *err = NULL;

	if (elf)
		err = vmop_elf_symbols_add(elf, SHT_SYMTAB, layout, builder);
	if (!err && builder->n == 0)
		err = vmop_file_finder_each_debug_file(&resolver->finder, ref, collecting->image,
						       use_debug_file, collecting, builder->budget,
						       &collecting->debug_too_costly);
	collecting->is_partial = builder->n == 0;
	if (!err && builder->n == 0 && elf)
		err = vmop_elf_dynamic_symbols_add(elf, layout, builder);
	if (!err && layout)
		err = vmop_plt_add(layout, builder);
	return err;
}

/* Read a file such as System.map. It has no build-id, so it is used only if ref has none. */
static struct vmop_error *read_kernel_text(const struct vmop_image_ref *ref,
					   struct vmop_sym_budget *budget, struct entry *entry)
{
	struct vmop_error *err = vmop_kernel_image_read(ref->path, budget, &entry->symtab);
	if (!err || err->code == VMOP_ERROR_NO_MEMORY || budget->spent)
		return err;
	vmop_error_destroy(err);
	return NULL;
}

/* Look for the table of an image without a build-id in the cache, by the identity of its file. */
static struct vmop_error *load_by_file(const struct vmop_resolver *resolver,
				       const struct vmop_image_ref *ref,
				       const struct vmop_image_file *image, struct entry *entry)
{
	struct stat st;
	if (fstat(image->fd, &st) ||
	    !vmop_symbol_cache_key_of_file(&st, ref->addresses, &entry->cache_key)) {
		entry->cache_key = (struct vmop_symbol_cache_key){0};
		return NULL;
	}
	struct vmop_error *err = vmop_symbol_cache_load(&resolver->cache, &entry->cache_key,
							image->fd, &entry->symtab);
	entry->is_cached = entry->symtab != NULL;
	return err;
}

/*
 * Add a table to the cache. Of a large one, use the kept one: the next tables take the memory,
 * which the kernel need not clear again. Look-ups in it take longer.
 */
static struct vmop_error *keep(struct vmop_resolver *resolver, const struct vmop_image_file *image,
			       struct entry *entry)
{
	struct vmop_symtab *kept;
	bool leaves_names =
		vmop_symbol_cache_leaves_names(&resolver->cache, &entry->cache_key, entry->symtab);
	vmop_symbol_cache_save(&resolver->cache, &entry->cache_key, entry->is_partial,
			       entry->symtab);
	if (entry->is_remake || !vmop_symtab_identity(entry->symtab) || !leaves_names)
		return NULL;
	struct vmop_error *err = vmop_symbol_cache_load(&resolver->cache, &entry->cache_key,
							image ? image->fd : -1, &kept);
	if (kept) {
		vmop_symtab_destroy(entry->symtab);
		entry->symtab = kept;
	}
	return err;
}

static const char not_verified[] = "not verified: the image has no build-id";

/* Fill entry's symtab, or set its reason. A budget that ran out is returned as an error instead. */
static struct vmop_error *find_symbols(struct vmop_resolver *resolver,
				       const struct vmop_image_ref *ref,
				       struct vmop_sym_budget *budget, struct entry *entry)
{
	_cleanup_(vmop_image_file_cleanup) struct vmop_image_file *image = NULL;
	const char *reason = NULL;
	bool verified = ref->build_id.len_bytes > 0;

	struct vmop_error *err =
		vmop_file_finder_find_image(&resolver->finder, ref, budget, &image, &reason);
	if (!err && image && !verified)
		err = load_by_file(resolver, ref, image, entry);
	if (err)
		return err;
	if (entry->is_cached) {
		entry->reason = not_verified;
		return NULL;
	}
	struct collecting collecting = {
		.image = image,
		.addresses = ref->addresses,
		.builder.budget = budget,
	};
	err = collect(resolver, ref, &collecting);
	size_t n = collecting.builder.n;
	if (!err && n > 0)
		err = vmop_symtab_builder_finish(&collecting.builder, ref->path ? ref->path : "",
						 &entry->symtab);
	vmop_symtab_builder_deinit(&collecting.builder);
	entry->is_partial = collecting.is_partial;
	/* A container's root can give its files any owner of the container. */
	entry->is_foreign = collecting.has_foreign || ref->root || (image && is_foreign(image));
	if (!err && n == 0 && ref->addresses && !verified && ref->path && !resolver->finder.answers)
		err = read_kernel_text(ref, budget, entry);
	if (entry->symtab)
		entry->reason = verified ? NULL : not_verified;
	else if (collecting.debug_too_costly)
		vmop_sym_budget_spend(budget, VMOP_SYM_COST_CHECKSUM);
	else if (collecting.debug_without_image)
		entry->reason = "only its debug file was found, which lacks its file offsets";
	else
		entry->reason = image ? "no symbols" : reason;
	if (!err && entry->symtab && !entry->is_foreign)
		err = keep(resolver, image, entry);
	return err;
}

static struct vmop_error *resolve(struct vmop_resolver *resolver, const struct vmop_image_ref *ref,
				  struct entry *entry)
{
	struct vmop_sym_budget budget;
	vmop_sym_budget_init(&budget);
	struct vmop_error *err = find_symbols(resolver, ref, &budget, entry);
	if (err && err->code == VMOP_ERROR_NO_MEMORY)
		return err;
	if (!entry->symtab && budget.spent)
		entry->reason = vmop_sym_budget_message(&budget);
	else if (err) /* to the reader of a report, a damaged file is a file without symbols */
		entry->reason = "its symbol table is damaged";
	vmop_error_destroy(err);
	return NULL;
}

/* Make the key of ref. With a known build-id, several paths share one key. */
static char *key_of(const struct vmop_image_ref *ref, bool by_build_id)
{
	char hex[2 * VMOP_BUILD_ID_MAX_BYTES + 1], *key;
	vmop_build_id_format(&ref->build_id, hex);
	int n = by_build_id ? asprintf(&key, "%d %s", ref->addresses, hex)
			    : asprintf(&key, "%d%d %s %s:%s", ref->addresses, ref->is_elsewhere,
				       hex, ref->root ? ref->root : "", ref->path ? ref->path : "");
	return n < 0 ? NULL : key;
}

/* Find symbols in the cache of earlier runs, else in files, and add them to the cache. */
static struct vmop_error *resolve_cached(struct vmop_resolver *resolver,
					 const struct vmop_image_ref *ref, struct entry *entry)
{
	entry->cache_key = (struct vmop_symbol_cache_key){
		.build_id = ref->build_id,
		.addresses = ref->addresses,
	};
	struct vmop_error *err =
		vmop_symbol_cache_load(&resolver->cache, &entry->cache_key, -1, &entry->symtab);
	return err || entry->symtab ? err : resolve(resolver, ref, entry);
}

/* Make the table of an entry again. Its file in the cache is damaged. */
static struct vmop_symtab *remake(void *arg)
{
	const struct entry *entry = arg;
	struct entry found = {.is_remake = true};
	vmop_symbol_cache_remove(&entry->resolver->cache, &entry->cache_key);
	struct vmop_error *err = resolve_cached(entry->resolver, &entry->ref, &found);
	vmop_error_destroy(err);
	return found.symtab;
}

/* Let a table of the cache be made again if it turns out to be damaged. */
static bool prepare_remake(struct vmop_resolver *resolver, const struct vmop_image_ref *ref,
			   const struct entry *found, struct entry *entry)
{
	struct vmop_mapped_symtab *mapped = vmop_mapped_symtab_of(found->symtab);
	if (!mapped)
		return true;
	entry->path = ref->path ? strdup(ref->path) : NULL;
	entry->root = ref->root ? strdup(ref->root) : NULL;
	if ((ref->path && !entry->path) || (ref->root && !entry->root))
		return false;
	entry->resolver = resolver;
	entry->cache_key = found->cache_key;
	entry->ref = *ref;
	entry->ref.path = entry->path;
	entry->ref.root = entry->root;
	vmop_mapped_symtab_set_remake(mapped, remake, entry);
	return true;
}

static struct vmop_error *remember(struct vmop_resolver *resolver, const char *key,
				   const struct vmop_image_ref *ref, const struct entry *found,
				   struct entry **ret)
{
	size_t len = strlen(key);
	struct entry *entry = calloc(1, sizeof(*entry) + len + 1);
	if (!entry)
		return &vmop_error_no_memory;
	memcpy(entry->key, key, len);
	if (!prepare_remake(resolver, ref, found, entry)) {
		destroy_entry(entry);
		return &vmop_error_no_memory;
	}
	HASH_ADD_KEYPTR(hh, resolver->entries, entry->key, len, entry);
	if (!entry->hh.tbl) {
		destroy_entry(entry);
		return &vmop_error_no_memory;
	}
	entry->symtab = found->symtab;
	entry->reason = found->reason;
	*ret = entry;
	return NULL;
}

static struct vmop_error *find_entry(struct vmop_resolver *resolver,
				     const struct vmop_image_ref *ref, struct entry **ret)
{
	_cleanup_free_ char *by_id = key_of(ref, true), *by_path = key_of(ref, false);
	if (!by_id || !by_path)
		return &vmop_error_no_memory;
	*ret = NULL;
	if (ref->build_id.len_bytes)
		HASH_FIND_STR(resolver->entries, by_id, *ret);
	if (!*ret)
		HASH_FIND_STR(resolver->entries, by_path, *ret);
	if (*ret)
		return NULL;
	struct entry found = {0};
	struct vmop_error *err = resolve_cached(resolver, ref, &found);
	if (!err)
		err = remember(resolver, found.symtab && ref->build_id.len_bytes ? by_id : by_path,
			       ref, &found, ret);
	if (err)
		vmop_symtab_destroy(found.symtab);
	return err;
}

struct vmop_error *vmop_resolver_symtab(struct vmop_resolver *resolver,
					const struct vmop_image_ref *ref,
					const struct vmop_symtab **ret, const char **ret_reason)
{
	struct entry *entry;
	struct vmop_error *err = find_entry(resolver, ref, &entry);
	if (err)
		return err;
	*ret = entry->symtab;
	*ret_reason = entry->reason;
	return NULL;
}

const char *vmop_resolver_name(struct vmop_resolver *resolver, const char *mangled)
{
	return vmop_name_table_show(&resolver->names, mangled);
}

bool vmop_resolver_has_cache(const struct vmop_resolver *resolver)
{
	return resolver->cache.dir_fd >= 0;
}

const void *vmop_resolver_map(const struct vmop_resolver *resolver, const char *name,
			      size_t max_bytes, size_t *ret_len_bytes)
{
	struct stat st;
	_cleanup_close_ int fd =
		vmop_resolver_has_cache(resolver)
			? vmop_cache_file_open(resolver->cache.dir_fd, name, max_bytes, &st)
			: -1;
	if (fd < 0 || !st.st_size)
		return NULL;
	void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return NULL;
	vmop_cache_touch(fd, &st);
	*ret_len_bytes = (size_t)st.st_size;
	return bytes;
}

void vmop_resolver_keep(struct vmop_resolver *resolver, const char *name, const void *bytes,
			size_t len_bytes)
{
	if (!vmop_resolver_has_cache(resolver))
		return;
	vmop_cache_file_replace(resolver->cache.dir_fd, name, bytes, len_bytes);
	resolver->cache.has_saved = true;
}

const struct vmop_file_finder *vmop_resolver_finder(const struct vmop_resolver *resolver)
{
	return &resolver->finder;
}
