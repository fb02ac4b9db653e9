// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Facts about the code in a report's images: lines of source, inlined functions and bytes.
 * Files are opened on first use; a few stay open.
 */
#ifndef VMOP_OPREPORT_ANNOTATE_CODE_IMAGES_H
#define VMOP_OPREPORT_ANNOTATE_CODE_IMAGES_H

#include "libsym/code.h"
#include "libsym/inlines.h"
#include "libsym/line.h"
#include "opreport/query/query.h"

struct vmop_code_images;

/*
 * Create the collection of a result's images; result and the sessions must outlive *ret. Lines and
 * inlined functions take at most max_cpu_ns each. The caller destroys *ret.
 */
struct vmop_error *vmop_code_images_create(struct vmop_result *result,
					   const struct vmop_session_input *sessions,
					   uint64_t max_cpu_ns, struct vmop_code_images **ret);
void vmop_code_images_destroy(struct vmop_code_images *images); /* NULL is allowed */

/*
 * Set *ret to the line of the code at an offset of the image with that catalog index; its path is
 * NULL without a line. The collection owns its strings.
 */
struct vmop_error *vmop_code_images_line(struct vmop_code_images *images, size_t image,
					 uint64_t offset, struct vmop_line *ret);

/* Set ret_names to the functions inlined there, innermost first, and *ret_n to their number. */
struct vmop_error *vmop_code_images_inlined(struct vmop_code_images *images, size_t image,
					    uint64_t offset,
					    const char *ret_names[VMOP_INLINES_MAX], size_t *ret_n);

/* Return why an image's lines are not known; NULL: they are, or were not looked up. */
const char *vmop_code_images_no_lines(const struct vmop_code_images *images, size_t image);

/* Bytes of code; *ret_known[i] is 0 where the byte i is not known. */
struct vmop_code_bytes {
	uint8_t *bytes; /* len_bytes */
	bool *is_known; /* likewise */
	size_t len_bytes, n_known;
	/*
	 * The session has n_stored bytes as they were in memory. They have precedence over the
	 * file's, and n_differing are others than those.
	 */
	size_t n_stored, n_differing;
	bool *is_open; /* of len_bytes; true: the file leaves a module's byte to the kernel */
	size_t n_open;
	enum vmop_machine machine;
	bool has_file;
	bool has_changed; /* the session has several versions; bytes are of the last one */
	const char *why;  /* NULL, or why bytes are missing; a constant */
};
void vmop_code_bytes_deinit(struct vmop_code_bytes *code);

/* Read len_bytes of code at an offset of an image. The caller deinitialises *ret. */
struct vmop_error *vmop_code_images_read(struct vmop_code_images *images, size_t image,
					 uint64_t offset, size_t len_bytes,
					 struct vmop_code_bytes *ret);

/*
 * Set *ret to the first field in [offset, end) that the file of an image leaves open, for the image
 * that was read last. Return false without one.
 */
bool vmop_code_images_field(const struct vmop_code_images *images, size_t image, uint64_t offset,
			    uint64_t end, struct vmop_code_field *ret);

#endif
