# SPDX-License-Identifier: GPL-2.0-or-later
libvmop_tests = \
	tests/unit/libvmop/counters \
	tests/unit/libvmop/event-set \
	tests/unit/libvmop/page \
	tests/unit/libvmop/refusals \
	tests/unit/libvmop/region \
	tests/unit/libvmop/targets tests/unit/libvmop/times \
	tests/unit/libvmop/user-read \
	tests/unit/libvmop/watch
if HAVE_CMOCKA
check_PROGRAMS += $(libvmop_tests)
TESTS += $(libvmop_tests)
endif
libvmop_test_cppflags = $(TEST_CPPFLAGS) $(TEST_CMOCKA)
libvmop_test_ldadd = libvmop/libcounters.la hv-interface/libevents.la hv-interface/libruntime.la libutil/libutil.la $(CMOCKA_LIBS) -lpthread
tests_unit_libvmop_counters_CPPFLAGS = $(libvmop_test_cppflags)
tests_unit_libvmop_counters_LDADD = $(libvmop_test_ldadd)
tests_unit_libvmop_event_set_CPPFLAGS = $(libvmop_test_cppflags)
tests_unit_libvmop_event_set_LDADD = $(libvmop_test_ldadd)
tests_unit_libvmop_page_CPPFLAGS = $(libvmop_test_cppflags)
tests_unit_libvmop_page_LDADD = $(libvmop_test_ldadd)
tests_unit_libvmop_refusals_CPPFLAGS = $(libvmop_test_cppflags)
tests_unit_libvmop_refusals_LDADD = $(libvmop_test_ldadd)
tests_unit_libvmop_refusals_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=syscall
tests_unit_libvmop_region_CPPFLAGS = $(libvmop_test_cppflags)
tests_unit_libvmop_region_LDADD = $(libvmop_test_ldadd)
tests_unit_libvmop_targets_CPPFLAGS = $(libvmop_test_cppflags)
tests_unit_libvmop_targets_LDADD = $(libvmop_test_ldadd)
tests_unit_libvmop_times_CPPFLAGS = $(libvmop_test_cppflags)
tests_unit_libvmop_times_LDADD = $(libvmop_test_ldadd)
tests_unit_libvmop_user_read_CPPFLAGS = $(libvmop_test_cppflags)
tests_unit_libvmop_user_read_LDADD = $(libvmop_test_ldadd)
tests_unit_libvmop_watch_CPPFLAGS = $(libvmop_test_cppflags)
tests_unit_libvmop_watch_LDADD = $(libvmop_test_ldadd)

libvmop_stat_tests = tests/unit/libvmop/stat/comparison tests/unit/libvmop/stat/guest-rows \
	tests/unit/libvmop/stat/guest-run tests/unit/libvmop/stat/ratio tests/unit/libvmop/stat/spread \
	tests/unit/libvmop/stat/readings tests/unit/libvmop/stat/time/stops \
	tests/unit/libvmop/stat/hypervisor/cpuid tests/unit/libvmop/stat/hypervisor/detect
EXTRA_DIST += tests/unit/libvmop/stat/tree.h
if HAVE_LIBMNL
libvmop_stat_tests += tests/unit/libvmop/stat/net/guests tests/unit/libvmop/stat/net/infiniband \
	tests/unit/libvmop/stat/net/macvtaps tests/unit/libvmop/stat/net/virtual-functions
endif
tests_unit_libvmop_stat_net_guests_CPPFLAGS = $(libvmop_test_cppflags)
tests_unit_libvmop_stat_net_guests_LDADD = $(libvmop_stat_ldadd)
tests_unit_libvmop_stat_net_infiniband_CPPFLAGS = $(libvmop_test_cppflags)
tests_unit_libvmop_stat_net_infiniband_LDADD = $(libvmop_stat_ldadd)
tests_unit_libvmop_stat_net_macvtaps_CPPFLAGS = $(libvmop_test_cppflags)
tests_unit_libvmop_stat_net_macvtaps_LDADD = $(libvmop_stat_ldadd)
tests_unit_libvmop_stat_net_virtual_functions_CPPFLAGS = $(libvmop_test_cppflags) $(LIBMNL_CFLAGS)
tests_unit_libvmop_stat_net_virtual_functions_LDADD = $(libvmop_stat_ldadd)
# For units that read /proc and /sys.
libvmop_stat_ldadd = libvmop/stat/libstat.la $(libvmop_test_ldadd) $(JANSSON_LIBS) -lm
tests_unit_libvmop_stat_readings_CPPFLAGS = $(libvmop_test_cppflags)
tests_unit_libvmop_stat_readings_LDADD = $(libvmop_stat_ldadd)
tests_unit_libvmop_stat_time_stops_CPPFLAGS = $(libvmop_test_cppflags)
tests_unit_libvmop_stat_time_stops_LDADD = $(libvmop_stat_ldadd)
tests_unit_libvmop_stat_hypervisor_cpuid_CPPFLAGS = $(libvmop_test_cppflags)
tests_unit_libvmop_stat_hypervisor_cpuid_LDADD = $(libvmop_stat_ldadd)
tests_unit_libvmop_stat_hypervisor_detect_CPPFLAGS = $(libvmop_test_cppflags) $(JANSSON_CFLAGS)
tests_unit_libvmop_stat_hypervisor_detect_LDADD = $(libvmop_stat_ldadd)
if HAVE_CMOCKA
check_PROGRAMS += $(libvmop_stat_tests)
TESTS += $(libvmop_stat_tests)
endif
tests_unit_libvmop_stat_comparison_CPPFLAGS = $(libvmop_test_cppflags)
tests_unit_libvmop_stat_comparison_LDADD = libvmop/stat/libstat.la libutil/libutil.la $(CMOCKA_LIBS) $(JANSSON_LIBS) -lm
tests_unit_libvmop_stat_guest_rows_CPPFLAGS = $(libvmop_test_cppflags)
tests_unit_libvmop_stat_guest_rows_LDADD = libvmop/stat/libstat.la libutil/libutil.la $(CMOCKA_LIBS) $(JANSSON_LIBS) -lm
tests_unit_libvmop_stat_guest_run_CPPFLAGS = $(libvmop_test_cppflags)
tests_unit_libvmop_stat_guest_run_LDADD = libvmop/stat/libstat.la libutil/libutil.la $(CMOCKA_LIBS) $(JANSSON_LIBS) -lm
tests_unit_libvmop_stat_ratio_CPPFLAGS = $(libvmop_test_cppflags)
tests_unit_libvmop_stat_ratio_LDADD = libvmop/stat/libstat.la $(CMOCKA_LIBS)
tests_unit_libvmop_stat_spread_CPPFLAGS = $(libvmop_test_cppflags)
tests_unit_libvmop_stat_spread_LDADD = libvmop/stat/libstat.la $(CMOCKA_LIBS) -lm

libvmop_io_tests = tests/unit/libvmop/stat/io/account tests/unit/libvmop/stat/io/io \
	tests/unit/libvmop/stat/io/preload tests/unit/libvmop/stat/io/preload-counts \
	tests/unit/libvmop/stat/io/report tests/unit/libvmop/stat/io/rows
if HAVE_CMOCKA
check_PROGRAMS += $(libvmop_io_tests)
TESTS += $(libvmop_io_tests)
endif
libvmop_io_test_cppflags = $(libvmop_test_cppflags) $(JANSSON_CFLAGS)
libvmop_io_test_ldadd = libvmop/stat/libstat.la hv-interface/libappio.la libutil/libutil.la $(JANSSON_LIBS) $(CMOCKA_LIBS) -lm
tests_unit_libvmop_stat_io_account_CPPFLAGS = $(libvmop_io_test_cppflags)
tests_unit_libvmop_stat_io_account_LDADD = $(libvmop_io_test_ldadd)
tests_unit_libvmop_stat_io_io_CPPFLAGS = $(libvmop_io_test_cppflags)
tests_unit_libvmop_stat_io_io_LDADD = $(libvmop_io_test_ldadd)
tests_unit_libvmop_stat_io_preload_CPPFLAGS = $(libvmop_io_test_cppflags)
tests_unit_libvmop_stat_io_preload_LDADD = $(libvmop_io_test_ldadd)
tests_unit_libvmop_stat_io_preload_counts_SOURCES = tests/unit/libvmop/stat/io/preload-counts.c \
	libvmop/stat/io/preload-counts.c
tests_unit_libvmop_stat_io_preload_counts_CPPFLAGS = $(libvmop_io_test_cppflags)
tests_unit_libvmop_stat_io_preload_counts_LDADD = $(libvmop_io_test_ldadd) -lpthread
tests_unit_libvmop_stat_io_report_CPPFLAGS = $(libvmop_io_test_cppflags)
tests_unit_libvmop_stat_io_report_LDADD = $(libvmop_io_test_ldadd)
tests_unit_libvmop_stat_io_rows_CPPFLAGS = $(libvmop_io_test_cppflags)
tests_unit_libvmop_stat_io_rows_LDADD = $(libvmop_io_test_ldadd)
check_PROGRAMS += tests/fixtures/known-io
tests_fixtures_known_io_LDFLAGS = -no-install
tests_fixtures_known_io_LDADD = -lpthread
io_scripts = tests/integration/stat-io.sh tests/integration/stat-io-exact.sh tests/integration/stat-io-fio.sh tests/integration/stat-io-preload.sh
TESTS += $(io_scripts)
EXTRA_DIST += $(io_scripts) tests/integration/stat-io-check.py tests/integration/stat-io-common.sh
check_PROGRAMS += tests/fixtures/known-counts
tests_fixtures_known_counts_LDADD = -lpthread
check_PROGRAMS += tests/fixtures/competing-guests
tests_fixtures_competing_guests_SOURCES = tests/fixtures/competing-guests.c \
	tests/unit/hv-interface/bpf/known-guest.c tests/unit/hv-interface/bpf/known-guest.h
tests_fixtures_competing_guests_LDADD = -lpthread
TESTS += tests/integration/competing-guests.sh tests/integration/stat-time.sh
EXTRA_DIST += tests/integration/competing-guests.sh tests/integration/stat-time.sh
TESTS += tests/integration/stat.sh tests/integration/stat-hypervisor.sh tests/integration/stat-net.sh tests/integration/libvmop-installed.sh
EXTRA_DIST += tests/integration/net-traffic.py tests/integration/stat.sh tests/integration/stat-hypervisor.sh tests/integration/stat-net.sh tests/integration/libvmop-installed.sh
