# SPDX-License-Identifier: GPL-2.0-or-later
noinst_LTLIBRARIES += libguest/libguest.la
libguest_libguest_la_SOURCES = \
	libguest/arm64-code.c libguest/arm64-code.h \
	libguest/btf.c libguest/btf.h \
	libguest/budget.h \
	libguest/elf-header.c libguest/elf-header.h \
	libguest/files.c libguest/files.h \
	libguest/guest.c libguest/guest.h libguest/guest-internal.h \
	libguest/image.c libguest/image.h \
	libguest/kallsyms.c libguest/kallsyms-find.c libguest/kallsyms.h \
	libguest/kernel.c libguest/kernel-find.c libguest/kernel.h \
	libguest/kernel-arm64.c libguest/kernel-arm64.h \
	libguest/layout.c libguest/layout.h \
	libguest/memory.c libguest/memory-file.c libguest/memory-map.c \
	libguest/memory.h libguest/memory-internal.h \
	libguest/modules.c libguest/modules.h \
	libguest/names.c libguest/names.h \
	libguest/note.c libguest/note.h \
	libguest/page-cache.c libguest/page-cache.h \
	libguest/page-table.c libguest/page-table.h libguest/paging.h \
	libguest/page-table-arm64.c libguest/page-table-arm64.h \
	libguest/processes.c libguest/processes.h \
	libguest/qmp.c libguest/qmp.h \
	libguest/snapshot.c libguest/snapshot.h libguest/snapshot-build.h \
	libguest/types.h \
	libguest/variables.c libguest/variables.h \
	libguest/vmas.c libguest/vmas.h \
	libguest/vmcoreinfo.c libguest/vmcoreinfo.h \
	libguest/xen.h libguest/hypervisor-xen.h
if HAVE_XEN
libguest_libguest_la_SOURCES += libguest/xen.c libguest/xen-control.c libguest/xen-control.h \
	libguest/hypervisor-xen.c libguest/xen-silence.c libguest/xen-silence.h
else
libguest_libguest_la_SOURCES += libguest/xen-none.c libguest/hypervisor-xen-none.c
endif
libguest_libguest_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(INIH_CFLAGS) $(XEN_CFLAGS)
libguest_libguest_la_LIBADD = libutil/libutil.la $(JANSSON_LIBS) $(INIH_LIBS) $(XEN_LIBS)

# Profiles of kernels without BTF: for those who have such guests.
bin_PROGRAMS += libguest/vmop-guest-profile
libguest_vmop_guest_profile_SOURCES = libguest/guest-profile.c
libguest_vmop_guest_profile_CPPFLAGS = $(AM_CPPFLAGS) $(LIBDW_CFLAGS)
libguest_vmop_guest_profile_LDADD = libguest/libguest.la libutil/libutil.la $(LIBDW_LIBS)
