// SPDX-License-Identifier: GPL-2.0-or-later
/* Call trees of made-up frames, for the tests of this folder. */
#ifndef VMOP_TESTS_UNIT_OPREPORT_STACKS_TREES_H
#define VMOP_TESTS_UNIT_OPREPORT_STACKS_TREES_H

#include "opreport/stacks/call-tree.h"
#include "tests/unit/ok.h"

/* Return the frame of a made-up function, 'a' to 'z'. */
static inline uint32_t frame_of(struct vmop_call_tree *tree, char function)
{
	const struct vmop_frame_key key = {.kind = VMOP_FRAME_USER, .offset = (uint64_t)function};
	uint32_t frame;
	assert_ok(vmop_frames_intern(&tree->frames, &key, 0, &frame));
	return frame;
}

/* Add samples with the stack of functions in path, outermost first.  Each weighs 10. */
static inline void add_stack(struct vmop_call_tree *tree, const char *path, uint64_t samples)
{
	uint32_t node = 0;
	for (; *path; path++)
		assert_ok(vmop_call_tree_child(tree, node, frame_of(tree, *path), &node));
	vmop_call_tree_add(tree, node, 0, samples, samples * 10);
}

/* Return the letter of a node's function, or '?' for a word. */
static inline char function_of(const struct vmop_call_tree *tree, uint32_t node)
{
	const struct vmop_frame *frame = vmop_call_tree_frame(tree, node);
	return vmop_frame_is_code(frame) ? (char)frame->key.offset : '?';
}

#endif
