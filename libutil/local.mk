# SPDX-License-Identifier: GPL-2.0-or-later
noinst_LTLIBRARIES += libutil/libutil.la
libutil_libutil_la_SOURCES = \
	libutil/cleanup.h \
	libutil/error.c libutil/error.h \
	libutil/io.c libutil/io.h \
	libutil/log.c libutil/log.h \
	libutil/parse.c libutil/parse.h \
	libutil/progress.c libutil/progress.h
libutil_libutil_la_LIBADD = -lm
