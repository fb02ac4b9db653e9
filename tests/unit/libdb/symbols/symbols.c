// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/libdb/common.h"

#include "libdb/symbols/symbols.h"

static void in_order_with_everything(void **state)
{
	(void)state;
	static const struct vmop_symbol symbols[] = {
		{0xffffffff81000000, 0, "_text", 'T'}, {0x10, 32, "alias_first", 't'},
		{UINT64_MAX, UINT64_MAX, "", '\0'},    {0x10, 32, "alias_second", 'W'},
		{0, 1, "_ZN3fooEv\xff", '\xe9'},
	};
	static const int order[] = {4, 1, 3, 0, 2};
	_cleanup_free_ uint8_t *blob = NULL;
	_cleanup_free_ struct vmop_symbol *back = NULL;
	size_t len, n;
	assert_ok(vmop_symbols_pack(symbols, 5, &blob, &len));
	assert_ok(vmop_symbols_unpack(blob, len, &back, &n));
	assert_int_equal(n, 5);
	for (size_t i = 0; i < n; i++) {
		const struct vmop_symbol *symbol = &symbols[order[i]];
		assert_true(back[i].offset == symbol->offset);
		assert_true(back[i].len_bytes == symbol->len_bytes);
		assert_string_equal(back[i].name, symbol->name);
		assert_int_equal(back[i].type, symbol->type);
	}
}

static void in_a_session(void **state)
{
	(void)state;
	enum { N = 200000 };
	struct vmop_symbol *symbols = calloc(N, sizeof(*symbols)), *back;
	char(*names)[32] = calloc(N, sizeof(*names));
	for (unsigned i = 0; i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "function_%u", i * 2654435761u);
		symbols[i] = (struct vmop_symbol){
			.offset = (N - i) * UINT64_C(0x50), .name = names[i], .type = 't'};
	}
	struct vmop_db *db;
	size_t n;
	assert_ok(vmop_db_create(test_path("symbols"), &db));
	put_facts(db);
	assert_ok(vmop_db_put_symbols(db, (struct vmop_image_id){1}, symbols, N));
	assert_error(vmop_db_put_symbols(db, (struct vmop_image_id){2}, symbols, 0),
		     VMOP_ERROR_LIMIT, "image 2");
	assert_ok(vmop_db_get_symbols(db, (struct vmop_image_id){1}, &back, &n));
	assert_int_equal(n, N);
	for (unsigned i = 0; i < N; i++) {
		assert_int_equal(back[i].offset, (i + 1) * UINT64_C(0x50));
		assert_string_equal(back[i].name, names[N - 1 - i]);
	}
	free(back);
	assert_ok(vmop_db_get_symbols(db, (struct vmop_image_id){2}, &back, &n));
	assert_null(back);
	assert_int_equal(n, 0);
	assert_ok(vmop_db_check(db));
	assert_ok(vmop_db_finish(db));
	free(names);
	free(symbols);
}

/* Cut and changed blobs are refused or have other symbols, within the limits. */
static void hostile(void **state)
{
	(void)state;
	static const struct vmop_symbol symbols[] = {{1, 1, "one", 't'}, {2, 2, "two", 't'}};
	_cleanup_free_ uint8_t *blob = NULL;
	struct vmop_symbol *back = NULL;
	size_t len, n = 0;
	assert_ok(vmop_symbols_pack(symbols, 2, &blob, &len));
	for (size_t cut = 0; cut < len; cut++) {
		_cleanup_free_ uint8_t *part = malloc(cut + 1);
		memcpy(part, blob, cut);
		assert_error(vmop_symbols_unpack(part, cut, &back, &n), VMOP_ERROR_CORRUPT, "");
	}
	for (size_t i = 0; i < len * 255; i++) {
		uint8_t before = blob[i / 255];
		blob[i / 255] ^= (uint8_t)(1 + i % 255);
		struct vmop_error *err = vmop_symbols_unpack(blob, len, &back, &n);
		if (!err) {
			assert_in_range(n, 1, 2);
			free(back);
		}
		vmop_error_destroy(err);
		blob[i / 255] = before;
	}
	/* A head with 4 GiB of body, and one with more symbols than fit in the body. */
	static const uint8_t huge[] = {1, 1, 0x80, 0x80, 0x80, 0x80, 0x10, 0x28, 0xb5, 0x2f, 0xfd};
	static const uint8_t many[] = {1, 0x7f, 20, 0x28, 0xb5, 0x2f, 0xfd, 0x20, 20, 0xa1};
	assert_error(vmop_symbols_unpack(huge, sizeof(huge), &back, &n), VMOP_ERROR_CORRUPT,
		     "counts");
	assert_error(vmop_symbols_unpack(many, sizeof(many), &back, &n), VMOP_ERROR_CORRUPT,
		     "counts");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order_with_everything),
		cmocka_unit_test(in_a_session),
		cmocka_unit_test(hostile),
	};
	return cmocka_run_group_tests(tests, test_dir_make, test_dir_remove);
}
