# SPDX-License-Identifier: GPL-2.0-or-later
if HAVE_CMOCKA
LIBSTACK_TESTS = \
	tests/unit/libstack/table
check_PROGRAMS += $(LIBSTACK_TESTS)
TESTS += $(LIBSTACK_TESTS)
endif
libstack_test_cppflags = $(TEST_CPPFLAGS) $(TEST_CMOCKA)
libstack_test_ldadd = libstack/libstack.la libutil/libutil.la $(CMOCKA_LIBS)
tests_unit_libstack_table_SOURCES = tests/unit/libstack/table.c \
	tests/unit/libstack/synthetic.c tests/unit/libstack/synthetic.h
tests_unit_libstack_table_CPPFLAGS = $(libstack_test_cppflags)
tests_unit_libstack_table_LDADD = $(libstack_test_ldadd)
