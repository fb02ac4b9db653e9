# SPDX-License-Identifier: GPL-2.0-or-later
libdb_unit_tests = tests/unit/libdb/bounds tests/unit/libdb/checkpoint tests/unit/libdb/clock tests/unit/libdb/code tests/unit/libdb/db tests/unit/libdb/faults tests/unit/libdb/pack tests/unit/libdb/power-cut \
	tests/unit/libdb/rejected tests/unit/libdb/retention tests/unit/libdb/roll-up tests/unit/libdb/symbols/sampled-symbols tests/unit/libdb/session-files tests/unit/libdb/stacks/cells \
	tests/unit/libdb/stacks/nodes tests/unit/libdb/stacks/tree tests/unit/libdb/sum tests/unit/libdb/symbols/symbols \
	tests/unit/libdb/waits
if HAVE_CMOCKA
check_PROGRAMS += $(libdb_unit_tests)
TESTS += $(libdb_unit_tests)
endif
libdb_test_cppflags = $(TEST_CPPFLAGS) $(TEST_CMOCKA) $(SQLITE_CFLAGS)
libdb_test_ldadd = libdb/libdb.la $(CMOCKA_LIBS)
EXTRA_DIST += tests/unit/libdb/common.h tests/unit/ok.h
tests_unit_libdb_bounds_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_bounds_LDADD = $(libdb_test_ldadd)
tests_unit_libdb_checkpoint_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_checkpoint_LDADD = $(libdb_test_ldadd) $(SQLITE_LIBS) -ldl
tests_unit_libdb_waits_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_waits_LDADD = $(libdb_test_ldadd) $(SQLITE_LIBS)
tests_unit_libdb_clock_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_clock_LDADD = $(libdb_test_ldadd) $(SQLITE_LIBS)
tests_unit_libdb_code_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_code_LDADD = $(libdb_test_ldadd) $(SQLITE_LIBS)
tests_unit_libdb_db_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_db_LDADD = $(libdb_test_ldadd)
tests_unit_libdb_faults_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_faults_LDADD = $(libdb_test_ldadd)
tests_unit_libdb_pack_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_pack_LDADD = $(libdb_test_ldadd)
tests_unit_libdb_power_cut_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_power_cut_LDADD = $(libdb_test_ldadd) $(SQLITE_LIBS) -ldl
tests_unit_libdb_session_files_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_session_files_LDADD = $(libdb_test_ldadd)
tests_unit_libdb_rejected_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_rejected_LDADD = $(libdb_test_ldadd) $(SQLITE_LIBS)
tests_unit_libdb_retention_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_retention_LDADD = $(libdb_test_ldadd)
tests_unit_libdb_roll_up_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_roll_up_LDADD = $(libdb_test_ldadd)
tests_unit_libdb_symbols_sampled_symbols_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_symbols_sampled_symbols_LDADD = $(libdb_test_ldadd)
tests_unit_libdb_stacks_cells_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_stacks_cells_LDADD = $(libdb_test_ldadd)
tests_unit_libdb_stacks_nodes_CPPFLAGS = $(libdb_test_cppflags) $(ZSTD_CFLAGS)
tests_unit_libdb_stacks_nodes_LDADD = $(libdb_test_ldadd) $(ZSTD_LIBS)
tests_unit_libdb_stacks_tree_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_stacks_tree_LDADD = $(libdb_test_ldadd) $(SQLITE_LIBS)
tests_unit_libdb_sum_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_sum_LDADD = $(libdb_test_ldadd)
tests_unit_libdb_symbols_symbols_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_symbols_symbols_LDADD = $(libdb_test_ldadd)

# Session files for tests of every folder, and for benches.
check_PROGRAMS += tests/fixtures/make-session
tests_fixtures_make_session_CPPFLAGS = $(TEST_CPPFLAGS)
tests_fixtures_make_session_LDADD = libdb/libdb.la
check_PROGRAMS += tests/fixtures/make-stacks
check_PROGRAMS += tests/fixtures/make-hostile-stacks
tests_fixtures_make_stacks_CPPFLAGS = $(TEST_CPPFLAGS)
tests_fixtures_make_stacks_LDADD = libdb/libdb.la
check_PROGRAMS += tests/fixtures/make-rows
tests_fixtures_make_rows_CPPFLAGS = $(TEST_CPPFLAGS) $(SQLITE_CFLAGS)
tests_fixtures_make_rows_LDADD = libdb/libdb.la $(SQLITE_LIBS)
check_PROGRAMS += tests/fixtures/make-image
tests_fixtures_make_image_CPPFLAGS = $(TEST_CPPFLAGS)
tests_fixtures_make_image_LDADD = libsym/libsymtab.la libdb/libdb.la
check_PROGRAMS += tests/fixtures/make-known-stacks
tests_fixtures_make_known_stacks_CPPFLAGS = $(TEST_CPPFLAGS) $(SQLITE_CFLAGS)
tests_fixtures_make_known_stacks_LDADD = libdb/libdb.la $(SQLITE_LIBS)
check_PROGRAMS += tests/fixtures/make-counters
tests_fixtures_make_counters_CPPFLAGS = $(TEST_CPPFLAGS)
tests_fixtures_make_counters_LDADD = libdb/libdb.la
check_PROGRAMS += tests/fixtures/make-hostile tests/fixtures/within
tests_fixtures_make_hostile_stacks_CPPFLAGS = $(TEST_CPPFLAGS) $(SQLITE_CFLAGS)
tests_fixtures_make_hostile_stacks_LDADD = libdb/libdb.la $(SQLITE_LIBS)
tests_fixtures_make_hostile_CPPFLAGS = $(TEST_CPPFLAGS)
tests_fixtures_make_hostile_LDADD = libdb/libdb.la

TESTS += tests/integration/session-sql
EXTRA_DIST += tests/integration/session-sql
