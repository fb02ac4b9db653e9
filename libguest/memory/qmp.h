// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Asks a QEMU where guest RAM lies, over its QMP socket (QEMU: docs/interop/
 * qmp-spec.rst; gpa2hva is an HMP command, reached by human-monitor-command).
 * A QMP socket serves one client at a time: a busy one times out.
 */
#ifndef VMOP_LIBGUEST_MEMORY_QMP_H
#define VMOP_LIBGUEST_MEMORY_QMP_H

#include <stdint.h>
#include <sys/types.h>

struct vmop_error;
struct vmop_guest_qmp;

/*
 * Connects and greets, if it is vmm_pid that listens there; all waits of the object
 * together are at most two seconds.
 */
struct vmop_error *vmop_guest_qmp_open(pid_t vmm_pid, const char *socket_path,
				       struct vmop_guest_qmp **ret);
void vmop_guest_qmp_close(struct vmop_guest_qmp *qmp);

/* The VMM's address of gpa; VMOP_GUEST_NO_ADDRESS when no RAM is there. */
struct vmop_error *vmop_guest_qmp_host_address(struct vmop_guest_qmp *qmp, uint64_t gpa,
					       uint64_t *ret);

#endif
