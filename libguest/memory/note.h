// SPDX-License-Identifier: GPL-2.0-or-later
/* ELF notes (elf(5)): the build-id among them. */
#ifndef VMOP_LIBGUEST_MEMORY_NOTE_H
#define VMOP_LIBGUEST_MEMORY_NOTE_H

#include <stddef.h>
#include <stdint.h>

/* The build-id in a sequence of notes into ret[20]; gives its length, 0: there is none. */
uint8_t vmop_note_build_id(const uint8_t *notes, size_t len_bytes, uint8_t *ret);

#endif
