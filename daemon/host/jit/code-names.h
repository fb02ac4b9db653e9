// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Gives names to the images of generated code, within the share that such names may have of a
 * session. perf-maps.h and jitdumps.h have the names.
 */
#ifndef VMOP_DAEMON_HOST_JIT_CODE_NAMES_H
#define VMOP_DAEMON_HOST_JIT_CODE_NAMES_H

#include <stdint.h>

#include "daemon/host/image.h"
#include "libsym/symtab.h"

/* The size of all names that a session stores, counting repetitions. */
#define VMOP_CODE_NAMES_MAX_BYTES ((uint64_t)256 << 20)

/* The note of an image when the share is used up. */
#define VMOP_CODE_NAMES_NO_ROOM_NOTE                                                               \
	"names of generated code have used up their share of the session"

struct vmop_code_names {
	uint64_t stored_bytes;
};

enum vmop_code_names_outcome {
	VMOP_CODE_NAMES_GIVEN,
	VMOP_CODE_NAMES_NONE,	 /* no symbol is in the range, or no memory */
	VMOP_CODE_NAMES_NO_ROOM, /* the share is used up; image is unchanged */
};

/* Give image a copy of the symbols whose offsets are in [start, end). */
enum vmop_code_names_outcome vmop_code_names_give(struct vmop_code_names *names,
						  struct vmop_image *image,
						  const struct vmop_symtab *symtab, uint64_t start,
						  uint64_t end);

#endif
