// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whole compressed files as untrusted input: xz, zstd and gzip, as far as the build has liblzma
 * and zlib. The kernel's modules are stored so, and mini debug info. The budget bounds the length
 * of the content, which no header states truthfully. Inside libsym only.
 */
#ifndef VMOP_LIBSYM_ELF_UNPACK_H
#define VMOP_LIBSYM_ELF_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

#include "libsym/budget.h"

/* No content is longer. */
#define VMOP_UNPACKED_MAX_BYTES ((size_t)256 << 20)

/* The first bytes that show the format. */
#define VMOP_PACKED_MAGIC_BYTES 6

struct vmop_unpacked {
	char *bytes; /* NULL: the input is damaged, or of no known format */
	size_t len_bytes;
	size_t capacity_bytes; /* charged to the budget's memory */
	struct vmop_sym_budget *budget;
};

/* Return whether bytes begin a compressed file that this build can unpack. */
bool vmop_is_packed(const char *bytes, size_t len_bytes);

/*
 * Unpack a file in memory. path is for messages. The errors are VMOP_ERROR_NO_MEMORY, and
 * VMOP_ERROR_LIMIT when the budget runs out. The caller deinitializes *ret also after an error.
 */
struct vmop_error *vmop_unpack(const char *packed, size_t len_bytes, const char *path,
			       struct vmop_sym_budget *budget, struct vmop_unpacked *ret);

/* Free the content, and return its memory to the budget. */
void vmop_unpacked_deinit(struct vmop_unpacked *unpacked);

#endif
