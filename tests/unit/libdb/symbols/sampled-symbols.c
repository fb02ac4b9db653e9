// SPDX-License-Identifier: GPL-2.0-or-later
/* Only the symbols of sampled code are stored, with the interval that needs them first. */
#include "tests/unit/libdb/common.h"

#include "libdb/symbols/sampled-symbols.h"

enum { N = 5000, STEP = 0x40 };
static const struct vmop_image_id image = {1};
static const char *const always[] = {"f_4000", "missing", NULL};

static struct vmop_db *db;
static struct vmop_symbol *symbols;
static size_t n_symbols;

/* N functions without lengths, each with an alias; in one is a nested symbol with a length. */
static int make_symbols(void **state)
{
	(void)state;
	symbols = calloc(2 * N + 2, sizeof(*symbols));
	for (unsigned i = 0; i < 2 * N; i++) {
		char name[32];
		snprintf(name, sizeof(name), i % 2 ? "alias_%u" : "f_%u", i / 2);
		symbols[i] = (struct vmop_symbol){
			.offset = i / 2 * STEP, .name = strdup(name), .type = 't'};
	}
	n_symbols = 2 * N;
	return 0;
}

static void put_packed(void)
{
	_cleanup_free_ void *packed = NULL;
	size_t len;
	assert_ok(vmop_db_pack_symbols(symbols, n_symbols, always, &packed, &len));
	assert_ok(vmop_db_check_packed_symbols(packed, len));
	assert_ok(vmop_db_put_packed_symbols(db, image, packed, len));
}

static void begin(const char *name)
{
	assert_ok(vmop_db_create(test_path(name), &db));
	put_facts(db);
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS, VMOP_NS_PER_S));
	put_packed();
}

static void end(void)
{
	assert_ok(vmop_db_check(db));
	assert_ok(vmop_db_finish(db));
}

static void put_cell(uint64_t offset)
{
	const struct vmop_db_cell cell = {offset, 1, 1};
	const struct vmop_db_chunk_key key = key_of(1, image.number);
	assert_ok(vmop_db_put_chunk(db, &key, &cell, 1));
}

/* Check that exactly these symbols are stored, in one string. */
static void expect(const char *names)
{
	_cleanup_free_ struct vmop_symbol *back = NULL;
	size_t n, len = 0;
	char text[1024] = "";
	bool is_sampled;
	assert_ok(vmop_db_get_symbols(db, image, &back, &n));
	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s+%d ", back[i].name,
					(int)back[i].len_bytes);
	assert_string_equal(text, names);
	assert_ok(vmop_db_has_sampled_symbols(db, image, &is_sampled));
	assert_int_equal(is_sampled, n > 0);
}

static void of_cells(void **state)
{
	(void)state;
	begin("cells");
	put_cell(7 * STEP + 5);
	put_cell(7 * STEP + 9);
	expect("");
	assert_ok(vmop_db_commit(db));
	expect("f_7+64 alias_7+64 f_4000+64 alias_4000+64 ");
	/* The last symbol has no end. */
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS + VMOP_NS_PER_S, VMOP_NS_PER_S));
	put_packed();
	put_cell(UINT64_MAX);
	assert_ok(vmop_db_commit(db));
	expect("f_7+64 alias_7+64 f_4000+64 alias_4000+64 f_4999+0 alias_4999+0 ");
	end();
}

static void of_nodes(void **state)
{
	(void)state;
	static const struct vmop_db_stack_node nodes[] = {
		{{1}, {0}, {0}, 1}, {{2}, {1}, {1}, 600 * STEP}, {{3}, {2}, {2}, 601 * STEP}};
	begin("nodes");
	assert_ok(vmop_db_put_stack_nodes(db, nodes, 3));
	assert_ok(vmop_db_commit(db));
	expect("f_600+64 alias_600+64 f_4000+64 alias_4000+64 ");
	end();
}

/* The next interval stores the symbols of one that was rolled back. */
static void after_a_rollback(void **state)
{
	(void)state;
	begin("rollback");
	put_cell(STEP);
	vmop_db_rollback(db);
	expect("");
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS, VMOP_NS_PER_S));
	put_packed();
	put_cell(2 * STEP);
	assert_ok(vmop_db_commit(db));
	expect("f_1+64 alias_1+64 f_2+64 alias_2+64 f_4000+64 alias_4000+64 ");
	end();
}

/* A symbol around others counts from a page behind its own, too. */
static void nested(void **state)
{
	(void)state;
	_cleanup_free_ struct vmop_symbol *of_book = symbols;
	struct vmop_symbol *some = calloc(602, sizeof(*some));
	for (unsigned i = 0; i < 600; i++) {
		some[i] = (struct vmop_symbol){i * STEP, 16, symbols[2 * i].name, 't'};
	}
	some[600] = (struct vmop_symbol){500 * STEP + 1, 10 * STEP + 20, "around", 't'};
	symbols = some;
	n_symbols = 601;
	begin("nested");
	put_cell(510 * STEP + 3);  /* in both */
	put_cell(509 * STEP + 40); /* only in the outer one */
	put_cell(520 * STEP + 40); /* in none */
	assert_ok(vmop_db_commit(db));
	expect("around+660 f_510+16 ");
	end();
	free(some);
	symbols = vmop_steal(&of_book);
	n_symbols = 2 * N;
}

static void damaged(void **state)
{
	(void)state;
	_cleanup_free_ uint8_t *packed = NULL;
	size_t len;
	assert_error(vmop_db_pack_symbols(symbols, 0, always, (void **)&packed, &len),
		     VMOP_ERROR_LIMIT, "0 symbols");
	assert_ok(vmop_db_pack_symbols(symbols, n_symbols, always, (void **)&packed, &len));
	for (size_t cut = 0; cut < len; cut += cut < 400 ? 1 : 999)
		assert_error(vmop_db_check_packed_symbols(packed, cut), VMOP_ERROR_CORRUPT,
			     "damaged");
	begin("damaged");
	assert_error(vmop_db_put_packed_symbols(db, (struct vmop_image_id){2}, packed, 2),
		     VMOP_ERROR_CORRUPT, "image 2");
	put_cell(0);
	assert_ok(vmop_db_commit(db));
	/* Pages of others' content lose their symbols and nothing else. */
	memset(packed + len / 2, 0x55, len / 2);
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS, VMOP_NS_PER_S));
	assert_ok(vmop_db_put_packed_symbols(db, (struct vmop_image_id){2}, packed, len));
	const struct vmop_db_cell cell = {(N - 1) * STEP, 1, 1};
	const struct vmop_db_chunk_key key = key_of(1, 2);
	assert_ok(vmop_db_put_chunk(db, &key, &cell, 1));
	assert_ok(vmop_db_commit(db));
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_cells),	    cmocka_unit_test(of_nodes),
		cmocka_unit_test(after_a_rollback), cmocka_unit_test(nested),
		cmocka_unit_test(damaged),
	};
	make_symbols(NULL);
	int failed = cmocka_run_group_tests(tests, test_dir_make, test_dir_remove);
	for (size_t i = 0; i < n_symbols; i++)
		free((char *)symbols[i].name);
	free(symbols);
	return failed;
}
