// SPDX-License-Identifier: GPL-2.0-or-later
#include "libdb/stacks/cells.h"

#include "libutil/varint.h"

#define STACK_BITS 33 /* with the flag */
#define SAMPLES_FOLLOW 1

static bool are_valid(const struct vmop_db_stack_cell *cells, size_t n)
{
	if (n < 1 || n > VMOP_PACK_MAX_CELLS)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (cells[i].cell.samples < 1)
			return false;
		if (i && (cells[i].stack.number < cells[i - 1].stack.number ||
			  (cells[i].stack.number == cells[i - 1].stack.number &&
			   cells[i].cell.offset <= cells[i - 1].cell.offset)))
			return false;
	}
	return true;
}

static bool is_uniform(const struct vmop_db_stack_cell *cells, size_t n, uint64_t *ret_period)
{
	uint64_t period = cells[0].cell.weight_events / cells[0].cell.samples;
	for (size_t i = 0; i < n; i++) {
		uint64_t weight;
		if (__builtin_mul_overflow(cells[i].cell.samples, period, &weight) ||
		    weight != cells[i].cell.weight_events)
			return false;
	}
	*ret_period = period;
	return true;
}

size_t vmop_pack_stacks(const struct vmop_db_stack_cell *cells, size_t n, uint8_t *buf)
{
	if (!are_valid(cells, n))
		return 0;
	uint64_t period = 0;
	bool uniform = is_uniform(cells, n, &period);
	uint8_t *p = buf;
	*p++ = (uint8_t)(VMOP_PACK_STACKS_VERSION << 4 | (uniform ? VMOP_PACK_UNIFORM : 0));
	if (uniform)
		p = vmop_varint_put(p, period);
	struct vmop_db_stack_cell before = {0};
	for (size_t i = 0; i < n; i++) {
		const struct vmop_db_cell *cell = &cells[i].cell;
		uint64_t step = cells[i].stack.number - before.stack.number;
		uint64_t difference = cell->offset - before.cell.offset;
		p = vmop_varint_put(p, step << 1 | (cell->samples > 1 ? SAMPLES_FOLLOW : 0));
		p = vmop_varint_put(p,
				    i && !step ? difference - 1 : vmop_varint_zigzag(difference));
		if (cell->samples > 1)
			p = vmop_varint_put(p, cell->samples - 2);
		if (!uniform)
			p = vmop_varint_put(p, cell->weight_events);
		before = cells[i];
	}
	return (size_t)(p - buf);
}

bool vmop_unpack_stacks_begin(struct vmop_unpack_stacks *unpack, const void *blob, size_t len_bytes)
{
	const uint8_t *p = blob;
	*unpack = (struct vmop_unpack_stacks){.end = p + len_bytes, .is_first = true};
	unpack->p = vmop_pack_get_header(p, unpack->end, VMOP_PACK_STACKS_VERSION, &unpack->uniform,
					 &unpack->period);
	return unpack->p;
}

/* Read the stack and the offset of the next cell into unpack. NULL: malformed. */
static inline const uint8_t *get_position(struct vmop_unpack_stacks *unpack, const uint8_t *p,
					  bool *ret_samples_follow)
{
	uint64_t first, step, offset;
	p = vmop_varint_get(p, unpack->end, &first);
	if (!p || first >> STACK_BITS)
		return NULL;
	*ret_samples_follow = first & SAMPLES_FOLLOW;
	step = first >> 1;
	p = vmop_varint_get(p, unpack->end, &offset);
	if (!p || step > UINT32_MAX - unpack->stack.number)
		return NULL;
	if (step || unpack->is_first)
		unpack->offset += vmop_varint_unzigzag(offset);
	else if (offset >= UINT64_MAX - unpack->offset)
		return NULL;
	else
		unpack->offset += 1 + offset;
	unpack->stack.number += (uint32_t)step;
	unpack->is_first = false;
	return p;
}

static inline enum vmop_unpack_result unpack_cell(struct vmop_unpack_stacks *unpack,
						  struct vmop_db_stack_cell *ret)
{
	const uint8_t *end = unpack->end;
	uint64_t samples, weight;
	bool samples_follow;
	if (unpack->p == end)
		return VMOP_UNPACK_END;
	const uint8_t *p = get_position(unpack, unpack->p, &samples_follow);
	if (!p)
		return VMOP_UNPACK_BAD;
	p = vmop_pack_get_counts(p, end, samples_follow, unpack->uniform ? &unpack->period : NULL,
				 &samples, &weight);
	if (!p)
		return VMOP_UNPACK_BAD;
	unpack->p = p;
	*ret = (struct vmop_db_stack_cell){unpack->stack, {unpack->offset, samples, weight}};
	return VMOP_UNPACK_CELL;
}

enum vmop_unpack_result vmop_unpack_stacks_some(struct vmop_unpack_stacks *unpack,
						struct vmop_db_stack_cell *ret, size_t max,
						size_t *ret_n)
{
	struct vmop_unpack_stacks at = *unpack; /* a copy stays in registers */
	enum vmop_unpack_result result = VMOP_UNPACK_CELL;
	size_t n = 0;
	while (n < max && result == VMOP_UNPACK_CELL) {
		result = unpack_cell(&at, &ret[n]);
		n += result == VMOP_UNPACK_CELL;
	}
	*unpack = at;
	*ret_n = n;
	return result;
}

size_t vmop_stack_cells_split(const struct vmop_db_stack_cell *cells, size_t n,
			      struct vmop_db_cell *ret)
{
	size_t i = 0;
	for (; i < n && cells[i].stack.number == cells[0].stack.number; i++)
		ret[i] = cells[i].cell;
	return i;
}
