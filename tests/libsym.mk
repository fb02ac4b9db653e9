# SPDX-License-Identifier: GPL-2.0-or-later
# The tests read the program target.  It has flags of its own: no sanitizer, which would add functions,
# and a build-id that tests/unit/libsym/build-id.c expects.  target-fixed is not a PIE and has the PLTs
# of Intel's CET if the linker supports them; target-static has the C library's thousands of functions.
if HAVE_CMOCKA
LIBSYM_TESTS = \
	tests/unit/libsym/build-id \
	tests/unit/libsym/cache/cache-file \
	tests/unit/libsym/cache/cache-trim \
	tests/unit/libsym/cache/image-names \
	tests/unit/libsym/cache/mapped-symtab \
	tests/unit/libsym/cache/name-cache \
	tests/unit/libsym/cache/symbol-cache \
	tests/unit/libsym/cost \
	tests/unit/libsym/debuginfod \
	tests/unit/libsym/jit/jitdump \
	tests/unit/libsym/dwarf/inline-index \
	tests/unit/libsym/dwarf/line-cost \
	tests/unit/libsym/dwarf/line-index \
	tests/unit/libsym/dwarf/module-place \
	tests/unit/libsym/elf/unpack \
	tests/unit/libsym/file-answers \
	tests/unit/libsym/found-files \
	tests/unit/libsym/inlines \
	tests/unit/libsym/kallsyms \
	tests/unit/libsym/lines \
	tests/unit/libsym/module-code \
	tests/unit/libsym/module-files \
	tests/unit/libsym/name \
	tests/unit/libsym/jit/perf-map \
	tests/unit/libsym/dwarf/range-map \
	tests/unit/libsym/resolver \
	tests/unit/libsym/symtab
check_PROGRAMS += $(LIBSYM_TESTS) tests/unit/libsym/target \
	tests/unit/libsym/target-fixed tests/unit/libsym/target-static
TESTS += $(LIBSYM_TESTS)
endif
EXTRA_DIST += tests/unit/libsym/corpus-module.h
libsym_test_cppflags = $(TEST_CPPFLAGS) $(TEST_CMOCKA)
libsym_test_ldadd = libsym/libsym.la libutil/libutil.la $(CMOCKA_LIBS)
tests_unit_libsym_target_CFLAGS = $(libsym_target_cflags)
tests_unit_libsym_target_LDFLAGS = -no-install \
	-Wl,--export-dynamic-symbol=target_exported -Wl,--build-id=0x5eed0123456789abcdef5eed0123456789abcdef
libsym_target_cflags = -O0 -g -fno-stack-protector $(WARN_CFLAGS) -Wno-missing-prototypes
tests_unit_libsym_target_fixed_SOURCES = tests/unit/libsym/target.c
tests_unit_libsym_target_fixed_CFLAGS = $(libsym_target_cflags) -fno-pie
tests_unit_libsym_target_fixed_LDFLAGS = -no-install -no-pie -Wl,-z,ibtplt -Wl,-z,lazy
tests_unit_libsym_target_static_SOURCES = tests/unit/libsym/target.c
tests_unit_libsym_target_static_CFLAGS = $(libsym_target_cflags)
tests_unit_libsym_target_static_LDFLAGS = -all-static
tests_unit_libsym_build_id_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_build_id_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_cache_cache_trim_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_cache_cache_trim_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_cache_image_names_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_cache_image_names_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_cache_mapped_symtab_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_cache_mapped_symtab_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_cache_cache_file_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_cache_cache_file_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_cache_name_cache_CPPFLAGS = $(libsym_test_cppflags) $(XXHASH_CFLAGS)
tests_unit_libsym_cache_name_cache_LDADD = $(libsym_test_ldadd) $(XXHASH_LIBS)
tests_unit_libsym_cache_symbol_cache_CPPFLAGS = $(libsym_test_cppflags) $(XXHASH_CFLAGS)
tests_unit_libsym_cache_symbol_cache_LDADD = $(libsym_test_ldadd) $(XXHASH_LIBS)
tests_unit_libsym_cost_CPPFLAGS = $(libsym_test_cppflags) $(LZMA_CFLAGS)
tests_unit_libsym_cost_LDADD = $(libsym_test_ldadd) $(LZMA_LIBS)
tests_unit_libsym_debuginfod_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_debuginfod_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_jit_jitdump_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_jit_jitdump_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_kallsyms_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_kallsyms_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_symtab_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_symtab_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_name_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_name_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_jit_perf_map_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_jit_perf_map_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_resolver_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_resolver_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_dwarf_range_map_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_dwarf_range_map_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_dwarf_inline_index_CPPFLAGS = $(libsym_test_cppflags) $(LIBELF_CFLAGS)
tests_unit_libsym_dwarf_inline_index_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_dwarf_line_cost_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_dwarf_line_cost_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_dwarf_line_index_CPPFLAGS = $(libsym_test_cppflags) $(LIBELF_CFLAGS)
tests_unit_libsym_dwarf_line_index_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_dwarf_module_place_CPPFLAGS = $(libsym_test_cppflags) $(LIBELF_CFLAGS)
tests_unit_libsym_dwarf_module_place_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_elf_unpack_CPPFLAGS = $(libsym_test_cppflags) $(LZMA_CFLAGS) $(ZSTD_CFLAGS) $(ZLIB_CFLAGS)
tests_unit_libsym_elf_unpack_LDADD = $(libsym_test_ldadd) $(LZMA_LIBS) $(ZSTD_LIBS) $(ZLIB_LIBS)
tests_unit_libsym_module_code_CPPFLAGS = $(libsym_test_cppflags) $(LIBELF_CFLAGS)
tests_unit_libsym_module_code_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_module_files_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_module_files_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_file_answers_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_file_answers_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_found_files_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_found_files_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_lines_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_lines_LDADD = $(libsym_test_ldadd)
tests_unit_libsym_inlines_CPPFLAGS = $(libsym_test_cppflags)
tests_unit_libsym_inlines_LDADD = $(libsym_test_ldadd)

# Optimized and without sanitizers, with DWARF 5 and 4.
check_PROGRAMS += tests/fixtures/inlines tests/fixtures/inlines-dwarf4
inlines_sources = tests/fixtures/inlines.c tests/fixtures/inlines-other.c tests/fixtures/inlines.h
inlines_cflags = -O2 -fno-lto -fno-optimize-sibling-calls $(WARN_CFLAGS)
tests_fixtures_inlines_SOURCES = $(inlines_sources)
tests_fixtures_inlines_CFLAGS = $(inlines_cflags) -gdwarf-5
tests_fixtures_inlines_LDFLAGS = -no-install -Wl,--build-id=0x1171e5ee1171e5ee1171e5ee1171e5ee1171e5ee
tests_fixtures_inlines_dwarf4_SOURCES = $(inlines_sources)
tests_fixtures_inlines_dwarf4_CFLAGS = $(inlines_cflags) -gdwarf-4
tests_fixtures_inlines_dwarf4_LDFLAGS = -no-install
