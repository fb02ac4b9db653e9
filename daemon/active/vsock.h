// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The sockets between a KVM host and the agents of its guests: virtio-vsock (vsock(7)).
 *
 * Both sides use ports below 1024, which only a privileged process may have: no ordinary user of
 * the guest poses as its agent, and no ordinary user of the host as vmopd.
 */
#ifndef VMOP_DAEMON_ACTIVE_VSOCK_H
#define VMOP_DAEMON_ACTIVE_VSOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "libutil/error.h"

#define VMOP_ACTIVE_VSOCK_PORT 867	/* of the host's vmopd */
#define VMOP_ACTIVE_VSOCK_FILE_PORT 868 /* of the guest's: the host fetches its session */

/*
 * Listen on the host. The caller closes *ret_fd. VMOP_ERROR_CANT, with the remedy: the kernel has
 * no vsock, or the privilege is missing; VMOP_ERROR_BUSY: another process has the port.
 */
struct vmop_error *vmop_active_vsock_listen(int *ret_fd);
/* Listen in the guest for hosts that fetch its session. The same errors. */
struct vmop_error *vmop_active_vsock_listen_in_guest(int *ret_fd);

/* Accept a connection, non-blocking. The caller closes the result; -1: none waits. */
int vmop_active_vsock_accept(int listener_fd, uint32_t *ret_cid, uint32_t *ret_port);

/*
 * Return NULL if this machine can connect to its host. Else return VMOP_ERROR_CANT with the remedy.
 */
struct vmop_error *vmop_active_vsock_check(void);

/*
 * Begin to connect to the host. Return a non-blocking socket, which is writable once it is
 * connected, and which the caller closes; -1: it can't be reached now.
 */
int vmop_active_vsock_dial(void);
/* Begin to connect to the file port of the guest with that CID, in the same way. */
int vmop_active_vsock_dial_guest(uint32_t cid);

/* Return whether a connection with that source is of a privileged process of the host. */
bool vmop_active_vsock_is_host(uint32_t cid, uint32_t port);

#endif
