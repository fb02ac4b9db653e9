// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Virtual machine monitors: how to recognise them by name, and how each of them words its guest's
 * name, uuid and vCPU threads.
 */
#ifndef VMOP_LIBUTIL_VMM_H
#define VMOP_LIBUTIL_VMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VMOP_GUEST_NAME_BYTES 128
#define VMOP_UUID_BYTES 64

/* Return whether a process of that comm may start a guest, and must be checked now and then. */
bool vmop_vmm_is_likely(const char *comm);

/*
 * Parse the number of a vCPU in the name of its thread: "CPU 3/KVM" (QEMU, with
 * debug-threads=on), "fc_vcpu 3" (Firecracker), "vcpu3" (cloud-hypervisor), "crosvm_vcpu3",
 * "kvm-vcpu-3" (kvmtool).  False: the name contains none.
 */
bool vmop_vmm_vcpu_of_comm(const char *comm, uint32_t *ret);

/*
 * Parse the name and uuid of the guest in a command line: arguments that end with NULs, len_bytes
 * in all.
 *	QEMU			-name [guest=]NAME[,...]  -uuid UUID
 *	Firecracker		--id NAME
 *	cloud-hypervisor	--platform uuid=UUID[,...]  --api-socket [path=]PATH (its base name)
 *	crosvm			--name NAME, --socket PATH (its base name)
 *	kvmtool			--name NAME, -n NAME
 * name and uuid become "" where the command line has none.
 */
void vmop_vmm_parse_cmdline(const char *cmdline, size_t len_bytes, char name[VMOP_GUEST_NAME_BYTES],
			    char uuid[VMOP_UUID_BYTES]);

/*
 * Parse the path of a unix socket on which QEMU listens for QMP clients: -qmp unix:PATH,server...,
 * or -mon CHARDEV,mode=control with -chardev socket,id=CHARDEV,path=PATH,server...  The path is as
 * the process sees it.  False: the command line has none, for example because a manager passed an
 * open descriptor to QEMU.
 */
bool vmop_vmm_qmp_socket(const char *cmdline, size_t len_bytes, char *ret, size_t size);

/*
 * Count the network cards in a command line whose packets another process moves through shared
 * memory (vhost-user), so that the kernel has no counters of them. Cards that were plugged in later
 * are not in it.
 *	QEMU			-netdev vhost-user,..., also as JSON
 *	cloud-hypervisor	--net vhost_user=true,...
 */
unsigned vmop_vmm_vhost_user_networks(const char *cmdline, size_t len_bytes);

#endif
