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
	libvmop/user-read.c libvmop/user-read.h \
	libvmop/watch.c

lib_LTLIBRARIES += libvmop/libvmop.la
libvmop_libvmop_la_SOURCES = libutil/array.c libutil/error.c libutil/io.c libutil/parse.c \
	libutil/dirs/safe-dir.c
# A first CFLAGS of its own: these objects are not those of libutil.
libvmop_libvmop_la_CFLAGS = $(AM_CFLAGS)
libvmop_libvmop_la_LIBADD = libvmop/libcounters.la hv-interface/libevents.la -lm
libvmop_libvmop_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 \
	-Wl,--version-script=$(top_srcdir)/libvmop/libvmop.map
libvmop_libvmop_la_DEPENDENCIES = libvmop/libcounters.la hv-interface/libevents.la libvmop/libvmop.map
EXTRA_DIST += libvmop/libvmop.map
include_HEADERS = libvmop/vmop.h

pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = libvmop/libvmop.pc
generated_texts += libvmop/libvmop.pc
