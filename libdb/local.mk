# SPDX-License-Identifier: GPL-2.0-or-later
noinst_LTLIBRARIES += libdb/libdb.la
libdb_libdb_la_SOURCES = \
	libdb/cells-sort.c \
	libdb/cells-table.c libdb/cells-table.h \
	libdb/check.c \
	libdb/checkpoint.c libdb/checkpoint.h \
	libdb/clock.c libdb/clock.h \
	libdb/code.c \
	libdb/connection.c libdb/connection.h \
	libdb/db.c libdb/db.h \
	libdb/facts.c \
	libdb/file-set.c libdb/file-set.h \
	libdb/filter.c libdb/filter.h \
	libdb/hash.h \
	libdb/interval.c \
	libdb/losses.c \
	libdb/merged-task.c \
	libdb/pack.c libdb/pack.h \
	libdb/pile.c libdb/pile.h \
	libdb/place.c libdb/place.h \
	libdb/place-order.c libdb/place-order.h \
	libdb/retention.c \
	libdb/roll-up.c \
	libdb/symbols/sampled-symbols.c libdb/symbols/sampled-symbols.h \
	libdb/schema.c libdb/schema.h \
	libdb/snapshot-readers.c libdb/session-files.c libdb/session-files.h \
	libdb/stacks/cells.c libdb/stacks/cells.h \
	libdb/stacks/heap.c libdb/stacks/heap.h \
	libdb/stacks/merge.c \
	libdb/stacks/nodes.c libdb/stacks/nodes.h \
	libdb/stacks/tree.c \
	libdb/sum.c libdb/sum.h \
	libdb/summaries/summary.c libdb/summaries/summary.h \
	libdb/symbols/symbols.c libdb/symbols/symbols.h \
	libdb/types.h \
	libdb/vfs.c libdb/vfs.h \
	libdb/waits.c \
	libdb/walk.c \
	libdb/walk-sums.c
libdb_libdb_la_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS) $(XXHASH_CFLAGS) $(ZSTD_CFLAGS)
libdb_libdb_la_LIBADD = libutil/libutil.la $(SQLITE_LIBS) $(XXHASH_LIBS) $(ZSTD_LIBS)

# For sqlite3(1): ".load $(pkglibdir)/vmop_cells".
pkglib_LTLIBRARIES += vmop_cells.la
vmop_cells_la_SOURCES = \
	libdb/cells-table.c libdb/cells-table.h \
	libdb/pack.c libdb/pack.h \
	libdb/stacks/cells.c libdb/stacks/cells.h \
	libdb/stacks/nodes.c libdb/stacks/nodes.h \
	libdb/types.h \
	libutil/array.c libutil/array.h \
	libutil/varint.c libutil/varint.h
vmop_cells_la_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS) $(ZSTD_CFLAGS) -DVMOP_CELLS_EXTENSION
vmop_cells_la_LIBADD = $(ZSTD_LIBS)
vmop_cells_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
vmop_cells_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared
