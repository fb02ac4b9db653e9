# SPDX-License-Identifier: GPL-2.0-or-later
# Names of events and their encodings: what the sources and libvmop share.
noinst_LTLIBRARIES += hv-interface/libevents.la
hv_interface_libevents_la_SOURCES = \
	hv-interface/event-request.c hv-interface/event-request.h \
	hv-interface/cpus.c hv-interface/cpus.h \
	hv-interface/perf/event.c hv-interface/perf/event.h \
	hv-interface/perf/name.c hv-interface/perf/name.h \
	hv-interface/perf/pfm.c hv-interface/perf/pfm.h \
	hv-interface/perf/pmu.c hv-interface/perf/pmu.h \
	hv-interface/perf/tracepoint.c hv-interface/perf/tracepoint.h
hv_interface_libevents_la_LIBADD = $(PFM_LIBS)

# The time of tasks without steal: for libvmop.
noinst_LTLIBRARIES += hv-interface/libruntime.la
hv_interface_libruntime_la_SOURCES = \
	hv-interface/bpf/run-time.h hv-interface/bpf/run-time-sums.h \
	hv-interface/steal-clock.c hv-interface/steal-clock.h
hv_interface_libruntime_la_CPPFLAGS = $(AM_CPPFLAGS)
hv_interface_libruntime_la_LIBADD =
# Application I/O: counted by a BPF program of its own, for vmopstat.
noinst_LTLIBRARIES += hv-interface/libappio.la
hv_interface_libappio_la_SOURCES = \
	hv-interface/appio-calls.c hv-interface/appio-calls.h hv-interface/appio-counts.h \
	hv-interface/bpf/appio.h
hv_interface_libappio_la_CPPFLAGS = $(AM_CPPFLAGS)
hv_interface_libappio_la_LIBADD =
EXTRA_DIST += hv-interface/bpf/appio.bpf.c
if HAVE_BPF
hv_interface_libappio_la_SOURCES += hv-interface/bpf/loaded.c hv-interface/bpf/loaded.h \
	hv-interface/bpf/message.c hv-interface/bpf/message.h hv-interface/bpf/appio.c hv-interface/bpf/appio-layout.h \
	hv-interface/bpf/appio-object.c hv-interface/bpf/appio-object.h
hv_interface_libappio_la_CPPFLAGS += $(LIBBPF_CFLAGS) -DVMOP_APPIO_OBJECT='"hv-interface/bpf/appio.bpf.o"'
hv_interface_libappio_la_LIBADD += $(LIBBPF_LIBS)
hv-interface/bpf/appio.bpf.o: hv-interface/bpf/appio.bpf.c hv-interface/bpf/appio-layout.h \
		hv-interface/appio-calls.h hv-interface/appio-counts.h
	$(AM_V_GEN)$(MKDIR_P) '$(@D)' && $(BPF_CC) $(BPF_CFLAGS) -Wall -Wextra -I$(top_srcdir) -I$(top_srcdir)/include \
		$(LIBBPF_CFLAGS) $(BPF_CPPFLAGS) -c '$(top_srcdir)/hv-interface/bpf/appio.bpf.c' -o '$@'
appio_object = hv-interface/bpf/libappio_la-appio-object.lo
$(appio_object): hv-interface/bpf/appio.bpf.o
CLEANFILES += hv-interface/bpf/appio.bpf.o
else
hv_interface_libappio_la_SOURCES += hv-interface/bpf/appio-none.c
endif

noinst_LTLIBRARIES += hv-interface/libhvinterface.la
hv_interface_libhvinterface_la_SOURCES = \
	hv-interface/bpf/unwind-maps.h hv-interface/bpf/guest-maps.h hv-interface/bpf/kernel-reader.h hv-interface/bpf/layout.h \
	hv-interface/bpf/program.h hv-interface/bpf/waits.h \
	hv-interface/source.c hv-interface/source.h \
	hv-interface/source-list.c hv-interface/source-list.h \
	hv-interface/active-agent.c hv-interface/active-agent.h \
	hv-interface/active-check.c hv-interface/active-check.h \
	hv-interface/active-file.c hv-interface/active-file.h \
	hv-interface/active-frame.c hv-interface/active-frame.h \
	hv-interface/active-group.c hv-interface/active-group.h \
	hv-interface/active-message.c hv-interface/active-message.h \
	hv-interface/active-peer.c hv-interface/active-peer.h \
	hv-interface/active-samples.c hv-interface/active-samples.h \
	hv-interface/event-list.c hv-interface/event-list.h hv-interface/event-entry.h \
	hv-interface/perf/perf.c hv-interface/perf/perf.h \
	hv-interface/perf/stacks/capture.c hv-interface/perf/stacks/capture.h \
	hv-interface/perf/choice.c hv-interface/perf/choice.h \
	hv-interface/perf/cpu.c hv-interface/perf/cpu.h \
	hv-interface/perf/stacks/deferred.c hv-interface/perf/stacks/deferred.h \
	hv-interface/perf/dom0.c hv-interface/perf/dom0.h \
	hv-interface/perf/guest-exit.c hv-interface/perf/guest-exit.h \
	hv-interface/perf/merge.c hv-interface/perf/merge.h \
	hv-interface/perf/open.c hv-interface/perf/open.h \
	hv-interface/perf/permission.c hv-interface/perf/permission.h \
	hv-interface/perf/record.c hv-interface/perf/record.h \
	hv-interface/perf/ring.c hv-interface/perf/ring.h \
	hv-interface/perf/note.c hv-interface/perf/note.h \
	hv-interface/perf/rate.c hv-interface/perf/rate.h \
	hv-interface/perf/ring-size.c hv-interface/perf/ring-size.h \
	hv-interface/perf/stacks/stacks.c hv-interface/perf/stacks/stacks.h \
	hv-interface/perf/stacks/guest.c hv-interface/perf/stacks/guest.h \
	hv-interface/perf/stacks/program.c hv-interface/perf/stacks/program.h \
	hv-interface/perf/stacks/attachment.c hv-interface/perf/stacks/attachment.h \
	hv-interface/perf/stacks/unwound.c hv-interface/perf/stacks/unwound.h \
	hv-interface/perf/guest-split.c hv-interface/perf/guest-split.h \
	hv-interface/handed/clock.c hv-interface/handed/clock.h \
	hv-interface/handed/events.c hv-interface/handed/events.h \
	hv-interface/handed/feed.c hv-interface/handed/feed.h \
	hv-interface/handed/handed.c hv-interface/handed/handed.h \
	hv-interface/handed/turns.c hv-interface/handed/turns.h \
	hv-interface/replay/replay.c hv-interface/replay/replay.h \
	hv-interface/xen/xen.c hv-interface/xen/xen.h \
	hv-interface/xen/event.c hv-interface/xen/event.h \
	hv-interface/xen/backtraces.c hv-interface/xen/backtraces.h \
	hv-interface/xen/trace.c hv-interface/xen/trace.h \
	hv-interface/xen/pending.c hv-interface/xen/pending.h \
	hv-interface/xen/link.c hv-interface/xen/link.h \
	hv-interface/xen/lists.c hv-interface/xen/lists.h \
	hv-interface/xen/user-space.c hv-interface/xen/user-space.h hv-interface/xen/transport.h \
	hv-interface/xen/xenoprof-abi.h \
	hv-interface/xen/xenoprof-buffer.c hv-interface/xen/xenoprof-buffer.h \
	hv-interface/xen/xenoprof-control.c hv-interface/xen/xenoprof-control.h \
	hv-interface/xen/device.c hv-interface/xen/device.h \
	hv-interface/xen/owner-file.c hv-interface/xen/owner-file.h \
	hv-interface/xen/module.c \
	hv-interface/xen/records.c hv-interface/xen/records.h \
	hv-interface/xen/rings.c hv-interface/xen/rings.h \
	hv-interface/replay/stream-capture.c hv-interface/replay/stream-capture.h \
	hv-interface/replay/stream-reader.c hv-interface/replay/stream-writer.c hv-interface/replay/stream.h
hv_interface_libhvinterface_la_CPPFLAGS = $(AM_CPPFLAGS) $(ZLIB_CFLAGS)
hv_interface_libhvinterface_la_LIBADD = hv-interface/libevents.la libutil/libutil.la $(PFM_LIBS) $(ZLIB_LIBS) $(XXHASH_LIBS)

# The program in the kernel, and what loads it.
EXTRA_DIST += hv-interface/bpf/waits.bpf.c hv-interface/bpf/run-time.bpf.c
bpf_sources = hv-interface/bpf/sample.bpf.c hv-interface/bpf/unwind.bpf.h \
	hv-interface/bpf/guest.bpf.h hv-interface/bpf/guest-kernel.bpf.h \
	hv-interface/bpf/guest-memory.bpf.h hv-interface/bpf/guest-x86.bpf.h hv-interface/bpf/guest-arm64.bpf.h \
	hv-interface/bpf/guest-tables-arm64.bpf.h \
	hv-interface/bpf/guest-tables-x86.bpf.h \
	hv-interface/bpf/machine.bpf.h
EXTRA_DIST += $(bpf_sources)
if HAVE_BPF
hv_interface_libhvinterface_la_SOURCES += \
	hv-interface/bpf/guest-maps.c \
	hv-interface/bpf/host-layout.c hv-interface/bpf/host-layout.h \
	hv-interface/bpf/kernel-reader.c \
	hv-interface/bpf/loaded.c hv-interface/bpf/loaded.h \
	hv-interface/bpf/message.c hv-interface/bpf/message.h \
	hv-interface/bpf/maps.c hv-interface/bpf/maps.h \
	hv-interface/bpf/object.c hv-interface/bpf/object.h \
	hv-interface/bpf/pages.c hv-interface/bpf/pages.h \
	hv-interface/bpf/program.c \
	hv-interface/bpf/ranges.c hv-interface/bpf/ranges.h \
	hv-interface/bpf/waits.c hv-interface/bpf/waits-layout.h hv-interface/bpf/waits-open.h \
	hv-interface/bpf/waits-object.c hv-interface/bpf/waits-object.h \
	hv-interface/bpf/waits-sums.c
hv_interface_libhvinterface_la_CPPFLAGS += $(LIBBPF_CFLAGS) \
	-DVMOP_BPF_OBJECT='"hv-interface/bpf/sample.bpf.o"' \
	-DVMOP_WAITS_OBJECT='"hv-interface/bpf/waits.bpf.o"'
hv_interface_libhvinterface_la_LIBADD += $(LIBBPF_LIBS)
hv-interface/bpf/sample.bpf.o: $(bpf_sources) hv-interface/bpf/layout.h \
		hv-interface/bpf/guest-maps.h hv-interface/bpf/unwind-maps.h include/vmop/stack.h \
		include/vmop/guest-context.h include/vmop/guest-numbers.h
	$(AM_V_GEN)$(MKDIR_P) '$(@D)' && $(BPF_CC) $(BPF_CFLAGS) -Wall -Wextra -I$(top_srcdir) -I$(top_srcdir)/include \
		$(LIBBPF_CFLAGS) $(BPF_CPPFLAGS) -c '$(top_srcdir)/hv-interface/bpf/sample.bpf.c' -o '$@'
# By a variable: automake leaves out its own rule of a target that it finds here.
bpf_object = hv-interface/bpf/libhvinterface_la-object.lo
$(bpf_object): hv-interface/bpf/sample.bpf.o
hv-interface/bpf/waits.bpf.o: hv-interface/bpf/waits.bpf.c hv-interface/bpf/waits-layout.h \
		include/vmop/waits.h
	$(AM_V_GEN)$(MKDIR_P) '$(@D)' && $(BPF_CC) $(BPF_CFLAGS) -Wall -Wextra -I$(top_srcdir) -I$(top_srcdir)/include \
		$(LIBBPF_CFLAGS) $(BPF_CPPFLAGS) -c '$(top_srcdir)/hv-interface/bpf/waits.bpf.c' -o '$@'
waits_object = hv-interface/bpf/libhvinterface_la-waits-object.lo
$(waits_object): hv-interface/bpf/waits.bpf.o
hv_interface_libruntime_la_SOURCES += \
	hv-interface/bpf/loaded.c hv-interface/bpf/loaded.h \
	hv-interface/bpf/run-time.c hv-interface/bpf/run-time-layout.h hv-interface/bpf/run-time-open.h \
	hv-interface/bpf/run-time-object.c hv-interface/bpf/run-time-object.h \
	hv-interface/bpf/run-time-tasks.c
hv_interface_libruntime_la_CPPFLAGS += $(LIBBPF_CFLAGS) \
	-DVMOP_RUN_TIME_OBJECT='"hv-interface/bpf/run-time.bpf.o"'
hv_interface_libruntime_la_LIBADD += $(LIBBPF_LIBS)
hv-interface/bpf/run-time.bpf.o: hv-interface/bpf/run-time.bpf.c hv-interface/bpf/run-time-layout.h \
		hv-interface/bpf/run-time-sums.h
	$(AM_V_GEN)$(MKDIR_P) '$(@D)' && $(BPF_CC) $(BPF_CFLAGS) -Wall -Wextra -I$(top_srcdir) -I$(top_srcdir)/include \
		$(LIBBPF_CFLAGS) $(BPF_CPPFLAGS) -c '$(top_srcdir)/hv-interface/bpf/run-time.bpf.c' -o '$@'
run_time_object = hv-interface/bpf/libruntime_la-run-time-object.lo
$(run_time_object): hv-interface/bpf/run-time.bpf.o
CLEANFILES += hv-interface/bpf/sample.bpf.o hv-interface/bpf/waits.bpf.o hv-interface/bpf/run-time.bpf.o
else
hv_interface_libruntime_la_SOURCES += hv-interface/bpf/run-time-none.c
hv_interface_libhvinterface_la_SOURCES += hv-interface/bpf/without.c hv-interface/bpf/waits-none.c
endif
