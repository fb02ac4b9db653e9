// SPDX-License-Identifier: GPL-2.0-or-later
/* The bytes of a member, and their hash. */
#ifndef VMOP_OPREPORT_ARCHIVE_CONTENT_H
#define VMOP_OPREPORT_ARCHIVE_CONTENT_H

#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

#include "libutil/error.h"
#include "opreport/archive/manifest.h"

#define VMOP_CONTENT_BLOCK_BYTES ((size_t)256 << 10)

/* Write the hash of all bytes that a state took to ret. */
void vmop_content_finish(const XXH3_state_t *state, uint8_t ret[VMOP_MEMBER_HASH_BYTES]);

/*
 * Read the first len_bytes of the file at fd, whatever its position, and give them to `take` in
 * blocks; NULL: only hash them. A shorter file is VMOP_ERROR_CANT: it changed. path is used in
 * messages. A signal (interrupt.h) ends the work.
 */
struct vmop_error *vmop_content_read(int fd, const char *path, uint64_t len_bytes,
				     struct vmop_error *(*take)(void *arg, const void *block,
								size_t len_bytes),
				     void *arg, uint8_t ret_hash[VMOP_MEMBER_HASH_BYTES]);

#endif
