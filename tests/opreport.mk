# SPDX-License-Identifier: GPL-2.0-or-later
opreport_unit_tests = tests/unit/opreport/query/arena tests/unit/opreport/query/event-name tests/unit/opreport/output/line-width tests/unit/opreport/output/text-table \
	tests/unit/opreport/output/value-text \
	tests/unit/opreport/query/guest-clock tests/unit/opreport/query/idle tests/unit/opreport/query/kept-file tests/unit/opreport/query/kept-sums tests/unit/opreport/query/lives tests/unit/opreport/output/output tests/unit/opreport/query/query tests/unit/opreport/query/ratio tests/unit/opreport/query/run-memo tests/unit/opreport/query/symbols \
	tests/unit/opreport/annotate/disassembly \
	tests/unit/opreport/annotate/listing \
	tests/unit/opreport/annotate/open-fields \
	tests/unit/opreport/annotate/source-file \
	tests/unit/opreport/options/option-word \
	tests/unit/opreport/compare/braces \
	tests/unit/opreport/compare/estimate \
	tests/unit/opreport/compare/per \
	tests/unit/opreport/compare/run/process-tree \
	tests/unit/opreport/compare/routine \
	tests/unit/opreport/compare/side-words \
	tests/unit/opreport/compare/figure \
	tests/unit/opreport/compare/comparison \
	tests/unit/opreport/arrange/losses \
	tests/unit/opreport/arrange/session tests/unit/opreport/query/spec tests/unit/opreport/query/tally \
	tests/unit/opreport/stacks/call-path \
	tests/unit/opreport/stacks/call-tree \
	tests/unit/opreport/stacks/callgraph \
	tests/unit/opreport/stacks/code-memo \
	tests/unit/opreport/stacks/flame-layout \
	tests/unit/opreport/stacks/frame \
	tests/unit/opreport/stacks/inline-tree \
	tests/unit/opreport/stacks/inverse-tree \
	tests/unit/opreport/stacks/stack-filter \
	tests/unit/opreport/stacks/stack-memo \
	tests/unit/opreport/stacks/stack-reader \
	tests/unit/opreport/stacks/svg-text \
	tests/unit/opreport/stacks/time-counts \
	tests/unit/opreport/stacks/time-extents \
	tests/unit/opreport/export/html/histogram \
	tests/unit/opreport/export/html/page \
	tests/unit/opreport/export/html/rows \
	tests/unit/opreport/export/html/texts \
	tests/unit/opreport/export/json-writer \
	tests/unit/opreport/top/top-grid tests/unit/opreport/top/top-view
opreport_unit_tests += tests/unit/opreport/charts/chart-settings tests/unit/opreport/charts/scale \
	tests/unit/opreport/charts/time-grid tests/unit/opreport/query/time-slots \
	tests/unit/opreport/query/overlap tests/unit/opreport/query/time-steps \
	tests/unit/opreport/gate/bound \
	tests/unit/opreport/waits/exit-reason \
	tests/unit/opreport/waits/waits-sheet tests/unit/opreport/waits/task-times \
	tests/unit/opreport/waits/task-times-sheet \
	tests/unit/opreport/gate/change tests/unit/opreport/gate/shares-json
if HAVE_CHARTS
opreport_unit_tests += tests/unit/opreport/charts/chart-output tests/unit/opreport/charts/palette
endif
if HAVE_PPROF
opreport_unit_tests += tests/unit/opreport/stacks/profile-sample
endif
if HAVE_CMOCKA
check_PROGRAMS += $(opreport_unit_tests)
TESTS += $(opreport_unit_tests)
endif
EXTRA_DIST += tests/unit/opreport/waits/guest-tasks.h
opreport_test_cppflags = $(TEST_CPPFLAGS) $(TEST_CMOCKA)
opreport_test_ldadd = opreport/libopreport.la $(CMOCKA_LIBS)
tests_unit_opreport_compare_braces_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_compare_braces_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_compare_estimate_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_compare_estimate_LDADD = $(opreport_test_ldadd) -lm
tests_unit_opreport_compare_run_process_tree_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_compare_run_process_tree_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_compare_per_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_compare_per_LDADD = $(opreport_test_ldadd) -lm
tests_unit_opreport_compare_routine_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_compare_routine_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_compare_side_words_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_compare_side_words_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_compare_figure_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_compare_figure_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_compare_comparison_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_compare_comparison_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_annotate_disassembly_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_annotate_disassembly_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_annotate_listing_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_annotate_listing_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_annotate_open_fields_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_annotate_open_fields_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_annotate_source_file_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_annotate_source_file_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_options_option_word_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_options_option_word_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_charts_chart_output_CPPFLAGS = $(opreport_test_cppflags) $(CHARTS_CFLAGS)
tests_unit_opreport_charts_chart_output_LDADD = opreport/libcharts.la $(opreport_test_ldadd) $(CHARTS_LIBS) -lm
tests_unit_opreport_charts_chart_settings_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_charts_chart_settings_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_charts_palette_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_charts_palette_LDADD = opreport/libcharts.la $(opreport_test_ldadd) -lm
tests_unit_opreport_charts_scale_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_charts_scale_LDADD = $(opreport_test_ldadd) -lm
tests_unit_opreport_charts_time_grid_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_charts_time_grid_LDADD = $(opreport_test_ldadd) -lm
tests_unit_opreport_waits_exit_reason_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_waits_exit_reason_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_waits_waits_sheet_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_waits_waits_sheet_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_waits_task_times_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_waits_task_times_LDADD = $(opreport_test_ldadd) -lm
tests_unit_opreport_waits_task_times_sheet_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_waits_task_times_sheet_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_gate_bound_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_gate_bound_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_gate_change_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_gate_change_LDADD = $(opreport_test_ldadd) -lm
tests_unit_opreport_gate_shares_json_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_gate_shares_json_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_time_steps_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_time_steps_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_overlap_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_overlap_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_time_slots_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_time_slots_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_event_name_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_event_name_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_output_line_width_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_output_line_width_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_output_text_table_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_output_text_table_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_output_value_text_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_output_value_text_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_guest_clock_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_guest_clock_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_idle_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_idle_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_lives_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_lives_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_symbols_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_symbols_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_output_output_CPPFLAGS = $(opreport_test_cppflags) $(JANSSON_CFLAGS)
tests_unit_opreport_output_output_LDADD = $(opreport_test_ldadd) $(JANSSON_LIBS)
tests_unit_opreport_query_kept_file_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_kept_file_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_kept_sums_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_kept_sums_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_query_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_query_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_ratio_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_ratio_LDADD = $(opreport_test_ldadd) -lm
tests_unit_opreport_arrange_losses_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_arrange_losses_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_arrange_session_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_arrange_session_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_arena_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_arena_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_run_memo_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_run_memo_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_spec_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_spec_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_tally_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_tally_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_export_html_histogram_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_export_html_histogram_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_export_html_page_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_export_html_page_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_export_html_rows_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_export_html_rows_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_export_html_texts_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_export_html_texts_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_stacks_time_counts_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_stacks_time_counts_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_stacks_time_extents_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_stacks_time_extents_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_export_json_writer_CPPFLAGS = $(opreport_test_cppflags) $(JANSSON_CFLAGS)
tests_unit_opreport_export_json_writer_LDADD = $(opreport_test_ldadd) $(JANSSON_LIBS) -lm
tests_unit_opreport_stacks_code_memo_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_stacks_code_memo_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_stacks_flame_layout_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_stacks_flame_layout_LDADD = $(opreport_test_ldadd) -lm
tests_unit_opreport_stacks_svg_text_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_stacks_svg_text_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_stacks_call_path_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_stacks_call_path_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_stacks_call_tree_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_stacks_call_tree_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_stacks_callgraph_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_stacks_callgraph_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_stacks_frame_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_stacks_frame_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_stacks_inline_tree_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_stacks_inline_tree_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_stacks_inverse_tree_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_stacks_inverse_tree_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_stacks_stack_filter_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_stacks_stack_filter_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_stacks_profile_sample_CPPFLAGS = $(opreport_test_cppflags) $(PROTOBUF_C_CFLAGS)
tests_unit_opreport_stacks_profile_sample_LDADD = $(opreport_test_ldadd) $(PROTOBUF_C_LIBS)
tests_unit_opreport_stacks_stack_memo_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_stacks_stack_memo_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_stacks_stack_reader_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_stacks_stack_reader_LDADD = $(opreport_test_ldadd)

# The program as a user runs it, on sessions of tests/fixtures and of this machine.
check_PROGRAMS += tests/fixtures/split tests/fixtures/slower
tests_fixtures_slower_CFLAGS = -std=gnu11 $(WARN_CFLAGS) -O1
tests_fixtures_split_CFLAGS = -std=gnu11 $(WARN_CFLAGS) -O1
tests_fixtures_split_LDFLAGS =
report_integration_tests = \
	tests/integration/compare-real.sh \
	tests/integration/compare-run.sh \
	tests/integration/compare-sessions.sh \
	tests/integration/annotate-assembly.sh \
	tests/integration/annotate-guest.sh \
	tests/integration/annotate-generated.sh \
	tests/integration/annotate-hostile.sh \
	tests/integration/annotate-kernel.sh \
	tests/integration/archive-hostile.sh \
	tests/integration/archive-real.sh \
	tests/integration/annotate-source.sh \
	tests/integration/report-callgraph.sh \
	tests/integration/report-charts.sh \
	tests/integration/report-export.sh \
	tests/integration/report-html.sh \
	tests/integration/report-faults.sh \
	tests/integration/report-lookalikes.sh \
	tests/integration/report-many-sessions.sh \
	tests/integration/report-hostile.sh \
	tests/integration/report-hostile-exports.sh \
	tests/integration/report-hostile-samples.sh \
	tests/integration/report-hostile-stacks.sh \
	tests/integration/report-inlines.sh \
	tests/integration/report-long-names.sh \
	tests/integration/report-options.sh \
	tests/integration/report-ratios.sh \
	tests/integration/report-real.sh \
	tests/integration/report-flamegraph.sh \
	tests/integration/report-folded.sh \
	tests/integration/report-pprof.sh \
	tests/integration/report-gate.sh \
	tests/integration/report-series.sh \
	tests/integration/report-sessions.sh \
	tests/integration/report-speedscope.sh tests/integration/report-firefox.sh \
	tests/integration/report-stream.sh \
	tests/integration/report-tables.sh \
	tests/integration/report-xml.sh \
	tests/integration/top.sh
TESTS += $(report_integration_tests)
EXTRA_DIST += tests/unit/opreport/stacks/trees.h tests/integration/flamegraph-check.js
EXTRA_DIST += tests/integration/export-check.py tests/integration/html-check.js \
	tests/integration/browse.py
EXTRA_DIST += $(report_integration_tests) tests/integration/report-bounds.sh
tests_unit_opreport_top_top_grid_SOURCES = tests/unit/opreport/top/top-grid.c opreport/top/top-grid.c
tests_unit_opreport_top_top_grid_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_top_top_grid_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_top_top_view_SOURCES = tests/unit/opreport/top/top-view.c opreport/top/top-view.c
tests_unit_opreport_top_top_view_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_top_top_view_LDADD = $(opreport_test_ldadd)

# Archives: unit tests, and a program for tests/integration/archive-hostile.sh.
check_PROGRAMS += tests/fixtures/xxh128
tests_fixtures_xxh128_CFLAGS = $(AM_CFLAGS) $(XXHASH_CFLAGS)
tests_fixtures_xxh128_LDADD = $(XXHASH_LIBS)
archive_unit_tests = tests/unit/opreport/archive/archive tests/unit/opreport/archive/manifest \
	tests/unit/opreport/archive/manifest-json tests/unit/opreport/archive/time-zone
tests_unit_opreport_archive_archive_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_archive_archive_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_archive_manifest_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_archive_manifest_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_archive_manifest_json_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_archive_manifest_json_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_archive_time_zone_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_archive_time_zone_LDADD = $(opreport_test_ldadd)
if HAVE_LIBARCHIVE
archive_unit_tests += tests/unit/opreport/archive/staging
endif
tests_unit_opreport_archive_staging_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_archive_staging_LDADD = opreport/libarchiver.la $(CMOCKA_LIBS)
if HAVE_CMOCKA
check_PROGRAMS += $(archive_unit_tests)
TESTS += $(archive_unit_tests)
endif
