// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The second way between a KVM host and the agent of a guest, where there is no virtio-vsock: a
 * port of virtio-serial with the name org.vmop.0. QEMU connects it to a unix socket on the host, on
 * which it listens, and whose file has that name:
 *
 *	-chardev socket,id=vmop,path=/run/web1/org.vmop.0,server=on,wait=off
 *	-device virtio-serial -device virtserialport,chardev=vmop,name=org.vmop.0
 *
 * (libvirt: <channel type='unix'><target type='virtio' name='org.vmop.0'/></channel>). So here the
 * host connects, and knows the guest. It challenges the agent all the same (links.h): that the
 * bytes of the port are of a process of root, which is in that guest, is proved as with vsock.
 *
 * In the guest the port is a character device, which only root and vmop-guest.service can open. It
 * has no end of a connection of its own: read(2) returns 0 as long as the host is not connected.
 */
#ifndef VMOP_DAEMON_ACTIVE_SERIAL_H
#define VMOP_DAEMON_ACTIVE_SERIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "libutil/error.h"

#define VMOP_ACTIVE_SERIAL_NAME "org.vmop.0"

/*
 * On the host: connect to the socket of that name on which the process vmm_pid listens, and set
 * *ret_fd to a non-blocking socket, which the caller closes; -1: the process has no such socket.
 * Another process that has a file of that name is not connected: the listening socket must be one
 * of the descriptors of vmm_pid. VMOP_ERROR_CANT: it can't be connected, with the remedy if this
 * process may not write to it. root: see procfs.h.
 */
struct vmop_error *vmop_active_serial_dial(const char *root, uint32_t vmm_pid, int *ret_fd);

/*
 * In the guest: open the port. Return a non-blocking descriptor, which the caller closes; -1: there
 * is none, or another process has it open.
 */
int vmop_active_serial_open(void);

/* Return whether this machine has such a port. */
bool vmop_active_serial_is_there(void);

#endif
