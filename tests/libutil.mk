# SPDX-License-Identifier: GPL-2.0-or-later
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/libutil-error tests/unit/libutil-parse tests/unit/libutil-io
TESTS += tests/unit/libutil-error tests/unit/libutil-parse tests/unit/libutil-io
endif
libutil_test_cppflags = $(TEST_CPPFLAGS) $(TEST_CMOCKA)
libutil_test_ldadd = libutil/libutil.la $(CMOCKA_LIBS)
tests_unit_libutil_error_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_error_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_parse_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_parse_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_io_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_io_LDADD = $(libutil_test_ldadd)
