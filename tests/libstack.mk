# SPDX-License-Identifier: GPL-2.0-or-later
if HAVE_CMOCKA
LIBSTACK_TESTS = \
	tests/unit/libstack/agreement \
	tests/unit/libstack/table
check_PROGRAMS += $(LIBSTACK_TESTS) tests/unit/libstack/target-static
TESTS += $(LIBSTACK_TESTS)
endif
libstack_test_cppflags = $(TEST_CPPFLAGS) $(TEST_CMOCKA)
libstack_test_ldadd = libstack/libstack.la libutil/libutil.la $(CMOCKA_LIBS)
tests_unit_libstack_table_SOURCES = tests/unit/libstack/table.c \
	tests/unit/libstack/synthetic.c tests/unit/libstack/synthetic.h
tests_unit_libstack_table_CPPFLAGS = $(libstack_test_cppflags)
tests_unit_libstack_table_LDADD = $(libstack_test_ldadd)
tests_unit_libstack_agreement_CPPFLAGS = $(libstack_test_cppflags) $(LIBDW_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_libstack_agreement_LDADD = $(libstack_test_ldadd) $(LIBDW_LIBS) $(LIBELF_LIBS)
# A static program, with the C library in it, which tests/unit/libstack/agreement reads.
tests_unit_libstack_target_static_SOURCES = tests/unit/libsym/target.c
tests_unit_libstack_target_static_CFLAGS = -O0 -g $(WARN_CFLAGS) -Wno-missing-prototypes
tests_unit_libstack_target_static_LDFLAGS = -all-static

# The unwinder, with rules that the tests write down (rules.c instead of libstack/table.c).
if HAVE_CMOCKA
unwind_tests = tests/unit/libstack/expression tests/unit/libstack/unwind tests/unit/libstack/unwind-arm64
check_PROGRAMS += $(unwind_tests)
TESTS += $(unwind_tests)
endif
libstack_rules = tests/unit/libstack/rules.c tests/unit/libstack/rules.h tests/unit/libstack/world.h
tests_unit_libstack_unwind_SOURCES = tests/unit/libstack/unwind.c $(libstack_rules)
tests_unit_libstack_unwind_CPPFLAGS = $(libstack_test_cppflags)
tests_unit_libstack_unwind_LDADD = $(libstack_test_ldadd)
tests_unit_libstack_unwind_arm64_SOURCES = tests/unit/libstack/unwind-arm64.c $(libstack_rules)
tests_unit_libstack_unwind_arm64_CPPFLAGS = $(libstack_test_cppflags)
tests_unit_libstack_unwind_arm64_LDADD = $(libstack_test_ldadd)
tests_unit_libstack_expression_SOURCES = tests/unit/libstack/expression.c $(libstack_rules)
tests_unit_libstack_expression_CPPFLAGS = $(libstack_test_cppflags)
tests_unit_libstack_expression_LDADD = $(libstack_test_ldadd)
