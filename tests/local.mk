# SPDX-License-Identifier: GPL-2.0-or-later
# Unit tests (cmocka) are tests/unit/FOLDER/UNIT.c (see tests/check-units). The programs of a folder
# are listed in tests/FOLDER.mk: a new test touches one short list.
TEST_CPPFLAGS = $(AM_CPPFLAGS) -DVMOP_TEST_SRCDIR='"$(abs_top_srcdir)/tests"' \
	-DVMOP_TEST_BUILDDIR='"$(abs_top_builddir)"'
# cmocka.h needs these three first (its own header says so).
TEST_CMOCKA = -include stdarg.h -include stddef.h -include setjmp.h -include stdint.h $(CMOCKA_CFLAGS)

AM_TESTS_ENVIRONMENT = \
	export VMOP_SRCDIR='$(abs_top_srcdir)' VMOP_BUILDDIR='$(abs_top_builddir)' VMOP_CC='$(CC)' \
	LSAN_OPTIONS="suppressions=$(abs_top_srcdir)/tests/lsan.supp:print_suppressions=0$${LSAN_OPTIONS:+:$$LSAN_OPTIONS}";
LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/run-one
TESTS += tests/check-walls tests/check-cycles tests/check-units tests/check-ids tests/check-dist
EXTRA_DIST += tests/check-walls tests/check-cycles tests/check-units tests/check-ids tests/check-dist tests/unit/UNTESTED tests/run-one tests/lsan.supp \
	tests/without-libraries

include tests/libutil.mk
include tests/libdb.mk
include tests/libsym.mk
include tests/libguest.mk
include tests/libstack.mk
include tests/hv-interface.mk
include tests/libvmop.mk
include tests/daemon.mk
include tests/opcontrol.mk
include tests/opreport.mk
include tests/integration.mk
include tests/hostile.mk
include tests/rigs.mk
include tests/fuzz.mk
include tests/bench.mk
include tests/soak.mk

# "make check-memory", for a build with sanitizers, leaves out the scripts of which sanitizers see nothing
# that other tests don't show: those of the tree and of other programs, those that compare shares and times with
# measured truths (sanitized code takes several times as long), those that wait for a clock, a disk, a kill or
# a crowd of processes, and those of what honest users see, whose code the unit tests run. Every unit test stays, and
# every script about hostile input, damage and bounds. "make check" in such a build runs all.
TESTS_WITHOUT_MEMORY = tests/check-walls tests/check-cycles tests/check-units tests/check-ids tests/check-dist \
	tests/unit/libsym/cost \
	$(addprefix tests/integration/,$(addsuffix .sh,$(SCRIPTS_WITHOUT_MEMORY))) $(io_scripts)
SCRIPTS_WITHOUT_MEMORY = \
	contrib-cron contrib-packages contrib-shell contrib-systemd install-paths kernel-module libvmop-installed \
	annotate-assembly annotate-generated annotate-guest annotate-kernel archive-real compare-real compare-run report-real \
	report-firefox report-html report-pprof report-ratios report-speedscope \
	compare-sessions report-charts report-export report-gate report-many-sessions report-series report-xml top \
	control-events control-options control-retention control-session daemon-callgraph daemon-waits \
	competing-guests daemon-callgraph-bpf daemon-callgraph-files daemon-callgraph-hard daemon-callgraph-programs \
	daemon-quiet daemon-storm stat stat-hypervisor stat-net stat-time \
	control-clock control-copies control-crowd control-disk control-fork-storm control-overhead control-rotation control-snapshot
.PHONY: check-memory
check-memory:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(filter-out $(TESTS_WITHOUT_MEMORY),$(TESTS))'
