// SPDX-License-Identifier: GPL-2.0-or-later
/* ELF notes (elf(5)) and the build-id in them. */
#ifndef VMOP_LIBGUEST_MEMORY_NOTE_H
#define VMOP_LIBGUEST_MEMORY_NOTE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Copy the build-id in a sequence of notes to ret, which has room for 20 bytes, and return its
 * length. 0: none. Any thread; notes is hostile.
 */
uint8_t vmop_note_build_id(const uint8_t *notes, size_t len_bytes, uint8_t *ret);

#endif
