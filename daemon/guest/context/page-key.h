// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The identity of a page of user code, as a context has it (vmop/guest-context.h): the guest's
 * struct address_space and inode, and what the inode contained at the sample. All of it is hostile.
 */
#ifndef VMOP_DAEMON_GUEST_CONTEXT_PAGE_KEY_H
#define VMOP_DAEMON_GUEST_CONTEXT_PAGE_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "vmop/guest-context.h"

/* A flag in page->mapping: the page is anonymous memory (Linux, PAGE_MAPPING_ANON). */
#define VMOP_GUEST_MAPPING_ANON UINT64_C(1)
/* All flags there. */
#define VMOP_GUEST_MAPPING_FLAGS UINT64_C(3)

struct vmop_guest_page_key {
	uint64_t generation; /* of the kernel */
	uint64_t mapping, index;
	uint64_t inode, superblock, inode_number;
	uint64_t inode_generation; /* 64 bits, so that the key has no padding */
};

static inline struct vmop_guest_page_key
vmop_guest_page_key(const struct vmop_guest_context *context)
{
	return (struct vmop_guest_page_key){
		.generation = context->generation,
		.mapping = context->mapping,
		.index = context->index,
		.inode = context->inode,
		.superblock = context->superblock,
		.inode_number = context->inode_number,
		.inode_generation = context->inode_generation,
	};
}

/* Return whether a context has the identity of a page of a file. */
static inline bool vmop_guest_page_is_file(uint32_t parts, const struct vmop_guest_page_key *key)
{
	return (parts & (VMOP_GUEST_HAS_PAGE | VMOP_GUEST_HAS_INODE)) ==
		       (VMOP_GUEST_HAS_PAGE | VMOP_GUEST_HAS_INODE) &&
	       key->mapping && !(key->mapping & VMOP_GUEST_MAPPING_FLAGS);
}

#endif
