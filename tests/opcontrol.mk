# SPDX-License-Identifier: GPL-2.0-or-later
# vmopcontrol has no library: a test is built with the sources that it tests.
opcontrol_unit_tests = tests/unit/opcontrol/lives
if HAVE_CMOCKA
check_PROGRAMS += $(opcontrol_unit_tests)
TESTS += $(opcontrol_unit_tests)
endif
tests_unit_opcontrol_lives_SOURCES = tests/unit/opcontrol/lives.c opcontrol/lives.c opcontrol/lives.h \
	opcontrol/show.c opcontrol/show.h
tests_unit_opcontrol_lives_CPPFLAGS = $(TEST_CPPFLAGS) $(TEST_CMOCKA) $(JANSSON_CFLAGS) $(SMARTCOLS_CFLAGS)
tests_unit_opcontrol_lives_LDADD = libutil/libutil.la $(JANSSON_LIBS) $(SMARTCOLS_LIBS) $(CMOCKA_LIBS)
