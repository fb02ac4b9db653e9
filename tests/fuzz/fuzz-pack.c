// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as packed cells, nodes of stacks and symbols. Valid input must survive being packed
 * again. */
#include <endian.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libdb/pack.h"
#include "libdb/stacks/heap.h"
#include "libdb/stacks/nodes.h"
#include "libdb/sum.h"
#include "libdb/symbols/symbols.h"
#include "libutil/varint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

/* A walk over single cells gives the same cells. */
static void compare_walks(const uint8_t *data, size_t len_bytes, const struct vmop_cells *cells)
{
	struct vmop_unpack unpack;
	struct vmop_db_cell cell;
	if (!vmop_unpack_begin(&unpack, data, len_bytes))
		abort();
	for (size_t i = 0; i < cells->n; i++)
		if (vmop_unpack_next(&unpack, &cell) != VMOP_UNPACK_CELL ||
		    memcmp(&cell, &cells->all[i], sizeof(cell)) != 0)
			abort();
	if (vmop_unpack_next(&unpack, &cell) != VMOP_UNPACK_END)
		abort();
}

static void try_cells(const uint8_t *data, size_t len_bytes)
{
	struct vmop_cells cells = {0}, again = {0};
	if (vmop_unpack_all(data, len_bytes, &cells) == VMOP_UNPACK_OK) {
		uint8_t *buf = malloc(vmop_pack_bound_bytes(cells.n));
		size_t len = vmop_pack(cells.all, cells.n, buf);
		if (!len || vmop_unpack_all(buf, len, &again) != VMOP_UNPACK_OK ||
		    again.n != cells.n ||
		    memcmp(again.all, cells.all, cells.n * sizeof(*cells.all)) != 0)
			abort();
		free(buf);
		compare_walks(data, len_bytes, &cells);
	}
	free(cells.all);
	free(again.all);
}

static void try_sum(const uint8_t *data, size_t len_bytes)
{
	struct vmop_sums sums = {0};
	struct vmop_sum_key key = {0};
	struct vmop_sum *sum = vmop_sums_at(&sums, &key);
	/* Twice, so that every offset occurs again. */
	vmop_sum_add_packed(sum, data, len_bytes);
	vmop_sums_add_packed(&sums, sum, data, len_bytes);
	vmop_sums_add_waiting(&sums);
	const struct vmop_db_cell *cells = vmop_sum_sort(sum);
	for (size_t i = 1; i < sum->n_cells; i++)
		if (cells[i].offset <= cells[i - 1].offset)
			abort();
	vmop_sums_deinit(&sums);
}

static void try_stack_cells(const uint8_t *data, size_t len_bytes)
{
	struct vmop_stack_heap heap = {0}, again = {0};
	if (vmop_stack_heap_add(&heap, data, len_bytes) == VMOP_UNPACK_OK) {
		uint8_t *buf = malloc(vmop_pack_stacks_bound_bytes(heap.n));
		size_t n = heap.n, len = vmop_pack_stacks(heap.cells, n, buf);
		if (!len || vmop_stack_heap_add(&again, buf, len) != VMOP_UNPACK_OK || again.n != n)
			abort();
		for (size_t i = 0; i < n; i++)
			if (again.cells[i].stack.number != heap.cells[i].stack.number ||
			    memcmp(&again.cells[i].cell, &heap.cells[i].cell,
				   sizeof(struct vmop_db_cell)) != 0)
				abort();
		vmop_stack_heap_add(&again, buf, len);
		vmop_stack_heap_merge(&again);
		if (again.n != n)
			abort();
		free(buf);
	}
	vmop_stack_heap_deinit(&heap);
	vmop_stack_heap_deinit(&again);
}

static void try_nodes(const uint8_t *data, size_t len_bytes)
{
	struct vmop_stack_nodes nodes = {0};
	struct vmop_db_stack_node node;
	enum vmop_stack_nodes_result result = vmop_stack_nodes_begin(&nodes, data, len_bytes);
	uint32_t n = nodes.n;
	while (!result && (result = vmop_stack_nodes_next(&nodes, &node)) == VMOP_STACK_NODES_OK) {
		if (!vmop_stack_node_is_valid(&node, node.id.number) || !n--)
			abort();
	}
	vmop_stack_nodes_deinit(&nodes);
}

/* Write data as a frame of Zstandard with one raw block (RFC 8878, 3.1.1): far faster than zstd. */
static uint8_t *put_frame(uint8_t *p, const uint8_t *data, uint32_t len_bytes)
{
	static const uint8_t magic_and_descriptor[] = {0x28, 0xb5, 0x2f, 0xfd, 0xa0};
	uint32_t length = htole32(len_bytes), block = htole32(len_bytes << 3 | 1);
	p = mempcpy(p, magic_and_descriptor, sizeof(magic_and_descriptor));
	p = mempcpy(p, &length, sizeof(length));
	p = mempcpy(p, &block, 3);
	return mempcpy(p, data, len_bytes);
}

/* The input as the body of a blob, because a damaged frame hides most other damage. */
static void try_node_body(const uint8_t *data, size_t len_bytes)
{
	enum { HEAD = 3 };
	uint8_t blob[4096];
	if (len_bytes < HEAD || len_bytes > 2048)
		return;
	size_t body_len = len_bytes - HEAD;
	uint8_t *p = blob;
	*p++ = 1;
	p = vmop_varint_put(p, data[0] | (uint64_t)data[1] << (data[1] & 31));
	p = vmop_varint_put(p, data[2]);
	p = vmop_varint_put(p, body_len);
	p = put_frame(p, data + HEAD, (uint32_t)body_len);
	try_nodes(blob, (size_t)(p - blob));
}

static void try_symbols(const uint8_t *data, size_t len_bytes)
{
	struct vmop_symbol *symbols;
	size_t n, total = 0;
	struct vmop_error *err = vmop_symbols_unpack(data, len_bytes, &symbols, &n);
	if (err) {
		vmop_error_destroy(err);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		total += strlen(symbols[i].name);
		if (i && symbols[i - 1].offset > symbols[i].offset)
			abort();
	}
	if (total > VMOP_SYMBOLS_MAX_BODY_BYTES)
		abort();
	free(symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	try_cells(data, len_bytes);
	try_sum(data, len_bytes);
	try_stack_cells(data, len_bytes);
	try_nodes(data, len_bytes);
	try_node_body(data, len_bytes);
	try_symbols(data, len_bytes);
	return 0;
}
