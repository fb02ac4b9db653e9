// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/hypervisor/machine.h"

#include <stdio.h>
#include <string.h>

#include "libutil/procfs.h"

#define SYS_CPU "/sys/devices/system/cpu/"
#define SYS_CLOCK "/sys/devices/system/clocksource/clocksource0/"
#define CPUS_MAX 8192u

/* Count the different values of a topology file over the CPUs below n; 0: no CPU has it. */
static unsigned count_different(const struct vmop_hv *hv, unsigned n, const char *file)
{
	/* The values are lists of CPUs: each CPU that begins its list stands for one. */
	unsigned different = 0;
	for (unsigned cpu = 0; cpu < n; cpu++) {
		char text[256];
		unsigned first;
		if (vmop_procfs_read(hv->root, text, sizeof(text), SYS_CPU "cpu%u/topology/%s", cpu,
				     file) <= 0 ||
		    sscanf(text, "%u", &first) != 1)
			continue;
		different += first == cpu;
	}
	return different;
}

/* Count the CPUs that have a topology: those that are online. Set *ret_end behind the last. */
static unsigned count_online(const struct vmop_hv *hv, unsigned *ret_end)
{
	char text[4096];
	unsigned n = 0;
	*ret_end = 0;
	if (vmop_procfs_read(hv->root, text, sizeof(text), SYS_CPU "online") <= 0)
		return 0;
	char *rest = text, *range;
	while ((range = strsep(&rest, ",\n"))) {
		unsigned first, last;
		int got = sscanf(range, "%u-%u", &first, &last);
		if (got == 1)
			last = first;
		if (got < 1 || last < first || last >= CPUS_MAX)
			continue;
		n += last - first + 1;
		*ret_end = last + 1;
	}
	return n;
}

void vmop_hv_describe_cpus(const struct vmop_hv *hv, struct vmop_hv_report *report)
{
	static const char *const files[][2] = {
		{"online", SYS_CPU "online"},
		{"possible", SYS_CPU "possible"},
		{"NUMA nodes", "/sys/devices/system/node/online"},
	};
	char text[4096];
	unsigned end, online = count_online(hv, &end);
	vmop_hv_report_number(report, "cpus", "number", online);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (vmop_hv_line(hv, files[i][1], text, sizeof(text)))
			vmop_hv_report_text(report, "cpus", files[i][0], "%s", text);
	}
	unsigned sockets = count_different(hv, end, "package_cpus_list");
	if (!sockets) /* before Linux 5.3 */
		sockets = count_different(hv, end, "core_siblings_list");
	unsigned cores = count_different(hv, end, "core_cpus_list");
	if (!cores)
		cores = count_different(hv, end, "thread_siblings_list");
	if (!sockets || !cores) {
		vmop_hv_report_missing(report, "cpus", "topology", "the kernel exports none");
		return;
	}
	vmop_hv_report_number(report, "cpus", "sockets", sockets);
	vmop_hv_report_number(report, "cpus", "cores", cores);
	if (online % cores == 0)
		vmop_hv_report_number(report, "cpus", "threads of a core", online / cores);
}

/* Return whether a list of words separated by blanks has the word. */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);
	for (const char *at = list; (at = strstr(at, word)); at += len) {
		if ((at == list || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return true;
	}
	return false;
}

static void describe_tsc(const struct vmop_hv *hv, const char *available,
			 struct vmop_hv_report *report)
{
	static const char *const flags[] = {"constant_tsc", "nonstop_tsc", "tsc_reliable",
					    "tsc_known_freq", "tsc_adjust"};
	if (!vmop_hv_cpuinfo_has(hv, "flags", "tsc"))
		return; /* another architecture */
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (vmop_hv_cpuinfo_has(hv, "flags", flags[i]))
			vmop_hv_report_append(report, "clock", "TSC flags", flags[i]);
	}
	/* The kernel withdraws a TSC that it has marked as unstable. */
	vmop_hv_report_flag(report, "clock", "TSC is stable", has_word(available, "tsc"));
}

void vmop_hv_describe_clock(const struct vmop_hv *hv, struct vmop_hv_report *report)
{
	char current[64], available[256] = "";
	if (!vmop_hv_line(hv, SYS_CLOCK "current_clocksource", current, sizeof(current))) {
		vmop_hv_report_missing(report, "clock", "source", "the kernel exports none");
		return;
	}
	vmop_hv_report_text(report, "clock", "source", "%s", current);
	if (vmop_hv_line(hv, SYS_CLOCK "available_clocksource", available, sizeof(available))) {
		size_t len = strlen(available);
		while (len && available[len - 1] == ' ')
			available[--len] = '\0';
		vmop_hv_report_text(report, "clock", "available", "%s", available);
	}
	describe_tsc(hv, available, report);
}

uint32_t vmop_hv_kvm_features(const struct vmop_hv *hv)
{
	const struct vmop_hv_block *block = vmop_hv_cpuid_block(&hv->cpuid, VMOP_HV_KVM);
	return block && block->last > block->base ? hv->read_cpuid(block->base + 1, 0).a : 0;
}

void vmop_hv_describe_kvm(const struct vmop_hv *hv, struct vmop_hv_report *report)
{
	static const char *const names[32] = {
		"clocksource",
		"nop-io-delay",
		"mmu-op",
		"clocksource2",
		"async-pf",
		"steal-time",
		"pv-eoi",
		"pv-unhalt",
		NULL,
		"pv-tlb-flush",
		"async-pf-vmexit",
		"pv-send-ipi",
		"poll-control",
		"pv-sched-yield",
		"async-pf-int",
		"msi-ext-dest-id",
		"hc-map-gpa-range",
		"migration-control",
		NULL,
		NULL,
		NULL,
		NULL,
		NULL,
		NULL,
		"clocksource-stable",
	};
	if (!vmop_hv_cpuid_block(&hv->cpuid, VMOP_HV_KVM))
		return;
	uint32_t features = vmop_hv_kvm_features(hv);
	for (unsigned bit = 0; bit < 32; bit++) {
		char other[16];
		if (!(features >> bit & 1))
			continue;
		snprintf(other, sizeof(other), "bit %u", bit);
		vmop_hv_report_append(report, "kvm", "features", names[bit] ? names[bit] : other);
	}
	if (!features)
		vmop_hv_report_text(report, "kvm", "features", "none");
}
