// SPDX-License-Identifier: GPL-2.0-or-later
#include "libdb/stacks/nodes.h"

#include <stdlib.h>
#include <zstd.h>

#include "libdb/pack.h"
#include "libutil/cleanup.h"
#include "libutil/varint.h"

#define NODES_VERSION 1
#define IMAGE_FOLLOWS 1
#define PARENT_BITS 33 /* with the flag */

bool vmop_stack_node_is_valid(const struct vmop_db_stack_node *node, uint32_t id)
{
	bool is_end_mark = node->parent.number == 0;
	return node->id.number == id && node->parent.number < id &&
	       is_end_mark == (node->image.number == 0);
}

/* Write the body into buf, which is large enough, and return its length. */
static size_t write_body(const struct vmop_db_stack_node *nodes, size_t n, uint8_t *buf)
{
	uint8_t *p = buf;
	uint32_t image = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t back = nodes[i].id.number - 1 - nodes[i].parent.number;
		bool image_follows = nodes[i].image.number != image;
		p = vmop_varint_put(p, back << 1 | (image_follows ? IMAGE_FOLLOWS : 0));
		if (image_follows)
			p = vmop_varint_put(p, nodes[i].image.number);
		p = vmop_varint_put(p, nodes[i].offset);
		image = nodes[i].image.number;
	}
	return (size_t)(p - buf);
}

bool vmop_stack_nodes_pack(const struct vmop_db_stack_node *nodes, size_t n, int level,
			   uint8_t **ret, size_t *ret_len_bytes)
{
	_cleanup_free_ uint8_t *body = malloc(n * VMOP_STACK_NODE_MAX_BYTES);
	if (!body)
		return false;
	size_t body_len = write_body(nodes, n, body);
	size_t bound = ZSTD_compressBound(body_len);
	_cleanup_free_ uint8_t *blob = malloc(VMOP_STACK_NODES_HEAD_MAX_BYTES + bound);
	if (!blob)
		return false;
	uint8_t *p = blob;
	*p++ = NODES_VERSION;
	p = vmop_varint_put(p, nodes[0].id.number);
	p = vmop_varint_put(p, n);
	p = vmop_varint_put(p, body_len);
	size_t len = ZSTD_compress(p, bound, body, body_len, level);
	if (ZSTD_isError(len)) /* the room suffices: only memory can be missing */
		return false;
	*ret_len_bytes = (size_t)(p - blob) + len;
	*ret = vmop_steal(&blob);
	return true;
}

/* Read the head. Return the position of the frame, or NULL if a number is impossible. */
static const uint8_t *read_head(struct vmop_stack_nodes *nodes, const uint8_t *p,
				const uint8_t *end, size_t *ret_body_len)
{
	uint64_t first = 0, n = 0, body_len = 0;
	if (p == end || *p++ != NODES_VERSION)
		return NULL;
	p = vmop_varint_get(p, end, &first);
	p = p ? vmop_varint_get(p, end, &n) : NULL;
	p = p ? vmop_varint_get(p, end, &body_len) : NULL;
	if (!p || first < 1 || first > UINT32_MAX || n < 1 || n > VMOP_STACK_NODES_MAX ||
	    n - 1 > UINT32_MAX - first)
		return NULL;
	if (body_len < 2 * n || body_len > n * VMOP_STACK_NODE_MAX_BYTES)
		return NULL;
	nodes->next = (uint32_t)first;
	nodes->n = (uint32_t)n;
	*ret_body_len = (size_t)body_len;
	return p;
}

enum vmop_stack_nodes_result vmop_stack_nodes_begin(struct vmop_stack_nodes *nodes,
						    const void *blob, size_t len_bytes)
{
	const uint8_t *end = (const uint8_t *)blob + len_bytes;
	size_t body_len;
	const uint8_t *p = read_head(nodes, blob, end, &body_len);
	if (!p || ZSTD_getFrameContentSize(p, (size_t)(end - p)) != body_len)
		return VMOP_STACK_NODES_CORRUPT;
	free(nodes->body);
	nodes->body = malloc(body_len);
	if (!nodes->body)
		return VMOP_STACK_NODES_NO_MEMORY;
	if (ZSTD_decompress(nodes->body, body_len, p, (size_t)(end - p)) != body_len)
		return VMOP_STACK_NODES_CORRUPT;
	nodes->p = nodes->body;
	nodes->end = nodes->body + body_len;
	nodes->image = 0;
	return VMOP_STACK_NODES_OK;
}

void vmop_stack_nodes_deinit(struct vmop_stack_nodes *nodes)
{
	free(nodes->body);
	*nodes = (struct vmop_stack_nodes){0};
}

enum vmop_stack_nodes_result vmop_stack_nodes_next(struct vmop_stack_nodes *nodes,
						   struct vmop_db_stack_node *ret)
{
	const uint8_t *p = nodes->p, *end = nodes->end;
	uint64_t first = 0, image = nodes->image, offset = 0;
	if (!nodes->n)
		return p == end ? VMOP_STACK_NODES_END : VMOP_STACK_NODES_CORRUPT;
	p = vmop_varint_get(p, end, &first);
	if (p && first & IMAGE_FOLLOWS)
		p = vmop_varint_get(p, end, &image);
	p = p ? vmop_varint_get(p, end, &offset) : NULL;
	uint64_t back = first >> 1;
	if (!p || first >> PARENT_BITS || back >= nodes->next || image > UINT32_MAX)
		return VMOP_STACK_NODES_CORRUPT;
	*ret = (struct vmop_db_stack_node){
		.id.number = nodes->next,
		.parent.number = nodes->next - 1 - (uint32_t)back,
		.image.number = (uint32_t)image,
		.offset = offset,
	};
	if (!vmop_stack_node_is_valid(ret, nodes->next))
		return VMOP_STACK_NODES_CORRUPT;
	nodes->p = p;
	nodes->image = (uint32_t)image;
	nodes->next++; /* 0 after the last possible id, when n is 0, too */
	nodes->n--;
	return VMOP_STACK_NODES_OK;
}
