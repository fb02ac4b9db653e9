// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <xxhash.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "opreport/query/idle.h"

struct image_symbols {
	bool is_known;
	const struct vmop_symtab *symtab;
	struct vmop_symtab *adopted; /* from the session; owned */
	const char *why;
	bool is_sampled; /* it has only the symbols that the samples of its session need */
	bool has_idle_range;
	struct vmop_idle_range idle_range;
	/* By symbol of a kernel or hypervisor: whether it is idle.  A session asks for each cell.
	 */
	uint8_t *idle; /* enum idle; NULL: none was asked for */
};

enum idle {
	IDLE_UNKNOWN,
	IDLE_NO,
	IDLE_YES,
};

/* The first symbol at an offset.  The key is hashed as bytes, so it has no padding. */
struct first_symbol {
	struct {
		uint64_t row, offset;
	} key;
	const struct vmop_symbol *symbol;
	UT_hash_handle hh;
};

struct vmop_symbols {
	struct vmop_catalog *catalog;
	const struct vmop_session_input *sessions;
	struct vmop_resolver *resolver;
	struct first_symbol *firsts;
	size_t stored_bytes; /* taken by symbols from sessions */
	uint64_t cpu_ns;     /* spent on loading symbols */
	uint64_t n_left_out;
	size_t n;
	struct image_symbols images[];
};

struct vmop_error *vmop_symbols_create(const struct vmop_resolver_options *options,
				       struct vmop_catalog *catalog,
				       const struct vmop_session_input *sessions,
				       struct vmop_symbols **ret)
{
	size_t n = catalog->images.n;
	struct vmop_symbols *symbols =
		calloc(1, sizeof(*symbols) + n * sizeof(struct image_symbols));
	if (!symbols)
		return &vmop_error_no_memory;
	symbols->catalog = catalog;
	symbols->sessions = sessions;
	symbols->n = n;
	struct vmop_error *err = vmop_resolver_create(options, &symbols->resolver);
	if (err) {
		free(symbols);
		return err;
	}
	*ret = symbols;
	return NULL;
}

void vmop_symbols_destroy(struct vmop_symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->n; i++) {
		vmop_symtab_destroy(symbols->images[i].adopted);
		free(symbols->images[i].idle);
	}
	struct first_symbol *first, *next;
	HASH_ITER (hh, symbols->firsts, first, next) {
		HASH_DEL(symbols->firsts, first);
		free(first);
	}
	vmop_resolver_destroy(symbols->resolver);
	free(symbols);
}

/* Set *why to vmopd's note about the image's file, perf map or jitdump, if the session has one. */
static struct vmop_error *load_note(const struct vmop_symbols *symbols,
				    const struct vmop_image_item *item, const char **why)
{
	char name[32];
	_cleanup_free_ char *note = NULL;
	snprintf(name, sizeof(name), "image-%" PRIu32 "-note", item->id.number);
	struct vmop_error *err = vmop_db_get_info(symbols->sessions[item->session].db, name, &note);
	if (err)
		return vmop_catalog_blame(err, symbols->catalog, item->session);
	if (!note || !*note)
		return NULL;
	*why = vmop_arena_format(&symbols->catalog->arena, "%s%s",
				 item->kind == VMOP_IMAGE_ANON ? "generated code; " : "", note);
	return *why ? NULL : &vmop_error_no_memory;
}
static const char too_costly[] = "not loaded: the report has reached its bound of symbols";

#define SPAN_BYTES 24 /* that libsym/symtab.c adds to each symbol */

static const char *why_none_stored(enum vmop_image_kind kind)
{
	switch (kind) {
	case VMOP_IMAGE_NONE:
		return "samples without an image";
	case VMOP_IMAGE_KERNEL:
	case VMOP_IMAGE_MODULE:
		return "none could be read when recording (kernel.kptr_restrict?)";
	case VMOP_IMAGE_ANON:
		return "generated code; no perf map or jitdump was looked for when recording";
	case VMOP_IMAGE_GUEST_KERNEL:
	case VMOP_IMAGE_GUEST_USER:
		return "no image of the guest was known when recording";
	default:
		return "none stored in the session";
	}
}

/* Return the identity of n stored symbols, whose names follow them in a block of block_bytes. */
static uint64_t identity_of(const struct vmop_symbol *symbols, size_t n, size_t block_bytes)
{
	const size_t array_bytes = n * sizeof(*symbols);
	XXH64_hash_t hash = XXH3_64bits((const char *)symbols + array_bytes,
					block_bytes > array_bytes ? block_bytes - array_bytes : 0);
	for (size_t i = 0; i < n; i++) {
		const uint64_t numbers[] = {hash, symbols[i].offset, symbols[i].len_bytes,
					    (unsigned char)symbols[i].type,
					    (uint64_t)(symbols[i].name - (const char *)symbols)};
		hash = XXH3_64bits(numbers, sizeof(numbers));
	}
	return hash;
}

static struct vmop_error *load_stored(struct vmop_symbols *symbols,
				      const struct vmop_image_item *item,
				      struct image_symbols *image)
{
	struct vmop_symbol *stored = NULL;
	size_t n = 0;
	struct vmop_db *db = symbols->sessions[item->session].db;
	size_t bytes = (VMOP_SYMBOLS_MAX_BYTES - symbols->stored_bytes) / 2;
	struct vmop_error *err = vmop_db_get_symbols_within(db, item->id, &bytes, &stored, &n);
	if (err && err->code == VMOP_ERROR_LIMIT) {
		vmop_error_destroy(err);
		image->why = too_costly;
		symbols->n_left_out++;
		return NULL;
	}
	if (err)
		return vmop_catalog_blame(err, symbols->catalog, item->session);
	if (!stored)
		return NULL;
	/* vmop_symtab_adopt adds the spans. */
	symbols->stored_bytes += bytes + n * SPAN_BYTES;
	if (symbols->stored_bytes > VMOP_SYMBOLS_MAX_BYTES)
		symbols->stored_bytes = VMOP_SYMBOLS_MAX_BYTES;
	uint64_t identity = identity_of(stored, n, bytes);
	err = vmop_symtab_adopt(stored, n, &image->adopted);
	image->symtab = image->adopted;
	if (!err)
		err = vmop_db_has_sampled_symbols(db, item->id, &image->is_sampled);
	if (!err && !image->is_sampled) /* these grow with the session */
		vmop_symtab_set_identity(image->adopted, identity);
	return err;
}

/* Return whether the image is of a guest, so that its path is not one of this machine. */
static bool is_elsewhere(const struct vmop_symbols *symbols, const struct vmop_image_item *item)
{
	return !vmop_catalog_domain(symbols->catalog, item->domain)->is_host;
}

static struct vmop_image_ref ref_of(const struct vmop_symbols *symbols,
				    const struct vmop_image_item *item)
{
	struct vmop_image_ref ref = {
		.path = item->name,
		.root = *item->root ? item->root : NULL,
		.build_id.len_bytes = item->build_id_len_bytes,
		.is_elsewhere = is_elsewhere(symbols, item),
	};
	_Static_assert(sizeof(ref.build_id.bytes) == sizeof(item->build_id), "the same build-ids");
	memcpy(ref.build_id.bytes, item->build_id, sizeof(item->build_id));
	return ref;
}

/* Load the symbols of a file.  An error of one file becomes image->why and not the report's. */
static struct vmop_error *load_file(struct vmop_symbols *symbols,
				    const struct vmop_image_item *item, struct image_symbols *image)
{
	const struct vmop_image_ref ref = ref_of(symbols, item);
	struct vmop_error *err =
		vmop_resolver_symtab(symbols->resolver, &ref, &image->symtab, &image->why);
	if (!err || err->code == VMOP_ERROR_NO_MEMORY)
		return err;
	image->symtab = NULL;
	image->why = vmop_arena_text(&symbols->catalog->arena, err->message);
	vmop_error_destroy(err);
	return image->why ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *load(struct vmop_symbols *symbols, const struct vmop_image_item *item,
			       struct image_symbols *image)
{
	if (item->kind == VMOP_IMAGE_FILE) {
		/* Without a build-id, the file at that path may be another one by now: prefer
		 * the symbols that the session has of it. */
		bool is_known = item->build_id_len_bytes || is_elsewhere(symbols, item);
		struct vmop_error *err = is_known ? NULL : load_stored(symbols, item, image);
		if (!err && !image->symtab)
			err = load_file(symbols, item, image);
		if (err || image->symtab)
			return err;
		if (!item->build_id_len_bytes)
			err = load_note(symbols, item, &image->why);
		if (err)
			return err;
	} else {
		image->why = why_none_stored(item->kind);
	}
	if (item->kind == VMOP_IMAGE_ANON) {
		struct vmop_error *err = load_note(symbols, item, &image->why);
		if (err)
			return err;
	}
	return item->kind == VMOP_IMAGE_NONE ? NULL : load_stored(symbols, item, image);
}

static struct vmop_error *load_once(struct vmop_symbols *symbols, size_t index,
				    const struct image_symbols **ret)
{
	const struct vmop_image_item *item = vmop_catalog_image(symbols->catalog, index);
	struct image_symbols *image = &symbols->images[index];
	*ret = image;
	if (image->is_known)
		return NULL;
	image->is_known = true;
	if (symbols->cpu_ns > VMOP_SYMBOLS_MAX_CPU_NS) {
		image->why = too_costly;
		symbols->n_left_out++;
		return NULL;
	}
	uint64_t before_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct vmop_error *err = load(symbols, item, image);
	symbols->cpu_ns += vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
	return err ? vmop_error_prefix(err, "symbols of %s", item->name) : NULL;
}

/* Return whether all images of the row have the same symbols: one file, or one build-id. */
static bool has_symbols_of_row(const struct vmop_image_item *item)
{
	switch (item->kind) {
	case VMOP_IMAGE_FILE:
		return true;
	case VMOP_IMAGE_KERNEL:
	case VMOP_IMAGE_GUEST_KERNEL:
	case VMOP_IMAGE_MODULE:
		return item->build_id_len_bytes > 0;
	default:
		return false;
	}
}

struct vmop_error *vmop_symbols_of(struct vmop_symbols *symbols, size_t index,
				   const struct vmop_symtab **ret, const char **ret_why)
{
	const struct vmop_image_item *item = vmop_catalog_image(symbols->catalog, index);
	const struct image_symbols *of_row = NULL, *image = NULL;
	struct vmop_error *err = NULL;
	if (has_symbols_of_row(item))
		err = load_once(symbols, item->row, &of_row);
	/* The row's may lack symbols that this session has, or all. */
	if (!err && (!of_row || !of_row->symtab || of_row->is_sampled))
		err = load_once(symbols, index, &image);
	if (!err && (!image || (!image->symtab && of_row)))
		image = of_row;
	*ret = err ? NULL : image->symtab;
	*ret_why = err ? NULL : image->why;
	return err;
}

struct vmop_error *vmop_symbols_unify(struct vmop_symbols *symbols, size_t row,
				      const struct vmop_symbol **symbol)
{
	struct first_symbol *first;
	struct first_symbol wanted = {.key = {.row = row, .offset = (*symbol)->offset}};
	HASH_FIND(hh, symbols->firsts, &wanted.key, sizeof(wanted.key), first);
	if (first) {
		if (!strcmp(first->symbol->name, (*symbol)->name))
			*symbol = first->symbol;
		return NULL;
	}
	first = malloc(sizeof(*first));
	if (!first)
		return &vmop_error_no_memory;
	*first = wanted;
	first->symbol = *symbol;
	HASH_ADD(hh, symbols->firsts, key, sizeof(first->key), first);
	return NULL;
}

uint64_t vmop_symbols_n_left_out(const struct vmop_symbols *symbols)
{
	return symbols->n_left_out;
}

bool vmop_symbols_is_idle(struct vmop_symbols *symbols, size_t index,
			  const struct vmop_symtab *symtab, const struct vmop_symbol *symbol)
{
	struct image_symbols *image = &symbols->images[index];
	if (!vmop_idle_is_possible(vmop_catalog_image(symbols->catalog, index)->kind))
		return false;
	/* A kernel's table comes from the session: it finds symbols of its array. */
	size_t n;
	const struct vmop_symbol *first = vmop_symtab_symbols(symtab, &n);
	size_t at = (size_t)(symbol - first);
	if (!image->has_idle_range) {
		image->idle_range = vmop_idle_find_range(symtab);
		image->idle = calloc(n + 1, sizeof(*image->idle));
	}
	image->has_idle_range = true;
	if (!image->idle)
		return vmop_idle_is_function(&image->idle_range, symbol);
	if (image->idle[at] == IDLE_UNKNOWN)
		image->idle[at] =
			vmop_idle_is_function(&image->idle_range, symbol) ? IDLE_YES : IDLE_NO;
	return image->idle[at] == IDLE_YES;
}

struct vmop_error *vmop_symbols_find_inlines(struct vmop_symbols *symbols, uint64_t max_cpu_ns,
					     struct vmop_inlines **ret)
{
	return vmop_inlines_create(symbols->resolver, max_cpu_ns, ret);
}

struct vmop_error *vmop_symbols_open_inlines(const struct vmop_symbols *symbols, size_t image,
					     struct vmop_inlines *inlines,
					     struct vmop_inline_index **ret, const char **ret_why)
{
	const struct vmop_image_ref ref =
		ref_of(symbols, vmop_catalog_image(symbols->catalog, image));
	return vmop_inlines_open(inlines, &ref, ret, ret_why);
}

struct vmop_image_ref vmop_symbols_ref(const struct vmop_symbols *symbols, size_t image)
{
	const struct vmop_image_item *item = vmop_catalog_image(symbols->catalog, image);
	struct vmop_image_ref ref = ref_of(symbols, item);
	ref.addresses = item->kind == VMOP_IMAGE_KERNEL || item->kind == VMOP_IMAGE_GUEST_KERNEL;
	ref.is_module = item->kind == VMOP_IMAGE_MODULE;
	return ref;
}

struct vmop_resolver *vmop_symbols_resolver(const struct vmop_symbols *symbols)
{
	return symbols->resolver;
}

const char *vmop_symbols_name(struct vmop_symbols *symbols, const struct vmop_symbol *symbol)
{
	if (strnlen(symbol->name, VMOP_NAME_MAX_BYTES + 1) > VMOP_NAME_MAX_BYTES) {
		const char *name = vmop_arena_name(&symbols->catalog->arena, symbol->name);
		return name ? name : "";
	}
	return vmop_resolver_name(symbols->resolver, symbol->name);
}
