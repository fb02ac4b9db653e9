# SPDX-License-Identifier: GPL-2.0-or-later
noinst_LTLIBRARIES += opreport/libopreport.la
opreport_libopreport_la_SOURCES = \
	opreport/arena.c opreport/arena.h \
	opreport/catalog.c opreport/catalog.h \
	opreport/choice.c opreport/choice.h \
	opreport/event-name.c opreport/event-name.h \
	opreport/fit.c opreport/fit.h \
	opreport/group.c opreport/group.h \
	opreport/identity.c opreport/identity.h \
	opreport/idle.c opreport/idle.h \
	opreport/output.c opreport/output.h \
	opreport/output-csv.c opreport/output-json.c opreport/output-table.c \
	opreport/query.c opreport/query.h \
	opreport/ratio.c opreport/ratio.h \
	opreport/report.c opreport/report.h opreport/report-columns.c opreport/report-open.h \
	opreport/resolve.c opreport/resolve.h \
	opreport/rows.c opreport/rows.h \
	opreport/session.c opreport/session.h \
	opreport/sheet.h \
	opreport/spec.c opreport/spec.h \
	opreport/symbols.c opreport/symbols.h \
	opreport/tally.c opreport/tally.h \
	opreport/when.c opreport/when.h
opreport_libopreport_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(SMARTCOLS_CFLAGS) $(XXHASH_CFLAGS)
opreport_libopreport_la_LIBADD = libdb/libdb.la libsym/libsym.la libutil/libutil.la \
	$(JANSSON_LIBS) $(SMARTCOLS_LIBS) $(XXHASH_LIBS) -lm

bin_PROGRAMS += vmopreport
vmopreport_SOURCES = opreport/vmopreport.c
vmopreport_LDADD = opreport/libopreport.la
