# SPDX-License-Identifier: GPL-2.0-or-later
# libsymtab.la reads symbol tables and build-ids: all that the daemon needs, without the
# network client behind debuginfod.  libsym.la is that and the resolver, for readers.
noinst_LTLIBRARIES += libsym/libsymtab.la libsym/libsym.la
libsym_libsymtab_la_SOURCES = \
	libsym/budget.c libsym/budget.h \
	libsym/build-id.c libsym/build-id.h \
	libsym/elf/elf-file.c libsym/elf/elf-file.h \
	libsym/elf/elf-symbols.c libsym/elf/elf-symbols.h \
	libsym/elf/elf-symtab.c \
	libsym/jit/jitdump.c libsym/jit/jitdump.h \
	libsym/jit/jitdump-records.c libsym/jit/jitdump-records.h \
	libsym/kallsyms.c libsym/kallsyms.h \
	libsym/kernel-image.c libsym/kernel-image.h \
	libsym/elf/mini-debug-info.c libsym/elf/mini-debug-info.h \
	libsym/jit/perf-map.c libsym/jit/perf-map.h \
	libsym/elf/plt.c libsym/elf/plt.h \
	libsym/elf/unpack.c libsym/elf/unpack.h \
	libsym/symbol-sort.c libsym/symbol-sort.h \
	libsym/symtab.c libsym/symtab.h \
	libsym/symtab-builder.c libsym/symtab-builder.h
libsym_libsymtab_la_CPPFLAGS = $(AM_CPPFLAGS) $(LIBELF_CFLAGS) $(LZMA_CFLAGS) $(ZSTD_CFLAGS) $(ZLIB_CFLAGS)
libsym_libsymtab_la_LIBADD = $(LIBELF_LIBS) $(LZMA_LIBS) $(ZSTD_LIBS) $(ZLIB_LIBS)

libsym_libsym_la_SOURCES = \
	libsym/cache/cache-file.c libsym/cache/cache-file.h \
	libsym/cache/cache-trim.c libsym/cache/cache-trim.h \
	libsym/cache/image-names.c libsym/cache/image-names.h \
	libsym/cache/mapped-symtab.c libsym/cache/mapped-symtab.h \
	libsym/cache/name-cache.c libsym/cache/name-cache.h \
	libsym/cache/symbol-cache.c libsym/cache/symbol-cache.h \
	libsym/dwarf/debug-sections.c libsym/dwarf/debug-sections.h \
	libsym/debuginfod-client.c libsym/debuginfod-client.h \
	libsym/demangle-form.h libsym/demangle.c libsym/demangle.h \
	libsym/file-answers.c libsym/file-answers.h \
	libsym/file-finder.c libsym/file-finder.h \
	libsym/found-files.c libsym/found-files.h libsym/image-ref.h \
	libsym/elf/image-file.c libsym/elf/image-file.h \
	libsym/code.c libsym/code.h \
	libsym/dwarf/inline-index.c libsym/dwarf/inline-index.h \
	libsym/dwarf/line-cost.c libsym/dwarf/line-cost.h \
	libsym/dwarf/line-index.c libsym/dwarf/line-index.h \
	libsym/dwarf/module-place.c libsym/dwarf/module-place.h \
	libsym/dwarf/search.c libsym/dwarf/search.h \
	libsym/dwarf/units.c libsym/dwarf/units.h \
	libsym/inlines.c libsym/inlines.h \
	libsym/line.h libsym/lines.c libsym/lines.h \
	libsym/link-base.c libsym/link-base.h \
	libsym/module-code.c libsym/module-code.h \
	libsym/module-files.c libsym/module-files.h \
	libsym/name-table.c libsym/name-table.h \
	libsym/dwarf/range-map.c libsym/dwarf/range-map.h \
	libsym/resolver.c libsym/resolver.h
libsym_libsym_la_CPPFLAGS = $(AM_CPPFLAGS) $(LIBELF_CFLAGS) $(LIBDW_CFLAGS) $(LZMA_CFLAGS) $(DEBUGINFOD_CFLAGS) $(XXHASH_CFLAGS)
libsym_libsym_la_LIBADD = libsym/libsymtab.la libutil/libcompressed.la $(LIBDW_LIBS) $(IBERTY_LIBS) $(XXHASH_LIBS)
