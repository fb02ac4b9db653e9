// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libguest/kernel/kallsyms.h"
#include "libutil/error.h"
#include "tests/unit/libguest/synthetic.h"

#define COUNT 4500u
#define BUF_BYTES (1u << 20)
#define BASE UINT64_C(0xffffffff92000000)
#define PLACE (BASE + 0x1400000)

static struct synthetic_symbol symbols[COUNT];
static uint8_t *buf;
static size_t buf_len;

static void make_symbols(void)
{
	for (unsigned int i = 0; i < COUNT; i++) {
		symbols[i].address = BASE + 64 * (uint64_t)i;
		symbols[i].type = i % 2 ? 't' : 'D';
		snprintf(symbols[i].name, sizeof(symbols[i].name), "filler_%u", i * 7);
	}
}

static int set_up(void **state)
{
	(void)state;
	make_symbols();
	buf = malloc(BUF_BYTES);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(buf);
	return 0;
}

static void make(enum synthetic_kallsyms form)
{
	size_t names;
	memset(buf, 0xcc, BUF_BYTES);
	symbols[0].address = form == SYNTHETIC_ALL_RELATIVE || form == SYNTHETIC_PLACE_RELATIVE
				     ? BASE
				     : 0x2000; /* per-CPU */
	buf_len = 4096 + synthetic_kallsyms(symbols, COUNT, form, PLACE + 4096, BASE, buf + 4096,
					    BUF_BYTES - 4096, &names);
	buf_len += 64;
}

static bool find(size_t len, struct vmop_guest_kallsyms_tables *ret)
{
	size_t from = 0, tokens, index;
	return vmop_guest_kallsyms_find_tokens(buf, len, &from, &tokens, &index, NULL) &&
	       vmop_guest_kallsyms_find_tables(buf, len, tokens, index, ret);
}

static void all_forms(void **state)
{
	(void)state;
	for (int form = 0; form < SYNTHETIC_KALLSYMS_FORMS; form++) {
		struct vmop_guest_kallsyms_tables tables;
		struct vmop_guest_kallsyms *kallsyms;
		make((enum synthetic_kallsyms)form);
		assert_true(find(buf_len, &tables));
		assert_int_equal(tables.count, COUNT);
		assert_null(vmop_guest_kallsyms_unpack(buf, buf_len, &tables, PLACE, &kallsyms));
		for (unsigned int i = 0; i < COUNT; i++) {
			assert_int_equal(vmop_guest_kallsyms_address(kallsyms, i),
					 symbols[i].address);
			assert_string_equal(vmop_guest_kallsyms_name(kallsyms, i), symbols[i].name);
			assert_int_equal(vmop_guest_kallsyms_type(kallsyms, i), symbols[i].type);
		}
		assert_int_equal(vmop_guest_kallsyms_len_bytes(kallsyms, 10), 64);
		assert_int_equal(vmop_guest_kallsyms_len_bytes(kallsyms, COUNT - 1), 0);
		vmop_guest_kallsyms_free(kallsyms);
	}
}

static void looking_up(void **state)
{
	struct vmop_guest_kallsyms_tables tables;
	struct vmop_guest_kallsyms *kallsyms;
	uint64_t address;
	uint32_t index;
	(void)state;
	symbols[201].address = symbols[200].address;  /* data first, then text, at one address */
	strcpy(symbols[300].name, symbols[299].name); /* the same name twice */
	make(SYNTHETIC_ALL_RELATIVE);
	assert_true(find(buf_len, &tables));
	assert_null(vmop_guest_kallsyms_unpack(buf, buf_len, &tables, PLACE, &kallsyms));
	assert_true(vmop_guest_kallsyms_at(kallsyms, symbols[200].address + 3, &index));
	assert_int_equal(index, 201);
	assert_false(vmop_guest_kallsyms_at(kallsyms, BASE - 1, &index));
	assert_true(vmop_guest_kallsyms_at(kallsyms, UINT64_MAX, &index));
	assert_int_equal(index, COUNT - 1);
	assert_true(vmop_guest_kallsyms_find(kallsyms, symbols[299].name, &address));
	assert_int_equal(address, symbols[299].address);
	assert_false(vmop_guest_kallsyms_find(kallsyms, "", &address));
	vmop_guest_kallsyms_free(kallsyms);
	make_symbols();
}

static void unsorted_tables_are_put_in_order(void **state)
{
	struct vmop_guest_kallsyms_tables tables;
	struct vmop_guest_kallsyms *kallsyms;
	uint32_t index;
	(void)state;
	symbols[1000].address = BASE + 64 * 3000 + 32;
	make(SYNTHETIC_ALL_RELATIVE);
	assert_true(find(buf_len, &tables));
	assert_null(vmop_guest_kallsyms_unpack(buf, buf_len, &tables, PLACE, &kallsyms));
	assert_true(vmop_guest_kallsyms_at(kallsyms, BASE + 64 * 3000 + 40, &index));
	assert_int_equal(index, 1000);
	assert_int_equal(vmop_guest_kallsyms_len_bytes(kallsyms, 3000), 32);
	assert_true(vmop_guest_kallsyms_at(kallsyms, BASE + 64 * 2000, &index));
	assert_int_equal(index, 2000);
	vmop_guest_kallsyms_free(kallsyms);
	symbols[1000].address = BASE + 64 * 1000;
}

/* A table cut anywhere is found whole or not at all. Sanitizers see reads past the cut. */
static void cut_tables(void **state)
{
	(void)state;
	for (int form = 0; form < SYNTHETIC_KALLSYMS_FORMS; form++) {
		make((enum synthetic_kallsyms)form);
		for (size_t len = 0; len < buf_len;
		     len += len < 4000 || len + 4000 > buf_len ? 191 : 7919) {
			struct vmop_guest_kallsyms_tables tables;
			struct vmop_guest_kallsyms *kallsyms;
			uint8_t *whole = buf;
			buf = malloc(len ? len : 1);
			memcpy(buf, whole, len);
			if (find(len, &tables)) {
				struct vmop_error *err = vmop_guest_kallsyms_unpack(
					buf, len, &tables, PLACE, &kallsyms);
				if (!err) {
					assert_int_equal(vmop_guest_kallsyms_count(kallsyms),
							 COUNT);
					vmop_guest_kallsyms_free(kallsyms);
				}
				vmop_error_destroy(err);
			}
			free(buf);
			buf = whole;
		}
	}
}

static void damaged_tables(void **state)
{
	uint64_t random = 0x9e3779b97f4a7c15;
	(void)state;
	for (int round = 0; round < 1000; round++) {
		struct vmop_guest_kallsyms_tables tables;
		struct vmop_guest_kallsyms *kallsyms;
		if (round % 50 == 0)
			make((enum synthetic_kallsyms)(round / 50 % SYNTHETIC_KALLSYMS_FORMS));
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		buf[4096 + random % (buf_len - 4096)] = (uint8_t)(random >> 40);
		if (!find(buf_len, &tables))
			continue;
		struct vmop_error *err =
			vmop_guest_kallsyms_unpack(buf, buf_len, &tables, PLACE, &kallsyms);
		if (!err)
			vmop_guest_kallsyms_free(kallsyms);
		vmop_error_destroy(err);
	}
}

static void names_that_explode(void **state)
{
	struct vmop_guest_kallsyms_tables tables;
	struct vmop_guest_kallsyms *kallsyms;
	size_t from = 0, tokens, index;
	(void)state;
	make(SYNTHETIC_ALL_RELATIVE);
	assert_true(find(buf_len, &tables));
	assert_true(vmop_guest_kallsyms_find_tokens(buf, buf_len, &from, &tokens, &index, NULL));
	/* one name of 16,383 tokens */
	buf[tables.names] = 0xff;
	buf[tables.names + 1] = 0x7f;
	struct vmop_error *err =
		vmop_guest_kallsyms_unpack(buf, buf_len, &tables, PLACE, &kallsyms);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_CORRUPT);
	vmop_error_destroy(err);
	/* too many symbols, and tables outside the buffer */
	struct vmop_guest_kallsyms_tables lying = tables;
	lying.count = UINT32_MAX;
	err = vmop_guest_kallsyms_unpack(buf, buf_len, &lying, PLACE, &kallsyms);
	assert_non_null(err);
	vmop_error_destroy(err);
	lying = tables;
	lying.offsets = buf_len - 100;
	err = vmop_guest_kallsyms_unpack(buf, buf_len, &lying, PLACE, &kallsyms);
	assert_non_null(err);
	vmop_error_destroy(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_forms),
		cmocka_unit_test(looking_up),
		cmocka_unit_test(unsorted_tables_are_put_in_order),
		cmocka_unit_test(cut_tables),
		cmocka_unit_test(damaged_tables),
		cmocka_unit_test(names_that_explode),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
