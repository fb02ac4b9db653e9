# SPDX-License-Identifier: GPL-2.0-or-later
daemon_tests = tests/unit/daemon/active/fetch tests/unit/daemon/xen/fetching tests/unit/daemon/xen/window tests/unit/daemon/active/identify tests/unit/daemon/active/links tests/unit/daemon/active/handing tests/unit/daemon/active/serial tests/unit/daemon/active/session-clock tests/unit/daemon/active/tunnel tests/unit/daemon/guest/tasks tests/unit/daemon/guest/context/samples tests/unit/daemon/guest/context/code tests/unit/daemon/guest/context/files tests/unit/daemon/guest/context/placement tests/unit/daemon/guest/context/processes tests/unit/daemon/guest/context/request-limits tests/unit/daemon/guest/context/requests tests/unit/daemon/guest/context/states \
	tests/unit/daemon/profile/profiler tests/unit/daemon/guest/domain tests/unit/daemon/host/machine \
	tests/unit/daemon/host/host tests/unit/daemon/guest/view tests/unit/daemon/guest/attribution \
	tests/unit/daemon/guest/watch tests/unit/daemon/guest/guests tests/unit/daemon/guest/held-samples tests/unit/daemon/guest/guest-file \
	tests/unit/daemon/guest/stacks/file-tables tests/unit/daemon/guest/stacks/host-file \
	tests/unit/daemon/guest/stacks/kernel-text \
	tests/unit/daemon/guest/stacks/table-cache tests/unit/daemon/guest/stacks/sample-unwinder \
	tests/unit/daemon/guest/stacks/entry-arm64 tests/unit/libutil/thread \
	tests/unit/daemon/static/event-loop tests/unit/daemon/static/event-loop-systemd \
	tests/unit/daemon/agent tests/unit/daemon/clock-watch tests/unit/daemon/memory-limit tests/unit/daemon/overhead tests/unit/daemon/rate-history tests/unit/daemon/rotation tests/unit/daemon/profile/aggregate tests/unit/daemon/profile/rejected \
	tests/unit/daemon/guest/off-cpu/batch tests/unit/daemon/guest/off-cpu/sampler \
	tests/unit/daemon/stack/deferred \
	tests/unit/daemon/stack/stacks tests/unit/daemon/stack/tables tests/unit/daemon/stack/tree \
	tests/unit/daemon/stack/waiting tests/unit/daemon/profile/stacked-chunk tests/unit/daemon/profile/jit-samples \
	tests/unit/daemon/stack/flat-table tests/unit/daemon/stack/kernel-spaces \
	tests/unit/daemon/stack/kernel-tables \
	tests/unit/daemon/host/kernel-cache tests/unit/daemon/host/jit/code-pages tests/unit/daemon/host/code/kernel-code tests/unit/daemon/host/image tests/unit/daemon/host/short-lived
if HAVE_XEN
daemon_tests += tests/unit/daemon/xen/xen tests/unit/daemon/xen/agent-messages
endif
if HAVE_CMOCKA
check_PROGRAMS += $(daemon_tests) tests/fixtures/kvm-guest
TESTS += $(daemon_tests)
endif
EXTRA_DIST += tests/unit/daemon/guest/context/guest-maps-double.h tests/unit/daemon/guest/context/sample-fixture.h tests/unit/daemon/common.h tests/unit/daemon/stack/unwind-maps-double.h tests/unit/daemon/vmm.h tests/unit/daemon/xen/xenstored.h
daemon_test_cppflags = $(TEST_CPPFLAGS) $(TEST_CMOCKA)
daemon_test_ldadd = daemon/libdaemon.la libstack/libstack.la libguest/libguest.la hv-interface/libhvinterface.la libdb/libdb.la \
	libsym/libsym.la libutil/libutil.la $(CMOCKA_LIBS)
tests_unit_daemon_memory_limit_SOURCES = tests/unit/daemon/memory-limit.c daemon/memory-limit.c daemon/memory-limit.h
tests_unit_daemon_memory_limit_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_memory_limit_LDADD = libutil/libutil.la $(CMOCKA_LIBS)
tests_unit_daemon_clock_watch_SOURCES = tests/unit/daemon/clock-watch.c daemon/clock-watch.c daemon/clock-watch.h
tests_unit_daemon_clock_watch_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_clock_watch_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_overhead_SOURCES = tests/unit/daemon/overhead.c daemon/overhead.c daemon/overhead.h
tests_unit_daemon_overhead_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_overhead_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_rate_history_SOURCES = tests/unit/daemon/rate-history.c daemon/rate-history.c daemon/rate-history.h
tests_unit_daemon_rate_history_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_rate_history_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_rotation_SOURCES = tests/unit/daemon/rotation.c daemon/rotation.c daemon/rotation.h
tests_unit_daemon_rotation_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_rotation_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_stack_deferred_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_stack_deferred_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_stack_stacks_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_stack_stacks_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_stack_tables_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_stack_tables_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_stack_tree_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_stack_tree_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_stack_waiting_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_stack_waiting_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_stack_flat_table_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_stack_flat_table_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_stack_kernel_spaces_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_stack_kernel_spaces_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_stack_kernel_tables_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_stack_kernel_tables_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_profile_jit_samples_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_profile_jit_samples_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_profile_stacked_chunk_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_profile_stacked_chunk_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_host_short_lived_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_host_short_lived_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_profile_aggregate_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_profile_aggregate_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_profile_rejected_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_profile_rejected_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=vmop_guest_watch_take_symbols
tests_unit_daemon_profile_rejected_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_host_code_kernel_code_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_host_code_kernel_code_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_host_jit_code_pages_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_host_jit_code_pages_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_host_kernel_cache_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_host_kernel_cache_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_host_image_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_host_image_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_profile_profiler_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_profile_profiler_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_domain_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_domain_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_host_machine_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_host_machine_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_host_host_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_host_host_LDADD = $(daemon_test_ldadd)
tests_fixtures_kvm_guest_SOURCES = tests/fixtures/kvm-guest.c \
	tests/fixtures/kvm-guest-linux.c tests/fixtures/kvm-guest-linux.h $(libguest_synthetic)
tests_fixtures_kvm_guest_LDADD = libguest/libguest.la libutil/libutil.la -lpthread
# The program of its guest with --linux: no sanitizer, no library.
check_DATA = tests/fixtures/guest-worker
tests/fixtures/guest-worker: tests/fixtures/guest-worker.S
	$(AM_V_CCLD)$(MKDIR_P) tests/fixtures && \
		$(CC) -nostdlib -static -no-pie -Wl,--build-id=sha1 -o $@ $(srcdir)/tests/fixtures/guest-worker.S
EXTRA_DIST += tests/fixtures/guest-worker.S
CLEANFILES += tests/fixtures/guest-worker
tests_unit_daemon_guest_context_files_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_context_files_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_context_placement_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_context_placement_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_context_processes_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_context_processes_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_context_request_limits_SOURCES = \
	tests/unit/daemon/guest/context/request-limits.c tests/unit/libguest/opened.h $(libguest_synthetic)
tests_unit_daemon_guest_context_request_limits_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_context_request_limits_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_context_requests_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_context_requests_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_context_states_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_context_states_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_context_code_SOURCES = tests/unit/daemon/guest/context/code.c $(libguest_synthetic)
tests_unit_daemon_guest_context_code_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_context_code_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_context_samples_SOURCES = tests/unit/daemon/guest/context/samples.c $(libguest_synthetic)
tests_unit_daemon_guest_context_samples_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_context_samples_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_active_fetch_SOURCES = tests/unit/daemon/active/fetch.c tests/unit/daemon/active/guest-session.h \
	daemon/active/session-server.c daemon/active/session-server.h
tests_unit_daemon_active_fetch_CPPFLAGS = $(daemon_test_cppflags) $(SYSTEMD_CFLAGS)
tests_unit_daemon_active_fetch_LDADD = $(daemon_test_ldadd) $(SYSTEMD_LIBS)
tests_unit_daemon_xen_fetching_SOURCES = tests/unit/daemon/xen/fetching.c tests/unit/daemon/active/guest-session.h \
	daemon/active/session-server.c daemon/active/session-server.h
tests_unit_daemon_xen_fetching_CPPFLAGS = $(daemon_test_cppflags) $(SYSTEMD_CFLAGS)
tests_unit_daemon_xen_fetching_LDADD = $(daemon_test_ldadd) $(SYSTEMD_LIBS)
tests_unit_daemon_xen_window_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_xen_window_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_active_identify_SOURCES = tests/unit/daemon/active/identify.c $(libguest_synthetic)
tests_unit_daemon_active_identify_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_active_identify_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_active_handing_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_active_handing_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_active_serial_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_active_serial_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_active_session_clock_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_active_session_clock_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_active_tunnel_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_active_tunnel_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_active_links_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_active_links_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime
tests_unit_daemon_active_links_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_tasks_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_tasks_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_view_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_view_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_attribution_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_attribution_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_watch_SOURCES = tests/unit/daemon/guest/watch.c $(libguest_synthetic)
tests_unit_daemon_guest_watch_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_watch_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_stacks_sample_unwinder_SOURCES = \
	tests/unit/daemon/guest/stacks/sample-unwinder.c $(guest_tables_at_once_sources)
tests_unit_daemon_guest_stacks_sample_unwinder_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_stacks_sample_unwinder_LDFLAGS = $(AM_LDFLAGS) $(guest_tables_at_once)
tests_unit_daemon_guest_stacks_sample_unwinder_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_stacks_entry_arm64_SOURCES = \
	tests/unit/daemon/guest/stacks/entry-arm64.c $(guest_tables_at_once_sources)
tests_unit_daemon_guest_stacks_entry_arm64_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_stacks_entry_arm64_LDFLAGS = $(AM_LDFLAGS) $(guest_tables_at_once)
tests_unit_daemon_guest_stacks_entry_arm64_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_stacks_file_tables_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_stacks_file_tables_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=vmop_guest_read_file
tests_unit_daemon_guest_stacks_file_tables_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_stacks_host_file_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_stacks_host_file_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_stacks_kernel_text_SOURCES = tests/unit/daemon/guest/stacks/kernel-text.c \
	tests/unit/libguest/opened.h $(libguest_synthetic)
tests_unit_daemon_guest_stacks_kernel_text_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_stacks_kernel_text_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_stacks_table_cache_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_stacks_table_cache_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_off_cpu_batch_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_off_cpu_batch_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_off_cpu_sampler_SOURCES = tests/unit/daemon/guest/off-cpu/sampler.c \
	tests/unit/libguest/opened.h $(libguest_synthetic)
tests_unit_daemon_guest_off_cpu_sampler_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_off_cpu_sampler_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_guest_file_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_guest_file_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_held_samples_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_held_samples_LDADD = $(daemon_test_ldadd)
tests_unit_daemon_guest_guests_SOURCES = tests/unit/daemon/guest/guests.c $(libguest_synthetic)
tests_unit_daemon_guest_guests_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_daemon_guest_guests_LDADD = $(daemon_test_ldadd)
# The sources of vmopd that are not in its library.
tests_unit_daemon_agent_SOURCES = tests/unit/daemon/agent.c daemon/agent.c daemon/active/session-server.c daemon/active/session-server.h daemon/control.c daemon/inspect.c \
	daemon/clock-watch.c daemon/overhead.c daemon/pairing.c daemon/rate-history.c daemon/requests.c daemon/roll-up.c daemon/rotation.c daemon/session.c daemon/session-file.c \
	daemon/session-cost.c daemon/session-fetching.c daemon/session-wal.c daemon/session-memory.c daemon/memory-limit.c daemon/session-succession.c daemon/session-summary.c daemon/status.c
tests_unit_daemon_agent_CPPFLAGS = $(daemon_test_cppflags) $(JANSSON_CFLAGS) $(SYSTEMD_CFLAGS) \
	-DVMOP_AGENT_LOOK_EVERY_MS=100
# A part of it finds its own functions by their frame pointers.
tests_unit_daemon_agent_CFLAGS = $(AM_CFLAGS) -fno-omit-frame-pointer
tests_unit_daemon_agent_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime
tests_unit_daemon_agent_LDADD = $(daemon_test_ldadd) $(JANSSON_LIBS) $(SYSTEMD_LIBS)
# The loop of the static vmopd, and the same test with libsystemd's.
tests_unit_daemon_static_event_loop_SOURCES = tests/unit/daemon/static/event-loop.c daemon/static/event-loop.c \
	daemon/static/notify.c daemon/static/notify.h
tests_unit_daemon_static_event_loop_CPPFLAGS = $(daemon_test_cppflags) $(SYSTEMD_CFLAGS)
tests_unit_daemon_static_event_loop_LDADD = libutil/libutil.la $(CMOCKA_LIBS)
tests_unit_daemon_static_event_loop_systemd_SOURCES = tests/unit/daemon/static/event-loop.c
tests_unit_daemon_static_event_loop_systemd_CPPFLAGS = $(daemon_test_cppflags) $(SYSTEMD_CFLAGS)
tests_unit_daemon_static_event_loop_systemd_LDADD = libutil/libutil.la $(SYSTEMD_LIBS) $(CMOCKA_LIBS)
tests_unit_libutil_thread_CPPFLAGS = $(daemon_test_cppflags)
tests_unit_libutil_thread_LDADD = $(daemon_test_ldadd) -lpthread
tests_unit_daemon_xen_xen_CPPFLAGS = $(daemon_test_cppflags) $(XEN_CFLAGS)
tests_unit_daemon_xen_xen_LDADD = $(daemon_test_ldadd) -lpthread
tests_unit_daemon_xen_agent_messages_CPPFLAGS = $(daemon_test_cppflags) $(XEN_CFLAGS)
tests_unit_daemon_xen_agent_messages_LDADD = $(daemon_test_ldadd) -lpthread

# tests/rigs/introspect-run compares the stacks of a captured guest's threads with its own /proc by
# this program.
noinst_PROGRAMS += tests/unit/daemon/guest/stacks/compare-stacks
tests_unit_daemon_guest_stacks_compare_stacks_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_daemon_guest_stacks_compare_stacks_LDADD = $(daemon_test_ldadd)
# tests/rigs/introspect-run samples the blocked threads of a guest by this program.
noinst_PROGRAMS += tests/unit/daemon/guest/off-cpu/sample-guest
tests_unit_daemon_guest_off_cpu_sample_guest_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_daemon_guest_off_cpu_sample_guest_LDADD = $(daemon_test_ldadd)

# The same for stacks from the windows of samples, of saved guests and of ones that run.
noinst_PROGRAMS += tests/unit/daemon/guest/stacks/compare-samples
tests_unit_daemon_guest_stacks_compare_samples_SOURCES = \
	tests/unit/daemon/guest/stacks/compare-samples.c $(guest_tables_at_once_sources)
tests_unit_daemon_guest_stacks_compare_samples_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_daemon_guest_stacks_compare_samples_LDFLAGS = $(AM_LDFLAGS) $(guest_tables_at_once)
tests_unit_daemon_guest_stacks_compare_samples_LDADD = $(daemon_test_ldadd)
noinst_PROGRAMS += tests/unit/daemon/guest/stacks/sample-live
tests_unit_daemon_guest_stacks_sample_live_SOURCES = \
	tests/unit/daemon/guest/stacks/sample-live.c $(guest_tables_at_once_sources)
tests_unit_daemon_guest_stacks_sample_live_CPPFLAGS = $(TEST_CPPFLAGS)
tests_unit_daemon_guest_stacks_sample_live_LDFLAGS = $(AM_LDFLAGS) $(guest_tables_at_once)
tests_unit_daemon_guest_stacks_sample_live_LDADD = $(daemon_test_ldadd)
guest_tables_at_once_sources = tests/unit/daemon/guest/stacks/tables-at-once.c \
	tests/unit/daemon/guest/stacks/tables-at-once.h
# No thread builds the tables of files: the test does it.
guest_tables_at_once = -Wl,--wrap=vmop_guest_watch_want_stacks -Wl,--wrap=vmop_guest_watch_want_code -Wl,--wrap=vmop_guest_watch_drop_tables \
	-Wl,--wrap=vmop_guest_watch_request_table -Wl,--wrap=vmop_guest_watch_take_table
