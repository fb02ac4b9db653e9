// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The frames of call trees.  A frame is a function, or a word of vmop's own in a function's place.
 * Frames are interned: the same function in two stacks, tasks or sessions has one number.
 */
#ifndef VMOP_OPREPORT_STACKS_FRAME_H
#define VMOP_OPREPORT_STACKS_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "opreport/query/query.h"
#include "vmop/stack.h"

enum vmop_frame_kind {
	/* Code. */
	VMOP_FRAME_USER, /* of the host, or of an active guest's own session */
	VMOP_FRAME_KERNEL,
	VMOP_FRAME_HYPERVISOR, /* Xen; KVM's frames are the kernel's */
	VMOP_FRAME_GUEST_USER,
	VMOP_FRAME_GUEST_KERNEL,
	VMOP_FRAME_OTHER, /* code whose mode is not known */
	/* Words. */
	VMOP_FRAME_END,	     /* an incomplete stack begins with it: the reason, `end` */
	VMOP_FRAME_DAMAGED,  /* stacks that the session file does not define */
	VMOP_FRAME_LEFT_OUT, /* what the bounds of the tree left out */
	/* Groups, above the frames of stacks. */
	VMOP_FRAME_SESSION,
	VMOP_FRAME_DOMAIN,
	VMOP_FRAME_CGROUP,
	VMOP_FRAME_TASK,
	VMOP_FRAME_CPU,
	VMOP_FRAME_VCPU,
	VMOP_FRAME_CERTAINTY,
	VMOP_N_FRAME_KINDS,
};

/* The key is hashed as bytes, so it has no padding.  Fields that a kind does not use are 0. */
struct vmop_frame_key {
	uint32_t kind;	/* enum vmop_frame_kind */
	uint32_t image; /* code: catalog index of the image's row; 0 in words and groups */
	/*
	 * Groups: a field of struct vmop_group (a catalog index + 1, ...).  VMOP_FRAME_END: enum
	 * vmop_stack_end.  Code: VMOP_FRAME_IS_INLINED, or 0.
	 */
	uint32_t value;
	uint32_t mode;			  /* code: enum vmop_mode */
	const struct vmop_symbol *symbol; /* NULL: none; &vmop_idle_symbol: idle functions */
	uint64_t offset;		  /* in the image; only in trees by offset, or else 0 */
};

/* A function that is inlined into the one above it: its symbol is a struct vmop_inlined's. */
#define VMOP_FRAME_IS_INLINED 1

struct vmop_frame {
	struct vmop_frame_key key;
	/*
	 * Code in trees by offset: catalog index of one image with this code.  Its offset, base,
	 * length and build-id belong together.  Otherwise equal to key.image.
	 */
	uint32_t text_image;
	const char *name;	 /* NULL: not made yet; see vmop_frame_name */
	const char *symbol_name; /* likewise; see vmop_frame_symbol_name */
};

/* The hash decides nearly all comparisons without a look at the frame. */
struct vmop_frame_bucket {
	uint32_t number; /* + 1; 0: empty */
	uint32_t hash;
};

struct vmop_frames {
	struct vmop_frame *items; /* n */
	size_t n, capacity;
	struct vmop_frame_bucket *buckets;
	size_t n_buckets; /* a power of two */
};

/* The bound of frames; more are left out. */
#define VMOP_FRAMES_MAX ((size_t)1 << 20)
#define VMOP_NO_FRAME UINT32_MAX

/* Set *ret to the number of the frame, or to VMOP_NO_FRAME if it is new and all are taken. */
struct vmop_error *vmop_frames_intern(struct vmop_frames *frames, const struct vmop_frame_key *key,
				      uint32_t text_image, uint32_t *ret);
void vmop_frames_deinit(struct vmop_frames *frames);

/* Return whether the frame is code: neither a word nor a group. */
static inline bool vmop_frame_is_code(const struct vmop_frame *frame)
{
	return frame->key.kind <= VMOP_FRAME_OTHER;
}

static inline bool vmop_frame_is_group(const struct vmop_frame *frame)
{
	return frame->key.kind >= VMOP_FRAME_SESSION;
}

/* Return the item of code's image; item 0 for words and groups. */
static inline const struct vmop_image_item *vmop_frame_image(const struct vmop_result *result,
							     const struct vmop_frame *frame)
{
	return vmop_catalog_image(&result->catalog, frame->key.image);
}

/* Return the domain of code's image, or of a domain's or task's group; else item 0. */
const struct vmop_domain_item *vmop_frame_domain(const struct vmop_result *result,
						 const struct vmop_frame *frame);

/*
 * Return what a reader without a column for images is shown: "main", "libc.so.6 (no symbols)",
 * "[idle]", "[copy too small]", "host", "bash", "cpu 3".  The result owns it.  Raw bytes: who
 * prints it escapes it.
 */
const char *vmop_frame_name(struct vmop_result *result, struct vmop_frame *frame);

/* Return what stands in the column of symbols, as in a report by symbol: "main", "(no symbols)". */
const char *vmop_frame_symbol_name(struct vmop_result *result, struct vmop_frame *frame);

#endif
