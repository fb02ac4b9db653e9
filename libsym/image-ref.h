// SPDX-License-Identifier: GPL-2.0-or-later
/* The identity of an image whose files are searched. */
#ifndef VMOP_LIBSYM_IMAGE_REF_H
#define VMOP_LIBSYM_IMAGE_REF_H

#include <stdbool.h>

#include "libsym/build-id.h"

struct vmop_symtab;

/* An image to resolve. The fields are those of a session file. */
struct vmop_image_ref {
	const char *path;
	const char *root; /* "/proc/PID/root" or NULL */
	struct vmop_build_id build_id;
	bool addresses; /* offsets are addresses (st_value), not file offsets */
	/*
	 * The image belongs to another machine or guest: a file with the same path here proves
	 * nothing. Without a build-id only image_paths are searched.
	 */
	bool is_elsewhere;
	bool is_module; /* path is "[NAME]", for a kernel module */
	/*
	 * The symbols that a module had in memory, by offset from its first code, as the offsets
	 * are. NULL unless the DWARF of a module is wanted. They show how its relocatable file was
	 * loaded.
	 */
	const struct vmop_symtab *module_symbols;
};

#endif
