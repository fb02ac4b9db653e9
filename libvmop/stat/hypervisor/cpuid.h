// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hypervisors in CPUID: the leaves from 0x40000000 on, one block of 0x100 for each
 * interface that the hypervisor offers (Linux, arch/x86/include/asm/cpuid: hypervisor_cpuid_base).
 * The words come from the hypervisor: a signature is any 12 bytes.
 */
#ifndef VMOP_LIBVMOP_STAT_HYPERVISOR_CPUID_H
#define VMOP_LIBVMOP_STAT_HYPERVISOR_CPUID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VMOP_HV_CPUID_FIRST 0x40000000u
#define VMOP_HV_CPUID_STEP 0x100u
#define VMOP_HV_CPUID_BLOCKS_MAX 16

struct vmop_cpuid_words {
	uint32_t a, b, c, d;
};

/* Execute CPUID. Words of zeros on a machine that has no such instruction. */
struct vmop_cpuid_words vmop_cpuid(uint32_t leaf, uint32_t subleaf);

enum vmop_hv_kind {
	VMOP_HV_NONE,
	VMOP_HV_OTHER, /* a signature that is not known here */
	VMOP_HV_KVM,
	VMOP_HV_XEN,
	VMOP_HV_VMWARE,
	VMOP_HV_HYPERV, /* also an interface that KVM and Xen offer to Windows */
	VMOP_HV_TCG,	/* QEMU's emulator */
	VMOP_HV_BHYVE,
	VMOP_HV_VIRTUALBOX,
	VMOP_HV_PARALLELS,
	VMOP_HV_ACRN,
	VMOP_HV_JAILHOUSE,
	VMOP_HV_QNX,
};

/* One block of leaves. */
struct vmop_hv_block {
	uint32_t base, last; /* the first and last leaf */
	enum vmop_hv_kind kind;
	char signature[12 * 4 + 1]; /* other bytes than printable ASCII as \xHH */
};

struct vmop_hv_cpuid {
	bool is_guest; /* leaf 1 has a hypervisor's bit */
	struct vmop_hv_block blocks[VMOP_HV_CPUID_BLOCKS_MAX];
	size_t n;
};

typedef struct vmop_cpuid_words vmop_cpuid_fn(uint32_t leaf, uint32_t subleaf);

/* Find the blocks with read, which is vmop_cpuid or words of a file. */
void vmop_hv_cpuid_read(vmop_cpuid_fn *read, struct vmop_hv_cpuid *ret);

/* Return the block of that kind, or NULL. */
const struct vmop_hv_block *vmop_hv_cpuid_block(const struct vmop_hv_cpuid *cpuid,
						enum vmop_hv_kind kind);

/* Return the kind that runs this machine: another one before Hyper-V's interface. */
enum vmop_hv_kind vmop_hv_cpuid_kind(const struct vmop_hv_cpuid *cpuid);

/* Return a name for people. */
const char *vmop_hv_name(enum vmop_hv_kind kind);

#endif
