// SPDX-License-Identifier: GPL-2.0-or-later
/* Writing and reading the stored code of images. */
#include <string.h>
#include <zstd.h>

#include "libdb/connection.h"
#include "libdb/db.h"
#include "libdb/schema.h"

/* The first byte of a row's data: how the others hold the code. */
enum { RAW = 1, COMPRESSED = 2 };

#define LEVEL 1 /* of zstd: the fastest */

/* Pack code into ret, and return the length. Code that zstd does not shorten stays raw. */
static size_t pack(const struct vmop_db_code *code, uint8_t ret[1 + VMOP_DB_CODE_MAX_BYTES])
{
	size_t len = ZSTD_compress(ret + 1, code->len_bytes, code->bytes, code->len_bytes, LEVEL);
	ret[0] = COMPRESSED;
	if (!ZSTD_isError(len) && len < code->len_bytes)
		return 1 + len;
	ret[0] = RAW;
	memcpy(ret + 1, code->bytes, code->len_bytes);
	return 1 + code->len_bytes;
}

/* Unpack a row's data to exactly len_bytes. False: it is damaged. */
static bool unpack(const uint8_t *data, size_t data_bytes, uint8_t *ret, size_t len_bytes)
{
	if (data_bytes < 2)
		return false;
	if (data[0] == COMPRESSED)
		return ZSTD_decompress(ret, len_bytes, data + 1, data_bytes - 1) == len_bytes;
	if (data[0] != RAW || data_bytes - 1 != len_bytes)
		return false;
	memcpy(ret, data + 1, len_bytes);
	return true;
}

struct vmop_error *vmop_db_put_code(struct vmop_db *db, const struct vmop_db_code *code,
				    size_t *ret_stored_bytes)
{
	uint8_t packed[1 + VMOP_DB_CODE_MAX_BYTES];
	struct vmop_error *err;
	*ret_stored_bytes = 0;
	if (!code->len_bytes || code->len_bytes > VMOP_DB_CODE_MAX_BYTES) {
		err = vmop_db_out_of_range(db, "a length of code", code->len_bytes);
	} else if (code->offset > INT64_MAX) {
		err = vmop_db_out_of_range(db, "an offset of code", (int64_t)code->offset);
	} else {
		size_t len = pack(code, packed);
		err = vmop_db_run(db, VMOP_DB_PUT_CODE, "iuuib", (int64_t)code->image.number,
				  code->offset, code->time_ns, (int64_t)code->len_bytes,
				  (const void *)packed, len);
		*ret_stored_bytes = err ? 0 : len;
	}
	return vmop_db_put_done(db, err, 0);
}

/* Read a row into code, whose bytes are buffer. False: it is damaged. */
static bool read_row(sqlite3_stmt *stmt, uint8_t buffer[VMOP_DB_CODE_MAX_BYTES],
		     struct vmop_db_code *code)
{
	bool corrupt = false;
	code->offset = vmop_db_column(stmt, 0, INT64_MAX, &corrupt);
	code->time_ns = vmop_db_column(stmt, 1, INT64_MAX, &corrupt);
	code->len_bytes = vmop_db_column(stmt, 2, VMOP_DB_CODE_MAX_BYTES, &corrupt);
	code->bytes = buffer;
	const void *data = sqlite3_column_blob(stmt, 3);
	size_t data_bytes = (size_t)sqlite3_column_bytes(stmt, 3);
	return !corrupt && data && code->len_bytes &&
	       unpack(data, data_bytes, buffer, code->len_bytes);
}

struct vmop_error *
vmop_db_each_code(struct vmop_db *db, struct vmop_image_id image, uint64_t from, uint64_t to,
		  struct vmop_error *(*each)(void *arg, const struct vmop_db_code *code), void *arg)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	uint8_t buffer[VMOP_DB_CODE_MAX_BYTES];
	struct vmop_db_code code = {.image = image};
	if (db->version < VMOP_SCHEMA_WITH_CODE || from > INT64_MAX || from >= to)
		return NULL;
	struct vmop_error *err = vmop_db_allow_work(db);
	if (!err)
		err = vmop_db_prepare(
			db,
			"SELECT offset, time_ns, n_bytes, data FROM code WHERE image = ?1 "
			"AND offset > ?2 AND offset < ?3 ORDER BY offset, time_ns",
			&stmt);
	if (err)
		return err;
	sqlite3_bind_int64(stmt, 1, (int64_t)image.number);
	sqlite3_bind_int64(stmt, 2, (int64_t)from - VMOP_DB_CODE_MAX_BYTES);
	sqlite3_bind_int64(stmt, 3, to > INT64_MAX ? INT64_MAX : (int64_t)to);
	bool row;
	while (!err && !(err = vmop_db_step(db, stmt, &row)) && row) {
		bool is_whole = read_row(stmt, buffer, &code);
		code.time_ns = vmop_db_time(db, code.time_ns);
		if (!is_whole)
			err = vmop_db_corrupt(db, "code of image %u is damaged", image.number);
		else if (code.offset + code.len_bytes > from)
			err = each(arg, &code);
	}
	return err;
}
