// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A client of QEMU's QMP socket, which returns where guest RAM lies (QEMU:
 * docs/interop/qmp-spec.rst). gpa2hva is a command of the human monitor, reached by
 * human-monitor-command. A QMP socket serves one client at a time: a call on a busy one times out.
 * Thread: one at a time for each object.
 */
#ifndef VMOP_LIBGUEST_MEMORY_QMP_H
#define VMOP_LIBGUEST_MEMORY_QMP_H

#include <stdint.h>
#include <sys/types.h>

struct vmop_error;
struct vmop_guest_qmp;

/*
 * Connect to socket_path and negotiate, provided that process vmm_pid listens there. All waits of
 * the object together take at most two seconds. The caller closes *ret. VMOP_ERROR_USAGE:
 * socket_path is too long. VMOP_ERROR_CANT: another process listens, or no answer in time.
 */
struct vmop_error *vmop_guest_qmp_open(pid_t vmm_pid, const char *socket_path,
				       struct vmop_guest_qmp **ret);
void vmop_guest_qmp_close(struct vmop_guest_qmp *qmp); /* NULL is allowed */

/*
 * Set *ret to the address of gpa in the VMM, or to VMOP_GUEST_NO_ADDRESS when no RAM is there.
 * VMOP_ERROR_CANT: no answer in time, or an error from QEMU. VMOP_ERROR_LIMIT: the answer is too
 * long, or follows too many events.
 */
struct vmop_error *vmop_guest_qmp_host_address(struct vmop_guest_qmp *qmp, uint64_t gpa,
					       uint64_t *ret);

#endif
