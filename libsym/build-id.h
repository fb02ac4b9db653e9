// SPDX-License-Identifier: GPL-2.0-or-later
/* Build-ids: read them from ELF files and notes, print and parse them. */
#ifndef VMOP_LIBSYM_BUILD_ID_H
#define VMOP_LIBSYM_BUILD_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

#define VMOP_BUILD_ID_MAX_BYTES 20

struct vmop_build_id {
	uint8_t len_bytes; /* 0: none */
	uint8_t bytes[VMOP_BUILD_ID_MAX_BYTES];
};

/*
 * Read the build-id of the ELF file open at fd. The position of fd is undefined afterwards; path is
 * used in messages. If the file has no build-id note, or an id longer than the field, len_bytes is
 * 0 and there is no error. VMOP_ERROR_CORRUPT: not an ELF file. VMOP_ERROR_CANT: not a regular
 * file. VMOP_ERROR_LIMIT: "too costly" (libsym/budget.h).
 */
struct vmop_error *vmop_build_id_of_fd(int fd, const char *path, struct vmop_build_id *ret);

/* Do the same for a file that libsym has open. */
struct vmop_elf_file;
struct vmop_error *vmop_build_id_of_elf(const struct vmop_elf_file *elf, struct vmop_build_id *ret);

/*
 * Find the build-id in raw notes, the format of /sys/kernel/notes and
 * /sys/module/M/notes/.note.gnu.build-id. Return false and leave *ret unchanged if they contain
 * none.
 */
bool vmop_build_id_in_notes(const void *notes, size_t len_bytes, struct vmop_build_id *ret);

/* Write the id in lower-case hex with a NUL to ret[2 * VMOP_BUILD_ID_MAX_BYTES + 1]. */
void vmop_build_id_format(const struct vmop_build_id *id, char *ret);
/*
 * Parse whole bytes of hex, in either case, and nothing else. Return false and leave *ret unchanged
 * otherwise.
 */
bool vmop_build_id_parse(const char *hex, struct vmop_build_id *ret);
/* Return whether a and b are equal. Two empty ids are equal. */
bool vmop_build_id_equal(const struct vmop_build_id *a, const struct vmop_build_id *b);

#endif
