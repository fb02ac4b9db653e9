// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Images. An ELF file is one image wherever it is mapped. Its key is the build-id, or device, inode
 * and path until the build-id is read. An image gets its id in the session with its first store.
 *
 * Mappings and kernel text have references to images. The samples of the current interval refer to
 * images by slot, so a sampled image stays until the interval is stored.
 *
 * Only the functions of this header change an image. A change of its row clears is_stored, and the
 * next store of an interval with its samples writes the row again.
 */
#ifndef VMOP_DAEMON_HOST_IMAGE_H
#define VMOP_DAEMON_HOST_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Without memory, HASH_ADD leaves the element's tbl NULL: look-ups do not find it. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "daemon/host/ids.h"
#include "daemon/host/unattributed.h"
#include "libdb/db.h"
#include "libsym/build-id.h"

struct vmop_image {
	struct vmop_image_slot slot;
	struct vmop_image_id id; /* in the session; 0: no id yet */
	uint32_t refs;
	struct vmop_domain_id domain;
	enum vmop_image_kind kind;
	char *name; /* raw: can contain control characters */
	char *root; /* see vmop_db_image */
	struct vmop_build_id build_id;
	uint64_t base, len_bytes;
	uint32_t dev_major, dev_minor;
	uint64_t inode;

	struct vmop_image *alias; /* the same file under its build-id, referenced; or NULL */
	bool is_sampled;	  /* the current interval has samples of it */
	bool is_stored;		  /* the session has the row as it is now */
	bool is_examined;	  /* the read of its file was submitted, or it has no file */
	bool is_wanted;		  /* a guest's file whose symbols were requested */
	bool is_jitdump;	  /* a file with the name of a jitdump (jitdumps.h) */
	/* A process that has mapped the file, and the mapping. */
	uint32_t pid;
	uint64_t map_start, map_end;
	/* For generated code: pid is its process, and map_start and map_end are its whole range. */
	uint64_t process_start_ns;
	bool has_names;	     /* of a perf map or jitdump */
	bool is_map_applied; /* the perf map was read, up to map_end */
	/* Symbols to store with the row, in one heap block; NULL: none, or stored. */
	struct vmop_symbol *symbols;
	size_t n_symbols;
	/* The same symbols as vmop_db_pack_symbols made them, or NULL: they are not packed. */
	void *packed;
	size_t packed_bytes;
	/* The reason why its file, perf map or jitdump could not be read, or NULL. */
	char *note;
	bool note_is_stored;  /* the session has the note as it is now */
	bool has_stored_note; /* the session has a note, possibly an older one */

	void *key;
	UT_hash_handle hh;	    /* by key */
	UT_hash_handle hh_build_id; /* by build-id and domain */
};

struct vmop_images {
	struct vmop_image **slots; /* max of them; NULL: free */
	uint32_t *free_slots;
	uint32_t n, n_free_slots, max;
	uint32_t n_slots; /* slots beyond were never used */
	uint32_t next_id;
	struct vmop_image *by_key, *by_build_id;
	struct vmop_image *unattributed[VMOP_N_UNATTRIBUTED];
	uint64_t n_refused; /* images that did not fit */
};

/* The file of a mapping. */
struct vmop_mapped_file {
	const char *path;
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	const struct vmop_build_id *build_id; /* NULL or len 0: not known */
	uint32_t pid;			      /* as in vmop_image */
	uint64_t map_start, map_end;
};

struct vmop_error *vmop_images_init(struct vmop_images *images, uint32_t max);
void vmop_images_deinit(struct vmop_images *images);

/*
 * Find or make an image. Each function returns a reference for the caller. Without room it is the
 * image VMOP_UNATTRIBUTED_IMAGE_LIMIT. Not for the per-sample path.
 */
struct vmop_image *vmop_images_file(struct vmop_images *images,
				    const struct vmop_mapped_file *file);
/*
 * Return whether path has the name of a jitdump, jit-PID.dump. The runtime maps it, so that a
 * profiler finds it.
 */
bool vmop_image_is_jitdump_name(const char *path);

/* A file of a guest. The key is its path and its build-id (length 0: not known). */
struct vmop_image *vmop_images_guest_file(struct vmop_images *images, struct vmop_domain_id domain,
					  const char *path, const struct vmop_build_id *build_id);
/* Return that image without a reference, or NULL if it does not exist. For the per-sample path. */
struct vmop_image *vmop_images_find_guest_file(const struct vmop_images *images,
					       struct vmop_domain_id domain, const char *path,
					       const struct vmop_build_id *build_id);
/*
 * Return the path of the host's file with a build-id, which is valid as long as its image. NULL: no
 * image has it, or its path is one of a container. For the per-sample path.
 */
const char *vmop_images_host_path(const struct vmop_images *images,
				  const struct vmop_build_id *build_id);
/* One image for each (domain, kind, name, base). */
struct vmop_image *vmop_images_named(struct vmop_images *images, struct vmop_domain_id domain,
				     enum vmop_image_kind kind, const char *name, uint64_t base,
				     uint64_t len_bytes);
/* A new image in each call. */
struct vmop_image *vmop_images_new(struct vmop_images *images, struct vmop_domain_id domain,
				   enum vmop_image_kind kind, const char *name, uint64_t base,
				   uint64_t len_bytes);

static inline struct vmop_image *vmop_image_ref(struct vmop_image *image)
{
	image->refs++;
	return image;
}
void vmop_image_unref(struct vmop_images *images, struct vmop_image *image); /* NULL is allowed */

/* Return the image that has the row of image's samples. */
static inline struct vmop_image *vmop_image_canonical(struct vmop_image *image)
{
	while (image->alias)
		image = image->alias;
	return image;
}

/* Replace the name of image. */
void vmop_image_rename(struct vmop_image *image, const char *name);

/* Set the build-id of image. If another image has it, image becomes an alias of that one. */
void vmop_images_identified(struct vmop_images *images, struct vmop_image *image,
			    const struct vmop_build_id *build_id);

/* Set or, with NULL, remove the note. */
void vmop_image_set_note(struct vmop_image *image, const char *note);

/* Take over *symbols, one heap block, to store them with the row. *symbols becomes NULL. */
void vmop_image_take_symbols(struct vmop_image *image, struct vmop_symbol **symbols, size_t n);

/*
 * Take over *packed: the symbols of image as vmop_db_pack_symbols made them. *packed becomes NULL.
 * They are stored in place of image->symbols, which must be the same ones or none.
 */
void vmop_image_take_packed(struct vmop_image *image, void **packed, size_t packed_bytes);

/*
 * Take a copy of n symbols, whose offsets are reduced by base. Return false without memory: the
 * image is unchanged then.
 */
bool vmop_image_copy_symbols(struct vmop_image *image, const struct vmop_symbol *symbols, size_t n,
			     uint64_t base);

/* Set the build-id of a new image that vmop_images_identified must not merge with another. */
void vmop_image_set_build_id(struct vmop_image *image, const uint8_t *bytes, size_t len_bytes);

/* Set the length of the image's text. */
void vmop_image_set_length(struct vmop_image *image, uint64_t len_bytes);

/* Set the root directory, on the heap, from which the image's name counts. Takes it over. */
void vmop_image_set_root(struct vmop_image *image, char *root);

/* Set where the file of an image that is not examined yet is mapped. No effect on others. */
static inline void vmop_image_set_mapping(struct vmop_image *image, uint32_t pid,
					  uint64_t map_start, uint64_t map_end)
{
	if (image->is_examined)
		return;
	image->pid = pid;
	image->map_start = map_start;
	image->map_end = map_end;
}

/* Set the process and the range of generated code. */
void vmop_image_set_generated(struct vmop_image *image, uint32_t pid, uint64_t process_start_ns,
			      uint64_t map_start, uint64_t map_end);

/* Extend the range of generated code to [map_start, map_end). The perf map applies no more. */
void vmop_image_widen(struct vmop_image *image, uint64_t map_start, uint64_t map_end);

/* Mark that the perf map was read up to map_end, and that it had names for the image or not. */
void vmop_image_set_map_applied(struct vmop_image *image, bool had_names);

/* Mark that the current interval has samples of the image. */
static inline void vmop_image_mark_sampled(struct vmop_image *image)
{
	image->is_sampled = true;
}

/* Mark that the image's file is being read, or that there is no file to read. */
static inline void vmop_image_mark_examined(struct vmop_image *image)
{
	image->is_examined = true;
}

/* Mark whether the symbols of a guest's file were requested. */
static inline void vmop_image_mark_wanted(struct vmop_image *image, bool is_wanted)
{
	image->is_wanted = is_wanted;
}

/* Return the image's id in the session, after giving it one if it has none. */
struct vmop_image_id vmop_images_assign_id(struct vmop_images *images, struct vmop_image *image);

/*
 * Copy n symbols to one heap block, and reduce their offsets by base. NULL: n is 0, or out of
 * memory.
 */
struct vmop_symbol *vmop_symbols_copy(const struct vmop_symbol *symbols, size_t n, uint64_t base);

/* Store the row, its symbols and its note. */
struct vmop_error *vmop_image_store(const struct vmop_image *image, struct vmop_db *db);
/* Note that the row is stored, after the commit of vmop_image_store. */
void vmop_image_stored(struct vmop_image *image);

/*
 * Clear the marks of sampled images, after an interval was stored. Free images without references
 * that have no id, or all without references if room is short.
 */
void vmop_images_sweep(struct vmop_images *images);

#endif
