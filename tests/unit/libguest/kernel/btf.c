// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libguest/kernel/btf.h"
#include "libguest/kernel/layout.h"
#include "libutil/error.h"
#include "tests/unit/libguest/synthetic.h"

#define INT 1u
#define STRUCT 4u
#define UNION 5u
#define ENUM 6u
#define TYPEDEF 8u
#define ENUM64 19u
#define KIND_FLAG (1u << 31)

/* A blob that a test builds type by type. */
static uint8_t types[8192];
static char strings[4096];
static size_t types_len, strings_len;

static void begin(void)
{
	types_len = 0;
	strings_len = 1;
	strings[0] = '\0';
}

static void word(uint32_t value)
{
	memcpy(types + types_len, &value, 4);
	types_len += 4;
}

static uint32_t text(const char *name)
{
	uint32_t at = (uint32_t)strings_len;
	if (!name)
		return 0;
	strcpy(strings + at, name);
	strings_len += strlen(name) + 1;
	return at;
}

static void type(const char *name, uint32_t kind, uint32_t count, uint32_t size)
{
	word(text(name));
	word((kind & 127) << 24 | (kind & KIND_FLAG) | count);
	word(size);
}

static void member(const char *name, uint32_t of, uint32_t offset)
{
	word(text(name));
	word(of);
	word(offset);
}

static uint8_t *finish(size_t *ret_len)
{
	const uint32_t header[6] = {
		0xeb9f | 1 << 16,     24, 0, (uint32_t)types_len, (uint32_t)types_len,
		(uint32_t)strings_len};
	*ret_len = 24 + types_len + strings_len;
	uint8_t *blob = malloc(*ret_len);
	memcpy(blob, header, 24);
	memcpy(blob + 24, types, types_len);
	memcpy(blob + 24 + types_len, strings, strings_len);
	return blob;
}

static void members_and_enumerators(void **state)
{
	size_t len;
	uint32_t offset;
	int64_t value;
	(void)state;
	begin();
	type("int", INT, 0, 4); /* 1 */
	word(32);
	type(NULL, UNION, 2, 8); /* 2: an unnamed member of 3 */
	member("first", 1, 0);
	member("second", 5, 0);			  /* of a later type, through a typedef */
	type("outer", STRUCT | KIND_FLAG, 4, 32); /* 3 */
	member("plain", 1, 32);
	member(NULL, 2, 64);
	member("bits", 1, 3u << 24 | 128);
	member("behind", 1, 192);
	type("inner", STRUCT, 1, 8); /* 4 */
	member("leaf", 1, 32);
	type("inner_t", TYPEDEF, 0, 4); /* 5 */
	type("color", ENUM, 2, 4);	/* 6 */
	word(text("red"));
	word(3);
	word(text("blue"));
	word(UINT32_MAX);
	type("wide", ENUM64, 1, 8); /* 7 */
	word(text("far"));
	word(1);
	word(2);
	uint8_t *blob = finish(&len);
	struct vmop_btf *btf;
	assert_null(vmop_btf_open(blob, len, &btf));
	assert_true(vmop_btf_member(btf, "outer", "plain", &offset));
	assert_int_equal(offset, 4);
	assert_true(vmop_btf_member(btf, "outer", "first", &offset));
	assert_int_equal(offset, 8);
	assert_true(vmop_btf_member(btf, "outer", "second.leaf", &offset));
	assert_int_equal(offset, 12);
	assert_true(vmop_btf_member(btf, "outer", "behind", &offset));
	assert_int_equal(offset, 24);
	assert_false(vmop_btf_member(btf, "outer", "bits", &offset));
	assert_false(vmop_btf_member(btf, "outer", "plain.leaf", &offset));
	assert_false(vmop_btf_member(btf, "outer", "pla", &offset));
	assert_false(vmop_btf_member(btf, "nothing", "plain", &offset));
	assert_true(vmop_btf_size(btf, "outer", &offset));
	assert_int_equal(offset, 32);
	assert_false(vmop_btf_size(btf, "color", &offset));
	assert_true(vmop_btf_enumerator(btf, "color", "blue", &value));
	assert_int_equal(value, -1);
	assert_true(vmop_btf_enumerator(btf, "wide", "far", &value));
	assert_true(value == (INT64_C(2) << 32 | 1));
	assert_false(vmop_btf_enumerator(btf, "color", "green", &value));
	vmop_btf_close(btf);
	free(blob);
}

/* Types after one of unknown kind are found by the blob's own layout table. */
/* struct orc_entry, as before Linux 6.4: a bit field has its size above its offset. */
static void bit_fields(void **state)
{
	struct vmop_btf *btf;
	uint32_t bit, bits;
	size_t len;
	(void)state;
	begin();
	type("s16", INT, 0, 2);
	word(16);
	type("orc_entry", STRUCT | KIND_FLAG, 3, 6);
	member("sp_offset", 1, 0);
	member("type", 1, 2u << 24 | 40);
	member("end", 1, 1u << 24 | 42);
	type("plain", STRUCT, 1, 8);
	member("type", 1, 40);
	uint8_t *blob = finish(&len);
	assert_null(vmop_btf_open(blob, len, &btf));
	assert_true(vmop_btf_bit_field(btf, "orc_entry", "type", &bit, &bits));
	assert_true(bit == 40 && bits == 2);
	assert_true(vmop_btf_bit_field(btf, "orc_entry", "end", &bit, &bits));
	assert_true(bit == 42 && bits == 1);
	assert_false(vmop_btf_bit_field(btf, "orc_entry", "sp_offset", &bit, &bits));
	assert_false(vmop_btf_bit_field(btf, "orc_entry", "signal", &bit, &bits));
	assert_false(vmop_btf_bit_field(btf, "plain", "type", &bit, &bits));
	assert_false(vmop_btf_bit_field(btf, "absent", "type", &bit, &bits));
	vmop_btf_close(btf);
	free(blob);
}

static void kinds_of_the_future(void **state)
{
	uint8_t blob[512] = {0};
	uint32_t offset;
	struct vmop_btf *btf;
	(void)state;
	begin();
	type("odd", 40, 3, 0); /* 1: one piece of 4 bytes, and 3 of 8 */
	for (int i = 0; i < 7; i++)
		word(0xffffffff);
	type("int", INT, 0, 4); /* 2 */
	word(32);
	type("after", STRUCT, 1, 8); /* 3 */
	member("x", 2, 32);
	const uint32_t header[8] = {0xeb9f | 1 << 16,
				    32,
				    0,
				    (uint32_t)types_len,
				    (uint32_t)types_len,
				    (uint32_t)strings_len,
				    (uint32_t)(types_len + strings_len),
				    41 * 4};
	size_t at = 32 + types_len + strings_len;
	memcpy(blob, header, sizeof(header));
	memcpy(blob + 32, types, types_len);
	memcpy(blob + 32 + types_len, strings, strings_len);
	blob[at + 40 * 4] = 4;
	blob[at + 40 * 4 + 1] = 8;
	assert_null(vmop_btf_open(blob, at + 41 * 4, &btf));
	assert_true(vmop_btf_member(btf, "after", "x", &offset));
	assert_int_equal(offset, 4);
	vmop_btf_close(btf);
	/* a table outside the blob: only the types before the odd one, and there are none */
	assert_null(vmop_btf_open(blob, at + 40 * 4, &btf));
	assert_false(vmop_btf_member(btf, "after", "x", &offset));
	vmop_btf_close(btf);
}

static void types_in_circles(void **state)
{
	size_t len;
	uint32_t offset;
	(void)state;
	begin();
	type("loop", STRUCT, 2, 8); /* 1: contains itself twice without a name */
	member(NULL, 1, 0);
	member(NULL, 1, 0);
	type("alias", TYPEDEF, 0, 3); /* 2, 3: each other */
	type("alias2", TYPEDEF, 0, 2);
	type("user", STRUCT, 2, 8); /* 4 */
	member("x", 2, 0);
	member("y", 99999, 0);
	uint8_t *blob = finish(&len);
	struct vmop_btf *btf;
	assert_null(vmop_btf_open(blob, len, &btf));
	assert_false(vmop_btf_member(btf, "loop", "x", &offset));
	assert_false(vmop_btf_member(btf, "user", "x", &offset));
	assert_false(vmop_btf_member(btf, "user", "y", &offset));
	vmop_btf_close(btf);
	free(blob);
}

static void what_is_no_btf(void **state)
{
	uint8_t *blob = malloc(65536);
	struct vmop_layout layout;
	struct vmop_btf *btf;
	(void)state;
	size_t len = synthetic_btf(blob, 65536, &layout);
	for (size_t cut = 0; cut < len; cut += cut < 64 ? 1 : 997) {
		uint8_t *piece = malloc(cut ? cut : 1);
		memcpy(piece, blob, cut);
		struct vmop_error *err = vmop_btf_open(piece, cut, &btf);
		assert_non_null(err);
		assert_int_equal(err->code, VMOP_ERROR_CORRUPT);
		vmop_error_destroy(err);
		free(piece);
	}
	uint32_t huge = UINT32_MAX;
	for (size_t at = 4; at < 24; at += 4) {
		uint32_t old;
		memcpy(&old, blob + at, 4);
		memcpy(blob + at, &huge, 4);
		struct vmop_error *err = vmop_btf_open(blob, len, &btf);
		assert_non_null(err);
		vmop_error_destroy(err);
		memcpy(blob + at, &old, 4);
	}
	free(blob);
}

static void damaged_btf(void **state)
{
	uint8_t *blob = malloc(65536);
	struct vmop_layout layout, whole;
	uint64_t random = 88172645463325252ull;
	(void)state;
	size_t len = synthetic_btf(blob, 65536, &whole);
	for (int round = 0; round < 2000; round++) {
		struct vmop_btf *btf;
		if (round % 20 == 0)
			synthetic_btf(blob, 65536, &whole);
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		blob[24 + random % (len - 24)] = (uint8_t)(random >> 32);
		struct vmop_error *err = vmop_btf_open(blob, len, &btf);
		if (!err) {
			vmop_layout_from_btf(btf, &layout);
			vmop_btf_close(btf);
		}
		vmop_error_destroy(err);
	}
	free(blob);
}

/* --- profiles ---------------------------------------------------------------------- */

static void profile(const char *content, enum vmop_error_code *ret, struct vmop_layout *layout)
{
	char path[] = "/tmp/vmop-profile-XXXXXX";
	int fd = mkstemp(path);
	assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	close(fd);
	struct vmop_error *err = vmop_layout_from_profile(path, "5.4.0-test", layout);
	*ret = err ? err->code : VMOP_ERROR_NO_MEMORY;
	if (err)
		assert_true(strncmp(err->message, path, strlen(path)) == 0);
	vmop_error_destroy(err);
	unlink(path);
}

static void profiles(void **state)
{
	struct vmop_layout layout;
	enum vmop_error_code code;
	(void)state;
	profile("[kernel]\nrelease = 5.4.0-test\n[offsets]\ntask_struct.mm = 2144\n"
		"sizeof.page = 0x40\nmaple_type.maple_leaf_64 = 1\nlater.member = 7\n",
		&code, &layout);
	assert_int_equal(code, VMOP_ERROR_NO_MEMORY);
	assert_int_equal(layout.value[VMOP_LAYOUT_TASK_MM], 2144);
	assert_int_equal(layout.value[VMOP_LAYOUT_PAGE_SIZE], 64);
	assert_int_equal(layout.value[VMOP_LAYOUT_MAPLE_LEAF_TYPE], 1);
	assert_int_equal(layout.value[VMOP_LAYOUT_TASK_PID], -1);
	assert_false(vmop_layout_has_processes(&layout));
	profile("[kernel]\nrelease = 5.5.0\n", &code, &layout);
	assert_int_equal(code, VMOP_ERROR_NOT_FOUND);
	profile("", &code, &layout);
	assert_int_equal(code, VMOP_ERROR_NOT_FOUND);
	profile("[kernel]\nrelease = 5.4.0-test\n[offsets]\ntask_struct.mm = -5\n", &code, &layout);
	assert_int_equal(code, VMOP_ERROR_CORRUPT);
	profile("[offsets]\ntask_struct.mm = 99999999999\n", &code, &layout);
	assert_int_equal(code, VMOP_ERROR_CORRUPT);
	struct vmop_error *err = vmop_layout_from_profile("/nowhere/profile", "x", &layout);
	assert_int_equal(err->code, VMOP_ERROR_OS);
	vmop_error_destroy(err);
}

static void all_fields_from_btf(void **state)
{
	uint8_t *blob = malloc(65536);
	struct vmop_layout made, found;
	struct vmop_btf *btf;
	(void)state;
	size_t len = synthetic_btf(blob, 65536, &made);
	assert_null(vmop_btf_open(blob, len, &btf));
	vmop_layout_from_btf(btf, &found);
	assert_memory_equal(&made, &found, sizeof(made));
	assert_true(vmop_layout_has_processes(&found));
	assert_true(vmop_layout_has_modules(&found));
	assert_true(vmop_layout_has_page_cache(&found));
	vmop_btf_close(btf);
	free(blob);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_and_enumerators),
		cmocka_unit_test(bit_fields),
		cmocka_unit_test(kinds_of_the_future),
		cmocka_unit_test(types_in_circles),
		cmocka_unit_test(what_is_no_btf),
		cmocka_unit_test(damaged_btf),
		cmocka_unit_test(profiles),
		cmocka_unit_test(all_fields_from_btf),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
