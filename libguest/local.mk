# SPDX-License-Identifier: GPL-2.0-or-later
noinst_LTLIBRARIES += libguest/libguest.la
libguest_libguest_la_SOURCES = \
	libguest/guest-code.c libguest/guest.c libguest/guest.h libguest/guest-internal.h \
	libguest/user-memory.c libguest/budget.h libguest/types.h libguest/hypervisor-xen.h \
	libguest/memory/elf-header.c libguest/memory/elf-header.h \
	libguest/memory/file.c libguest/memory/map.c libguest/memory/internal.h \
	libguest/memory/memory.c libguest/memory/memory.h \
	libguest/memory/note.c libguest/memory/note.h \
	libguest/memory/page-table.c libguest/memory/page-table.h libguest/memory/paging.h \
	libguest/memory/page-table-arm64.c libguest/memory/page-table-arm64.h \
	libguest/memory/qmp.c libguest/memory/qmp.h \
	libguest/memory/xen.h \
	libguest/kernel/arm64.c libguest/kernel/arm64.h \
	libguest/kernel/arm64-code.c libguest/kernel/arm64-code.h \
	libguest/kernel/btf.c libguest/kernel/btf.h \
	libguest/kernel/find.c \
	libguest/kernel/image.c libguest/kernel/image.h \
	libguest/kernel/kallsyms.c libguest/kernel/kallsyms-find.c libguest/kernel/kallsyms.h \
	libguest/kernel/kernel.c libguest/kernel/kernel.h \
	libguest/kernel/layout.c libguest/kernel/layout.h \
	libguest/kernel/module-set.c libguest/kernel/module-set.h \
	libguest/kernel/modules.c libguest/kernel/modules.h \
	libguest/kernel/orc.c libguest/kernel/orc.h \
	libguest/kernel/variables.c libguest/kernel/variables.h \
	libguest/kernel/vmcoreinfo.c libguest/kernel/vmcoreinfo.h \
	libguest/tasks/account.c libguest/tasks/account.h \
	libguest/tasks/files.c libguest/tasks/files.h \
	libguest/tasks/inodes.c libguest/tasks/inodes.h \
	libguest/tasks/lookup.c libguest/tasks/lookup.h \
	libguest/tasks/names.c libguest/tasks/names.h \
	libguest/tasks/numbers.c libguest/tasks/numbers.h \
	libguest/tasks/page-cache.c libguest/tasks/page-cache.h \
	libguest/tasks/paths.c libguest/tasks/paths.h \
	libguest/tasks/processes.c libguest/tasks/processes.h \
	libguest/tasks/snapshot.c libguest/tasks/snapshot.h libguest/tasks/snapshot-build.h \
	libguest/tasks/threads.c libguest/tasks/threads.h \
	libguest/tasks/vmas.c libguest/tasks/vmas.h
if HAVE_XEN
libguest_libguest_la_SOURCES += libguest/memory/xen.c libguest/memory/xen-control.c libguest/memory/xen-control.h \
	libguest/hypervisor-xen.c
libguest_libguest_la_LIBADD = libutil/libxen.la
else
libguest_libguest_la_SOURCES += libguest/memory/xen-none.c libguest/hypervisor-xen-none.c
libguest_libguest_la_LIBADD =
endif
libguest_libguest_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(INIH_CFLAGS) $(XEN_CFLAGS)
libguest_libguest_la_LIBADD += libutil/libutil.la $(JANSSON_LIBS) $(INIH_LIBS) $(XEN_LIBS)

# Makes profiles of kernels without BTF.
bin_PROGRAMS += libguest/vmop-guest-profile
libguest_vmop_guest_profile_SOURCES = libguest/guest-profile.c
libguest_vmop_guest_profile_CPPFLAGS = $(AM_CPPFLAGS) $(LIBDW_CFLAGS)
libguest_vmop_guest_profile_LDADD = libguest/libguest.la libutil/libutil.la $(LIBDW_LIBS)
