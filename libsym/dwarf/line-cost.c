// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/dwarf/line-cost.h"

#include <dwarf.h>
#include <string.h>

/* libdw's list item and final item of a row, and the pointers to them while it sorts. */
enum { ROW_BYTES = 128 };

/* libdw's item of a file, beside its path. */
enum { FILE_BYTES = 64 };

/* The shortest DW_LNE_define_file, which adds a file in the midst of the rows. */
enum { DEFINE_FILE_BYTES = 7 };

struct cursor {
	const unsigned char *at, *end;
	bool is_bad;
};

static bool skip(struct cursor *cursor, uint64_t n)
{
	if (cursor->is_bad || n > (uint64_t)(cursor->end - cursor->at))
		return !(cursor->is_bad = true);
	cursor->at += n;
	return true;
}

static uint64_t read_number(struct cursor *cursor, unsigned n_bytes)
{
	const unsigned char *from = cursor->at;
	uint64_t value = 0;
	if (!skip(cursor, n_bytes))
		return 0;
	for (unsigned i = n_bytes; i-- > 0;)
		value = value << 8 | from[i];
	return value;
}

static uint64_t read_uleb(struct cursor *cursor)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint64_t byte = read_number(cursor, 1);
		value |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	cursor->is_bad = true;
	return 0;
}

/* Skip a string, and return its length without the NUL. */
static size_t skip_string(struct cursor *cursor)
{
	size_t left = cursor->is_bad ? 0 : (size_t)(cursor->end - cursor->at);
	size_t len = strnlen((const char *)cursor->at, left);
	skip(cursor, len + 1);
	return cursor->is_bad ? 0 : len;
}

/* Counts of a header. */
struct counts {
	uint64_t n_files;
	uint64_t longest_bytes; /* string in the header */
};

static void note_string(struct counts *counts, size_t len)
{
	if (len > counts->longest_bytes)
		counts->longest_bytes = len;
}

/* Versions 2 to 4: folders, then files; an empty name ends each list. */
static void read_old_lists(struct cursor *cursor, struct counts *counts)
{
	for (size_t len; (len = skip_string(cursor)) > 0;)
		note_string(counts, len);
	for (size_t len; (len = skip_string(cursor)) > 0; counts->n_files++) {
		note_string(counts, len);
		for (int i = 0; i < 3; i++)
			read_uleb(cursor);
	}
}

/* Skip a value of version 5. */
static void skip_form(struct cursor *cursor, uint64_t form, unsigned offset_bytes,
		      struct counts *counts)
{
	switch (form) {
	case DW_FORM_string:
		note_string(counts, skip_string(cursor));
		break;
	case DW_FORM_line_strp:
	case DW_FORM_strp:
		skip(cursor, offset_bytes);
		break;
	case DW_FORM_udata:
		read_uleb(cursor);
		break;
	case DW_FORM_data1:
		skip(cursor, 1);
		break;
	case DW_FORM_data2:
		skip(cursor, 2);
		break;
	case DW_FORM_data4:
		skip(cursor, 4);
		break;
	case DW_FORM_data8:
		skip(cursor, 8);
		break;
	case DW_FORM_data16:
		skip(cursor, 16);
		break;
	case DW_FORM_block:
		skip(cursor, read_uleb(cursor));
		break;
	default:
		cursor->is_bad = true;
	}
}

/* Skip a list of version 5, and return its number of entries. */
static uint64_t read_list(struct cursor *cursor, unsigned offset_bytes, struct counts *counts)
{
	uint64_t forms[256], n_forms = read_number(cursor, 1);
	for (uint64_t i = 0; i < n_forms; i++) {
		read_uleb(cursor);
		forms[i] = read_uleb(cursor);
	}
	uint64_t n = read_uleb(cursor);
	/* Each entry takes bytes, so a great number ends at the end of the table. */
	if (!n_forms && n)
		cursor->is_bad = true;
	for (uint64_t i = 0; i < n && !cursor->is_bad; i++) {
		const unsigned char *start = cursor->at;
		for (uint64_t f = 0; f < n_forms; f++)
			skip_form(cursor, forms[f], offset_bytes, counts);
		cursor->is_bad |= cursor->at == start;
	}
	return n;
}

/* Skip the fields between the lengths and the lists. */
static void skip_fields(struct cursor *cursor, uint64_t version)
{
	skip(cursor, version >= 4 ? 5 : 4);
	uint64_t opcode_base = read_number(cursor, 1);
	if (!opcode_base)
		cursor->is_bad = true;
	else
		skip(cursor, opcode_base - 1);
}

bool vmop_line_cost(const char *section, size_t len_bytes, uint64_t offset, size_t max_string_bytes,
		    uint64_t *ret_bytes)
{
	const unsigned char *bytes = (const unsigned char *)section;
	struct cursor cursor = {.at = bytes, .end = bytes + len_bytes};
	struct counts counts = {0};
	unsigned offset_bytes = 4;
	skip(&cursor, offset);
	uint64_t len = read_number(&cursor, 4);
	if (len == UINT32_MAX) {
		len = read_number(&cursor, 8);
		offset_bytes = 8;
	}
	if (cursor.is_bad || len > (uint64_t)(cursor.end - cursor.at))
		return false;
	cursor.end = cursor.at + len;
	uint64_t version = read_number(&cursor, 2);
	if (version < 2 || version > 5)
		return false;
	skip(&cursor, version >= 5 ? 2 : 0);
	skip(&cursor, offset_bytes);
	skip_fields(&cursor, version);
	if (version >= 5) {
		read_list(&cursor, offset_bytes, &counts);
		counts.n_files = read_list(&cursor, offset_bytes, &counts);
	} else {
		read_old_lists(&cursor, &counts);
	}
	uint64_t longest =
		counts.longest_bytes > max_string_bytes ? counts.longest_bytes : max_string_bytes;
	*ret_bytes = len * ROW_BYTES +
		     (counts.n_files + len / DEFINE_FILE_BYTES) * (2 * (longest + 2)) +
		     counts.n_files * FILE_BYTES;
	return !cursor.is_bad && len < UINT32_MAX && longest < UINT32_MAX;
}
