# SPDX-License-Identifier: GPL-2.0-or-later
if HAVE_CMOCKA
LIBSTACK_TESTS = \
	tests/unit/libstack/agreement \
	tests/unit/libstack/compressed \
	tests/unit/libstack/fde-index \
	tests/unit/libstack/kernel/search \
	tests/unit/libstack/kernel/unwind \
	tests/unit/libstack/kernel/orc \
	tests/unit/libstack/table \
	tests/unit/libstack/unwind-tables
check_PROGRAMS += $(LIBSTACK_TESTS) tests/unit/libstack/target-static tests/unit/libstack/target-debug-frame
TESTS += $(LIBSTACK_TESTS)
endif
libstack_test_cppflags = $(TEST_CPPFLAGS) $(TEST_CMOCKA)
libstack_test_ldadd = libstack/libstack.la libutil/libutil.la $(CMOCKA_LIBS)
tests_unit_libstack_table_SOURCES = tests/unit/libstack/table.c \
	tests/unit/libstack/synthetic.c tests/unit/libstack/synthetic.h
tests_unit_libstack_table_CPPFLAGS = $(libstack_test_cppflags)
tests_unit_libstack_table_LDADD = $(libstack_test_ldadd)
tests_unit_libstack_unwind_tables_SOURCES = tests/unit/libstack/unwind-tables.c \
	tests/unit/libstack/synthetic.c tests/unit/libstack/synthetic.h
tests_unit_libstack_unwind_tables_CPPFLAGS = $(libstack_test_cppflags)
tests_unit_libstack_unwind_tables_LDADD = $(libstack_test_ldadd)
tests_unit_libstack_kernel_search_CPPFLAGS = $(libstack_test_cppflags)
tests_unit_libstack_kernel_search_LDADD = $(libstack_test_ldadd)
tests_unit_libstack_compressed_CPPFLAGS = $(libstack_test_cppflags)
tests_unit_libstack_compressed_LDADD = $(libstack_test_ldadd)
tests_unit_libstack_fde_index_CPPFLAGS = $(libstack_test_cppflags)
tests_unit_libstack_fde_index_LDADD = $(libstack_test_ldadd)
tests_unit_libstack_agreement_CPPFLAGS = $(libstack_test_cppflags) $(LIBDW_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_libstack_agreement_LDADD = $(libstack_test_ldadd) $(LIBDW_LIBS) $(LIBELF_LIBS)
# A static program, with the C library in it, which tests/unit/libstack/agreement reads.
tests_unit_libstack_target_static_SOURCES = tests/unit/libsym/target.c
tests_unit_libstack_target_static_CFLAGS = -O0 -g $(WARN_CFLAGS) -Wno-missing-prototypes
tests_unit_libstack_target_static_LDFLAGS = -all-static
# A program whose functions have .debug_frame only, which tests/unit/libstack/compressed reads.
tests_unit_libstack_target_debug_frame_SOURCES = tests/unit/libsym/target.c
tests_unit_libstack_target_debug_frame_CFLAGS = -O0 -g -fno-asynchronous-unwind-tables -fno-unwind-tables \
	$(WARN_CFLAGS) -Wno-missing-prototypes

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

# Stacks of real programs.
libstack_live = tests/unit/libstack/sampler.c tests/unit/libstack/sampler.h \
	tests/unit/libstack/processes.c tests/unit/libstack/processes.h \
	tests/unit/libstack/reference.c tests/unit/libstack/reference.h \
	tests/unit/libstack/unwind-agreement.c tests/unit/libstack/unwind-agreement.h
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/libstack/live
TESTS += tests/unit/libstack/live
endif
tests_unit_libstack_live_SOURCES = tests/unit/libstack/live.c $(libstack_live)
tests_unit_libstack_live_CPPFLAGS = $(libstack_test_cppflags) $(UNWIND_CFLAGS)
tests_unit_libstack_live_LDADD = $(libstack_test_ldadd) $(UNWIND_LIBS)

# Optimized and without sanitizers, as the programs are that people profile.
known_paths_cflags = -O2 -fno-optimize-sibling-calls -fomit-frame-pointer -fexceptions $(WARN_CFLAGS) -Wno-vla
check_PROGRAMS += tests/fixtures/known-paths tests/fixtures/known-paths-static
check_LTLIBRARIES = tests/fixtures/known-library.la tests/fixtures/known-library-large.la
tests_fixtures_known_paths_SOURCES = tests/fixtures/known-paths.c
tests_fixtures_known_paths_CFLAGS = $(known_paths_cflags)
tests_fixtures_known_paths_LDFLAGS = -no-install
tests_fixtures_known_paths_static_SOURCES = tests/fixtures/known-paths.c
tests_fixtures_known_paths_static_CFLAGS = $(known_paths_cflags) -DKNOWN_PATHS_STATIC
tests_fixtures_known_paths_static_LDFLAGS = -all-static
tests_fixtures_known_library_la_SOURCES = tests/fixtures/known-library.c
tests_fixtures_known_library_la_CFLAGS = $(known_paths_cflags)
tests_fixtures_known_library_la_LDFLAGS = -module -avoid-version -rpath /nowhere
tests_fixtures_known_library_large_la_SOURCES = tests/fixtures/known-library.c
tests_fixtures_known_library_large_la_CFLAGS = $(known_paths_cflags) -DFRAME_BYTES=328
tests_fixtures_known_library_large_la_LDFLAGS = -module -avoid-version -rpath /nowhere

# Agreement with libunwind, complete stacks and speed over a mixed load: a table.
EXTRA_PROGRAMS += tests/bench/stack-agreement
CLEANFILES += tests/bench/stack-agreement$(EXEEXT)
tests_bench_stack_agreement_SOURCES = tests/bench/stack-agreement.c $(libstack_live)
tests_bench_stack_agreement_CPPFLAGS = $(AM_CPPFLAGS) $(UNWIND_CFLAGS)
tests_bench_stack_agreement_LDADD = libstack/libstack.la libutil/libutil.la $(UNWIND_LIBS)

# Stacks of kernels.
EXTRA_DIST += tests/unit/libstack/kernel/stack.h
tests_unit_libstack_kernel_unwind_CPPFLAGS = $(libstack_test_cppflags)
tests_unit_libstack_kernel_unwind_LDADD = $(libstack_test_ldadd)
tests_unit_libstack_kernel_orc_CPPFLAGS = $(libstack_test_cppflags)
tests_unit_libstack_kernel_orc_LDADD = $(libstack_test_ldadd)
