// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Detection of the hypervisor that runs this machine, with the evidence, and of guests that the
 * machine can run itself. CPUID is the evidence on x86, the device tree on arm64; Xen exports
 * itself in /sys and /proc; DMI has what the firmware of the virtual machine calls itself.
 */
#ifndef VMOP_LIBVMOP_STAT_HYPERVISOR_DETECT_H
#define VMOP_LIBVMOP_STAT_HYPERVISOR_DETECT_H

#include "libvmop/stat/hypervisor/cpuid.h"
#include "libvmop/stat/hypervisor/report.h"

enum vmop_hv_role {
	VMOP_HV_ROLE_HOST, /* no hypervisor is seen */
	VMOP_HV_ROLE_GUEST,
	VMOP_HV_ROLE_DOM0, /* Xen's control domain */
	VMOP_HV_ROLE_ROOT, /* Hyper-V's root partition */
};

struct vmop_hv {
	const char *root; /* before /proc and /sys; "" but for tests */
	struct vmop_hv_cpuid cpuid;
	enum vmop_hv_kind kind;
	enum vmop_hv_role role;
	vmop_cpuid_fn *read_cpuid;
};

/* Find out; root as in the struct, which keeps the pointer. */
void vmop_hv_detect(const char *root, vmop_cpuid_fn *read_cpuid, struct vmop_hv *ret);

/* Report the conclusion and its evidence as group "hypervisor". */
void vmop_hv_describe(const struct vmop_hv *hv, struct vmop_hv_report *report);

/* Read the first line of a file below hv's root into ret. Return false if it has none. */
bool vmop_hv_line(const struct vmop_hv *hv, const char *path, char *ret, size_t size);

/*
 * Return whether a line of /proc/cpuinfo that begins with key has the word. Nothing else can look
 * like such a line: the kernel writes all of them.
 */
bool vmop_hv_cpuinfo_has(const struct vmop_hv *hv, const char *key, const char *word);

#endif
