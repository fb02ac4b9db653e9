// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/kernel/kallsyms.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"

#define MAX_NAME 1024u	 /* kernel: KSYM_NAME_LEN is 512 */
#define AVERAGE_NAME 24u /* bytes, with the type letter and the NUL */
#define MAX_POOL_BYTES (48u << 20)

struct vmop_guest_kallsyms {
	uint32_t count;
	uint64_t *addresses; /* in the table's order */
	uint32_t *names;     /* offsets into pool; the type letter precedes the name */
	char *pool;
	size_t pool_len, pool_size;
	uint32_t *order; /* indices by address; NULL when the table is sorted */
	uint32_t *hash;	 /* index + 1 of the first symbol with a name; 0: empty */
	uint32_t hash_mask;
};

static void kallsyms_cleanup(struct vmop_guest_kallsyms **kallsyms)
{
	vmop_guest_kallsyms_free(*kallsyms);
}

void vmop_guest_kallsyms_free(struct vmop_guest_kallsyms *kallsyms)
{
	if (!kallsyms)
		return;
	free(kallsyms->addresses);
	free(kallsyms->names);
	free(kallsyms->pool);
	free(kallsyms->order);
	free(kallsyms->hash);
	free(kallsyms);
}

/* --- names ------------------------------------------------------------------ */

struct tokens {
	const char *text[256];
	uint8_t len[256];
};

static bool load_tokens(const uint8_t *buf, size_t len,
			const struct vmop_guest_kallsyms_tables *tables, struct tokens *ret)
{
	for (unsigned int i = 0; i < 256; i++) {
		uint16_t offset;
		memcpy(&offset, buf + tables->index + 2 * i, sizeof(offset));
		size_t at = tables->tokens + le16toh(offset);
		size_t left = at < len ? len - at : 0;
		size_t token_len = strnlen((const char *)buf + at, left < 128 ? left : 128);
		if (token_len == left || token_len == 128)
			return false;
		ret->text[i] = (const char *)buf + at;
		ret->len[i] = (uint8_t)token_len;
	}
	return true;
}

/* Make room for one more name of the maximum length. */
static bool grow_pool(struct vmop_guest_kallsyms *kallsyms)
{
	size_t needed = kallsyms->pool_len + MAX_NAME;
	if (!kallsyms->pool)
		needed += (size_t)kallsyms->count * AVERAGE_NAME;
	return vmop_array_reserve(kallsyms->pool, kallsyms->pool_size, needed);
}

/* Append one name. Return false when it is too long or too short. */
static bool unpack_name(struct vmop_guest_kallsyms *kallsyms, const struct tokens *tokens,
			const uint8_t *packed, size_t packed_len)
{
	char *name = kallsyms->pool + kallsyms->pool_len;
	size_t len = 0;
	for (size_t i = 0; i < packed_len; i++) {
		size_t token_len = tokens->len[packed[i]];
		if (len + token_len >= MAX_NAME)
			return false;
		memcpy(name + len, tokens->text[packed[i]], token_len);
		len += token_len;
	}
	if (len < 2)
		return false; /* a type letter and at least one character */
	name[len] = '\0';
	kallsyms->pool_len += len + 1;
	return true;
}

static struct vmop_error *unpack_names(struct vmop_guest_kallsyms *kallsyms, const uint8_t *buf,
				       size_t len, const struct vmop_guest_kallsyms_tables *tables)
{
	struct tokens tokens;
	if (!load_tokens(buf, len, tables, &tokens))
		goto corrupt;
	size_t at = tables->names;
	for (uint32_t i = 0; i < kallsyms->count; i++) {
		if (at + 2 > tables->names_end)
			goto corrupt;
		size_t packed_len = buf[at++];
		if (packed_len & 0x80)
			packed_len = (packed_len & 0x7f) | (size_t)buf[at++] << 7;
		if (packed_len > tables->names_end - at)
			goto corrupt;
		if (kallsyms->pool_len > MAX_POOL_BYTES)
			return vmop_error_new(VMOP_ERROR_LIMIT, "the guest has too many symbols");
		if (!grow_pool(kallsyms))
			return &vmop_error_no_memory;
		kallsyms->names[i] = (uint32_t)kallsyms->pool_len;
		if (!unpack_name(kallsyms, &tokens, buf + at, packed_len))
			goto corrupt;
		at += packed_len;
	}
	return NULL;
corrupt:
	return vmop_error_new(VMOP_ERROR_CORRUPT, "the guest's symbol names are damaged");
}

/* --- addresses -------------------------------------------------------------- */

static void unpack_relative(struct vmop_guest_kallsyms *kallsyms, const uint8_t *offsets,
			    const struct vmop_guest_kallsyms_tables *tables, uint64_t place)
{
	uint32_t negative = 0;
	for (uint32_t i = 0; i < kallsyms->count; i++) {
		uint32_t offset;
		memcpy(&offset, offsets + 4 * (size_t)i, sizeof(offset));
		kallsyms->addresses[i] = le32toh(offset);
		negative += kallsyms->addresses[i] >> 31;
	}
	bool absolute_percpu = negative > kallsyms->count / 2;
	for (uint32_t i = 0; i < kallsyms->count; i++) {
		uint64_t offset = kallsyms->addresses[i];
		uint64_t extended = (uint64_t)(int64_t)(int32_t)offset;
		if (tables->form == VMOP_GUEST_KALLSYMS_PLACE_RELATIVE)
			kallsyms->addresses[i] =
				place + tables->offsets + 4 * (uint64_t)i + extended;
		else if (!absolute_percpu)
			kallsyms->addresses[i] = tables->base + offset;
		else if (offset >> 31)
			kallsyms->addresses[i] = tables->base - 1 - extended;
	}
}

static void unpack_addresses(struct vmop_guest_kallsyms *kallsyms, const uint8_t *addresses)
{
	for (uint32_t i = 0; i < kallsyms->count; i++) {
		uint64_t address;
		memcpy(&address, addresses + 8 * (size_t)i, sizeof(address));
		kallsyms->addresses[i] = le64toh(address);
	}
}

static int by_address(const void *a, const void *b, void *arg)
{
	const uint64_t *addresses = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (addresses[x] != addresses[y])
		return addresses[x] < addresses[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

static struct vmop_error *sort(struct vmop_guest_kallsyms *kallsyms)
{
	bool sorted = true;
	for (uint32_t i = 1; i < kallsyms->count && sorted; i++)
		sorted = kallsyms->addresses[i - 1] <= kallsyms->addresses[i];
	if (sorted)
		return NULL;
	kallsyms->order = malloc(kallsyms->count * sizeof(*kallsyms->order));
	if (!kallsyms->order)
		return &vmop_error_no_memory;
	for (uint32_t i = 0; i < kallsyms->count; i++)
		kallsyms->order[i] = i;
	qsort_r(kallsyms->order, kallsyms->count, sizeof(*kallsyms->order), by_address,
		kallsyms->addresses);
	return NULL;
}

/* --- by name ---------------------------------------------------------------- */

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 2166136261u; /* FNV-1a */
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash ^ hash >> 15;
}

static struct vmop_error *build_hash(struct vmop_guest_kallsyms *kallsyms)
{
	uint32_t size = 1;
	while (size < kallsyms->count + kallsyms->count / 2)
		size *= 2;
	kallsyms->hash_mask = size - 1;
	kallsyms->hash = calloc(size, sizeof(*kallsyms->hash));
	if (!kallsyms->hash)
		return &vmop_error_no_memory;
	for (uint32_t i = 0; i < kallsyms->count; i++) {
		const char *name = vmop_guest_kallsyms_name(kallsyms, i);
		uint32_t slot = hash_of(name) & kallsyms->hash_mask;
		unsigned int probes = 0;
		/* A guest can make names collide: after a thousand probes a name is left out. */
		while (kallsyms->hash[slot] && probes++ < 1000 &&
		       strcmp(vmop_guest_kallsyms_name(kallsyms, kallsyms->hash[slot] - 1), name) !=
			       0)
			slot = (slot + 1) & kallsyms->hash_mask;
		if (!kallsyms->hash[slot])
			kallsyms->hash[slot] = i + 1;
	}
	return NULL;
}

bool vmop_guest_kallsyms_find(const struct vmop_guest_kallsyms *kallsyms, const char *name,
			      uint64_t *ret)
{
	uint32_t slot = hash_of(name) & kallsyms->hash_mask;
	for (; kallsyms->hash[slot]; slot = (slot + 1) & kallsyms->hash_mask) {
		uint32_t index = kallsyms->hash[slot] - 1;
		if (strcmp(vmop_guest_kallsyms_name(kallsyms, index), name) == 0) {
			*ret = kallsyms->addresses[index];
			return true;
		}
	}
	return false;
}

/* --- all together ----------------------------------------------------------- */

static bool tables_fit(const struct vmop_guest_kallsyms_tables *tables, size_t len)
{
	size_t size = tables->form == VMOP_GUEST_KALLSYMS_ADDRESSES ? 8 : 4;
	return tables->count > 0 && tables->count <= VMOP_GUEST_KALLSYMS_MAX_SYMBOLS &&
	       tables->names <= tables->names_end && tables->names_end <= len &&
	       tables->index <= len && len - tables->index >= 512 && tables->offsets <= len &&
	       len - tables->offsets >= size * tables->count;
}

struct vmop_error *vmop_guest_kallsyms_unpack(const uint8_t *buf, size_t len_bytes,
					      const struct vmop_guest_kallsyms_tables *tables,
					      uint64_t place, struct vmop_guest_kallsyms **ret)
{
	if (!tables_fit(tables, len_bytes))
		return vmop_error_new(VMOP_ERROR_CORRUPT, "the guest's symbol table is damaged");
	_cleanup_(kallsyms_cleanup) struct vmop_guest_kallsyms *kallsyms =
		calloc(1, sizeof(*kallsyms));
	if (!kallsyms)
		return &vmop_error_no_memory;
	kallsyms->count = tables->count;
	kallsyms->addresses = malloc(tables->count * sizeof(*kallsyms->addresses));
	kallsyms->names = malloc(tables->count * sizeof(*kallsyms->names));
	if (!kallsyms->addresses || !kallsyms->names)
		return &vmop_error_no_memory;
	if (tables->form == VMOP_GUEST_KALLSYMS_ADDRESSES)
		unpack_addresses(kallsyms, buf + tables->offsets);
	else
		unpack_relative(kallsyms, buf + tables->offsets, tables, place);
	struct vmop_error *err = unpack_names(kallsyms, buf, len_bytes, tables);
	if (!err)
		err = sort(kallsyms);
	if (!err)
		err = build_hash(kallsyms);
	if (err)
		return err;
	*ret = vmop_steal(&kallsyms);
	return NULL;
}

uint32_t vmop_guest_kallsyms_count(const struct vmop_guest_kallsyms *kallsyms)
{
	return kallsyms->count;
}

uint64_t vmop_guest_kallsyms_address(const struct vmop_guest_kallsyms *kallsyms, uint32_t index)
{
	return kallsyms->addresses[index];
}

const char *vmop_guest_kallsyms_name(const struct vmop_guest_kallsyms *kallsyms, uint32_t index)
{
	return kallsyms->pool + kallsyms->names[index] + 1;
}

char vmop_guest_kallsyms_type(const struct vmop_guest_kallsyms *kallsyms, uint32_t index)
{
	return kallsyms->pool[kallsyms->names[index]];
}

static uint32_t in_order(const struct vmop_guest_kallsyms *kallsyms, uint32_t position)
{
	return kallsyms->order ? kallsyms->order[position] : position;
}

/* Return the first position in address order above address. */
static uint32_t position_above(const struct vmop_guest_kallsyms *kallsyms, uint64_t address)
{
	uint32_t low = 0, high = kallsyms->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (kallsyms->addresses[in_order(kallsyms, middle)] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t vmop_guest_kallsyms_len_bytes(const struct vmop_guest_kallsyms *kallsyms, uint32_t index)
{
	uint32_t above = position_above(kallsyms, kallsyms->addresses[index]);
	if (above == kallsyms->count)
		return 0;
	return kallsyms->addresses[in_order(kallsyms, above)] - kallsyms->addresses[index];
}

static bool is_text(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

bool vmop_guest_kallsyms_at(const struct vmop_guest_kallsyms *kallsyms, uint64_t address,
			    uint32_t *ret_index)
{
	uint32_t position = position_above(kallsyms, address);
	if (position == 0)
		return false;
	uint64_t start = kallsyms->addresses[in_order(kallsyms, position - 1)];
	uint32_t first = position - 1, found = UINT32_MAX;
	/* Among symbols at one address take the first text symbol, as the kernel does. */
	while (first > 0 && position - first < 256 &&
	       kallsyms->addresses[in_order(kallsyms, first - 1)] == start)
		first--;
	for (uint32_t i = first; i < position && found == UINT32_MAX; i++)
		if (is_text(vmop_guest_kallsyms_type(kallsyms, in_order(kallsyms, i))))
			found = in_order(kallsyms, i);
	*ret_index = found != UINT32_MAX ? found : in_order(kallsyms, first);
	return true;
}
