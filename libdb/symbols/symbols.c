// SPDX-License-Identifier: GPL-2.0-or-later
#include "libdb/symbols/symbols.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "libdb/pack.h"
#include "libutil/cleanup.h"
#include "libutil/varint.h"

#define ALL_VERSION 1
#define SAMPLED_VERSION 2
#define VARINT_MAX_BYTES 10
#define HEAD_MAX_BYTES (1 + 2 * VARINT_MAX_BYTES)
#define LEVEL 1 /* of zstd: the fastest; decoding takes the same time at every level */

static int by_offset(const void *a, const void *b)
{
	const struct vmop_symbol *const *x = a, *const *y = b;
	if ((*x)->offset != (*y)->offset)
		return (*x)->offset < (*y)->offset ? -1 : 1;
	/* Equal offsets keep the order of the array. */
	return *x < *y ? -1 : *x > *y;
}

static struct vmop_error *sort(const struct vmop_symbol *symbols, size_t n,
			       const struct vmop_symbol ***ret)
{
	const struct vmop_symbol **sorted = malloc(n * sizeof(const struct vmop_symbol *));
	if (!sorted)
		return &vmop_error_no_memory;
	bool is_sorted = true;
	for (size_t i = 0; i < n; i++) {
		sorted[i] = &symbols[i];
		is_sorted = is_sorted && (!i || symbols[i - 1].offset <= symbols[i].offset);
	}
	/* A kernel's 120,000 symbols are nearly always sorted; qsort would still take 10 ms. */
	if (!is_sorted)
		qsort(sorted, n, sizeof(const struct vmop_symbol *), by_offset);
	*ret = sorted;
	return NULL;
}

/* Write the body into buf, which is large enough, and return its length. */
static size_t write_body(const struct vmop_symbol *const *sorted, size_t n, uint8_t *buf)
{
	uint8_t *p = buf;
	uint64_t before = 0;
	for (size_t i = 0; i < n; i++) {
		p = vmop_varint_put(p, sorted[i]->offset - before);
		before = sorted[i]->offset;
	}
	for (size_t i = 0; i < n; i++)
		p = vmop_varint_put(p, sorted[i]->len_bytes);
	for (size_t i = 0; i < n; i++)
		*p++ = (uint8_t)sorted[i]->type;
	for (size_t i = 0; i < n; i++)
		p = (uint8_t *)stpcpy((char *)p, sorted[i]->name) + 1;
	return (size_t)(p - buf);
}

static struct vmop_error *compress(uint8_t version, const uint8_t *body, size_t body_len, size_t n,
				   uint8_t **ret, size_t *ret_len_bytes)
{
	size_t bound = ZSTD_compressBound(body_len);
	_cleanup_free_ uint8_t *blob = malloc(HEAD_MAX_BYTES + bound);
	if (!blob)
		return &vmop_error_no_memory;
	uint8_t *p = blob;
	*p++ = version;
	p = vmop_varint_put(p, n);
	p = vmop_varint_put(p, body_len);
	size_t len = ZSTD_compress(p, bound, body, body_len, LEVEL);
	if (ZSTD_isError(len))
		return vmop_error_new(VMOP_ERROR_OS, "compressing symbols: %s",
				      ZSTD_getErrorName(len));
	*ret_len_bytes = (size_t)(p - blob) + len;
	*ret = vmop_steal(&blob);
	return NULL;
}

static struct vmop_error *pack(uint8_t version, const struct vmop_symbol *symbols, size_t n,
			       uint8_t **ret, size_t *ret_len_bytes)
{
	if (n < 1 || n > VMOP_SYMBOLS_MAX)
		return vmop_error_new(VMOP_ERROR_LIMIT, "%zu symbols: from 1 to %u can be stored",
				      n, VMOP_SYMBOLS_MAX);
	size_t bound = n * (2 * VARINT_MAX_BYTES + 1);
	for (size_t i = 0; i < n; i++)
		bound += strlen(symbols[i].name) + 1;
	if (bound > VMOP_SYMBOLS_MAX_BODY_BYTES)
		return vmop_error_new(VMOP_ERROR_LIMIT,
				      "symbols of %zu bytes: up to %u can be stored", bound,
				      VMOP_SYMBOLS_MAX_BODY_BYTES);
	_cleanup_free_ const struct vmop_symbol **sorted = NULL;
	_cleanup_free_ uint8_t *body = malloc(bound);
	if (!body)
		return &vmop_error_no_memory;
	struct vmop_error *err = sort(symbols, n, &sorted);
	if (err)
		return err;
	return compress(version, body, write_body(sorted, n, body), n, ret, ret_len_bytes);
}

struct vmop_error *vmop_symbols_pack(const struct vmop_symbol *symbols, size_t n, uint8_t **ret,
				     size_t *ret_len_bytes)
{
	return pack(ALL_VERSION, symbols, n, ret, ret_len_bytes);
}

struct vmop_error *vmop_symbols_pack_sampled(const struct vmop_symbol *symbols, size_t n,
					     uint8_t **ret, size_t *ret_len_bytes)
{
	return pack(SAMPLED_VERSION, symbols, n, ret, ret_len_bytes);
}

bool vmop_symbols_are_sampled(const void *blob, size_t len_bytes)
{
	return len_bytes > 0 && *(const uint8_t *)blob == SAMPLED_VERSION;
}

static struct vmop_error *corrupt(const char *what)
{
	return vmop_error_new(VMOP_ERROR_CORRUPT, "corrupt symbols: %s", what);
}

/* Fill symbols from the body.  Checks that the last byte is NUL. */
static struct vmop_error *read_body(const uint8_t *p, const uint8_t *end,
				    struct vmop_symbol *symbols, size_t n)
{
	uint64_t offset = 0, step;
	for (size_t i = 0; i < n; i++) {
		p = vmop_varint_get(p, end, &step);
		if (!p || __builtin_add_overflow(offset, step, &offset))
			return corrupt("an offset");
		symbols[i].offset = offset;
	}
	for (size_t i = 0; i < n; i++) {
		p = vmop_varint_get(p, end, &symbols[i].len_bytes);
		if (!p)
			return corrupt("a length");
	}
	if ((size_t)(end - p) < n)
		return corrupt("a type");
	for (size_t i = 0; i < n; i++)
		symbols[i].type = (char)*p++;
	for (size_t i = 0; i < n; i++) {
		const uint8_t *nul = p < end ? memchr(p, '\0', (size_t)(end - p)) : NULL;
		if (!nul)
			return corrupt("a name");
		symbols[i].name = (const char *)p;
		p = nul + 1;
	}
	return p == end ? NULL : corrupt("bytes after the last name");
}

/* The counts before the body, and the compressed body. */
struct head {
	uint64_t n, body_len;
	const uint8_t *frame;
	size_t frame_len;
};

static struct vmop_error *read_head(const void *blob, size_t len_bytes, struct head *ret)
{
	const uint8_t *p = blob, *end = p + len_bytes;
	if (len_bytes < 1 || (*p != ALL_VERSION && *p != SAMPLED_VERSION))
		return corrupt("unknown version");
	p++;
	p = vmop_varint_get(p, end, &ret->n);
	p = p ? vmop_varint_get(p, end, &ret->body_len) : NULL;
	/* A symbol has at least four bytes of body. */
	if (!p || ret->n < 1 || ret->n > VMOP_SYMBOLS_MAX ||
	    ret->body_len > VMOP_SYMBOLS_MAX_BODY_BYTES || ret->n > ret->body_len / 4)
		return corrupt("impossible counts");
	ret->frame = p;
	ret->frame_len = (size_t)(end - p);
	if (ZSTD_getFrameContentSize(p, ret->frame_len) != ret->body_len)
		return corrupt("counts differ");
	return NULL;
}

struct vmop_error *vmop_symbols_count(const void *blob, size_t len_bytes, size_t *ret)
{
	struct head head;
	struct vmop_error *err = read_head(blob, len_bytes, &head);
	*ret = err ? 0 : head.n;
	return err;
}

struct vmop_error *vmop_symbols_unpack_within(const void *blob, size_t len_bytes, size_t *bytes,
					      struct vmop_symbol **ret, size_t *ret_n)
{
	struct head head;
	struct vmop_error *err = read_head(blob, len_bytes, &head);
	if (err)
		return err;
	size_t n = head.n, body_len = head.body_len;
	size_t block_bytes = n * sizeof(struct vmop_symbol) + body_len;
	if (block_bytes > *bytes)
		return vmop_error_new(VMOP_ERROR_LIMIT, "symbols of %zu bytes", block_bytes);
	_cleanup_free_ struct vmop_symbol *symbols = malloc(block_bytes);
	if (!symbols)
		return &vmop_error_no_memory;
	uint8_t *body = (uint8_t *)(symbols + n);
	size_t len = ZSTD_decompress(body, body_len, head.frame, head.frame_len);
	if (ZSTD_isError(len) || len != body_len)
		return corrupt(ZSTD_isError(len) ? ZSTD_getErrorName(len) : "it ends early");
	err = read_body(body, body + body_len, symbols, n);
	if (err)
		return err;
	*ret = vmop_steal(&symbols);
	*ret_n = n;
	*bytes = block_bytes;
	return NULL;
}

struct vmop_error *vmop_symbols_unpack(const void *blob, size_t len_bytes, struct vmop_symbol **ret,
				       size_t *ret_n)
{
	size_t bytes = SIZE_MAX;
	return vmop_symbols_unpack_within(blob, len_bytes, &bytes, ret, ret_n);
}
