# SPDX-License-Identifier: GPL-2.0-or-later
libdb_unit_tests = tests/unit/libdb-db tests/unit/libdb-pack tests/unit/libdb-session-files
if HAVE_CMOCKA
check_PROGRAMS += $(libdb_unit_tests)
TESTS += $(libdb_unit_tests)
endif
libdb_test_cppflags = $(TEST_CPPFLAGS) $(TEST_CMOCKA) $(SQLITE_CFLAGS)
libdb_test_ldadd = libdb/libdb.la $(CMOCKA_LIBS)
tests_unit_libdb_db_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_db_LDADD = $(libdb_test_ldadd)
tests_unit_libdb_db_SOURCES = tests/unit/libdb-db.c tests/unit/libdb-common.h
tests_unit_libdb_pack_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_pack_LDADD = $(libdb_test_ldadd)
tests_unit_libdb_session_files_CPPFLAGS = $(libdb_test_cppflags)
tests_unit_libdb_session_files_LDADD = $(libdb_test_ldadd)
tests_unit_libdb_session_files_SOURCES = tests/unit/libdb-session-files.c tests/unit/libdb-common.h
