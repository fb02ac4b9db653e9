// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The manifest of an archive names its files with their former paths, and the missing files with
 * the reasons.
 *
 * An archive is a directory, or a tar file of it, with the members
 *	manifest.json		this manifest, in JSON; the first member of a tar file
 *	sessions/NAME.vmop	session files
 *	files/NUMBER-NAME	images' files and debug files
 *	sources/NUMBER-NAME	source files
 *
 * Data meets the files of this folder in this order. Making: collect finds the sessions' files,
 * collect-sources their source files; pack writes them as a tar file, staging as a directory.
 * Importing: unpack reads a tar file into a staging directory. Reading: archive opens a directory
 * for readers. manifest-json reads and writes manifests for all of them.
 *
 * A manifest that is read is hostile input. Paths are raw bytes of any user's choice; the names of
 * members are checked.
 */
#ifndef VMOP_OPREPORT_ARCHIVE_MANIFEST_H
#define VMOP_OPREPORT_ARCHIVE_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libsym/build-id.h"
#include "libsym/found-files.h"
#include "libutil/error.h"
#include "opreport/query/arena.h"

#define VMOP_MANIFEST_FORMAT 1
#define VMOP_MANIFEST_NAME "manifest.json"
#define VMOP_MANIFEST_MAX_BYTES ((size_t)16 << 20)
#define VMOP_MANIFEST_MAX_MEMBERS 16384
#define VMOP_MANIFEST_MAX_ITEMS 65536 /* images, and likewise source files */
#define VMOP_MEMBER_NAME_MAX_BYTES 255
#define VMOP_MEMBER_HASH_BYTES 16 /* XXH3, 128 bits: it finds damage, and proves no origin */

/* In place of a member's index: no member. */
#define VMOP_NO_MEMBER UINT32_MAX

enum vmop_member_kind {
	VMOP_MEMBER_SESSION,
	VMOP_MEMBER_IMAGE,
	VMOP_MEMBER_DEBUG,
	VMOP_MEMBER_SOURCE,
	VMOP_N_MEMBER_KINDS,
};

struct vmop_member {
	enum vmop_member_kind kind;
	const char *name; /* in the archive */
	const char *path; /* where it was */
	uint64_t size_bytes;
	uint64_t mtime_ns;	       /* CLOCK_REALTIME */
	struct vmop_build_id build_id; /* of an image or a debug file; may be none */
	uint8_t hash[VMOP_MEMBER_HASH_BYTES];
};

/* The result of a search for an image's files. */
struct vmop_manifest_image {
	struct vmop_image_ref ref;
	uint32_t file;	    /* index of a member, or VMOP_NO_MEMBER */
	const char *reason; /* without a file */
	uint32_t debug[VMOP_FOUND_DEBUG_FILES_MAX];
	size_t n_debug;
};

/* The result of a search for a source file. */
struct vmop_manifest_source {
	const char *path, *root; /* of the image that names it; "" for none */
	uint32_t file;		 /* index of a member, or VMOP_NO_MEMBER */
	const char *reason;	 /* without a file */
};

/* Strings are in the arena. */
struct vmop_manifest {
	struct vmop_arena arena;
	const char *vmop, *hostname; /* of the machine that made the archive */
	const char *time_zone;	     /* likewise, a value of TZ; "": not known */
	uint64_t created_ns;
	bool has_sources; /* source files were looked for */
	struct vmop_member *members;
	size_t n_members, members_capacity;
	struct vmop_manifest_image *images;
	size_t n_images, images_capacity;
	struct vmop_manifest_source *sources;
	size_t n_sources, sources_capacity;
};

void vmop_manifest_deinit(struct vmop_manifest *manifest);

/*
 * Append an item to its list, all zero but for members' indices, which are VMOP_NO_MEMBER. *ret is
 * valid until the next call. VMOP_ERROR_LIMIT: there are too many.
 */
struct vmop_error *vmop_manifest_add_member(struct vmop_manifest *manifest,
					    struct vmop_member **ret);
struct vmop_error *vmop_manifest_add_image(struct vmop_manifest *manifest,
					   struct vmop_manifest_image **ret);
struct vmop_error *vmop_manifest_add_source(struct vmop_manifest *manifest,
					    struct vmop_manifest_source **ret);

/* The word for a kind, and the folder of such members in the archive. */
const char *vmop_member_kind_word(enum vmop_member_kind kind);
const char *vmop_member_kind_folder(enum vmop_member_kind kind);

/*
 * Return whether a name is one that a member of this kind may have: FOLDER/NAME, of bytes that need
 * no escape, without another slash.
 */
bool vmop_member_name_is_valid(enum vmop_member_kind kind, const char *name);

/*
 * Set *ret to a valid name for a member with this number that was at path. The caller frees it; it
 * contains the number, and what of the path's last part is plain. A module that was packed has no
 * suffix of its packing: the member is unpacked.
 */
struct vmop_error *vmop_member_name_make(enum vmop_member_kind kind, size_t number,
					 const char *path, char **ret);

/* Return the bytes of all members; UINT64_MAX: more than that. */
uint64_t vmop_manifest_size_bytes(const struct vmop_manifest *manifest);

#endif
