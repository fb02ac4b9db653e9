# SPDX-License-Identifier: GPL-2.0-or-later
noinst_LTLIBRARIES += daemon/libdaemon.la
daemon_libdaemon_la_SOURCES = \
	daemon/active/agent-link.c daemon/active/agent-link.h daemon/active/tunnel.c daemon/active/tunnel.h \
	daemon/active/fetch.c daemon/active/fetch.h \
	daemon/active/fetched-file.c daemon/active/fetched-file.h \
	daemon/active/fetches.c daemon/active/fetches.h \
	daemon/active/file-stream.c daemon/active/file-stream.h \
	daemon/active/handing.c daemon/active/handing.h \
	daemon/active/guests.c daemon/active/guests.h \
	daemon/active/identify.c daemon/active/identify.h \
	daemon/active/link.c daemon/active/link.h \
	daemon/active/links.c daemon/active/links.h \
	daemon/active/serial.c daemon/active/serial.h \
	daemon/active/session-clock.c daemon/active/session-clock.h \
	daemon/active/vsock.c daemon/active/vsock.h \
	daemon/profile/aggregate.c daemon/profile/aggregate.h \
	daemon/profile/attribute.c daemon/profile/attribute.h \
	daemon/guest/domain.c daemon/guest/domain.h \
	daemon/guest/provider.h daemon/provider-list.c \
	daemon/file-keeper.c daemon/file-keeper.h \
	daemon/host/examine.c daemon/host/examine.h \
	daemon/guest/attribution.c daemon/guest/attribution.h \
	daemon/guest/tasks.c daemon/guest/tasks.h \
	daemon/guest/context/code.c daemon/guest/context/code.h \
	daemon/guest/context/files.c daemon/guest/context/files.h \
	daemon/guest/context/frames.c daemon/guest/context/frames.h \
	daemon/guest/context/given-numbers.c daemon/guest/context/given-numbers.h \
	daemon/guest/context/page-key.h \
	daemon/guest/context/placement.c daemon/guest/context/placement.h \
	daemon/guest/context/processes.c daemon/guest/context/processes.h \
	daemon/guest/context/request-limits.c daemon/guest/context/request-limits.h \
	daemon/guest/context/requests.c daemon/guest/context/requests.h \
	daemon/guest/context/samples.c daemon/guest/context/samples.h \
	daemon/guest/context/serve.c daemon/guest/context/serve.h \
	daemon/guest/context/states.c daemon/guest/context/states.h \
	daemon/guest/guest-sample.h \
	daemon/guest/images.c daemon/guest/images.h daemon/guest/watched.h \
	daemon/guest/view.c daemon/guest/view.h \
	daemon/guest/off-cpu/batch.c daemon/guest/off-cpu/batch.h \
	daemon/guest/off-cpu/release.c \
	daemon/guest/off-cpu/sampler.c daemon/guest/off-cpu/sampler.h \
	daemon/guest/off-cpu/scheduler-code.c daemon/guest/off-cpu/scheduler-code.h \
	daemon/guest/stacks/kernel-text.c daemon/guest/stacks/kernel-text.h \
	daemon/guest/stacks/file-tables.c daemon/guest/stacks/file-tables.h \
	daemon/guest/stacks/host-file.c daemon/guest/stacks/host-file.h \
	daemon/guest/stacks/orc-tables.c daemon/guest/stacks/orc-tables.h \
	daemon/guest/stacks/sample-unwinder.c daemon/guest/stacks/sample-unwinder.h \
	daemon/guest/stacks/table-cache.c daemon/guest/stacks/table-cache.h \
	daemon/guest/stacks/table-queue.c daemon/guest/stacks/table-queue.h \
	daemon/guest/stacks/waiting-stacks.c daemon/guest/stacks/waiting-stacks.h \
	daemon/guest/waits.c daemon/guest/waits.h \
	daemon/guest/watch.c daemon/guest/watch.h \
	daemon/guest/guest-file.c daemon/guest/guest-file.h \
	daemon/guest/guest-opener.c daemon/guest/guest-opener.h \
	daemon/guest/guest-reader.c daemon/guest/guest-reader.h \
	daemon/guest/guests.c daemon/guest/guests.h \
	daemon/guest/stacks/user-stacks.c daemon/guest/stacks/user-stacks.h \
	daemon/guest/held-samples.c daemon/guest/held-samples.h \
	daemon/guest/identify.c daemon/guest/identify.h \
	daemon/host/jit/code-names.c daemon/host/jit/code-names.h \
	daemon/host/idmap.c daemon/host/idmap.h \
	daemon/host/ids.h \
	daemon/host/image.c daemon/host/image.h \
	daemon/host/image-file.c daemon/host/image-file.h \
	daemon/host/jit/jitdumps.c daemon/host/jit/jitdumps.h \
	daemon/host/code/code-store.c daemon/host/code/code-store.h \
	daemon/host/code/kernel-code.c daemon/host/code/kernel-code.h \
	daemon/host/kernel-cache.c daemon/host/kernel-cache.h \
	daemon/host/kernel.c daemon/host/kernel.h \
	daemon/host/kernel-address.h \
	daemon/guest/kvm-provider.c daemon/guest/kvm-provider.h \
	daemon/profile/flush.c \
	daemon/profile/jit-samples.c daemon/profile/jit-samples.h \
	daemon/profile/losses.c daemon/profile/losses.h \
	daemon/host/mapping.c daemon/host/mapping.h \
	daemon/host/maps.c daemon/host/maps.h \
	daemon/options.h \
	daemon/guest/patterns.c daemon/guest/patterns.h \
	daemon/host/jit/code-pages.c daemon/host/jit/code-pages.h \
	daemon/host/jit/perf-maps.c daemon/host/jit/perf-maps.h \
	daemon/host/pool.c daemon/host/pool.h \
	daemon/host/process.c daemon/host/process.h \
	daemon/guest/sample-copy.h daemon/profile/profiler-create.c daemon/profile/profiler.c daemon/profile/profiler.h daemon/profile/profiler-open.h \
	daemon/profile/sample-key.h \
	daemon/profile/stacked-chunk.c daemon/profile/stacked-chunk.h \
	daemon/host/regions.c daemon/host/regions.h \
	daemon/host/short-lived.c daemon/host/short-lived.h \
	daemon/host/task.c daemon/host/task.h \
	daemon/host/text-map.c daemon/host/text-map.h \
	daemon/stack/flat-table.c daemon/stack/flat-table.h \
	daemon/stack/deferred.c daemon/stack/deferred.h \
	daemon/stack/frames.c daemon/stack/frames.h \
	daemon/stack/kernel-spaces.c daemon/stack/kernel-spaces.h \
	daemon/stack/kernel-tables.c daemon/stack/kernel-tables.h \
	daemon/stack/stacks.c daemon/stack/stacks.h \
	daemon/stack/tables.c daemon/stack/tables.h \
	daemon/stack/tree.c daemon/stack/tree.h \
	daemon/stack/waiting.c daemon/stack/waiting.h \
	daemon/host/unattributed.h \
	daemon/xen/agent-messages.h \
	daemon/xen/carrier.c daemon/xen/carrier.h \
	daemon/xen/domains.c daemon/xen/domains.h \
	daemon/xen/fetching.c daemon/xen/fetching.h \
	daemon/xen/grants.h \
	daemon/xen/guests.c daemon/xen/guests.h \
	daemon/xen/provider.c daemon/xen/provider.h \
	daemon/xen/symbols.c daemon/xen/symbols.h \
	daemon/xen/window.c daemon/xen/window.h \
	daemon/xen/window-line.c daemon/xen/window-line.h \
	daemon/xen/window-server.c daemon/xen/window-server.h \
	daemon/xen/xenstore-parse.c daemon/xen/xenstore.h
if HAVE_XEN
daemon_libdaemon_la_SOURCES += daemon/xen/agent-messages.c daemon/xen/grants.c daemon/xen/xenstore.c
else
daemon_libdaemon_la_SOURCES += daemon/xen/agent-messages-none.c daemon/xen/grants-none.c daemon/xen/xenstore-none.c
endif
daemon_libdaemon_la_CPPFLAGS = $(AM_CPPFLAGS) $(XEN_CFLAGS) $(XXHASH_CFLAGS)
daemon_libdaemon_la_LIBADD = $(XEN_LIBS) $(XXHASH_LIBS)

sbin_PROGRAMS += vmopd
vmopd_SOURCES = \
	daemon/active/session-server.c daemon/active/session-server.h \
	daemon/agent.c daemon/agent.h \
	daemon/clock-watch.c daemon/clock-watch.h \
	daemon/control.c daemon/control.h \
	daemon/detach.c daemon/detach.h \
	daemon/inspect.c daemon/inspect.h \
	daemon/inspect-image.c daemon/inspect-image.h \
	daemon/inspect-stacks.c daemon/inspect-stacks.h \
	daemon/list-events.c daemon/list-events.h \
	daemon/overhead.c daemon/overhead.h \
	daemon/pairing.c daemon/pairing.h \
	daemon/pause.h \
	daemon/privileges.c daemon/privileges.h \
	daemon/rate-history.c daemon/rate-history.h \
	daemon/requests.c daemon/requests.h \
	daemon/roll-up.c daemon/roll-up.h \
	daemon/rotation.c daemon/rotation.h \
	daemon/session.c daemon/session.h daemon/session-file.c daemon/session-file.h daemon/session-summary.c \
	daemon/memory-limit.c daemon/memory-limit.h \
	daemon/session-cost.c daemon/session-fetching.c daemon/session-wal.c daemon/session-memory.c daemon/session-open.h daemon/session-succession.c \
	daemon/status.c daemon/status.h \
	daemon/vmopd.c
vmopd_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(SYSTEMD_CFLAGS) $(CAPNG_CFLAGS) $(SECCOMP_CFLAGS)
vmopd_LDADD = daemon/libdaemon.la libstack/libstack.la libguest/libguest.la hv-interface/libhvinterface.la libdb/libdb.la \
	libsym/libsymtab.la libutil/libutil.la $(JANSSON_LIBS) $(SYSTEMD_LIBS) $(CAPNG_LIBS) \
	$(SECCOMP_LIBS)

# vmopd for guests without these libraries, or with another C library: make daemon/static/vmopd. A guest's
# host knows its agent by the name vmopd. The loop of libsystemd has no archive.
EXTRA_PROGRAMS += daemon/static/vmopd
CLEANFILES += daemon/static/vmopd
daemon_static_vmopd_SOURCES = $(vmopd_SOURCES) \
	daemon/static/event-loop.c \
	daemon/static/group.c \
	daemon/static/notify.c daemon/static/notify.h
daemon_static_vmopd_CPPFLAGS = $(vmopd_CPPFLAGS)
daemon_static_vmopd_LDFLAGS = $(AM_LDFLAGS) -XCClinker -static-pie
daemon_static_vmopd_LDADD = daemon/libdaemon.la libstack/libstack.la libguest/libguest.la hv-interface/libhvinterface.la \
	libdb/libdb.la libsym/libsymtab.la libutil/libutil.la $(JANSSON_LIBS) $(CAPNG_LIBS) $(SECCOMP_LIBS) $(STATIC_LIBS)
