# SPDX-License-Identifier: GPL-2.0-or-later
noinst_LTLIBRARIES += libutil/libutil.la libutil/libcompressed.la
libutil_libutil_la_SOURCES = \
	libutil/array.c libutil/array.h \
	libutil/cleanup.h \
	libutil/clock.h \
	libutil/error.c libutil/error.h \
	libutil/escape.c libutil/escape.h libutil/event-text.h \
	libutil/hash-seed.c libutil/hash-seed.h \
	libutil/heap.c libutil/heap.h \
	libutil/io.c libutil/io.h \
	libutil/json.c libutil/json.h \
	libutil/host-time.c libutil/host-time.h libutil/kvm.c libutil/kvm.h \
	libutil/label.c libutil/label.h \
	libutil/local-time.c libutil/local-time.h \
	libutil/log.c libutil/log.h libutil/markup.c libutil/markup.h \
	libutil/options.c libutil/options.h \
	libutil/parse.c libutil/parse.h \
	libutil/plural.h \
	libutil/proc-text.c libutil/proc-text.h libutil/procfs.c libutil/procfs.h \
	libutil/progress.c libutil/progress.h \
	libutil/protocol.c libutil/protocol.h libutil/readers.c libutil/readers.h \
	libutil/dirs/run-dir.c libutil/dirs/run-dir.h \
	libutil/dirs/safe-dir.c libutil/dirs/safe-dir.h \
	libutil/setup.c libutil/set-up/active-samples.c libutil/set-up/callgraph.c libutil/set-up/check.c libutil/set-up/code.c libutil/set-up/fetch.c libutil/set-up/guest-context.c libutil/set-up/waits.c libutil/setup.h \
	libutil/set-up/off-cpu.c libutil/set-up/file.c libutil/setup-key.h \
	libutil/set-up/ladder.c libutil/set-up/overhead.c libutil/set-up/retention.c libutil/set-up/span.c libutil/set-up/span.h \
	libutil/stack-end.c libutil/stack-end.h \
	libutil/guest-gap.c libutil/guest-gap.h \
	libutil/thread.c libutil/thread.h \
	libutil/time-words.c libutil/time-words.h \
	libutil/tsc.c libutil/tsc.h libutil/varint.c libutil/varint.h \
	libutil/vmm.c libutil/vmm.h \
	libutil/worker.c libutil/worker.h
libutil_libutil_la_CPPFLAGS = $(AM_CPPFLAGS) $(INIH_CFLAGS) $(JANSSON_CFLAGS)
libutil_libutil_la_LIBADD = $(INIH_LIBS) $(JANSSON_LIBS) -lm

# For readers of debug sections; other programs need no decompression.
libutil_libcompressed_la_SOURCES = libutil/elf/compressed.c libutil/elf/compressed.h
libutil_libcompressed_la_CPPFLAGS = $(AM_CPPFLAGS) $(ZLIB_CFLAGS) $(ZSTD_CFLAGS)
libutil_libcompressed_la_LIBADD = $(ZLIB_LIBS) $(ZSTD_LIBS)

# Calls to Xen.
if HAVE_XEN
noinst_LTLIBRARIES += libutil/libxen.la
libutil_libxen_la_SOURCES = libutil/xen/domctl.c libutil/xen/domctl.h libutil/xen/silence.c libutil/xen/silence.h
libutil_libxen_la_CPPFLAGS = $(AM_CPPFLAGS) $(XEN_CFLAGS)
libutil_libxen_la_LIBADD = $(XEN_LIBS)
endif
