// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the kernel's symbol tables in a part of its image; see kallsyms.h. */
#include <endian.h>
#include <string.h>

#include "libguest/kernel/kallsyms.h"

#define TOKENS 256u
#define MAX_TOKEN 128u /* bytes, with the NUL */
#define INDEX_BYTES (TOKENS * 2)
#define SYMBOLS_A_MARKER 256u
#define MIN_MARKERS 16u
#define MIN_MARKER_STEP 512u
#define MAX_MARKER_STEP (SYMBOLS_A_MARKER * 256u)
#define MARKER_SEARCH_BYTES (8u << 20)

static uint16_t load_u16(const uint8_t *at)
{
	uint16_t value;
	memcpy(&value, at, sizeof(value));
	return le16toh(value);
}

static uint16_t load_big_u16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static uint32_t load_u32(const uint8_t *at)
{
	uint32_t value;
	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static uint64_t load_u64(const uint8_t *at)
{
	uint64_t value;
	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

static size_t align_up(size_t value, size_t to)
{
	return (value + to - 1) / to * to;
}

/* --- the token table and its index ----------------------------------------- */

/*
 * Return the end of the 256 strings, whose token '0' (number 48) lies at zero. 0: there are no such
 * strings.
 */
static size_t end_of_tokens(const uint8_t *buf, size_t len, size_t zero)
{
	size_t at = zero;
	for (unsigned int i = '0'; i < TOKENS; i++) {
		size_t left = len - at < MAX_TOKEN ? len - at : MAX_TOKEN;
		const uint8_t *end = memchr(buf + at, 0, left);
		if (!end)
			return 0;
		at = (size_t)(end - buf) + 1;
	}
	return at;
}

static bool index_fits(const uint8_t *buf, size_t len, size_t index, size_t zero,
		       uint16_t (*load)(const uint8_t *at), size_t *ret_tokens)
{
	if (index + INDEX_BYTES > len || load(buf + index) != 0)
		return false;
	size_t zero_offset = load(buf + index + 2 * '0');
	if (zero_offset > zero)
		return false;
	const uint8_t *tokens = buf + zero - zero_offset;
	for (unsigned int i = 0; i + 1 < TOKENS; i++) {
		uint16_t here = load(buf + index + 2 * i), next = load(buf + index + 2 * i + 2);
		if (next <= here || next - here > (int)MAX_TOKEN || tokens + next > buf + index ||
		    memchr(tokens + here, 0, MAX_TOKEN) != tokens + next - 1)
			return false;
	}
	*ret_tokens = zero - zero_offset;
	return true;
}

bool vmop_guest_kallsyms_find_tokens(const uint8_t *buf, size_t len_bytes, size_t *from,
				     size_t *ret_tokens, size_t *ret_index, bool *ret_big_endian)
{
	/* Digits occur in symbols and are their own tokens, 48 to 57. */
	static const char digits[] = "0\0"
				     "1\0"
				     "2\0"
				     "3\0"
				     "4\0"
				     "5\0"
				     "6\0"
				     "7\0"
				     "8\0"
				     "9";
	while (*from < len_bytes) {
		const uint8_t *hit = memmem(buf + *from, len_bytes - *from, digits, sizeof(digits));
		if (!hit)
			break;
		size_t zero = (size_t)(hit - buf);
		*from = zero + 1;
		size_t end = end_of_tokens(buf, len_bytes, zero);
		for (size_t align = 8; end && align >= 2; align /= 2) {
			size_t index = align_up(end, align);
			if (index_fits(buf, len_bytes, index, zero, load_u16, ret_tokens)) {
				*from = index + INDEX_BYTES;
				*ret_index = index;
				return true;
			}
			if (ret_big_endian &&
			    index_fits(buf, len_bytes, index, zero, load_big_u16, ret_tokens))
				*ret_big_endian = true;
		}
	}
	*from = len_bytes;
	return false;
}

/* --- the markers and the names --------------------------------------------- */

/*
 * Find the markers. They end before the token table; with the table of sequence numbers between
 * them (6.2, 6.3) they end up to 4 bytes per symbol earlier.
 */
static bool find_markers(const uint8_t *buf, size_t tokens, size_t *ret_markers, size_t *ret_count)
{
	size_t least = tokens > MARKER_SEARCH_BYTES ? tokens - MARKER_SEARCH_BYTES : 0;
	for (size_t last = tokens / 4 * 4; last >= least + 4;) {
		last -= 4;
		size_t first = last;
		while (first >= least + 4) {
			uint32_t here = load_u32(buf + first), before = load_u32(buf + first - 4);
			if (here <= before || here - before < MIN_MARKER_STEP ||
			    here - before > MAX_MARKER_STEP)
				break;
			first -= 4;
		}
		if (load_u32(buf + first) == 0 && (last - first) / 4 + 1 >= MIN_MARKERS) {
			*ret_markers = first;
			*ret_count = (last - first) / 4 + 1;
			return true;
		}
		if (first < last)
			last = first + 4 > last ? last : first + 4;
	}
	return false;
}

/* Walk count names. Return the offset of their end, or 0 when a marker does not agree. */
static size_t walk_names(const uint8_t *buf, size_t names, uint32_t count, size_t markers)
{
	size_t at = names;
	for (uint32_t i = 0; i < count; i++) {
		if (i % SYMBOLS_A_MARKER == 0 &&
		    load_u32(buf + markers + 4 * (i / SYMBOLS_A_MARKER)) != at - names)
			return 0;
		if (at >= markers)
			return 0;
		size_t len = buf[at++];
		if (len & 0x80)
			len = (len & 0x7f) | (size_t)buf[at++] << 7;
		if (len == 0)
			return 0;
		at += len;
	}
	return at <= markers ? at : 0;
}

static bool try_names(const uint8_t *buf, size_t names, size_t count_at, size_t markers,
		      size_t marker_count, struct vmop_guest_kallsyms_tables *ret)
{
	uint32_t count = load_u32(buf + count_at);
	if (count <= (marker_count - 1) * SYMBOLS_A_MARKER ||
	    count > marker_count * SYMBOLS_A_MARKER || count > VMOP_GUEST_KALLSYMS_MAX_SYMBOLS)
		return false;
	size_t end = walk_names(buf, names, count, markers);
	if (!end || markers - end >= 8)
		return false;
	ret->count = count;
	ret->names = names;
	ret->names_end = end;
	return true;
}

static bool find_names(const uint8_t *buf, size_t markers, size_t marker_count,
		       struct vmop_guest_kallsyms_tables *ret)
{
	uint32_t last = load_u32(buf + markers + 4 * (marker_count - 1));
	if (last + 16 > markers)
		return false;
	size_t highest = (markers - last) / 4 * 4;
	size_t lowest = highest > MAX_MARKER_STEP + 16 ? highest - MAX_MARKER_STEP : 16;
	for (size_t names = highest; names >= lowest; names -= 4) {
		if (names % 8 == 0 && load_u32(buf + names - 4) == 0 &&
		    try_names(buf, names, names - 8, markers, marker_count, ret))
			return true;
		if (try_names(buf, names, names - 4, markers, marker_count, ret))
			return true;
	}
	return false;
}

/* --- the addresses ---------------------------------------------------------- */

/* x86-64 maps the kernel's text in the last 2 GiB, at multiples of 2 MiB. */
static bool is_x86_base(uint64_t value)
{
	return value >> 31 == 0x1ffffffff && value % (2u << 20) == 0;
}

/*
 * arm64 maps it anywhere in the upper half, at multiples of 64 KiB. The offsets must therefore
 * support the guess: symbols are sorted, and all offsets count from base.
 */
static bool is_arm64_base(uint64_t value, const uint8_t *offsets, uint32_t count)
{
	if (value >> 52 != 0xfff || value % (4u << 10) || value > UINT64_MAX - (1u << 30))
		return false;
	for (uint32_t i = 1; i < count; i++)
		if (load_u32(offsets + 4 * (size_t)i) < load_u32(offsets + 4 * (size_t)i - 4))
			return false;
	return load_u32(offsets + 4 * (size_t)(count - 1)) < 1u << 30;
}

static bool is_base(uint64_t value, const uint8_t *offsets, uint32_t count)
{
	return is_x86_base(value) || is_arm64_base(value, offsets, count);
}

/* Symbols are sorted, so place-relative offsets plus their places rise. Allow 1 % exceptions. */
static bool are_place_relative(const uint8_t *offsets, uint32_t count)
{
	uint32_t falls = 0;
	int64_t before = INT64_MIN;
	for (uint32_t i = 0; i < count; i++) {
		int64_t here = (int64_t)(int32_t)load_u32(offsets + 4 * (size_t)i) + 4 * (int64_t)i;
		falls += here < before;
		before = here;
	}
	return falls <= count / 100;
}

static bool are_addresses(const uint8_t *addresses, uint32_t count)
{
	uint32_t canonical = 0;
	for (uint32_t i = 0; i < count; i++)
		canonical += load_u64(addresses + 8 * (size_t)i) >> 31 == 0x1ffffffff;
	return canonical > count / 2;
}

static bool find_offsets(const uint8_t *buf, size_t len, struct vmop_guest_kallsyms_tables *ret)
{
	size_t bytes = 4 * (size_t)ret->count;
	/* to 6.3: before the names; checked first, because the last address can look like a base */
	if (ret->names >= 8 + 2 * bytes &&
	    are_addresses(buf + ret->names - 8 - 2 * bytes, ret->count)) {
		ret->form = VMOP_GUEST_KALLSYMS_ADDRESSES;
		ret->offsets = ret->names - 8 - 2 * bytes;
		return true;
	}
	if (ret->names >= 16 + bytes + 8 &&
	    is_base(load_u64(buf + ret->names - 16), buf + ret->names - 16 - align_up(bytes, 8),
		    ret->count)) {
		ret->form = VMOP_GUEST_KALLSYMS_BASE_RELATIVE;
		ret->base = load_u64(buf + ret->names - 16);
		ret->offsets = ret->names - 16 - align_up(bytes, 8);
		return true;
	}
	/* from 6.4: after the token index */
	ret->offsets = ret->index + INDEX_BYTES;
	size_t behind = ret->offsets + bytes;
	for (size_t align = 8; align >= 4 && align_up(behind, align) + 8 <= len; align /= 2) {
		ret->base = load_u64(buf + align_up(behind, align));
		if (is_base(ret->base, buf + ret->offsets, ret->count)) {
			ret->form = VMOP_GUEST_KALLSYMS_BASE_RELATIVE;
			return true;
		}
	}
	ret->form = VMOP_GUEST_KALLSYMS_PLACE_RELATIVE;
	ret->base = 0;
	return behind <= len && are_place_relative(buf + ret->offsets, ret->count);
}

bool vmop_guest_kallsyms_find_tables(const uint8_t *buf, size_t len_bytes, size_t tokens,
				     size_t index, struct vmop_guest_kallsyms_tables *ret)
{
	size_t markers, marker_count;
	*ret = (struct vmop_guest_kallsyms_tables){.tokens = tokens, .index = index};
	return find_markers(buf, tokens, &markers, &marker_count) &&
	       find_names(buf, markers, marker_count, ret) && find_offsets(buf, len_bytes, ret);
}
