# SPDX-License-Identifier: GPL-2.0-or-later
libguest_test_ldadd = libguest/libguest.la libutil/libutil.la $(CMOCKA_LIBS)

# What tests/rigs/introspect-run compares a captured guest with its own /proc by.
noinst_PROGRAMS += tests/unit/libguest-compare
tests_unit_libguest_compare_LDADD = libguest/libguest.la libutil/libutil.la
