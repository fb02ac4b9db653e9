# SPDX-License-Identifier: GPL-2.0-or-later
noinst_LTLIBRARIES += opreport/libopreport.la
opreport_libopreport_la_SOURCES = \
	opreport/query/arena.c opreport/query/arena.h \
	opreport/query/catalog.c opreport/query/catalog.h \
	opreport/query/choice.c opreport/query/choice.h \
	opreport/query/event-name.c opreport/query/event-name.h \
	opreport/output/line-width.c opreport/output/line-width.h \
	opreport/query/event-slots.c opreport/query/event-slots.h \
	opreport/query/group.c opreport/query/group.h \
	opreport/query/identity.c opreport/query/identity.h \
	opreport/query/idle.c opreport/query/idle.h \
	opreport/output/output.c opreport/output/output.h \
	opreport/output/csv.c opreport/output/json.c opreport/output/table.c \
	opreport/query/query.h opreport/query/run.c \
	opreport/query/ratio.c opreport/query/ratio.h \
	opreport/arrange/call-lines.c opreport/arrange/call-lines.h \
	opreport/arrange/call-report.c opreport/arrange/call-report.h \
	opreport/arrange/report.c opreport/arrange/report.h opreport/arrange/columns.c \
	opreport/arrange/facts.c opreport/arrange/lines.c \
	opreport/arrange/values.c opreport/arrange/report-open.h \
	opreport/query/result.c opreport/query/resolve.c opreport/query/resolve.h \
	opreport/arrange/rows.c opreport/arrange/rows.h \
	opreport/arrange/session.c opreport/arrange/session.h \
	opreport/output/sheet.h \
	opreport/query/spec.c opreport/query/spec.h \
	opreport/query/symbols.c opreport/query/symbols.h \
	opreport/query/take.c opreport/query/take.h \
	opreport/query/tally.c opreport/query/tally.h \
	opreport/query/unify.c opreport/query/unify.h \
	opreport/output/time-text.c opreport/output/time-text.h \
	opreport/stacks/call-path.c opreport/stacks/call-path.h \
	opreport/stacks/call-tree.c opreport/stacks/call-tree.h \
	opreport/stacks/callgraph.c opreport/stacks/callgraph.h \
	opreport/stacks/code-memo.c opreport/stacks/code-memo.h \
	opreport/stacks/flame-layout.c opreport/stacks/flame-layout.h \
	opreport/stacks/flamegraph.c opreport/stacks/folded.c \
	opreport/stacks/frame.c opreport/stacks/frame.h \
	opreport/stacks/inclusive.c opreport/stacks/inclusive.h \
	opreport/stacks/inline-map.c opreport/stacks/inline-map.h opreport/stacks/inline-tree.c \
	opreport/stacks/inverse-tree.c opreport/stacks/inverse-tree.h \
	opreport/stacks/stack-filter.c opreport/stacks/stack-filter.h \
	opreport/stacks/stack-memo.c opreport/stacks/stack-memo.h \
	opreport/stacks/stack-reader.c opreport/stacks/stack-reader.h \
	opreport/stacks/svg-text.c opreport/stacks/svg-text.h \
	opreport/stacks/tree-output.c opreport/stacks/tree-output.h
nodist_opreport_libopreport_la_SOURCES = opreport/stacks/flamegraph-files.h
opreport_libopreport_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(SMARTCOLS_CFLAGS) $(XXHASH_CFLAGS)
opreport_libopreport_la_LIBADD = libdb/libdb.la libsym/libsym.la libutil/libutil.la \
	$(JANSSON_LIBS) $(SMARTCOLS_LIBS) $(XXHASH_LIBS) -lm
if HAVE_PPROF
opreport_libopreport_la_SOURCES += opreport/stacks/pprof.c \
	opreport/stacks/profile-sample.c opreport/stacks/profile-sample.h \
	opreport/stacks/profile-writer.c opreport/stacks/profile-writer.h
nodist_opreport_libopreport_la_SOURCES += opreport/stacks/pprof.pb-c.c opreport/stacks/pprof.pb-c.h
opreport_libopreport_la_CFLAGS += $(PROTOBUF_C_CFLAGS) $(ZLIB_CFLAGS)
opreport_libopreport_la_LIBADD += $(PROTOBUF_C_LIBS) $(ZLIB_LIBS)
else
opreport_libopreport_la_SOURCES += opreport/stacks/pprof-none.c
endif

# Files of a flame graph, as arrays of C.
opreport/stacks/flamegraph-files.h: opreport/stacks/flamegraph.css opreport/stacks/flamegraph.js
	$(AM_V_GEN)$(MKDIR_P) opreport/stacks && for kind in css js; do \
		echo "static const char flamegraph_$$kind[] =" && \
		sed -e 's|["\\]|\\&|g' -e 's|.*|"&\\n"|' \
			"$(srcdir)/opreport/stacks/flamegraph.$$kind" && echo ';' || exit; \
	done >'$@.part' && mv '$@.part' '$@'
opreport/stacks/pprof.pb-c.c: opreport/stacks/pprof.proto
	$(AM_V_GEN)$(MKDIR_P) opreport/stacks && \
		$(PROTOC_C) --proto_path='$(srcdir)' --c_out=. '$(srcdir)/opreport/stacks/pprof.proto'
opreport/stacks/pprof.pb-c.h: opreport/stacks/pprof.pb-c.c
	@:
$(opreport_libopreport_la_OBJECTS): $(nodist_opreport_libopreport_la_SOURCES)
EXTRA_DIST += opreport/stacks/flamegraph.css opreport/stacks/flamegraph.js opreport/stacks/pprof.proto
CLEANFILES += opreport/stacks/flamegraph-files.h opreport/stacks/pprof.pb-c.c opreport/stacks/pprof.pb-c.h

bin_PROGRAMS += vmopreport
vmopreport_SOURCES = opreport/vmopreport.c opreport/settings.c opreport/settings.h
vmopreport_LDADD = opreport/libopreport.la
