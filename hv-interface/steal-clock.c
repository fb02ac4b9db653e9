// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/steal-clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/error.h"
#include "libutil/io.h"
#include "libutil/parse.h"

/* ---- what the hypervisor offers ------------------------------------------------------------- */

#ifdef __x86_64__

#include <cpuid.h>

/* The leaves of hypervisors: each 0x100 from the first one, as Linux looks for them. */
#define FIRST_LEAF 0x40000000
#define LAST_LEAF 0x40010000
#define LEAF_STEP 0x100
#define KVM_FEATURES 1	     /* from the signature's leaf */
#define KVM_STEAL_TIME_BIT 5 /* Linux: Documentation/virt/kvm/x86/cpuid.rst */

/* Find the leaf with a hypervisor's signature. 0: it is not there. */
static unsigned find_leaf(const char signature[12])
{
	for (unsigned leaf = FIRST_LEAF; leaf < LAST_LEAF; leaf += LEAF_STEP) {
		unsigned eax, words[3];
		__cpuid(leaf, eax, words[0], words[1], words[2]);
		if (memcmp(words, signature, sizeof(words)) == 0)
			return leaf;
	}
	return 0;
}

static bool is_virtual(void)
{
	unsigned eax, ebx, ecx, edx;
	__cpuid(1, eax, ebx, ecx, edx);
	return ecx >> 31;
}

static void find_offered(struct vmop_steal_clock *ret)
{
	unsigned leaf = find_leaf("KVMKVMKVM\0\0");
	unsigned eax, ebx, ecx, edx;
	ret->is_absent = true;
	if (leaf) {
		__cpuid(leaf + KVM_FEATURES, eax, ebx, ecx, edx);
		if (eax >> KVM_STEAL_TIME_BIT & 1) {
			ret->kind = VMOP_STEAL_KVM;
			ret->is_absent = false;
		} else {
			ret->reason = "no steal clock: KVM does not offer it to this guest";
		}
	} else if (find_leaf("VMwareVMware")) {
		ret->is_absent = false;
		ret->reason = "VMware's steal clock is not supported";
	} else {
		ret->reason = is_virtual() ? "no steal clock: the hypervisor offers none"
					   : "no steal clock: this is not a virtual machine";
	}
}

#else

static void find_offered(struct vmop_steal_clock *ret)
{
	ret->reason = "the steal clock is only read on x86-64";
}

#endif

static bool is_xen(void)
{
	_cleanup_free_ char *type = NULL;
	struct vmop_error *err = vmop_io_read_file("/sys/hypervisor/type", 64, &type, NULL);
	bool ret = !err && strncmp(type, "xen", 3) == 0;
	vmop_error_destroy(err);
	return ret;
}

/* ---- the kernel's variables ------------------------------------------------------------------ */

struct wanted {
	const char *name;
	uint64_t *ret;
};

/* Set the addresses of symbols that /proc/kallsyms has; others stay. */
static void find_symbols(const struct wanted *wanted, size_t n)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/kallsyms", "re");
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	while (file && getline(&line, &room, file) > 0) {
		char *type = strchr(line, ' ');
		if (!type || strlen(type) < 4)
			continue;
		*type = '\0';
		char *name = type + 3;
		name[strcspn(name, "\t\n")] = '\0';
		for (size_t i = 0; i < n; i++) {
			uint64_t address;
			if (strcmp(name, wanted[i].name) == 0 &&
			    vmop_parse_u64(line, 16, &address) && !*wanted[i].ret)
				*wanted[i].ret = address;
		}
	}
}

void vmop_steal_clock_find(struct vmop_steal_clock *ret)
{
	*ret = (struct vmop_steal_clock){0};
	if (is_xen())
		ret->kind = VMOP_STEAL_XEN;
	else
		find_offered(ret);
	if (ret->kind == VMOP_STEAL_UNREADABLE)
		return;
	const struct wanted wanted[] = {
		{ret->kind == VMOP_STEAL_KVM ? "steal_time" : "xen_runstate", &ret->variable},
		{"__per_cpu_offset", &ret->offsets},
		{"paravirt_steal_rq_enabled", &ret->static_key},
	};
	find_symbols(wanted, sizeof(wanted) / sizeof(*wanted));
	if (ret->variable && ret->offsets)
		return;
	ret->kind = VMOP_STEAL_UNREADABLE;
	ret->reason = "the steal clock's address is not in /proc/kallsyms (it needs root or "
		      "kernel.kptr_restrict=0, and a kernel with CONFIG_KALLSYMS_ALL)";
}

/* ---- /proc/stat ------------------------------------------------------------------------------ */

bool vmop_machine_time_read(struct vmop_machine_time *ret)
{
	_cleanup_free_ char *text = NULL;
	uint64_t ticks[8];
	struct vmop_error *err = vmop_io_read_file("/proc/stat", 8 << 20, &text, NULL);
	bool is_read = !err && sscanf(text,
				      "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
				      " %" SCNu64 " %" SCNu64 " %" SCNu64,
				      &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4],
				      &ticks[5], &ticks[6], &ticks[7]) == 8;
	vmop_error_destroy(err);
	if (!is_read)
		return false;
	uint64_t tick_ns = VMOP_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	*ret = (struct vmop_machine_time){
		.busy_ns = (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) * tick_ns,
		.steal_ns = ticks[7] * tick_ns,
		.idle_ns = (ticks[3] + ticks[4]) * tick_ns,
	};
	for (const char *at = text; (at = strstr(at, "\ncpu")); at++)
		ret->n_cpus++;
	return true;
}
