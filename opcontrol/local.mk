# SPDX-License-Identifier: GPL-2.0-or-later
bin_PROGRAMS += vmopcontrol
vmopcontrol_SOURCES = \
	opcontrol/actions.c opcontrol/actions.h \
	opcontrol/command.c opcontrol/command.h \
	opcontrol/daemon.c opcontrol/daemon.h \
	opcontrol/inspect.c opcontrol/inspect.h \
	opcontrol/lives.c opcontrol/lives.h \
	opcontrol/session-facts.c opcontrol/session-facts.h \
	opcontrol/session-tables.c opcontrol/session-tables.h \
	opcontrol/show.c opcontrol/show.h \
	opcontrol/status.c opcontrol/status.h \
	opcontrol/vmopcontrol.c
vmopcontrol_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(SMARTCOLS_CFLAGS)
vmopcontrol_LDADD = libdb/libdb.la libutil/libutil.la $(JANSSON_LIBS) $(SMARTCOLS_LIBS)
