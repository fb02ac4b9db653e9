// SPDX-License-Identifier: GPL-2.0-or-later
/* KVM's folder in debugfs: the processes that run guests, and their vCPU threads. */
#ifndef VMOP_LIBUTIL_KVM_H
#define VMOP_LIBUTIL_KVM_H

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

#endif
