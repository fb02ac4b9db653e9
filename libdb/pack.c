// SPDX-License-Identifier: GPL-2.0-or-later
#include "libdb/pack.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/varint.h"

#define MORE 0x80
#define SAMPLES_FOLLOW 0x40

#define MORE_CELLS 256 /* at least, by which an array grows */

static uint8_t *put_step(uint8_t *p, uint64_t step, bool samples_follow)
{
	uint8_t first =
		(uint8_t)((step & (SAMPLES_FOLLOW - 1)) | (samples_follow ? SAMPLES_FOLLOW : 0));
	step >>= 6;
	if (!step) {
		*p++ = first;
		return p;
	}
	*p++ = first | MORE;
	return vmop_varint_put(p, step);
}

static bool is_uniform(const struct vmop_db_cell *cells, size_t n, uint64_t *ret_period)
{
	uint64_t period = cells[0].weight_events / cells[0].samples;
	for (size_t i = 0; i < n; i++) {
		uint64_t weight;
		if (__builtin_mul_overflow(cells[i].samples, period, &weight) ||
		    weight != cells[i].weight_events)
			return false;
	}
	*ret_period = period;
	return true;
}

size_t vmop_pack(const struct vmop_db_cell *cells, size_t n, uint8_t *buf)
{
	if (n < 1 || n > VMOP_PACK_MAX_CELLS)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (cells[i].samples < 1 || (i > 0 && cells[i].offset <= cells[i - 1].offset))
			return 0;
	uint64_t period = 0;
	bool uniform = is_uniform(cells, n, &period);
	uint8_t *p = buf;
	*p++ = (uint8_t)(VMOP_PACK_VERSION << 4 | (uniform ? VMOP_PACK_UNIFORM : 0));
	if (uniform)
		p = vmop_varint_put(p, period);
	uint64_t before = UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		p = put_step(p, cells[i].offset - before - 1, cells[i].samples > 1);
		if (cells[i].samples > 1)
			p = vmop_varint_put(p, cells[i].samples - 2);
		if (!uniform)
			p = vmop_varint_put(p, cells[i].weight_events);
		before = cells[i].offset;
	}
	return (size_t)(p - buf);
}

const uint8_t *vmop_pack_get_header(const uint8_t *p, const uint8_t *end, unsigned version,
				    bool *ret_uniform, uint64_t *ret_period)
{
	if (end - p < 2 || (*p & ~VMOP_PACK_UNIFORM) != (int)(version << 4))
		return NULL;
	*ret_uniform = *p++ & VMOP_PACK_UNIFORM;
	if (*ret_uniform)
		p = vmop_varint_get(p, end, ret_period);
	return p && p < end ? p : NULL;
}

bool vmop_unpack_begin(struct vmop_unpack *unpack, const void *blob, size_t len_bytes)
{
	const uint8_t *p = blob;
	*unpack = (struct vmop_unpack){.end = p + len_bytes, .before = UINT64_MAX};
	unpack->p = vmop_pack_get_header(p, unpack->end, VMOP_PACK_VERSION, &unpack->uniform,
					 &unpack->period);
	return unpack->p;
}

/* Read a step, whose first byte is *p. NULL: malformed. */
static const uint8_t *get_step(const uint8_t *p, const uint8_t *end, uint64_t *ret)
{
	uint8_t first = *p++;
	*ret = first & (SAMPLES_FOLLOW - 1);
	if (first < MORE)
		return p;
	uint64_t high;
	p = vmop_varint_get(p, end, &high);
	if (!p || high > UINT64_MAX >> 6)
		return NULL;
	*ret |= high << 6;
	return p;
}

static inline enum vmop_unpack_result unpack_cell(struct vmop_unpack *unpack,
						  struct vmop_db_cell *ret)
{
	const uint8_t *p = unpack->p, *end = unpack->end;
	if (p == end)
		return VMOP_UNPACK_END;
	bool samples_follow = *p & SAMPLES_FOLLOW;
	uint64_t step, samples, weight;
	p = get_step(p, end, &step);
	if (!p || (unpack->before != UINT64_MAX && step >= UINT64_MAX - unpack->before))
		return VMOP_UNPACK_BAD;
	/* The highest address ends the blob: nothing can come behind it. */
	uint64_t offset = unpack->before + 1 + step;
	p = vmop_pack_get_counts(p, end, samples_follow, unpack->uniform ? &unpack->period : NULL,
				 &samples, &weight);
	if (!p || (offset == UINT64_MAX && p != end))
		return VMOP_UNPACK_BAD;
	unpack->p = p;
	unpack->before = offset;
	*ret = (struct vmop_db_cell){offset, samples, weight};
	return VMOP_UNPACK_CELL;
}

/*
 * Unpack up to max short cells, which have at most two bytes of step and one of samples, and return
 * their number.  Nearly all cells are short.  Stops before a longer cell, the blob's last bytes or
 * damage.
 *
 * The parts of a short cell vary like random numbers.  So no jump depends on them: mispredicted
 * jumps took more than half of the time of unpacking.
 */
static inline size_t unpack_short_cells(struct vmop_unpack *unpack, struct vmop_db_cell *ret,
					size_t max)
{
	enum { STEP_MAX = (1 << 13) - 1, SAMPLES_MAX = 129 };
	const uint8_t *p = unpack->p;
	uint64_t before = unpack->before, period = unpack->period;
	size_t n = 0;
	if (!unpack->uniform || period > UINT64_MAX / SAMPLES_MAX)
		return 0;
	/* The first cell has the greatest "before": unpack_cell handles it. */
	while (n < max && unpack->end - p > 3 && before < UINT64_MAX - STEP_MAX - 1) {
		uint32_t bytes;
		memcpy(&bytes, p, sizeof(bytes));
		bytes = le32toh(bytes);
		uint32_t more = bytes >> 7 & 1, samples_follow = bytes >> 6 & 1;
		uint32_t high = bytes >> 8 & 0xff & -more;
		uint32_t samples = bytes >> (8 + 8 * more) & 0xff & -samples_follow;
		if ((high | samples) & MORE)
			break;
		p += 1 + more + samples_follow;
		before += 1 + ((bytes & (SAMPLES_FOLLOW - 1)) | high << 6);
		samples += 1 + samples_follow;
		ret[n++] = (struct vmop_db_cell){before, samples, samples * period};
	}
	unpack->p = p;
	unpack->before = before;
	return n;
}

enum vmop_unpack_result vmop_unpack_next(struct vmop_unpack *unpack, struct vmop_db_cell *ret)
{
	return unpack_cell(unpack, ret);
}

enum vmop_unpack_result vmop_unpack_some(struct vmop_unpack *unpack, struct vmop_db_cell *ret,
					 size_t max, size_t *ret_n)
{
	struct vmop_unpack at = *unpack; /* a copy stays in registers */
	enum vmop_unpack_result result = VMOP_UNPACK_CELL;
	size_t n = 0;
	while (n < max && result == VMOP_UNPACK_CELL) {
		n += unpack_short_cells(&at, ret + n, max - n);
		if (n == max)
			break;
		result = unpack_cell(&at, &ret[n]);
		n += result == VMOP_UNPACK_CELL;
	}
	*unpack = at;
	*ret_n = n;
	return result;
}

enum vmop_unpack_error vmop_unpack_all(const void *blob, size_t len_bytes, struct vmop_cells *cells)
{
	struct vmop_unpack unpack;
	cells->n = 0;
	if (!vmop_unpack_begin(&unpack, blob, len_bytes))
		return VMOP_UNPACK_CORRUPT;
	/* The array grows with the cells: the blob's length would bound them, but far too high. */
	for (;;) {
		if (cells->n == cells->capacity) {
			if (cells->n >= VMOP_PACK_MAX_CELLS)
				return VMOP_UNPACK_CORRUPT;
			if (!vmop_array_reserve(cells->all, cells->capacity, cells->n + MORE_CELLS))
				return VMOP_UNPACK_NO_MEMORY;
		}
		size_t n;
		enum vmop_unpack_result result = vmop_unpack_some(&unpack, cells->all + cells->n,
								  cells->capacity - cells->n, &n);
		cells->n += n;
		if (result == VMOP_UNPACK_END)
			return VMOP_UNPACK_OK;
		if (result == VMOP_UNPACK_BAD)
			return VMOP_UNPACK_CORRUPT;
	}
}
