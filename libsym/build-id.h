// SPDX-License-Identifier: GPL-2.0-or-later
/* Build-ids: reading them from ELF files and notes, printing and parsing them. */
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
 * Of the ELF file open at fd (its position is left anywhere; path is for
 * messages).  No note, or an id longer than the field: len 0, no error.  No ELF file:
 * VMOP_ERROR_CORRUPT; no regular file: VMOP_ERROR_CANT; "too costly" (libsym/budget.h):
 * VMOP_ERROR_LIMIT.
 */
struct vmop_error *vmop_build_id_of_fd(int fd, const char *path, struct vmop_build_id *ret);

/* The same where libsym has it open already. */
struct vmop_elf;
struct vmop_error *vmop_build_id_of_elf(const struct vmop_elf *elf, struct vmop_build_id *ret);

/* In raw note data, as /sys/kernel/notes and /sys/module/M/notes/.note.gnu.build-id have it. */
/* false leaves *ret alone. */
bool vmop_build_id_in_notes(const void *notes, size_t len_bytes, struct vmop_build_id *ret);

/* Lower-case hex with NUL into ret[2 * VMOP_BUILD_ID_MAX_BYTES + 1]. */
void vmop_build_id_format(const struct vmop_build_id *id, char *ret);
/* Whole bytes of hex, of either case, nothing else.  false leaves *ret alone. */
bool vmop_build_id_parse(const char *hex, struct vmop_build_id *ret);
/* Two that are both "none" are equal. */
bool vmop_build_id_equal(const struct vmop_build_id *a, const struct vmop_build_id *b);

#endif
