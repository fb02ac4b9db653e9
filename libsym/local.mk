# SPDX-License-Identifier: GPL-2.0-or-later
noinst_LTLIBRARIES += libsym/libsym.la
libsym_libsym_la_SOURCES = \
	libsym/build-id.c libsym/build-id.h \
	libsym/elf-file.c libsym/elf-file.h \
	libsym/elf-symbols.c libsym/elf-symbols.h \
	libsym/elf-symtab.c \
	libsym/kallsyms.c libsym/kallsyms.h \
	libsym/kernel-image.c \
	libsym/resolver.h \
	libsym/symtab.c libsym/symtab.h \
	libsym/symtab-builder.c libsym/symtab-builder.h
libsym_libsym_la_CPPFLAGS = $(AM_CPPFLAGS) $(LIBELF_CFLAGS)
libsym_libsym_la_LIBADD = $(LIBELF_LIBS)
