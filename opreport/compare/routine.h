// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The names by which a comparison joins the rows of different builds and machines.  Build-ids,
 * addresses and folders differ between them; an image's base name and a function's name seldom do.
 */
#ifndef VMOP_OPREPORT_COMPARE_ROUTINE_H
#define VMOP_OPREPORT_COMPARE_ROUTINE_H

#include "opreport/query/arena.h"
#include "opreport/query/catalog.h"

/*
 * Return the image's name for joins: "[kernel]" for the kernel of any host or guest, "[guest user]"
 * for code of a guest without a known image, or else the file's base name.  The catalog owns it.
 */
const char *vmop_routine_image(const struct vmop_image_item *image);

/*
 * Return the function that a symbol belongs to: the name without the suffixes of compilers for its
 * clones and parts (".constprop.0", ".isra.1", ".part.2", ".cold", ".lto_priv.0", ".llvm.123", and
 * the demangled " [clone .cold]").  The result is `shown` itself, or a text of the arena, or NULL
 * without memory.
 */
const char *vmop_routine_function(struct vmop_arena *arena, const char *shown);

#endif
