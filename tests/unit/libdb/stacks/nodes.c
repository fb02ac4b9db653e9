// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/libdb/common.h"

#include <zstd.h>

#include "libdb/pack.h"
#include "libdb/stacks/nodes.h"
#include "libutil/varint.h"
#include "vmop/stack.h"

static void assert_nodes(const void *blob, size_t len, const struct vmop_db_stack_node *nodes,
			 size_t n)
{
	_cleanup_(vmop_stack_nodes_deinit) struct vmop_stack_nodes walk = {0};
	struct vmop_db_stack_node node;
	assert_int_equal(vmop_stack_nodes_begin(&walk, blob, len), VMOP_STACK_NODES_OK);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(vmop_stack_nodes_next(&walk, &node), VMOP_STACK_NODES_OK);
		assert_node(&node, &nodes[i]);
	}
	assert_int_equal(vmop_stack_nodes_next(&walk, &node), VMOP_STACK_NODES_END);
}

/* Walk over a blob that may be damaged. */
static enum vmop_stack_nodes_result walk_over(const void *blob, size_t len)
{
	_cleanup_(vmop_stack_nodes_deinit) struct vmop_stack_nodes walk = {0};
	struct vmop_db_stack_node node;
	enum vmop_stack_nodes_result result = vmop_stack_nodes_begin(&walk, blob, len);
	while (!result)
		result = vmop_stack_nodes_next(&walk, &node);
	return result;
}

static void round_trip(const struct vmop_db_stack_node *nodes, size_t n)
{
	_cleanup_free_ uint8_t *blob = NULL;
	size_t len;
	for (size_t i = 0; i < n; i++)
		assert_true(vmop_stack_node_is_valid(&nodes[i], nodes[0].id.number + (uint32_t)i));
	assert_true(vmop_stack_nodes_pack(nodes, n, VMOP_STACK_NODES_LEVEL, &blob, &len));
	assert_nodes(blob, len, nodes, n);
	/* Cut or changed anywhere, it is refused, or it has nodes. */
	for (size_t cut = 0; cut < len && cut < 200; cut++) {
		_cleanup_free_ uint8_t *part = malloc(cut + 1);
		memcpy(part, blob, cut);
		assert_int_equal(walk_over(part, cut), VMOP_STACK_NODES_CORRUPT);
		blob[cut] ^= 0x41;
		walk_over(blob, len);
		blob[cut] ^= 0x41;
	}
}

static void small(void **state)
{
	(void)state;
	static const struct vmop_db_stack_node end = {{1}, {0}, {0}, VMOP_STACK_COMPLETE};
	round_trip(&end, 1);
	static const struct vmop_db_stack_node chain[] = {
		{{7}, {0}, {0}, VMOP_STACK_TORN}, {{8}, {7}, {2}, 0x1234}, {{9}, {8}, {2}, 0x99},
		{{10}, {7}, {1}, UINT64_MAX},	  {{11}, {9}, {2}, 0},
	};
	round_trip(chain, 5);
	static const struct vmop_db_stack_node last[] = {
		{{UINT32_MAX - 1}, {1}, {UINT32_MAX}, UINT64_MAX},
		{{UINT32_MAX}, {UINT32_MAX - 1}, {1}, 1}};
	round_trip(last, 2);
}

static void full_blob(void **state)
{
	(void)state;
	struct vmop_db_stack_node *nodes = calloc(VMOP_STACK_NODES_MAX, sizeof(*nodes));
	uint64_t random = 1;
	for (uint32_t i = 0; i < VMOP_STACK_NODES_MAX; i++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		nodes[i].id.number = i + 1000;
		nodes[i].parent.number = (uint32_t)(random >> 32) % (i + 1000);
		nodes[i].image.number = nodes[i].parent.number ? 1 + (random >> 60) : 0;
		nodes[i].offset = random;
	}
	round_trip(nodes, VMOP_STACK_NODES_MAX);
	free(nodes);
}

static void invalid_nodes(void **state)
{
	(void)state;
	static const struct vmop_db_stack_node bad[] = {
		{{5}, {5}, {1}, 0}, /* its own parent */
		{{5}, {6}, {1}, 0}, /* a later parent */
		{{4}, {3}, {1}, 0}, /* another id */
		{{5}, {0}, {1}, 0}, /* an end mark with an image */
		{{5}, {1}, {0}, 0}, /* a frame without an image */
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(vmop_stack_node_is_valid(&bad[i], 5));
}

/* Pack numbers as a blob of n nodes from `first` on, and walk over it. */
static enum vmop_stack_nodes_result walk_numbers(uint64_t first, uint64_t n, const uint64_t *body,
						 size_t n_numbers)
{
	uint8_t plain[256], blob[512];
	uint8_t *p = plain;
	for (size_t i = 0; i < n_numbers; i++)
		p = vmop_varint_put(p, body[i]);
	size_t body_len = (size_t)(p - plain);
	p = blob;
	*p++ = 1;
	p = vmop_varint_put(p, first);
	p = vmop_varint_put(p, n);
	p = vmop_varint_put(p, body_len);
	size_t room = sizeof(blob) - (size_t)(p - blob);
	p += ZSTD_compress(p, room, plain, body_len, 1);
	return walk_over(blob, (size_t)(p - blob));
}

static void hostile(void **state)
{
	(void)state;
	static const struct {
		uint64_t first, n, body[8];
		size_t n_numbers;
		enum vmop_stack_nodes_result result;
	} blobs[] = {
		{2, 1, {1, 1, 0}, 3, VMOP_STACK_NODES_END},
		{1, 1, {0, 0}, 2, VMOP_STACK_NODES_END},	   /* an end mark */
		{2, 2, {1, 1, 0}, 3, VMOP_STACK_NODES_CORRUPT},	   /* too few */
		{2, 1, {1, 1, 0, 0}, 4, VMOP_STACK_NODES_CORRUPT}, /* too many */
		{2, 1, {4, 1, 0}, 3, VMOP_STACK_NODES_CORRUPT},	   /* a parent below 0 */
		{2, 1, {0, 7}, 2, VMOP_STACK_NODES_CORRUPT},	   /* no image */
		{2, 1, {3, 1, 0}, 3, VMOP_STACK_NODES_CORRUPT},	   /* an end mark's image */
		{0, 1, {0, 0}, 2, VMOP_STACK_NODES_CORRUPT},	   /* id 0 */
		{UINT32_MAX, 2, {0, 0, 0, 0}, 4, VMOP_STACK_NODES_CORRUPT},
		{UINT64_C(1) << 32, 1, {0, 0}, 2, VMOP_STACK_NODES_CORRUPT},
		{2, 1, {1, UINT64_C(1) << 32, 0}, 3, VMOP_STACK_NODES_CORRUPT},
		{2, 1, {UINT64_C(1) << 33, 0}, 2, VMOP_STACK_NODES_CORRUPT},
		{2, 0, {0, 0}, 2, VMOP_STACK_NODES_CORRUPT},
		{2, UINT32_MAX, {0, 0}, 2, VMOP_STACK_NODES_CORRUPT},
		{2, VMOP_STACK_NODES_MAX + 1, {0, 0}, 2, VMOP_STACK_NODES_CORRUPT},
	};
	for (size_t i = 0; i < sizeof(blobs) / sizeof(blobs[0]); i++)
		assert_int_equal(
			walk_numbers(blobs[i].first, blobs[i].n, blobs[i].body, blobs[i].n_numbers),
			blobs[i].result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small),
		cmocka_unit_test(full_blob),
		cmocka_unit_test(invalid_nodes),
		cmocka_unit_test(hostile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
