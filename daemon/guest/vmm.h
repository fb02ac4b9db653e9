// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Virtual machine monitors: telling them by name, and their guest's name, uuid and
 * vCPU threads as each of them words it.
 */
#ifndef VMOP_DAEMON_GUEST_VMM_H
#define VMOP_DAEMON_GUEST_VMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VMOP_GUEST_NAME_BYTES 128
#define VMOP_UUID_BYTES 64

/* Whether a process of that comm may come to run a guest: worth a look now and then. */
bool vmop_vmm_is_likely(const char *comm);

/*
 * The vCPU's number in a thread's name: "CPU 3/KVM" (QEMU, with debug-threads=on),
 * "fc_vcpu 3" (Firecracker), "vcpu3" (cloud-hypervisor), "crosvm_vcpu3",
 * "kvm-vcpu-3" (kvmtool).  False: it names none.
 */
bool vmop_vmm_vcpu_of_comm(const char *comm, uint32_t *ret);

/*
 * What a command line says of the guest; arguments end with NULs, len_bytes in all.
 *	QEMU			-name [guest=]NAME[,...]  -uuid UUID
 *	Firecracker		--id NAME
 *	cloud-hypervisor	--platform uuid=UUID[,...]  --api-socket [path=]PATH (its base name)
 *	crosvm			--name NAME, --socket PATH (its base name)
 *	kvmtool			--name NAME, -n NAME
 * name and uuid become "" where it says nothing.
 */
void vmop_vmm_parse_cmdline(const char *cmdline, size_t len_bytes, char name[VMOP_GUEST_NAME_BYTES],
			    char uuid[VMOP_UUID_BYTES]);

/*
 * The path of a unix socket on which a QEMU of that command line listens for QMP clients
 * (-qmp unix:PATH,server..., or -mon CHARDEV,mode=control with -chardev
 * socket,id=CHARDEV,path=PATH,server...), as that process sees it.  False: none; a
 * manager that hands its QEMU an open descriptor offers none.
 */
bool vmop_vmm_qmp_socket(const char *cmdline, size_t len_bytes, char *ret, size_t size);

#endif
