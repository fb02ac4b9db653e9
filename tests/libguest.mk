# SPDX-License-Identifier: GPL-2.0-or-later
if HAVE_CMOCKA
libguest_tests = tests/unit/libguest/kernel/btf tests/unit/libguest/memory/formats tests/unit/libguest/guest \
	tests/unit/libguest/kernel/kallsyms tests/unit/libguest/memory/memory tests/unit/libguest/memory/file \
	tests/unit/libguest/memory/page-table \
	tests/unit/libguest/memory/page-table-arm64 tests/unit/libguest/kernel/arm64 \
	tests/unit/libguest/tasks/inodes tests/unit/libguest/tasks/numbers \
	tests/unit/libguest/tasks/threads tests/unit/libguest/user-memory
if HAVE_XEN
libguest_tests += tests/unit/libguest/memory/xen
endif
check_PROGRAMS += $(libguest_tests)
TESTS += $(libguest_tests)
endif
libguest_test_cppflags = $(TEST_CPPFLAGS) $(TEST_CMOCKA)
libguest_test_ldadd = libguest/libguest.la libutil/libutil.la $(CMOCKA_LIBS)
libguest_synthetic = tests/unit/libguest/synthetic.c tests/unit/libguest/synthetic.h \
	tests/unit/libguest/synthetic-arm64.c

tests_unit_libguest_kernel_btf_SOURCES = tests/unit/libguest/kernel/btf.c $(libguest_synthetic)
tests_unit_libguest_kernel_btf_CPPFLAGS = $(libguest_test_cppflags)
tests_unit_libguest_kernel_btf_LDADD = $(libguest_test_ldadd)
tests_unit_libguest_memory_formats_CPPFLAGS = $(libguest_test_cppflags)
tests_unit_libguest_memory_formats_LDADD = $(libguest_test_ldadd)
tests_unit_libguest_user_memory_SOURCES = tests/unit/libguest/user-memory.c \
	tests/unit/libguest/opened.h $(libguest_synthetic)
tests_unit_libguest_user_memory_CPPFLAGS = $(libguest_test_cppflags)
tests_unit_libguest_user_memory_LDADD = $(libguest_test_ldadd)
tests_unit_libguest_guest_SOURCES = tests/unit/libguest/guest.c \
	tests/unit/libguest/opened.h $(libguest_synthetic)
tests_unit_libguest_guest_CPPFLAGS = $(libguest_test_cppflags)
tests_unit_libguest_guest_LDADD = $(libguest_test_ldadd)
tests_unit_libguest_kernel_kallsyms_SOURCES = tests/unit/libguest/kernel/kallsyms.c $(libguest_synthetic)
tests_unit_libguest_kernel_kallsyms_CPPFLAGS = $(libguest_test_cppflags)
tests_unit_libguest_kernel_kallsyms_LDADD = $(libguest_test_ldadd)
tests_unit_libguest_memory_memory_SOURCES = tests/unit/libguest/memory/memory.c tests/unit/libguest/scratch.h $(libguest_synthetic)
tests_unit_libguest_memory_memory_CPPFLAGS = $(libguest_test_cppflags)
tests_unit_libguest_memory_memory_LDADD = $(libguest_test_ldadd)
tests_unit_libguest_memory_file_SOURCES = tests/unit/libguest/memory/file.c tests/unit/libguest/scratch.h \
	$(libguest_synthetic)
tests_unit_libguest_memory_file_CPPFLAGS = $(libguest_test_cppflags)
tests_unit_libguest_memory_file_LDADD = $(libguest_test_ldadd)
tests_unit_libguest_memory_page_table_SOURCES = tests/unit/libguest/memory/page-table.c \
	tests/unit/libguest/walk.h
tests_unit_libguest_memory_page_table_CPPFLAGS = $(libguest_test_cppflags)
tests_unit_libguest_memory_page_table_LDADD = $(libguest_test_ldadd)
tests_unit_libguest_memory_xen_SOURCES = tests/unit/libguest/memory/xen.c $(libguest_synthetic)
tests_unit_libguest_memory_xen_CPPFLAGS = $(libguest_test_cppflags) $(XEN_CFLAGS)
tests_unit_libguest_memory_xen_LDADD = $(libguest_test_ldadd)
tests_unit_libguest_memory_page_table_arm64_SOURCES = tests/unit/libguest/memory/page-table-arm64.c \
	tests/unit/libguest/walk.h
tests_unit_libguest_memory_page_table_arm64_CPPFLAGS = $(libguest_test_cppflags)
tests_unit_libguest_memory_page_table_arm64_LDADD = $(libguest_test_ldadd)
tests_unit_libguest_kernel_arm64_SOURCES = tests/unit/libguest/kernel/arm64.c \
	tests/unit/libguest/opened.h $(libguest_synthetic)
tests_unit_libguest_kernel_arm64_CPPFLAGS = $(libguest_test_cppflags)
tests_unit_libguest_kernel_arm64_LDADD = $(libguest_test_ldadd)
tests_unit_libguest_tasks_inodes_SOURCES = tests/unit/libguest/tasks/inodes.c \
	tests/unit/libguest/opened.h $(libguest_synthetic)
tests_unit_libguest_tasks_inodes_CPPFLAGS = $(libguest_test_cppflags)
tests_unit_libguest_tasks_inodes_LDADD = $(libguest_test_ldadd)
tests_unit_libguest_tasks_numbers_SOURCES = tests/unit/libguest/tasks/numbers.c \
	tests/unit/libguest/opened.h $(libguest_synthetic)
tests_unit_libguest_tasks_numbers_CPPFLAGS = $(libguest_test_cppflags)
tests_unit_libguest_tasks_numbers_LDADD = $(libguest_test_ldadd)
tests_unit_libguest_tasks_threads_SOURCES = tests/unit/libguest/tasks/threads.c \
	tests/unit/libguest/opened.h $(libguest_synthetic)
tests_unit_libguest_tasks_threads_CPPFLAGS = $(libguest_test_cppflags)
tests_unit_libguest_tasks_threads_LDADD = $(libguest_test_ldadd)

# tests/rigs/introspect-run compares a captured guest with its own /proc by these programs.
noinst_PROGRAMS += tests/unit/libguest/compare tests/unit/libguest/compare-samples
tests_unit_libguest_compare_LDADD = libguest/libguest.la libutil/libutil.la
tests_unit_libguest_compare_samples_LDADD = libguest/libguest.la libutil/libutil.la

TESTS += tests/integration/guest-profile.sh
EXTRA_DIST += tests/integration/guest-profile.sh
check_PROGRAMS += tests/integration/guest-types
tests_integration_guest_types_CFLAGS = $(AM_CFLAGS) -g

# A saved image for tests/integration/control-inspect.sh.
check_PROGRAMS += tests/fixtures/make-guest-image
tests_fixtures_make_guest_image_SOURCES = tests/fixtures/make-guest-image.c $(libguest_synthetic)
tests_fixtures_make_guest_image_LDADD = libguest/libguest.la libutil/libutil.la
