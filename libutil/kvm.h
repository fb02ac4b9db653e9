// SPDX-License-Identifier: GPL-2.0-or-later
/* KVM's folder in debugfs: the processes that run guests, and their vCPU threads. */
#ifndef VMOP_LIBUTIL_KVM_H
#define VMOP_LIBUTIL_KVM_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Call each with the pid in the name of every VM's folder, "PID-FD" (virt/kvm/kvm_main.c).  It is
 * the id of the thread that created the VM.  Without debugfs it is not called.  root: before
 * the path; "" but for tests.
 */
void vmop_kvm_each_vm(const char *root, void (*each)(void *arg, uint32_t pid), void *arg);

/* Call each with every vCPU of the VMs of pid that has a file vcpuN/pid (Linux 5.17 and later). */
void vmop_kvm_each_vcpu(const char *root, uint32_t pid,
			void (*each)(void *arg, uint32_t number, uint32_t tid), void *arg);

/* A guest's time-stamp counter: ((the host's * ratio) >> shift) + offset, modulo 2^64. */
struct vmop_kvm_tsc {
	uint64_t offset;
	uint64_t ratio;
	unsigned shift; /* ratio 1 and shift 0: not scaled */
};

/*
 * Read the counter of the VM of a folder "PID-FD". Return false if debugfs does not show it, as on
 * arm64, or if it differs between the vCPUs, or if the process has several VMs.
 */
bool vmop_kvm_read_tsc(const char *root, uint32_t pid, struct vmop_kvm_tsc *ret);

/* Return the guest's counter at a value of the host's. */
uint64_t vmop_kvm_guest_tsc(const struct vmop_kvm_tsc *tsc, uint64_t host_tsc);

#endif
