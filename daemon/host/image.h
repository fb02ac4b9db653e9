// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Images: what code is made of.  An ELF file is one image wherever it is
 * mapped, known by its build-id, and until that is read by device, inode and
 * path.  An image gets its id in the session when it is first needed there.
 *
 * Mappings and kernel text hold references; the current interval's samples hold
 * images by slot, so what was sampled stays until the interval is stored.
 */
#ifndef VMOP_DAEMON_HOST_IMAGE_H
#define VMOP_DAEMON_HOST_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Without memory, HASH_ADD leaves the element's tbl NULL: it just can't be found again. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "daemon/host/ids.h"
#include "daemon/host/unattributed.h"
#include "libdb/db.h"
#include "libsym/build-id.h"

struct vmop_image {
	struct vmop_image_slot slot;
	uint32_t id; /* in the session; 0: not given so far */
	uint32_t refs;
	uint32_t domain; /* whose: 0 host */
	enum vmop_image_kind kind;
	char *name; /* raw: may hold control characters */
	char *root; /* see vmop_db_image */
	struct vmop_build_id build_id;
	uint64_t base, len_bytes;
	uint32_t dev_major, dev_minor;
	uint64_t inode;

	struct vmop_image *alias; /* the same file under its build-id, referenced; or NULL */
	bool is_sampled;	  /* the current interval has samples of it */
	bool is_stored;		  /* the session has the row as it is now */
	bool is_examined;	  /* its file was looked at: build-id, root */
	bool is_wanted;		  /* a guest's file whose symbols were asked for */
	/* What says where to look for the file: a process that mapped it, and where. */
	uint32_t pid;
	uint64_t map_start, map_end;
	/* For generated code: pid is its process, and map_start and map_end are its whole range. */
	uint64_t process_start_ns;
	bool has_names;	     /* of a perf map */
	bool is_map_applied; /* the perf map was read, up to map_end */
	/* Symbols to be stored with the row, in one heap block; NULL: none, or done. */
	struct vmop_symbol *symbols;
	size_t n_symbols;
	/* Why its file or its perf map could not be read; NULL: it was read, or none exists. */
	char *note;
	bool note_is_stored;  /* the session has the note as it is now */
	bool has_stored_note; /* or one that is to be emptied */

	void *key;
	UT_hash_handle hh;	    /* by key */
	UT_hash_handle hh_build_id; /* by build-id and domain */
};

struct vmop_images {
	struct vmop_image **slots; /* max of them; NULL: free */
	uint32_t *free_slots;
	uint32_t n, n_free_slots, max;
	uint32_t n_slots; /* those beyond were never used */
	uint32_t next_id;
	struct vmop_image *by_key, *by_build_id;
	struct vmop_image *why[VMOP_N_WHYS];
	uint64_t n_refused; /* images that there was no room for */
};

/* A file as a mapping names it. */
struct vmop_image_file {
	const char *path;
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	const struct vmop_build_id *build_id; /* NULL or len 0: not known */
	uint32_t pid;			      /* who mapped it, and where: see vmop_image */
	uint64_t map_start, map_end;
};

struct vmop_error *vmop_images_init(struct vmop_images *images, uint32_t max);
void vmop_images_deinit(struct vmop_images *images);

/*
 * Each returns a reference for the caller; when there is no room, that is the
 * image VMOP_WHY_IMAGE_LIMIT.  Off the per-sample path.
 */
struct vmop_image *vmop_images_file(struct vmop_images *images, const struct vmop_image_file *file);
/* A file of a guest, known by path and build-id (len 0: not known). */
struct vmop_image *vmop_images_guest_file(struct vmop_images *images, uint32_t domain,
					  const char *path, const struct vmop_build_id *build_id);
/* One image for each (domain, kind, name, base). */
struct vmop_image *vmop_images_named(struct vmop_images *images, uint32_t domain,
				     enum vmop_image_kind kind, const char *name, uint64_t base,
				     uint64_t len_bytes);
/* A new one each time. */
struct vmop_image *vmop_images_new(struct vmop_images *images, uint32_t domain,
				   enum vmop_image_kind kind, const char *name, uint64_t base,
				   uint64_t len_bytes);

static inline struct vmop_image *vmop_image_ref(struct vmop_image *image)
{
	image->refs++;
	return image;
}
void vmop_image_unref(struct vmop_images *images, struct vmop_image *image); /* NULL is allowed */

/* The image that image's samples are stored as. */
static inline struct vmop_image *vmop_image_canonical(struct vmop_image *image)
{
	while (image->alias)
		image = image->alias;
	return image;
}

/* Gives it a name that fits better; the row is stored anew. */
void vmop_image_rename(struct vmop_image *image, const char *name);

/* Its build-id is known now: joins the image that has it already, if there is one. */
void vmop_images_identified(struct vmop_images *images, struct vmop_image *image,
			    const struct vmop_build_id *build_id);

/* NULL: none.  A row that is stored already is stored anew. */
void vmop_image_set_note(struct vmop_image *image, const char *note);

/* Takes over *symbols, one heap block, to be stored with the row; *symbols becomes NULL. */
void vmop_image_take_symbols(struct vmop_image *image, struct vmop_symbol **symbols, size_t n);

/* Gives it an id in the session if it has none. */
uint32_t vmop_images_assign_id(struct vmop_images *images, struct vmop_image *image);

/*
 * Copies n symbols into one heap block with base taken off their offsets. NULL: there are none, or
 * there is no memory for them.
 */
struct vmop_symbol *vmop_symbols_copy(const struct vmop_symbol *symbols, size_t n, uint64_t base);

/* Stores the row and the symbols that wait with it. */
struct vmop_error *vmop_image_store(const struct vmop_image *image, struct vmop_db *db);
/* After the commit that held vmop_image_store. */
void vmop_image_stored(struct vmop_image *image);

/* After an interval was stored: forgets marks, and what nothing holds when room is short. */
void vmop_images_sweep(struct vmop_images *images);

#endif
