// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions inlined at the addresses of a call tree by offset.  Addresses are looked up by
 * weight, the heaviest first, until a bound of CPU time is reached; the map counts the others.
 * Only code in files has inlined functions here; the kernel's has none.
 */
#ifndef VMOP_OPREPORT_STACKS_INLINE_MAP_H
#define VMOP_OPREPORT_STACKS_INLINE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "opreport/stacks/call-tree.h"

/* An inlined function.  The same name has one item. */
struct vmop_inlined {
	struct vmop_symbol symbol;	 /* its name is "NAME (inlined)"; no offset */
	const char *name, *mangled_name; /* as shown, and as read */
};

/* The functions inlined at a frame's address, from the innermost: functions[first..first + n). */
struct vmop_inline_chain {
	uint32_t first, n;
};

struct vmop_inline_map {
	struct vmop_inline_chain *chains; /* by frame of the tree */
	const struct vmop_inlined **functions;
	size_t n_functions, capacity;
	struct vmop_inlined_entry *entries; /* by name */
	/* Counts of the look-ups. */
	size_t n_addresses, n_unseen;	   /* unseen: there was no time left */
	uint64_t samples, unseen_samples;  /* all; with an unseen address in their stacks */
	size_t n_images, n_images_without; /* files; without DWARF that can be read */
	uint64_t top_samples;		   /* of the image without DWARF that has the most */
	size_t top_image;
	const char *top_why;
};

/*
 * Make the map of a finished tree that was built with by_offset.  The map must not outlive the
 * tree's result.  The caller deinitialises ret also after an error.
 */
struct vmop_error *vmop_inline_map_init(struct vmop_inline_map *ret,
					const struct vmop_call_tree *tree, uint64_t max_cpu_ns);
void vmop_inline_map_deinit(struct vmop_inline_map *map);

/* Return the inlined function that a frame stands for, or NULL: another frame. */
const struct vmop_inlined *vmop_inlined_of_frame(const struct vmop_frame *frame);

/*
 * Make a copy of the tree in which each frame of code is followed by frames of the functions that
 * are inlined at its address, and functions are not divided by offset unless the options ask.  The
 * caller deinitialises ret also after an error.
 */
struct vmop_error *vmop_inline_tree_init(struct vmop_call_tree *ret,
					 const struct vmop_call_tree *tree,
					 const struct vmop_inline_map *map,
					 const struct vmop_call_tree_options *options);

/* Log what the map lacks: addresses without time for them, images without DWARF. */
void vmop_inline_map_log(const struct vmop_inline_map *map, const struct vmop_result *result);

#endif
