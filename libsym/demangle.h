// SPDX-License-Identifier: GPL-2.0-or-later
/* C++ (Itanium ABI) and Rust (legacy and v0) names as people write them.  Inside libsym only. */
#ifndef VMOP_LIBSYM_DEMANGLE_H
#define VMOP_LIBSYM_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * *ret is on the heap and the caller's; NULL where mangled is no such name, is
 * longer than 4 KiB, or would become longer than 64 KiB.  with_parameters: "f(int)",
 * else "f"; a clone's mark (".cold", ".isra.0") is kept as " [clone .cold]".
 * false: no memory.  *work_left is lessened by the bytes and pieces of text that were printed, some
 * nanoseconds each; where it is 0, *ret is NULL.
 */
bool vmop_demangle_name(const char *mangled, bool with_parameters, size_t *work_left, char **ret);

#endif
