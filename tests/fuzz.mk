# SPDX-License-Identifier: GPL-2.0-or-later
# tests/fuzz/fuzz-NAME.c is a libFuzzer target.  "make check" drives each over
# a small corpus (driver.c, run-FOLDER). With CC=clang-14 --enable-fuzz the target
# is linked with libFuzzer instead: tests/fuzz/fuzz-NAME CORPUS-FOLDER.
FUZZ_TARGETS = \
	tests/fuzz/fuzz-active \
	tests/fuzz/fuzz-appio-memory \
	tests/fuzz/fuzz-active-frame \
	tests/fuzz/fuzz-active-links \
	tests/fuzz/fuzz-active-samples \
	tests/fuzz/fuzz-build-id \
	tests/fuzz/fuzz-cfi \
	tests/fuzz/fuzz-demangle \
	tests/fuzz/fuzz-elf \
	tests/fuzz/fuzz-guest-sample \
	tests/fuzz/fuzz-hypervisor \
	tests/fuzz/fuzz-jitdump \
	tests/fuzz/fuzz-inlines \
	tests/fuzz/fuzz-kallsyms \
	tests/fuzz/fuzz-kept-file \
	tests/fuzz/fuzz-lines \
	tests/fuzz/fuzz-libguest \
	tests/fuzz/fuzz-libguest-kernel \
	tests/fuzz/fuzz-libguest-samples \
	tests/fuzz/fuzz-memory-file \
	tests/fuzz/fuzz-pack \
	tests/fuzz/fuzz-perf-map \
	tests/fuzz/fuzz-perf-ring \
	tests/fuzz/fuzz-plt \
	tests/fuzz/fuzz-protocol \
	tests/fuzz/fuzz-baseline \
	tests/fuzz/fuzz-name-cache \
	tests/fuzz/fuzz-report-stacks \
	tests/fuzz/fuzz-session \
	tests/fuzz/fuzz-session-journal \
	tests/fuzz/fuzz-setup \
	tests/fuzz/fuzz-stat-rows \
	tests/fuzz/fuzz-stream \
	tests/fuzz/fuzz-orc \
	tests/fuzz/fuzz-unpack \
	tests/fuzz/fuzz-unwind \
	tests/fuzz/fuzz-unwind-table \
	tests/fuzz/fuzz-window \
	tests/fuzz/fuzz-xen-names \
	tests/fuzz/fuzz-xen-records \
	tests/fuzz/fuzz-xen-ring
if HAVE_LIBARCHIVE
FUZZ_TARGETS += tests/fuzz/fuzz-archive
endif
check_PROGRAMS += $(FUZZ_TARGETS)
RUN_FUZZ_TARGETS = tests/fuzz/run-daemon tests/fuzz/run-libutil tests/fuzz/run-libdb tests/fuzz/run-libsym \
	tests/fuzz/run-libguest tests/fuzz/run-libstack tests/fuzz/run-hv-interface \
	tests/fuzz/run-opreport tests/fuzz/run-libvmop
# Not FUZZ_LDFLAGS: automake would take it for the flags of a program "FUZZ".
if FUZZ
FUZZ_DRIVER =
LIBFUZZER_FLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
else
FUZZ_DRIVER = tests/fuzz/driver.c
LIBFUZZER_FLAGS = $(AM_LDFLAGS)
TESTS += $(RUN_FUZZ_TARGETS)
endif
EXTRA_DIST += tests/fuzz/README.md tests/fuzz/driver.c tests/fuzz/pack-session $(RUN_FUZZ_TARGETS) tests/fuzz/corpus

tests_fuzz_fuzz_active_SOURCES = tests/fuzz/fuzz-active.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_active_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_active_LDADD = hv-interface/libhvinterface.la
tests_fuzz_fuzz_active_links_SOURCES = tests/fuzz/fuzz-active-links.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_active_links_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_active_links_LDADD = daemon/libdaemon.la hv-interface/libhvinterface.la libutil/libutil.la
tests_fuzz_fuzz_active_samples_SOURCES = tests/fuzz/fuzz-active-samples.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_active_samples_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_active_samples_LDADD = hv-interface/libhvinterface.la libutil/libutil.la
tests_fuzz_fuzz_appio_memory_SOURCES = tests/fuzz/fuzz-appio-memory.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_appio_memory_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_appio_memory_LDADD = libvmop/stat/libstat.la hv-interface/libappio.la libutil/libutil.la $(JANSSON_LIBS) -lm
tests_fuzz_fuzz_active_frame_SOURCES = tests/fuzz/fuzz-active-frame.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_active_frame_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_active_frame_LDADD = hv-interface/libhvinterface.la
tests_fuzz_fuzz_hypervisor_SOURCES = tests/fuzz/fuzz-hypervisor.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_hypervisor_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_hypervisor_LDADD = libvmop/stat/libstat.la
tests_fuzz_fuzz_build_id_SOURCES = tests/fuzz/fuzz-build-id.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_build_id_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_build_id_LDADD = libsym/libsym.la libutil/libutil.la
tests_fuzz_fuzz_cfi_SOURCES = tests/fuzz/fuzz-cfi.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_cfi_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_cfi_LDADD = libstack/libstack.la libutil/libutil.la
tests_fuzz_fuzz_plt_SOURCES = tests/fuzz/fuzz-plt.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_plt_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_plt_LDADD = libsym/libsym.la libutil/libutil.la
tests_fuzz_fuzz_demangle_SOURCES = tests/fuzz/fuzz-demangle.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_demangle_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_demangle_LDADD = libsym/libsym.la libutil/libutil.la
tests_fuzz_fuzz_name_cache_SOURCES = tests/fuzz/fuzz-name-cache.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_name_cache_CFLAGS = $(AM_CFLAGS) $(XXHASH_CFLAGS)
tests_fuzz_fuzz_name_cache_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_name_cache_LDADD = libsym/libsym.la libutil/libutil.la $(XXHASH_LIBS)
tests_fuzz_fuzz_elf_SOURCES = tests/fuzz/fuzz-elf.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_elf_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_elf_LDADD = libsym/libsym.la libutil/libutil.la
tests_fuzz_fuzz_jitdump_SOURCES = tests/fuzz/fuzz-jitdump.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_jitdump_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_jitdump_LDADD = libsym/libsym.la libutil/libutil.la
tests_fuzz_fuzz_inlines_SOURCES = tests/fuzz/fuzz-inlines.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_inlines_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_inlines_LDADD = libsym/libsym.la libutil/libutil.la
tests_fuzz_fuzz_lines_SOURCES = tests/fuzz/fuzz-lines.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_lines_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_lines_LDADD = libsym/libsym.la libutil/libutil.la
tests_fuzz_fuzz_unpack_SOURCES = tests/fuzz/fuzz-unpack.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_unpack_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_unpack_LDADD = libsym/libsym.la libutil/libutil.la
tests_fuzz_fuzz_kallsyms_SOURCES = tests/fuzz/fuzz-kallsyms.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_kallsyms_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_kallsyms_LDADD = libsym/libsym.la libutil/libutil.la
tests_fuzz_fuzz_libguest_SOURCES = tests/fuzz/fuzz-libguest.c tests/unit/libguest/synthetic.c tests/unit/libguest/synthetic-arm64.c \
	tests/unit/libguest/synthetic.h tests/fuzz/damaged-guest.h $(FUZZ_DRIVER)
tests_fuzz_fuzz_libguest_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_libguest_LDADD = libguest/libguest.la libutil/libutil.la
tests_fuzz_fuzz_libguest_kernel_SOURCES = tests/fuzz/fuzz-libguest-kernel.c \
	tests/unit/libguest/synthetic.c tests/unit/libguest/synthetic-arm64.c tests/unit/libguest/synthetic.h $(FUZZ_DRIVER)
tests_fuzz_fuzz_libguest_kernel_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_libguest_kernel_LDADD = libguest/libguest.la libutil/libutil.la
tests_fuzz_fuzz_libguest_samples_SOURCES = tests/fuzz/fuzz-libguest-samples.c tests/fuzz/damaged-guest.h \
	tests/unit/libguest/synthetic.c tests/unit/libguest/synthetic-arm64.c tests/unit/libguest/synthetic.h $(FUZZ_DRIVER)
tests_fuzz_fuzz_libguest_samples_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_libguest_samples_LDADD = libguest/libguest.la libutil/libutil.la
tests_fuzz_fuzz_memory_file_SOURCES = tests/fuzz/fuzz-memory-file.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_memory_file_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_memory_file_LDADD = libguest/libguest.la libutil/libutil.la
tests_fuzz_fuzz_perf_map_SOURCES = tests/fuzz/fuzz-perf-map.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_perf_map_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_perf_map_LDADD = libsym/libsym.la libutil/libutil.la
tests_fuzz_fuzz_perf_ring_SOURCES = tests/fuzz/fuzz-perf-ring.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_perf_ring_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_perf_ring_LDADD = hv-interface/libhvinterface.la
tests_fuzz_fuzz_stream_SOURCES = tests/fuzz/fuzz-stream.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_stream_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_stream_LDADD = hv-interface/libhvinterface.la
tests_fuzz_fuzz_window_SOURCES = tests/fuzz/fuzz-window.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_window_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_window_LDADD = daemon/libdaemon.la libutil/libutil.la
tests_fuzz_fuzz_xen_names_SOURCES = tests/fuzz/fuzz-xen-names.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_xen_names_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_xen_names_LDADD = daemon/libdaemon.la libguest/libguest.la \
	hv-interface/libhvinterface.la libdb/libdb.la libsym/libsymtab.la libutil/libutil.la
tests_fuzz_fuzz_xen_records_SOURCES = tests/fuzz/fuzz-xen-records.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_xen_records_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_xen_records_LDADD = hv-interface/libhvinterface.la
tests_fuzz_fuzz_xen_ring_SOURCES = tests/fuzz/fuzz-xen-ring.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_xen_ring_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_xen_ring_LDADD = hv-interface/libhvinterface.la
tests_fuzz_fuzz_pack_SOURCES = tests/fuzz/fuzz-pack.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_pack_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_pack_LDADD = libdb/libdb.la
tests_fuzz_fuzz_archive_SOURCES = tests/fuzz/fuzz-archive.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_archive_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_archive_LDADD = opreport/libarchiver.la
tests_fuzz_fuzz_baseline_SOURCES = tests/fuzz/fuzz-baseline.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_baseline_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_baseline_LDADD = opreport/libopreport.la
tests_fuzz_fuzz_kept_file_SOURCES = tests/fuzz/fuzz-kept-file.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_kept_file_CFLAGS = $(AM_CFLAGS) $(XXHASH_CFLAGS)
tests_fuzz_fuzz_kept_file_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_kept_file_LDADD = opreport/libopreport.la $(XXHASH_LIBS)
tests_fuzz_fuzz_stat_rows_SOURCES = tests/fuzz/fuzz-stat-rows.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_stat_rows_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_stat_rows_LDADD = libvmop/stat/libstat.la libutil/libutil.la $(JANSSON_LIBS) -lm
tests_fuzz_fuzz_report_stacks_SOURCES = tests/fuzz/fuzz-report-stacks.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_report_stacks_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_report_stacks_LDADD = opreport/libopreport.la
tests_fuzz_fuzz_session_SOURCES = tests/fuzz/fuzz-session.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_session_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_session_LDADD = libdb/libdb.la
tests_fuzz_fuzz_session_journal_SOURCES = tests/fuzz/fuzz-session-journal.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_session_journal_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_session_journal_LDADD = libdb/libdb.la
tests_fuzz_fuzz_setup_SOURCES = tests/fuzz/fuzz-setup.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_setup_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_setup_LDADD = libutil/libutil.la
tests_fuzz_fuzz_protocol_SOURCES = tests/fuzz/fuzz-protocol.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_protocol_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_fuzz_protocol_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_protocol_LDADD = libutil/libutil.la $(JANSSON_LIBS)
tests_fuzz_fuzz_unwind_SOURCES = tests/fuzz/fuzz-unwind.c tests/fuzz/unwind-world.h \
	tests/unit/libstack/rules.c tests/unit/libstack/rules.h $(FUZZ_DRIVER)
tests_fuzz_fuzz_unwind_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_unwind_LDADD = libstack/libstack.la libutil/libutil.la
tests_fuzz_fuzz_guest_sample_SOURCES = tests/fuzz/fuzz-guest-sample.c \
	$(guest_tables_at_once_sources) $(FUZZ_DRIVER)
tests_fuzz_fuzz_guest_sample_LDFLAGS = $(LIBFUZZER_FLAGS) $(guest_tables_at_once)
tests_fuzz_fuzz_guest_sample_LDADD = daemon/libdaemon.la libstack/libstack.la libguest/libguest.la \
	hv-interface/libhvinterface.la libdb/libdb.la libsym/libsym.la libutil/libutil.la
tests_fuzz_fuzz_orc_SOURCES = tests/fuzz/fuzz-orc.c $(FUZZ_DRIVER)
tests_fuzz_fuzz_orc_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_orc_LDADD = libstack/libstack.la libutil/libutil.la
tests_fuzz_fuzz_unwind_table_SOURCES = tests/fuzz/fuzz-unwind-table.c tests/fuzz/unwind-world.h $(FUZZ_DRIVER)
tests_fuzz_fuzz_unwind_table_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_fuzz_unwind_table_LDADD = libstack/libstack.la libutil/libutil.la
