// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/kernel/btf.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"

#define MAGIC 0xeb9f
#define HEADER_BYTES 24u
#define LAYOUT_HEADER_BYTES 32u /* from 7.1 */
#define TYPE_BYTES 12u
#define MAX_TYPES (1u << 21)
#define FIRST_TYPES 4096u /* room at first */
#define MAX_DEPTH 16
/*
 * The number of members read in one look-up: a task_struct with all embedded structs has some
 * hundred.
 */
#define MAX_STEPS 20000u
#define MAX_PROBES 64u

/* include/uapi/linux/btf.h: BTF_KIND_* */
enum kind {
	KIND_INT = 1,
	KIND_PTR,
	KIND_ARRAY,
	KIND_STRUCT,
	KIND_UNION,
	KIND_ENUM,
	KIND_FWD,
	KIND_TYPEDEF,
	KIND_VOLATILE,
	KIND_CONST,
	KIND_RESTRICT,
	KIND_FUNC,
	KIND_FUNC_PROTO,
	KIND_VAR,
	KIND_DATASEC,
	KIND_FLOAT,
	KIND_DECL_TAG,
	KIND_TYPE_TAG,
	KIND_ENUM64,
};

struct vmop_btf {
	const uint8_t *types;
	const char *strings;
	uint32_t types_len, strings_len;
	const uint8_t *layout; /* lengths of kinds; NULL: the blob has none */
	uint32_t layouts;
	uint32_t count;	   /* number of types, with void as type 0 */
	uint32_t *offsets; /* position of each type in types */
	uint32_t *hash;	   /* numbers of named structs, unions and enums; 0: empty */
	uint32_t hash_mask;
	uint32_t steps_left; /* of the current look-up */
};

static uint32_t load_u32(const uint8_t *at)
{
	uint32_t value;
	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static const uint8_t *type_at(const struct vmop_btf *btf, uint32_t id)
{
	return btf->types + btf->offsets[id];
}

/* Bits 16 to 23 and 29, 30 were 0 until 7.1 used them for the kind and the count. */
static enum kind kind_of(const uint8_t *type)
{
	return (load_u32(type + 4) >> 24) & 0x7f;
}

static uint32_t vlen_of(const uint8_t *type)
{
	return load_u32(type + 4) & 0xffffff;
}

/*
 * Return "" for an offset out of range. The last byte of the strings is NUL: vmop_btf_open() checks
 * it.
 */
static const char *string_at(const struct vmop_btf *btf, uint32_t offset)
{
	return offset < btf->strings_len ? btf->strings + offset : "";
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 2166136261u; /* FNV-1a */
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash ^ hash >> 15;
}

/*
 * Return the length of an unknown kind. From 7.1 on the blob can state it in four bytes per kind
 * (struct btf_layout): the length of one piece, the length of each of vlen pieces, and flags. -1:
 * it does not.
 */
static int64_t extra_bytes_by_layout(const struct vmop_btf *btf, const uint8_t *type)
{
	uint32_t kind = kind_of(type);
	if (kind >= btf->layouts)
		return -1;
	return btf->layout[4 * kind] + (int64_t)btf->layout[4 * kind + 1] * vlen_of(type);
}

/* Return the bytes that follow the common part of a type; -1: unknown. */
static int64_t extra_bytes(const struct vmop_btf *btf, const uint8_t *type)
{
	uint32_t vlen = vlen_of(type);
	switch (kind_of(type)) {
	case KIND_PTR:
	case KIND_FWD:
	case KIND_TYPEDEF:
	case KIND_VOLATILE:
	case KIND_CONST:
	case KIND_RESTRICT:
	case KIND_FUNC:
	case KIND_FLOAT:
	case KIND_TYPE_TAG:
		return 0;
	case KIND_INT:
	case KIND_VAR:
	case KIND_DECL_TAG:
		return 4;
	case KIND_ARRAY:
		return 12;
	case KIND_STRUCT:
	case KIND_UNION:
	case KIND_DATASEC:
	case KIND_ENUM64:
		return 12 * (int64_t)vlen;
	case KIND_ENUM:
	case KIND_FUNC_PROTO:
		return 8 * (int64_t)vlen;
	}
	return extra_bytes_by_layout(btf, type);
}

/* Record where each type begins. Types after one of unknown length are left out. */
static bool index_types(struct vmop_btf *btf)
{
	size_t size = 0;
	uint64_t at = 0;
	if (!vmop_array_reserve(btf->offsets, size, FIRST_TYPES))
		return false;
	btf->offsets[0] = 0;
	btf->count = 1;
	for (;;) {
		if (!vmop_array_reserve(btf->offsets, size, btf->count + 1))
			return false;
		if (btf->types_len - at < TYPE_BYTES || btf->count == MAX_TYPES)
			return true;
		int64_t extra = extra_bytes(btf, btf->types + at);
		if (extra < 0 || (uint64_t)extra > btf->types_len - at - TYPE_BYTES)
			return true;
		btf->offsets[btf->count++] = (uint32_t)at;
		at += TYPE_BYTES + (uint64_t)extra;
	}
}

static bool has_members(enum kind kind)
{
	return kind == KIND_STRUCT || kind == KIND_UNION;
}

static bool is_enum(enum kind kind)
{
	return kind == KIND_ENUM || kind == KIND_ENUM64;
}

static bool index_names(struct vmop_btf *btf)
{
	uint32_t size = 1024;
	while (size < btf->count)
		size *= 2;
	btf->hash = calloc(size, sizeof(*btf->hash));
	btf->hash_mask = size - 1;
	if (!btf->hash)
		return false;
	for (uint32_t id = 1; id < btf->count; id++) {
		enum kind kind = kind_of(type_at(btf, id));
		const char *name = string_at(btf, load_u32(type_at(btf, id)));
		if ((!has_members(kind) && !is_enum(kind)) || !*name)
			continue;
		uint32_t slot = hash_of(name) & btf->hash_mask;
		for (unsigned int probe = 0; probe < MAX_PROBES; probe++) {
			if (!btf->hash[slot]) {
				btf->hash[slot] = id;
				break;
			}
			slot = (slot + 1) & btf->hash_mask;
		}
	}
	return true;
}

static void btf_cleanup(struct vmop_btf **btf)
{
	vmop_btf_close(*btf);
}

struct vmop_error *vmop_btf_open(const uint8_t *blob, size_t len_bytes, struct vmop_btf **ret)
{
	_cleanup_(btf_cleanup) struct vmop_btf *btf = calloc(1, sizeof(*btf));
	if (!btf)
		return &vmop_error_no_memory;
	if (len_bytes < HEADER_BYTES || len_bytes > VMOP_BTF_MAX_BYTES ||
	    (load_u32(blob) & 0xffff) != MAGIC)
		return vmop_error_new(VMOP_ERROR_CORRUPT,
				      "the guest's BTF does not start with a BTF header");
	uint64_t header = load_u32(blob + 4);
	uint64_t types = header + load_u32(blob + 8), strings = header + load_u32(blob + 16);
	btf->types_len = load_u32(blob + 12);
	btf->strings_len = load_u32(blob + 20);
	if (types > len_bytes || btf->types_len > len_bytes - types || strings > len_bytes ||
	    btf->strings_len > len_bytes - strings || !btf->strings_len ||
	    blob[strings + btf->strings_len - 1] != 0)
		return vmop_error_new(VMOP_ERROR_CORRUPT, "the guest's BTF is damaged");
	btf->types = blob + types;
	btf->strings = (const char *)blob + strings;
	if (header >= LAYOUT_HEADER_BYTES && len_bytes >= LAYOUT_HEADER_BYTES) {
		uint64_t layout = header + load_u32(blob + 24), layout_len = load_u32(blob + 28);
		if (layout <= len_bytes && layout_len <= len_bytes - layout) {
			btf->layout = blob + layout;
			btf->layouts = (uint32_t)layout_len / 4;
		}
	}
	if (!index_types(btf) || !index_names(btf))
		return &vmop_error_no_memory;
	*ret = vmop_steal(&btf);
	return NULL;
}

void vmop_btf_close(struct vmop_btf *btf)
{
	if (!btf)
		return;
	free(btf->offsets);
	free(btf->hash);
	free(btf);
}

/* Return the next type with that name, from probe number *probe on; 0 after the last. */
static uint32_t next_named(const struct vmop_btf *btf, const char *name, uint32_t *probe)
{
	while (*probe < MAX_PROBES) {
		uint32_t id = btf->hash[(hash_of(name) + *probe) & btf->hash_mask];
		++*probe;
		if (!id)
			break;
		if (strcmp(string_at(btf, load_u32(type_at(btf, id))), name) == 0)
			return id;
	}
	return 0;
}

/* Follow typedefs and qualifiers to the type behind them. Return 0 when that does not exist. */
static uint32_t resolve(const struct vmop_btf *btf, uint32_t id)
{
	for (int i = 0; i < 32 && id < btf->count && id; i++) {
		const uint8_t *type = type_at(btf, id);
		switch (kind_of(type)) {
		case KIND_TYPEDEF:
		case KIND_VOLATILE:
		case KIND_CONST:
		case KIND_RESTRICT:
		case KIND_TYPE_TAG:
			id = load_u32(type + 8);
			continue;
		default:
			return id;
		}
	}
	return 0;
}

/*
 * Find a member of type id by its name, and add its bit offset to *bits. Return the type of the
 * member. 0: no such member, or a bit field.
 */
static uint32_t find_member(struct vmop_btf *btf, uint32_t id, const char *name, size_t name_len,
			    int depth, uint64_t *bits)
{
	const uint8_t *type = type_at(btf, id);
	bool bit_sizes = load_u32(type + 4) >> 31; /* kind_flag */
	if (!has_members(kind_of(type)) || depth > MAX_DEPTH)
		return 0;
	for (uint32_t i = 0; i < vlen_of(type) && btf->steps_left; i++) {
		const uint8_t *member = type + TYPE_BYTES + 12 * (size_t)i;
		const char *member_name = string_at(btf, load_u32(member));
		uint32_t offset = load_u32(member + 8);
		bool is_bit_field = bit_sizes && offset >> 24;
		uint64_t here = bit_sizes ? offset & 0xffffff : offset;
		uint32_t member_type = resolve(btf, load_u32(member + 4));
		btf->steps_left--;
		if (!member_type)
			continue;
		if (!*member_name) {
			uint64_t inner = 0;
			uint32_t found =
				find_member(btf, member_type, name, name_len, depth + 1, &inner);
			if (found) {
				*bits += here + inner;
				return found;
			}
		} else if (strncmp(member_name, name, name_len) == 0 && !member_name[name_len]) {
			*bits += here;
			return is_bit_field ? 0 : member_type;
		}
	}
	return 0;
}

static bool member_of(struct vmop_btf *btf, uint32_t id, const char *path, uint32_t *ret)
{
	uint64_t bits = 0;
	while (*path && id) {
		size_t len = strcspn(path, ".");
		id = find_member(btf, id, path, len, 0, &bits);
		path += len + (path[len] == '.');
	}
	if (!id || bits % 8 || bits / 8 > INT32_MAX)
		return false;
	*ret = (uint32_t)(bits / 8);
	return true;
}

bool vmop_btf_member(struct vmop_btf *btf, const char *type, const char *path, uint32_t *ret)
{
	uint32_t probe = 0, id;
	btf->steps_left = MAX_STEPS;
	/* Several types can have the name: one that is local to a file, and the intended one. */
	while ((id = next_named(btf, type, &probe)))
		if (member_of(btf, id, path, ret))
			return true;
	return false;
}

static bool bit_field_of(struct vmop_btf *btf, uint32_t id, const char *name, uint32_t *ret_bit,
			 uint32_t *ret_bits)
{
	const uint8_t *type = type_at(btf, id);
	if (!has_members(kind_of(type)) || !(load_u32(type + 4) >> 31))
		return false;
	for (uint32_t i = 0; i < vlen_of(type) && btf->steps_left; i++) {
		const uint8_t *member = type + TYPE_BYTES + 12 * (size_t)i;
		uint32_t offset = load_u32(member + 8);
		btf->steps_left--;
		if (!(offset >> 24) || strcmp(string_at(btf, load_u32(member)), name) != 0)
			continue;
		*ret_bit = offset & 0xffffff;
		*ret_bits = offset >> 24;
		return true;
	}
	return false;
}

bool vmop_btf_bit_field(struct vmop_btf *btf, const char *type, const char *name, uint32_t *ret_bit,
			uint32_t *ret_bits)
{
	uint32_t probe = 0, id;
	btf->steps_left = MAX_STEPS;
	while ((id = next_named(btf, type, &probe)))
		if (bit_field_of(btf, id, name, ret_bit, ret_bits))
			return true;
	return false;
}

bool vmop_btf_size(struct vmop_btf *btf, const char *type, uint32_t *ret)
{
	uint32_t probe = 0, id;
	while ((id = next_named(btf, type, &probe))) {
		if (has_members(kind_of(type_at(btf, id)))) {
			*ret = load_u32(type_at(btf, id) + 8);
			return true;
		}
	}
	return false;
}

bool vmop_btf_enumerator(struct vmop_btf *btf, const char *type, const char *name, int64_t *ret)
{
	uint32_t probe = 0, id;
	while ((id = next_named(btf, type, &probe))) {
		const uint8_t *at = type_at(btf, id);
		enum kind kind = kind_of(at);
		size_t size = kind == KIND_ENUM64 ? 12 : 8;
		for (uint32_t i = 0; is_enum(kind) && i < vlen_of(at); i++) {
			const uint8_t *entry = at + TYPE_BYTES + size * i;
			if (strcmp(string_at(btf, load_u32(entry)), name) != 0)
				continue;
			*ret = kind == KIND_ENUM ? (int32_t)load_u32(entry + 4)
						 : (int64_t)(load_u32(entry + 4) |
							     (uint64_t)load_u32(entry + 8) << 32);
			return true;
		}
	}
	return false;
}
