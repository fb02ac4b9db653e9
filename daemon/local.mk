# SPDX-License-Identifier: GPL-2.0-or-later
noinst_LTLIBRARIES += daemon/libdaemon.la
daemon_libdaemon_la_SOURCES = \
	daemon/aggregate.c daemon/aggregate.h \
	daemon/attribute.c daemon/attribute.h \
	daemon/domain.c daemon/domain.h \
	daemon/domain-provider.h daemon/domain-providers.c \
	daemon/examine.c daemon/examine.h \
	daemon/guest-place.c daemon/guest-place.h \
	daemon/guest-task.c daemon/guest-task.h \
	daemon/guest-view.c daemon/guest-view.h \
	daemon/guest-watch.c daemon/guest-watch.h \
	daemon/guests.c daemon/guests.h \
	daemon/identify.c daemon/identify.h \
	daemon/idmap.c daemon/idmap.h \
	daemon/image.c daemon/image.h \
	daemon/kernel.c daemon/kernel.h \
	daemon/kernel-address.h \
	daemon/kvm.c daemon/kvm.h \
	daemon/kvm-provider.c daemon/kvm-provider.h \
	daemon/losses.c daemon/losses.h \
	daemon/mapping.c daemon/mapping.h \
	daemon/maps.c daemon/maps.h \
	daemon/options.h \
	daemon/passive.c daemon/passive.h \
	daemon/perf-maps.c daemon/perf-maps.h \
	daemon/pool.c daemon/pool.h \
	daemon/proc-text.c daemon/proc-text.h \
	daemon/process.c daemon/process.h \
	daemon/procfs.c daemon/procfs.h \
	daemon/profiler.c daemon/profiler.h \
	daemon/readers.c daemon/readers.h \
	daemon/regions.c daemon/regions.h \
	daemon/short-lived.c daemon/short-lived.h \
	daemon/task.c daemon/task.h \
	daemon/text-map.c daemon/text-map.h \
	daemon/thread.c daemon/thread.h \
	daemon/vmm.c daemon/vmm.h \
	daemon/why.h \
	daemon/worker.c daemon/worker.h \
	daemon/active-mail.h \
	daemon/xen-domains.c daemon/xen-domains.h \
	daemon/xen-guests.c daemon/xen-guests.h \
	daemon/xen-provider.c daemon/xen-provider.h \
	daemon/xen-text.c daemon/xen-text.h \
	daemon/xenstore-parse.c daemon/xenstore.h
if HAVE_XEN
daemon_libdaemon_la_SOURCES += daemon/active-mail.c daemon/xenstore.c
else
daemon_libdaemon_la_SOURCES += daemon/active-mail-none.c daemon/xenstore-none.c
endif
daemon_libdaemon_la_CPPFLAGS = $(AM_CPPFLAGS) $(XEN_CFLAGS)
daemon_libdaemon_la_LIBADD = $(XEN_LIBS)

sbin_PROGRAMS += vmopd
vmopd_SOURCES = \
	daemon/agent.c daemon/agent.h \
	daemon/control.c daemon/control.h \
	daemon/detach.c daemon/detach.h \
	daemon/inspect.c daemon/inspect.h \
	daemon/inspect-image.c daemon/inspect-image.h \
	daemon/list-events.c daemon/list-events.h \
	daemon/pairing.c daemon/pairing.h \
	daemon/privileges.c daemon/privileges.h \
	daemon/requests.c daemon/requests.h \
	daemon/session.c daemon/session.h daemon/session-file.c daemon/session-file.h daemon/session-summary.c \
	daemon/status.c daemon/status.h \
	daemon/vmopd.c
vmopd_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(SYSTEMD_CFLAGS) $(CAPNG_CFLAGS) $(SECCOMP_CFLAGS)
vmopd_LDADD = daemon/libdaemon.la libguest/libguest.la hv-interface/libhvinterface.la libdb/libdb.la \
	libsym/libsymtab.la libutil/libutil.la $(JANSSON_LIBS) $(SYSTEMD_LIBS) $(CAPNG_LIBS) \
	$(SECCOMP_LIBS)
