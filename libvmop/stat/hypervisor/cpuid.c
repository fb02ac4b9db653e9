// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/hypervisor/cpuid.h"

#include <stdio.h>
#include <string.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

#define CPUID_1_C_HYPERVISOR (1u << 31)

struct vmop_cpuid_words vmop_cpuid(uint32_t leaf, uint32_t subleaf)
{
	struct vmop_cpuid_words words = {0};
#ifdef __x86_64__
	__cpuid_count(leaf, subleaf, words.a, words.b, words.c, words.d);
#else
	(void)leaf, (void)subleaf;
#endif
	return words;
}

static const struct {
	enum vmop_hv_kind kind;
	char signature[13];
	const char *name;
} known[] = {
	{VMOP_HV_KVM, "KVMKVMKVM\0\0\0", "KVM"},
	{VMOP_HV_XEN, "XenVMMXenVMM", "Xen"},
	{VMOP_HV_VMWARE, "VMwareVMware", "VMware"},
	{VMOP_HV_HYPERV, "Microsoft Hv", "Hyper-V"},
	{VMOP_HV_TCG, "TCGTCGTCGTCG", "QEMU's emulator (TCG)"},
	{VMOP_HV_BHYVE, "bhyve bhyve ", "bhyve"},
	{VMOP_HV_VIRTUALBOX, "VBoxVBoxVBox", "VirtualBox"},
	{VMOP_HV_PARALLELS, " lrpepyh  vr", "Parallels"},
	{VMOP_HV_PARALLELS, " prl hyperv ", "Parallels"},
	{VMOP_HV_ACRN, "ACRNACRNACRN", "ACRN"},
	{VMOP_HV_JAILHOUSE, "Jailhouse\0\0\0", "Jailhouse"},
	{VMOP_HV_QNX, "QNXQVMBSQG\0\0", "QNX"},
};
#define N_KNOWN (sizeof(known) / sizeof(known[0]))

const char *vmop_hv_name(enum vmop_hv_kind kind)
{
	for (size_t i = 0; i < N_KNOWN; i++) {
		if (known[i].kind == kind)
			return known[i].name;
	}
	return kind == VMOP_HV_NONE ? "none" : "an unknown one";
}

static enum vmop_hv_kind kind_of(const char signature[12])
{
	for (size_t i = 0; i < N_KNOWN; i++) {
		if (!memcmp(known[i].signature, signature, 12))
			return known[i].kind;
	}
	return VMOP_HV_OTHER;
}

static void print_signature(const char signature[12], char *ret)
{
	size_t len = 12;
	while (len && !signature[len - 1])
		len--;
	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)signature[i];
		if (byte >= ' ' && byte <= '~' && byte != '\\')
			*ret++ = (char)byte;
		else
			ret += sprintf(ret, "\\x%02x", byte);
	}
	*ret = '\0';
}

/* Parse the first leaf of a block. Return false if the words describe no block. */
static bool parse_block(uint32_t base, const struct vmop_cpuid_words *words,
			struct vmop_hv_block *ret)
{
	char signature[12];
	memcpy(signature, &words->b, 4);
	memcpy(signature + 4, &words->c, 4);
	memcpy(signature + 8, &words->d, 4);
	enum vmop_hv_kind kind = kind_of(signature);
	/* Old KVM has 0 for its last leaf. A CPU without leaves here repeats those of its last. */
	uint32_t last = words->a ? words->a : base;
	if (last < base || last - base >= VMOP_HV_CPUID_STEP)
		return false;
	if (kind == VMOP_HV_OTHER && (!words->a || !(words->b | words->c | words->d)))
		return false;
	*ret = (struct vmop_hv_block){.base = base, .last = last, .kind = kind};
	if (kind == VMOP_HV_KVM && !words->a)
		ret->last = base + 1;
	print_signature(signature, ret->signature);
	return true;
}

void vmop_hv_cpuid_read(vmop_cpuid_fn *read, struct vmop_hv_cpuid *ret)
{
	*ret = (struct vmop_hv_cpuid){.is_guest = read(1, 0).c & CPUID_1_C_HYPERVISOR};
	/* Without that bit, the leaves mean nothing. */
	for (uint32_t i = 0; ret->is_guest && i < VMOP_HV_CPUID_BLOCKS_MAX; i++) {
		uint32_t base = VMOP_HV_CPUID_FIRST + i * VMOP_HV_CPUID_STEP;
		struct vmop_cpuid_words words = read(base, 0);
		if (!parse_block(base, &words, &ret->blocks[ret->n]))
			break;
		ret->n++;
	}
}

const struct vmop_hv_block *vmop_hv_cpuid_block(const struct vmop_hv_cpuid *cpuid,
						enum vmop_hv_kind kind)
{
	for (size_t i = 0; i < cpuid->n; i++) {
		if (cpuid->blocks[i].kind == kind)
			return &cpuid->blocks[i];
	}
	return NULL;
}

enum vmop_hv_kind vmop_hv_cpuid_kind(const struct vmop_hv_cpuid *cpuid)
{
	for (size_t i = 0; i < cpuid->n; i++) {
		if (cpuid->blocks[i].kind != VMOP_HV_HYPERV)
			return cpuid->blocks[i].kind;
	}
	if (cpuid->n)
		return cpuid->blocks[0].kind;
	return cpuid->is_guest ? VMOP_HV_OTHER : VMOP_HV_NONE;
}
