# SPDX-License-Identifier: GPL-2.0-or-later
opreport_unit_tests = tests/unit/opreport-event-name tests/unit/opreport-fit \
	tests/unit/opreport-idle tests/unit/opreport-lives tests/unit/opreport-output tests/unit/opreport-query tests/unit/opreport-ratio \
	tests/unit/opreport-sessions tests/unit/opreport-spec tests/unit/opreport-tally
if HAVE_CMOCKA
check_PROGRAMS += $(opreport_unit_tests)
TESTS += $(opreport_unit_tests)
endif
opreport_test_cppflags = $(TEST_CPPFLAGS) $(TEST_CMOCKA)
opreport_test_ldadd = opreport/libopreport.la $(CMOCKA_LIBS)
tests_unit_opreport_event_name_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_event_name_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_fit_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_fit_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_idle_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_idle_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_lives_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_lives_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_output_CPPFLAGS = $(opreport_test_cppflags) $(JANSSON_CFLAGS)
tests_unit_opreport_output_LDADD = $(opreport_test_ldadd) $(JANSSON_LIBS)
tests_unit_opreport_query_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_query_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_ratio_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_ratio_LDADD = $(opreport_test_ldadd) -lm
tests_unit_opreport_sessions_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_sessions_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_spec_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_spec_LDADD = $(opreport_test_ldadd)
tests_unit_opreport_tally_CPPFLAGS = $(opreport_test_cppflags)
tests_unit_opreport_tally_LDADD = $(opreport_test_ldadd)

# The program as a user runs it, on sessions of tests/fixtures and of this machine.
check_PROGRAMS += tests/fixtures/split
tests_fixtures_split_CFLAGS = -std=gnu11 $(WARN_CFLAGS) -O1
tests_fixtures_split_LDFLAGS =
report_integration_tests = \
	tests/integration/report-faults.sh \
	tests/integration/report-lookalikes.sh \
	tests/integration/report-hostile.sh \
	tests/integration/report-hostile-samples.sh \
	tests/integration/report-long-names.sh \
	tests/integration/report-options.sh \
	tests/integration/report-ratios.sh \
	tests/integration/report-real.sh \
	tests/integration/report-sessions.sh \
	tests/integration/report-tables.sh
TESTS += $(report_integration_tests)
EXTRA_DIST += $(report_integration_tests) tests/integration/report-bounds.sh
