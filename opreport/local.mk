# SPDX-License-Identifier: GPL-2.0-or-later
noinst_LTLIBRARIES += opreport/libopreport.la
opreport_libopreport_la_SOURCES = \
	opreport/archive/archive.c opreport/archive/archive.h \
	opreport/archive/manifest.c opreport/archive/manifest.h \
	opreport/archive/manifest-json.c opreport/archive/manifest-json.h \
	opreport/archive/time-zone.c opreport/archive/time-zone.h \
	opreport/annotate/annotation.c opreport/annotate/annotation.h \
	opreport/annotate/by-file.c opreport/annotate/by-function.c \
	opreport/annotate/code-images.c opreport/annotate/code-images.h \
	opreport/annotate/disassembly.h \
	opreport/annotate/listing.c opreport/annotate/listing.h \
	opreport/annotate/note-sheet.c opreport/annotate/note-sheet.h \
	opreport/annotate/open-fields.c opreport/annotate/open-fields.h \
	opreport/annotate/code-places.c opreport/annotate/code-places.h \
	opreport/annotate/source-file.c opreport/annotate/source-file.h \
	opreport/annotate/source-tree.c opreport/annotate/source-tree.h \
	opreport/query/arena.c opreport/query/arena.h \
	opreport/query/catalog.c opreport/query/catalog.h \
	opreport/query/choice.c opreport/query/choice.h \
	opreport/compare/braces.c opreport/compare/braces.h \
	opreport/compare/run/compare-chart.c opreport/compare/run/compare-chart.h \
	opreport/compare/run/compare-page.c opreport/compare/run/compare-page.h \
	opreport/compare/run/guest-state.c opreport/compare/run/guest-state.h \
	opreport/compare/run/one-command.c opreport/compare/run/one-command.h \
	opreport/compare/run/process-tree.c opreport/compare/run/process-tree.h \
	opreport/compare/run/recording.c opreport/compare/run/recording.h \
	opreport/compare/compare-output.c opreport/compare/compare-output.h \
	opreport/compare/comparison.c opreport/compare/comparison.h \
	opreport/compare/comparison-lines.c opreport/compare/comparison-sheet.c \
	opreport/compare/comparison-sheet.h opreport/compare/sheet-open.h \
	opreport/compare/difference.c opreport/compare/difference.h \
	opreport/compare/estimate.c opreport/compare/estimate.h \
	opreport/compare/flame-difference.c opreport/compare/flame-difference.h \
	opreport/compare/flame-report.c opreport/compare/flame-report.h \
	opreport/compare/figure.c opreport/compare/figure.h \
	opreport/compare/order.c opreport/compare/order.h \
	opreport/compare/people-columns.c opreport/compare/program-columns.c \
	opreport/compare/per.c opreport/compare/per.h \
	opreport/compare/request.c opreport/compare/request.h \
	opreport/compare/routine.c opreport/compare/routine.h \
	opreport/compare/side.c opreport/compare/side.h \
	opreport/compare/side-words.c opreport/compare/side-words.h \
	opreport/gate/baseline.c opreport/gate/baseline.h \
	opreport/gate/bound.c opreport/gate/bound.h \
	opreport/gate/change.c opreport/gate/change.h \
	opreport/gate/exact-test.c opreport/gate/exact-test.h \
	opreport/gate/figures.c opreport/gate/figures.h \
	opreport/gate/gate.c opreport/gate/gate.h \
	opreport/waits/exit-reason.c opreport/waits/exit-reason.h \
	opreport/waits/waits.c opreport/waits/waits.h \
	opreport/waits/waits-sheet.c opreport/waits/waits-sheet.h \
	opreport/waits/task-times.c opreport/waits/task-times.h \
	opreport/waits/task-times-sheet.c opreport/waits/task-times-sheet.h \
	opreport/gate/gate-options.c opreport/gate/gate-options.h \
	opreport/gate/shares.c opreport/gate/shares.h \
	opreport/gate/shares-json.c opreport/gate/shares-json.h \
	opreport/query/event-name.c opreport/query/event-name.h \
	opreport/query/omission.c opreport/query/omission.h \
	opreport/query/overlap.c opreport/query/overlap.h \
	opreport/output/line-width.c opreport/output/line-width.h \
	opreport/output/text-table.c opreport/output/text-table.h \
	opreport/output/value-text.c opreport/output/value-text.h \
	opreport/query/event-slots.c opreport/query/event-slots.h \
	opreport/query/guest-clock.c opreport/query/guest-clock.h \
	opreport/query/group.c opreport/query/group.h \
	opreport/query/identity.c opreport/query/identity.h \
	opreport/query/idle.c opreport/query/idle.h \
	opreport/query/kept-file.c opreport/query/kept-file.h \
	opreport/query/kept-images.c opreport/query/kept-images.h \
	opreport/query/kept-state.c opreport/query/kept-state.h \
	opreport/query/kept-sums.c opreport/query/kept-sums.h \
	opreport/output/output.c opreport/output/output.h \
	opreport/output/csv.c opreport/output/json.c opreport/output/table.c \
	opreport/query/query.h opreport/query/run.c \
	opreport/query/ratio.c opreport/query/ratio.h \
	opreport/query/run-memo.c opreport/query/run-memo.h \
	opreport/export/firefox.c opreport/export/perf-script.c opreport/export/speedscope.c \
	opreport/export/xml.c \
	opreport/export/html/histogram.c opreport/export/html/histogram.h \
	opreport/export/html/html.c opreport/export/html/page.c opreport/export/html/page.h \
	opreport/export/html/rows.c opreport/export/html/rows.h \
	opreport/export/html/section.c opreport/export/html/section.h \
	opreport/export/html/texts.c opreport/export/html/texts.h \
	opreport/export/json-writer.c opreport/export/json-writer.h \
	opreport/arrange/call-lines.c opreport/arrange/call-lines.h \
	opreport/arrange/call-report.c opreport/arrange/call-report.h \
	opreport/arrange/report.c opreport/arrange/report.h opreport/arrange/columns.c \
	opreport/arrange/facts.c opreport/arrange/lines.c \
	opreport/arrange/losses.c opreport/arrange/losses.h \
	opreport/arrange/values.c opreport/arrange/report-open.h \
	opreport/query/result.c opreport/query/resolve.c opreport/query/resolve.h \
	opreport/arrange/rows.c opreport/arrange/rows.h \
	opreport/arrange/session.c opreport/arrange/session.h \
	opreport/arrange/session-names.c opreport/arrange/session-names.h \
	opreport/output/printing.c opreport/output/printing.h opreport/output/sheet.h \
	opreport/options/option-word.c opreport/options/option-word.h \
	opreport/options/command-line.c opreport/options/command-line.h \
	opreport/options/symbol-options.c opreport/options/symbol-options.h \
	opreport/query/spec.c opreport/query/spec.h \
	opreport/query/symbols.c opreport/query/symbols.h \
	opreport/query/take.c opreport/query/take.h \
	opreport/query/time-slots.c opreport/query/time-slots.h \
	opreport/query/time-steps.c opreport/query/time-steps.h \
	opreport/query/time-window.c opreport/query/time-window.h \
	opreport/series/series.c opreport/series/series.h \
	opreport/series/series-options.c opreport/series/series-options.h \
	opreport/query/tally.c opreport/query/tally.h \
	opreport/query/unify.c opreport/query/unify.h \
	opreport/output/time-text.c opreport/output/time-text.h \
	opreport/stacks/call-path.c opreport/stacks/call-path.h \
	opreport/stacks/call-tree.c opreport/stacks/call-tree.h \
	opreport/stacks/callgraph.c opreport/stacks/callgraph.h \
	opreport/stacks/code-memo.c opreport/stacks/code-memo.h \
	opreport/stacks/flame-layout.c opreport/stacks/flame-layout.h opreport/stacks/flame-tint.h \
	opreport/stacks/flamegraph.c opreport/stacks/folded.c \
	opreport/stacks/frame.c opreport/stacks/frame.h \
	opreport/stacks/inclusive.c opreport/stacks/inclusive.h \
	opreport/stacks/inline-map.c opreport/stacks/inline-map.h opreport/stacks/inline-tree.c \
	opreport/stacks/inverse-tree.c opreport/stacks/inverse-tree.h \
	opreport/stacks/stack-filter.c opreport/stacks/stack-filter.h \
	opreport/stacks/stack-memo.c opreport/stacks/stack-memo.h \
	opreport/stacks/stack-reader.c opreport/stacks/stack-reader.h \
	opreport/stacks/svg-text.c opreport/stacks/svg-text.h \
	opreport/stacks/time-counts.c opreport/stacks/time-counts.h \
	opreport/stacks/time-extents.c opreport/stacks/time-extents.h \
	opreport/stacks/tree-output.c opreport/stacks/tree-output.h
nodist_opreport_libopreport_la_SOURCES = opreport/stacks/flamegraph-files.h \
	opreport/export/html/html-files.h
opreport_libopreport_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(XXHASH_CFLAGS)
opreport_libopreport_la_LIBADD = libdb/libdb.la libsym/libsym.la libutil/libutil.la \
	$(JANSSON_LIBS) $(XXHASH_LIBS) -lm
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

if HAVE_CAPSTONE
opreport_libopreport_la_SOURCES += opreport/annotate/disassembly.c
opreport_libopreport_la_CFLAGS += $(CAPSTONE_CFLAGS)
opreport_libopreport_la_LIBADD += $(CAPSTONE_LIBS)
else
opreport_libopreport_la_SOURCES += opreport/annotate/disassembly-none.c
endif

# Files of a flame graph, as arrays of C.
opreport/stacks/flamegraph-files.h: opreport/stacks/flamegraph.css opreport/stacks/flamegraph.js
	$(AM_V_GEN)$(MKDIR_P) opreport/stacks && for kind in css js; do \
		echo "static const char flamegraph_$$kind[] __attribute__((unused)) =" && \
		sed -e 's|["\\]|\\&|g' -e 's|.*|"&\\n"|' \
			"$(srcdir)/opreport/stacks/flamegraph.$$kind" && echo ';' || exit; \
	done >'$@.part' && mv '$@.part' '$@'
# Files of HTML pages, likewise: page.css is html_page_css.
html_files = opreport/export/html/page.css opreport/export/html/report.css \
	opreport/export/html/report.js opreport/export/html/timeline.js \
	opreport/export/html/flame.js opreport/export/html/table.js
opreport/export/html/html-files.h: $(html_files)
	$(AM_V_GEN)$(MKDIR_P) opreport/export/html && for file in $(html_files); do \
		name=$$(basename "$$file" | tr . _) && \
		echo "static const char html_$$name[] __attribute__((unused)) =" && \
		sed -e 's|^	*||' -e 's|	| |g' -e 's|["\\]|\\&|g' -e 's|.*|"&\\n"|' "$(srcdir)/$$file" && echo ';' || exit; \
	done >'$@.part' && mv '$@.part' '$@'
opreport/stacks/pprof.pb-c.c: opreport/stacks/pprof.proto
	$(AM_V_GEN)$(MKDIR_P) opreport/stacks && \
		$(PROTOC_C) --proto_path='$(srcdir)' --c_out=. '$(srcdir)/opreport/stacks/pprof.proto'
opreport/stacks/pprof.pb-c.h: opreport/stacks/pprof.pb-c.c
	@:
$(opreport_libopreport_la_OBJECTS): $(nodist_opreport_libopreport_la_SOURCES)
EXTRA_DIST += $(html_files)
EXTRA_DIST += opreport/stacks/flamegraph.css opreport/stacks/flamegraph.js opreport/stacks/pprof.proto
CLEANFILES += opreport/export/html/html-files.h
CLEANFILES += opreport/stacks/flamegraph-files.h opreport/stacks/pprof.pb-c.c opreport/stacks/pprof.pb-c.h

opreport_libopreport_la_SOURCES += opreport/charts/chart.h opreport/charts/chart-format.h \
	opreport/charts/chart-output.h \
	opreport/charts/chart-rows.c opreport/charts/chart-rows.h \
	opreport/charts/chart-settings.c opreport/charts/chart-settings.h \
	opreport/charts/chart-times.c opreport/charts/chart-times.h \
	opreport/charts/report-chart.c opreport/charts/report-chart.h \
	opreport/charts/row-label.c opreport/charts/row-label.h \
	opreport/charts/scale.c opreport/charts/scale.h \
	opreport/charts/time-grid.c opreport/charts/time-grid.h
if HAVE_CHARTS
noinst_LTLIBRARIES += opreport/libcharts.la
opreport_libcharts_la_SOURCES = opreport/charts/bars.c opreport/charts/bubbles.c \
	opreport/charts/category-labels.c opreport/charts/category-labels.h \
	opreport/charts/chart-output.c opreport/charts/figures.h opreport/charts/heat.c \
	opreport/charts/mode-mark.c opreport/charts/mode-mark.h \
	opreport/charts/chart-page.c opreport/charts/chart-page.h \
	opreport/charts/painter.c opreport/charts/painter.h \
	opreport/charts/palette.c opreport/charts/palette.h \
	opreport/charts/picture.c opreport/charts/picture.h \
	opreport/charts/scale.c opreport/charts/scale.h \
	opreport/charts/time-axis.c opreport/charts/time-axis.h opreport/charts/timeline.c
opreport_libcharts_la_CFLAGS = $(AM_CFLAGS) $(CHARTS_CFLAGS)
opreport_libcharts_la_LIBADD = $(CHARTS_LIBS) -lm
if CHARTS_MODULE
opreport_libopreport_la_SOURCES += opreport/charts/chart-loader.c opreport/charts/chart-module.h
pkglib_LTLIBRARIES += vmop_charts.la
vmop_charts_la_SOURCES = opreport/charts/chart-module.c opreport/charts/chart-module.h \
	libutil/array.c libutil/array.h \
	libutil/error.c libutil/error.h libutil/escape.c libutil/escape.h
vmop_charts_la_LIBADD = opreport/libcharts.la
vmop_charts_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	-export-symbols-regex '^vmop_chart_module$$'
else
opreport_libopreport_la_LIBADD += opreport/libcharts.la
endif
else
opreport_libopreport_la_SOURCES += opreport/charts/chart-output-none.c
endif

bin_PROGRAMS += vmopreport
vmopreport_SOURCES = opreport/vmopreport.c opreport/compare-report.c opreport/compare-report.h \
	opreport/gate-report.c opreport/gate-report.h \
	opreport/series-report.c opreport/series-report.h opreport/settings.c opreport/settings.h \
	opreport/settings-check.c opreport/settings-check.h
vmopreport_LDADD = opreport/libopreport.la

bin_PROGRAMS += vmoptop
vmoptop_SOURCES = opreport/top/vmoptop.c \
	opreport/top/top-grid.c opreport/top/top-grid.h \
	opreport/top/top-screen.h \
	opreport/top/top-snapshot.c opreport/top/top-snapshot.h \
	opreport/top/top-view.c opreport/top/top-view.h
vmoptop_CFLAGS = $(AM_CFLAGS) $(XXHASH_CFLAGS) $(NCURSES_CFLAGS)
vmoptop_LDADD = opreport/libopreport.la $(NCURSES_LIBS)
if HAVE_NCURSES
vmoptop_SOURCES += opreport/top/top-screen.c
else
vmoptop_SOURCES += opreport/top/top-screen-none.c
endif

bin_PROGRAMS += vmopcompare
vmopcompare_SOURCES = opreport/compare/vmopcompare.c \
	opreport/compare/compare-settings.c opreport/compare/compare-settings.h
vmopcompare_LDADD = opreport/libopreport.la

bin_PROGRAMS += vmopannotate
vmopannotate_SOURCES = opreport/annotate/vmopannotate.c opreport/annotate/settings.c \
	opreport/annotate/settings.h
vmopannotate_LDADD = opreport/libopreport.la

# Only vmoparchive has this library: readers do not load libarchive.
if HAVE_LIBARCHIVE
noinst_LTLIBRARIES += opreport/libarchiver.la
opreport_libarchiver_la_SOURCES = \
	opreport/archive/archive-settings.c opreport/archive/archive-settings.h \
	opreport/archive/collect.c opreport/archive/collect.h opreport/archive/collect-sources.c \
	opreport/archive/content.c opreport/archive/content.h \
	opreport/archive/interrupt.c opreport/archive/interrupt.h \
	opreport/archive/listing.c opreport/archive/listing.h \
	opreport/archive/pack.c opreport/archive/pack.h \
	opreport/archive/staging.c opreport/archive/staging.h \
	opreport/archive/unpack.c opreport/archive/unpack.h
opreport_libarchiver_la_CFLAGS = $(AM_CFLAGS) $(LIBARCHIVE_CFLAGS) $(XXHASH_CFLAGS)
opreport_libarchiver_la_LIBADD = opreport/libopreport.la $(LIBARCHIVE_LIBS) $(XXHASH_LIBS)
bin_PROGRAMS += vmoparchive
vmoparchive_SOURCES = opreport/archive/vmoparchive.c
vmoparchive_LDADD = opreport/libarchiver.la
endif
