// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/profile-sample.h"

#include <string.h>

/* Tags: the number of a field, and wire type 2, which begins with a length. */
enum {
	TAG_SAMPLE = 2 << 3 | 2,      /* of Profile */
	TAG_LOCATION_ID = 1 << 3 | 2, /* of Sample */
	TAG_VALUE = 2 << 3 | 2,
	N_TAGS = 3,
};

static size_t varint_len(uint64_t value)
{
	size_t len = 1;
	for (; value >= 0x80; value >>= 7)
		len++;
	return len;
}

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

void vmop_profile_path_enter(struct vmop_profile_path *path, size_t n, uint64_t location_id)
{
	size_t len = path->lens[n] + varint_len(location_id);
	put_varint(path->ids + sizeof(path->ids) - len, location_id);
	path->n = n + 1;
	path->lens[path->n] = (uint32_t)len;
}

size_t vmop_profile_sample_bound_bytes(const struct vmop_profile_path *path,
				       const struct vmop_profile_values *values)
{
	return N_TAGS * (1 + VMOP_VARINT64_MAX_BYTES) + path->lens[path->n] +
	       values->n_values * VMOP_VARINT64_MAX_BYTES + values->labels_len_bytes;
}

size_t vmop_profile_sample_pack(const struct vmop_profile_path *path,
				const struct vmop_profile_values *values, uint8_t *buf)
{
	size_t ids_len = path->lens[path->n], values_len = 0, len = values->labels_len_bytes;
	for (size_t i = 0; i < values->n_values; i++)
		values_len += varint_len((uint64_t)values->values[i]);
	if (ids_len)
		len += 1 + varint_len(ids_len) + ids_len;
	if (values_len)
		len += 1 + varint_len(values_len) + values_len;
	uint8_t *at = buf;
	*at++ = TAG_SAMPLE;
	at = put_varint(at, len);
	if (ids_len) {
		*at++ = TAG_LOCATION_ID;
		at = put_varint(at, ids_len);
		memcpy(at, path->ids + sizeof(path->ids) - ids_len, ids_len);
		at += ids_len;
	}
	if (values_len) {
		*at++ = TAG_VALUE;
		at = put_varint(at, values_len);
	}
	for (size_t i = 0; i < values->n_values; i++)
		at = put_varint(at, (uint64_t)values->values[i]);
	if (values->labels_len_bytes)
		memcpy(at, values->labels, values->labels_len_bytes);
	return (size_t)(at - buf) + values->labels_len_bytes;
}
