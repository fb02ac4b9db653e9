// SPDX-License-Identifier: GPL-2.0-or-later
/* Demangle names of C++ (Itanium ABI) and Rust (legacy and v0). Inside libsym only. */
#ifndef VMOP_LIBSYM_DEMANGLE_H
#define VMOP_LIBSYM_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Demangle a name into *ret, a heap block that the caller frees. *ret is NULL if mangled is not
 * such a name, is longer than 4 KiB, or would expand to more than 64 KiB. with_parameters selects
 * "f(int)" instead of "f". A clone's suffix (".cold", ".isra.0") becomes " [clone .cold]".
 *
 * *work_left is reduced by the bytes and pieces of text printed, some nanoseconds each; if it is 0,
 * *ret is NULL. Returns false if memory runs out.
 */
bool vmop_demangle_name(const char *mangled, bool with_parameters, size_t *work_left, char **ret);

#endif
