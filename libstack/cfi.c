// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/cfi.h"

#include <string.h>

#include "libstack/cursor.h"

enum { MAX_AUGMENTATION_BYTES = 16 };

static struct vmop_cfi_cursor cursor_at(const struct vmop_cfi_section *section, size_t from,
					size_t to)
{
	return (struct vmop_cfi_cursor){.at = section->bytes + from, .end = section->bytes + to};
}

static uint64_t address_of(const struct vmop_cfi_section *section, const uint8_t *at)
{
	return section->address + (uint64_t)(at - section->bytes);
}

/* Read the length field. False: the terminator, or more bytes than there are. */
static bool read_length(struct vmop_cfi_cursor *cursor, bool *ret_is_64, uint64_t *ret_len)
{
	*ret_len = vmop_cfi_number(cursor, 4);
	*ret_is_64 = *ret_len == UINT32_MAX;
	if (*ret_is_64)
		*ret_len = vmop_cfi_number(cursor, 8);
	return !cursor->is_bad && *ret_len > 0 && vmop_cfi_cursor_has(cursor, *ret_len);
}

/*
 * Set *record's kind by its id: the CIE pointer, or what marks a CIE. In .eh_frame the pointer has
 * 4 bytes even after an extended length, and counts backwards from itself.
 */
static void read_id(const struct vmop_cfi_section *section, struct vmop_cfi_cursor *cursor,
		    bool is_64, struct vmop_cfi_record *record)
{
	uint64_t id_offset = (uint64_t)(cursor->at - section->bytes);
	if (section->is_debug_frame) {
		uint64_t id = vmop_cfi_number(cursor, is_64 ? 8 : 4);
		record->is_cie = id == (is_64 ? UINT64_MAX : UINT32_MAX);
		record->cie_offset = id;
	} else {
		uint64_t id = vmop_cfi_number(cursor, 4);
		record->is_cie = id == 0;
		record->cie_offset = id_offset - id;
	}
	record->body = (size_t)(cursor->at - section->bytes);
}

bool vmop_cfi_has_hole(const struct vmop_cfi_section *section, size_t start, size_t end)
{
	size_t low = 0, high = section->n_holes;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (section->holes[middle].end <= start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < section->n_holes && section->holes[low].start < end;
}

bool vmop_cfi_is_missing(const struct vmop_cfi_section *section, size_t offset)
{
	static const uint8_t extended[] = {0xff, 0xff, 0xff, 0xff};
	if (!section->n_holes)
		return false;
	bool is_64 = section->len_bytes - offset >= sizeof(extended) &&
		     memcmp(section->bytes + offset, extended, sizeof(extended)) == 0;
	return vmop_cfi_has_hole(section, offset, offset + (is_64 ? 12 : 4));
}

bool vmop_cfi_next_record(const struct vmop_cfi_section *section, size_t *offset,
			  struct vmop_cfi_record *ret)
{
	if (*offset >= section->len_bytes || vmop_cfi_is_missing(section, *offset))
		return false;
	struct vmop_cfi_cursor cursor = cursor_at(section, *offset, section->len_bytes);
	bool is_64;
	uint64_t len_bytes;
	if (!read_length(&cursor, &is_64, &len_bytes))
		return false;
	cursor.end = cursor.at + len_bytes;
	ret->offset = *offset;
	*offset = (size_t)(cursor.end - section->bytes);
	ret->len_bytes = *offset - ret->offset;
	ret->is_missing = section->n_holes > 0 && vmop_cfi_has_hole(section, ret->offset, *offset);
	if (ret->is_missing)
		return true;
	read_id(section, &cursor, is_64, ret);
	return !cursor.is_bad;
}

static size_t format_bytes(uint8_t format)
{
	switch (format & 7) {
	case VMOP_CFI_PTR_U16:
		return 2;
	case VMOP_CFI_PTR_U32:
		return 4;
	case VMOP_CFI_PTR_ABSOLUTE:
	case VMOP_CFI_PTR_U64:
		return 8;
	default:
		return 0;
	}
}

/* Read the number of a pointer, sign-extended if its format is signed. */
static inline uint64_t read_format(struct vmop_cfi_cursor *cursor, uint8_t format)
{
	if (format == VMOP_CFI_PTR_ULEB || format == VMOP_CFI_PTR_SLEB)
		return vmop_cfi_leb(cursor, format == VMOP_CFI_PTR_SLEB);
	/* Nearly all pointers have this format. */
	if (format == VMOP_CFI_PTR_S32)
		return (uint64_t)(int64_t)(int32_t)vmop_cfi_number(cursor, 4);
	size_t n_bytes = format_bytes(format);
	if (n_bytes == 0) {
		vmop_cfi_cursor_fail(cursor);
		return 0;
	}
	uint64_t value = vmop_cfi_number(cursor, n_bytes);
	uint64_t sign = UINT64_C(1) << (8 * n_bytes - 1);
	return format & 8 ? (value ^ sign) - sign : value;
}

uint64_t vmop_cfi_pointer(struct vmop_cfi_cursor *cursor, uint8_t encoding, uint64_t address,
			  uint64_t data_address)
{
	uint64_t base = 0;
	uint8_t application = encoding & (uint8_t)~VMOP_CFI_PTR_FORMAT;
	if (application == VMOP_CFI_PTR_PC_RELATIVE) {
		base = address;
	} else if (application == VMOP_CFI_PTR_DATA_RELATIVE && data_address) {
		base = data_address;
	} else if (application) {
		vmop_cfi_cursor_fail(cursor);
		return 0;
	}
	uint64_t value = read_format(cursor, encoding & VMOP_CFI_PTR_FORMAT);
	/* A pointer to nothing is 0 whatever it counts from. */
	return value ? value + base : 0;
}

/* Read what augmentation[0] stands for. False: unknown, or a pointer that can't be skipped. */
static bool read_augmentation_letter(struct vmop_cfi_cursor *cursor, char letter,
				     struct vmop_cfi_cie *cie)
{
	switch (letter) {
	case 'R':
		cie->pointer_encoding = vmop_cfi_byte(cursor);
		return true;
	case 'L':
		vmop_cfi_byte(cursor);
		return true;
	case 'P':
		/* The personality's pointer is of no use, so it need not be resolved. */
		read_format(cursor, vmop_cfi_byte(cursor) & VMOP_CFI_PTR_FORMAT);
		return true;
	case 'S':
		cie->is_signal = true;
		return true;
	case 'B': /* arm64: return addresses are signed with key B */
	case 'G': /* arm64: the stack has memory tags */
		return true;
	default:
		return false;
	}
}

/*
 * Read the augmentation. After an unknown letter the rest is skipped, which is possible because
 * its length is known; without that length the CIE can't be read.
 */
static void read_augmentation(struct vmop_cfi_cursor *cursor, const char *augmentation,
			      struct vmop_cfi_cie *cie)
{
	if (!augmentation[0])
		return;
	if (augmentation[0] != 'z') {
		vmop_cfi_cursor_fail(cursor);
		return;
	}
	cie->has_augmentation = true;
	uint64_t len_bytes = vmop_cfi_uleb(cursor);
	const uint8_t *data = vmop_cfi_skip(cursor, len_bytes);
	if (!data)
		return;
	struct vmop_cfi_cursor inner = {.at = data, .end = data + len_bytes};
	for (const char *letter = augmentation + 1; *letter; letter++)
		if (!read_augmentation_letter(&inner, *letter, cie))
			break;
	cursor->is_bad |= inner.is_bad;
}

/* Copy the augmentation string to ret, which has MAX_AUGMENTATION_BYTES. */
static void read_augmentation_string(struct vmop_cfi_cursor *cursor, char *ret)
{
	for (size_t i = 0; i < MAX_AUGMENTATION_BYTES; i++) {
		ret[i] = (char)vmop_cfi_byte(cursor);
		if (!ret[i])
			return;
	}
	ret[0] = 0;
	vmop_cfi_cursor_fail(cursor);
}

static bool is_known_version(const struct vmop_cfi_section *section, uint8_t version)
{
	return version == 1 || version == 3 || (version == 4 && section->is_debug_frame);
}

static void read_cie_body(const struct vmop_cfi_section *section, struct vmop_cfi_cursor *cursor,
			  struct vmop_cfi_cie *cie)
{
	char augmentation[MAX_AUGMENTATION_BYTES];
	uint8_t version = vmop_cfi_byte(cursor);
	read_augmentation_string(cursor, augmentation);
	/* Version 4 has the size of addresses and of segment selectors. */
	if (!is_known_version(section, version) ||
	    (version == 4 && (vmop_cfi_byte(cursor) != 8 || vmop_cfi_byte(cursor) != 0)))
		vmop_cfi_cursor_fail(cursor);
	cie->code_factor = vmop_cfi_uleb(cursor);
	cie->data_factor = vmop_cfi_sleb(cursor);
	cie->ra_column = version == 1 ? vmop_cfi_byte(cursor) : vmop_cfi_uleb(cursor);
	read_augmentation(cursor, augmentation, cie);
}

bool vmop_cfi_read_cie(const struct vmop_cfi_section *section, uint64_t offset,
		       struct vmop_cfi_cie *ret)
{
	*ret = (struct vmop_cfi_cie){.pointer_encoding = VMOP_CFI_PTR_ABSOLUTE};
	size_t next = offset < section->len_bytes ? (size_t)offset : section->len_bytes;
	if (!vmop_cfi_next_record(section, &next, &ret->record) || ret->record.is_missing ||
	    !ret->record.is_cie || ret->record.len_bytes > VMOP_CFI_MAX_RECORD_BYTES)
		return false;
	struct vmop_cfi_cursor cursor = cursor_at(section, ret->record.body, next);
	read_cie_body(section, &cursor, ret);
	ret->program = cursor.at;
	ret->program_bytes = (size_t)(cursor.end - cursor.at);
	return !cursor.is_bad;
}

bool vmop_cfi_read_fde(const struct vmop_cfi_section *section, const struct vmop_cfi_record *record,
		       const struct vmop_cfi_cie *cie, struct vmop_cfi_fde *ret)
{
	if (record->len_bytes > VMOP_CFI_MAX_RECORD_BYTES)
		return false;
	struct vmop_cfi_cursor cursor =
		cursor_at(section, record->body, record->offset + record->len_bytes);
	ret->record = *record;
	ret->function_address =
		vmop_cfi_pointer(&cursor, cie->pointer_encoding, address_of(section, cursor.at), 0);
	ret->function_bytes = read_format(&cursor, cie->pointer_encoding & VMOP_CFI_PTR_FORMAT);
	if (cie->has_augmentation)
		vmop_cfi_skip(&cursor, vmop_cfi_uleb(&cursor));
	ret->program = cursor.at;
	ret->program_bytes = (size_t)(cursor.end - cursor.at);
	/* The linker sets the address of a removed function to 0. */
	return !cursor.is_bad && ret->function_address && ret->function_bytes;
}
