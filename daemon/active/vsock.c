// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/active/vsock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

/* linux/vm_sockets.h needs struct sockaddr first. */
#include <linux/vm_sockets.h>

#include "libutil/cleanup.h"

/* The agent's own ports: any free one of these. */
#define FIRST_PORT 600
#define LAST_PORT 1023

/* Connections that wait for vmop_active_vsock_accept. The kernel refuses further ones. */
#define BACKLOG 32

static struct sockaddr_vm address_of(uint32_t cid, uint32_t port)
{
	return (struct sockaddr_vm){.svm_family = AF_VSOCK, .svm_cid = cid, .svm_port = port};
}

static int bind_to(int fd, uint32_t port)
{
	const struct sockaddr_vm address = address_of(VMADDR_CID_ANY, port);
	return bind(fd, (const struct sockaddr *)&address, sizeof(address));
}

static struct vmop_error *no_socket(int error)
{
	if (error == EAFNOSUPPORT)
		return vmop_error_new(
			VMOP_ERROR_CANT,
			"active guests are reached by virtio-vsock, which this kernel "
			"does not have (modprobe vhost_vsock)");
	return vmop_error_os(error, "vsock");
}

static struct vmop_error *listen_at(uint32_t port, int *ret_fd)
{
	_cleanup_close_ int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return no_socket(errno);
	if (bind_to(fd, port) < 0) {
		if (errno == EADDRINUSE)
			return vmop_error_new(VMOP_ERROR_BUSY,
					      "vsock port %u, which active guests and their host "
					      "use, belongs to another process",
					      port);
		if (errno == EACCES)
			return vmop_error_new(VMOP_ERROR_CANT,
					      "active guests need the capability "
					      "CAP_NET_BIND_SERVICE, for vsock port %u",
					      port);
		return vmop_error_os(errno, "vsock port %u", port);
	}
	if (listen(fd, BACKLOG) < 0)
		return vmop_error_os(errno, "vsock port %u", port);
	*ret_fd = vmop_steal_fd(&fd);
	return NULL;
}

struct vmop_error *vmop_active_vsock_listen(int *ret_fd)
{
	return listen_at(VMOP_ACTIVE_VSOCK_PORT, ret_fd);
}

struct vmop_error *vmop_active_vsock_listen_in_guest(int *ret_fd)
{
	return listen_at(VMOP_ACTIVE_VSOCK_FILE_PORT, ret_fd);
}

int vmop_active_vsock_accept(int listener_fd, uint32_t *ret_cid, uint32_t *ret_port)
{
	struct sockaddr_vm address = {0};
	socklen_t len = sizeof(address);
	int fd = accept4(listener_fd, (struct sockaddr *)&address, &len,
			 SOCK_NONBLOCK | SOCK_CLOEXEC);
	*ret_cid = address.svm_cid;
	*ret_port = address.svm_port;
	return fd;
}

struct vmop_error *vmop_active_vsock_check(void)
{
	_cleanup_close_ int fd = open("/dev/vsock", O_RDONLY | O_CLOEXEC);
	unsigned cid = VMADDR_CID_ANY;
	if (fd >= 0 && ioctl(fd, IOCTL_VM_SOCKETS_GET_LOCAL_CID, &cid) < 0)
		return vmop_error_os(errno, "/dev/vsock");
	if (cid == VMADDR_CID_ANY || cid <= VMADDR_CID_HOST)
		return vmop_error_new(
			VMOP_ERROR_CANT,
			"--active: this is neither a PV domain of Xen nor a guest with "
			"a virtio-vsock device or a virtio-serial port org.vmop.0, by which "
			"the vmopd of a KVM host is reached (modprobe "
			"vmw_vsock_virtio_transport, or virtio_console)");
	return NULL;
}

/* Give the socket a port that only a privileged process can have. */
static bool bind_privileged(int fd)
{
	unsigned n = LAST_PORT - FIRST_PORT + 1, first = (unsigned)getpid() % n;
	for (unsigned i = 0; i < n; i++) {
		if (bind_to(fd, FIRST_PORT + (first + i) % n) == 0)
			return true;
		if (errno != EADDRINUSE)
			return false;
	}
	return false;
}

static int dial(uint32_t cid, uint32_t port)
{
	const struct sockaddr_vm address = address_of(cid, port);
	_cleanup_close_ int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || !bind_privileged(fd))
		return -1;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 &&
	    errno != EINPROGRESS)
		return -1;
	return vmop_steal_fd(&fd);
}

int vmop_active_vsock_dial(void)
{
	return dial(VMADDR_CID_HOST, VMOP_ACTIVE_VSOCK_PORT);
}

int vmop_active_vsock_dial_guest(uint32_t cid)
{
	return dial(cid, VMOP_ACTIVE_VSOCK_FILE_PORT);
}

bool vmop_active_vsock_is_host(uint32_t cid, uint32_t port)
{
	return cid == VMADDR_CID_HOST && port <= LAST_PORT;
}
