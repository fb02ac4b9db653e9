// SPDX-License-Identifier: GPL-2.0-or-later
/* What KVM's debugfs folder tells: which processes run guests, and their vCPU threads. */
#ifndef VMOP_DAEMON_GUEST_KVM_H
#define VMOP_DAEMON_GUEST_KVM_H

#include <stdint.h>

/*
 * Calls each for the pid of every VM's process (virt/kvm/kvm_main.c names its folder
 * "PID-FD").  One listing of one folder; nothing where debugfs isn't mounted.
 */
void vmop_kvm_each_vm(const char *root, void (*each)(void *arg, uint32_t pid), void *arg);

/* Calls each for every vCPU of process pid whose thread is known (Linux 5.17: vcpuN/pid). */
void vmop_kvm_each_vcpu(const char *root, uint32_t pid,
			void (*each)(void *arg, uint32_t number, uint32_t tid), void *arg);

#endif
