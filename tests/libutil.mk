# SPDX-License-Identifier: GPL-2.0-or-later
libutil_tests = tests/unit/libutil/error tests/unit/libutil/parse tests/unit/libutil/io \
	tests/unit/libutil/setup tests/unit/libutil/set-up/callgraph tests/unit/libutil/set-up/guest-context tests/unit/libutil/protocol tests/unit/libutil/dirs/run-dir \
	tests/unit/libutil/clock tests/unit/libutil/escape tests/unit/libutil/json \
	tests/unit/libutil/label tests/unit/libutil/log tests/unit/libutil/dirs/safe-dir \
	tests/unit/libutil/array tests/unit/libutil/elf/compressed tests/unit/libutil/heap \
	tests/unit/libutil/readers tests/unit/libutil/stack-end tests/unit/libutil/guest-gap \
	tests/unit/libutil/local-time tests/unit/libutil/time-words
if HAVE_CMOCKA
check_PROGRAMS += $(libutil_tests)
TESTS += $(libutil_tests)
endif
libutil_test_cppflags = $(TEST_CPPFLAGS) $(TEST_CMOCKA) $(JANSSON_CFLAGS)
libutil_test_ldadd = libutil/libutil.la $(JANSSON_LIBS) $(CMOCKA_LIBS)
tests_unit_libutil_error_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_error_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_guest_gap_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_guest_gap_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_readers_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_readers_LDADD = $(libutil_test_ldadd) -lpthread
tests_unit_libutil_stack_end_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_stack_end_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_local_time_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_local_time_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_time_words_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_time_words_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_parse_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_parse_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_io_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_io_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_set_up_callgraph_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_set_up_callgraph_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_set_up_guest_context_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_set_up_guest_context_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_setup_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_setup_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_protocol_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_protocol_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_dirs_run_dir_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_dirs_run_dir_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_clock_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_clock_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_escape_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_escape_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_json_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_json_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_label_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_label_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_log_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_log_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_dirs_safe_dir_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_dirs_safe_dir_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_heap_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_heap_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_array_CPPFLAGS = $(libutil_test_cppflags)
tests_unit_libutil_array_LDADD = $(libutil_test_ldadd)
tests_unit_libutil_elf_compressed_CPPFLAGS = $(libutil_test_cppflags) $(ZLIB_CFLAGS) $(ZSTD_CFLAGS)
tests_unit_libutil_elf_compressed_LDADD = libutil/libcompressed.la $(ZLIB_LIBS) $(ZSTD_LIBS) $(CMOCKA_LIBS)
