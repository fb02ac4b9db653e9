// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The steal clock of a virtual machine, seen from inside: for each virtual CPU, the time in which
 * it was ready to run and the hypervisor ran others. KVM's is `struct kvm_steal_time` (Linux:
 * Documentation/virt/kvm/x86/msr.rst, MSR_KVM_STEAL_TIME), Xen's is the vCPU's runstate (Xen:
 * public/vcpu.h). The kernel keeps either in a per-CPU variable of its own.
 *
 * Finding it needs no BPF program. Any thread.
 */
#ifndef VMOP_HV_INTERFACE_STEAL_CLOCK_H
#define VMOP_HV_INTERFACE_STEAL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum vmop_steal_kind {
	VMOP_STEAL_UNREADABLE, /* see reason */
	VMOP_STEAL_KVM,
	VMOP_STEAL_XEN,
};

struct vmop_steal_clock {
	enum vmop_steal_kind kind;
	bool is_absent;	     /* no clock exists: the kernel cannot have the stolen time either */
	const char *reason;  /* why it cannot be read; NULL: it can */
	uint64_t variable;   /* address of the per-CPU variable, without a CPU's offset */
	uint64_t offsets;    /* address of __per_cpu_offset */
	uint64_t static_key; /* address of paravirt_steal_rq_enabled; 0: not found */
};

/* Find the steal clock of this machine. */
void vmop_steal_clock_find(struct vmop_steal_clock *ret);

/* Time of all CPUs since boot, as /proc/stat has it: whole ticks of USER_HZ. */
struct vmop_machine_time {
	uint64_t busy_ns;	    /* in user and kernel mode, and in interrupts */
	uint64_t steal_ns, idle_ns; /* idle: also while it waits for a disk */
	uint32_t n_cpus;	    /* online */
};

/* Return false if /proc/stat cannot be read. */
bool vmop_machine_time_read(struct vmop_machine_time *ret);

#endif
