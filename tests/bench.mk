# SPDX-License-Identifier: GPL-2.0-or-later
EXTRA_DIST += tests/bench/run-events
check_PROGRAMS += tests/bench/busy tests/bench/cpu-time tests/bench/cfi-tables tests/bench/read-stacks
# Built with the tests, so that it stays in step with libdb.
check_PROGRAMS += tests/bench/make-month
tests_bench_make_month_CPPFLAGS = $(TEST_CPPFLAGS) $(SQLITE_CFLAGS)
tests_bench_make_month_LDADD = libdb/libdb.la $(SQLITE_LIBS) -lm
tests_bench_cfi_tables_LDADD = libstack/libstack.la libutil/libutil.la
tests_bench_read_stacks_LDADD = libdb/libdb.la
check_PROGRAMS += tests/bench/read-counters
tests_bench_read_counters_LDADD = libvmop/libcounters.la hv-interface/libevents.la libutil/libutil.la
EXTRA_DIST += tests/bench/run-counting tests/bench/run-io
check_PROGRAMS += tests/bench/io-calls
EXTRA_DIST += tests/bench/run-stacks tests/bench/run-callgraph tests/bench/mixed-load
EXTRA_DIST += tests/bench/run tests/bench/run-guest-context tests/bench/run-month tests/bench/run-symbols
if HAVE_BPF
bench_guest_context = tests/bench/guest-context$(EXEEXT)
bench_waits = tests/bench/waits$(EXEEXT) tests/bench/exits$(EXEEXT)
EXTRA_PROGRAMS += tests/bench/guest-context tests/bench/waits tests/bench/exits
CLEANFILES += tests/bench/guest-context$(EXEEXT) $(bench_waits)
tests_bench_waits_CPPFLAGS = $(TEST_CPPFLAGS) $(LIBBPF_CFLAGS)
tests_bench_waits_LDADD = hv-interface/libhvinterface.la libutil/libutil.la $(LIBBPF_LIBS) -lpthread
tests_bench_exits_CPPFLAGS = $(tests_bench_waits_CPPFLAGS)
tests_bench_exits_LDADD = $(tests_bench_waits_LDADD)
tests_bench_guest_context_SOURCES = tests/bench/guest-context.c \
	tests/unit/hv-interface/bpf/known-guest.c tests/unit/hv-interface/bpf/known-guest.h \
	tests/unit/hv-interface/bpf/record-reader.c tests/unit/hv-interface/bpf/record-reader.h
tests_bench_guest_context_CPPFLAGS = $(TEST_CPPFLAGS) $(LIBBPF_CFLAGS)
tests_bench_guest_context_LDADD = hv-interface/libhvinterface.la libutil/libutil.la $(LIBBPF_LIBS)
endif

# Speed, size and memory, as ratios to perf's. Not part of any check.
.PHONY: bench
bench: all $(bench_guest_context) $(bench_waits) tests/bench/busy$(EXEEXT) tests/bench/cpu-time$(EXEEXT) tests/bench/cfi-tables$(EXEEXT) \
		tests/bench/read-stacks$(EXEEXT) tests/bench/read-counters$(EXEEXT) tests/bench/io-calls$(EXEEXT) tests/fixtures/make-stacks$(EXEEXT) \
		tests/integration/session-stacks$(EXEEXT) tests/bench/make-month$(EXEEXT) \
		tests/fixtures/make-stream$(EXEEXT) tests/fixtures/make-storm$(EXEEXT) \
		tests/fixtures/make-session$(EXEEXT)
	VMOP_BUILDDIR='$(abs_top_builddir)' $(top_srcdir)/tests/bench/run
	VMOP_BUILDDIR='$(abs_top_builddir)' $(top_srcdir)/tests/bench/run-events
	VMOP_BUILDDIR='$(abs_top_builddir)' $(top_srcdir)/tests/bench/run-counting
	VMOP_BUILDDIR='$(abs_top_builddir)' $(top_srcdir)/tests/bench/run-io || test $$? -eq 77
	VMOP_BUILDDIR='$(abs_top_builddir)' $(top_srcdir)/tests/bench/run-stacks
	VMOP_BUILDDIR='$(abs_top_builddir)' $(top_srcdir)/tests/bench/run-callgraph
	VMOP_BUILDDIR='$(abs_top_builddir)' $(top_srcdir)/tests/bench/run-month
	VMOP_BUILDDIR='$(abs_top_builddir)' $(top_srcdir)/tests/bench/run-symbols
	test -z '$(bench_guest_context)' || \
		VMOP_BUILDDIR='$(abs_top_builddir)' $(top_srcdir)/tests/bench/run-guest-context
