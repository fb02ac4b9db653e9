# SPDX-License-Identifier: GPL-2.0-or-later
noinst_LTLIBRARIES += libstack/libstack.la
libstack_libstack_la_SOURCES = \
	libstack/budget.c libstack/budget.h \
	libstack/cfi.c libstack/cfi.h \
	libstack/cfi-program.c libstack/cfi-program.h \
	libstack/cfi-rule.c libstack/cfi-rule.h \
	libstack/cie-cache.c libstack/cie-cache.h \
	libstack/cursor.h \
	libstack/fde-index.c libstack/fde-index.h \
	libstack/functions.c libstack/functions.h \
	libstack/image.c libstack/image.h \
	libstack/rule-set.c libstack/rule-set.h \
	libstack/table.c libstack/table.h \
	libstack/table-build.c \
	libstack/table-builder.c libstack/table-builder.h \
	libstack/table-layout.h
libstack_libstack_la_LIBADD = libutil/libutil.la libutil/libcompressed.la

# The unwinder.
libstack_libstack_la_SOURCES += \
	libstack/entry-step.c libstack/entry-step.h \
	libstack/expression.c libstack/expression.h libstack/frame.h \
	libstack/machine-arm64.c libstack/machine-x86-64.c \
	libstack/unwind.c libstack/unwind.h

# Stacks of kernels that are looked into from outside.
libstack_libstack_la_SOURCES += \
	libstack/kernel/frame-records.c libstack/kernel/frame-pointers.c \
	libstack/kernel/unwind.c libstack/kernel/unwind.h libstack/kernel/pt-regs.h \
	libstack/kernel/calls.c libstack/kernel/calls.h \
	libstack/kernel/search.c libstack/kernel/search.h \
	libstack/kernel/orc.c libstack/kernel/orc.h libstack/kernel/orc-entry.h
