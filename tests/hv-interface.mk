# SPDX-License-Identifier: GPL-2.0-or-later
if HAVE_CMOCKA
hv_interface_tests = \
	tests/unit/hv-interface/active \
	tests/unit/hv-interface/appio-calls \
	tests/unit/hv-interface/bpf/appio \
	tests/unit/hv-interface/active-file \
	tests/unit/hv-interface/active-frame tests/unit/hv-interface/active-group \
	tests/unit/hv-interface/active-samples \
	tests/unit/hv-interface/handed/clock tests/unit/hv-interface/handed/events \
	tests/unit/hv-interface/handed/live tests/unit/hv-interface/handed/feed tests/unit/hv-interface/handed/handed tests/unit/hv-interface/handed/turns \
	tests/unit/hv-interface/event-request \
	tests/unit/hv-interface/cpus tests/unit/hv-interface/steal-clock \
	tests/unit/hv-interface/bpf/guest tests/unit/hv-interface/bpf/guest-changes \
	tests/unit/hv-interface/bpf/live \
	tests/unit/hv-interface/bpf/pages \
	tests/unit/hv-interface/bpf/program \
	tests/unit/hv-interface/bpf/ranges \
	tests/unit/hv-interface/perf/stacks/guest \
	tests/unit/hv-interface/perf/stacks/unwound \
	tests/unit/hv-interface/perf/perf \
	tests/unit/hv-interface/perf/stacks/capture \
	tests/unit/hv-interface/perf/event \
	tests/unit/hv-interface/perf/stacks/deferred \
	tests/unit/hv-interface/perf/hotplug \
	tests/unit/hv-interface/perf/live-contexts \
	tests/unit/hv-interface/perf/live-stacks \
	tests/unit/hv-interface/perf/merge \
	tests/unit/hv-interface/perf/record \
	tests/unit/hv-interface/perf/refusal \
	tests/unit/hv-interface/perf/rate \
	tests/unit/hv-interface/perf/ring-size \
	tests/unit/hv-interface/perf/stacks/stacks \
	tests/unit/hv-interface/perf/sysfs \
	tests/unit/hv-interface/perf/guest-split \
	tests/unit/hv-interface/replay/stream \
	tests/unit/hv-interface/xen/xen \
	tests/unit/hv-interface/xen/active \
	tests/unit/hv-interface/xen/group \
	tests/unit/hv-interface/xen/backtraces tests/unit/hv-interface/xen/trace \
	tests/unit/hv-interface/xen/xenoprof \
	tests/unit/hv-interface/xen/rings
if HAVE_BPF
hv_interface_tests += tests/unit/hv-interface/bpf/guest-maps tests/unit/hv-interface/bpf/kernel-reader \
	tests/unit/hv-interface/bpf/host-layout tests/unit/hv-interface/bpf/object \
	tests/unit/hv-interface/bpf/waits tests/unit/hv-interface/bpf/run-time \
	tests/unit/hv-interface/bpf/loaded tests/unit/hv-interface/bpf/message
endif
check_PROGRAMS += $(hv_interface_tests)
TESTS += $(hv_interface_tests)
endif
hv_interface_test_cppflags = $(TEST_CPPFLAGS) $(TEST_CMOCKA)
hv_interface_test_ldadd = hv-interface/libhvinterface.la $(CMOCKA_LIBS)
tests_unit_hv_interface_active_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_active_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_active_file_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_active_file_LDADD = $(hv_interface_test_ldadd) $(XXHASH_LIBS)
tests_unit_hv_interface_active_frame_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_active_frame_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_active_group_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_active_group_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_active_group_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime
tests_unit_hv_interface_active_samples_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_active_samples_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_handed_clock_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_handed_clock_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_handed_events_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_handed_events_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_handed_feed_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_handed_feed_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_handed_live_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_handed_live_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_handed_handed_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_handed_handed_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_handed_turns_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_handed_turns_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_event_request_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_event_request_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_appio_calls_CPPFLAGS = $(hv_interface_test_cppflags) $(SECCOMP_CFLAGS)
tests_unit_hv_interface_appio_calls_LDADD = hv-interface/libappio.la $(SECCOMP_LIBS) $(CMOCKA_LIBS)
tests_unit_hv_interface_bpf_appio_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_bpf_appio_LDADD = hv-interface/libappio.la libutil/libutil.la $(CMOCKA_LIBS)
guest_samples_sources = \
	tests/unit/hv-interface/bpf/guest-samples.c tests/unit/hv-interface/bpf/guest-samples.h \
	tests/unit/hv-interface/bpf/known-guest.c tests/unit/hv-interface/bpf/known-guest.h \
	tests/unit/hv-interface/bpf/record-reader.c tests/unit/hv-interface/bpf/record-reader.h
tests_unit_hv_interface_bpf_guest_SOURCES = tests/unit/hv-interface/bpf/guest.c $(guest_samples_sources)
tests_unit_hv_interface_bpf_guest_changes_SOURCES = tests/unit/hv-interface/bpf/guest-changes.c \
	$(guest_samples_sources)
tests_unit_hv_interface_bpf_guest_changes_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_bpf_guest_changes_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_bpf_guest_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_bpf_guest_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_bpf_guest_maps_CPPFLAGS = $(hv_interface_test_cppflags) $(LIBBPF_CFLAGS)
tests_unit_hv_interface_bpf_guest_maps_LDADD = $(hv_interface_test_ldadd) $(LIBBPF_LIBS)
tests_unit_hv_interface_bpf_host_layout_CPPFLAGS = $(hv_interface_test_cppflags) $(LIBBPF_CFLAGS)
tests_unit_hv_interface_bpf_host_layout_LDADD = $(hv_interface_test_ldadd) $(LIBBPF_LIBS)
tests_unit_hv_interface_bpf_loaded_CPPFLAGS = $(hv_interface_test_cppflags) $(LIBBPF_CFLAGS)
tests_unit_hv_interface_bpf_loaded_LDADD = $(hv_interface_test_ldadd) $(LIBBPF_LIBS)
tests_unit_hv_interface_bpf_message_CPPFLAGS = $(hv_interface_test_cppflags) $(LIBBPF_CFLAGS)
tests_unit_hv_interface_bpf_message_LDADD = $(hv_interface_test_ldadd) libutil/libutil.la
tests_unit_hv_interface_bpf_object_CPPFLAGS = $(hv_interface_test_cppflags) $(LIBBPF_CFLAGS)
tests_unit_hv_interface_bpf_object_LDADD = $(hv_interface_test_ldadd) $(LIBBPF_LIBS)
tests_unit_hv_interface_perf_rate_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_perf_rate_LDADD = $(hv_interface_test_ldadd) libutil/libutil.la
tests_unit_hv_interface_bpf_waits_CPPFLAGS = $(hv_interface_test_cppflags) $(LIBBPF_CFLAGS)
tests_unit_hv_interface_bpf_waits_LDADD = $(hv_interface_test_ldadd) $(LIBBPF_LIBS) -lpthread
tests_unit_hv_interface_bpf_run_time_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_bpf_run_time_LDADD = hv-interface/libruntime.la libutil/libutil.la $(CMOCKA_LIBS) -lpthread
tests_unit_hv_interface_steal_clock_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_steal_clock_LDADD = hv-interface/libruntime.la libutil/libutil.la $(CMOCKA_LIBS)
tests_unit_hv_interface_bpf_live_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_bpf_live_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_bpf_pages_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_bpf_pages_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_bpf_program_CPPFLAGS = $(hv_interface_test_cppflags) $(CAPNG_CFLAGS) \
	$(SECCOMP_CFLAGS) $(LIBBPF_CFLAGS)
tests_unit_hv_interface_bpf_program_LDADD = $(hv_interface_test_ldadd) $(CAPNG_LIBS) \
	$(SECCOMP_LIBS) $(LIBBPF_LIBS)
tests_unit_hv_interface_bpf_kernel_reader_CPPFLAGS = $(hv_interface_test_cppflags) $(LIBBPF_CFLAGS)
tests_unit_hv_interface_bpf_kernel_reader_LDADD = $(hv_interface_test_ldadd) $(LIBBPF_LIBS)
tests_unit_hv_interface_bpf_ranges_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_bpf_ranges_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_perf_stacks_guest_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_perf_stacks_guest_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_perf_stacks_unwound_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_perf_stacks_unwound_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_cpus_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_cpus_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_perf_perf_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_perf_perf_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_perf_event_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_perf_event_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_perf_stacks_deferred_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_perf_stacks_deferred_LDADD = $(hv_interface_test_ldadd)
# The program that the rig kvm:deferred samples.
noinst_PROGRAMS += tests/unit/hv-interface/perf/deferred-work
tests_unit_hv_interface_perf_deferred_work_CFLAGS = -fno-omit-frame-pointer -fno-optimize-sibling-calls $(WARN_CFLAGS)
tests_unit_hv_interface_perf_hotplug_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_perf_hotplug_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_perf_live_contexts_CPPFLAGS = $(hv_interface_test_cppflags) $(CAPNG_CFLAGS) \
	$(SECCOMP_CFLAGS)
tests_unit_hv_interface_perf_live_contexts_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=vmop_cpus_watch_check
tests_unit_hv_interface_perf_live_contexts_LDADD = $(hv_interface_test_ldadd) $(CAPNG_LIBS) \
	$(SECCOMP_LIBS)
tests_unit_hv_interface_perf_live_stacks_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_perf_live_stacks_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_perf_merge_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_perf_merge_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_perf_record_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_perf_record_LDADD = $(hv_interface_test_ldadd)
EXTRA_DIST += tests/unit/hv-interface/layer.h tests/unit/hv-interface/xen/model.h
tests_unit_hv_interface_xen_xen_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_xen_xen_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_xen_backtraces_CPPFLAGS = $(hv_interface_test_cppflags) $(ZLIB_CFLAGS)
tests_unit_hv_interface_xen_backtraces_LDADD = $(hv_interface_test_ldadd) $(ZLIB_LIBS)
tests_unit_hv_interface_xen_trace_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_xen_trace_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_xen_active_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_xen_active_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_xen_group_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_xen_group_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_xen_group_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime
tests_unit_hv_interface_xen_xenoprof_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_xen_xenoprof_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_perf_sysfs_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_perf_sysfs_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_perf_sysfs_LDFLAGS = $(hv_interface_layer_ldflags)
tests_unit_hv_interface_perf_refusal_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_perf_refusal_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_perf_refusal_LDFLAGS = $(hv_interface_layer_ldflags) -Wl,--wrap=read
tests_unit_hv_interface_perf_guest_split_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_perf_guest_split_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_perf_guest_split_LDFLAGS = $(hv_interface_layer_ldflags)
tests_unit_hv_interface_perf_stacks_capture_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_perf_stacks_capture_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_perf_ring_size_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_perf_ring_size_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_perf_stacks_stacks_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_perf_stacks_stacks_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_perf_stacks_stacks_LDFLAGS = $(hv_interface_layer_ldflags)
# The layer under perf_event_open: see tests/unit/hv-interface/layer.h.
hv_interface_layer_ldflags = $(AM_LDFLAGS) \
	-Wl,--wrap=syscall -Wl,--wrap=vmop_cpus_watch_check -Wl,--wrap=vmop_io_read_file \
	-Wl,--wrap=vmop_perf_guest_exit_init
tests_unit_hv_interface_replay_stream_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_replay_stream_LDADD = $(hv_interface_test_ldadd)
tests_unit_hv_interface_xen_rings_CPPFLAGS = $(hv_interface_test_cppflags)
tests_unit_hv_interface_xen_rings_LDADD = $(hv_interface_test_ldadd)

# For the emulated Xen: tests/rigs/add-xen-session.
check_PROGRAMS += tests/fixtures/xen-session
tests_fixtures_xen_session_LDADD = hv-interface/libhvinterface.la
check_PROGRAMS += tests/fixtures/make-stream
tests_fixtures_make_stream_SOURCES = tests/fixtures/make-stream.c \
	tests/fixtures/stream-maker.c tests/fixtures/stream-maker.h
tests_fixtures_make_stream_LDADD = hv-interface/libhvinterface.la
check_PROGRAMS += tests/fixtures/make-storm
tests_fixtures_make_storm_SOURCES = tests/fixtures/make-storm.c \
	tests/fixtures/stream-maker.c tests/fixtures/stream-maker.h
tests_fixtures_make_storm_LDADD = hv-interface/libhvinterface.la -lm

# /dev/vmop exists only on Xen: for tests/rigs/xen-run.
check_PROGRAMS += tests/fixtures/xen-device-session tests/fixtures/xen-device-faults
tests_fixtures_xen_device_session_LDADD = hv-interface/libhvinterface.la
