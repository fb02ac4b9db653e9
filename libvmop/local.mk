# SPDX-License-Identifier: GPL-2.0-or-later
# The counting library. Its own code is a library for vmopstat and the tests, and the core of the
# shared library, which takes only the parts of other folders that it needs: as objects, so that its
# users get neither jansson nor inih.
noinst_LTLIBRARIES += libvmop/libcounters.la
libvmop_libcounters_la_SOURCES = libvmop/vmop.h \
	libvmop/counters.c libvmop/counters.h \
	libvmop/error-text.c \
	libvmop/event-set.c libvmop/event-set.h \
	libvmop/live-sets.c libvmop/live-sets.h \
	libvmop/open-event.c libvmop/open-event.h \
	libvmop/page.c libvmop/page.h \
	libvmop/read.c libvmop/region.c \
	libvmop/targets.c libvmop/targets.h \
	libvmop/times.c libvmop/times.h libvmop/time-sample.c \
	libvmop/user-read.c libvmop/user-read.h \
	libvmop/watch.c

# A read in user mode is some 35 instructions: a frame would be a tenth more.
libvmop_libcounters_la_CFLAGS = $(AM_CFLAGS) -fomit-frame-pointer

lib_LTLIBRARIES += libvmop/libvmop.la
libvmop_libvmop_la_SOURCES = libutil/array.c libutil/error.c libutil/io.c libutil/parse.c \
	libutil/dirs/safe-dir.c
# A first CFLAGS of its own: these objects are not those of libutil.
libvmop_libvmop_la_CFLAGS = $(AM_CFLAGS)
libvmop_libvmop_la_LIBADD = libvmop/libcounters.la hv-interface/libevents.la hv-interface/libruntime.la -lm
libvmop_libvmop_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 \
	-Wl,--version-script=$(top_srcdir)/libvmop/libvmop.map
libvmop_libvmop_la_DEPENDENCIES = libvmop/libcounters.la hv-interface/libevents.la hv-interface/libruntime.la \
	libvmop/libvmop.map
EXTRA_DIST += libvmop/libvmop.map
include_HEADERS = libvmop/vmop.h

pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = libvmop/libvmop.pc
generated_texts += libvmop/libvmop.pc

bin_PROGRAMS += vmopstat
noinst_LTLIBRARIES += libvmop/stat/libstat.la
libvmop_stat_libstat_la_SOURCES = \
	libvmop/stat/command.c libvmop/stat/command.h \
	libvmop/stat/comparison.c libvmop/stat/comparison.h \
	libvmop/stat/counts.c libvmop/stat/counts.h \
	libvmop/stat/domain.c libvmop/stat/domain.h \
	libvmop/stat/io/account.c libvmop/stat/io/account.h \
	libvmop/stat/io/io.c libvmop/stat/io/io.h \
	libvmop/stat/io/preload.c libvmop/stat/io/preload.h libvmop/stat/io/preload-layout.h \
	libvmop/stat/io/report.c libvmop/stat/io/report.h \
	libvmop/stat/io/rows.c libvmop/stat/io/rows.h \
	libvmop/stat/guest-rows.c libvmop/stat/guest-rows.h \
	libvmop/stat/guest-run.c libvmop/stat/guest-run.h \
	libvmop/stat/loop.c libvmop/stat/loop.h \
	libvmop/stat/meter.c libvmop/stat/meter.h \
	libvmop/stat/output.c libvmop/stat/output.h \
	libvmop/stat/ratio.c libvmop/stat/ratio.h \
	libvmop/stat/readings.c libvmop/stat/readings.h \
	libvmop/stat/settings.c libvmop/stat/settings.h \
	libvmop/stat/spread.c libvmop/stat/spread.h \
	libvmop/stat/unseen.c libvmop/stat/unseen.h \
	libvmop/stat/time/stops.c libvmop/stat/time/stops.h \
	libvmop/stat/time/task-rows.c libvmop/stat/time/task-rows.h \
	libvmop/stat/time/time.c libvmop/stat/time/time.h
libvmop_stat_libstat_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(XEN_CFLAGS) $(LIBMNL_CFLAGS)
libvmop_stat_libstat_la_LIBADD = $(LIBMNL_LIBS)
# --net
if HAVE_LIBMNL
libvmop_stat_libstat_la_SOURCES += \
	libvmop/stat/net/guests.c libvmop/stat/net/guests.h \
	libvmop/stat/net/infiniband.c libvmop/stat/net/infiniband.h \
	libvmop/stat/net/interfaces.c libvmop/stat/net/interfaces.h \
	libvmop/stat/net/macvtaps.c libvmop/stat/net/macvtaps.h \
	libvmop/stat/net/net.c libvmop/stat/net/net.h \
	libvmop/stat/net/passed.c libvmop/stat/net/passed.h \
	libvmop/stat/net/tap-namespace.c libvmop/stat/net/tap-namespace.h \
	libvmop/stat/net/virtual-functions.c libvmop/stat/net/virtual-functions.h
else
libvmop_stat_libstat_la_SOURCES += libvmop/stat/net/net-none.c libvmop/stat/net/net.h
endif
# --hypervisor
libvmop_stat_libstat_la_SOURCES += \
	libvmop/stat/hypervisor/cpuid.c libvmop/stat/hypervisor/cpuid.h \
	libvmop/stat/hypervisor/detect.c libvmop/stat/hypervisor/detect.h \
	libvmop/stat/hypervisor/hypervisor.c libvmop/stat/hypervisor/hypervisor.h \
	libvmop/stat/hypervisor/machine.c libvmop/stat/hypervisor/machine.h \
	libvmop/stat/hypervisor/pmu.c libvmop/stat/hypervisor/pmu.h \
	libvmop/stat/hypervisor/report.c libvmop/stat/hypervisor/report.h \
	libvmop/stat/hypervisor/runstate.h \
	libvmop/stat/hypervisor/steal.c libvmop/stat/hypervisor/steal.h \
	libvmop/stat/hypervisor/vmware.c libvmop/stat/hypervisor/vmware.h
if HAVE_XEN
libvmop_stat_libstat_la_SOURCES += libvmop/stat/hypervisor/runstate.c
libvmop_stat_libstat_la_LIBADD += libutil/libxen.la
else
libvmop_stat_libstat_la_SOURCES += libvmop/stat/hypervisor/runstate-none.c
endif
vmopstat_SOURCES = libvmop/stat/vmopstat.c
vmopstat_LDADD = libvmop/stat/libstat.la hv-interface/libappio.la libvmop/libcounters.la hv-interface/libevents.la \
	hv-interface/libruntime.la libutil/libutil.la $(JANSSON_LIBS) -lm

examplesdir = $(docdir)/examples/libvmop
dist_examples_DATA = libvmop/examples/overflow.cc libvmop/examples/region.c

# The library that vmopstat --io loads into programs where BPF is not permitted.
pkglib_LTLIBRARIES += vmop-appio.la
vmop_appio_la_SOURCES = libvmop/stat/io/preload-library.c hv-interface/appio-calls.c \
	libvmop/stat/io/preload-counts.c libvmop/stat/io/preload-counts.h
# The functions that it replaces must be plain ones.
vmop_appio_la_CPPFLAGS = $(AM_CPPFLAGS) -U_FORTIFY_SOURCE
vmop_appio_la_CFLAGS = -std=gnu11 $(WARN_CFLAGS) -fno-builtin
vmop_appio_la_LDFLAGS = -module -avoid-version -shared
vmop_appio_la_LIBADD = -ldl
