# SPDX-License-Identifier: GPL-2.0-or-later
opreport_unit_tests = tests/unit/opreport/query/event-name tests/unit/opreport/output/line-width \
	tests/unit/opreport/query/idle tests/unit/opreport/query/lives tests/unit/opreport/output/output tests/unit/opreport/query/query tests/unit/opreport/query/ratio tests/unit/opreport/query/symbols \
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
	tests/unit/opreport/stacks/svg-text
if HAVE_PPROF
opreport_unit_tests += tests/unit/opreport/stacks/profile-sample
endif
if HAVE_CMOCKA
check_PROGRAMS += $(opreport_unit_tests)
TESTS += $(opreport_unit_tests)
endif
opreport_test_cppflags = $(TEST_CPPFLAGS) $(TEST_CMOCKA)
opreport_test_ldadd = opreport/libopreport.la $(CMOCKA_LIBS)
tests_unit_opreport_query_event_name_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_event_name_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_output_line_width_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_output_line_width_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_idle_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_idle_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_lives_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_lives_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_symbols_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_symbols_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_output_output_CPPFLAGS = $(opreport_test_cppflags) $(JANSSON_CFLAGS)
tests_unit_opreport_output_output_LDADD = $(opreport_test_ldadd) $(JANSSON_LIBS)
tests_unit_opreport_query_query_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_query_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_ratio_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_ratio_LDADD = $(opreport_test_ldadd) -lm
tests_unit_opreport_arrange_session_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_arrange_session_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_spec_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_spec_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_query_tally_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_tally_LDADD = $(opreport_test_ldadd)
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
check_PROGRAMS += tests/fixtures/split
tests_fixtures_split_CFLAGS = -std=gnu11 $(WARN_CFLAGS) -O1
tests_fixtures_split_LDFLAGS =
report_integration_tests = \
	tests/integration/report-callgraph.sh \
	tests/integration/report-faults.sh \
	tests/integration/report-lookalikes.sh \
	tests/integration/report-hostile.sh \
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
	tests/integration/report-sessions.sh \
	tests/integration/report-tables.sh
TESTS += $(report_integration_tests)
EXTRA_DIST += tests/unit/opreport/stacks/trees.h tests/integration/flamegraph-check.js
EXTRA_DIST += $(report_integration_tests) tests/integration/report-bounds.sh
